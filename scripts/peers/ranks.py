# peers: mpi bible
"""One study with 1, 2 and 4 ranks under Open MPI's mpirun, and with one killed in the middle: equal rows, and how long.

The rows are keys and losses, to the last bit; the answer is all that `extend --json` prints but "run". Every rank has
one thread, so that two ranks have two cores where one has one.
"""

import json
import os
import pathlib
import signal
import sqlite3
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


class Study:
    """A run of extend over a study file of its own."""

    def __init__(self, folder: pathlib.Path, name: str, words: list):
        self.path = folder / f"{name}.db"
        self.words = [os.environ["ROPEWALK_PROGRAM"], "extend", *map(str, words), "--threads", "1", "--json", "--study",
                      str(self.path)]
        self.cells = pathlib.Path(f"{self.path}-ranks")

    def run(self, ranks: int, kill=None, after=0) -> "Study":
        """ranks: 0 is without mpirun; kill: a rank, after so many cells."""
        start = time.monotonic()
        launcher = []
        if ranks:
            launcher = ["mpirun", "-n", str(ranks), "--oversubscribe", "--enable-recovery"]
            launcher += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        with subprocess.Popen([*launcher, *self.words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            if kill is not None:
                self.kill_rank(process, kill, after)
            output = process.communicate()[0]
        self.seconds = time.monotonic() - start
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
        to=(1024, "tokens"), windows=(6, "of so many tokens"), search=(8, "settings past the grid"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        texts = [options.text] if options.text else texts_of(folder)
        words = [options.model, "--to", options.to, "--text", *texts, "--windows", options.windows, "--search",
                 options.search]
        table = Comparison(f"One study by several ranks: {pathlib.Path(options.model).stem} to {options.to}, "
                           f"{options.windows} windows", "differ")
        alone = Study(folder, "alone", words).run(0)
        half = len(alone.rows) // 2
        runs = [(f"{ranks} rank{'s' if ranks > 1 else ''}", ranks, None) for ranks in (1, 2, 4)]
        runs += [("2 ranks, 1 killed", 2, 1), ("4 ranks, 2 killed", 4, 2), ("4 ranks, 0 killed", 4, 0)]
        seconds = {}
        for title, ranks, killed in runs:
            study = Study(folder, title.replace(" ", "-"), words).run(ranks, killed, half)
            differ = sum(study.rows.get(key) != alone.rows.get(key) for key in study.rows.keys() | alone.rows.keys())
            table.add(f"{title}: rows", len(study.rows), len(alone.rows), differ, 0)
            table.add(f"{title}: answer", "as alone" if study.answer == alone.answer else "another", "", int(
                study.answer != alone.answer), 0)
            seconds[title] = study.seconds
    status = table.finish(options.json)
    print(f"\nseconds, one thread a rank: {alone.seconds:.1f} without mpirun")
    for title, taken in seconds.items():
        print(f"   {title}: {taken:.1f}, {seconds['1 rank'] / taken:.2f} times as fast as 1 rank")
    return status


if __name__ == "__main__":
    sys.exit(main())
