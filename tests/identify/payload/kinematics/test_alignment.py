"""Joints and wrist sensor on one time: holes, and the blocks that samples arrive in."""

from __future__ import annotations

import numpy as np
import pytest

from heft.daq.config.shipped import CONFIGS
from heft.identify.payload.kinematics.alignment import Aligner, Samples, joined
from heft.identify.robot import Robot


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(CONFIGS / "robots" / "wam7.yaml")


def streams(lost: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two seconds at 1 kHz of joints that sway, without the samples that were lost, and their wrenches."""
    t = np.arange(2000) / 1000.0
    kept = np.ones(len(t), dtype=bool)
    for first, last in lost:
        kept[first:last] = False
    q = 0.1 * np.sin(2 * np.pi * t)[:, None] * np.ones(7)
    return t[kept], q[kept], np.column_stack([t, *(np.cos(k * t) for k in range(5))])


def aligned(robot: Robot, lost: list[tuple[int, int]], block: int) -> Samples:
    """What comes out of streams that arrive `block` samples at a time."""
    time, q, wrench = streams(lost)
    aligner, parts = Aligner(robot, 1000.0), []
    for start in range(0, 2000, block):
        now = (time >= start / 1000.0) & (time < (start + block) / 1000.0)
        aligner.motion(time[now], q[now])
        aligner.scale(np.arange(start, start + block) / 1000.0, wrench[start : start + block])
        samples = aligner.ready()
        if samples is not None:
            parts.append(samples)
    return joined(parts)


LOST = [(300, 303), (500, 520), (900, 912), (1400, 1500)]  # the first is bridged


@pytest.mark.parametrize("block", [10, 250, 2000])
def test_what_lies_between_holes_is_kept(robot: Robot, block: int) -> None:
    """In whatever blocks it arrives; around a hole half a filter's window is missing, and nothing else."""
    whole, holed = aligned(robot, [], block), aligned(robot, LOST, block)
    missing = set(np.round(1000 * whole.time).astype(int)) - set(np.round(1000 * holed.time).astype(int))
    assert missing
    for sample in missing:
        assert any(first - 40 < sample < last + 40 for first, last in LOST[1:])
    assert len(missing) < sum(last - first + 75 for first, last in LOST[1:])
    same = np.isin(np.round(1000 * whole.time), np.round(1000 * holed.time))
    assert holed.ddq == pytest.approx(whole.ddq[same], abs=2e-3)
