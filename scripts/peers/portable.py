# peers: python llama_perplexity converter smollm2 bible
"""The portable setting that `ropewalk extend` recommends, in engines that it says run it, past the trained length.

Ours is the perplexity of the very study that recommended it. llama.cpp, its other options as they are by default, reads
the file that -o wrote, and the model's own file with the options that extend prints, by its own parser. transformers
reads the model's GGUF file, saves a directory, and its config.json gets the keys that extend prints. The same ids for
all. Small models run extend's whole race, on text that they know; SmolLM2-135M-Instruct (Q4_1) gets settings that are
named, for a race would take an hour: extend has only each of them to choose.
"""

import dataclasses
import json
import math
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import torch
import transformers

from comparison import HERE, SHARED, Comparison, arguments, llama_tool_losses, mean, ours, saved_ids
from family_models import losses

BOUND = 0.005  # relative
STORIES = SHARED / "models/stories260K.gguf"
ROOT = HERE.parent.parent
BUNDLED = ROOT / "models/ropewalk-kjv-1m.gguf"
SMOLLM2 = pathlib.Path(os.environ["ROPEWALK_PEERS_SMOLLM2"])
WAR = SHARED / "text/war_and_peace_plain.txt"
RACE = ""  # in place of a setting: all of the registry's own
FOURFOLD = ("yarn,factor=4", "base,factor=4", "linear,factor=4")
TWOFOLD = ("yarn,factor=2", "base,factor=2", "linear,factor=2")


@dataclasses.dataclass
class Case:
    model: pathlib.Path
    target: int
    windows: list  # of ids
    settings: tuple
    small: bool  # transformers runs it, too


@dataclasses.dataclass
class Taken:
    """A setting with what extend says of it."""

    scheme: str
    inside: float  # nats per token that are predicted from positions below the trained length
    beyond: float
    file: pathlib.Path  # that declares it
    lines: dict  # by engine


def of_text(model: pathlib.Path, path: pathlib.Path, target: int, count: int) -> list:
    """The first windows of so many ids."""
    ids = ours("tokens", model, "--text", path)["ids"][0]
    return [ids[k * target : (k + 1) * target] for k in range(count)]


def of_bible(target: int, count: int) -> list:
    """Of a book that the bundled model was not trained on."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        subprocess.run([sys.executable, ROOT / "tools/kjv_text.py", "Acts"], check=True, stdout=file)
        return of_text(BUNDLED, pathlib.Path(file.name), target, count)


def extended(case: Case, documents: list, setting: str, folder: pathlib.Path, options) -> tuple:
    """The answer of extend, and what it recommends as best portable; or the setting, where it takes another."""
    path = folder / "longer.gguf"
    race = ["--scheme", setting, "--copy-windows", 0] if setting else ["--copy-windows", 1]
    race += ["--held-out", 0]  # llama.cpp reads all of them
    answer = ours("extend", case.model, "--to", case.target, "--ids", *documents, "--windows", len(documents),
                  "--precision", options.precision, "--threads", options.threads, "--study", folder / "study.db",
                  "-o", path, "--force", *race)
    winner = next(winner for winner in answer["winners"] if winner["as"] == "best portable")
    lines = {line["engine"]: line["line"] for line in reversed(winner["run_with"])}  # the first of each
    if setting and winner["scheme"] != setting:
        print(f"   extend takes {winner['scheme']} before {setting}", file=sys.stderr)
        ours("write", case.model, "--scheme", setting, "--to", case.target, "-o", path, "--force")
        lines = {}
    scheme = setting or winner["scheme"]
    found = next(one for one in answer["candidates"] if one["scheme"] == scheme)
    assert found["windows"] == len(documents), (found["windows"], len(documents))
    return answer, Taken(scheme, found["inside"], found["beyond"], path, lines)


def saved_directory(model: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The model as transformers reads the GGUF file, in float32; it saves none that it has read from one."""
    read = transformers.AutoModelForCausalLM.from_pretrained(model.parent, gguf_file=model.name, dtype=torch.float32)
    config = type(read.config).from_dict({**read.config.to_dict(), "quantization_config": None})
    copied = type(read)(config).float()
    copied.load_state_dict(read.state_dict())
    copied.save_pretrained(folder / "directory")
    return folder / "directory"


def transformers_losses(directory: pathlib.Path, line: str, windows: list) -> list:
    """After the keys of the line were put into the directory's config.json."""
    path = directory / "config.json"
    declared = path.read_text()
    path.write_text(json.dumps({**json.loads(declared), **json.loads(line.removeprefix("in config.json: "))}))
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
    path.write_text(declared)
    return [losses(model, ids) for ids in windows]


def compare(case: Case, settings: list, table: Comparison, options, folder: pathlib.Path) -> None:
    documents = [saved_ids(folder, k, window) for k, window in enumerate(case.windows)]
    directory = saved_directory(case.model, folder) if case.small else None

    for setting in settings:
        answer, taken = extended(case, documents, setting, folder, options)
        trained, last = answer["trained_length"], case.target - 1
        whole = (taken.inside * trained + taken.beyond * (last - trained)) / last
        name = f"{case.model.stem}, {trained} to {case.target}, {taken.scheme}{'' if setting else ' by the race'}"

        def add(engine, theirs):
            for part, mine, first in (("past the trained length", taken.beyond, trained), ("whole windows", whole, 0)):
                a, b = math.exp(mine), math.exp(mean(loss for row in theirs for loss in row[first:]))
                table.add(f"{name}: {engine}, {part}", a, b, abs(a / b - 1), BOUND)

        def llama_cpp(model, flags):
            # On so small a model flash attention takes four times as long, and threads that wait spin.
            how = ("-fa", "off", "-t", 1) if case.small else ("-t", options.threads)
            return llama_tool_losses("all", model, case.windows, *flags, *how)

        add("llama.cpp, the file", llama_cpp(taken.file, ["-c", case.target]))
        line = taken.lines.get("llama.cpp", "")
        if line.startswith("llama-cli -m MODEL.gguf "):
            add("llama.cpp, options", llama_cpp(case.model, shlex.split(line)[3:]))
        elif line:
            print(f"   no options of llama.cpp say {taken.scheme}", file=sys.stderr)
        line = taken.lines.get("transformers", "")
        if directory is not None and line.startswith("in config.json: "):
            add("transformers, config.json", transformers_losses(directory, line, case.windows))


def main() -> int:
    options = arguments(
        __doc__, long=(1, "windows of SmolLM2; 0 leaves it out"), target=(16384, "tokens of such a window"),
        precision=("f32", "of extend"), only=("", "settings where MODEL, SETTING has this"))
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(options.threads)
    table = Comparison("Recommended portable settings in other engines: perplexity", "relative")
    stories = json.loads((SHARED / "reference/docs.json").read_text())["docs"]
    for case in (
        Case(BUNDLED, 4096, of_bible(4096, 2), (RACE, *FOURFOLD), True),
        Case(STORIES, 4096, stories, (RACE, *FOURFOLD), True),
        Case(SMOLLM2, options.target, of_text(SMOLLM2, WAR, options.target, options.long), TWOFOLD, False),
    ):
        settings = [setting for setting in case.settings if options.only in f"{case.model.stem}, {setting or 'race'}"]
        if settings and case.windows:
            with tempfile.TemporaryDirectory() as folder:
                compare(case, settings, table, options, pathlib.Path(folder))
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
