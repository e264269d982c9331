# peers: node scorer
"""Losses of every token of a 4096-token document under four schemes, against llama.cpp with its float32 cache.

stories260K.gguf, document 0 of the shared reference. With --angles float32 both engines round angles alike, and each
log-probability must agree; with exact angles the difference is what the rounding of angles costs llama.cpp.
"""

import json
import sys

from comparison import SHARED, Comparison, arguments, llama_cpp, llama_losses, mean, our_losses

BOUND = 1e-3
MODEL = SHARED / "models/stories260K.gguf"
# Our scheme, and the keys that ask llama.cpp for it.
SCHEMES = {
    "plain": ("rope", None),
    "base": ("base,factor=4", {"freq_base": 40000}),
    "linear": ("linear,factor=4", {"scaling": {"type": "linear", "factor": 4}}),
    "yarn": ("yarn,factor=8", {"scaling": {"type": "yarn", "factor": 8, "original_context_length": 512}}),
}


def add(table, name, losses, peer, bound=None):
    assert len(losses) == len(peer)
    worst = max(range(len(peer)), key=lambda t: abs(losses[t] - peer[t]))
    table.add(f"{name}, token {worst + 1} is worst", losses[worst], peer[worst], abs(losses[worst] - peer[worst]), bound)


def main() -> int:
    options = arguments(__doc__)
    ids = json.loads((SHARED / "reference/docs.json").read_text())["docs"][0]
    table = Comparison(f"Loss per token, stories260K, {len(ids)} tokens, llama.cpp with a float32 cache")
    for name, (scheme, rope) in SCHEMES.items():
        answer = llama_cpp(task="logprobs", model=MODEL, kv="f32", rope=rope, threads=1, windows=[ids])
        peer = [-logprob for logprob in answer["logprobs"][0]]
        for angles, bound in (("float32", BOUND), ("exact", None)):
            losses = our_losses(MODEL, ids, "--scheme", scheme, "--angles", angles, "--threads", options.threads)
            add(table, f"{name}, {angles} angles", losses, peer, bound)
            table.add(f"{name}, {angles} angles, mean", mean(losses), mean(peer), abs(mean(losses) - mean(peer)))
        if rope is None:
            scorer = llama_losses(MODEL, [ids], "f32", 1)[0]
            add(table, "llama.cpp's C interface against its JavaScript", scorer, peer, BOUND)
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
