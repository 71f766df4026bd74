"""The streams that a payload is weighed by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heft.drivers.stream import Stream
from heft.identify.data.measured_streams import (
    measuring,
    motion_stream,
    position_streams,
    torque_streams,
    wrench_streams,
)
from heft.identify.errors import DataError
from heft.identify.robot import Robot

__all__ = ["PayloadStreams"]


@dataclass(frozen=True)
class PayloadStreams:
    """Names of streams; None where there is none.

    position  of the joints, for the wrist: rather from encoders than from drives, which do not see the links
    wrench    of the wrist sensor
    driven    positions for the joints' torques: from the same device, as where the arm was identified
    effort    the joints' torques, or currents
    gripper   whether something is held
    """

    position: str
    wrench: str | None
    driven: str
    effort: str | None
    gripper: str | None

    @classmethod
    def find(
        cls, streams: Mapping[str, Stream], robot: Robot, where: str, *, by_joints: bool = False
    ) -> PayloadStreams:
        """By what the streams measure.

        `by_joints`: the arm is known, so that currents can do without a wrist sensor.
        """
        every = list(streams.values())
        effort, wrench = torque_streams(every, robot), wrench_streams(every)
        drives = {stream.device for stream in effort}
        position = sorted(position_streams(every, robot), key=lambda s: s.device in drives)
        driven = motion_stream(every, robot, effort[0] if effort else None)
        gripper = measuring(every, "detected", ("object",))
        scale, what = (
            (wrench or effort, "a wrist's wrench or joint torques")
            if by_joints
            else (wrench, "a wrist's wrench")
        )
        for needed, of in ((position, f"positions of {', '.join(robot.joints)}"), (scale, what)):
            if not needed:
                raise DataError(
                    f"{where}: no stream with {of}; it has {', '.join(streams) or 'none'}: a payload is weighed by "
                    "the joints' positions with a wrist sensor, or with currents and the identified arm "
                    "(--result RESULT.json)"
                )
        assert driven is not None  # since there are positions
        return cls(
            position[0].name,
            wrench[0].name if wrench else None,
            driven.name,
            effort[0].name if effort else None,
            gripper[0].name if gripper else None,
        )

    def used(self, *, by_joints: bool) -> tuple[str, ...]:
        """Those that are read, once each; `by_joints`: for the joints' torques too."""
        names = [self.gripper]
        names += [self.position, self.wrench] if self.wrench is not None else []
        names += [self.driven, self.effort] if by_joints and self.effort is not None else []
        return tuple(dict.fromkeys(name for name in names if name is not None))
