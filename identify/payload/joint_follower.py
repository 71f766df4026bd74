"""Pick-ups by joint torques: beside a wrist sensor, or where there is none."""

from __future__ import annotations

from identify.arrays import Array
from identify.payload.align import Aligner
from identify.payload.arm import ArmModel
from identify.payload.estimate import PayloadEstimate
from identify.payload.events import Signal
from identify.payload.joint_scale import JointScale, link_in_flange
from identify.payload.pickups import TOLD_EVERY_S, Pickup, PickupFollower
from identify.payload.prior import ObjectPrior
from identify.robot import Robot

__all__ = ["JointFollower"]


class JointFollower:
    """Positions at `position_hz`, torques at `torque_hz` from `stream`, and signals in; pick-ups out."""

    def __init__(
        self,
        robot: Robot,
        arm: ArmModel,
        stream: str,
        *,
        position_hz: float,
        torque_hz: float,
        prior: ObjectPrior | None = None,
        told_every_s: float = TOLD_EVERY_S,
    ) -> None:
        self._place = link_in_flange(robot)
        delay_s = arm.delays.get(stream, 0.0)
        self._aligner = Aligner(robot, position_hz, delay_s=delay_s, by_joints=True)
        self._follower = PickupFollower(
            JointScale(robot, arm, rate_hz=torque_hz), prior=prior, told_every_s=told_every_s
        )
        self.motion = self._aligner.motion  # time [s] (N,), positions [rad] (N, n)

    @property
    def current(self) -> Pickup | None:
        """What is held, or may be."""
        return self._follower.current

    def torque(self, time: Array, torque: Array) -> None:
        """Torques of the joints [N m] (N, n) at `time` [s] (N,)."""
        self._aligner.scale(time, torque)

    def signal(self, signal: Signal) -> None:
        """The gripper did something."""
        self._follower.signal(signal)

    def take(self) -> list[Pickup]:
        """What is complete since the last call; pick-ups of which there is something new."""
        samples = self._aligner.ready()
        return [] if samples is None else self._follower.take(samples)

    def forget(self) -> None:
        """What is over."""
        self._follower.forget()

    def finish(self) -> tuple[Pickup, ...]:
        """The data end: all pick-ups, in the order of time."""
        return tuple(sorted(self._follower.finish(), key=lambda pickup: pickup.t_signal))

    def of(self, pickup: Pickup) -> PayloadEstimate | None:
        """What the joints say of a pick-up that was followed by another scale, in the flange's frame."""
        mine = (*self._follower.finished, *([self.current] if self.current is not None else []))
        for other in mine:
            if other.t_signal == pickup.t_signal and other.latest is not None:
                return other.latest.estimate.in_frame("flange", *self._place)
        return None
