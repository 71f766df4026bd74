"""Checks: what a trajectory must pass before anything moves.

A check is anything that takes a Trajectory and raises CheckError; a long motion is handed to it piece by piece. Here
are those that need only the joints' limits; torque and collision need a model and are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import CheckError, Violation
from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.trajectory import Motion, Trajectory

__all__ = ["Check", "check_motion", "limit_checks", "run_checks"]

Check = Callable[[Trajectory], None]


def limit_checks(limits: Limits) -> list[Check]:
    """The checks of position, velocity, acceleration and rate, and of the stop from every sample."""

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

    def stop(trajectory: Trajectory) -> None:
        """A stop may begin at any sample: what has not left the limits yet must not do so while it brakes."""
        _axes_match(trajectory, limits)
        end = limits.at_rest_from(trajectory.position, trajectory.velocity)
        inside = (trajectory.position <= limits.upper) & (trajectory.position >= limits.lower)
        above, below = end - limits.upper, limits.lower - end
        bound = np.where(above > below, limits.upper, limits.lower)
        excess = np.where(inside, np.maximum(above, below) - LARGEST_JUMP, 0.0)
        _report(trajectory, "stop", "rad", excess, end, bound)

    def rate(trajectory: Trajectory) -> None:
        """Between two setpoints a drive goes on with the last one's velocity and acceleration, and misses the next one
        by jerk dt^3 / 6."""
        _axes_match(trajectory, limits)
        jump = np.zeros_like(trajectory.position)
        jump[1:] = np.abs(np.diff(trajectory.acceleration, axis=0)) / (6.0 * trajectory.rate_hz**2)
        worst = float(jump.max())
        if worst > LARGEST_JUMP:
            i, k = np.unravel_index(int(np.argmax(jump)), jump.shape)
            enough_hz = trajectory.rate_hz * (worst / LARGEST_JUMP) ** (1.0 / 3.0)
            time_s = float(trajectory.time_s[i])
            raise CheckError(
                f"{trajectory.axes[k]}: {trajectory.rate_hz:g} setpoints per second are too few: from one to the "
                f"next the drive would leave the motion by {worst:.4g} rad at {time_s:.3f} s, bound {LARGEST_JUMP:g} "
                f"rad; set rate_hz to {enough_hz:.0f} or more, or slow the motion",
                [Violation(trajectory.axes[k], "rate", time_s, worst, LARGEST_JUMP)],
            )

    return [position, velocity, acceleration, stop, rate]


def run_checks(motion: Motion, checks: Iterable[Check]) -> None:
    """Run every check on every piece; raise one CheckError that tells of all that failed, where each is worst."""
    failures = [_Failure(check) for check in checks]
    for piece in motion.pieces():
        for failure in failures:
            failure.try_piece(piece)
    failed = [failure for failure in failures if failure.worst]
    if failed:
        found = [entry for failure in failed for entry in failure.worst.values()]
        raise CheckError("\n".join(line for line, _ in found), [v for _, v in found if v is not None])


def check_motion(motion: Motion, limits: Limits, checks: Iterable[Check] = ()) -> None:
    """All that a motion must pass before it is played: from rest to rest, inside the limits, and `checks`."""
    failed: list[CheckError] = []
    try:
        run_checks(motion, [*limit_checks(limits), *checks])
    except CheckError as exc:
        failed.append(exc)
    try:
        _check_rest(motion)
    except CheckError as exc:
        failed.append(exc)
    if failed:
        raise CheckError(
            "\n".join(str(exc) for exc in failed), [v for exc in failed for v in exc.violations]
        ) from failed[0]


def _check_rest(motion: Motion) -> None:
    for where, sample in (("begin", motion.start), ("end", motion.goal)):
        if not sample.stands:
            k = int(np.argmax(np.abs(sample.velocity[0]) + np.abs(sample.acceleration[0])))
            raise CheckError(
                f"{motion.axes[k]}: the motion does not {where} at rest: velocity "
                f"{sample.velocity[0, k]:.6g} rad/s, acceleration {sample.acceleration[0, k]:.6g} "
                "rad/s2, both must be 0; blend it in and out"
            )


@dataclass(slots=True)
class _Failure:
    """What a check has said so far: of each joint and quantity the line about the worst piece."""

    check: Check
    worst: dict[tuple[str, str], tuple[str, Violation | None]] = field(default_factory=dict)

    def try_piece(self, piece: Trajectory) -> None:
        try:
            self.check(piece)
        except CheckError as exc:
            lines = str(exc).splitlines()
            if len(lines) != len(exc.violations):
                self.worst.setdefault(("", str(exc)), (str(exc), None))
                return
            for line, violation in zip(lines, exc.violations, strict=True):
                key = violation.joint, violation.quantity
                _, before = self.worst.get(key, ("", None))
                if before is None or _excess(violation) > _excess(before):
                    self.worst[key] = line, violation


def _excess(violation: Violation) -> float:
    return abs(violation.value - violation.bound)


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
            trajectory.axes[k], what, float(trajectory.time_s[i]), float(value[i, k]), float(bound[i, k])
        )
        violations.append(worst)
        lines.append(
            f"{worst.joint}: {_PHRASE.get(what, what)} {worst.value:.6g} {unit} at {worst.time_s:.3f} s, "
            f"bound {worst.bound:.6g} {unit}; {_REMEDY[what]}"
        )
    if lines:
        raise CheckError("\n".join(lines), violations)


#: Of the position, from one setpoint to the next [rad]: a fiftieth of a degree is what a drive smooths away.
LARGEST_JUMP = 3e-4

_PHRASE = {"stop": "a stop would end at"}
_REMEDY = {
    "position": "move the centre or reduce the amplitude of this joint",
    "velocity": "reduce its amplitude or take a longer period",
    "acceleration": "reduce its amplitude, take a longer period or a longer blend",
    "stop": "move slower near the limit, reduce the amplitude, or let the drives brake harder",
}
