"""Checks: what a trajectory must pass before anything moves.

A check is anything that takes a Trajectory and raises CheckError. Here are those that need only the joints'
limits; torque and collision need a model and are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import CheckError, Violation
from heft.daq.trajectory.trajectory import Trajectory

__all__ = ["Check", "Limits", "limit_checks", "run_checks"]

Check = Callable[[Trajectory], None]


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Bounds of n axes: position within `lower`, `upper` [rad], |velocity| [rad/s], |acceleration| [rad/s2].

    Each has shape (n,).
    """

    axes: tuple[str, ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]

    def __post_init__(self) -> None:
        for label in ("lower", "upper", "velocity", "acceleration"):
            array = np.array(getattr(self, label), dtype=np.float64)
            if array.shape != (len(self.axes),):
                raise ValueError(
                    f"{label} has shape {array.shape}, must have one value for each of {self.axes}"
                )
            array.setflags(write=False)
            object.__setattr__(self, label, array)
        for label, wrong in (
            ("upper position limit is not above the lower one", self.upper <= self.lower),
            ("velocity limit is not positive", ~(self.velocity > 0.0)),
            ("acceleration limit is not positive", ~(self.acceleration > 0.0)),
        ):
            if np.any(wrong):
                raise ValueError(
                    f"{self.axes[int(np.argmax(wrong))]}: the {label}; put it right in the robot's file"
                )


def limit_checks(limits: Limits) -> list[Check]:
    """The checks of position, velocity and acceleration, and that the motion begins and ends at rest."""

    def position(trajectory: Trajectory) -> None:
        _axes_match(trajectory, limits)
        q = trajectory.position
        above = np.where(q > limits.upper, q - limits.upper, 0.0)
        below = np.where(q < limits.lower, limits.lower - q, 0.0)
        bound = np.where(above > 0.0, limits.upper, limits.lower)
        _report(trajectory, "position", "rad", np.maximum(above, below), q, bound)

    def velocity(trajectory: Trajectory) -> None:
        _axes_match(trajectory, limits)
        _bounded(trajectory, "velocity", "rad/s", trajectory.velocity, trajectory.position, limits.velocity)

    def acceleration(trajectory: Trajectory) -> None:
        _axes_match(trajectory, limits)
        _bounded(
            trajectory,
            "acceleration",
            "rad/s2",
            trajectory.acceleration,
            trajectory.velocity,
            limits.acceleration,
        )

    return [position, velocity, acceleration, _rest]


def run_checks(trajectory: Trajectory, checks: Iterable[Check]) -> None:
    """Run every check; raise one CheckError that tells of all that failed."""
    failed: list[CheckError] = []
    for check in checks:
        try:
            check(trajectory)
        except CheckError as exc:
            failed.append(exc)
    if failed:
        raise CheckError(
            "\n".join(str(exc) for exc in failed), [v for exc in failed for v in exc.violations]
        ) from failed[0]


def _bounded(
    trajectory: Trajectory,
    what: str,
    unit: str,
    value: NDArray[np.float64],
    integral: NDArray[np.float64],
    bound: NDArray[np.float64],
) -> None:
    """|value| <= bound at every sample, and on average between any two: that is what a drive plays."""
    worst = value.copy()
    mean = np.diff(integral, axis=0) * trajectory.rate_hz
    # Rounding of the difference of two samples is not a violation.
    slack = 4.0 * np.finfo(float).eps * trajectory.rate_hz * np.max(np.abs(integral), axis=0)
    steep = np.abs(mean) > np.maximum(np.abs(value[1:]), bound + slack)
    worst[1:][steep] = mean[steep]
    _report(trajectory, what, unit, np.maximum(np.abs(worst) - bound, 0.0), worst, np.copysign(bound, worst))


def _rest(trajectory: Trajectory) -> None:
    ends = {"begin": (trajectory.begins_at_rest, 0), "end": (trajectory.ends_at_rest, -1)}
    for where, (ok, i) in ends.items():
        if not ok:
            k = int(np.argmax(np.abs(trajectory.velocity[i]) + np.abs(trajectory.acceleration[i])))
            raise CheckError(
                f"{trajectory.axes[k]}: the motion does not {where} at rest: velocity "
                f"{trajectory.velocity[i, k]:.6g} rad/s, acceleration {trajectory.acceleration[i, k]:.6g} "
                "rad/s2, both must be 0; blend it in and out"
            )


def _axes_match(trajectory: Trajectory, limits: Limits) -> None:
    if trajectory.axes != limits.axes:
        raise CheckError(
            f"the trajectory moves {', '.join(trajectory.axes)}, but the limits are for "
            f"{', '.join(limits.axes)}; make it for the robot's axes, in the robot's order"
        )


def _report(
    trajectory: Trajectory,
    what: str,
    unit: str,
    excess: NDArray[np.float64],
    value: NDArray[np.float64],
    bound: NDArray[np.float64],
) -> None:
    """Raise CheckError with the worst sample of each axis that is out of bounds; arrays (T, n)."""
    violations, lines = [], []
    for k in np.flatnonzero(excess.max(axis=0) > 0.0):
        i = int(np.argmax(excess[:, k]))
        worst = Violation(
            trajectory.axes[k], what, i / trajectory.rate_hz, float(value[i, k]), float(bound[i, k])
        )
        violations.append(worst)
        lines.append(
            f"{worst.joint}: {what} {worst.value:.6g} {unit} at {worst.time_s:.3f} s, "
            f"bound {worst.bound:.6g} {unit}; {_REMEDY[what]}"
        )
    if lines:
        raise CheckError("\n".join(lines), violations)


_REMEDY = {
    "position": "move the centre or reduce the amplitude of this joint",
    "velocity": "reduce its amplitude or take a longer period",
    "acceleration": "reduce its amplitude, take a longer period or a longer blend",
}
