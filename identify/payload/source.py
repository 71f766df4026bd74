"""A recording's streams as arrays: positions, what the scales showed, and what the gripper told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from daq.recording import Columns, Recording
from identify.arrays import Array
from identify.errors import DataError
from identify.payload.align import Aligner, Samples
from identify.payload.arm import ArmModel
from identify.payload.events import MQTT, GripperSignals, Signal, SignalKind
from identify.payload.hand import Hand, fit_hand
from identify.payload.joint_follower import JointFollower
from identify.payload.pickups import Pickup, PickupFollower
from identify.payload.prior import ObjectPrior
from identify.payload.streams import JointTorques, PayloadStreams, stamps
from identify.robot import Robot

__all__ = ["HAND_NOTE", "RecordedStreams"]

HAND_NOTE = "payload"  # in a live recording: the bare hand, as it was known
MARGIN_S = 0.05  # around what the gripper tells, which is not bare motion
LEAST = 100  # samples of a stream


class RecordedStreams:
    """Of one recording. `by_joints`: the arm is known, so that a wrist sensor is not needed."""

    def __init__(self, path: Path, robot: Robot, *, by_joints: bool = False) -> None:
        self.path, self.robot = path, robot
        recording = Recording.open(path)
        self.names = PayloadStreams.find(recording.streams, robot, str(path), by_joints=by_joints)
        motion = _columns(recording, self.names.position, path)
        self.rate_hz = motion.stream.rate_hz
        self._motion = (
            stamps(motion),
            np.stack([motion[f"{joint}.position"] for joint in robot.joints], axis=1),
        )
        origins = [int(motion.host_ns[0])]
        self.wrench_hz = self.effort_hz = 0.0
        if self.names.wrench is not None:
            wrench = _columns(recording, self.names.wrench, path)
            self.wrench_hz = wrench.stream.rate_hz
            self._wrench = stamps(wrench), wrench.si
            origins.append(int(wrench.host_ns[0]))
        if self.names.effort is not None and by_joints:
            effort = _columns(recording, self.names.effort, path)
            self.effort_hz = effort.stream.rate_hz
            self._torque = stamps(effort), JointTorques(effort.stream, robot).of(effort.si)
        self.signals = self._signals(recording)
        self._note = recording.metadata.get(HAND_NOTE)
        self.origin = min([event.t_ns for event in recording.events[:1]] + origins) * 1e-9

    def _signals(self, recording: Recording) -> list[Signal]:
        signals = [
            Signal(event.t_ns * 1e-9, SignalKind(event.facts["kind"]), MQTT, event.facts.get("target"))
            for event in recording.events
            if event.name == "gripper_event"
        ]
        if self.names.gripper is not None:
            state = recording.columns(self.names.gripper)
            signals += GripperSignals(state.stream).of(stamps(state), state.si)
        elif not signals:
            raise DataError(
                f"{self.path}: no gripper's stream and no gripper's events; nothing says when something was held"
            )
        return sorted(signals, key=lambda signal: signal.time)

    def wrenches(self, delay_s: float, end: float = np.inf) -> Samples:
        """All samples of the wrist sensor up to `end` [s], aligned by its delay."""
        aligner = Aligner(self.robot, self.rate_hz, delay_s=delay_s)
        aligner.motion(*_until(end, *self._motion))
        aligner.scale(*_until(end, *self._wrench))
        samples = aligner.ready()
        if samples is None:
            raise DataError(f"{self.path}: {self.names.position} and {self.names.wrench} share no time")
        return samples

    def by_joints(self, arm: ArmModel, prior: ObjectPrior | None) -> JointFollower | None:
        """All pick-ups by joint torques; None where they were not measured."""
        if self.names.effort is None:
            return None
        joints = JointFollower(
            self.robot,
            arm,
            self.names.effort,
            position_hz=self.rate_hz,
            torque_hz=self.effort_hz,
            prior=prior,
        )
        for signal in self.signals:
            joints.signal(signal)
        joints.motion(*self._motion)
        joints.torque(*self._torque)
        joints.take()
        joints.finish()
        return joints

    def follow(self, follower: PickupFollower, samples: Samples) -> tuple[Pickup, ...]:
        """All pick-ups, in the order of time."""
        for signal in self.signals:
            follower.signal(signal)
        follower.take(samples)
        return tuple(sorted(follower.finish(), key=lambda pickup: pickup.t_signal))

    def bare_until(self) -> float:
        """When something was held for the first time [s]."""
        held = [s.time for s in self.signals if s.kind is SignalKind.HELD]
        return (min(held) if held else np.inf) - MARGIN_S

    def hand(self, *, find_gravity: bool = False) -> Hand | None:
        """As the recording says, or from the motion before anything was held."""
        if self._note is not None:
            return Hand.from_dict(json.loads(self._note["hand"]))
        end = self.bare_until()
        gravity = None if find_gravity else self.robot.gravity
        return fit_hand(lambda delay: self.wrenches(delay, end + 2 * MARGIN_S).between(-np.inf, end), gravity)


def _columns(recording: Recording, name: str, path: Path) -> Columns:
    columns = recording.columns(name)
    if len(columns) < LEAST:
        raise DataError(
            f"{path}: {len(columns)} samples of {name}, must be at least {LEAST}; was its device connected?"
        )
    return columns


def _until(end: float, time: Array, values: Array) -> tuple[Array, Array]:
    count = int(np.searchsorted(time, end))
    return time[:count], values[:count]
