# peers: node python
"""Files that `ropewalk write` makes, in llama.cpp with its float32 cache and in the gguf package.

Each scheme is written for 4096 tokens into stories260K.gguf, and into the bundled model after its weights were widened
to float32. llama.cpp reads the new file and scores a document: the shared reference's, or this project's own pages. So
does this project, from the same file, with angles rounded as ggml rounds them. What the gguf package reads of every key
must be what the report says, --undo must give the old file, and other tensors stay.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
from comparison import HERE, SHARED, Comparison, arguments, llama_cpp, our_losses, ours

BOUND = 1e-3
STORIES = SHARED / "models/stories260K.gguf"
ROOT = HERE.parent.parent
BUNDLED = ROOT / "models/ropewalk-kjv-1m.gguf"
SCHEMES = {
    "linear": "linear,factor=8",
    "ntk": "ntk,factor=8",
    "yarn": "yarn,factor=8",
    "yarn, own amplitude": "yarn,factor=8,attention_factor=1",
    "yarn by turns": "yarn,factor=8,ramp=turns",
    "ntk_by_parts": "ntk_by_parts,factor=8",
    "llama3": "llama3,factor=8,low=1,high=4",
}


def is_read_as(field, text) -> bool:
    """Whether the package reads what the report says, a float32 to its last bit."""
    value = field.parts[field.data[0]][0] if field.types[-1] == gguf.GGUFValueType.FLOAT32 else field.contents()
    return value == type(value)(text)


def misread_keys(path, report) -> int:
    """How many changed keys the gguf package reads as something else."""
    fields = gguf.GGUFReader(path).fields
    wrong = 0
    for change in report["keys"]:
        field = fields.get(change["key"])
        wrong += not is_read_as(field, change["after"]) if field else change["after"] is not None
    return wrong


def changed_tensors(model, path, report) -> int:
    """How many tensors are not as in the model, but those that the report names as added."""
    before = {tensor.name: tensor for tensor in gguf.GGUFReader(model).tensors}
    after = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    same = [name for name in before if name in after and (before[name].data == after[name].data).all()]
    return len(before) - len(same) + len(set(after) - set(before) - set(report["tensors_added"]))


def sha256(path) -> str:
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def own_pages(model, n_tokens) -> list:
    """The first ids of docs/, by the model's own tokenizer."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))[: 8 * n_tokens])
        file.flush()
        return ours("losses", model, "--text", file.name)["tokens"][:n_tokens]


def compare(table, model, ids, options):
    with tempfile.TemporaryDirectory() as folder:
        for name, scheme in SCHEMES.items():
            name = f"{model.stem}, {name}"
            path, undone = (pathlib.Path(folder) / file for file in ("written.gguf", "undone.gguf"))
            report = ours("write", model, "--scheme", scheme, "--to", 4096, "-o", path)
            table.add(f"{name}: {report['how']}, keys read otherwise", 0, 0, misread_keys(path, report), 0)
            table.add(f"{name}, other tensors changed", 0, 0, changed_tensors(model, path, report), 0)

            ours("write", path, "--undo", "-o", undone)
            table.add(f"{name}, undone otherwise", sha256(undone)[:8], sha256(model)[:8],
                      int(sha256(undone) != sha256(model)), 0)

            answer = llama_cpp(task="logprobs", model=path, kv="f32", threads=1, windows=[ids])
            peer = [-logprob for logprob in answer["logprobs"][0]]
            for angles, bound in (("float32", BOUND), ("exact", None)):
                losses = our_losses(path, ids, "--angles", angles, "--threads", options.threads)
                assert len(losses) == len(peer)
                worst = max(range(len(peer)), key=lambda t: abs(losses[t] - peer[t]))
                table.add(f"{name}, {angles} angles, token {worst + 1} is worst", losses[worst], peer[worst],
                          abs(losses[worst] - peer[worst]), bound)


def main() -> int:
    options = arguments(__doc__, tokens=(4096, "how many of the document"))
    ids = json.loads((SHARED / "reference/docs.json").read_text())["docs"][0][: options.tokens]
    table = Comparison(f"Written files, {len(ids)} tokens, llama.cpp with a float32 cache")
    compare(table, STORIES, ids, options)
    with tempfile.TemporaryDirectory() as folder:
        widened = pathlib.Path(folder) / BUNDLED.name
        subprocess.run([sys.executable, HERE / "widen_gguf.py", BUNDLED, widened], check=True)
        compare(table, widened, own_pages(widened, options.tokens), options)
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
