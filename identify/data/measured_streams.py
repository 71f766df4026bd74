"""Which streams measure what: positions and torques of joints or of their motors, the wrench at the wrist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from heft.drivers.coupling import motor_names
from heft.drivers.stream import Role, Stream
from heft.identify.bodies.arrays import Array
from heft.identify.robot import Robot

__all__ = [
    "ORIENTATION",
    "RATE_AND_FORCE",
    "WRENCH",
    "JointPositions",
    "JointSource",
    "JointTorques",
    "drive_devices",
    "imu_stream",
    "link_source",
    "measuring",
    "motion_source",
    "motion_stream",
    "placed_wrenches",
    "position_streams",
    "temperature_stream",
    "torque_source",
    "torque_streams",
    "velocity_source",
    "wrench_streams",
]

#: Columns of a wrench, force before torque.
WRENCH = tuple(f"{axis}.{quantity}" for quantity in ("force", "torque") for axis in "xyz")


#: Columns of an inertial sensor: angular rate, then specific force; and its orientation, where it tells it.
RATE_AND_FORCE = tuple(f"{axis}.{quantity}" for quantity in ("gyro", "accelerometer") for axis in "xyz")
ORIENTATION = tuple(f"{axis}.orientation" for axis in "xyzw")


@dataclass(frozen=True)
class JointSource:
    """Streams that together measure a quantity of some joints, or of the motors that move them.

    quantity   `position`, `velocity`, `torque` or `current`
    parts      each stream with the places of its joints in the robot's order
    motors     whether it is the motors that are measured, on the joint's side of the gear: theta = C q
    """

    quantity: str
    parts: tuple[tuple[Stream, tuple[int, ...]], ...]
    motors: bool

    @property
    def name(self) -> str:
        """Of the stream, or of all of them."""
        return "+".join(stream.name for stream, _ in self.parts)

    @property
    def joints(self) -> tuple[int, ...]:
        """Places of the joints that are measured, in the robot's order."""
        return tuple(sorted(place for _, places in self.parts for place in places))

    def columns(self, places: Sequence[int], robot: Robot) -> list[str]:
        """Names of the columns of some joints."""
        names = motor_names(robot.joints) if self.motors else robot.joints
        return [f"{names[place]}.{self.quantity}" for place in places]

    def of_joints(self, values: Array, robot: Robot) -> Array:
        """Positions [rad, m] or torques [N m, N] of the joints (N, n) from what is measured of all of them (N, n)."""
        coupling = robot.drives.coupling
        if self.quantity == "current":
            return robot.torque_from_current(values)
        if self.quantity == "torque":
            values = values * robot.gain
        if not self.motors:
            return values
        return values @ (coupling if self.quantity == "torque" else np.linalg.inv(coupling).T)


def measuring(streams: Iterable[Stream], quantity: str, of: Iterable[str]) -> list[Stream]:
    """Measured streams that have a quantity of all of these joints or parts."""
    wanted = {f"{one}.{quantity}" for one in of}
    return [s for s in streams if s.role is Role.MEASURED and {c.name for c in s.columns} >= wanted]


def drive_devices(streams: Iterable[Stream], robot: Robot) -> set[str]:
    """Devices that measure torque or current of a joint or motor: their positions are the motors'."""
    names = {*robot.joints, *motor_names(robot.joints)}
    return {
        s.device
        for s in streams
        if s.role is Role.MEASURED
        and any(c.of in names and c.quantity in ("torque", "current") for c in s.columns)
    }


def torque_source(streams: Iterable[Stream], robot: Robot) -> JointSource | None:
    """What measures torques of all joints, else their currents; None: nothing does."""
    every = list(streams)
    sources = (_source(every, quantity, robot) for quantity in ("torque", "current"))
    return next((one for one in sources if one is not None and len(one.joints) == len(robot.joints)), None)


def motion_source(streams: Iterable[Stream], robot: Robot) -> JointSource | None:
    """What measures positions of all joints: the drives, where they do, for they tell of torque too by one clock."""
    every = list(streams)
    drives = drive_devices(every, robot)
    for known in ([s for s in every if s.device in drives], every):
        found = _source(known, "position", robot)
        if found is not None and len(found.joints) == len(robot.joints):
            return found
    return None


def velocity_source(streams: Iterable[Stream], robot: Robot) -> JointSource | None:
    """What measures velocities of all joints or motors; None: nothing does."""
    found = _source(list(streams), "velocity", robot)
    return found if found is not None and len(found.joints) == len(robot.joints) else None


def link_source(streams: Iterable[Stream], robot: Robot) -> JointSource | None:
    """What measures positions of joints, all or some, beside the drives that measure those of their motors."""
    every = list(streams)
    drives = drive_devices(every, robot)
    motion = motion_source(every, robot)
    if motion is None or any(stream.device not in drives for stream, _ in motion.parts):
        return None
    found = _source([s for s in every if s.device not in drives], "position", robot)
    return None if found is None or found.motors else found


def _source(streams: Sequence[Stream], quantity: str, robot: Robot) -> JointSource | None:
    """One stream that measures all joints or all motors; else those that together measure the most of them."""
    best: JointSource | None = None
    for names, motors in ((robot.joints, False), (motor_names(robot.joints), True)):
        whole = measuring(streams, quantity, names)
        if whole:
            return JointSource(quantity, ((whole[0], tuple(range(len(names)))),), motors)
        taken: set[int] = set()
        parts = []
        for stream in streams:
            columns = {c.name for c in stream.columns} if stream.role is Role.MEASURED else set()
            places = tuple(i for i, name in enumerate(names) if f"{name}.{quantity}" in columns)
            if places and not taken & set(places):
                taken |= set(places)
                parts.append((stream, places))
        if parts and (best is None or len(taken) > len(best.joints)):
            best = JointSource(quantity, tuple(parts), motors)
    return best


def position_streams(streams: Iterable[Stream], robot: Robot) -> list[Stream]:
    """Streams that measure positions of all joints, or of all motors."""
    every = list(streams)
    found = (measuring(every, "position", names) for names in (robot.joints, motor_names(robot.joints)))
    return [stream for some in found for stream in some]


def torque_streams(streams: Iterable[Stream], robot: Robot) -> list[Stream]:
    """Streams that measure torques of all joints or motors, then those that measure their currents."""
    every = list(streams)
    found = (
        measuring(every, quantity, names)
        for quantity in ("torque", "current")
        for names in (robot.joints, motor_names(robot.joints))
    )
    return list(dict.fromkeys(stream for some in found for stream in some))


def motion_stream(streams: Iterable[Stream], robot: Robot, torque: Stream | None) -> Stream | None:
    """Positions of all joints from the device that also tells of torque, where it tells of both: one clock."""
    positions = position_streams(streams, robot)
    device = None if torque is None else torque.device
    return min(positions, key=lambda stream: stream.device != device, default=None)


def wrench_streams(streams: Iterable[Stream]) -> list[Stream]:
    """Streams that measure all six components of a wrench."""
    return [s for s in streams if s.role is Role.MEASURED and {c.name for c in s.columns} >= set(WRENCH)]


def placed_wrenches(streams: Iterable[Stream], robot: Robot) -> dict[str, Stream]:
    """Streams of the six-axis sensors that the robot's file gives a place, by the names of their devices."""
    return {s.device: s for s in wrench_streams(streams) if s.device in robot.sensors}


def imu_stream(streams: Iterable[Stream]) -> Stream | None:
    """The first stream that measures angular rate and specific force."""
    wanted = set(RATE_AND_FORCE)
    return next(
        (s for s in streams if s.role is Role.MEASURED and {c.name for c in s.columns} >= wanted), None
    )


def temperature_stream(streams: Iterable[Stream], robot: Robot) -> Stream | None:
    """The first stream that measures temperatures of all joints."""
    return next(iter(measuring(streams, "temperature", robot.joints)), None)


class JointPositions:
    """Positions of the joints out of one stream that measures all of them, or all motors; `names` of its columns."""

    def __init__(self, stream: Stream, robot: Robot) -> None:
        source = _source([stream], "position", robot)
        assert source is not None
        self._source, self._robot = source, robot
        self.names = source.columns(source.joints, robot)
        self._columns = stream.places(self.names)

    def of(self, values: Array) -> Array:
        """[rad, m] (N, n) from a stream's values in SI units (N, k)."""
        return self._source.of_joints(values[:, self._columns], self._robot)


class JointTorques:
    """Torques of the joints out of one stream of torques, of motor torques, or of currents; `names` of its columns."""

    def __init__(self, stream: Stream, robot: Robot) -> None:
        source = torque_source([stream], robot)
        assert source is not None
        self._source, self._robot = source, robot
        self.names = source.columns(source.joints, robot)
        self._columns = stream.places(self.names)

    def of(self, values: Array) -> Array:
        """[N m, N] (N, n) from a stream's values in SI units (N, k)."""
        return self._source.of_joints(values[:, self._columns], self._robot)
