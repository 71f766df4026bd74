"""The worker, replay and offline identification, as ratios to real time; memory and processor share beside them.

    python benchmarks/worker.py [--seconds 3600] [--live 20] [--keep FILE.mcap] [PART ...]

Data: the WAM on the trajectory of 003, seven joints (position, velocity, current) and a wrist force/torque sensor at
1 kHz in blocks of 10 ms, written straight into a recording. Parts: `offline` identifies it; `replay` plays it as fast
as it goes, with and without a worker; `live` has a worker follow a shorter one in real time; `acquisition` runs the
simulated rig in real time alone, with a worker, with one that is stopped and with one that is killed: what acquisition
reports, and the share of a processor that it takes, must be the same. Exit code 1 where a bound is missed.

`--keep` leaves the recording for the next time.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from heft.daq.record import Writer
from heft.drivers import Block, Column, Stream
from heft.identify.bodies.wrench import wrench_regressor
from heft.identify.payload.kinematics.wrist_motion import frame_motion
from heft.identify.robot import Robot

CONFIGS = Path(__file__).parents[1] / "configs"
RATE_HZ, BLOCK, START_NS = 1000, 10, 1_000_000_000
FLUSHED = 25  # blocks of each stream between two flushes of the recorder
#: A worker's imports and its first answer [s].
START_S = 8.0
#: What is asked for.
OFFLINE_GOAL, REPLAY_GOAL, MEMORY_GOAL, SHARE_GOAL = 100.0, 50.0, 500e6, 0.30
#: By how much figures of acquisition may be worse with a worker: tracking error and jitter (relative; the worst of some
#: 10 000 noisy samples moves by 15 % from run to run), share of a processor.
MORE_TRACKING, MORE_JITTER, MORE_SHARE = 0.25, 0.1, 0.1
#: When acquisition's processor time is taken, and for how long [s]; what is done to the worker is done right before.
SETTLED_S, WATCHED_S = 2.0, 6.0
#: What the wrist carries: m, mc, I about the sensor's origin; noise [N, N m].
HAND = np.array([0.94, 0.001, 0.0, 0.048, 0.0036, 0.0, 0.0034, 0.0, 0.0, 0.0006])
WRENCH_NOISE = np.array([0.05, 0.05, 0.05, 0.002, 0.002, 0.002])
PARTS = ("offline", "replay", "live", "acquisition")

JOINTS = tuple(f"joint{i}" for i in range(1, 8))
POSITION, VELOCITY, CURRENT, WRENCH = 2 * np.pi / 2**19, 1e-4, 1e-3, 1e-4  # per count
CLOCK: dict[str, Any] = {"tick_hz": 1e6, "tick_bits": 32}
MOTION = Stream(
    "arm.motion",
    tuple(Column(j, "position", "rad", POSITION, raw_unit="count") for j in JOINTS)
    + tuple(Column(j, "velocity", "rad/s", VELOCITY, raw_unit="count") for j in JOINTS),
    RATE_HZ,
    "<i4",
    **CLOCK,
)
CURRENTS = Stream(
    "arm.current",
    tuple(Column(j, "current", "A", CURRENT, raw_unit="mA") for j in JOINTS),
    RATE_HZ,
    "<i4",
    **CLOCK,
)
FORCE = Stream(
    "wrist.wrench",
    tuple(Column(a, q, u, WRENCH) for q, u in (("force", "N"), ("torque", "N m")) for a in "xyz"),
    RATE_HZ,
    "<i4",
    frame="wrist",
    **CLOCK,
)


def trajectory(first: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, dq, ddq, each (count, 7): five harmonics of 0.05 Hz, as in 003, Eq. 78."""
    t = (first + np.arange(count)) / RATE_HZ
    w = 0.1 * np.pi * np.arange(1, 6)
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.0, 0.3, (2, 7, 5))
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    centre = np.array([0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0])
    return (
        sine @ (a / w).T - cosine @ (b / w).T + centre,
        cosine @ a.T + sine @ b.T,
        cosine @ (b * w).T - sine @ (a * w).T,
    )


def write_recording(path: Path, seconds: int, robot: Robot, *, flush: bool = False) -> None:
    """A session of so many seconds, ten at a time; `flush`: every quarter of a second, as the recorder does."""
    rng = np.random.default_rng(0)
    with path.open("wb", buffering=0) as raw:
        writer = Writer(raw, 0)
        for name, file in (("robot.yaml", "wam7.yaml"), ("wam7.xml", "wam7.xml")):
            data = (CONFIGS / "robots" / file).read_bytes()
            writer.attach(f"configuration/{name}", "application/octet-stream", 0, data)
        segment = {"segment": "excitation", "use": "identification"}
        end_ns = START_NS + seconds * 1_000_000_000
        writer.event(START_NS, json.dumps({"t_ns": START_NS, "name": "segment_start", **segment}))
        writer.flush()
        for first in range(0, seconds * RATE_HZ, 10 * RATE_HZ):
            count = min(10 * RATE_HZ, seconds * RATE_HZ - first)
            q, dq, ddq = trajectory(first, count)
            torque = robot.torque(q, dq, ddq, robot.prior)
            current = torque / (robot.gear * robot.torque_constant)
            current += rng.normal(0.0, 0.02 * current.std(axis=0), current.shape)
            w, dw, a = (one.T for one in frame_motion(robot, "sensor", q.T, dq.T, ddq.T))
            wrench = wrench_regressor(a, w, dw) @ HAND + rng.normal(0.0, WRENCH_NOISE, (count, 6))
            tables = {
                MOTION: np.hstack([q / POSITION, dq / VELOCITY]),
                CURRENTS: current / CURRENT,
                FORCE: wrench / WRENCH,
            }
            cut = [blocks(stream, first, np.rint(table).astype("<i4")) for stream, table in tables.items()]
            for number, together in enumerate(zip(*cut, strict=True)):
                for block in together:
                    writer.block(block)
                if flush and number % FLUSHED == FLUSHED - 1:
                    writer.flush()
        writer.event(end_ns, json.dumps({"t_ns": end_ns, "name": "segment_end", **segment}))
        writer.event(end_ns, json.dumps({"t_ns": end_ns, "name": "state", "state": "done", "reason": ""}))
        writer.finish()


def blocks(stream: Stream, first: int, table: np.ndarray) -> list[Block]:
    """The table's rows, ten at a time."""
    sequence = first + np.arange(len(table))
    host_ns = START_NS + sequence * 1_000_000
    validity = np.zeros(table.shape, np.uint8)
    return [
        Block(
            stream,
            first + at,
            host_ns[at : at + BLOCK],
            table[at : at + BLOCK],
            validity[at : at + BLOCK],
            ticks=sequence[at : at + BLOCK] * 1000 % 2**32,
        )
        for at in range(0, len(table), BLOCK)
    ]


@dataclass(frozen=True)
class Spent:
    """What a command took: wall time [s], processor time [s], most memory [byte], and its JSON answer."""

    wall_s: float
    cpu_s: float
    memory: int
    answer: Any


def heft(*arguments: str) -> Spent:
    """Run a command to its end; without the processes that it starts."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "heft.main", *arguments, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"heft {' '.join(arguments)}: exit code {process.returncode}")
    used = usage.ru_utime + usage.ru_stime
    return Spent(time.perf_counter() - start, used, usage.ru_maxrss * 1024, json.loads(text))


def followed(path: Path, folder: Path, seconds: float) -> float:
    """Share of one processor that a worker takes while it follows a replay in real time; its start is not counted."""
    bus = f"ipc://{folder}/telemetry"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "heft.main"]
    replay = subprocess.Popen([*command, "replay", str(path), "--bus", bus], **quiet)
    work = str(folder / "followed")
    worker = subprocess.Popen([*command, "worker", "--bus", bus, "--out", work, "--once"], **quiet)
    try:
        time.sleep(START_S)
        before, began = _cpu_s(worker.pid), time.perf_counter()
        time.sleep(seconds - START_S - 2.0)
        return (_cpu_s(worker.pid) - before) / (time.perf_counter() - began)
    finally:
        for process in (replay, worker):
            process.kill()
            process.wait()


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


@dataclass(frozen=True)
class Acquired:
    """What a session reports: samples lost, worst tracking error [rad], jitter [us]; its share of a processor."""

    lost: int
    tracking: float
    jitter_us: float
    share: float

    def as_good_as(self, other: Acquired) -> bool:
        """Nothing lost, and no figure worse by more than it changes by itself."""
        return (
            self.lost == 0
            and self.tracking < (1 + MORE_TRACKING) * other.tracking
            and self.jitter_us < (1 + MORE_JITTER) * other.jitter_us
            and self.share - other.share < MORE_SHARE
        )

    def __str__(self) -> str:
        return (
            f"lost {self.lost}, tracking {1e3 * self.tracking:.2f} mrad, jitter {self.jitter_us:.0f} us, "
            f"{100 * self.share:.0f} % of a processor"
        )


def acquired(folder: Path, disturb: signal.Signals | None, *options: str) -> Acquired:
    """What a session of the simulated rig reports in real time, something being done to its worker on the way."""
    folder.mkdir()
    session = folder / "session.yaml"
    rig = CONFIGS / "rigs" / "sim_wam7.yaml"
    series = "{seconds: 10, period_s: 4.0, harmonics: 2, seed: 3}"
    session.write_text(
        f"name: live\nrig: {rig}\nsteps:\n  - {{name: excitation, use: identification, fourier: {series}}}\n"
    )
    out = folder / "out"
    command = [sys.executable, "-m", "heft.main", "run", str(session), "--out", str(out), "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    begun = "*.partial" if "--no-identify" in options else "worker/*/*.partial"
    while not any(out.glob(begun)) and process.poll() is None:
        time.sleep(0.05)
    time.sleep(SETTLED_S)
    if disturb is not None:
        for child in psutil.Process(process.pid).children():
            child.send_signal(disturb)
    before, start = _cpu_s(process.pid), time.perf_counter()
    time.sleep(WATCHED_S)
    share = (_cpu_s(process.pid) - before) / (time.perf_counter() - start)
    report = json.loads(process.communicate()[0])
    jitter_us = max(fit["pieces"][0]["residual_rms_ns"] for fit in report["clock_fits"].values()) / 1e3
    return Acquired(report["lost"], report["tracking_error"], jitter_us, share)


class Figures:
    """Prints figures, and remembers whether all bounds were kept."""

    def __init__(self) -> None:
        self.good = True

    def say(self, what: str, holds: bool = True) -> None:
        """One line; `holds` is whether its bound is kept."""
        self.good &= holds
        sys.stdout.write(f"{what}{'' if holds else '   MISSED'}\n")
        sys.stdout.flush()


def measure_offline(figures: Figures, path: Path, folder: Path, seconds: int) -> None:
    """The long recording, identified."""
    spent = heft("identify", str(path), "--out", str(folder / "offline"))
    speed = seconds / spent.wall_s
    figures.say(
        f"offline: {seconds} s of session in {spent.wall_s:.1f} s ({spent.cpu_s:.1f} s of CPU): {speed:.0f} x "
        f"real time (goal {OFFLINE_GOAL:g}), {spent.memory / 1e6:.0f} MB (goal {MEMORY_GOAL / 1e6:g})",
        speed >= OFFLINE_GOAL and spent.memory < MEMORY_GOAL,
    )


def measure_replay(figures: Figures, path: Path, folder: Path, seconds: int) -> None:
    """The long recording, as fast as it goes."""
    speed = seconds / heft("replay", str(path), "--speed", "max").wall_s
    figures.say(f"replay at max: {speed:.0f} x real time (goal {REPLAY_GOAL:g})", speed >= REPLAY_GOAL)
    spent = heft("replay", str(path), "--speed", "max", "--identify", "--out", str(folder / "replayed"))
    figures.say(f"replay at max with a worker, to its result: {seconds / spent.wall_s:.0f} x real time")


def measure_acquisition(figures: Figures, folder: Path) -> None:
    """Acquisition, whatever its worker does."""
    alone = acquired(folder / "alone", None, "--no-identify")
    figures.say(f"acquisition without a worker: {alone}", alone.lost == 0)
    cases: dict[str, signal.Signals | None] = {
        "with a worker": None,
        "with one that is stopped": signal.SIGSTOP,
        "with one that is killed": signal.SIGKILL,
    }
    for case, disturb in cases.items():
        found = acquired(folder / case.replace(" ", "-"), disturb)
        figures.say(f"acquisition {case}: {found}", found.as_good_as(alone))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--seconds", type=int, default=3600, help="of the long session")
    parser.add_argument("--live", type=int, default=20, help="seconds that are followed in real time")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE.mcap", help="the long session; made where it is missing"
    )
    arguments = parser.parse_args()
    parts, seconds, figures = arguments.parts or PARTS, arguments.seconds, Figures()
    if unknown := set(parts) - set(PARTS):
        parser.error(f"{', '.join(sorted(unknown))}: no such part; there are {', '.join(PARTS)}")
    robot = Robot.load(CONFIGS / "robots" / "wam7.yaml")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = arguments.keep or folder / "long.mcap"
        if {"offline", "replay"} & set(parts) and not path.exists():
            write_recording(path, seconds, robot)
        if "offline" in parts:
            measure_offline(figures, path, folder, seconds)
        if "replay" in parts:
            measure_replay(figures, path, folder, seconds)
        if "live" in parts:
            short = folder / "short.mcap"
            write_recording(short, arguments.live, robot, flush=True)
            share = followed(short, folder, arguments.live)
            told = f"worker: {100 * share:.0f} % of one processor (goal {100 * SHARE_GOAL:g})"
            figures.say(told, share < SHARE_GOAL)
        if "acquisition" in parts:
            measure_acquisition(figures, folder)
    return 0 if figures.good else 1


if __name__ == "__main__":
    sys.exit(main())
