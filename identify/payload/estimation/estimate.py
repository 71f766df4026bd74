"""What is known of a load: values, standard deviations, and what only the prior says.

The uncertainty is kept for y = (m, c, Sigma_c): mass [kg], centre of mass [m], second moments about it [kg m2]
(xx yy zz xy xz yz), which another frame merely turns. It is that of the unconstrained estimate: keeping to bodies
that can exist brings an estimate closer to the truth, so the intervals hold there too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.mass_distribution import ELEMENTS, UNITS, MassDistribution
from heft.identify.bodies.pseudo_inertia import INERTIA_ELEMENTS, inertia_about_frame
from heft.identify.certainty.interval import Interval
from heft.identify.errors import ParameterError
from heft.identify.payload.estimation.object_prior import PriorScale

__all__ = ["PayloadEstimate", "StandardDeviations"]

Mark = Literal["measured", "prior-dominated"]

_INDICES = {"mass": 0, "com": 1, "inertia": 2}  # of a quantity's elements
_INERTIAS = np.trace(UNITS, axis1=1, axis2=2)[:, None, None] * np.eye(3) - UNITS  # of unit second moments


@dataclass(frozen=True)
class StandardDeviations:
    """Standard deviations: mass [kg], com [m] (3,), inertia [kg m2] (3, 3), bias (n,), gravity [m/s2] (3,), delay [s].

    Infinite where the data do not tell and no prior was given; zero where a value was assumed.
    """

    mass: float
    com: Array
    inertia: Array
    bias: Array
    gravity: Array
    delay: float


@dataclass(frozen=True)
class PayloadEstimate:
    """A load that can exist, in the frame `frame`.

    `body` is the point on the manifold; `covariance` (10, 10) is that of y (see the module) and `scale` what its
    square roots are compared with. `bias` is what the sensor (or each joint) shows without any load, `gravity` in
    the world frame [m/s2], `delay` [s] by which the wrench is later than its stamp. `time` [s] is that of the last
    sample, None if it was not given; `noise` is the noise at frequency zero over the one assumed, for force and torque.
    `gain_covariance` (10, 10) is the part of `covariance` that the drives' gains have: no motion of the load narrows
    it.
    """

    frame: str
    body: MassDistribution
    covariance: Array
    scale: PriorScale
    bias: Array
    bias_std: Array
    gravity: Array
    gravity_std: Array
    delay: float
    delay_std: float
    samples: int
    time: float | None = None
    noise: tuple[float, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    gain_covariance: Array = field(default_factory=lambda: np.zeros((10, 10)))

    @property
    def mass(self) -> float:
        """[kg]"""
        return self.body.mass

    @property
    def com(self) -> Array:
        """Centre of mass [m], shape (3,)."""
        return self.body.com

    @cached_property
    def ten(self) -> Array:
        """m, mc (3), xx xy yy xz yz zz about the frame's origin."""
        return frozen(self.body.ten)

    @cached_property
    def inertia(self) -> Array:
        """About the frame's origin [kg m2], shape (3, 3)."""
        return frozen(inertia_about_frame(self.ten))

    @cached_property
    def inertia_com(self) -> Array:
        """About the centre of mass [kg m2], shape (3, 3)."""
        second = (self.body.axes * self.body.moments) @ self.body.axes.T
        return frozen(np.trace(second) * np.eye(3) - second)

    @cached_property
    def _measured(self) -> dict[str, NDArray[np.bool_]]:
        """Whether the data tell: mass (), com (3,), inertia (3, 3)."""
        variances = np.diag(self.motion_covariance)
        return {
            "mass": self.scale.measured("mass", variances[0], self.scale.mass**2),
            "com": self.scale.measured("com", variances[1:4], self.scale.com**2),
            "inertia": self.scale.measured(
                "inertia", *self.moment_variances(np.eye(3), self.motion_covariance)
            ),
        }

    @property
    def motion_covariance(self) -> Array:
        """`covariance` as it would be with exact gains: what more motion could narrow, shape (10, 10)."""
        return np.asarray(self.covariance - self.gain_covariance)

    def moment_variances(self, axes: Array, covariance: Array | None = None) -> tuple[Array, Array]:
        """Variance of the inertia about the centre of mass along `axes` (columns), and the prior's, each (3, 3);
        `covariance` None: the whole.
        """
        turned = axes.T @ _INERTIAS @ axes
        whole = self.covariance if covariance is None else covariance
        variance = np.einsum("aij,ab,bij->ij", turned, whole[4:, 4:], turned)
        isotropic = self.scale.moment**2 * np.array([1, 1, 1, 0.5, 0.5, 0.5])
        return variance, np.einsum("aij,a,aij->ij", turned, isotropic, turned)

    def mass_moment_covariance(self, axes: Array) -> Array:
        """Covariance of mass and the moments about the centre of mass along `axes` (columns), shape (4, 4)."""
        rows = np.zeros((4, 10))
        rows[0, 0] = 1.0
        turned = axes.T @ _INERTIAS @ axes
        rows[1:, 4:] = np.diagonal(turned, axis1=1, axis2=2).T
        return rows @ self.covariance @ rows.T

    def turn_covariance(self, axes: Array, moments: Array) -> Array:
        """Covariance [rad2] (3, 3) of small turns of the principal axes (columns) about each of them.

        A turn about axis k is the inertia's element between the other two, over the difference of their moments.
        """
        turned = axes.T @ _INERTIAS @ axes
        rows = np.zeros((3, 6))
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            apart = moments[i] - moments[j]
            rows[k] = turned[:, i, j] / np.copysign(
                max(abs(apart), np.finfo(float).eps * moments.max()), apart
            )
        return np.asarray(rows @ self.covariance[4:, 4:] @ rows.T)

    @cached_property
    def prior_dominated(self) -> tuple[str, ...]:
        """Which of mass, com, inertia have a part that the data do not tell."""
        return tuple(name for name, told in self._measured.items() if not told.all())

    @property
    def marks(self) -> Mapping[str, Mark]:
        """`measured` or `prior-dominated`, for mass, com and inertia."""
        return {
            name: "prior-dominated" if name in self.prior_dominated else "measured" for name in self._measured
        }

    @cached_property
    def std(self) -> StandardDeviations:
        """Standard deviations; 95 % intervals are 1.96 of them either way."""
        told = {
            name: measured | (name in self.scale.given) for name, measured in self._measured.items()
        }  # a given prior is knowledge, and its interval holds
        sigma = np.sqrt(np.diag(self.covariance))
        by_y = self.body.derivative_by_moments()[4:]
        inertia = np.zeros((3, 3))
        deviations = np.sqrt(np.einsum("ij,jk,ik->i", by_y, self.covariance, by_y))
        for value, (i, j) in zip(deviations, INERTIA_ELEMENTS, strict=True):
            inertia[i, j] = inertia[j, i] = value
        return StandardDeviations(
            float(np.where(told["mass"], sigma[0], np.inf)),
            frozen(np.where(told["com"], sigma[1:4], np.inf)),
            frozen(np.where(told["inertia"], inertia, np.inf)),
            self.bias_std,
            self.gravity_std,
            self.delay_std,
        )

    def interval(self, name: str) -> Interval:
        """95 % interval of `mass`, `com.x` to `com.z`, or `inertia.xx`, `inertia.xy`, ... about the frame's origin.

        That of a mass is symmetric in its logarithm, since gains multiply; that of next to nothing begins at zero.
        """
        quantity, _, places = name.partition(".")
        indices = tuple("xyz".find(axis) for axis in places)
        if quantity not in _INDICES or len(indices) != _INDICES[quantity] or -1 in indices:
            raise ParameterError(
                f"no interval of {name!r}; there are mass, com.x, com.y, com.z, inertia.xx to inertia.zz"
            )
        value, std = (float(np.asarray(getattr(of, quantity))[indices]) for of in (self, self.std))
        unit = {"mass": "kg", "com": "m", "inertia": "kg m2"}[quantity]
        positive = quantity == "mass" and not self.empty
        interval = Interval.of(value, std, unit=unit, prior_dominated=not np.isfinite(std), positive=positive)
        return replace(interval, low=max(interval.low, 0.0)) if quantity == "mass" else interval

    @property
    def empty(self) -> bool:
        """Whether the gripper holds nothing, as far as the data tell."""
        return "mass" not in self.prior_dominated and self.mass < 3 * float(np.sqrt(self.covariance[0, 0]))

    def require_frame(self, frame: str) -> None:
        """`ParameterError` for an estimate in another frame."""
        if self.frame != frame:
            raise ParameterError(
                f"an estimate in the frame `{self.frame}`, must be `{frame}`; use in_frame() first"
            )

    def in_frame(self, frame: str, rotation: ArrayLike, position: ArrayLike) -> PayloadEstimate:
        """The same load in another frame: x_new = R x + p, with `rotation` R (3, 3) and `position` p [m] (3,).

        The bias stays in the sensor's frame and gravity in the world's.
        """
        R, p = np.asarray(rotation, dtype=np.float64), np.asarray(position, dtype=np.float64)
        if (
            R.shape != (3, 3)
            or p.shape != (3,)
            or not np.allclose(R.T @ R, np.eye(3), atol=1e-6)
            or np.linalg.det(R) < 0
        ):
            raise ParameterError(f"frame {frame}: give a rotation matrix (3, 3) and a position [m] (3,)")
        turn = np.zeros((10, 10))
        turn[0, 0] = 1.0
        turn[1:4, 1:4] = R
        turned = R @ UNITS @ R.T
        turn[4:, 4:] = np.stack([turned[:, i, j] for i, j in ELEMENTS])
        body = MassDistribution(
            self.mass, frozen(R @ self.com + p), frozen(R @ self.body.axes), self.body.moments
        )
        return replace(
            self,
            frame=frame,
            body=body,
            covariance=frozen(turn @ self.covariance @ turn.T),
            gain_covariance=frozen(turn @ self.gain_covariance @ turn.T),
        )

    def to_dict(self) -> dict[str, Any]:
        """Values, standard deviations and marks as plain JSON values; what is not known (infinite) is None."""
        std = self.std
        return {
            "frame": self.frame,
            "mass": self.mass,
            "com": self.com.tolist(),
            "inertia": self.inertia.tolist(),
            "bias": self.bias.tolist(),
            "gravity": self.gravity.tolist(),
            "std": {
                "mass": _finite(std.mass),
                "com": [_finite(value) for value in std.com],
                "inertia": [[_finite(value) for value in row] for row in std.inertia],
                "bias": [_finite(value) for value in std.bias],
            },
            "marks": dict(self.marks),
            "prior_dominated": list(self.prior_dominated),
            "empty": self.empty,
            "samples": self.samples,
            "time": self.time,
            "warnings": list(self.warnings),
        }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
