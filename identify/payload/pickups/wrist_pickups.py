"""Pick-ups by a wrist sensor, while they happen.

The bare hand is learned from its own motion, unless it is given: whenever it has moved for a while and come to rest
with nothing held. That takes a while, so it is done a bit at a time, and meanwhile pick-ups are followed as before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.bare_hand.learned_hand import Work, fit_hand_stepwise
from heft.identify.payload.estimation.force_direction import sign_doubt
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.wrist_sensor import UNALIGNED_STD_S, WristSensor
from heft.identify.payload.kinematics.alignment import Aligner, Samples, joined
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.pickups.pickup_follower import PickupFollower
from heft.identify.payload.pickups.scale_pickups import ScalePickups
from heft.identify.payload.pickups.signals import Signal
from heft.identify.payload.scales.wrist_scale import WRIST_RULES, WristScale
from heft.identify.robot import Robot

__all__ = ["WristPickups"]


@dataclass(frozen=True)
class LearningRules:
    """When the bare hand is learned from its own motion, and how much at a time.

    Chosen, not tuned: the motions of `heft payload --live --arm` last five seconds.

    moving          [rad/s] of any joint
    least_motion_s  [s] that the hand is learned from
    at_rest_s       [s] after which a motion is over
    fed_s           [s] of the bare stretch that a new follower is given again, so that its scale knows the bias
    portion         samples that are learned from at a time: some milliseconds of work
    """

    moving: float = 0.05
    least_motion_s: float = 2.0
    at_rest_s: float = 0.15
    fed_s: float = 3.0
    portion: int = 1000


LEARNING_RULES = LearningRules()


class WristPickups(ScalePickups):
    """Positions at `position_hz`, wrenches at `wrench_hz`, and signals in; pick-ups out. `hand` None: it is learned."""

    def __init__(
        self,
        robot: Robot,
        *,
        position_hz: float,
        wrench_hz: float,
        hand: Hand | None = None,
        prior: ObjectPrior | None = None,
    ) -> None:
        self.hand = hand
        self._robot, self._prior = robot, prior
        self._position_hz, self._wrench_hz = position_hz, wrench_hz
        self._motion: deque[tuple[Array, Array]] = deque()  # raw, of the bare hand
        self._wrenches: deque[tuple[Array, Array]] = deque()
        self._moved_s, self._rested_s = 0.0, 0.0
        self._heard: list[Signal] = []  # since the hand's motion came to rest
        self._learning: Iterator[None] | None = None
        aligner = Aligner(robot, position_hz, delay_s=0.0 if hand is None else hand.delay_s)
        super().__init__(aligner, self._new_follower(hand))

    def motion(self, time: Array, q: Array) -> None:
        """Positions [rad] (N, n) at `time` [s] (N,)."""
        super().motion(time, q)
        self._keep(self._motion, time, q)

    def scale(self, time: Array, shown: Array) -> None:
        """Force [N] and torque [N m] (N, 6) at `time` [s] (N,)."""
        super().scale(time, shown)
        self._keep(self._wrenches, time, shown)

    def signal(self, signal: Signal) -> None:
        """The gripper did something."""
        super().signal(signal)
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

    def _keep(self, kept: deque[tuple[Array, Array]], time: Array, values: Array) -> None:
        if self.hand is not None:
            kept.clear()
            return
        kept.append((time, values))
        while kept and kept[0][0][0] < time[-1] - WRIST_RULES.bare_s:
            kept.popleft()

    def _watch_motion(self, samples: Samples) -> None:
        """Learn the hand when its bare motion has come to an end."""
        span = float(samples.time[-1] - samples.time[0])
        if np.abs(samples.dq).max() > LEARNING_RULES.moving:
            self._moved_s, self._rested_s = self._moved_s + span, 0.0
        else:
            self._rested_s += span
        if self._moved_s < LEARNING_RULES.least_motion_s or self._rested_s < LEARNING_RULES.at_rest_s:
            return
        self._moved_s = 0.0
        self._heard = list(self._follower.waiting)
        self._learning = self._learn(float(samples.time[-1]), self._follower.count)

    def _learn(self, rest: float, count: int) -> Iterator[None]:
        """The hand, from what is kept of its motion until it came to `rest` [s] after `count` pick-ups. Then a follower
        that knows it is given all since then, and takes over when it has caught up.
        """
        bare = _joined(self._motion), _joined(self._wrenches)
        moved = yield from self._aligned(*bare, 0.0)
        doubt = sign_doubt(
            moved.wrist.rotation, moved.shown[:, :3], self._robot.gravity, moved.wrist.linear_acceleration
        )
        self._follower.notes = notes = () if doubt is None else (doubt,)
        hand = yield from fit_hand_stepwise(
            lambda delay_s: self._aligned(*bare, delay_s), self._robot.gravity, step=LEARNING_RULES.portion
        )
        if hand is None:
            return
        aligner = Aligner(self._robot, self._position_hz, delay_s=hand.delay_s)
        follower = self._new_follower(hand, count)
        follower.notes = notes
        fed = [
            rest - LEARNING_RULES.fed_s,
            rest - LEARNING_RULES.fed_s,
        ]  # until when [s], of positions and wrenches
        while True:
            behind = False
            for k, (kept, take) in enumerate(
                ((self._motion, aligner.motion), (self._wrenches, aligner.scale))
            ):
                time, values = _joined(kept)
                first = int(np.searchsorted(time, fed[k], side="right"))
                last = min(first + LEARNING_RULES.portion, len(time))
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
            held.t_first = before.t_first  # it has been published
        self.hand, self._aligner, self._follower = hand, aligner, follower

    def _aligned(
        self, motion: tuple[Array, Array], wrench: tuple[Array, Array], delay_s: float
    ) -> Work[Samples]:
        aligner, parts = Aligner(self._robot, self._position_hz, delay_s=delay_s), []
        for start in range(0, max(len(motion[0]), len(wrench[0])), LEARNING_RULES.portion):
            rows = slice(start, start + LEARNING_RULES.portion)
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
        sensor = WristSensor(delay_std=UNALIGNED_STD_S)  # where there is no hand
        gravity = self._robot.gravity if hand is None or hand.gravity is None else hand.gravity
        return PickupFollower(
            WristScale(hand, gravity, sensor=sensor, rate_hz=self._wrench_hz),
            prior=self._prior,
            count=count,
        )


def _joined(parts: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    times, values = zip(*parts, strict=True)
    return np.concatenate(times), np.concatenate(values)
