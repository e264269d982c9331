# peers: python llama_perplexity smollm2
"""What a study of ten settings costs, beside a run of llama.cpp's perplexity tool for each setting and length.

Ours: one `ropewalk extend` with the ten and one window of N tokens, the whole command: reading, the bias curve, and the
window and sinks that it always adds. One pass gives the losses at all positions. Theirs: for each setting and length n
a command of its own, which reads the model and scores the second half of the first n of the same tokens, the fewest
that it can be asked for: 2 threads, its default batches, and flash attention or not, whichever is faster at that
length. Of the ten so many are run, and the mean of their times stands for each; --all runs every one.
"""

import dataclasses
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from comparison import SHARED, Comparison, arguments, llama_tool_losses, mean, ours, saved_ids

GOAL = 0.2
WAR = SHARED / "text/war_and_peace_plain.txt"


@dataclasses.dataclass
class Setting:
    scheme: str
    options: tuple  # of llama.cpp


def settings(base: float, trained: int, ratio: float) -> list:
    """Ten that llama.cpp's options say, by the ratio of lengths."""
    linear = [ratio, 2 * ratio]
    bases = [ratio, 2 * ratio, 4 * ratio, 8 * ratio]
    yarn = [ratio, 2 * ratio, 4 * ratio]
    return [
        *(Setting(f"yarn,factor={f:g}",
                  ("--rope-scaling", "yarn", "--rope-scale", f"{f:g}", "--yarn-orig-ctx", trained)) for f in yarn),
        *(Setting(f"base,factor={f:g}", ("--rope-scaling", "none", "--rope-freq-base", f"{f * base:.9g}"))
          for f in bases),
        *(Setting(f"linear,factor={f:g}", ("--rope-scaling", "linear", "--rope-scale", f"{f:g}")) for f in linear),
        Setting("declared", ()),
    ]


def tell(words: str) -> None:
    print(f"   {words}", file=sys.stderr, flush=True)


def seconds_of(run) -> tuple:
    """Seconds, and what run() gives."""
    start = time.monotonic()
    answer = run()
    return time.monotonic() - start, answer


def fastest_precision(model, ids) -> str:
    """bf16 where this CPU has products in it: AVX2 alone has none."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([os.environ["ROPEWALK_PROGRAM"], "losses", model, "--precision", "bf16", "--ids",
                              saved_ids(folder, "two", ids[:2])], capture_output=True, text=True)
    if run.returncode != 0 and "no product for it" not in run.stderr:
        sys.exit(run.stderr)
    return "bf16" if run.returncode == 0 else "f32"


def our_study(model, ids, options, tried) -> tuple:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        document = saved_ids(folder, "text", ids)
        schemes = [setting.scheme for setting in tried]
        return seconds_of(lambda: ours(
            "extend", model, "--to", len(ids), "--ids", document, "--windows", 1, "--copy-windows", 0, "--precision",
            options.precision, "--threads", options.threads, "--study", folder / "study.db", "--scheme", *schemes))


def their_runs(model, ids, length, options, measured) -> tuple:
    """Mean seconds of a run at this length, and the mean loss of each setting that was measured."""
    times = {"on": [], "off": []}
    found = {}
    for k, setting in enumerate(measured):
        # Both ways once, then the faster one.
        flash = ("on", "off")[k] if k < 2 else min(times, key=lambda way: mean(times[way]))
        tell(f"llama.cpp, {setting.scheme}, {length} tokens, flash attention {flash}, run {k + 1} of {len(measured)}")
        taken, losses = seconds_of(lambda: llama_tool_losses(
            "halves", model, [ids[:length]], *setting.options, "-c", length, "-t", options.threads, "-fa", flash))
        tell(f"   {taken:.1f} s")
        times[flash].append(taken)
        found[setting.scheme] = mean(losses[0])
    return min(mean(some) for some in times.values()), found


def main() -> int:
    options = arguments(
        __doc__, model=("", "a GGUF file in place of SmolLM2-135M-Instruct"), to=(16384, "N"),
        lengths=("", "by comma, of llama.cpp's runs; half the trained length, doubled up to N, unless given"),
        measured=(2, "settings that llama.cpp runs, at least 2"), all=(False, "llama.cpp runs all ten"),
        precision=("", "of ours; bf16, or f32 where this CPU has no product in it, unless given"),
        text=(str(WAR), "to read the first N tokens of"))
    model = pathlib.Path(options.model or os.environ["ROPEWALK_PEERS_SMOLLM2"])
    if options.measured < 2:
        sys.exit("sweep: --measured must be at least 2: flash attention is tried on and off")
    rotary = ours("show", model)["groups"][0]["rotary"]
    trained, base = rotary["trained_length"], rotary["base"]
    lengths = [int(word) for word in options.lengths.split(",") if word]
    if not lengths:
        halvings = int(math.log2(options.to / (trained / 2)))
        lengths = [options.to >> k for k in range(halvings, -1, -1)]
    ids = ours("tokens", model, "--text", options.text)["ids"][0][: options.to]
    options.precision = options.precision or fastest_precision(model, ids)
    tried = settings(base, trained, options.to / trained)
    measured = tried if options.all else tried[: options.measured]
    how = "all run" if options.all else f"{len(measured)} of {len(tried)} run, their mean for each"
    table = Comparison(f"Seconds of {len(tried)} settings, {model.stem}, trained for {trained}, to {len(ids)}", "ratio")

    tell(f"ours, {len(tried)} settings and two that forget, {len(ids)} tokens, {options.precision}")
    mine, study = our_study(model, ids, options, tried)
    tell(f"   {mine:.1f} s")
    runs = {length: their_runs(model, ids, length, options, measured) for length in lengths}
    for length, (seconds, _) in runs.items():
        theirs = seconds * len(tried)
        table.add(f"one length, {length}: positions from {length // 2} on; {how}", mine, theirs, mine / theirs)
    theirs = sum(seconds for seconds, _ in runs.values()) * len(tried)
    table.add(f"lengths {', '.join(map(str, lengths))}: positions from {lengths[0] // 2} on; {how}", mine, theirs,
              mine / theirs, GOAL)
    if lengths[-1] == 2 * trained == len(ids):  # the second half of it is what lies past the trained length
        for scheme, loss in runs[lengths[-1]][1].items():
            own = next(one for one in study["candidates"] if one["scheme"] == scheme)
            table.add(f"perplexity past {trained}, {scheme}", math.exp(own["beyond"]), math.exp(loss),
                      math.exp(own["beyond"] - loss))
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
