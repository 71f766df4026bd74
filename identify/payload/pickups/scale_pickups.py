"""Pick-ups by one scale: joint positions, what the scale shows and the gripper's signals in, pick-ups out."""

from __future__ import annotations

from heft.identify.bodies.arrays import Array
from heft.identify.payload.kinematics.alignment import Aligner
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.pickups.pickup_follower import PickupFollower
from heft.identify.payload.pickups.signals import Signal

__all__ = ["ScalePickups"]


class ScalePickups:
    """Streams in, in any blocks: aligned in time, then followed."""

    def __init__(self, aligner: Aligner, follower: PickupFollower) -> None:
        self._aligner, self._follower = aligner, follower

    @property
    def current(self) -> Pickup | None:
        """What is held, or may be."""
        return self._follower.current

    def motion(self, time: Array, q: Array) -> None:
        """Positions [rad] (N, n) at `time` [s] (N,)."""
        self._aligner.motion(time, q)

    def scale(self, time: Array, shown: Array) -> None:
        """What the scale shows at `time` [s] (N,): force [N] and torque [N m] (N, 6), or joint torques [N m] (N, n)."""
        self._aligner.scale(time, shown)

    def signal(self, signal: Signal) -> None:
        """The gripper did something."""
        self._follower.signal(signal)

    def take(self) -> list[Pickup]:
        """Follow what is complete since the last call; pick-ups of which there is something new."""
        samples = self._aligner.ready()
        return [] if samples is None else self._follower.take(samples)

    def forget(self) -> None:
        """Drop what is over."""
        self._follower.forget()

    def finish(self) -> tuple[Pickup, ...]:
        """The data end: all pick-ups, in the order of time."""
        return tuple(sorted(self._follower.finish(), key=lambda pickup: pickup.t_signal))
