"""A recording's streams as arrays: positions, what the scales showed, and what the gripper told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
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
OPENED_S = 0.5  # after it has let go, the hand is bare
TELLING = 0.1  # [kg]: what a hand must weigh to tell where gravity points
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
            six = [*wrench.stream.indices("force"), *wrench.stream.indices("torque")]
            self._wrench = stamps(wrench), wrench.si[:, six]
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

    def _stretches(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """When nothing was held, and when something was, as the gripper tells it: start and end [s] of each."""
        bare, held = [], []
        since, holding = -np.inf, False
        for signal in self.signals:
            if signal.kind is SignalKind.HELD and not holding:
                bare.append((since, signal.time - MARGIN_S))
                since, holding = signal.time + OPENED_S, True
            elif signal.kind is SignalKind.OPEN and holding:
                held.append((since, signal.time - MARGIN_S))
                since, holding = signal.time + OPENED_S, False
        (held if holding else bare).append((since, np.inf))
        return bare, held

    def hand(self, *, find_gravity: bool = False) -> tuple[Hand | None, Array | None]:
        """The hand as the recording says, or from motion with nothing held: the first such motion, else any that tells.

        And gravity where it was found. A hand that weighs next to nothing, or does not move, says nothing of it; what
        it carries does.
        """
        if self._note is not None:
            hand = Hand.from_dict(json.loads(self._note["hand"]))
            return hand, hand.gravity
        bare, held = self._stretches()
        gravity = None if find_gravity else self.robot.gravity
        found = self._first_told(bare, gravity)
        if found is not None and (found.gravity is not None or found.mass > TELLING):
            return found, found.gravity
        loaded = self._first_told(held, gravity)
        if loaded is None or loaded.gravity is None:
            return (None if find_gravity else found), None
        found = self._first_told(bare, loaded.gravity)
        if found is not None:
            found = replace(found, gravity=loaded.gravity, tilt_std=loaded.tilt_std)
        return found, loaded.gravity

    def _first_told(self, stretches: Sequence[tuple[float, float]], gravity: Array | None) -> Hand | None:
        for start, end in stretches:
            cut = partial(self._between, start, end)
            found = fit_hand(cut, gravity) if end > start else None
            if found is not None:
                return found
        return None

    def _between(self, start: float, end: float, delay_s: float) -> Samples:
        return self.wrenches(delay_s, end + 2 * MARGIN_S).between(start, end)


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
