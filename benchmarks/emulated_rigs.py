"""What a session costs on emulated rigs: samples lost, cycles left out, processor time, the longest pause in commands.

    python benchmarks/emulated_rigs.py [--seconds 60] [--seed 0] [RIG ...]

Each rig (`configs/rigs/emulated_*.yaml`) is moved by the first motion of its session, for `--seconds`, by `heft run` as
a user starts it, without identification. Processor time is read from outside while the arm moves: of the session's
process by itself, and of the processes that it has started (plant and emulators). *Pause*: the longest time between
two setpoints that the drives were given, over their period. The exit code is 1 where a sample is lost or the session
takes half of a core.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording

#: Part of one core that a session may take.
CORE = 0.5
RIGS = ("emulated_ur10e", "emulated_dynamixel", "emulated_wam7", "emulated_ros2")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Of one session while its arm moved.

    pause   longest time between two setpoints, in periods of the drives
    """

    seconds: float
    samples: int
    lost: int
    skipped: int
    own: float
    started: float
    pause: float


def session_of(rig: str, seconds: float, folder: Path) -> Path:
    """A session that moves the rig for so long; the file's path."""
    session: dict[str, Any] = yaml.safe_load((CONFIGS / f"sessions/{rig}.yaml").read_text(encoding="utf-8"))
    session["rig"] = str((CONFIGS / "rigs" / f"{rig}.yaml").resolve())
    motion = next(step for step in session["steps"] if "fourier" in step or "design" in step)
    if "fourier" in motion:
        motion["fourier"]["seconds"] = seconds
    else:
        design = yaml.safe_load((CONFIGS / "sessions" / motion["design"]).read_text(encoding="utf-8"))
        design["fourier"]["periods"] = math.ceil(seconds / design["fourier"]["period_s"])
        motion["design"] = "design.yaml"
        (folder / motion["design"]).write_text(yaml.safe_dump(design, sort_keys=False), encoding="utf-8")
    session["steps"] = [motion]
    path = folder / "session.yaml"
    path.write_text(yaml.safe_dump(session, sort_keys=False), encoding="utf-8")
    return path


def processor_s(pid: int) -> float:
    """Processor time of one process so far, without its children [s]."""
    fields = (
        Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / _TICKS


def children(pid: int) -> list[int]:
    """Processes that it has started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]


def measure(rig: str, seconds: float, seed: str) -> Cost:
    """Run the session and look at it."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        session = session_of(rig, seconds, Path(scratch))
        command = [sys.executable, "-m", "heft.main", "run", str(session), "--out", str(out), "--seed", seed]
        process = subprocess.Popen(
            [*command, "--no-identify", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        times: list[int] = []
        used: list[tuple[float, float]] = []
        while process.poll() is None:
            try:
                used.append((processor_s(process.pid), sum(map(processor_s, children(process.pid)))))
                times.append(time.monotonic_ns())
            except (OSError, ValueError):
                pass  # one has just ended
            time.sleep(0.2)
        said, errors = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"{rig}: exit code {process.returncode}\n{said}{errors}")
        recording = Recording.open(next(out.glob("*.mcap")))
        (segment,) = recording.segments
        first, last = bisect(times, segment.start_ns), bisect(times, segment.end_ns) - 1
        wall = (times[last] - times[first]) * 1e-9
        played = next(name for name in recording.streams if name.endswith(".played"))
        columns = recording.columns(played, segment.start_ns, segment.end_ns)
        pauses = np.diff(columns.host_ns) * 1e-9 * recording.streams[played].rate_hz
        told = json.loads(said)
        return Cost(
            seconds=wall,
            samples=sum(stream["received"] for stream in told["streams"].values()),
            lost=told["lost"],
            skipped=sum(json.loads(text)["skipped"] for text in recording.metadata["counters"].values()),
            own=(used[last][0] - used[first][0]) / wall,
            started=(used[last][1] - used[first][1]) / wall,
            pause=float(pauses.max()),
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", default="0")
    parser.add_argument("rigs", nargs="*", metavar="RIG", default=RIGS)
    chosen = parser.parse_args()
    columns = ("s", "samples", "lost", "skipped", "session %", "cell %", "pause")
    print(f"{'rig':22}" + "".join(f"{column:>11}" for column in columns), flush=True)
    kept = True
    for rig in chosen.rigs:
        cost = measure(rig, chosen.seconds, chosen.seed)
        kept &= cost.lost == 0 and cost.own < CORE
        numbers = f"{cost.seconds:11.1f}{cost.samples:11}{cost.lost:11}{cost.skipped:11}"
        print(
            f"{rig:22}{numbers}{100 * cost.own:11.1f}{100 * cost.started:11.1f}{cost.pause:11.1f}", flush=True
        )
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
