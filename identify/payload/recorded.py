"""Every pick-up of a recording: what `heft payload FILE.mcap` does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from daq.config.objects import ObjectConfig
from daq.recording import Recording
from identify.arrays import Array
from identify.errors import DataError
from identify.payload.align import Aligner, Samples
from identify.payload.arm import ArmModel
from identify.payload.estimate import PayloadEstimate
from identify.payload.events import MQTT, GripperSignals, Signal, SignalKind
from identify.payload.hand import Hand, fit_hand, sensor_of
from identify.payload.joint_scale import JointScale, link_in_flange
from identify.payload.pickups import End, Pickup, PickupFollower
from identify.payload.prior import ObjectPrior
from identify.payload.report import Reporter
from identify.payload.streams import PayloadStreams, stamps
from identify.payload.wrist import sensor_in_flange
from identify.payload.wrist_scale import WristScale
from identify.recorded import robot_of
from identify.robot import Robot

__all__ = ["HAND_NOTE", "Weighed", "hand_of", "weigh_recording"]

HAND_NOTE = "payload"  # in a live recording: the bare hand, as it was known
MARGIN_S = 0.05  # around what the gripper tells, which is not bare motion


@dataclass(frozen=True)
class Weighed:
    """All pick-ups of a recording, in the order of time; `by_torque` the same loads from joint torques, by number."""

    pickups: tuple[Pickup, ...]
    hand: Hand | None
    by_torque: dict[int, PayloadEstimate]
    notes: tuple[str, ...]
    reporter: Reporter

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values: `payloads`, `nothing` for grasps without a weight, `hand`, `notes`."""
        hand = self.hand
        told = [self.reporter.told(p, self.by_torque.get(p.number)) for p in self.pickups]
        return {
            "payloads": [facts for facts in told if facts["t_pick"] is not None],
            "nothing": [facts for facts in told if facts["t_pick"] is None],
            "hand": None
            if hand is None
            else {
                "mass": hand.mass,
                "delay_s": hand.delay_s,
                "delay_std_s": hand.delay_std_s,
                "gravity": None if hand.gravity is None else hand.gravity.tolist(),
            },
            "notes": list(self.notes),
        }


class _Source:
    """A recording's streams as arrays."""

    def __init__(self, path: Path, robot: Robot) -> None:
        self.path, self.robot = path, robot
        recording = Recording.open(path)
        self.names = PayloadStreams.find(recording.streams, robot, str(path))
        motion = recording.columns(self.names.position)
        wrench = recording.columns(self.names.wrench)
        if len(motion) < 100 or len(wrench) < 100:
            raise DataError(
                f"{path}: {len(motion)} samples of {self.names.position} and {len(wrench)} of "
                f"{self.names.wrench}; were their devices connected?"
            )
        self.rate_hz, self.wrench_hz = motion.stream.rate_hz, wrench.stream.rate_hz
        self._motion = (
            stamps(motion),
            np.stack([motion[f"{joint}.position"] for joint in robot.joints], axis=1),
        )
        self._wrench = stamps(wrench), wrench.si
        self._torque: tuple[Array, Array] | None = None
        if self.names.current is not None:
            current = recording.columns(self.names.current)
            amperes = np.stack([current[f"{joint}.current"] for joint in robot.joints], axis=1)
            self._torque = stamps(current), robot.torque_from_current(amperes)
        self.signals = self._signals(recording)
        self._note = recording.metadata.get(HAND_NOTE)
        starts = [event.t_ns for event in recording.events[:1]]
        starts += [int(columns.host_ns[0]) for columns in (motion, wrench)]
        self.origin = min(starts) * 1e-9

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

    def samples(self, delay_s: float, end: float = np.inf, *, torque_delay_s: float = 0.0) -> Samples:
        """All samples up to `end` [s], aligned by the delays of wrench and torque."""
        aligner = Aligner(self.robot, self.rate_hz, delay_s=delay_s)
        aligner.motion(*_until(end, *self._motion))
        aligner.wrench(*_until(end, *self._wrench))
        if self._torque is not None:
            time, torque = _until(end, *self._torque)
            aligner.torque(time - torque_delay_s, torque)
        samples = aligner.ready()
        if samples is None:
            raise DataError(f"{self.path}: {self.names.position} and {self.names.wrench} share no time")
        return samples

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
        return fit_hand(lambda delay: self.samples(delay, end + 2 * MARGIN_S).between(-np.inf, end), gravity)


def hand_of(path: Path, robot: Robot | None = None, *, find_gravity: bool = False) -> Hand:
    """The bare hand, from a recording in which it moves and holds nothing (until the first pick-up)."""
    hand = _Source(path, robot or robot_of(path)).hand(find_gravity=find_gravity)
    if hand is None:
        raise DataError(
            f"{path}: its motion with a bare hand does not tell the hand's mass; turn the wrist about all axes"
        )
    return hand


def weigh_recording(
    path: Path,
    *,
    robot: Robot | None = None,
    bare: Path | None = None,
    arm: ArmModel | None = None,
    prior: ObjectPrior | None = None,
    library: Sequence[ObjectConfig] = (),
    delay_s: float | None = None,
    find_gravity: bool = False,
) -> Weighed:
    """Find and weigh every pick-up.

    robot    None: the one inside the recording
    bare     a recording of the bare hand; None: what this one shows before the first pick-up
    arm      parameters of the arm, to weigh by joint torques too
    prior    what is known of the objects
    library  objects to recognise
    delay_s  of the wrench [s], where the bare hand does not tell it
    find_gravity   its direction, from the motion of the bare hand, rather than as the robot's file says
    """
    robot = robot or robot_of(path)
    source = _Source(path, robot)
    notes = []
    hand = (
        source.hand(find_gravity=find_gravity)
        if bare is None
        else hand_of(bare, robot, find_gravity=find_gravity)
    )
    gravity = robot.gravity if hand is None or hand.gravity is None else hand.gravity
    if hand is None:
        notes.append(
            "the bare hand does not move enough before the first pick-up to know its own inertia; "
            "move it, or give a recording in which it does (--bare)"
        )
    samples = source.samples(
        (delay_s or 0.0) if hand is None else hand.delay_s,
        torque_delay_s=0.0 if arm is None else arm.delays.get(source.names.current or "", 0.0),
    )
    sensor = sensor_of(samples.wrench[:2000])
    sensor = replace(sensor, delay_std=1e-3) if delay_s is None else sensor
    wrist = WristScale(hand, gravity, sensor=sensor, rate_hz=source.wrench_hz)
    pickups = source.follow(PickupFollower(wrist, prior=prior), samples)
    by_torque: dict[int, PayloadEstimate] = {}
    if arm is not None:
        joints = JointScale(robot, arm, rate_hz=source.wrench_hz)
        by_torque = _by_torque(pickups, source.follow(PickupFollower(joints, prior=prior), samples), robot)
    real = [p for p in pickups if p.end is not End.NOTHING]
    if not real:
        notes.append("nothing was picked up: the gripper never held a weight")
    return Weighed(
        pickups,
        hand,
        by_torque,
        tuple(notes),
        Reporter(sensor_in_flange(robot), origin=source.origin, library=library),
    )


def _by_torque(
    pickups: Sequence[Pickup], weighed: Sequence[Pickup], robot: Robot
) -> dict[int, PayloadEstimate]:
    """What joints say of the same pick-ups, by number, in the flange's frame."""
    place = link_in_flange(robot)
    latest = {pickup.t_signal: pickup.latest for pickup in weighed}
    found = {pickup.number: latest.get(pickup.t_signal) for pickup in pickups}
    return {
        number: one.estimate.in_frame("flange", *place) for number, one in found.items() if one is not None
    }


def _until(end: float, time: Array, values: Array) -> tuple[Array, Array]:
    count = int(np.searchsorted(time, end))
    return time[:count], values[:count]
