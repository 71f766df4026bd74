"""A recording's streams as arrays: positions, what the scales showed, and what the gripper told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from daq.recording import Recording
from identify.arrays import Array
from identify.errors import DataError
from identify.payload.align import Aligner, Samples
from identify.payload.arm import ArmModel
from identify.payload.events import MQTT, GripperSignals, Signal, SignalKind
from identify.payload.hand import Hand, fit_hand
from identify.payload.joint_follower import JointFollower
from identify.payload.pickups import Pickup, PickupFollower
from identify.payload.prior import ObjectPrior
from identify.payload.streams import JointPositions, JointTorques, PayloadStreams, stamps
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
        self._columns = {name: recording.columns(name) for name in self.names.used(by_joints=by_joints)}
        for name, columns in self._columns.items():
            if len(columns) < LEAST and name != self.names.gripper:
                raise DataError(
                    f"{path}: {len(columns)} samples of {name}, must be at least {LEAST}; was its device connected?"
                )
        self._stamps = {name: stamps(columns) for name, columns in self._columns.items()}
        self.signals = self._signals(recording)
        self._note = recording.metadata.get(HAND_NOTE)
        starts = [event.t_ns for event in recording.events[:1]]
        starts += [int(columns.host_ns[0]) for columns in self._columns.values() if len(columns)]
        self.origin = min(starts) * 1e-9

    def rate_hz(self, name: str) -> float:
        """Of a stream."""
        return self._columns[name].stream.rate_hz

    def _signals(self, recording: Recording) -> list[Signal]:
        signals = [
            Signal(event.t_ns * 1e-9, SignalKind(event.facts["kind"]), MQTT, event.facts.get("target"))
            for event in recording.events
            if event.name == "gripper_event"
        ]
        if self.names.gripper is not None:
            state = self._columns[self.names.gripper]
            signals += GripperSignals(state.stream).of(self._stamps[self.names.gripper], state.si)
        elif not signals:
            raise DataError(
                f"{self.path}: no gripper's stream and no gripper's events; nothing says when something was held"
            )
        return sorted(signals, key=lambda signal: signal.time)

    def wrenches(self, delay_s: float, end: float = np.inf) -> Samples:
        """All samples of the wrist sensor up to `end` [s], aligned by its delay."""
        names = self.names
        assert names.wrench is not None
        aligner = Aligner(self.robot, self.rate_hz(names.position), delay_s=delay_s)
        aligner.motion(*_until(end, *self._positions(names.position)))
        columns = self._columns[names.wrench]
        six = [*columns.stream.indices("force"), *columns.stream.indices("torque")]
        aligner.scale(*_until(end, self._stamps[names.wrench], columns.si[:, six]))
        samples = aligner.ready()
        if samples is None:
            raise DataError(f"{self.path}: {names.position} and {names.wrench} share no time")
        return samples

    def by_joints(self, arm: ArmModel, prior: ObjectPrior | None) -> JointFollower | None:
        """All pick-ups by joint torques; None where they were not measured."""
        driven, effort = self.names.driven, self.names.effort
        if effort is None:
            return None
        rates = {"position_hz": self.rate_hz(driven), "torque_hz": self.rate_hz(effort)}
        joints = JointFollower(self.robot, arm, effort, prior=prior, **rates)
        for signal in self.signals:
            joints.signal(signal)
        joints.motion(*self._positions(driven))
        columns = self._columns[effort]
        joints.torque(self._stamps[effort], JointTorques(columns.stream, self.robot).of(columns.si))
        joints.take()
        joints.finish()
        return joints

    def _positions(self, name: str) -> tuple[Array, Array]:
        columns = self._columns[name]
        return self._stamps[name], JointPositions(columns.stream, self.robot).of(columns.si)

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


def _until(end: float, time: Array, values: Array) -> tuple[Array, Array]:
    count = int(np.searchsorted(time, end))
    return time[:count], values[:count]
