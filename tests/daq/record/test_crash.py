"""Real processes: one that is killed while it records, one whose disk quota ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from heft.daq.recording import Recording

RECORD = """
import asyncio, resource, sys
from pathlib import Path
import numpy as np
from heft.daq.clock import RealClock
from heft.daq.errors import RecordError
from heft.daq.record import Recorder
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream

stream = Stream("arm.motion", tuple(Column(f"joint{i}", "position", "rad") for i in range(7)), 1000.0)
path, limit = Path(sys.argv[1]), int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

async def main():
    clock = RealClock()
    rng = np.random.default_rng(0)
    async with Recorder(path, clock) as recorder:
        number = 0
        while True:
            now = clock.now_ns()
            host_ns = now - 1_000_000 * np.arange(10)[::-1]
            recorder.block(Block(stream, number, host_ns, rng.normal(size=(10, 7)), np.zeros((10, 7), np.uint8)))
            number += 10
            print(number, now, flush=True)
            await clock.sleep_until(now + 10_000_000 if not limit else now)

try:
    asyncio.run(main())
except RecordError as exc:
    print("refused:", exc, flush=True)
"""


def start(path: Path, limit: int = 0) -> subprocess.Popen[str]:
    root = Path(__file__).parents[3]
    return subprocess.Popen(
        [sys.executable, "-c", RECORD, str(path), str(limit)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


def test_kill_9_loses_less_than_a_second(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    with start(path) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line.split()[0]) >= 1500:
                break
        process.send_signal(signal.SIGKILL)
        lines = [line, *(rest for rest in process.stdout if rest.endswith("\n"))]
        number, now = map(int, lines[-1].split())
    assert not path.exists()
    recording = Recording.open(path.with_name("a.mcap.partial"))
    recovery = recording.recovery
    columns = recording.columns("arm.motion")
    assert not recovery.complete
    assert not recovery.damaged
    assert recovery.samples == {"arm.motion": len(columns)}
    assert columns.gaps == []
    assert columns.sequence[0] == 0
    assert number - len(columns) <= 1000
    assert now - int(columns.host_ns[-1]) <= 1_000_000_000
    assert "not finished by its recorder" in str(recovery)
    assert recording.utc_offset_ns > 0


def test_a_full_disk_ends_the_session_loudly(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    with start(path, limit=3_000_000) as process:
        output, _ = process.communicate(timeout=60)
    *_, last, refusal = output.splitlines()
    assert refusal.startswith("refused:")
    assert "File too large" in refusal
    recording = Recording.open(path.with_name("a.mcap.partial"))
    columns = recording.columns("arm.motion")
    assert columns.gaps == []
    assert 1000 < len(columns) <= int(last.split()[0])
