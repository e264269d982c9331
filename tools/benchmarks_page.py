"""docs/benchmarks.md from the rows that scripts/peers.sh bench --json and scripts/peers.sh speed --json write.

usage: benchmarks_page.py BENCH.json [SPEED.json] > docs/benchmarks.md
"""

import json
import os
import platform
import sys

HEAD = """# Benchmarks

Medians of interleaved runs, ours and the peer's in turns in one run; the range of ours in brackets. Compare ratios, not
figures: these machines are shared, and what two runs have in common is the ratio.

Machine: {machine}.

To repeat, on an idle machine:

```
scripts/peers.sh bench --json bench.json       # kernels: ggml, ONNX Runtime, PyTorch beside them
scripts/peers.sh speed --json speed.json       # whole models, llama.cpp beside them
python3 tools/benchmarks_page.py bench.json speed.json > docs/benchmarks.md
```

`limit` is a ceiling measured in the same run: memcpy of as many bytes, an in-place scale, the read bandwidth, the peak of
fused multiply-adds, or that of VDPBF16PS. `x` is ours over it; where a goal bounds the time, `x` is the rate against the
peer's, so that 1.06 of its time is 0.94. One thread beside another kernel of ours counts its CPU time, all else the clock's.
"""

# Of the machine that the page was last made on.
NOTES = {"Kernels": """What does not hold, and why:

- bfloat16 at 16 tokens, in the second cache: bound by arithmetic. 64 coordinates take 20 vector operations (4 to widen, 8 to turn, 8 to
  round and pack), two at a time, and move 256 bytes, which memcpy moves in 8 to 9 cycles: at most 0.78 to 0.80 of it.
- Against ggml at 128 tokens: 2 MiB are read and 2 MiB written, which is more than the second cache has. memcpy moves as many at 27 GB/s,
  1.6 and 2.7 times ggml's rate here; ours is at 0.91 of memcpy, the table included. With two threads, each of which has a second cache
  of its own, it is 90 GB/s.
"""}


def machine() -> str:
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    flags = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "")
    units = [name for name in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if f" {name}" in flags]
    release = next((line.split("=", 1)[1].strip().strip('"') for line in open("/etc/os-release")
                    if line.startswith("PRETTY_NAME")), platform.system())
    return f"{model}, {os.cpu_count()} cores ({', '.join(units)}), {release}"


def scaled(value, unit) -> str:
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size and unit not in ("tokens/s", "MiB"):
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def row(entry) -> str:
    unit = entry["unit"]
    low, high = entry.get("ours_range") or (None, None)
    spread = "" if low is None else f" [{scaled(low, unit).split()[0]}..{scaled(high, unit).split()[0]}]"
    against, ratio = "", entry["ratio_limit"]
    if entry["limit"] is not None:
        against = f"limit {scaled(entry['limit'], unit)}"
    elif entry["peer"] is not None:
        against, ratio = f"{entry['peer_name']} {scaled(entry['peer'], unit)}", entry["ratio_peer"]
    verdict = {True: "holds", False: "**fails**", None: ""}[entry["holds"]]
    times = "" if ratio is None else f"{ratio:.2f}"
    return f"| {entry['name']} | {scaled(entry['ours'], unit)}{spread} | {against} | {times} | {entry['goal'] or ''} | {verdict} |"


def main() -> None:
    print(HEAD.format(machine=machine()))
    for path, title in zip(sys.argv[1:], ("Kernels", "Models")):
        with open(path) as file:
            rows = json.load(file)
        goals = [entry for entry in rows if entry["goal"]]
        print(f"## {title}\n\n{sum(bool(entry['holds']) for entry in goals)} of {len(goals)} goals hold.\n")
        print("| | ours | beside it | x | goal | |\n|---|---|---|---|---|---|")
        for entry in rows:
            print(row(entry))
        print()
        if title in NOTES:
            print(NOTES[title])


if __name__ == "__main__":
    main()
