"""Finite Fourier series that begin and end at rest, as motions that are linear in their free coefficients.

A joint's series (003, Eq. 78) has 2 L + 1 coefficients u = (q0, a_1 .. a_L, b_1 .. b_L). It rests at t = 0, and so at
the end of every period, where

    sum_l a_l = 0        velocity
    sum_l l b_l = 0      acceleration

Two linear equations: u = N z with N their null space leaves 2 L - 1 free coefficients z, and every z rests.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from heft.daq.trajectory.fourier import FourierSeries
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError

__all__ = ["FourierBasis"]


@dataclass(frozen=True)
class FourierBasis:
    """The series of `harmonics` L that last one period of `period_s` [s]."""

    harmonics: int
    period_s: float

    def __post_init__(self) -> None:
        if self.harmonics < 2:
            raise ProblemError(
                f"{self.harmonics} harmonics, must be 2 or more: with fewer no series that starts at rest moves"
            )

    @property
    def size(self) -> int:
        """Free coefficients of a joint: 2 L - 1."""
        return 2 * self.harmonics - 1

    @cached_property
    def null_space(self) -> Array:
        """N, orthonormal, (2 L + 1, 2 L - 1); its first column is q0 alone."""
        L = self.harmonics
        N: Array = np.zeros((2 * L + 1, 2 * L - 1))
        N[0, 0] = 1.0
        for rows, weights, first in (
            (slice(1, L + 1), np.ones(L), 1),
            (slice(L + 1, 2 * L + 1), np.arange(1.0, L + 1), L),
        ):
            N[rows, first : first + L - 1] = np.linalg.svd(weights[None])[2][1:].T
        return N

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """B with position = B z; likewise of velocity and acceleration; each (T, 2 L - 1), at times t [s] (T,)."""
        w: Array = 2.0 * np.pi / self.period_s * np.arange(1.0, self.harmonics + 1)
        phase = np.asarray(t, dtype=np.float64)[:, None] * w
        sin, cos = np.sin(phase), np.cos(phase)
        one, zero = np.ones((len(phase), 1)), np.zeros((len(phase), 1))
        position = np.hstack([one, sin / w, -cos / w])
        velocity = np.hstack([zero, cos, sin])
        acceleration = np.hstack([zero, -w * sin, w * cos])
        N = self.null_space
        return np.asarray(position @ N), np.asarray(velocity @ N), np.asarray(acceleration @ N)

    def grid(self, points: int) -> Array:
        """Times [s], equally spaced over the period, its end left out, shape (points,)."""
        times: Array = np.arange(float(points)) * (self.period_s / points)
        return times

    def series(self, z: Array) -> FourierSeries:
        """The series with free coefficients z (n, 2 L - 1); the equations of rest hold to the last bit."""
        L = self.harmonics
        u = z @ self.null_space.T
        a, b = u[:, 1 : L + 1].copy(), u[:, L + 1 :].copy()
        a[:, 0] -= a.sum(axis=1)
        b[:, 0] -= b @ np.arange(1.0, L + 1)
        return FourierSeries(a, b, u[:, 0], self.period_s)

    def coefficients(self, series: FourierSeries) -> Array:
        """z (n, 2 L - 1) of a series that begins at rest; of another one, the closest."""
        u = np.hstack([series.q0[:, None], series.a, series.b])
        return u @ self.null_space
