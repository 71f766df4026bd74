"""Pick-ups while they happen: Blocks in, news of pick-ups out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from drivers.block import Block
from drivers.stream import Stream
from identify.payload.align import Aligner
from identify.payload.arm import ArmModel
from identify.payload.events import GripperSignals, Signal, SignalKind
from identify.payload.hand import Hand, fit_hand
from identify.payload.joint_follower import JointFollower
from identify.payload.pickups import TOLD_EVERY_S, Pickup, PickupFollower
from identify.payload.prior import ObjectPrior
from identify.payload.streams import JointPositions, JointTorques, LiveStamps, PayloadStreams
from identify.payload.wrist_follower import WristFollower
from identify.payload.wrist_scale import WristScale
from identify.robot import Robot

__all__ = ["LivePayload", "rehearse"]

BESIDE_EVERY_S = 0.5  # how often joints are asked where a wrist sensor tells more


class LivePayload:
    """One rig's pick-ups. `streams` are all that the rig yields.

    hand  of the wrist sensor; None: it is learned
    arm   to weigh by joint torques beside the wrist sensor, or where there is none; None: only by that
    """

    def __init__(
        self,
        streams: Mapping[str, Stream],
        robot: Robot,
        *,
        hand: Hand | None = None,
        arm: ArmModel | None = None,
        prior: ObjectPrior | None = None,
        told_every_s: float = TOLD_EVERY_S,
    ) -> None:
        self.names = names = PayloadStreams.find(streams, robot, "the rig", by_joints=arm is not None)
        self._stamps = {name: LiveStamps(streams[name]) for name in names.used(by_joints=arm is not None)}
        self._gripper = None if names.gripper is None else GripperSignals(streams[names.gripper])
        self._wrist: WristFollower | None = None
        if names.wrench is not None:
            position, wrench = streams[names.position], streams[names.wrench]
            self._position = JointPositions(position, robot)
            self._wrench = [*wrench.indices("force"), *wrench.indices("torque")]
            self._wrist = WristFollower(
                robot,
                position_hz=position.rate_hz,
                wrench_hz=wrench.rate_hz,
                hand=hand,
                prior=prior,
                told_every_s=told_every_s,
            )
        self._joints: JointFollower | None = None
        if names.effort is not None and arm is not None:
            driven, effort = streams[names.driven], streams[names.effort]
            self._driven = JointPositions(driven, robot)
            self._torques = JointTorques(effort, robot)
            self._joints = JointFollower(
                robot,
                arm,
                names.effort,
                position_hz=driven.rate_hz,
                torque_hz=effort.rate_hz,
                prior=prior,
                told_every_s=told_every_s if self._wrist is None else BESIDE_EVERY_S,
            )
        self._followers = [one for one in (self._wrist, self._joints) if one is not None]

    @property
    def hand(self) -> Hand | None:
        """The bare hand, as far as known."""
        return None if self._wrist is None else self._wrist.hand

    @property
    def current(self) -> Pickup | None:
        """What is held, or may be."""
        return self._followers[0].current

    def signal(self, signal: Signal) -> None:
        """A gripper's event from elsewhere."""
        for follower in self._followers:
            follower.signal(signal)

    def take(self, blocks: Iterable[Block]) -> list[Pickup]:
        """The next blocks, of any streams; pick-ups of which there is something new (latest estimate only)."""
        for block in blocks:
            self._take(block)
        news = self._followers[0].take()
        if self._wrist is not None and self._joints is not None:
            for pickup in news:
                pickup.by_joints = self._joints.of(pickup)
            if not news:  # nobody is waiting
                self._joints.take()
        for follower in self._followers if news else ():
            follower.forget()
        return news

    def _take(self, block: Block) -> None:
        name = block.stream.name
        if name not in self._stamps:
            return
        time = self._stamps[name].of(block)
        if self._wrist is not None:
            if name == self.names.position:
                self._wrist.motion(time, self._position.of(block.si))
            if name == self.names.wrench:
                self._wrist.wrench(time, block.si[:, self._wrench])
        if self._joints is not None:
            if name == self.names.driven:
                self._joints.motion(time, self._driven.of(block.si))
            if name == self.names.effort:
                self._joints.torque(time, self._torques.of(block.si))
        if name == self.names.gripper and self._gripper is not None:
            for signal in self._gripper.of(time, block.si):
                self.signal(signal)


def rehearse(robot: Robot, rate_hz: float) -> None:
    """Everything once on made-up samples: what is compiled or loaded at first use must not delay the first pick-up."""
    if robot.sensor is None:
        return
    t = np.arange(600) / rate_hz
    q = np.zeros((len(t), len(robot.joints))) + 0.1 * np.sin(3 * t)[:, None]
    aligner = Aligner(robot, rate_hz)
    aligner.motion(t, q)
    aligner.scale(t, np.random.default_rng(0).standard_normal((len(t), 6)))
    samples = aligner.ready()
    if samples is not None:
        fit_hand(lambda delay: samples, robot.gravity)
        follower = PickupFollower(WristScale(None, robot.gravity))
        follower.signal(Signal(float(t[300]), SignalKind.HELD, "rehearsal"))
        follower.take(samples)
