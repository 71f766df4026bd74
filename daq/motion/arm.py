"""The arm of a rig: its joints, moved by the motors of one device or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.clock import at_once
from heft.daq.config.rig import RigConfig
from heft.drivers.clock import Clock
from heft.drivers.coupling import Coupling
from heft.drivers.driver import Actuator
from heft.drivers.setpoints import Setpoints

__all__ = ["Arm"]


@dataclass(frozen=True, slots=True)
class _Part:
    """A device, the places of its joints in the robot's order, and how its motors move them."""

    actuator: Actuator
    joints: list[int]
    coupling: Coupling | None


class Arm:
    """Takes setpoints of all joints and gives each device those of its motors: theta = C q.

    All devices get the same instants of host time, so they move together, each by its own clock.

    devices   names of the actuators
    """

    def __init__(self, config: RigConfig, actuators: Mapping[str, Actuator], clock: Clock) -> None:
        robot = config.robot
        self._parts = []
        for name, actuator in actuators.items():
            joints = [robot.axes.index(joint) for joint in config.joints_of(name)]
            whole = robot.motor_coupling
            self._parts.append(_Part(actuator, joints, None if whole is None else whole.part(joints)))
        self.devices = tuple(actuators)
        self._width, self._clock = len(robot.axes), clock

    @property
    def name(self) -> str:
        """Of its device, or of all of them."""
        return "_".join(self.devices)

    @property
    def unreferenced(self) -> dict[str, str]:
        """Axes whose position may be relative, and why."""
        return {axis: why for part in self._parts for axis, why in part.actuator.unreferenced.items()}

    def confirm_pose(self) -> None:
        """The operator has seen that the arm stands where its positions say."""
        for part in self._parts:
            part.actuator.confirm_pose()

    async def arm(self) -> None:
        """Drives on, one device after the other, holding where they are; raises what the first that refuses raises."""
        for part in self._parts:
            await part.actuator.arm()

    async def position(self) -> NDArray[np.float64]:
        """Present position of the joints [rad] or [m], shape (n,)."""
        q = np.zeros(self._width)
        for part in self._parts:
            motors = await part.actuator.position()
            q[part.joints] = motors if part.coupling is None else part.coupling.to_joints(motors)
        return q

    async def play(self, chunk: Setpoints) -> None:
        """Queue setpoints of the joints; an error of one device is the arm's, and the caller stops all of them."""
        for part in self._parts:
            own = chunk if len(part.joints) == chunk.position.shape[1] else _some(chunk, part.joints)
            await part.actuator.play(own if part.coupling is None else part.coupling.setpoints(own))

    async def hold(self) -> None:
        """All devices come to rest, at the same time."""
        await at_once(self._clock, [part.actuator.hold() for part in self._parts])


def _some(chunk: Setpoints, joints: Sequence[int]) -> Setpoints:
    """Setpoints of some joints."""
    columns = list(joints)
    return Setpoints(
        chunk.sequence,
        chunk.host_ns,
        chunk.position[:, columns],
        chunk.velocity[:, columns],
        chunk.acceleration[:, columns],
        chunk.last,
    )
