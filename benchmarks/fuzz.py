"""Mutated inputs through every reader that a stranger's bytes reach: files, messages, events, codecs of devices.

    python benchmarks/fuzz.py [READER...] [--inputs 1000000] [--seconds S] [--seed 1] [--processes 2]

Each reader runs in a process of its own. What must hold for every input, or the program says which one broke it and
ends with 1:

- it is taken, or refused with one of the reader's declared errors; the process lives;
- no file is opened for writing, made, renamed or removed outside the folder that the reader was given;
- at most 10 s of processor time, and never more than 1 GB of memory.

Inputs follow from seed and number alone, so that any of them can be made again (`--first NUMBER --inputs 1`). Those
that once broke a promise are kept in `tests/corpus/READER`, and come first in every run. Codecs of devices have
promises of their own on top (`fuzz_codecs`): a campaign there counts as a reader here.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_codecs import CAMPAIGNS, FuzzError
from fuzz_readers import READERS

__all__ = ["NAMES", "READERS", "BrokenPromise", "Guard", "Outcome", "replay", "run"]

CORPUS = Path(__file__).parents[1] / "tests" / "corpus"
NAMES = (*READERS, *CAMPAIGNS)
MOST_CPU_S = 10.0
MOST_BYTES = 10**9
BATCH = 10_000  # frames of a codec between looks at the clock
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
}


class BrokenPromise(BaseException):
    """Not an Exception: no reader may catch it."""


@dataclass
class Outcome:
    """Of one reader: inputs tried and refused, processor time of the slowest [s], peak memory [byte]; what broke it."""

    reader: str
    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    peak: int = 0
    seconds: float = 0.0
    fault: str = ""


class Guard:
    """Watches what a reader does: where it writes, how long it takes, what it holds."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.on = False
        self.broken = ""
        sys.addaudithook(self._audit)
        signal.signal(signal.SIGPROF, self._too_long)

    def limit_memory(self) -> None:
        """No more than 1 GB beyond what is mapped once everything is loaded."""
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MOST_BYTES, resource.RLIM_INFINITY))

    def __enter__(self) -> None:
        self.on, self.broken = True, ""
        signal.setitimer(signal.ITIMER_PROF, MOST_CPU_S)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.on = False
        if self.broken:  # told here too: a reader may have taken it for something else
            raise BrokenPromise(self.broken)

    def _too_long(self, *_: object) -> None:
        self._break(f"more than {MOST_CPU_S:g} s of processor time")

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open":
            path, mode, flags = arguments
            writes = (
                any(c in "wax+" for c in mode) if isinstance(mode, str) else bool((flags or 0) & _WRITING)
            )
            paths = [path] if writes else []
        elif event in _CHANGES:
            paths = list(arguments[: 2 if event in ("os.rename", "os.link") else 1])
        elif event in ("os.system", "subprocess.Popen", "socket.connect", "socket.bind"):
            self._break(f"{event} {arguments[:2]!r:.200}")
            return
        else:
            return
        for path in paths:
            if isinstance(path, str | bytes | os.PathLike):
                place = os.path.realpath(os.fsdecode(path))
                inside = place == self.folder or place.startswith(self.folder + os.sep)
                if (
                    not inside and place != os.devnull and "__pycache__" not in place
                ):  # compiled code is our own
                    self._break(f"{event} outside of its folder: {place}")

    def _break(self, what: str) -> None:
        self.broken = what
        raise BrokenPromise(what)


def peak_memory() -> int:
    """Of this process so far [byte]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def replay(name: str, data: bytes, folder: Path) -> bool:
    """Read one input; whether it was taken. What is neither that nor refused as declared is raised."""
    reader = READERS[name]
    try:
        reader.read(data, folder)
    except reader.errors:
        return False
    return True


def _empty(folder: Path) -> None:
    """A folder as it was: readers must find nothing of the last input."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def _child(
    name: str, first: int, inputs: int, seconds: float, seed: int, place: Any, link: Connection
) -> None:
    """Run one reader; `place` always holds the number of the present input, should the process die of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    outcome = Outcome(name)
    started = time.perf_counter()
    try:
        if name in CAMPAIGNS:
            _campaign(outcome, inputs, seconds, seed, started)
        else:
            _read_all(outcome, first, inputs, seconds, seed, place, started)
    except (Exception, BrokenPromise) as exc:
        where = traceback.extract_tb(exc.__traceback__)
        last = next((frame for frame in reversed(where) if "heft" in frame.filename), where[-1])
        shown = f"{type(exc).__name__}: {str(exc)[:300]} at {Path(last.filename).name}:{last.lineno}"
        outcome.fault = f"input {place.value}: {shown}"
    outcome.peak, outcome.seconds = peak_memory(), time.perf_counter() - started
    link.send(outcome)


def _campaign(outcome: Outcome, inputs: int, seconds: float, seed: int, started: float) -> None:
    while outcome.inputs < inputs and time.perf_counter() - started < seconds:
        frames = min(BATCH, inputs - outcome.inputs)
        try:
            found = CAMPAIGNS[outcome.reader](frames, seed + outcome.inputs // BATCH)
        except FuzzError as exc:
            raise BrokenPromise(str(exc)) from exc
        outcome.inputs += frames
        outcome.refused += found.refused


def _read_all(
    outcome: Outcome, first: int, inputs: int, seconds: float, seed: int, place: Any, started: float
) -> None:
    name = outcome.reader
    with tempfile.TemporaryDirectory(prefix="heft-fuzz-") as top:
        folder = Path(os.path.realpath(top)) / "folder"
        folder.mkdir()
        tempfile.tempdir = str(folder)
        guard = Guard(folder)
        kept = sorted((CORPUS / name).glob("*")) if first == 0 else []
        if not replay(name, READERS[name].valid(), folder):  # loads what is loaded late, unwatched
            raise BrokenPromise("what is valid is refused")
        guard.limit_memory()
        base = peak_memory()
        for number in range(first - len(kept), first + inputs):
            if time.perf_counter() - started > seconds and number >= first:
                return
            place.value = number
            data = (
                kept[number - first + len(kept)].read_bytes()
                if number < first
                else READERS[name].make(random.Random(f"{seed}:{number}"))
            )
            _empty(folder)
            begun = time.process_time()
            with guard:
                outcome.refused += not replay(name, data, folder)
            outcome.slowest_s = max(outcome.slowest_s, time.process_time() - begun)
            outcome.inputs += 1
            if peak_memory() > base + MOST_BYTES or peak_memory() > 2 * MOST_BYTES:
                raise BrokenPromise(f"{peak_memory() / 1e6:.0f} MB of memory")


def run(
    names: Sequence[str],
    *,
    inputs: int,
    seconds: float = float("inf"),
    seed: int = 1,
    first: int = 0,
    processes: int = 2,
) -> list[Outcome]:
    """Run readers side by side; each until it has had its inputs, or its time."""
    context = multiprocessing.get_context("spawn")
    waiting, running, outcomes = list(names), {}, []
    while waiting or running:
        while waiting and len(running) < processes:
            name = waiting.pop(0)
            ours, theirs = context.Pipe(duplex=False)
            place = context.Value("q", -1)
            process = context.Process(
                target=_child, args=(name, first, inputs, seconds, seed, place, theirs), name=f"fuzz {name}"
            )
            process.start()
            theirs.close()
            running[ours] = (name, process, place)
        for ready in wait(list(running)):
            assert isinstance(ready, Connection)
            name, process, place = running.pop(ready)
            try:
                outcome = ready.recv()
            except EOFError:
                process.join()
                outcome = Outcome(
                    name, fault=f"input {place.value}: the process ended with {process.exitcode}"
                )
            process.join()
            ready.close()
            outcomes.append(outcome)
    return sorted(outcomes, key=lambda outcome: list(names).index(outcome.reader))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each reader, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first input; the corpus is left out"
    )
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if unknown := set(options.readers) - set(NAMES):
        parser.error(f"{min(unknown)}: no reader; of {', '.join(NAMES)}")
    outcomes = run(
        options.readers or NAMES,
        inputs=options.inputs,
        seconds=options.seconds,
        seed=options.seed,
        first=options.first,
        processes=options.processes,
    )
    print(f"{'reader':14s} {'inputs':>9s} {'refused':>9s} {'slowest':>8s} {'peak':>7s} {'time':>7s}")
    for one in outcomes:
        print(
            f"{one.reader:14s} {one.inputs:9d} {one.refused:9d} {one.slowest_s:6.2f} s {one.peak / 1e6:4.0f} MB "
            f"{one.seconds:5.0f} s  {one.fault}"
        )
    return 1 if any(one.fault for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
