"""Gains of the drives by a load that was weighed on a scale: two recordings, one bare and one with it on the flange.

The torques of a known load say what none of the arm's own data do: the scale that all drives have in common. Its
mass, its centre of mass and its inertia are known as well as `KnownLoad` says, and what is not is part of the gains'
intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.drive_gain import gain_covariance, gain_spreads
from heft.identify.bodies.mass_distribution import MassDistribution
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia
from heft.identify.certainty.interval import Interval
from heft.identify.data import Dataset
from heft.identify.errors import DataError, ParameterError
from heft.identify.payload.estimation.batch import disturbances_beside
from heft.identify.payload.estimation.inputs import series
from heft.identify.payload.estimation.object_prior import PLAUSIBLE, ObjectPrior
from heft.identify.payload.kinematics.robot_frames import flange_on_last_link
from heft.identify.payload.weighing.disturbances import Disturbances
from heft.identify.payload.weighing.loaded_rows import LoadedRows
from heft.identify.robot import Robot

if TYPE_CHECKING:
    from heft.identify.result import Result

__all__ = ["GainCalibration", "KnownLoad", "calibrate_gains"]

UNSTATED = 0.2  # spread of gains where the robot's file says that they are exact: nobody calibrates those
LOOSE = 0.05  # relative standard deviation of a gain that the load did not tell
ROUNDS, SETTLED = 12, 0.02  # of the linearisation; of a standard deviation


@dataclass(frozen=True)
class KnownLoad:
    """A weighed load: mass [kg], centre of mass [m] (3,), inertia about it [kg m2] (3, 3), in the flange's frame (the
    last link's, where the robot has no flange); None: not known.

    `mass_std` [kg] of the scale, None: a thousandth; `com_std` [m] of the place, by a ruler.
    """

    mass: float
    com: ArrayLike
    inertia_com: ArrayLike | None = None
    mass_std: float | None = None
    com_std: float = 0.003

    def __post_init__(self) -> None:
        object.__setattr__(self, "com", frozen(series("com of the load", self.com, 3)))
        if not 0 < self.mass < np.inf:
            raise ParameterError(f"load: mass {self.mass:g} kg, must be above zero; give what the scale says")
        if self.inertia_com is not None:
            inertia = series("inertia of the load", self.inertia_com, 3, 3)
            moments = np.linalg.eigvalsh(inertia)
            if not np.allclose(inertia, inertia.T) or moments[0] <= 0 or moments[2] > moments[0] + moments[1]:
                raise ParameterError(
                    f"load: no body has the moments of inertia {moments.tolist()} kg m2; give them about its "
                    f"centre of mass"
                )
            object.__setattr__(self, "inertia_com", frozen(inertia))

    def on_last_link(self, robot: Robot) -> tuple[Array, Array]:
        """Ten numbers in the last link's frame, and what is unsure of them: columns (10, k), each times a standard
        normal number.
        """
        R, p = np.eye(3), np.zeros(3)
        if robot.flange is not None:
            _, pose = flange_on_last_link(robot)
            R, p = pose[:3, :3], pose[:3, 3]
        if self.inertia_com is None:  # a ball of plausible density, and moments that may be anything
            ball = float(ObjectPrior().gyration(self.mass)[0, 0])
            inertia, spread = 2 * self.mass * ball * np.eye(3), self.mass * (ball + PLAUSIBLE.gyration**2)
        else:
            inertia, spread = R @ np.asarray(self.inertia_com) @ R.T, 0.0
        ten = from_mass_com_inertia(self.mass, R @ np.asarray(self.com) + p, inertia)
        scale = 1e-3 * self.mass if self.mass_std is None else self.mass_std
        std = np.array([scale, *[self.com_std] * 3, *[spread] * 3, *[spread / np.sqrt(2)] * 3])
        return ten, MassDistribution.from_ten(ten).derivative_by_moments() * std


@dataclass(frozen=True)
class GainCalibration:
    """Gains (n,) that reported torques are to be multiplied by, those of the robot's file included.

    covariance   of their logarithms, shape (n, n)
    warnings     joints that the load did not tell, and what else is to be known
    """

    joints: tuple[str, ...]
    gains: Array
    covariance: Array
    warnings: tuple[str, ...] = ()

    @property
    def std(self) -> Array:
        """Relative standard deviations, shape (n,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def intervals(self) -> dict[str, Interval]:
        """95 % intervals of the gains, by joint."""
        pairs = zip(self.joints, self.gains.tolist(), (self.gains * self.std).tolist(), strict=True)
        return {joint: Interval.of(gain, std, positive=True) for joint, gain, std in pairs}

    @property
    def common(self) -> Interval:
        """Of the mean gain: what a payload's mass was off by."""
        n = len(self.joints)
        mean = float(np.exp(np.mean(np.log(self.gains))))
        return Interval.of(mean, mean * float(np.sqrt(self.covariance.sum())) / n, positive=True)


def calibrate_gains(
    result: Result,
    data: Dataset | Sequence[Dataset],
    load: KnownLoad,
    gain_spread: ArrayLike | None = None,
    *,
    refit: Callable[[Array], Result] | None = None,
) -> GainCalibration:
    """Gains of the drives.

    result       of the bare arm, identified from the same drives with the robot as it is
    data         of the arm with the load, moving
    gain_spread  relative standard deviation of the gains beforehand; None: as the robot's file has it, or 0.2
    refit        identifies the bare arm anew, from torques times factors (n,): gains that differ between joints leave
    their
                 mark on the first answer, and a second pass halves what is left; None: one pass
    """
    robot, n = result.robot, len(result.robot.joints)
    stated = robot.gain_spreads if gain_spread is None else gain_spreads(gain_spread, n)
    spreads = stated if stated.any() else np.full(n, UNSTATED)
    datasets = [data] if isinstance(data, Dataset) else list(data)
    factors, covariance = _pass(result, datasets, load, spreads, np.ones(n))
    if refit is not None:
        more, covariance = _pass(refit(factors), datasets, load, spreads, factors)
        factors = factors * more
    found = GainCalibration(robot.joints, frozen(robot.gain * factors), frozen(covariance))
    return replace(found, warnings=tuple(_warnings(found, np.log(factors), spreads)))


def _pass(
    result: Result, datasets: Sequence[Dataset], load: KnownLoad, spreads: Array, factors: Array
) -> tuple[Array, Array]:
    """Gains (n,) of torques that are `factors` times the given ones, and the covariance of their logarithms (n, n)."""
    n, unmeasured = len(spreads), result.robot.unmeasured
    if unmeasured:
        raise DataError(
            f"the bare arm was identified without the torque of {', '.join(unmeasured)}: its gain cannot be found; "
            "correct `torque_constant` or `gear` there by what the verdict says, and identify anew"
        )
    rows = LoadedRows.of(result, datasets).scaled(factors)
    known = Disturbances.of(result, rows, gain_covariance(spreads))
    ten, unsure = load.on_last_link(result.robot)
    known = replace(known, others=np.concatenate([known.others, rows.load @ unsure], axis=2))
    x = np.zeros(n)
    for _ in range(ROUNDS):
        values, covariance = disturbances_beside(known.channels(result, rows, x, ten), ten)
        before, x = x, values[n : 2 * n]
        spread = known.root @ covariance[n : 2 * n, n : 2 * n] @ known.root.T
        if np.all(np.abs(known.root @ (x - before)) < SETTLED * np.sqrt(np.diag(spread))):
            return np.exp(known.logs(x)), spread
    raise DataError("the gains do not settle: is the load the one that was weighed, and is the arm the same?")


def _warnings(found: GainCalibration, logs: Array, spreads: Array) -> list[str]:
    lines = []
    loose = [joint for joint, std in zip(found.joints, found.std, strict=True) if std > LOOSE]
    if loose:
        lines.append(
            f"gains of {', '.join(loose)} are known to {found.std.max():.0%} only: take a heavier load, further "
            f"from their "
            "axes, and move these joints more"
        )
    far = [joint for joint, log, std in zip(found.joints, logs, spreads, strict=True) if abs(log) > 3 * std]
    if far:
        lines.append(
            f"gains of {', '.join(far)} are off by more than three times the spread: check torque constant, "
            f"gear and unit "
            "in the robot's file before you believe a calibration"
        )
    return lines
