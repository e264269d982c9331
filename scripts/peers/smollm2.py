# peers: node python scorer smollm2_f32
"""SmolLM2-135M-Instruct (Q4_1): token ids, perplexity and greedy continuations against llama.cpp.

Perplexity is over windows of 2048 tokens that do not overlap, the same ids for both. Where a continuation first
differs the two best logits must nearly tie in one of the engines. llama.cpp rounds activations to 8 bits on this file;
rows of widened weights are the same weights in float32, where it does not and so must agree closely.
"""

import math
import os
import sys

from comparison import SHARED, Comparison, arguments, llama_cpp, llama_losses, ours, our_losses, perplexity

WINDOW = 2048
PERPLEXITY_BOUND = 0.005  # relative
GAP_BOUND = 0.2  # logits
# The same for widened weights; 1e-7 and 2e-5 are typical.
WIDENED_PERPLEXITY_BOUND = 1e-5
WIDENED_GAP_BOUND = 1e-3
COUNT = 32
PROMPTS = (
    "The capital of France is",
    "Once upon a time, in a small village by the sea,",
    "To make a good cup of tea, first",
)


def pieces(text, longest=100_000):
    """The text cut after a line, short enough to be arguments of a command."""
    while len(text) > longest:
        end = text.rfind("\n", 0, longest) + 1
        yield text[:end]
        text = text[end:]
    yield text


def compare_tokens(table, model, path):
    """The ids of the text, made by llama.cpp; ours are what a continuation by no token prints."""
    texts = list(pieces(path.read_bytes().decode()))
    theirs = sum(llama_cpp(task="tokenize", model=model, texts=texts)["ids"], [])
    mine = sum((ours("generate", model, "-p", text, "-n", 0)["tokens"] for text in texts), [])
    differing = sum(a != b for a, b in zip(mine, theirs)) + abs(len(mine) - len(theirs))
    table.add(f"token ids of {path.name}, differing", len(mine), len(theirs), differing, 0)
    return theirs


def add_perplexity(table, name, mine, theirs, bound):
    """Of the windows that llama.cpp has scored, the first of ours."""
    a, b = perplexity(mine[: len(theirs)]), perplexity(theirs)
    table.add(f"perplexity, {len(theirs)} windows, {name}", a, b, abs(a / b - 1), bound)


def compare_continuations(table, model, name, bound, *options, kv="f16"):
    """The columns are the gap between the two best logits where the engines first choose unlike tokens.

    One thread: llama.cpp's barriers spin, and token by token two threads are slower than one where cores are few.
    """
    mine = [ours("generate", model, "-p", text, "-n", COUNT, "--threads", 1, *options) for text in PROMPTS]
    prompts = [answer["tokens"][: answer["prompt_tokens"]] for answer in mine]
    theirs = llama_cpp(task="greedy", model=model, prompts=prompts, count=COUNT, kv=kv)
    for text, answer, peer, peer_gaps in zip(PROMPTS, mine, theirs["added"], theirs["gaps"]):
        tokens, gaps = answer["tokens"][answer["prompt_tokens"] :], answer["gaps"]
        length = max(len(tokens), len(peer))
        first = next((n for n in range(length) if tokens[n : n + 1] != peer[n : n + 1]), None)
        label = f"greedy, {name}, '{text}'"
        if first is None:
            table.add(f"{label}: all {length} alike", None, None, 0.0, bound)
            continue
        # One that has ended gives no gap for its end.
        tied = [gap[first] if first < len(gap) else math.inf for gap in (gaps, peer_gaps)]
        table.add(f"{label}: {first} alike, then a gap", *tied, min(tied), bound)


def main() -> int:
    options = arguments(
        __doc__,
        windows=(20, "windows of 2048 tokens, from the start of the text"),
        few=(6, "windows for its f32 cache, and for widened weights"),
    )
    model, widened = (os.environ[name] for name in ("ROPEWALK_PEERS_SMOLLM2", "ROPEWALK_PEERS_SMOLLM2_F32"))
    table = Comparison("SmolLM2-135M-Instruct Q4_1 against llama.cpp")
    ids = compare_tokens(table, model, SHARED / "text/alice29.txt")
    all_windows = [ids[k : k + WINDOW] for k in range(0, len(ids) - WINDOW + 1, WINDOW)]
    windows = all_windows[: options.windows]
    few = windows[: options.few]

    for precision in ("f32", "bf16"):
        compare_continuations(table, model, precision, GAP_BOUND, "--precision", precision)
    compare_continuations(table, widened, "widened", WIDENED_GAP_BOUND, kv="f32")

    def mine(some, *more):
        return [our_losses(model, ids, "--threads", options.threads, *more) for ids in some]

    paths = {precision: mine(windows, "--precision", precision) for precision in ("f32", "bf16")}
    # With widened weights few windows tell, and both paths are bounded. On the file itself most of the difference is
    # llama.cpp's rounding: the f32 path is bounded, over the whole text; the rest reports.
    scored = llama_losses(widened, few, "f32", options.threads)
    add_perplexity(table, "widened, its f32 cache", paths["f32"], scored, WIDENED_PERPLEXITY_BOUND)
    add_perplexity(table, "widened, our bf16 path, its f32 cache", paths["bf16"], scored, PERPLEXITY_BOUND)
    for kv, some in (("f16", windows), ("f32", few)):
        scored = llama_losses(model, some, kv, options.threads)
        for precision, losses in paths.items():
            bounded = precision == "f32" and len(some) == len(all_windows)
            bound = PERPLEXITY_BOUND if bounded else None
            add_perplexity(table, f"our {precision} path, its {kv} cache", losses, scored, bound)
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
