# peers: node transformers bench
"""Our kernels beside what the machine can do at most and beside ggml, ONNX Runtime and PyTorch, interleaved: one
measurement of each in turn, medians of all turns. Every goal of docs/benchmarks.md is a row."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import bench_peers

ROTATED_HEADS = 32
REST = 0.05  # seconds before a measurement: threads of whoever was measured before spin for a while


class Measure:
    """bench/measure.cc, kept running."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name, **keys):
        """Seconds of one call, and its size."""
        words = [name, *(f"{key}={value}" for key, value in keys.items())]
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(words)}: the program of bench/measure.cc has ended")
        seconds, size = line.split()
        return float(seconds), float(size)


def call_for(shortest, call) -> tuple:
    """Calls, and the seconds of all."""
    begin, calls = time.perf_counter(), 0
    while True:
        call()
        calls += 1
        spent = time.perf_counter() - begin
        if spent > shortest:
            return calls, spent


def seconds_of(call) -> float:
    """Of one call, the mean over some milliseconds, warmed as bench/measure.cc warms ours."""
    calls, spent = call_for(1e-2, call)
    if calls > 1:
        calls, spent = call_for(5e-3, call)
    return spent / calls


class Bench:
    def __init__(self, measure, turns):
        self.measure, self.turns, self.rows = measure, turns, []

    def row(self, name, unit, ours, limit=None, peer=None, peer_name=None, goal_limit=None, goal_peer=None,
            at_most=None):
        """ours, limit: (name, keys) of measure; peer: a function, or such a pair.
        unit      of which the size of `ours` counts one each
        goal_*    ours has to be at least so many times as fast as the limit, the peer
        at_most   ours may take at most so many times the peer's seconds"""
        def timed(what):
            if callable(what):
                return seconds_of(what), None
            return self.measure.ask(what[0], **what[1])

        times = {"ours": [], "limit": [], "peer": []}
        sizes = {}
        asked = {"ours": ours, "limit": limit, "peer": peer}
        for _ in range(self.turns):
            for who, what in asked.items():
                if what is not None:
                    time.sleep(REST)
                    seconds, size = timed(what)
                    times[who].append(seconds)
                    sizes[who] = size
        work = sizes["ours"]

        def rates(who):
            """Units per second; the peer does the work of `ours`."""
            size = sizes.get(who) or work
            if who == "peer":
                size = work
            return sorted(size / seconds for seconds in times[who])

        def ratio(who):
            if not times[who]:
                return None
            mine, other = rates("ours"), rates(who)
            return statistics.median(mine) / statistics.median(other)

        ratio_limit, ratio_peer = ratio("limit"), ratio("peer")
        holds = []
        if goal_limit is not None:
            holds.append(ratio_limit >= goal_limit)
        if goal_peer is not None:
            holds.append(ratio_peer >= goal_peer)
        if at_most is not None:
            holds.append(1 / ratio_peer <= at_most)
        goal = (f">= {goal_limit} of the limit" if goal_limit is not None else
                f">= {goal_peer} of the peer" if goal_peer is not None else
                f"<= {at_most} of its time" if at_most is not None else None)
        row = {"name": name, "unit": unit, "ours": statistics.median(rates("ours")), "ours_range": ends(rates("ours"))}
        for who in ("limit", "peer"):
            row[who] = statistics.median(rates(who)) if times[who] else None
            row[f"{who}_range"] = ends(rates(who)) if times[who] else None
        row |= {"limit_name": f"{limit[0]} {limit[1]}" if limit else None, "peer_name": peer_name,
                "ratio_limit": ratio_limit, "ratio_peer": ratio_peer, "goal": goal,
                "holds": all(holds) if holds else None}
        self.rows.append(row)
        print("  ".join([f"{name:64}", f"{row['ours']:10.4g} {unit}",
                         f"limit {row['limit']:.4g} x{ratio_limit:.2f}" if limit else "",
                         f"{peer_name} {row['peer']:.4g} x{ratio_peer:.2f}" if peer else "",
                         goal or "", {True: "holds", False: "FAILS", None: ""}[row["holds"]]]), flush=True)


def ends(values):
    return [values[0], values[-1]]


def rotation(bench, ggml):
    for kind, width in (("f32", 4), ("bf16", 2)):
        for dim in (64, 128):
            for layout in ("half", "interleaved"):
                for tokens in (16, 2048):
                    size = tokens * ROTATED_HEADS * dim * width
                    keys = dict(type=kind, layout=layout, dim=dim, tokens=tokens, table="ready", threads=1)
                    name = f"rotate {kind} {layout} {dim}, {tokens} tokens"
                    bench.row(f"{name}, out of place", "B/s", ("rotate", keys | {"place": "out"}),
                              limit=("copy", dict(bytes=size, threads=1)), goal_limit=0.9)
                    small = tokens == 16
                    bench.row(f"{name}, in place", "B/s", ("rotate", keys | {"place": "in"}),
                              limit=("copy" if small else "scale", dict(bytes=size, threads=1)),
                              goal_limit=1.0 if small else 0.9)
    bench.measure.ask("forget")
    for layout, goal in (("interleaved", 2.5), ("half", 5)):
        for table in ("made", "ready"):
            keys = dict(type="f32", layout=layout, dim=128, tokens=128, place="out", table=table, threads=1)
            bench.row(f"rotate {layout} 128, 128 tokens, table {table}, against ggml", "B/s", ("rotate", keys),
                      peer=ggml.rope(layout, 128, 128), peer_name="ggml",
                      goal_peer=goal if table == "made" else None)
    for tokens in (128, 2048):
        for threads in (1, 2):
            keys = dict(type="f32", dim=128, tokens=tokens, place="out", table="ready", threads=threads)
            for layout in ("half", "interleaved"):
                bench.row(f"rotate {layout} 128, {tokens} tokens, {threads} threads", "B/s",
                          ("rotate", keys | {"layout": layout}),
                          peer=bench_peers.onnx_rotary(layout, 128, tokens, threads), peer_name="ONNX Runtime")
            for compiled in (False, True):
                bench.row(f"rotate half 128, {tokens} tokens, {threads} threads", "B/s",
                          ("rotate", keys | {"layout": "half"}),
                          peer=bench_peers.torch_rotate_half(128, tokens, compiled, threads),
                          peer_name="torch.compile" if compiled else "torch")


def tables(bench):
    for kind, goal in (("f32", 8), ("bf16", None), ("f64", None)):
        for first in (0, 1 << 30):
            keys = dict(dim=128, tokens=2048, first=first, threads=1)
            bench.row(f"table {kind} 128, 2048 rows from {first}", "entries/s", ("table", keys | {"type": kind}),
                      peer=("sincos", keys), peer_name="libm", goal_peer=goal)


def on(threads) -> dict:
    """Keys of a measurement that stands beside others of bench/measure.cc alone: one thread by its CPU time, which other
    programs on the machine do not lengthen."""
    return dict(threads=threads) | (dict(clock="thread") if threads == 1 else {})


def prefill(bench, ggml):
    tokens = 8192
    for threads, times in ((1, 3.5), (2, 3)):
        common = dict(tokens=tokens, threads=threads)
        peer = ggml.flash_attention(tokens, threads=threads)
        bench.row(f"prefill bf16, {tokens} tokens, {threads} threads", "FLOP/s",
                  ("prefill", common | on(threads) | dict(type="bf16", scheme="rope")), limit=("bf16", on(threads)),
                  goal_limit=0.55)
        bench.row(f"prefill bf16, {tokens} tokens, {threads} threads", "FLOP/s",
                  ("prefill", common | dict(type="bf16", scheme="rope")), peer=peer, peer_name="ggml flash attention",
                  goal_peer=times)
        bench.row(f"prefill f32, {tokens} tokens, {threads} threads", "FLOP/s",
                  ("prefill", common | on(threads) | dict(type="f32", scheme="rope")), limit=("floats", on(threads)),
                  goal_limit=0.65)
        for bf16 in (False, True):
            kind = "bf16" if bf16 else "f32"
            bench.row(f"prefill {kind}, {tokens} tokens, {threads} threads", "FLOP/s",
                      ("prefill", common | dict(type=kind, scheme="rope")),
                      peer=bench_peers.torch_attention(tokens, bf16=bf16, threads=threads), peer_name="torch sdpa")
        bench.measure.ask("forget")


def maps(bench):
    window = 1024
    for tokens in (8192, 32768):
        long = tokens == 32768
        tail = f"log_tail,window={window // 2},bound={window},at={tokens}"
        for scheme, at_most in ((f"cap,window={window}", 1.03 if long else 1.06),
                                (f"leaky,window={window},divisor=8", 1.03 if long else 1.06),
                                (f"self_extend,window={window},group=8", 1.03 if long else 1.06),
                                (f"{tail},pieces=4", 1.15), ("full_turn", 1.10)):
            for kind in ("bf16", "f32") if not long else ("bf16",):
                keys = dict(type=kind, tokens=tokens) | on(1)
                bench.row(f"prefill {kind}, {tokens} tokens, {scheme}", "FLOP/s",
                          ("prefill", keys | {"scheme": scheme}), peer=("prefill", keys | {"scheme": "rope"}),
                          peer_name="plain", at_most=at_most)
        if not long:
            keys = dict(type="f32", tokens=tokens) | on(1)
            bench.row(f"prefill f32, {tokens} tokens, {tail} (general path)", "FLOP/s",
                      ("prefill", keys | {"scheme": tail}), peer=("prefill", keys | {"scheme": "rope"}),
                      peer_name="plain", at_most=3.5)
            bench.row(f"prefill f32, {tokens} tokens, cap as published: two products and a choice", "FLOP/s",
                      ("published_cap", dict(tokens=tokens, window=window) | on(1)),
                      peer=("prefill", keys | {"scheme": f"cap,window={window}"}), peer_name="our cap")
        bench.measure.ask("forget")


def decode(bench):
    tokens = 32768
    for threads in (1, 2):
        reading = dict(tokens=tokens) | on(threads)
        keys = reading | dict(cache="unrotated")
        bench.row(f"decode, {tokens} keys, {threads} threads", "B/s", ("decode", keys | {"scheme": "rope"}),
                  limit=("read_cache", reading), goal_limit=0.85)
        bench.row(f"decode, {tokens} keys, {threads} threads, cache rotated before", "B/s",
                  ("decode", keys | {"scheme": "rope", "cache": "rotated"}),
                  limit=("read_cache", reading))
        turned, unturned = bench.rows[-1], bench.rows[-2]
        plain = dict(scheme="rope", cache="rotated" if turned["ours"] > unturned["ours"] else "unrotated")
        for scheme in ("cap,window=1024", "leaky,window=1024,divisor=8", "self_extend,window=1024,group=32",
                       f"log_tail,window=512,bound=1024,at={tokens},pieces=4", "full_turn"):
            bench.row(f"decode, {tokens} keys, {threads} threads, {scheme}", "B/s",
                      ("decode", keys | {"scheme": scheme}), peer=("decode", keys | plain),
                      peer_name=f"plain, {plain['cache']} cache", at_most=1.10)
        bench.measure.ask("forget")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="OUT", help="also write the rows, as a JSON array, to this file")
    parser.add_argument("--turns", type=int, default=7, help="measurements of each side; 7 unless given")
    parser.add_argument("--only", default="", help="parts, by comma: rotation, tables, prefill, maps, decode")
    options = parser.parse_args()
    bench = Bench(Measure(os.environ["ROPEWALK_PEERS_MEASURE"]), options.turns)
    ggml = bench_peers.Ggml()
    parts = {"rotation": lambda: rotation(bench, ggml), "tables": lambda: tables(bench),
             "prefill": lambda: prefill(bench, ggml), "maps": lambda: maps(bench), "decode": lambda: decode(bench)}
    wanted = options.only.split(",") if options.only else list(parts)
    for name in wanted:
        if name not in parts:
            parser.error(f"--only: must be some of {', '.join(parts)}, got {name}")
        parts[name]()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(bench.rows, indent=1) + "\n")
    goals = [row for row in bench.rows if row["goal"]]
    failed = [row["name"] for row in goals if not row["holds"]]
    print(f"\n{len(goals) - len(failed)} of {len(goals)} goals hold; versions: {bench_peers.versions()}")
    for name in failed:
        print(f"   fails: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
