"""What a payload is weighed by, out of a recording: joint positions, wrenches, joint torques, the gripper's signals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from heft.daq.recording import Recording
from heft.daq.stamps import stamps_of
from heft.identify.bodies.arrays import Array
from heft.identify.data.measured_streams import WRENCH, JointPositions, JointTorques
from heft.identify.errors import DataError
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.bare_hand.learned_hand import fit_hand
from heft.identify.payload.estimation.object_prior import PLAUSIBLE, ObjectPrior
from heft.identify.payload.kinematics.alignment import Aligner, Samples
from heft.identify.payload.pickups.joint_pickups import JointPickups
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.pickups.pickup_follower import PickupFollower
from heft.identify.payload.pickups.pickup_rules import PICKUP_RULES
from heft.identify.payload.pickups.signals import MQTT, GripperSignals, Signal, SignalKind
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.weighing.streams import PayloadStreams
from heft.identify.robot import Robot

__all__ = ["HAND_NOTE", "RecordedStreams"]

HAND_NOTE = "payload"  # in a live recording: the bare hand, as it was known
LEAST_SAMPLES = 100  # of a stream: a device that was connected sends as many in a second


class RecordedStreams:
    """The stamped samples of one recording. `by_joints`: the arm is known, so that a wrist sensor is not needed."""

    def __init__(self, recording: Recording, robot: Robot, *, by_joints: bool = False) -> None:
        self.path, self.robot = recording.path, robot
        path = self.path
        self.names = PayloadStreams.find(recording.streams, robot, str(path), by_joints=by_joints)
        self._streams = recording.streams
        self._samples: dict[str, tuple[Array, Array]] = {}  # stamps [s] (N,), values in SI units (N, k)
        starts = [event.t_ns for event in recording.events[:1]]
        for name in self.names.used(by_joints=by_joints):
            columns = recording.columns(name)
            stamps = stamps_of(columns)
            rows = stamps.rows()
            if len(rows) < LEAST_SAMPLES and name != self.names.gripper:
                raise DataError(
                    f"{path}: {len(rows)} samples of {name}, must be at least {LEAST_SAMPLES}; "
                    "was its device connected?"
                )
            self._samples[name] = stamps.seconds(rows), columns.si[rows]
            starts += columns.host_ns[:1].tolist()
        self.signals = self._signals(recording)
        self._note = recording.metadata.get(HAND_NOTE)
        self.origin = min(starts) * 1e-9

    def rate_hz(self, name: str) -> float:
        """Nominal rate of a stream [Hz]."""
        return self._streams[name].rate_hz

    def _signals(self, recording: Recording) -> list[Signal]:
        signals = [
            Signal(event.t_ns * 1e-9, SignalKind(event.facts["kind"]), MQTT, event.facts.get("target"))
            for event in recording.events
            if event.name == "gripper_event"
        ]
        if self.names.gripper is not None:
            gripper = self.names.gripper
            signals += GripperSignals(self._streams[gripper]).of(*self._samples[gripper])
        elif not signals:
            raise DataError(
                f"{self.path}: no gripper's stream and no gripper's events; nothing says when something was "
                f"held. Where "
                "the arm carries one load throughout, weigh all of it (--all --result RESULT.json)"
            )
        return sorted(signals, key=lambda signal: signal.time)

    def wrenches(self, delay_s: float, end: float = np.inf) -> Samples:
        """All samples of the wrist sensor up to `end` [s], aligned by its delay."""
        names = self.names
        assert names.wrench is not None
        aligner = Aligner(self.robot, self.rate_hz(names.position), delay_s=delay_s)
        aligner.motion(*_until(end, *self._positions(names.position)))
        time, values = self._samples[names.wrench]
        aligner.scale(*_until(end, time, values[:, self._streams[names.wrench].places(WRENCH)]))
        samples = aligner.ready()
        if samples is None:
            raise DataError(f"{self.path}: {names.position} and {names.wrench} share no time")
        return samples

    def by_joints(self, arm: ArmModel, prior: ObjectPrior | None) -> JointPickups | None:
        """All pick-ups by joint torques; None where they were not measured."""
        driven, effort = self.names.driven, self.names.effort
        if effort is None:
            return None
        rates = {"position_hz": self.rate_hz(driven), "torque_hz": self.rate_hz(effort)}
        joints = JointPickups(self.robot, arm, effort, prior=prior, **rates)
        for signal in self.signals:
            joints.signal(signal)
        joints.motion(*self._positions(driven))
        time, values = self._samples[effort]
        joints.scale(time, JointTorques(self._streams[effort], self.robot).of(values))
        joints.take()
        joints.finish()
        return joints

    def _positions(self, name: str) -> tuple[Array, Array]:
        time, values = self._samples[name]
        return time, JointPositions(self._streams[name], self.robot).of(values)

    def follow(self, follower: PickupFollower, samples: Samples) -> tuple[Pickup, ...]:
        """All pick-ups, in the order of time."""
        for signal in self.signals:
            follower.signal(signal)
        follower.take(samples)
        return tuple(sorted(follower.finish(), key=lambda pickup: pickup.t_signal))

    def _stretches(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Intervals [s] in which nothing was held and in which something was, by the gripper's signals."""
        bare, held = [], []
        since, holding = -np.inf, False
        for signal in self.signals:
            if signal.kind is SignalKind.HELD and not holding:
                bare.append((since, signal.time - PICKUP_RULES.bare_guard_s))
                since, holding = signal.time + PICKUP_RULES.opened_s, True
            elif signal.kind is SignalKind.OPEN and holding:
                held.append((since, signal.time - PICKUP_RULES.bare_guard_s))
                since, holding = signal.time + PICKUP_RULES.opened_s, False
        (held if holding else bare).append((since, np.inf))
        return bare, held

    def hand(self, *, find_gravity: bool = False) -> tuple[Hand | None, Array | None]:
        """The bare hand: as the recording notes it, or from the first motion with nothing held that determines it.

        And gravity [m/s2] in the base's frame where it was estimated: from the bare hand's motion, or, where the hand
        weighs next to nothing or does not move enough, from motion with a load.
        """
        if self._note is not None:
            noted = Hand.from_dict(json.loads(self._note["hand"]))
            return noted, noted.gravity
        bare, held = self._stretches()
        gravity = None if find_gravity else self.robot.gravity
        empty = self._first_fit(bare, gravity)
        if empty is not None and (empty.gravity is not None or empty.mass > PLAUSIBLE.least_mass):
            return empty, empty.gravity
        loaded = self._first_fit(held, gravity)
        if loaded is None or loaded.gravity is None:
            return (None if find_gravity else empty), None
        empty = self._first_fit(bare, loaded.gravity)
        if empty is not None:
            empty = replace(empty, gravity=loaded.gravity, tilt_std=loaded.tilt_std)
        return empty, loaded.gravity

    def _first_fit(self, stretches: Sequence[tuple[float, float]], gravity: Array | None) -> Hand | None:
        """The hand by the first of these stretches whose motion determines it."""
        for start, end in stretches:
            hand = fit_hand(partial(self._between, start, end), gravity) if end > start else None
            if hand is not None:
                return hand
        return None

    def _between(self, start: float, end: float, delay_s: float) -> Samples:
        return self.wrenches(delay_s, end + 2 * PICKUP_RULES.bare_guard_s).between(start, end)


def _until(end: float, time: Array, values: Array) -> tuple[Array, Array]:
    count = int(np.searchsorted(time, end))
    return time[:count], values[:count]
