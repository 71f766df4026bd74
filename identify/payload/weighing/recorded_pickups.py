"""Every pick-up of a recording: what `heft payload FILE.mcap` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from heft.daq.config.objects import ObjectConfig
from heft.daq.recording import Recording
from heft.identify.bodies.arrays import Array
from heft.identify.data.from_recording import datasets_of
from heft.identify.data.recorded_robot import robot_of
from heft.identify.errors import DataError
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.force_direction import sign_doubt
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.wrist_sensor import UNALIGNED_STD_S, WristSensor
from heft.identify.payload.kinematics.robot_frames import link_in_flange, sensor_in_flange
from heft.identify.payload.output.document import Reporter, WeighedBy
from heft.identify.payload.pickups.pickup import End, Estimated, Pickup
from heft.identify.payload.pickups.pickup_follower import PickupFollower
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.scales.wrist_scale import WristScale
from heft.identify.payload.weighing.recorded_streams import RecordedStreams
from heft.identify.payload.weighing.weigh import weigh
from heft.identify.robot import Robot

if TYPE_CHECKING:
    from heft.identify.result import Result

__all__ = ["Weighed", "hand_of", "weigh_all", "weigh_recording"]


@dataclass(frozen=True)
class Weighed:
    """All pick-ups of a recording, in the order of time."""

    pickups: tuple[Pickup, ...]
    hand: Hand | None
    notes: tuple[str, ...]
    reporter: Reporter

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values: `payloads`, `nothing` for grasps without a weight, `hand`, `notes`."""
        hand = self.hand
        documents = [self.reporter.document(p, hand) for p in self.pickups]
        return {
            "payloads": [facts for facts in documents if facts["t_pick"] is not None],
            "nothing": [facts for facts in documents if facts["t_pick"] is None],
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


def hand_of(recording: Recording, robot: Robot, *, find_gravity: bool = False) -> Hand:
    """The bare hand of a robot, from a recording in which it moves and holds nothing."""
    robot = robot_of(recording, robot)
    hand, _ = RecordedStreams(recording, robot).hand(find_gravity=find_gravity)
    if hand is None:
        raise DataError(
            f"{recording.path}: its motion with a bare hand does not tell the hand's mass; "
            "turn the wrist about all axes"
        )
    return hand


def weigh_recording(
    recording: Recording,
    *,
    robot: Robot | None = None,
    bare: Recording | None = None,
    arm: ArmModel | None = None,
    prior: ObjectPrior | None = None,
    library: Sequence[ObjectConfig] = (),
    delay_s: float | None = None,
    find_gravity: bool = False,
) -> Weighed:
    """Find and weigh every pick-up.

    robot    as `robot_of` gives it for this recording; None: the one inside
    bare     a recording of the bare hand; None: what this one shows of it, best before the first pick-up
    arm      parameters of the arm, to weigh by joint torques too, or by them alone where there is no wrist sensor
    prior    what is known of the objects
    library  objects to recognise
    delay_s  of the wrench [s], where the bare hand does not tell it
    find_gravity   its direction, from the motion of the bare hand, rather than as the robot's file says
    """
    robot = robot or robot_of(recording)
    source = RecordedStreams(recording, robot, by_joints=arm is not None)
    joints = None if arm is None else source.by_joints(arm, prior)
    if source.names.wrench is None:
        assert joints is not None  # or else there would be no scale
        pickups = joints.finish()
        reporter = Reporter(link_in_flange(robot), by="joint torques", origin=source.origin, library=library)
        return Weighed(pickups, None, tuple(_nothing(pickups)), reporter)
    notes = []
    if bare is None:
        hand, measured = source.hand(find_gravity=find_gravity)
    else:
        hand = hand_of(bare, robot, find_gravity=find_gravity)
        measured = hand.gravity
    gravity = robot.gravity if measured is None else measured
    if hand is None:
        notes.append(
            "the bare hand does not move enough to know its own inertia; "
            "move it before the first pick-up, or give a recording in which it does (--bare)"
        )
    if measured is None and find_gravity:
        notes.append(
            "gravity could not be found: the motion does not tell; it is taken as the robot's file says"
        )
    elif measured is not None and not find_gravity:
        notes.append(
            f"gravity pulls along {_rounded(measured)} m/s2 in the base's frame, as the wrist sensor shows it, but the "
            f"robot's file says {_rounded(robot.gravity)}: the arm is mounted otherwise. Weighed with what was found; "
            "correct `gravity` in the file"
        )
    samples = source.wrenches((delay_s or 0.0) if hand is None else hand.delay_s)
    doubt = sign_doubt(
        samples.wrist.rotation, samples.shown[:, :3], gravity, samples.wrist.linear_acceleration
    )
    notes += [] if doubt is None else [doubt]
    sensor = WristSensor.from_samples(
        samples.time[:2000], samples.shown[:2000], delay_std=UNALIGNED_STD_S if delay_s is None else None
    )
    wrist = WristScale(hand, gravity, sensor=sensor, rate_hz=source.rate_hz(source.names.wrench))
    pickups = source.follow(PickupFollower(wrist, prior=prior), samples)
    if joints is not None:
        for pickup in pickups:
            pickup.by_joints = joints.of(pickup)
    return Weighed(
        pickups,
        hand,
        (*notes, *_nothing(pickups)),
        Reporter(sensor_in_flange(robot), by="wrist sensor", origin=source.origin, library=library),
    )


def weigh_all(
    recording: Recording,
    result: Result,
    *,
    gain_spread: float | None = None,
    prior: ObjectPrior | None = None,
    library: Sequence[ObjectConfig] = (),
) -> Weighed:
    """The load that a robot carries throughout a recording, by joint torques or wrenches; see `weigh`."""
    data = datasets_of(recording, result.robot, None)
    estimate = weigh(result, data, gain_spread, prior=prior)
    start, end = float(data[0].t[0]), float(data[-1].t[-1])
    held = Pickup(1, start, "all", t_pick=start, t_first=end, t_end=end, end=End.UNFINISHED)
    held.latest = Estimated(end, estimate)
    reporter = Reporter(
        (np.eye(3), np.zeros(3)),
        by=_by(result.robot),
        origin=0.0,
        library=library if estimate.frame == "flange" else (),
        frame=estimate.frame,
    )
    return Weighed((held,), None, (), reporter)


def _by(robot: Robot) -> WeighedBy:
    """What weighs a load throughout a recording."""
    used = robot.sources or ("joints",)
    if "joints" not in used:
        return "wrenches"
    return "joint torques and wrenches" if len(used) > 1 else "joint torques"


def _nothing(pickups: Sequence[Pickup]) -> list[str]:
    if any(pickup.end is not End.NOTHING for pickup in pickups):
        return []
    return ["nothing was picked up: the gripper never held a weight"]


def _rounded(vector: Array) -> list[float]:
    return (np.round(vector, 2) + 0.0).tolist()
