"""What disturbs the torques of a loaded arm, beside the load: each with what is known of it beforehand.

gains        of the drives (`loaded_rows`), by their spread and by what the bare arm's data said of them
arm          base parameters, by their covariance
friction     what viscous and dry friction have changed by since
offsets      of the torques, drifts of sensors, and the torques' delay: this recording's own
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import SENSOR_TERMS
from heft.identify.errors import ParameterError
from heft.identify.payload.estimation.batch import ChannelRows
from heft.identify.payload.estimation.unknowns import DirectRows
from heft.identify.payload.weighing.loaded_rows import LoadedRows
from heft.identify.robot.base import base_parameters

if TYPE_CHECKING:
    from heft.identify.result import Result

__all__ = ["Disturbances"]


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
_VAGUE = 10.0  # times itself: of what the bare motion did not tell


@dataclass(frozen=True, eq=False)
class Disturbances:
    """Of loaded rows: log gains = centre + root x with x standard normal (n,), and columns of all others.

    centre, root  of the log gains, shapes (n,) and (n, n)
    others        columns of arm, friction and delay, each times a standard normal number, shape (T, n, k)
    offset_std    of each joint's offset [N m, N], shape (n,); of several datasets, that which they have in common
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
        measured = np.flatnonzero(result.robot.measured_rows)
        dry = np.array([_value(result, result.robot.rows[row], "coulomb") for row in measured])
        rms = np.sqrt(np.mean(rows.torque**2, axis=0))
        offset = np.maximum(DRIFT.offset * dry, np.maximum(DRIFT.torque * rms, np.finfo(float).tiny))
        changed = _own_columns(result, rows, offset)
        columns = [rows.base @ _root(_arm_covariance(result))]
        for number, delay_std in enumerate(rows.delay_std):
            own = np.concatenate([changed, delay_std * rows.rate[:, :, None]], axis=2)
            columns.append(own * (rows.dataset == number)[:, None, None])
        return cls(centre, _root(covariance), np.concatenate(columns, axis=2), offset)

    def logs(self, x: Array) -> Array:
        """Log gains (n,)."""
        return np.asarray(self.centre + self.root @ x)

    def channels(self, result: Result, rows: LoadedRows, x: Array, ten: Array) -> ChannelRows:
        """Torques linearised about gains `x` and a load `ten`; disturbances begin with offsets (n,) and x (n,)."""
        logs = self.logs(x)
        arm, slopes = rows.by_gain(result.gains, logs, ten)
        by_x = slopes @ self.root
        return ChannelRows(
            "torque",
            DirectRows(),
            rows.load / np.exp(logs)[:, None],
            rows.torque - arm + by_x @ x,
            bias_std=self.offset_std,
            nuisance=np.concatenate([by_x, self.others], axis=2),
            keep=rows.keep,
        )


def _own_columns(result: Result, rows: LoadedRows, offset: Array) -> Array:
    """Columns of what may be another in each dataset: friction, drifts, and the offsets of several, shape (T, n, k).

    A drift changes no row by more than its offset may be.
    """
    robot, columns = result.robot, []
    for i, parameter in enumerate(base_parameters(robot).independent):
        of, _, term = robot.parameter_names[parameter].rpartition(".")
        if term in SENSOR_TERMS:
            rms = np.sqrt(np.mean(rows.base[:, :, i] ** 2, axis=0))
            columns.append(rows.base[:, :, i] * (offset[rms > 0] / rms[rms > 0]).min(initial=np.inf))
        elif of not in robot.links and term not in ("offset", "drive_inertia"):
            columns.append(DRIFT.friction * result.parameters.values[parameter] * rows.base[:, :, i])
    if len(rows.delay_std) > 1:
        columns += [offset * one * np.ones_like(rows.arm) for one in np.eye(len(offset))]
    return np.stack(columns, axis=2) if columns else np.zeros((*rows.arm.shape, 0))


def _arm_covariance(result: Result) -> Array:
    """Of the base parameters at given gains, shape (n_base, n_base)."""
    if base_parameters(result.robot).names != result.base.names:
        raise ParameterError("base parameters of another version of this robot; identify the bare arm anew")
    covariance = result.base.covariance.copy()
    unknown = ~np.isfinite(np.diag(covariance))
    covariance[unknown, :] = covariance[:, unknown] = 0.0
    if result.gains is not None:
        covariance = result.gains.conditioned(covariance)
    covariance[unknown, unknown] = _VAGUE**2 * np.maximum(result.base.values[unknown] ** 2, 1.0)
    return covariance


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
