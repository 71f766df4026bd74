"""The host's own troubles, with drives in another process, which go on by themselves: signals, kills, stalls, a full
disk, too little memory or processor, a wall clock that jumps."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil

from fault_campaign.cell import Cell
from fault_campaign.isolation import Child
from fault_campaign.judge import judge
from fault_campaign.motion import Setup, emulated, simulated
from fault_campaign.trial import Evidence, Expected, Fault, Trial

__all__ = ["FAULTS"]

STOPPED = Expected((3,), decides=True)
WATCHDOG_S = 0.5  # of the emulated drives
_QUICK_STOP_S = 0.6  # in which a drive that has noticed is at rest

Act = Callable[[Trial, Setup, Child], int | None]


def _trial(act: Act, expected: Expected, **options: object) -> Callable[[Trial], Evidence]:
    """A session on devices of another process; in the middle of its motion `act` happens to the host's program."""

    def run(trial: Trial) -> Evidence:
        setup = emulated(trial, "cia402", seconds=3.0)
        with Cell(setup) as cell:
            child = setup.start("--arm", "wam7", speed="1", **options)
            moving = child.wait_for("excitation")
            time.sleep(float(trial.rng.uniform(0.8, 2.0)))
            fault_ns = act(trial, setup, child)
            misses = () if moving else ("it never moved",)
            evidence = setup.evidence(child, expected, fault_ns=fault_ns, misses=misses)
            if expected.killed:
                time.sleep(WATCHDOG_S + _QUICK_STOP_S)
            plant = cell.plant()
            evidence = replace(evidence, plant=plant)
            if expected.killed and np.abs(plant.v[-1]).max() > 0.03:
                evidence = replace(
                    evidence, misses=(*evidence.misses, "the drives' watchdog did not stop the arm")
                )
            return replace(evidence, misses=(*evidence.misses, *_again(setup, cell)))

    return run


def _again(setup: Setup, cell: Cell) -> Iterator[str]:
    """What goes wrong in the next session on the same devices."""
    child = setup.start("--arm", "wam7", speed="1")
    evidence = replace(setup.evidence(child, Expected((0,))), plant=cell.plant())
    for miss in judge(evidence).misses:
        yield f"next session on these devices: {miss}"


def _signalled(*numbers: int) -> Act:
    def act(trial: Trial, setup: Setup, child: Child) -> int:
        return child.signal(int(trial.choice(*numbers)))

    return act


def _impatient(trial: Trial, setup: Setup, child: Child) -> int:
    sent = child.signal(signal.SIGINT)
    for _ in range(int(trial.rng.integers(1, 5))):
        time.sleep(float(trial.rng.uniform(0.0, 0.2)))
        child.signal(signal.SIGINT)
    return sent


def _stalled(trial: Trial, setup: Setup, child: Child) -> None:
    """Stopped for so short that setpoints last, or for so long that they do not."""
    child.signal(signal.SIGSTOP)
    time.sleep(float(trial.choice(0.05, 0.2, 0.6, 1.5)))
    child.signal(signal.SIGCONT)


def _hung(trial: Trial, setup: Setup, child: Child) -> int:
    stopped = child.signal(signal.SIGSTOP)
    time.sleep(WATCHDOG_S + _QUICK_STOP_S)
    child.kill()
    return stopped


def _folder_gone(trial: Trial, setup: Setup, child: Child) -> None:
    shutil.rmtree(setup.out, ignore_errors=True)


def _no_memory(trial: Trial, setup: Setup, child: Child) -> None:
    """No more than it has."""
    with suppress(OSError):
        pages = Path(f"/proc/{child.pid}/statm").read_text(encoding="ascii").split()[0]
        used = int(pages) * resource.getpagesize()
        resource.prlimit(child.pid, resource.RLIMIT_AS, (used, used))


def _busy() -> None:
    while True:
        pass


@contextmanager
def _four_busy_processes() -> Iterator[None]:
    busy = [multiprocessing.get_context("fork").Process(target=_busy, daemon=True) for _ in range(4)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.join()


def _no_priority() -> None:
    """As an ordinary user, who gets no real-time priority."""
    os.sched_setscheduler = _refuse  # type: ignore[assignment]


def _refuse(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def _starved(trial: Trial) -> Evidence:
    """Four busy processes and no priority: the session may end, but no joint leaves its limits."""
    setup = emulated(trial, "cia402", seconds=3.0)
    setup.session["watch"]["stream_age_s"] = 0.5
    with Cell(setup) as cell:
        with _four_busy_processes():
            child = setup.start("--arm", "wam7", speed="1", before=_no_priority)
            evidence = setup.evidence(child, Expected((0, 3, 4)))
        evidence = replace(evidence, plant=cell.plant())
        return replace(evidence, misses=(*evidence.misses, *_again(setup, cell)))


def _disk_full(trial: Trial) -> Evidence:
    """The kernel refuses to let any file grow further."""
    size = int(trial.rng.integers(200_000, 700_000))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    setup = simulated(trial, seconds=6.0)
    return setup.evidence(
        setup.start(before=limit), Expected((4,), "cannot be written: File too large", unfinished=True)
    )


def _no_folder(trial: Trial) -> Evidence:
    """--out is a file: nothing moves."""
    setup = simulated(trial)
    (trial.folder / "out1").write_text("taken", encoding="utf-8")
    return setup.evidence(setup.start(), Expected((2,), "--out", moves=False))


def _clock_jumps(trial: Trial) -> Evidence:
    """The wall clock is set while the arm moves: samples are stamped by another clock."""
    setup = simulated(trial, seconds=1.5)
    step_s = float(trial.choice(-3600.0, -1.0, 0.5, 86400.0))

    def patch() -> None:
        now, now_ns, begun = time.time, time.time_ns, time.monotonic()
        offset = lambda: step_s if time.monotonic() > begun + 2.0 else 0.0  # noqa: E731
        time.time = lambda: now() + offset()  # type: ignore[assignment]
        time.time_ns = lambda: now_ns() + int(offset() * 1e9)  # type: ignore[assignment]

    return setup.evidence(setup.start(speed="1", before=patch), Expected((0,)))


def _worker_hurt(number: int) -> Callable[[Trial], Evidence]:
    """The identification worker is killed, or stopped for good: acquisition depends on nobody."""

    def run(trial: Trial) -> Evidence:
        setup = simulated(trial, seconds=1.5)
        child = setup.start(speed="1", identify=True)
        child.wait_for("excitation")
        time.sleep(float(trial.rng.uniform(0.1, 1.0)))
        for process in psutil.Process(child.pid).children(recursive=True):
            with suppress(psutil.Error):
                process.send_signal(number)
        return setup.evidence(child, Expected((0, 1)))

    return run


FAULTS = (
    Fault("SIGINT, SIGTERM, SIGHUP", "host", _trial(_signalled(2, 15, 1), STOPPED), real_time=True),
    Fault("an impatient operator", "host", _trial(_impatient, STOPPED), real_time=True),
    Fault("kill -9", "host", _trial(_signalled(9), Expected((-9,), killed=True)), real_time=True),
    Fault("the program hangs", "host", _trial(_hung, Expected((-9,), killed=True)), real_time=True),
    Fault("the program stalls", "host", _trial(_stalled, Expected((0, 3, 4))), real_time=True),
    Fault(
        "the output folder is deleted",
        "host",
        _trial(_folder_gone, Expected((4,), "out", moves=False)),
        real_time=True,
    ),
    Fault("no more memory", "host", _trial(_no_memory, Expected((0, 3, 4))), real_time=True),
    Fault("four busy processes, no priority", "host", _starved, real_time=True),
    Fault("disk full", "host", _disk_full),
    Fault("no folder to write to", "host", _no_folder),
    Fault("the wall clock jumps", "host", _clock_jumps),
    Fault("the worker is killed", "host", _worker_hurt(signal.SIGKILL), real_time=True),
    Fault("the worker is stopped", "host", _worker_hurt(signal.SIGSTOP), real_time=True),
)
