# peers: python scorer smollm2_f32
"""Perplexity of SmolLM2-135M-Instruct (Q4_1) over a long book, against llama.cpp and between our own paths.

The first tokens of war_and_peace_plain.txt, by windows of 2048 that do not overlap, the same ids for all. Both our paths
hold the file's own weights: f32 widens them exactly, bf16 rounds what they are widened to. Losses have no path that
multiplies blocks as they are stored: generation alone has. llama.cpp rounds activations to 8 bits on this file; rows of
widened weights are the same weights in float32, where nothing is rounded on either side.
"""

import os
import sys

from comparison import SHARED, Comparison, arguments, llama_losses, ours, our_losses, perplexity

WINDOW = 2048
PEER_BOUND = 0.005  # relative
OWN_BOUND = 0.002
WIDENED_BOUND = 1e-5
TEXT = SHARED / "text/war_and_peace_plain.txt"


def add_definition(table, threads):
    """What `perplexity` says of second halves, against the losses of the very windows that llama.cpp's tool reads."""
    model, text, window = SHARED / "models/stories260K.gguf", SHARED / "text/alice29.txt", 256
    mine = ours("perplexity", model, "--text", text, "--tokens", 32 * window, "--window", window)
    ids = ours("tokens", model, "--text", text)["ids"][0][: 32 * window]
    windows = [[mine["bos"], *ids[k + 1 : k + window]] for k in range(0, len(ids), window)]
    half = next(one for one in mine["results"] if one["rule"] == "second_half")
    scored = [losses[window // 2 :] for losses in llama_losses(model, windows, "f32", threads)]
    count = sum(map(len, scored))
    assert half["scored"] == count, (half["scored"], count)
    a, b = half["perplexity"], perplexity(scored)
    table.add(f"second halves of {len(windows)} windows of {window}, {model.stem}", a, b, abs(a / b - 1), WIDENED_BOUND)


def main() -> int:
    options = arguments(
        __doc__,
        windows=(32, "windows of 2048 tokens, from the start of the text"),
        few=(8, "windows for widened weights"),
    )
    model, widened = (os.environ[name] for name in ("ROPEWALK_PEERS_SMOLLM2", "ROPEWALK_PEERS_SMOLLM2_F32"))
    table = Comparison(f"Perplexity of SmolLM2-135M-Instruct Q4_1 on {TEXT.name}")
    ids = ours("tokens", model, "--text", TEXT)["ids"][0][: options.windows * WINDOW]
    windows = [ids[k : k + WINDOW] for k in range(0, len(ids) - WINDOW + 1, WINDOW)]
    few = windows[: options.few]

    def add(name, mine, theirs, bound):
        a, b = perplexity(mine), perplexity(theirs)
        table.add(f"{len(mine)} windows, {name}", a, b, abs(a / b - 1), bound)

    paths = {
        precision: [our_losses(model, own, "--threads", options.threads, "--precision", precision) for own in windows]
        for precision in ("f32", "bf16")
    }
    add("our bf16 path and our f32 path", paths["bf16"], paths["f32"], OWN_BOUND)
    scored = llama_losses(model, windows, "f16", options.threads)
    for precision, losses in paths.items():
        add(f"our {precision} path and llama.cpp", losses, scored, PEER_BOUND)
    exact = llama_losses(widened, few, "f32", options.threads)
    add("our f32 path and llama.cpp, widened", paths["f32"][: len(few)], exact, WIDENED_BOUND)
    add("our bf16 path and llama.cpp, widened", paths["bf16"][: len(few)], exact, OWN_BOUND)
    add("llama.cpp, as it is and widened", scored[: len(few)], exact, None)
    add_definition(table, options.threads)
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
