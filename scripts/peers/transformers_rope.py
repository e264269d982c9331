# peers: transformers
"""Frequencies and attention scalings of every configuration of the atlas, against transformers' own rotary modules.

For each entry that transformers can make a rotary module for, its inv_freq (float32) and attention_scaling are held to
what `ropewalk show` prints, for each type of layers; where they depend on the length, at the trained length and at
twice that. Entries that cannot be made are listed with the reason, entries where the two are known to part by name.
"""

import copy
import importlib
import inspect
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from comparison import SHARED, Comparison, arguments, ours

BOUND = 1e-6
BY_LENGTH = ("dynamic", "longrope")  # what transformers works out anew in each call

# Types of layers whose name in a rotary module is not the layers' own, by our names.
LAYER_TYPES = {"deepseek_v4": {None: "compress", "compressed_attention": "compress", "sliding_attention": "main"}}

# Entries where the two part, and why ours is as it is.
DEEPSEEK_V4 = (
    "RULES.md section 3 and its golden case scale every layer, with YaRN's amplitude; transformers scales compressed "
    "layers alone and leaves the amplitude at 1, as our reader of GGUF files does")
KNOWN = {
    "deepseek-ai/DeepSeek-V4-Flash": DEEPSEEK_V4,
    "deepseek-ai/DeepSeek-V4-Pro": DEEPSEEK_V4,
    "zai-org/GLM-4.5 family":
        "the entry has no head_dim and 96 heads do not divide 4096: transformers rounds to heads of 42, half of which "
        "it turns as 11 pairs; every released file says 128, which is what we take",
}


def llama(**scaling) -> dict:
    return {"name": "llama with " + ", ".join(f"{key} {value}" for key, value in scaling.items()),
            "config": {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 2,
                       "max_position_embeddings": 4096, "rope_theta": 10000.0, "rope_scaling": scaling}}


# Rules that no entry of the atlas asks transformers for.
ADDED = [
    llama(rope_type="dynamic", factor=4.0),
    llama(rope_type="yarn", factor=4.0, original_max_position_embeddings=1024, truncate=False),
    llama(rope_type="yarn", factor=4.0, original_max_position_embeddings=1024, attention_factor=0.75),
    llama(rope_type="yarn", factor=4.0, original_max_position_embeddings=1024, mscale=0.5, mscale_all_dim=0.25),
    llama(rope_type="yarn", factor=4.0, original_max_position_embeddings=1024, beta_fast=16.0, beta_slow=2.0),
]


class NoPeer(Exception):
    """transformers makes no rotary module of this configuration."""


def text_config(config: dict):
    kind = config["model_type"]
    if kind not in CONFIG_MAPPING:
        raise NoPeer("a model type that transformers does not know")
    if "text_config" in config and "text_config" not in CONFIG_MAPPING[kind].sub_configs:
        return text_config(config["text_config"])  # wrapped under the model type of its own text model
    return CONFIG_MAPPING[kind].from_dict(copy.deepcopy(config)).get_text_config(decoder=True)


def rotary_module(config):
    """The one rotary class beside the configuration's class that is made from a configuration of text."""
    place = type(config).__module__.replace(".configuration_", ".modeling_")
    classes = [
        kind for name, kind in inspect.getmembers(importlib.import_module(place), inspect.isclass)
        if name.endswith("RotaryEmbedding") and kind.__module__ == place
        and not any(word in name for word in ("Vision", "Audio")) and "config" in inspect.signature(kind).parameters
    ]
    if not classes:
        raise NoPeer("no rotary module that is made from a configuration")
    if len(classes) > 1:
        raise NoPeer("more than one rotary module: " + ", ".join(kind.__name__ for kind in classes))
    return classes[0](config)


def in_turn(inv_freq: list, n: int) -> list:
    """ERNIE's buffer holds the n pairs of height, then those of width, which its forward deals out in turn."""
    return [value for two in zip(inv_freq[:n], inv_freq[n:2 * n]) for value in two] + inv_freq[2 * n:]


class Peer:
    """A rotary module, asked by type of layers and length."""

    def __init__(self, config: dict):
        try:
            self.module = rotary_module(text_config(config))
        except NoPeer:
            raise
        except Exception as error:  # whatever its configuration or its module refuses with
            raise NoPeer(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error
        rope_type = getattr(self.module, "rope_type", "default")
        self.names = LAYER_TYPES.get(config["model_type"], {})
        self.types = rope_type if isinstance(rope_type, dict) and rope_type else {None: rope_type or "default"}

    def layer_types(self, group: str | None) -> list:
        """Those that a group of ours stands for."""
        if None in self.types:
            return [None]
        group = self.names.get(group, group)
        if group is None:
            return list(self.types)
        if group not in self.types:
            raise NoPeer(f"its rotary module has no layers of type {group}, but {', '.join(self.types)}")
        return [group]

    def at(self, layer_type, length: int) -> tuple:
        """inv_freq as a list and the scaling, in a sequence of `length` tokens."""
        table = getattr(self.module, "embed_positions", None)
        if table is not None:  # GPT-J, CodeGen: a table of sines, then cosines; row 1 holds one token's angles
            sines, cosines = table[1].double().chunk(2)
            return torch.atan2(sines, cosines).tolist(), float(torch.hypot(sines, cosines).max())
        if self.types[layer_type] in BY_LENGTH:
            more = {} if layer_type is None else {"layer_type": layer_type}
            self.module(torch.zeros(1, 1, 1), torch.tensor([[length - 1]]), **more)
        prefix = "" if layer_type is None else f"{layer_type}_"
        scaling = getattr(self.module, f"{prefix}attention_scaling", 1.0)
        inv_freq = getattr(self.module, f"{prefix}inv_freq").tolist()
        if type(self.module).__name__.startswith("Ernie4_5_VLMoe"):
            inv_freq = in_turn(inv_freq, self.module.mrope_section[0])
        return inv_freq, float(scaling)


class Worst:
    """The largest relative difference of a rule, and where."""

    def __init__(self):
        self.entries = set()
        self.difference, self.ours, self.peer, self.where = 0.0, None, None, ""

    def add(self, entry: str, ours: float, peer: float, where: str):
        self.entries.add(entry)
        difference = 0.0 if ours == peer else abs(peer / ours - 1) if ours else math.inf
        if self.ours is None or difference > self.difference:
            self.difference, self.ours, self.peer, self.where = difference, ours, peer, f"{entry}, {where}"


def shown(config: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        return ours("show", path)


def rule_of(group: dict, peer_type: str) -> str:
    """The first scheme of our string; where none can say it, what the peer calls it."""
    return group["scheme"].split(",")[0].split("+")[0] if group["scheme"] else f"{peer_type} (no scheme string)"


def compare(entry: dict) -> tuple:
    """{(rule, quantity): Worst} of one entry, and how many spectra were compared."""
    try:
        groups = [group for group in shown(entry["config"])["groups"] if group["rotary"]]
    except subprocess.CalledProcessError as error:
        raise NoPeer("refused by show") from error
    if not groups:
        raise NoPeer("not rotated, by our reading")
    peer = Peer(entry["config"])
    found = {}
    for group in groups:
        for layer_type in peer.layer_types(group["name"]):
            rule = rule_of(group, peer.types[layer_type])
            for spectrum in group["rotary"]["spectra"]:
                inv_freq, scaling = peer.at(layer_type, spectrum["length"])
                at = f"{layer_type or 'all layers'}, {spectrum['length']} tokens"
                if len(inv_freq) != len(spectrum["pairs"]):
                    found.setdefault((rule, "pairs"), Worst()).add(
                        entry["name"], len(spectrum["pairs"]), len(inv_freq), at)
                    continue
                for pair, theirs in zip(spectrum["pairs"], inv_freq):
                    found.setdefault((rule, "inv_freq"), Worst()).add(
                        entry["name"], pair["inv_freq"], theirs, f"{at}, pair {pair['pair']}")
                found.setdefault((rule, "scaling"), Worst()).add(
                    entry["name"], spectrum["amplitude"], scaling, at)
    return found


def merge(total: dict, found: dict):
    for key, worst in found.items():
        if key not in total:
            total[key] = worst
            continue
        total[key].entries |= worst.entries
        if worst.difference > total[key].difference:
            worst.entries = total[key].entries
            total[key] = worst


def main() -> int:
    options = arguments(__doc__)
    transformers.logging.set_verbosity_error()
    atlas = json.loads((SHARED / "golden/atlas.json").read_text())
    table = Comparison(f"Rotary modules of transformers {transformers.__version__}, {len(atlas)} entries of the atlas "
                       f"and {len(ADDED)} beside it")
    total, parted, without, compared = {}, {}, {}, set()
    for entry in atlas + ADDED:
        name = entry["name"]
        try:
            found = compare(entry)
        except NoPeer as reason:
            without.setdefault(str(reason), []).append(name)
            continue
        compared.add(name)
        if any(worst.difference > BOUND for worst in found.values()):
            parted[name] = found
        else:
            merge(total, found)

    for (rule, quantity), worst in sorted(total.items()):
        name = f"{rule}, {quantity} of {len(worst.entries)} entries; worst {worst.where}"
        table.add(name, worst.ours, worst.peer, worst.difference, BOUND)
    for name, found in parted.items():
        for (rule, quantity), worst in found.items():
            if worst.difference > BOUND:
                bound = None if name in KNOWN else BOUND
                table.add(f"{rule}, {quantity} of {worst.where}", worst.ours, worst.peer, worst.difference, bound)
    gone = set(KNOWN) - set(parted)
    table.add("known differences that are gone: " + (", ".join(sorted(gone)) or "none"), len(gone), 0, len(gone), 0)
    status = table.finish(options.json)

    print(f"\n{len(compared)} of {len(atlas) + len(ADDED)} entries compared; {len(parted)} part:")
    for name in parted:
        print(f"  {name}: {KNOWN.get(name, 'nobody knows why')}")
    print("Not compared:")
    for reason, names in sorted(without.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):3} {reason}: {', '.join(names)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
