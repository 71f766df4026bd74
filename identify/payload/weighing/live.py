"""Pick-ups while they happen: Blocks in, news of pick-ups out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from heft.daq.stamps import LiveStamps
from heft.drivers.block import Block
from heft.drivers.stream import Stream
from heft.identify.bodies.arrays import Array
from heft.identify.data.measured_streams import WRENCH, JointPositions, JointTorques
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.bare_hand.learned_hand import fit_hand
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.sample_chunks import CHUNK_S
from heft.identify.payload.kinematics.alignment import Aligner
from heft.identify.payload.pickups.joint_pickups import JointPickups
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.pickups.pickup_follower import PickupFollower
from heft.identify.payload.pickups.scale_pickups import ScalePickups
from heft.identify.payload.pickups.signals import GripperSignals, Signal, SignalKind
from heft.identify.payload.pickups.wrist_pickups import WristPickups
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.scales.wrist_scale import WristScale
from heft.identify.payload.weighing.streams import PayloadStreams
from heft.identify.robot import Robot

__all__ = ["LivePayload", "warm_up"]

BESIDE_EVERY_S = 5 * CHUNK_S  # [s]: joints are asked more rarely where a wrist sensor tells more


@dataclass(frozen=True)
class _Inputs:
    """What pick-ups by one scale take from the streams, by name: positions [rad] (N, n) and what the scale shows."""

    pickups: ScalePickups
    position: tuple[str, Callable[[Array], Array]]
    scale: tuple[str, Callable[[Array], Array]]

    def take(self, name: str, time: Array, values: Array) -> None:
        """Samples of a stream, values in SI units (N, k)."""
        for (wanted, columns), add in (
            (self.position, self.pickups.motion),
            (self.scale, self.pickups.scale),
        ):
            if name == wanted:
                add(time, columns(values))


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
    ) -> None:
        self.names = names = PayloadStreams.find(streams, robot, "the rig", by_joints=arm is not None)
        self._stamps = {name: LiveStamps(streams[name]) for name in names.used(by_joints=arm is not None)}
        self._gripper = None if names.gripper is None else GripperSignals(streams[names.gripper])
        self._wrist: WristPickups | None = None
        self._joints: JointPickups | None = None
        self._inputs: list[_Inputs] = []  # the scale that decides first
        if names.wrench is not None:
            position, wrench = streams[names.position], streams[names.wrench]
            self._wrist = WristPickups(
                robot,
                position_hz=position.rate_hz,
                wrench_hz=wrench.rate_hz,
                hand=hand,
                prior=prior,
            )
            places = wrench.places(WRENCH)
            self._inputs.append(
                _Inputs(
                    self._wrist,
                    (names.position, JointPositions(position, robot).of),
                    (names.wrench, lambda values: values[:, places]),
                )
            )
        if names.effort is not None and arm is not None:
            driven, effort = streams[names.driven], streams[names.effort]
            self._joints = JointPickups(
                robot,
                arm,
                names.effort,
                position_hz=driven.rate_hz,
                torque_hz=effort.rate_hz,
                prior=prior,
                publish_every_s=CHUNK_S if self._wrist is None else BESIDE_EVERY_S,
            )
            self._inputs.append(
                _Inputs(
                    self._joints,
                    (names.driven, JointPositions(driven, robot).of),
                    (names.effort, JointTorques(effort, robot).of),
                )
            )

    @property
    def hand(self) -> Hand | None:
        """The bare hand, as far as known."""
        return None if self._wrist is None else self._wrist.hand

    @property
    def current(self) -> Pickup | None:
        """What is held, or may be."""
        return self._inputs[0].pickups.current

    def signal(self, signal: Signal) -> None:
        """A gripper's event from elsewhere."""
        for one in self._inputs:
            one.pickups.signal(signal)

    def take(self, blocks: Iterable[Block]) -> list[Pickup]:
        """The next blocks, of any streams; pick-ups of which there is something new (latest estimate only)."""
        for block in blocks:
            self._take(block)
        news = self._inputs[0].pickups.take()
        if self._wrist is not None and self._joints is not None:
            for pickup in news:
                pickup.by_joints = self._joints.of(pickup)
            if not news:  # nobody is waiting
                self._joints.take()
        for one in self._inputs if news else ():
            one.pickups.forget()
        return news

    def _take(self, block: Block) -> None:
        name = block.stream.name
        if name not in self._stamps:
            return
        stamps = self._stamps[name].of(block)
        rows = stamps.rows()
        if not len(rows):
            return
        time, values = stamps.seconds(rows), block.si[rows]
        for one in self._inputs:
            one.take(name, time, values)
        if name == self.names.gripper and self._gripper is not None:
            for signal in self._gripper.of(time, values):
                self.signal(signal)


def warm_up(robot: Robot, rate_hz: float) -> None:
    """Run everything once on made-up samples, so that what is compiled or loaded at first use does not delay the first
    pick-up.
    """
    if robot.sensor is None and robot.flange is None:
        return
    t = np.arange(600) / rate_hz
    q = np.zeros((len(t), len(robot.joints))) + 0.1 * np.sin(3 * t)[:, None]
    by_joints = robot.sensor is None
    aligner = Aligner(robot, rate_hz, by_joints=by_joints)
    aligner.motion(t, q)
    shown = np.random.default_rng(0).standard_normal((len(t), len(robot.joints) if by_joints else 6))
    aligner.scale(t, shown)
    samples = aligner.ready()
    if samples is not None and not by_joints:
        fit_hand(lambda delay: samples, robot.gravity)
        follower = PickupFollower(WristScale(None, robot.gravity))
        follower.signal(Signal(float(t[300]), SignalKind.HELD, "warm-up"))
        follower.take(samples)
