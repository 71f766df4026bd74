"""Which stream measures what: positions and torques of the joints, the wrench at the wrist."""

from __future__ import annotations

from collections.abc import Iterable

from heft.drivers.stream import Role, Stream
from heft.identify.bodies.arrays import Array
from heft.identify.robot import Robot

__all__ = [
    "WRENCH",
    "JointPositions",
    "JointTorques",
    "measuring",
    "motion_stream",
    "torque_streams",
    "wrench_streams",
]

#: Columns of a wrench, force before torque.
WRENCH = tuple(f"{axis}.{quantity}" for quantity in ("force", "torque") for axis in "xyz")


def measuring(streams: Iterable[Stream], quantity: str, of: Iterable[str]) -> list[Stream]:
    """Measured streams that have a quantity of all of these joints or parts."""
    wanted = {f"{one}.{quantity}" for one in of}
    return [s for s in streams if s.role is Role.MEASURED and {c.name for c in s.columns} >= wanted]


def torque_streams(streams: Iterable[Stream], robot: Robot) -> list[Stream]:
    """Streams that measure torques of all joints, then those that measure their currents."""
    streams = list(streams)
    torques, currents = (measuring(streams, quantity, robot.joints) for quantity in ("torque", "current"))
    return list(dict.fromkeys([*torques, *currents]))


def motion_stream(streams: Iterable[Stream], robot: Robot, torque: Stream | None) -> Stream | None:
    """Positions of all joints from the device that also tells of torque, where it tells of both: one clock."""
    positions = measuring(streams, "position", robot.joints)
    device = None if torque is None else torque.device
    return min(positions, key=lambda stream: stream.device != device, default=None)


def wrench_streams(streams: Iterable[Stream]) -> list[Stream]:
    """Streams that measure all six components of a wrench."""
    return [s for s in streams if s.role is Role.MEASURED and {c.name for c in s.columns} >= set(WRENCH)]


class JointPositions:
    """Positions of the joints out of a stream; `names` of its columns, in the order of the joints."""

    def __init__(self, stream: Stream, robot: Robot) -> None:
        self.names = [f"{joint}.position" for joint in robot.joints]
        self._columns = stream.places(self.names)

    def of(self, values: Array) -> Array:
        """[rad, m] (N, n) from a stream's values in SI units (N, k)."""
        return values[:, self._columns]


class JointTorques:
    """Torques of the joints out of a stream that measures them, or currents; `names` of its columns, by joint."""

    def __init__(self, stream: Stream, robot: Robot) -> None:
        self._measured = bool(measuring([stream], "torque", robot.joints))
        quantity = "torque" if self._measured else "current"
        self.names = [f"{joint}.{quantity}" for joint in robot.joints]
        self._robot, self._columns = robot, stream.places(self.names)

    def of(self, values: Array) -> Array:
        """[N m, N] (N, n) from a stream's values in SI units (N, k)."""
        return self.converted(values[:, self._columns])

    def converted(self, values: Array) -> Array:
        """[N m, N] (N, n) from the columns `names` (N, n): as measured, or current times gear and torque constant;
        times the gains.
        """
        return values * self._robot.gain if self._measured else self._robot.torque_from_current(values)
