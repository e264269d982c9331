"""A tiny random model of transformers, its GGUF file by llama.cpp's converter, and its losses by the positions that
`ropewalk show` reads from that file.

The model's forward runs without any positions of its own: functions that rotate return what they are given, and the
attention is the one below, which takes all that has to do with positions from the JSON of `show`: frequencies, pairs,
amplitude, logit multiplier, temperature, and which keys a query sees. Queries and keys get the order of rows that
they have in the file.
"""

import copy
import dataclasses
import importlib
import inspect
import json
import logging
import math
import os
import pathlib
import sys
import types

import numpy as np
import torch
import transformers
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from comparison import ours

LLAMA_CPP = pathlib.Path(os.environ["ROPEWALK_PEERS_LLAMA_CPP"])
sys.path[:0] = [str(LLAMA_CPP / "gguf-py"), str(LLAMA_CPP)]

import conversion  # noqa: E402, of llama.cpp
import gguf  # noqa: E402, the one beside it

VOCABULARY = 96
NAME = "positions_of_a_file"


# ---- what `show` says

@dataclasses.dataclass
class LayerRule:
    """Positions of one layer, as the JSON of `show` says them."""

    layer: int
    inv_freq: np.ndarray | None = None  # (pairs), radians per token; None: not rotated
    axis: list = dataclasses.field(default_factory=list)  # (pairs), names; empty: one axis
    order: str = "half"
    head_dim: int = 0
    passed_before: int = 0
    base: float = 0
    amplitude: float = 1
    logit_multiplier: float = 1
    temperature: dict | None = None
    window: int | None = None  # tokens
    chunked: bool = False  # the window is the query's own chunk
    rows: np.ndarray | None = None  # (head_dim), which of the model's rows is the file's row r

    def but(self, **more) -> "LayerRule":
        return dataclasses.replace(self, **more)


def spectrum_at(spectra: list, length: int) -> dict:
    """The one of sequences of up to so many tokens; the last of them is for all longer ones, too."""
    return next((spectrum for spectrum in spectra if length <= spectrum["length"]), spectra[-1])


@dataclasses.dataclass
class Positions:
    """Of a file."""

    layers: list  # of LayerRule
    mechanisms: list  # beside rotation, as the JSON of `show` has them

    def but(self, change) -> "Positions":
        """With the numbers of mechanisms that change(mechanism) gives."""
        return Positions(self.layers, [{**mechanism, **change(mechanism)} for mechanism in self.mechanisms])


def layer_rules(shown: dict, length: int) -> list:
    """One rule for each layer; those of no group have none."""
    found = [LayerRule(layer) for layer in range(shown["layers"])]
    for group in shown["groups"]:
        fields = {field["name"]: field["value"] for field in shown["fields"] + group["fields"]}
        rotary = group["rotary"]
        for layer in group["layers"]:
            rule = found[layer]
            if "sees" in fields:
                rule.window = int(fields["sees"].split(" tokens")[0].split()[-1])
                rule.chunked = fields["sees"].startswith("its own chunk")
            if rotary is None:
                rule.temperature = group["query_temperature"]
                continue
            spectrum = spectrum_at(rotary["spectra"], length)
            rule.inv_freq = np.array([pair["inv_freq"] for pair in spectrum["pairs"]])
            rule.axis = [pair["axis"] for pair in spectrum["pairs"] if "axis" in pair]
            rule.order = rotary["layout"]["order"]
            rule.head_dim = rotary["layout"]["head_dim"]
            rule.passed_before = rotary["layout"]["passed_before"]
            rule.base = spectrum["base"] or rotary["base"]
            rule.amplitude = spectrum["amplitude"]
            rule.logit_multiplier = spectrum["logit_multiplier"]
            rule.temperature = rotary["query_temperature"]
    return found


# ---- the attention

class Stand:
    """What the attention below takes its positions from, while a model runs."""

    rules: list = []
    positions: dict = {}  # (tokens) of each axis; "": of all others


def temperatures(temperature: dict | None, positions: np.ndarray) -> np.ndarray:
    """(tokens), what the logits of each query are multiplied by."""
    out = np.ones(len(positions))
    if temperature is None:
        return out
    out *= temperature["factor"]
    if temperature["log_length"] > 1:
        out *= np.maximum(1, np.log(positions + 1) / math.log(temperature["log_length"]))
    if temperature["step_length"] > 0:
        steps = np.floor((positions + temperature["step_offset"]) / temperature["step_length"])
        out *= 1 + temperature["step_scale"] * np.log(1 + steps)
    return out


def plain_inv_freq(base: float, pairs: int) -> np.ndarray:
    return base ** (-np.arange(pairs) / pairs)


def rotated(x: torch.Tensor, rule: LayerRule) -> torch.Tensor:
    """x (batch, heads, tokens, width), in the file's order of rows."""
    pairs = len(rule.inv_freq)
    position = Stand.positions
    of_pair = [position.get(axis, position[""]) for axis in rule.axis or [""] * pairs]
    angles = np.stack([p * f for p, f in zip(of_pair, rule.inv_freq)], axis=-1)  # (tokens, pairs)
    cos, sin = (torch.tensor(f(angles) * rule.amplitude, dtype=torch.float32) for f in (np.cos, np.sin))
    first = rule.passed_before + (np.arange(pairs) if rule.order == "half" else 2 * np.arange(pairs))
    second = first + (pairs if rule.order == "half" else 1)
    a, b = x[..., first], x[..., second]
    out = x.clone()
    out[..., first] = a * cos - b * sin
    out[..., second] = a * sin + b * cos
    return out


def seen(tokens: int, rule: LayerRule) -> torch.Tensor:
    """(tokens, tokens), query by key."""
    position = torch.tensor(Stand.positions[""])
    i, j = position[:, None], position[None, :]
    if rule.window is None:
        return j <= i
    near = i // rule.window == j // rule.window if rule.chunked else i - j < rule.window
    return (j <= i) & near


def attention(module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, softcap=None, s_aux=None,
              **more):
    """With positions by Stand.rules; (batch, heads, tokens, width) each, the result with tokens before heads."""
    rule = Stand.rules[module.layer_idx]
    groups = query.shape[1] // key.shape[1]
    tokens = query.shape[2]
    if rule.rows is not None:
        query, key = query[..., rule.rows], key[..., rule.rows]
    if rule.inv_freq is not None:
        query, key = rotated(query, rule), rotated(key, rule)
    key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    heat = torch.tensor(temperatures(rule.temperature, Stand.positions[""]), dtype=torch.float32)
    scores = (query * heat[:, None]) @ key.transpose(2, 3) * (scaling * rule.logit_multiplier)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    scores = scores.masked_fill(~seen(tokens, rule), -math.inf)
    if s_aux is not None:
        scores = torch.cat([scores, s_aux.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)], dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., :tokens]
    return (weights @ value).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, lambda *words, **more: None)


def without_rotation(model) -> None:
    """Functions of the model's module that rotate give back what they are given."""
    place = importlib.import_module(type(model).__module__)
    for name, function in inspect.getmembers(place, inspect.isfunction):
        if name.startswith("apply_") and ("rotary" in name or "rope" in name):
            takes_one = len([p for p in inspect.signature(function).parameters if p in ("q", "k", "xq", "xk")]) < 2
            setattr(place, name, (lambda x, *_, **__: x) if takes_one else (lambda q, k, *_, **__: (q, k)))


# ---- positions beside rotation, in place of a model's own

def set_table(model, mechanism: dict, path: pathlib.Path) -> None:
    """The rows of the file at the positions that it says."""
    rows = next(torch.tensor(t.data) for t in gguf.GGUFReader(path).tensors if t.name == "position_embd.weight")
    table = next(m for name, m in model.named_modules() if name.endswith("wpe"))
    with torch.no_grad():
        table.weight.copy_(torch.roll(rows, -mechanism["offset"], 0))


def set_slopes(model, mechanism: dict, path: pathlib.Path) -> None:
    slopes = torch.tensor(mechanism["slopes"], dtype=torch.float32)
    place = importlib.import_module(type(model).__module__)
    place._get_alibi_slopes = lambda heads, device: slopes  # BLOOM
    for module in model.modules():  # MPT
        if hasattr(module, "build_mpt_alibi_tensor"):
            module.build_mpt_alibi_tensor = lambda heads, n, **more: slopes[:, None, None] * torch.arange(1 - n, 1)


def buckets_of(mechanism: dict, distance: torch.Tensor) -> torch.Tensor:
    """T5's, of key position less query position."""
    buckets, base = mechanism["buckets"], 0
    if mechanism["bidirectional"]:
        buckets //= 2
        base = (distance > 0) * buckets
        distance = distance.abs()
    else:
        distance = (-distance).clamp(min=0)
    exact = buckets // 2
    share = torch.log(distance.clamp(min=1).double() / exact) / math.log(mechanism["max_distance"] / exact)
    far = (exact + (share * (buckets - exact)).floor().long()).clamp(max=buckets - 1)
    return base + torch.where(distance < exact, distance, far)


def set_buckets(model, mechanism: dict, path: pathlib.Path) -> None:
    for module in model.modules():
        if hasattr(module, "compute_bias") and module.has_relative_attention_bias:
            if module.is_decoder == mechanism["bidirectional"]:
                continue

            def bias(queries, keys, *_, module=module, **__):
                distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
                values = module.relative_attention_bias(buckets_of(mechanism, distance))
                return values.permute(2, 0, 1)[None]

            module.compute_bias = bias


SET = {"learned": set_table, "alibi": set_slopes, "t5_buckets": set_buckets}


# ---- models

SMALL = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=2048, tie_word_embeddings=False, bos_token_id=1,
             eos_token_id=2, pad_token_id=0, dtype="float32")


def text_of(config):
    return config.get_text_config(decoder=True)


QUIET = 0.02  # of what comes from GELU, which ggml takes from a table in float16


def named(name: str, *words) -> bool:
    return any(word in name for word in words)


def size_of(name: str, gelu: bool) -> float:
    """Of a matrix whose products have a variance of its square."""
    if named(name, "q_", "k_", "qkv", "query", "Wqkv", "c_attn", "Attention.q", "Attention.k"):
        return 1.3
    if named(name, "o_proj", "lm_head", "embed_out"):
        return 2
    down = named(name, "down_proj", "fc2", "4h_to_h", "mlp.c_proj", "ffn.down_proj", "mlp.Wo", "DenseReluDense.wo")
    down = down or "output.dense" in name and "attention" not in name
    return QUIET if gelu and down else 1


def made(config, auto, seed=1, attention="eager"):
    """transformers' class of the configuration, its weights random so that attention is far from even."""
    torch.manual_seed(seed)
    make = getattr(auto, "from_config", None) or auto._from_config  # of a class that is not automatic
    model = make(config, attn_implementation=attention).float().eval()
    text = text_of(config)
    keys = ("hidden_act", "hidden_activation", "activation_function", "activation", "dense_act_fn")
    gelu = text.model_type in ("bloom", "mpt") or "gelu" in str([getattr(text, key, "") for key in keys])
    own_output = getattr(text, "scale_decoder_outputs", None) is False or text.model_type == "mt5"
    if own_output and hasattr(model, "lm_head"):  # T5 of version 1.1
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
    output = model.get_output_embeddings()  # none of an encoder
    tied = output is not None and output.weight is model.get_input_embeddings().weight
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if named(name, "query_layernorm", "key_layernorm"):
                continue  # even ones commute with rotation, whichever comes first
            if gelu and named(name, "post_feedforward_layernorm"):
                weight += QUIET - 1
            elif weight.dim() < 2:
                weight += 0.1 * torch.randn_like(weight)
            elif named(name, "embed_tokens", "embed_in", "wte", "wpe", "shared.weight", "word_embeddings",
                       "tok_embeddings", "position_embeddings", "token_type_embeddings"):
                weight.copy_(torch.randn_like(weight) * (2 / math.sqrt(weight.shape[-1]) if tied else 1))
            else:
                fan_in = weight.shape[-1] if weight.dim() == 2 else weight.shape[-2]  # experts: the other way around
                weight.copy_(torch.randn_like(weight) * size_of(name, gelu) / math.sqrt(fan_in))
    return model


def vocabulary(self) -> None:
    """In place of the converter's: words of no meaning."""
    writer = self.gguf_writer
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(["<unk>", "<s>", "</s>"] + [f"t{k}" for k in range(3, VOCABULARY)])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([2, 3, 3] + [1] * (VOCABULARY - 3))
    if "type_vocab_size" in self.hparams:
        writer.add_token_type_count(self.hparams["type_vocab_size"])


def converted(folder: pathlib.Path, out: pathlib.Path, added: dict, edits: dict,
              stored=gguf.LlamaFileType.ALL_F32) -> None:
    """llama.cpp's converter on a folder, in float32 unless told otherwise, but for the vocabulary.

    added: to the configuration, what published files have and transformers does not write
    edits: keys without the architecture, to (type, value), or to None where they are to go
    """
    for name in ("hf-to-gguf", "gguf.gguf_writer"):
        logging.getLogger(name).setLevel(logging.ERROR)
    hparams = {**conversion.ModelBase.load_hparams(folder, False), **added}
    kind = conversion.get_model_class(conversion.get_model_architecture(hparams, conversion.ModelType.TEXT))
    with torch.inference_mode():
        model = kind(folder, stored, out, eager=True, hparams=hparams)
        model = getattr(model, "impl", model)
        model.set_vocab = types.MethodType(vocabulary, model)
        theirs = model.set_gguf_parameters

        def parameters():
            theirs()
            keys = model.gguf_writer.kv_data[0]
            for key, edit in edits.items():
                name = f"{model.gguf_writer.arch}.{key}"
                keys.pop(name, None)
                if edit is not None:
                    model.gguf_writer.add_key_value(name, edit[1], edit[0])

        model.set_gguf_parameters = parameters
        model.write()


def row_order(model, path: pathlib.Path, head_dim: int) -> np.ndarray | None:
    """Which of the model's rows of a query head is row r of the file's; None: the same order, or not to be told."""
    tensors = {tensor.name: tensor.data for tensor in gguf.GGUFReader(path).tensors}
    stored = tensors.get("blk.0.attn_q.weight")
    if stored is None:
        return None
    for weight in model.state_dict().values():
        if tuple(weight.shape) != tuple(stored.shape):
            continue
        where = {row.tobytes(): r for r, row in enumerate(weight.numpy())}
        order = [where.get(np.ascontiguousarray(row).tobytes()) for row in stored[:head_dim]]
        if None not in order:
            order = np.array(order)
            return None if np.array_equal(order, np.arange(head_dim)) else order
    return None


def losses(model, ids: list) -> list:
    """(len(ids) - 1), -ln p(ids[t + 1]); of an encoder with a decoder, after the same ids."""
    inputs = dict(input_ids=torch.tensor([ids[:-1]]))
    if model.config.model_type == "llama4":  # the wrapper's forward asks for images
        model = model.language_model
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    with torch.inference_mode():
        logits = model(**inputs, use_cache=False).logits[0].double()
    return (-torch.log_softmax(logits, dim=-1)[torch.arange(len(ids) - 1), ids[1:]]).tolist()


def final_states(model, ids: list) -> list:
    """(len(ids) * hidden), of an encoder, one after the other."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).last_hidden_state.flatten().tolist()


def some_places(ids: list) -> list:
    return list(range(0, len(ids), 25))


def masked_logits(model, ids: list) -> list:
    """(some places * vocabulary), of a head of masked tokens, one after the other."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).logits[0, some_places(ids)].flatten().tolist()


class Family:
    """A tiny model of a configuration, its GGUF file, and the same for the attention above.

    length    tokens that will be scored
    stripped  of the configuration: what turns off positions of the model's own code
    auto      transformers' automatic class that makes the model
    own_attention  it keeps the model's own attention, whose positions are a mechanism beside rotation
    """

    def __init__(self, folder: pathlib.Path, config, length: int, stripped: dict, added: dict, edits: dict,
                 auto: str, own_attention: bool):
        self.auto = getattr(transformers, auto)
        model = made(config, self.auto)
        saved = folder / "model"
        model.save_pretrained(saved)
        words = {f"t{k}": k for k in range(VOCABULARY)}  # some converters count them
        (saved / "tokenizer.json").write_text(json.dumps({"model": {"vocab": words}, "added_tokens": []}))
        self.path = folder / "rule.gguf"
        converted(saved, self.path, added, edits)
        self.shown = ours("show", self.path)
        self.positions = Positions(layer_rules(self.shown, length), self.shown["mechanisms"])
        head_dim = next((rule.passed_before + rule.head_dim for rule in self.positions.layers if rule.head_dim), 0)
        rows = row_order(model, self.path, head_dim) if head_dim else None
        for rule in self.positions.layers:
            rule.rows = rows

        bare = copy.deepcopy(config)
        for key, value in stripped.items():
            setattr(text_of(bare), key, value)
        implementation = "eager" if own_attention else NAME
        self.model = self.auto.from_config(bare, attn_implementation=implementation).float().eval()
        self.model.load_state_dict(model.state_dict())
        without_rotation(self.model)

    def embedded(self, ids: list, positions: dict) -> bytes:
        """What llama_scorer reads in place of ids: positions on four axes, the last of them 0, and embeddings."""
        axes = np.stack([positions[axis] for axis in ("time", "height", "width")] + [np.zeros(len(ids) - 1)])
        rows = self.model.get_input_embeddings().weight[ids[:-1]].detach().numpy()
        return axes.astype("<i4").tobytes() + rows.astype("<f4").tobytes()

    def losses(self, ids: list, axes: dict, positions: Positions) -> list:
        """axes: the position of each token on each axis, "" on all that are not named."""
        Stand.rules = positions.layers
        Stand.positions = {"fourth": np.zeros(len(ids) - 1), **axes}
        for mechanism in positions.mechanisms:
            SET[mechanism["kind"]](self.model, mechanism, self.path)
        return losses(self.model, ids)
