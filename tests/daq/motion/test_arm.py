"""An arm of several devices: setpoints are shared out, motors are turned into joints, all stop at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.clock import SimulatedClock, at_once
from heft.daq.config import load_rig
from heft.daq.motion.arm import Arm
from heft.drivers.setpoints import Setpoints

TX40 = Path(__file__).parents[3] / "configs" / "robots" / "tx40.yaml"
RIG = f"""
name: two
robot: {TX40}
simulation: {{}}
devices:
  shoulder: {{kind: sim_drives, joints: [joint3, joint1, joint2]}}
  wrist: {{kind: sim_drives, joints: [joint4, joint5, joint6]}}
"""


class Drives:
    """Motors that take everything, and need a while to hold."""

    def __init__(self, position: list[float], clock: Any) -> None:
        self.at, self.clock = np.array(position), clock
        self.played: list[Setpoints] = []
        self.held_ns: tuple[int, int] | None = None

    async def position(self) -> Any:
        return self.at

    async def play(self, chunk: Setpoints) -> None:
        self.played.append(chunk)

    async def hold(self) -> None:
        began = self.clock.now_ns()
        await self.clock.sleep_until(began + 300_000_000)
        self.held_ns = began, self.clock.now_ns()


@pytest.fixture
def stand(tmp_path: Path) -> tuple[Arm, Drives, Drives, SimulatedClock]:
    path = tmp_path / "rig.yaml"
    path.write_text(RIG)
    clock = SimulatedClock()
    shoulder, wrist = Drives([0.1, 0.2, 0.3], clock), Drives([0.4, 0.5, 1.1], clock)
    arm = Arm(load_rig(path), {"shoulder": shoulder, "wrist": wrist}, clock)  # type: ignore[dict-item]
    return arm, shoulder, wrist, clock


async def test_positions_of_motors_become_those_of_joints(stand: tuple[Arm, Drives, Drives, Any]) -> None:
    arm, *_ = stand
    assert arm.name == "shoulder_wrist"
    assert np.allclose(
        await arm.position(), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    )  # joint 6 is motor 6 less joint 5


async def test_each_device_gets_its_motors_at_the_same_instants(
    stand: tuple[Arm, Drives, Drives, Any],
) -> None:
    arm, shoulder, wrist, _ = stand
    q, v, a = np.random.default_rng(0).standard_normal((3, 5, 6))
    chunk = Setpoints(3, np.arange(5) * 10_000_000, q, v, a, last=True)
    await arm.play(chunk)
    (first,), (second,) = shoulder.played, wrist.played
    assert np.array_equal(first.host_ns, second.host_ns)
    assert (first.sequence, second.sequence, first.last, second.last) == (3, 3, True, True)
    assert np.array_equal(first.position, q[:, :3])
    assert np.allclose(second.velocity, np.column_stack([v[:, 3], v[:, 4], v[:, 4] + v[:, 5]]))


async def test_all_devices_come_to_rest_at_the_same_time(stand: tuple[Arm, Drives, Drives, Any]) -> None:
    arm, shoulder, wrist, clock = stand

    async def conductor() -> None:
        with clock.participant("conductor"):
            await arm.hold()

    await asyncio.wait_for(asyncio.create_task(conductor()), 5.0)
    assert shoulder.held_ns == wrist.held_ns
    assert shoulder.held_ns is not None


async def test_what_one_of_several_says_is_said_when_all_have_ended() -> None:
    clock, ended = SimulatedClock(), list[str]()

    async def wait(seconds: float, error: Exception | None = None) -> None:
        await clock.sleep_until(clock.now_ns() + round(seconds * 1e9))
        ended.append(f"{seconds:g}")
        if error is not None:
            raise error

    with pytest.raises(ValueError, match="the first"):
        await at_once(clock, [wait(0.1, ValueError("the first")), wait(0.2), wait(0.05)])
    assert ended == ["0.05", "0.1", "0.2"]
