"""A load in the sensor's and in the flange's frame, and its principal moments and axes (004, Eq. 10, 11)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.payload.estimation.estimate import PayloadEstimate

__all__ = ["PayloadFrames", "PrincipalInertia", "in_frames", "principal_inertia"]


@dataclass(frozen=True)
class _AxisRules:
    """Which principal axes mean something. Chosen, not tuned.

    loose  [rad]: an axis that may be turned by more than this points nowhere in particular
    alike  difference of two moments, of the larger: a scratch or a label turns their axes
    """

    loose: float = float(np.radians(10.0))
    alike: float = 0.02


_AXES = _AxisRules()


@dataclass(frozen=True)
class PrincipalInertia:
    """Principal moments about the centre of mass [kg m2], largest first, shape (3,), and their axes, columns (3, 3).

    `std` (3,) of the moments; `covariance` (4, 4) of mass and moments; `angle_std` [rad] (3,): how far the axes may
    be turned about each of them, and `angle_covariance` [rad2] (3, 3) of these turns; `measured` (3,): whether the
    data tell the moment; `warnings` where two moments are too alike for their axes to mean anything.
    """

    moments: Array
    axes: Array
    std: Array
    covariance: Array
    angle_std: Array
    angle_covariance: Array
    measured: tuple[bool, bool, bool]
    warnings: tuple[str, ...]

    @property
    def axes_defined(self) -> tuple[bool, bool, bool]:
        """For each axis whether its direction means something: neither turn about the other two is loose."""
        loose = [self.loose(k) for k in range(3)]
        return (not (loose[1] or loose[2]), not (loose[0] or loose[2]), not (loose[0] or loose[1]))

    def loose(self, k: int) -> bool:
        """Whether a turn about axis k means nothing."""
        i, j = (k + 1) % 3, (k + 2) % 3
        alike = abs(self.moments[i] - self.moments[j]) < _AXES.alike * max(self.moments[i], self.moments[j])
        return bool(alike or not self.angle_std[k] < _AXES.loose)


def principal_inertia(estimate: PayloadEstimate) -> PrincipalInertia:
    """Diagonalise the inertia about the centre of mass (004, Eq. 11), and say what of it means something."""
    # Second moments are listed in no order; the largest moment of inertia belongs to the smallest of them.
    order = np.argsort(estimate.body.moments)
    second = estimate.body.moments[order]
    axes = estimate.body.axes[:, order]
    axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
    moments = second.sum() - second
    variance, prior = estimate.moment_variances(axes)
    by_motion, _ = estimate.moment_variances(axes, estimate.motion_covariance)
    measured = estimate.scale.measured("inertia", np.diag(by_motion), np.diag(prior))
    known = measured | ("inertia" in estimate.scale.given)
    turns = estimate.turn_covariance(axes, moments)
    result = PrincipalInertia(
        frozen(moments),
        frozen(axes),
        frozen(np.where(known, np.sqrt(np.diag(variance)), np.inf)),
        frozen(estimate.mass_moment_covariance(axes)),
        frozen(np.minimum(np.sqrt(np.diag(turns)), np.pi / 2)),
        frozen(turns),
        (bool(measured[0]), bool(measured[1]), bool(measured[2])),
        (),
    )
    return replace(result, warnings=_warnings(result))


def _warnings(principal: PrincipalInertia) -> tuple[str, ...]:
    lines = []
    if not all(principal.measured):
        which = ", ".join(str(k + 1) for k in range(3) if not principal.measured[k])
        lines.append(
            f"principal moments {which} and their axes: the motion does not tell; turn the wrist faster about more axes"
        )
    for k in range(3):
        i, j = sorted(((k + 1) % 3, (k + 2) % 3))
        if principal.loose(k) and principal.measured[i] and principal.measured[j]:
            lines.append(
                f"principal axes {i + 1} and {j + 1}: their moments are too alike ({principal.moments[i]:.3g} and "
                f"{principal.moments[j]:.3g} kg m2; the axes may be turned by {np.degrees(principal.angle_std[k]):.0f} "
                "deg); do not use their directions"
            )
    return tuple(lines)


@dataclass(frozen=True)
class PayloadFrames:
    """One estimate in the sensor's and in the flange's frame, with its principal moments and axes in the latter."""

    sensor: PayloadEstimate
    flange: PayloadEstimate
    principal: PrincipalInertia


def in_frames(
    estimate: PayloadEstimate, rotation_sensor_to_flange: ArrayLike, position_sensor_in_flange: ArrayLike
) -> PayloadFrames:
    """The estimate of a wrist sensor in both frames."""
    flange = estimate.in_frame("flange", rotation_sensor_to_flange, position_sensor_in_flange)
    return PayloadFrames(estimate, flange, principal_inertia(flange))
