"""Pick-ups by a wrist sensor, while they happen.

The bare hand is learned from its own motion, unless it is given: whenever it has moved for a while and come to rest
with nothing held. That takes a while, so it is done a bit at a time, and meanwhile pick-ups are followed as before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from identify.arrays import Array
from identify.payload.align import Aligner, Samples, joined
from identify.payload.events import Signal
from identify.payload.hand import Hand, Work, fitting, sensor_of
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
BIT = 1000  # samples that are thought about at a time


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
        self._heard: list[Signal] = []  # since the hand's motion came to rest
        self._learning: Iterator[None] | None = None
        self._follower = self._new_follower(hand)

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
        if self._learning is not None:
            self._heard.append(signal)

    def take(self) -> list[Pickup]:
        """What is complete since the last call; pick-ups of which there is something new."""
        samples = self._aligner.ready()
        news = [] if samples is None else self._follower.take(samples)
        if self._learning is not None:
            if not news and next(self._learning, self) is self:  # somebody waits for news
                self._learning = None
        elif self.hand is None and self._follower.current is not None:
            self._motion.clear()  # of the bare hand nothing else is kept
            self._wrenches.clear()
            self._moved_s = 0.0
        elif samples is not None and self.hand is None:
            self._watch_motion(samples)
        return news

    def forget(self) -> None:
        """What is over."""
        self._follower.forget()

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
        self._heard = list(self._follower.waiting)
        self._learning = self._learn(float(samples.time[-1]), self._follower.count)

    def _learn(self, rest: float, count: int) -> Iterator[None]:
        """The hand, from what is kept of its motion until it came to `rest` [s] after `count` pick-ups. Then a follower
        that knows it is told all since then, and takes over when it has caught up.
        """
        bare = _joined(self._motion), _joined(self._wrenches)
        hand = yield from fitting(
            lambda delay_s: self._aligned(*bare, delay_s), self._robot.gravity, step=BIT
        )
        if hand is None:
            return
        aligner = Aligner(self._robot, self._position_hz, delay_s=hand.delay_s)
        follower = self._new_follower(hand, count)
        fed = [rest - FED_S, rest - FED_S]  # until when [s], of positions and wrenches
        while True:
            behind = False
            for k, (kept, take) in enumerate(
                ((self._motion, aligner.motion), (self._wrenches, aligner.scale))
            ):
                time, values = _joined(kept)
                first = int(np.searchsorted(time, fed[k], side="right"))
                last = min(first + BIT, len(time))
                if last > first:
                    take(time[first:last], values[first:last])
                    fed[k] = float(time[last - 1])
                behind = behind or last < len(time)
            while self._heard:
                follower.signal(self._heard.pop(0))
            samples = aligner.ready()
            if samples is not None:
                follower.take(samples)
            if not behind:
                break
            yield
        held, before = follower.current, self._follower.current
        if held is not None and before is not None and held.number == before.number:
            held.t_first = before.t_first  # what was told was told
        self.hand, self._aligner, self._follower = hand, aligner, follower

    def _aligned(
        self, motion: tuple[Array, Array], wrench: tuple[Array, Array], delay_s: float
    ) -> Work[Samples]:
        aligner, parts = Aligner(self._robot, self._position_hz, delay_s=delay_s), []
        for start in range(0, max(len(motion[0]), len(wrench[0])), BIT):
            rows = slice(start, start + BIT)
            if start < len(motion[0]):
                aligner.motion(motion[0][rows], motion[1][rows])
            if start < len(wrench[0]):
                aligner.scale(wrench[0][rows], wrench[1][rows])
            part = aligner.ready()
            if part is not None:
                parts.append(part)
            yield
        return joined(parts)  # there were enough to see it move

    def _new_follower(self, hand: Hand | None, count: int = 0) -> PickupFollower:
        sensor = WristSensor(delay_std=1e-3)
        if self._wrenches:
            sensor = replace(sensor_of(_joined(self._wrenches)[1][-2000:]), delay_std=1e-3)
        gravity = self._robot.gravity if hand is None or hand.gravity is None else hand.gravity
        return PickupFollower(
            WristScale(hand, gravity, sensor=sensor, rate_hz=self._wrench_hz),
            prior=self._prior,
            told_every_s=self._told_every_s,
            count=count,
        )


def _joined(parts: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    times, values = zip(*parts, strict=True)
    return np.concatenate(times), np.concatenate(values)
