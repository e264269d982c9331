# peers: mpi bible
"""One study with 1, 2 and 4 ranks under Open MPI's mpirun, and with one killed in the middle: equal rows, and how long.

The rows are keys and losses, to the last bit; the answer is all that `extend --json` prints but "run". Every rank has
one thread, so that two ranks have two cores where one has one.
"""

import json
import os
import pathlib
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from comparison import HERE, Comparison, arguments

ROOT = HERE.parent.parent
BUNDLED = ROOT / "models/ropewalk-kjv-1m.gguf"
BOOKS = ("Acts", "Eze")  # that the bundled model does not know


def texts_of(folder: pathlib.Path) -> list:
    paths = []
    for book in BOOKS:
        paths.append(folder / f"{book}.txt")
        with paths[-1].open("w") as file:
            subprocess.run([sys.executable, ROOT / "tools/kjv_text.py", book], check=True, stdout=file)
    return paths


def rank_processes(mpirun: int) -> dict:
    """The process of each rank that is a child of mpirun's, by number."""
    found = {}
    for pid in pathlib.Path(f"/proc/{mpirun}/task/{mpirun}/children").read_text().split():
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for variable in environment:
            name, _, value = variable.partition(b"=")
            if name == b"OMPI_COMM_WORLD_RANK":
                found[int(value)] = int(pid)
    return found


def children_seconds() -> float:
    """CPU time of all processes that have ended, those that mpirun started among them."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Study:
    """A run of extend over a study file of its own."""

    def __init__(self, folder: pathlib.Path, name: str, words: list):
        self.path = folder / f"{name}.db"
        self.words = [os.environ["ROPEWALK_PROGRAM"], "extend", *map(str, words), "--threads", "1", "--json", "--study",
                      str(self.path)]
        self.cells = pathlib.Path(f"{self.path}-ranks")

    def run(self, ranks: int, kill=None, after=0) -> "Study":
        """ranks: 0 is without mpirun; kill: a rank, after so many cells."""
        start, used = time.monotonic(), children_seconds()
        launcher = []
        if ranks:
            launcher = ["mpirun", "-n", str(ranks), "--oversubscribe", "--enable-recovery"]
            launcher += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        with subprocess.Popen([*launcher, *self.words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            if kill is not None:
                self.kill_rank(process, kill, after)
            output = process.communicate()[0]
        self.seconds, self.cpu_seconds = time.monotonic() - start, children_seconds() - used
        if process.returncode:
            sys.exit(f"ranks: mpirun -n {ranks} ended with {process.returncode}")
        self.answer = json.loads(output)
        del self.answer["run"]
        with sqlite3.connect(self.path) as database:
            self.rows = {row[:3]: row[3] for row in database.execute("SELECT scheme, text, window, losses FROM cell")}
        assert not self.cells.exists(), f"{self.cells} was left"
        return self

    def kill_rank(self, process, rank: int, after: int) -> None:
        while process.poll() is None:
            if self.cells.is_dir() and sum(file.suffix == ".cell" for file in self.cells.iterdir()) >= after:
                os.kill(rank_processes(process.pid)[rank], signal.SIGKILL)
                print(f"   rank {rank} killed after {after} passes", file=sys.stderr, flush=True)
                return
            time.sleep(0.002)
        sys.exit("ranks: the study ended before a rank was killed")


def main() -> int:
    options = arguments(
        __doc__, model=(str(BUNDLED), "a GGUF file"), text=("", "to read; books of the Bible unless given"),
        to=(1024, "tokens"), windows=(6, "of so many tokens"), search=(8, "settings past the grid"),
        turns=(1, "runs of 1 and of 2 ranks, alternating; medians are told"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        texts = [options.text] if options.text else texts_of(folder)
        words = [options.model, "--to", options.to, "--text", *texts, "--windows", options.windows, "--search",
                 options.search]
        table = Comparison(
            f"One study by several ranks, beside it without mpirun: {pathlib.Path(options.model).stem} to {options.to}, "
                           f"{options.windows} windows", "differ")
        alone = Study(folder, "alone", words).run(0)
        half = len(alone.rows) // 2
        runs = [(f"{ranks} rank{'s' if ranks > 1 else ''}", ranks, None) for ranks in (1, 2)] * options.turns
        runs += [("4 ranks", 4, None), ("2 ranks, 1 killed", 2, 1), ("4 ranks, 2 killed", 4, 2),
                 ("4 ranks, 0 killed", 4, 0)]
        taken = {}
        for turn, (title, ranks, killed) in enumerate(runs):
            study = Study(folder, str(turn), words).run(ranks, killed, half)
            differ = sum(study.rows.get(key) != alone.rows.get(key) for key in study.rows.keys() | alone.rows.keys())
            table.add(f"{title}: rows", len(study.rows), len(alone.rows), differ, 0)
            table.add(f"{title}: answers", 1, 1, int(study.answer != alone.answer), 0)
            taken.setdefault(title, []).append((study.seconds, study.cpu_seconds))
    status = table.finish(options.json)
    print(f"\none thread a rank; without mpirun {alone.seconds:.1f} s, of the CPU {alone.cpu_seconds:.1f} s")
    one = statistics.median(seconds for seconds, _ in taken["1 rank"])
    for title, times in taken.items():
        seconds, cpu_seconds = map(statistics.median, zip(*times))
        print(f"   {title}: {seconds:.1f} s, {one / seconds:.2f} times as fast as 1 rank; of the CPU {cpu_seconds:.1f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
