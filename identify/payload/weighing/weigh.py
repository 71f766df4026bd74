"""A load from the joint torques of a whole motion: the bare arm's result and data of the loaded one in, the load out.

Unknown beside the load, each with what is known of it beforehand, and all of it part of the load's intervals:

    gains        of the drives (`loaded_rows`), by their spread and by what the bare arm's data said of them
    arm          base parameters, by their covariance
    friction     what viscous and dry friction have changed by since
    offsets      of the torques, and their delay: this recording's own
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.drive_gain import gain_covariance, gain_spreads
from heft.identify.data import Dataset
from heft.identify.errors import ParameterError
from heft.identify.payload.estimation.batch import ChannelRows, FittedRows, fit_rows
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.unknowns import DirectRows
from heft.identify.payload.kinematics.robot_frames import link_in_flange
from heft.identify.payload.weighing.loaded_rows import LoadedRows
from heft.identify.robot.base import base_parameters

if TYPE_CHECKING:
    from heft.identify.result import Result

__all__ = ["Disturbances", "weigh"]


@dataclass(frozen=True)
class DriftRules:
    """What may have changed since the bare arm was identified. Chosen: data that move tell it better.

    friction  of viscous and dry friction: as much as grease between a cold and a warm joint
    offset    of a torque's offset, of dry friction; and at least `torque` of the joint's rms torque
    """

    friction: float = 0.5
    offset: float = 1.0
    torque: float = 0.02


DRIFT = DriftRules()
ROUNDS, SETTLED = 8, 1e-5  # of the linearisation about gains and load: gains that are 30 % off take five


def weigh(
    result: Result,
    data: Dataset | Sequence[Dataset],
    gain_spread: ArrayLike | None = None,
    *,
    prior: ObjectPrior | None = None,
) -> PayloadEstimate:
    """What the arm carries, in the flange's frame, or in the last link's where the robot has no flange.

    result       of the bare arm, identified from the same drives
    data         of the arm with the load, moving; several are taken together
    gain_spread  relative standard deviation of the drives' torque scales, for all joints or for each (n,)
                 (`bodies.drive_gain`); None: as the robot's file has it
    prior        what is known of the object, in the last link's frame
    """
    robot, n = result.robot, len(result.robot.joints)
    spreads = robot.gain_spreads if gain_spread is None else gain_spreads(gain_spread, n)
    rows = LoadedRows.of(result, [data] if isinstance(data, Dataset) else list(data))
    disturbances = Disturbances.of(result, rows, gain_covariance(spreads))
    ten, x = np.zeros(10), np.zeros(n)
    for _ in range(ROUNDS):
        fitted = _fitted(result, rows, disturbances, x, ten, prior or ObjectPrior())
        before, ten, x = ten, fitted.estimate.ten, fitted.disturbances[n : 2 * n]
        if abs(ten[0] - before[0]) <= SETTLED * ten[0]:
            break
    estimate = _with_gains(fitted, n)
    if not spreads.any():
        estimate = replace(estimate, warnings=(*estimate.warnings, _EXACT))
    return estimate if robot.flange is None else estimate.in_frame("flange", *link_in_flange(robot))


_EXACT = (
    "the drives' gains are taken for exact: a torque constant that is 5 % off is a mass that is 5 % off, which this interval "
    "does not show; state a spread (--gain-spread 0.1, or `prior_spread.gain` in the robot's file), or calibrate the gains"
)


@dataclass(frozen=True, eq=False)
class Disturbances:
    """Of loaded rows: log gains = centre + root x with x standard normal (n,), and columns of all others.

    centre, root  of the log gains, shapes (n,) and (n, n)
    others        columns of arm, friction and delay, each times a standard normal number, shape (T, n, k)
    offset_std    of each joint's offset [N m, N], shape (n,)
    """

    centre: Array
    root: Array
    others: Array
    offset_std: Array

    @classmethod
    def of(cls, result: Result, rows: LoadedRows, covariance: Array) -> Disturbances:
        """`covariance` (n, n) of the log gains before any data."""
        centre = np.zeros(len(covariance))
        if result.gains is not None:
            centre, covariance = result.gains.posterior(covariance)
        arm = rows.base @ _root(_arm_covariance(result))
        delay = rows.delay_std * rows.rate[:, :, None]
        dry = np.array([_value(result, joint, "coulomb") for joint in result.robot.joints])
        rms = np.sqrt(np.mean(rows.torque**2, axis=0))
        offset = np.maximum(DRIFT.offset * dry, np.maximum(DRIFT.torque * rms, np.finfo(float).tiny))
        return cls(centre, _root(covariance), np.concatenate([arm, delay], axis=2), offset)


def _fitted(
    result: Result, rows: LoadedRows, known: Disturbances, x: Array, ten: Array, prior: ObjectPrior
) -> FittedRows:
    """The load, linearised about log gains centre + root x and a load `ten`; disturbances begin with offsets and x."""
    logs = known.centre + known.root @ x
    arm, slopes = rows.by_gain(result.gains, logs, ten)
    by_x = slopes @ known.root
    channels = ChannelRows(
        "torque",
        DirectRows(),
        rows.load / np.exp(logs)[:, None],
        rows.torque - arm + by_x @ x,
        bias_std=known.offset_std,
        nuisance=np.concatenate([by_x, known.others], axis=2),
        keep=rows.keep,
    )
    unused = np.zeros(3)  # gravity is within the rows
    return fit_rows([channels], result.robot.links[-1], [unused], prior)


def _with_gains(fitted: FittedRows, n: int) -> PayloadEstimate:
    """The estimate with the part of its covariance that it has from the gains: what they explain of it."""
    together = fitted.with_load[:, n : 2 * n]
    own = fitted.covariance[n : 2 * n, n : 2 * n]
    part = together @ np.linalg.lstsq(own, together.T, rcond=1e-12)[0]
    return replace(fitted.estimate, gain_covariance=frozen((part + part.T) / 2))


def _arm_covariance(result: Result) -> Array:
    """Of the base parameters at given gains, with what friction may have changed by, shape (n_base, n_base)."""
    base, names = base_parameters(result.robot), result.robot.parameter_names
    if base.names != result.base.names:
        raise ParameterError("base parameters of another version of this robot; identify the bare arm anew")
    covariance = result.base.covariance.copy()
    unknown = ~np.isfinite(np.diag(covariance))
    covariance[unknown, :] = covariance[:, unknown] = 0.0
    if result.gains is not None:
        moved = result.gains.sensitivity
        covariance -= moved @ result.gains.covariance @ moved.T
    for i, parameter in enumerate(base.independent):
        of, _, term = names[parameter].rpartition(".")
        if of not in result.robot.links and term not in ("offset", "drive_inertia"):
            covariance[i, i] += (DRIFT.friction * result.parameters.values[parameter]) ** 2
    covariance[unknown, unknown] = _VAGUE**2 * np.maximum(result.base.values[unknown] ** 2, 1.0)
    return covariance


_VAGUE = 10.0  # times itself: of what the bare motion did not tell


def _value(result: Result, joint: str, term: str) -> float:
    name = f"{joint}.{term}"
    names = result.robot.parameter_names
    return abs(float(result.parameters.values[names.index(name)])) if name in names else 0.0


def _root(covariance: Array) -> Array:
    """R with R R' = covariance, which may be singular; in units in which its diagonal is one."""
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(std > 0, std, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))
