"""What every comparison shares: asking this project's command and llama.cpp, and the table of what differs."""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHARED = pathlib.Path(os.environ["ROPEWALK_SHARED"])


class Comparison:
    """Rows of figures, ours beside the peer's; a row without a bound only reports.

    measure: what is told of the two figures, and bounded
    """

    def __init__(self, title: str, measure="difference"):
        self.title = title
        self.measure = measure
        self.rows = []

    def add(self, name, ours, peer, value, bound=None):
        holds = None if bound is None else bool(value <= bound)
        self.rows.append({"name": name, "ours": ours, "peer": peer, self.measure: value, "bound": bound, "holds": holds})
        print(f"   {name}: {shown(value)}", file=sys.stderr, flush=True)

    def finish(self, json_path=None) -> int:
        """Prints the table, writes the rows, gives the exit status."""
        print(f"\n{self.title}\n")
        head = ("", "ours", "peer", self.measure, "bound", "")
        lines = [head] + [
            (row["name"], shown(row["ours"]), shown(row["peer"]), shown(row[self.measure]), shown(row["bound"]),
             {True: "holds", False: "FAILS", None: "reported"}[row["holds"]])
            for row in self.rows
        ]
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if json_path:
            pathlib.Path(json_path).write_text(json.dumps(self.rows, indent=1) + "\n")
        failed = sum(row["holds"] is False for row in self.rows)
        print(f"\n{failed} of {len(self.rows)} rows fail" if failed else "\nall bounds hold")
        return 1 if failed else 0


def shown(value) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def arguments(description: str, **more) -> argparse.Namespace:
    """--json, --threads and a comparison's own options: name=(default, help)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", metavar="OUT", help="also write the rows, as a JSON array, to this file")
    parser.add_argument("--threads", type=int, default=2, help="of either engine")
    for name, (default, text) in more.items():
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", action="store_true", help=text)
        else:
            told = text if default == "" else f"{text}; {default} unless given"
            parser.add_argument(f"--{name}", type=type(default), default=default, help=told)
    return parser.parse_args()


def ours(*words) -> dict:
    """The JSON that `ropewalk words... --json` prints."""
    command = [os.environ["ROPEWALK_PROGRAM"], *map(str, words), "--json"]
    # Threads that wait must not spin on the cores of others.
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ}
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)


def our_losses(model, ids, *options, encoder_ids=None) -> list:
    """(len(ids) - 1), -ln p(ids[t + 1]); encoder_ids: of a model with an encoder, what that reads."""
    with tempfile.TemporaryDirectory() as folder:
        if encoder_ids is not None:
            options += ("--encoder-ids", saved_ids(folder, "encoder", encoder_ids))
        return ours("losses", model, "--ids", saved_ids(folder, "decoder", ids), *options)["losses"]


def our_states(model, ids, *options) -> list:
    """(len(ids) * hidden), an encoder's final states, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        rows = ours("states", model, "--ids", saved_ids(folder, "tokens", ids), *options)["states"]
        return [value for row in rows for value in row]


def our_masked_logits(model, ids, places, *options) -> list:
    """(places * vocabulary), of a head of masked tokens, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        rows = ours("states", model, "--ids", saved_ids(folder, "tokens", ids), "--logits-at",
                    ",".join(map(str, places)), *options)["logits"]
        return [value for row in rows for value in row]


def saved_ids(folder, name, ids) -> pathlib.Path:
    path = pathlib.Path(folder) / f"{name}.json"
    path.write_text(json.dumps(ids))
    return path


def llama_cpp(**job) -> dict:
    """The answer of llama_cpp.mjs to a job; see there."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = (pathlib.Path(folder) / name for name in ("job.json", "answer.json"))
        asked.write_text(json.dumps({**job, "model": str(job["model"])}))
        subprocess.run(["node", HERE / "llama_cpp.mjs", asked, answer], check=True, stdout=subprocess.DEVNULL)
        return json.loads(answer.read_text())


def scored_by(command, windows) -> list:
    """For each window, what a program answers to its ids with, negated: losses for its log-probabilities."""
    text = "".join(" ".join(map(str, ids)) + "\n" for ids in windows)
    output = subprocess.run([*map(str, command)], check=True, input=text, stdout=subprocess.PIPE, text=True).stdout
    return [[-float(number) for number in line.split()] for line in output.splitlines()]


def llama_losses(model, windows, kv, threads, *more) -> list:
    """For each window (len(ids) - 1), -ln p(ids[t + 1]), by llama_scorer; more: its further arguments."""
    return scored_by([os.environ["ROPEWALK_PEERS_SCORER"], model, kv, threads, *more], windows)


def llama_tool_losses(what, model, windows, *options) -> list:
    """For each window the losses of all its tokens or, by the tool's definition, of the second halves of -c, by
    llama_perplexity, which reads options as llama.cpp's commands do."""
    return scored_by([os.environ["ROPEWALK_PEERS_LLAMA_PERPLEXITY"], what, "-m", model, *options], windows)


def llama_states(model, windows, threads) -> list:
    """For each window (len(ids) * hidden), an encoder's final states, one after the other."""
    return [[-number for number in row] for row in llama_losses(model, windows, "states", threads)]


def mean(values) -> float:
    values = list(values)
    return math.fsum(values) / len(values)


def perplexity(windows) -> float:
    return math.exp(mean(loss for losses in windows for loss in losses))
