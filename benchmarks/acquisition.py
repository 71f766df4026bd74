"""The acquisition of a session, measured from outside: what it loses, what it costs, how fast it can be.

`heft run` is started as a user starts it: 60 s at 1 kHz of seven joints (position, velocity, current, setpoints, joint
encoders) and a force/torque sensor on the simulated rig, in real time; again with an observer that stalls; and again as
fast as possible. The recorder, the reader and the bus are measured by themselves. The simulated plant runs in the same
process, so its cost is part of the figures. Run: `python benchmarks/acquisition.py [--quick]`; exit code 1 if a bound
is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bus
import recording
import yaml

from heft.daq import topics
from heft.daq.bus import Subscriber, private_endpoints
from heft.daq.config.shipped import CONFIGS

CPU_BOUND = 0.5  # of one core
SPEED_BOUND = 1 / 3  # of real time
SETTLED_S = 3.0  # an observer that hears nothing for so long knows that the session is over


@dataclass(frozen=True)
class Figure:
    """One line of the table; `ok` is None where nothing is asked."""

    name: str
    value: str
    bound: str = ""
    ok: bool | None = None


@dataclass(frozen=True)
class Session:
    """What one `heft run` gave: its report, and the cost of its process [s]."""

    report: dict[str, Any]
    code: int
    wall_s: float
    cpu_s: float

    @property
    def samples(self) -> int:
        return sum(stream["recorded"] for stream in self.report["streams"].values())

    @property
    def ended(self) -> str:
        """How it ended, and why."""
        return f"{self.report['state']} {self.report['reason']}".strip()


def write_session(folder: Path, seconds: float, telemetry: str) -> Path:
    """A Fourier session of about so many seconds, on the default rig with a telemetry endpoint of its own."""
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    rig |= {"robot": str(CONFIGS / "robots" / "wam7.yaml"), "telemetry": telemetry}
    series = {"seconds": seconds - 8.0, "period_s": 20.0, "blend_s": 2.0, "seed": 1}
    session = {
        "name": "benchmark",
        "rig": "rig.yaml",
        "steps": [{"name": "excitation", "use": "identification", "fourier": series}],
    }
    for name, data in (("rig", rig), ("session", session)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return folder / "session.yaml"


def run_session(session: Path, out: Path, speed: str) -> Session:
    """`heft run` in a process of its own; user and system time are the kernel's word."""
    command = [sys.executable, "-m", "heft.main", "run", str(session), "--out", str(out)]
    start = time.monotonic()
    process = subprocess.Popen(
        [*command, "--speed", speed, "--no-identify", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    report = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.monotonic() - start
    return Session(report, process.returncode, wall_s, usage.ru_utime + usage.ru_stime)


# -- an observer that stalls ------------------------------------------------------


async def observe(endpoint: str, stall_s: float) -> None:
    """The other process: hears the session begin, stalls, reads on until nothing more comes, and reports."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    received = 0
    async with Subscriber(endpoint, [topics.BLOCKS]) as subscriber:
        message = await subscriber.receive()
        time.sleep(stall_s)  # noqa: ASYNC251 - this is the stall
        try:
            while True:
                received += 1
                first.setdefault(message.topic, message.sequence)
                last[message.topic] = message.sequence
                async with asyncio.timeout(SETTLED_S):
                    message = await subscriber.receive()
        except TimeoutError:
            pass
        published = sum(last[topic] - first[topic] + 1 for topic in last)
        report = {"published": published, "received": received, "lost": subscriber.lost}
    sys.stdout.write(json.dumps(report) + "\n")


def run_observed(session: Path, out: Path, telemetry: str, stall_s: float) -> tuple[Session, dict[str, int]]:
    """A session in real time beside an observer that does not read for most of it."""
    observer = subprocess.Popen(
        [sys.executable, __file__, "--observe", telemetry, str(stall_s)], stdout=subprocess.PIPE
    )
    try:
        measured = run_session(session, out, "1")
        seen, _ = observer.communicate(timeout=stall_s + 60)
    finally:
        observer.kill()
        observer.wait()
    return measured, json.loads(seen)


# -- the figures ------------------------------------------------------------------


def real_time(session: Session) -> list[Figure]:
    lost, cpu = session.report["lost"], session.cpu_s / session.wall_s
    seconds, rate = session.report["seconds"], session.samples / session.report["seconds"]
    return [
        Figure(
            "real time: session",
            f"{session.ended}, {seconds:.1f} s, {rate:,.0f} samples/s",
            "done",
            session.code == 0,
        ),
        Figure("real time: samples lost", f"{lost} of {session.samples:,}", "0", lost == 0),
        Figure(
            "real time: process",
            f"{100 * cpu:.0f} % of one core",
            f"< {100 * CPU_BOUND:.0f} %",
            cpu < CPU_BOUND,
        ),
    ]


def stalled(session: Session, quiet: Session, seen: dict[str, int]) -> list[Figure]:
    lost, knows = seen["lost"], seen["received"] + seen["lost"] == seen["published"]
    error, usual = session.report["tracking_error"], quiet.report["tracking_error"]
    return [
        Figure("stalled observer: messages lost", f"{lost:,} of {seen['published']:,}", "> 0", lost > 0),
        Figure(
            "stalled observer: knows how many", f"{seen['received']:,} + {lost:,}", "all accounted for", knows
        ),
        Figure(
            "stalled observer: recording", f"lost {session.report['lost']}", "0", session.report["lost"] == 0
        ),
        Figure(
            "stalled observer: motion",
            f"{session.ended}, tracking {1e3 * error:.2f} mrad, without {1e3 * usual:.2f}",
            "done, < 1.2 x",
            session.code == 0 and error < 1.2 * usual,
        ),
    ]


def recorder(folder: Path, seconds: float) -> list[Figure]:
    path = folder / "recorder.mcap"
    written, back = recording.record(path, seconds), recording.read(path)
    return [
        Figure(
            "recorder alone",
            f"{written.speed:.0f} x real time",
            f">= {recording.RECORD_GOAL:.0f} x",
            written.speed >= recording.RECORD_GOAL,
        ),
        Figure(
            "reading back",
            f"{back.rate_hz:,.0f} samples/s",
            f">= {recording.READ_GOAL:,.0f}",
            back.rate_hz >= recording.READ_GOAL,
        ),
    ]


def latency(seconds: float) -> list[Figure]:
    figures = []
    for transport, telemetry in (("ipc", None), ("tcp", "tcp://127.0.0.1:*")):
        with private_endpoints(telemetry=telemetry) as endpoints:
            blocks = int(seconds * bus.RATE_HZ)
            got = asyncio.run(
                bus.measure(str(endpoints.telemetry), blocks=blocks, samples=10, rate_hz=bus.RATE_HZ)
            )
        times = f"p50 {got.p50_s * 1e3:.2f} ms, p99 {got.p99_s * 1e3:.2f} ms"
        figures.append(Figure(f"bus latency, {transport}, 1000 blocks/s", times))
    return figures


def as_fast_as_possible(session: Session) -> Figure:
    ratio, lost = session.wall_s / session.report["seconds"], session.report["lost"]
    ok = session.code == 0 and lost == 0 and ratio < SPEED_BOUND
    value = f"{ratio:.2f} of real time ({session.wall_s:.1f} s, {session.cpu_s:.1f} s of CPU), lost {lost}"
    return Figure("--speed max: the same session", value, f"< {SPEED_BOUND:.2f}, lost 0", ok)


def show(figures: list[Figure], loads: tuple[float, float]) -> None:
    verdicts = {None: "", True: "ok", False: "BROKEN"}
    rows = [
        ("figure", "measured", "bound", ""),
        *((f.name, f.value, f.bound, verdicts[f.ok]) for f in figures),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    load = f"{loads[0]:.1f} before, {loads[1]:.1f} after"
    sys.stdout.write(
        f"load of the machine: {load}, {os.cpu_count()} cores; a busy one makes all this worse\n"
    )


def free_endpoint() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def main(quick: bool) -> int:
    """Print one table; 1 if a bound is broken."""
    seconds, stall_s = (24.0, 12.0) if quick else (60.0, 40.0)
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="heft-") as name:
        folder = Path(name)
        telemetry = free_endpoint()
        session = write_session(folder, seconds, telemetry)
        quiet = run_session(session, folder / "quiet", "1")
        observed, seen = run_observed(session, folder / "observed", telemetry, stall_s)
        fast = run_session(session, folder / "fast", "max")
        figures = [
            *real_time(quiet),
            *stalled(observed, quiet, seen),
            as_fast_as_possible(fast),
            *recorder(folder, 20.0 if quick else 60.0),
            *latency(2.0 if quick else 5.0),
        ]
    show(figures, (before, os.getloadavg()[0]))
    return int(any(figure.ok is False for figure in figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter sessions")
    parser.add_argument("--observe", nargs=2, metavar=("ENDPOINT", "STALL_S"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.observe:
        asyncio.run(observe(given.observe[0], float(given.observe[1])))
    else:
        sys.exit(main(given.quick))
