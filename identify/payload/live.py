"""Pick-ups while they happen: Blocks in, news of pick-ups out.

The bare hand is learned from its own motion, unless it is given: whenever it has moved for a while and come to rest
with nothing held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from drivers.block import Block
from drivers.stream import Stream
from identify.arrays import Array
from identify.payload.align import Aligner, Samples
from identify.payload.events import GripperSignals, Signal, SignalKind
from identify.payload.hand import Hand, fit_hand, sensor_of
from identify.payload.pickups import Pickup, PickupFollower
from identify.payload.prior import ObjectPrior
from identify.payload.recursive import WristSensor
from identify.payload.streams import LiveStamps, PayloadStreams
from identify.payload.wrist_scale import WristScale
from identify.robot import Robot

__all__ = ["LivePayload", "rehearse"]

KEPT_S = 20.0  # of bare motion
MOVING = 0.05  # [rad/s] of any joint
LEAST_MOTION_S = 2.0  # that the hand is learned from
AT_REST_S = 0.15
FED_S = 3.0  # of the bare stretch that a new follower is told again


class LivePayload:
    """One rig's pick-ups. `streams` are all that the rig yields; `hand` None: it is learned."""

    def __init__(
        self,
        streams: Mapping[str, Stream],
        robot: Robot,
        *,
        hand: Hand | None = None,
        prior: ObjectPrior | None = None,
        told_every_s: float = 0.1,
    ) -> None:
        self.robot, self.names = robot, PayloadStreams.find(streams, robot, "the rig")
        self._prior, self._told_every_s = prior, told_every_s
        wanted = (self.names.position, self.names.wrench, self.names.gripper)
        self._stamps = {name: LiveStamps(streams[name]) for name in wanted if name is not None}
        gripper = self.names.gripper
        self._gripper = None if gripper is None else GripperSignals(streams[gripper])
        self._position = [
            [c.name for c in streams[self.names.position].columns].index(f"{joint}.position")
            for joint in robot.joints
        ]
        wrench = streams[self.names.wrench]
        self._wrench = [*wrench.indices("force"), *wrench.indices("torque")]
        self._rate_hz, self._wrench_hz = streams[self.names.position].rate_hz, wrench.rate_hz
        self._aligner = Aligner(robot, self._rate_hz, delay_s=0.0 if hand is None else hand.delay_s)
        self._motion: deque[tuple[Array, Array]] = deque()  # raw, of the bare hand
        self._wrenches: deque[tuple[Array, Array]] = deque()
        self._moved_s, self._rested_s = 0.0, 0.0
        self._hand = hand
        self._follower = self._new_follower(hand)

    @property
    def hand(self) -> Hand | None:
        """The bare hand, as far as known."""
        return self._hand

    @property
    def current(self) -> Pickup | None:
        """What is held, or may be."""
        return self._follower.current

    def signal(self, signal: Signal) -> None:
        """A gripper's event from elsewhere."""
        self._follower.signal(signal)

    def take(self, blocks: Iterable[Block]) -> list[Pickup]:
        """The next blocks, of any streams; pick-ups of which there is something new."""
        for block in blocks:
            self._take(block)
        samples = self._aligner.ready()
        if samples is None:
            return []
        news = self._follower.take(samples)
        if self.hand is None and self._follower.current is None:
            self._watch_motion(samples)
        return news

    def _take(self, block: Block) -> None:
        name = block.stream.name
        if name not in self._stamps:
            return
        time = self._stamps[name].of(block)
        if name == self.names.position:
            q = block.si[:, self._position]
            self._aligner.motion(time, q)
            self._keep(self._motion, time, q)
        elif name == self.names.wrench:
            wrench = block.si[:, self._wrench]
            self._aligner.wrench(time, wrench)
            self._keep(self._wrenches, time, wrench)
        elif self._gripper is not None:
            for signal in self._gripper.of(time, block.si):
                self._follower.signal(signal)

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
        hand = fit_hand(self._bare, self.robot.gravity)
        if hand is not None and self._follower.current is None:
            self._learned(hand)

    def _learned(self, hand: Hand) -> None:
        """From now on with this hand; the last of the bare stretch is told again."""
        bare = self._bare(hand.delay_s)
        self._hand = hand
        self._follower = self._new_follower(hand, self._follower)
        self._follower.take(bare.between(bare.time[-1] - FED_S, np.inf))
        self._aligner.delay_s = hand.delay_s
        self._aligner.begin_after(float(bare.time[-1]))

    def _bare(self, delay_s: float) -> Samples:
        aligner = Aligner(self.robot, self._rate_hz, delay_s=delay_s)
        aligner.motion(*_joined(self._motion))
        aligner.wrench(*_joined(self._wrenches))
        samples = aligner.ready()
        assert samples is not None  # there were enough to see it move
        return samples

    def _new_follower(self, hand: Hand | None, before: PickupFollower | None = None) -> PickupFollower:
        sensor = WristSensor(delay_std=1e-3)
        if self._wrenches:
            sensor = replace(sensor_of(_joined(self._wrenches)[1][-2000:]), delay_std=1e-3)
        gravity = self.robot.gravity if hand is None or hand.gravity is None else hand.gravity
        return PickupFollower(
            WristScale(hand, gravity, sensor=sensor, rate_hz=self._wrench_hz),
            prior=self._prior,
            told_every_s=self._told_every_s,
            before=before,
        )


def _joined(parts: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    times, values = zip(*parts, strict=True)
    return np.concatenate(times), np.concatenate(values)


def rehearse(robot: Robot, rate_hz: float) -> None:
    """Everything once on made-up samples: what is compiled or loaded at first use must not delay the first pick-up."""
    t = np.arange(600) / rate_hz
    q = np.zeros((len(t), len(robot.joints))) + 0.1 * np.sin(3 * t)[:, None]
    aligner = Aligner(robot, rate_hz)
    aligner.motion(t, q)
    aligner.wrench(t, np.random.default_rng(0).standard_normal((len(t), 6)))
    samples = aligner.ready()
    if samples is not None:
        fit_hand(lambda delay: samples, robot.gravity)
        follower = PickupFollower(WristScale(None, robot.gravity))
        follower.signal(Signal(float(t[300]), SignalKind.HELD, "rehearsal"))
        follower.take(samples)
