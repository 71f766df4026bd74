"""Finite Fourier series that start and end at rest (003, Eq. 78; Swevers et al. 1997)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.daq.trajectory.sampled_motion import SampledMotion
from heft.daq.trajectory.trajectory import Trajectory

__all__ = ["FourierSeries", "fourier", "fourier_motion"]

#: Largest slope of the blend's speed s(u) = 10 u^3 - 15 u^4 + 6 u^5 on 0 <= u <= 1.
BLEND_SLOPE = 15.0 / 8.0

Samples = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class FourierSeries:
    """A periodic motion of n axes with L harmonics (003, Eq. 78), w = 2 pi / period_s:

        q_k(t) = q0_k + sum_l  a_kl / (w l) sin(w l t) - b_kl / (w l) cos(w l t)

    a, b      amplitudes of velocity [rad/s], shape (n, L)
    q0        centre [rad], shape (n,)
    period_s  of the first harmonic [s]
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    q0: NDArray[np.float64]
    period_s: float

    def __post_init__(self) -> None:
        for label in ("a", "b", "q0"):
            array = np.array(getattr(self, label), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, label, array)
        if self.a.ndim != 2 or self.b.shape != self.a.shape or self.q0.shape != self.a.shape[:1]:
            raise ValueError(
                f"a, b and q0 have shapes {self.a.shape}, {self.b.shape} and {self.q0.shape}, "
                "must be (n, L), (n, L) and (n,)"
            )
        if not 0.0 < self.period_s < np.inf:
            raise ValueError(f"period_s is {self.period_s}, must be positive")

    @property
    def harmonics(self) -> int:
        """Number of harmonics L."""
        return int(self.a.shape[1])

    def at(self, t: ArrayLike) -> Samples:
        """Position [rad], velocity [rad/s], acceleration [rad/s2] at times t [s] (T,), each (T, n)."""
        wl = 2.0 * pi / self.period_s * np.arange(1, self.harmonics + 1)
        phase = np.asarray(t, dtype=np.float64)[:, None] * wl
        sin, cos = np.sin(phase), np.cos(phase)
        position = self.q0 + sin @ (self.a / wl).T - cos @ (self.b / wl).T
        velocity = cos @ self.a.T + sin @ self.b.T
        acceleration = cos @ (self.b * wl).T - sin @ (self.a * wl).T
        return position, velocity, acceleration


def fourier(
    series: FourierSeries, *, seconds: float, blend_s: float, rate_hz: float, axes: tuple[str, ...]
) -> Trajectory:
    """`fourier_motion` with all its samples in memory."""
    motion = fourier_motion(series, seconds=seconds, blend_s=blend_s, rate_hz=rate_hz, axes=axes)
    return motion.window(0, len(motion))


def fourier_motion(
    series: FourierSeries, *, seconds: float, blend_s: float, rate_hz: float, axes: tuple[str, ...]
) -> SampledMotion:
    """Play a series for `seconds`, from rest to rest through a blend of `blend_s` before and one after [s].

    From blend_s to blend_s + seconds after the start the samples are the series itself, from its t = 0 on;
    the whole lasts 2 blend_s + seconds (each rounded to samples, the blends up). In the blends time itself
    speeds up and slows down: q(t) = series(x(t)), where dx/dt goes from 0 to 1 (and back) by
    s(u) = 10 u^3 - 15 u^4 + 6 u^5. So the motion stays on the series' own path (its position bounds hold,
    velocities only shrink), is continuous up to the jerk, and begins and ends without velocity and
    acceleration. A blend adds at most 15/8 / blend_s times the velocity to the acceleration. A series that rests at
    its own t = 0 needs none: then `blend_s` may be 0.
    """
    if not (seconds > 0.0 and blend_s >= 0.0):
        raise ValueError(f"seconds is {seconds} and blend_s is {blend_s}, must be positive and not negative")
    if len(axes) != len(series.q0):
        raise ValueError(
            f"the series has {len(series.q0)} axes, but {len(axes)} are named: {', '.join(axes)}"
        )
    n_pure, n_blend = max(1, round(seconds * rate_hz)), ceil(round(blend_s * rate_hz, 6))
    pure_s, rise_s = n_pure / rate_hz, n_blend / rate_hz
    count = n_pure + 1 + 2 * n_blend

    def compute(numbers: NDArray[np.int64]) -> Trajectory:
        x, dx, ddx = (numbers - n_blend) / rate_hz, np.ones(len(numbers)), np.zeros(len(numbers))
        rising, falling = numbers < n_blend, numbers > n_blend + n_pure
        # x ends the rise at 0, where the series begins
        x[rising], dx[rising], ddx[rising] = _rise(numbers[rising] / n_blend, rise_s)
        back, dx[falling], fall = _rise((count - 1 - numbers[falling]) / n_blend, rise_s)
        x[falling], ddx[falling] = pure_s - back, -fall
        position, velocity, acceleration = series.at(x)
        dx, ddx = dx[:, None], ddx[:, None]
        return Trajectory(
            axes, rate_hz, position, velocity * dx, acceleration * dx**2 + velocity * ddx, int(numbers[0])
        )

    return SampledMotion(axes, rate_hz, count, compute)


def _rise(u: NDArray[np.float64], rise_s: float) -> Samples:
    """Series time [s], its speed and acceleration [1/s] at u = t / rise_s: from rest to speed 1 at time 0."""
    x = rise_s * (u**4 * (2.5 - 3.0 * u + u**2) - 0.5)
    dx = u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    ddx = 30.0 * u**2 * (1.0 - u) ** 2 / rise_s
    return x, dx, ddx
