"""A load in the frames that people ask for: sensor, flange, and its own; principal moments and axes (004, Eq. 10, 11).

The object's own frame has its origin in the centre of mass and its axes along the principal axes, the one with the
largest moment first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from identify.arrays import Array, frozen
from identify.payload.estimate import PayloadEstimate

__all__ = ["PayloadFrames", "PrincipalInertia", "as_json", "in_frames", "principal_inertia"]

_LOOSE_ANGLE = np.radians(10.0)  # an axis that may be turned by more than this points nowhere in particular
_ALIKE = 0.02  # of the larger moment: a scratch or a label turns the axes


@dataclass(frozen=True)
class PrincipalInertia:
    """Principal moments about the centre of mass [kg m2], largest first, shape (3,), and their axes, columns (3, 3).

    `std` (3,) of the moments; `covariance` (4, 4) of mass and moments; `angle_std` [rad] (3,): how far the axes may
    be turned about each of them; `measured` (3,): whether the data tell the moment; `warnings` where two moments are
    too alike for their axes to mean anything.
    """

    moments: Array
    axes: Array
    std: Array
    covariance: Array
    angle_std: Array
    measured: tuple[bool, bool, bool]
    warnings: tuple[str, ...]

    @property
    def axes_defined(self) -> tuple[bool, bool, bool]:
        """For each axis whether its direction means something: neither turn about the other two is loose."""
        loose = [self._loose(k) for k in range(3)]
        return (not (loose[1] or loose[2]), not (loose[0] or loose[2]), not (loose[0] or loose[1]))

    def _loose(self, k: int) -> bool:
        i, j = (k + 1) % 3, (k + 2) % 3
        alike = abs(self.moments[i] - self.moments[j]) < _ALIKE * max(self.moments[i], self.moments[j])
        return bool(alike or not self.angle_std[k] < _LOOSE_ANGLE)


def principal_inertia(estimate: PayloadEstimate) -> PrincipalInertia:
    """Diagonalise the inertia about the centre of mass (004, Eq. 11), and say what of it means something."""
    # Second moments are listed in no order; the largest moment of inertia belongs to the smallest of them.
    order = np.argsort(estimate.body.moments)
    second = estimate.body.moments[order]
    axes = estimate.body.axes[:, order]
    axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
    moments = second.sum() - second
    variance, prior = estimate.moment_variances(axes)
    measured = estimate.scale.measured("inertia", np.diag(variance), np.diag(prior))
    told = measured | ("inertia" in estimate.scale.given)
    angles = np.empty(3)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        apart = abs(moments[i] - moments[j])
        angles[k] = min(np.sqrt(variance[i, j]) / apart, np.pi / 2) if apart > 0 else np.pi / 2
    result = PrincipalInertia(
        frozen(moments),
        frozen(axes),
        frozen(np.where(told, np.sqrt(np.diag(variance)), np.inf)),
        frozen(estimate.mass_moment_covariance(axes)),
        frozen(angles),
        (bool(measured[0]), bool(measured[1]), bool(measured[2])),
        (),
    )
    return PrincipalInertia(**{**vars(result), "warnings": _warnings(result)})


def _warnings(principal: PrincipalInertia) -> tuple[str, ...]:
    lines = []
    if not all(principal.measured):
        which = ", ".join(str(k + 1) for k in range(3) if not principal.measured[k])
        lines.append(
            f"principal moments {which} and their axes: the motion does not tell; turn the wrist faster about more axes"
        )
    for k in range(3):
        i, j = sorted(((k + 1) % 3, (k + 2) % 3))
        if principal._loose(k) and principal.measured[i] and principal.measured[j]:
            lines.append(
                f"principal axes {i + 1} and {j + 1}: their moments are too alike ({principal.moments[i]:.3g} and "
                f"{principal.moments[j]:.3g} kg m2; the axes may be turned by {np.degrees(principal.angle_std[k]):.0f} "
                "deg); do not use their directions"
            )
    return tuple(lines)


@dataclass(frozen=True)
class PayloadFrames:
    """One estimate in the sensor's, the flange's and the object's own frame, with its principal moments."""

    sensor: PayloadEstimate
    flange: PayloadEstimate
    object: PayloadEstimate
    principal: PrincipalInertia


def in_frames(
    estimate: PayloadEstimate, rotation_sensor_to_flange: ArrayLike, position_sensor_in_flange: ArrayLike
) -> PayloadFrames:
    """The estimate of a wrist sensor in all frames; principal axes are given in the flange's."""
    flange = estimate.in_frame("flange", rotation_sensor_to_flange, position_sensor_in_flange)
    principal = principal_inertia(flange)
    own = flange.in_frame("object", principal.axes.T, -principal.axes.T @ flange.com)
    return PayloadFrames(estimate, flange, own, principal)


def as_json(estimate: PayloadEstimate) -> dict[str, Any]:
    """Values, standard deviations and marks, ready for JSON; what is not known (infinite) is null."""
    std = estimate.std
    return {
        "frame": estimate.frame,
        "mass": estimate.mass,
        "com": estimate.com.tolist(),
        "inertia": estimate.inertia.tolist(),
        "bias": estimate.bias.tolist(),
        "gravity": estimate.gravity.tolist(),
        "std": {
            "mass": _finite(std.mass),
            "com": [_finite(value) for value in std.com],
            "inertia": [[_finite(value) for value in row] for row in std.inertia],
            "bias": [_finite(value) for value in std.bias],
        },
        "marks": dict(estimate.marks),
        "prior_dominated": list(estimate.prior_dominated),
        "empty": estimate.empty,
        "samples": estimate.samples,
        "time": estimate.time,
        "warnings": list(estimate.warnings),
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
