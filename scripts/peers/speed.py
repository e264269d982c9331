# peers: speed smollm2
"""How fast the engine goes through a model, beside llama.cpp on the same file, in turns.

Prefill: tokens per second of a prompt read at once; ours gives the losses of all positions, llama.cpp nothing but its
cache. llama.cpp's figure is the better of its two: flash attention on and off. Decode: tokens per second after a prompt,
1 thread. Memory: the peak of either process. Each side is a process of its own, run turn by turn.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

from comparison import arguments

LLAMA, OURS = os.environ["ROPEWALK_PEERS_LLAMA_SPEED"], os.environ["ROPEWALK_PEERS_MODEL_SPEED"]
SMOLLM2 = os.environ["ROPEWALK_PEERS_SMOLLM2"]
MIB = 1024.0
PREFILL = {512: 2.5, 2048: 3.0, 8192: 3.0, 32768: 3.5}  # at least so many times llama.cpp's
DECODE = {512: 1.2, 8192: 1.2}
DECODED = 64
LONG = 8192  # from here on a pass takes so long that its start is lost in it: it is not repeated to be warm


def repetitions(prompt: int) -> int:
    return 1 if prompt >= LONG else 2


def measured(program, *words) -> dict:
    environment = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "2", **os.environ}
    output = subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.PIPE, env=environment).stdout
    return json.loads(output.splitlines()[-1])  # the last repetition: caches are warm by then


class Table:
    """Rows {name, unit, ours, limit, peer, peer_name, ratio_limit, ratio_peer, goal, holds}, medians."""

    def __init__(self):
        self.rows = []

    def add(self, name, unit, ours, peer, goal, at_least=True) -> None:
        mine, theirs = statistics.median(ours), statistics.median(peer)
        ratio = mine / theirs
        holds = None if goal is None else bool(ratio >= goal if at_least else ratio <= goal)
        self.rows.append(dict(name=name, unit=unit, ours=mine, ours_range=[min(ours), max(ours)], limit=None, peer=theirs,
                              peer_range=[min(peer), max(peer)], peer_name="llama.cpp", ratio_limit=None, ratio_peer=ratio,
                              goal=None if goal is None else f"{'>=' if at_least else '<='} {goal} of the peer",
                              holds=holds))
        verdict = {True: "holds", False: "FAILS", None: ""}[holds]
        print(f"{name:58} {mine:10.4g} {unit:9} llama.cpp {theirs:10.4g}  x{ratio:.2f} "
              f"({min(ours):.4g}..{max(ours):.4g} and {min(peer):.4g}..{max(peer):.4g})  {verdict}", flush=True)


def in_turns(model, precision, prompt, decoded, threads, turns, what) -> tuple:
    """The runs of ours, and of llama.cpp with or without flash attention, whichever has the better median of `what`."""
    ours, plain, flash = [], [], []
    for _ in range(turns):
        ours.append(measured(OURS, model, prompt, decoded, threads, precision, repetitions(prompt)))
        plain.append(measured(LLAMA, model, prompt, decoded, threads, 0, repetitions(prompt)))
        flash.append(measured(LLAMA, model, prompt, decoded, threads, 1, repetitions(prompt)))
    return ours, min((plain, flash), key=lambda runs: statistics.median(run[what] for run in runs))


def compare(table, name, model, precision, prompts, decodes, turns) -> None:
    for prompt in prompts:
        few = turns if prompt <= LONG else max(1, turns // 2)
        sides = in_turns(model, precision, prompt, 0, 2, few, "prefill")
        table.add(f"{name}, {precision}: prefill of {prompt}, 2 threads", "tokens/s",
                  *([prompt / run["prefill"] for run in side] for side in sides), PREFILL.get(prompt))
        table.add(f"{name}, {precision}: peak memory, prefill of {prompt}", "MiB",
                  *([run["peak"] / MIB for run in side] for side in sides), 1.5 if prompt >= 8192 else None,
                  at_least=False)
    for prompt in decodes:
        sides = in_turns(model, precision, prompt, DECODED, 1, turns, "decode")
        table.add(f"{name}, {precision}: decode after {prompt}, 1 thread", "tokens/s",
                  *([DECODED / run["decode"] for run in side] for side in sides), DECODE.get(prompt))


def main() -> int:
    options = arguments(__doc__, turns=(3, "measurements of each side"), prompts=("512,2048,8192,32768", "by comma"),
                        decodes=("512,8192", "by comma"), model=("", "a GGUF file in place of SmolLM2"))
    table = Table()
    numbers = lambda text: [int(word) for word in text.split(",") if word]
    compare(table, pathlib.Path(options.model or SMOLLM2).stem, options.model or SMOLLM2, "bf16", numbers(options.prompts),
            numbers(options.decodes), options.turns)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(table.rows, indent=1) + "\n")
    failed = [row["name"] for row in table.rows if row["holds"] is False]
    print(f"\n{len(failed)} of {len(table.rows)} rows fail" if failed else "\nall goals hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
