"""Pick-ups by a wrist sensor, while they happen.

The bare hand is learned from its own motion, unless it is given: whenever it has moved for a while and come to rest
with nothing held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from identify.arrays import Array
from identify.payload.align import Aligner, Samples
from identify.payload.events import Signal
from identify.payload.hand import Hand, fit_hand, sensor_of
from identify.payload.pickups import TOLD_EVERY_S, Pickup, PickupFollower
from identify.payload.prior import ObjectPrior
from identify.payload.recursive import WristSensor
from identify.payload.wrist_scale import WristScale
from identify.robot import Robot

__all__ = ["WristFollower"]

KEPT_S = 20.0  # of bare motion
MOVING = 0.05  # [rad/s] of any joint
LEAST_MOTION_S = 2.0  # that the hand is learned from
AT_REST_S = 0.15
FED_S = 3.0  # of the bare stretch that a new follower is told again


class WristFollower:
    """Positions at `position_hz`, wrenches at `wrench_hz`, and signals in; pick-ups out. `hand` None: it is learned."""

    def __init__(
        self,
        robot: Robot,
        *,
        position_hz: float,
        wrench_hz: float,
        hand: Hand | None = None,
        prior: ObjectPrior | None = None,
        told_every_s: float = TOLD_EVERY_S,
    ) -> None:
        self.hand = hand
        self._robot, self._prior, self._told_every_s = robot, prior, told_every_s
        self._position_hz, self._wrench_hz = position_hz, wrench_hz
        self._aligner = Aligner(robot, position_hz, delay_s=0.0 if hand is None else hand.delay_s)
        self._motion: deque[tuple[Array, Array]] = deque()  # raw, of the bare hand
        self._wrenches: deque[tuple[Array, Array]] = deque()
        self._moved_s, self._rested_s = 0.0, 0.0
        self._follower = self._new_follower()

    @property
    def current(self) -> Pickup | None:
        """What is held, or may be."""
        return self._follower.current

    def motion(self, time: Array, q: Array) -> None:
        """Positions [rad] (N, n) at `time` [s] (N,)."""
        self._aligner.motion(time, q)
        self._keep(self._motion, time, q)

    def wrench(self, time: Array, wrench: Array) -> None:
        """Force [N] and torque [N m] (N, 6) at `time` [s] (N,)."""
        self._aligner.scale(time, wrench)
        self._keep(self._wrenches, time, wrench)

    def signal(self, signal: Signal) -> None:
        """The gripper did something."""
        self._follower.signal(signal)

    def take(self) -> list[Pickup]:
        """What is complete since the last call; pick-ups of which there is something new."""
        samples = self._aligner.ready()
        if samples is None:
            return []
        news = self._follower.take(samples)
        if self.hand is None and self._follower.current is None:
            self._watch_motion(samples)
        return news

    def _keep(self, kept: deque[tuple[Array, Array]], time: Array, values: Array) -> None:
        if self.hand is not None:
            kept.clear()
            return
        kept.append((time, values))
        while kept and kept[0][0][0] < time[-1] - KEPT_S:
            kept.popleft()

    def _watch_motion(self, samples: Samples) -> None:
        """Learn the hand when its bare motion has come to an end."""
        span = float(samples.time[-1] - samples.time[0])
        if np.abs(samples.dq).max() > MOVING:
            self._moved_s, self._rested_s = self._moved_s + span, 0.0
        else:
            self._rested_s += span
        if self._moved_s < LEAST_MOTION_S or self._rested_s < AT_REST_S:
            return
        self._moved_s = 0.0
        hand = fit_hand(self._bare, self._robot.gravity)
        if hand is not None and self._follower.current is None:
            self._learned(hand)

    def _learned(self, hand: Hand) -> None:
        """From now on with this hand; the last of the bare stretch is told again."""
        bare = self._bare(hand.delay_s)
        self.hand = hand
        self._follower = self._new_follower(self._follower)
        self._follower.take(bare.between(bare.time[-1] - FED_S, np.inf))
        self._aligner.delay_s = hand.delay_s
        self._aligner.begin_after(float(bare.time[-1]))

    def _bare(self, delay_s: float) -> Samples:
        aligner = Aligner(self._robot, self._position_hz, delay_s=delay_s)
        aligner.motion(*_joined(self._motion))
        aligner.scale(*_joined(self._wrenches))
        samples = aligner.ready()
        assert samples is not None  # there were enough to see it move
        return samples

    def _new_follower(self, before: PickupFollower | None = None) -> PickupFollower:
        sensor, hand = WristSensor(delay_std=1e-3), self.hand
        if self._wrenches:
            sensor = replace(sensor_of(_joined(self._wrenches)[1][-2000:]), delay_std=1e-3)
        gravity = self._robot.gravity if hand is None or hand.gravity is None else hand.gravity
        return PickupFollower(
            WristScale(hand, gravity, sensor=sensor, rate_hz=self._wrench_hz),
            prior=self._prior,
            told_every_s=self._told_every_s,
            before=before,
        )


def _joined(parts: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    times, values = zip(*parts, strict=True)
    return np.concatenate(times), np.concatenate(values)
