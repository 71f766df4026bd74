"""The same loads from joint torques alone: what the arm's motors do beyond moving the arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from identify.arrays import Array
from identify.errors import ModelError
from identify.payload.align import Samples
from identify.payload.estimate import PayloadEstimate
from identify.payload.joint_torque import JointTorqueEstimator
from identify.payload.pickups import Pickup
from identify.robot import Robot

if TYPE_CHECKING:
    from identify.result import Result

__all__ = ["ArmModel", "weigh_by_torque"]

OFFSET_STD = 0.2  # of a joint's dry friction: what its offset may have moved by since it was identified
DRIFT = 0.005  # of the same, per square root of a second: a sixth of it while a drive warms up for a quarter of an hour
AFTER_S = 0.1  # around the pick-up and the release
DECIMATE = 5  # samples whose mean is one row: motion is slow, and the regressor is not free


@dataclass(frozen=True)
class ArmModel:
    """Parameters of the arm (p,) in the order of `robot.parameter_names`, and where they come from.

    `delays` [s], by stream: how late currents are against positions.
    """

    parameters: Array
    source: str
    delays: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Result, source: str) -> ArmModel:
        """As it was identified."""
        delays = {stream: delay.value_s for stream, delay in result.delays.items()}
        return cls(np.asarray(result.parameters.values), source, delays)

    @classmethod
    def of_file(cls, path: Path, robot: Robot) -> ArmModel:
        """As `result.json` of `heft identify` says."""
        import identify

        result = identify.load(path)
        if result.layout.names != robot.parameter_names:
            raise ModelError(
                f"{path}: parameters of {result.robot.name}, but the recording's robot is {robot.name} with others; "
                "give the result of the same robot"
            )
        return cls.of(result, str(path))


def weigh_by_torque(
    samples: Samples, pickups: Sequence[Pickup], robot: Robot, arm: ArmModel
) -> dict[int, PayloadEstimate]:
    """Loads by number of the pick-up, in the flange's frame, each from its own stretch and the bare one before it."""
    if robot.flange is None:
        raise ModelError(f"{robot.name}: its file names no `flange`; add it")
    link, flange = robot.frames[robot.flange]
    if link != robot.links[-1]:
        raise ModelError(f"{robot.name}: the flange is on {link}, not on the last link {robot.links[-1]}")
    found: dict[int, PayloadEstimate] = {}
    before: float | None = -np.inf
    residuals: list[Array] = []
    for pickup in pickups:
        if pickup.t_pick is None or pickup.t_end is None:
            continue
        if before is None:
            break  # what was held before was never let go
        bare = _thin(samples.between(before, pickup.t_pick - AFTER_S))
        held = _thin(samples.between(pickup.t_pick + AFTER_S, pickup.t_end - AFTER_S))
        before = None if pickup.t_bare is None else pickup.t_bare + AFTER_S
        if len(bare) < 20 or len(held) < 20:
            continue
        residuals.append(_residual(robot, arm, bare))
        estimator = _estimator(robot, np.concatenate(residuals), link)
        estimator.update(bare.time, *_rows(robot, arm, bare))
        estimator.grasped()
        estimator.update(held.time, *_rows(robot, arm, held))
        back = np.linalg.inv(flange)
        found[pickup.number] = estimator.estimate().in_frame("flange", back[:3, :3], back[:3, 3])
    return found


def _estimator(robot: Robot, residual: Array, link: str) -> JointTorqueEstimator:
    """Noise as the bare stretches so far show it; offsets that dry friction moves."""
    noise = np.maximum(residual.std(axis=0), 1e-4)
    coulomb = np.array([_coulomb(robot, joint) for joint in robot.joints])
    loose = np.maximum(OFFSET_STD * coulomb, noise)
    return JointTorqueEstimator(noise, np.maximum(DRIFT * coulomb, 1e-4), loose, frame=link)


def _coulomb(robot: Robot, joint: str) -> float:
    name = f"{joint}.coulomb"
    if robot.prior is None or name not in robot.parameter_names:
        return 0.1
    return float(robot.prior[robot.parameter_names.index(name)])


def _residual(robot: Robot, arm: ArmModel, part: Samples) -> Array:
    """Torque beyond the arm's own [N m], shape (T, n)."""
    return np.asarray(part.torque - robot.torque(part.q, part.dq, part.ddq, arm.parameters))


def _rows(robot: Robot, arm: ArmModel, part: Samples) -> tuple[Array, Array]:
    last = robot.links[-1]
    names = robot.parameter_names
    columns = [i for i, name in enumerate(names) if name.split(".")[0] == last]
    dense = robot.regressor.dense(part.q, part.dq, part.ddq)
    return dense.reshape(-1, len(names))[:, columns], _residual(robot, arm, part).ravel()


def _thin(part: Samples) -> Samples:
    """Means of a few samples each."""
    from dataclasses import fields, replace

    count = len(part) // DECIMATE * DECIMATE
    part = part.part(slice(0, count))
    means = {
        f.name: getattr(part, f.name).reshape(-1, DECIMATE, *getattr(part, f.name).shape[1:]).mean(axis=1)
        for f in fields(Samples)
        if f.name != "wrist"
    }
    return replace(part, wrist=part.wrist.part(slice(0, count, DECIMATE)), **means)
