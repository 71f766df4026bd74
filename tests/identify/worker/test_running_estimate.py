"""The worker's running estimate follows a change of the arm with the stated time constant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heft.daq.recording.growing import GrowingRecording
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters
from heft.identify.worker import provisional as provisional_module
from heft.identify.worker.provisional import Provisional


@pytest.mark.parametrize("memory_s", [4.0, np.inf])
def test_it_follows_a_heavier_link(
    write_session: Callable[..., Path],
    robot: Robot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory_s: float,
) -> None:
    monkeypatch.setattr(provisional_module, "WINDOW_NS", 1_000_000_000)
    recorded = write_session(tmp_path / "heavier.mcap", seconds=28.0, heavier=(10.0, 1.5))
    data = recorded.read_bytes()
    growing = tmp_path / "growing"
    growing.write_bytes(b"")
    running = Provisional(GrowingRecording(growing), lambda: robot, "wls", "full", memory_s)
    base = base_parameters(robot)
    change = np.zeros(len(robot.parameter_names))
    change[-10:] = 0.5 * robot.prior[-10:]
    weights = np.abs(base.matrix @ change)
    row = int(np.argmax(weights))
    start, step = base.matrix[row] @ robot.prior, base.matrix[row] @ change
    times, left = [], []
    seen = None
    for at in range(0, len(data), len(data) // 100):
        with growing.open("ab") as file:
            file.write(data[at : at + len(data) // 100])
        if not running.look() or running.progress.estimate is seen:
            continue
        seen = running.progress.estimate
        assert seen is not None
        now_s = running.progress.samples * 1e-3
        if now_s > 11.0:
            times.append(now_s)
            left.append(1 - (base.matrix[row] @ np.array(list(seen.values())) - start) / step)
    assert len(left) >= 4
    if np.isfinite(memory_s):
        slope = np.polyfit(times, np.log(np.maximum(left, 1e-3)), 1)[0]
        assert -1 / slope == pytest.approx(memory_s, rel=0.2)
    else:
        assert left[-1] > 0.4  # nothing is forgotten: half of the data are from before
