"""Fourier series drawn by seed and made to fit the joints' limits: motions that no fit has seen yet."""

from __future__ import annotations

import numpy as np

from heft.daq.trajectory.fourier import BLEND_SLOPE, FourierSeries
from heft.daq.trajectory.limits import Limits

__all__ = ["random_fourier"]

#: Points per period of the highest harmonic at which extremes are looked for; between two of them a sinusoid
#: exceeds both by less than 1 - cos(pi / 100) = 0.05 %, which the fraction leaves room for.
POINTS = 100
#: A stop ends within this share of the range: the rest is for what is between two points.
STOP_ROOM = 0.99
SMALLER = 0.95


def random_fourier(
    limits: Limits,
    *,
    period_s: float,
    harmonics: int,
    seed: int,
    fraction: float = 0.7,
    blend_s: float = 2.0,
) -> FourierSeries:
    """Coefficients drawn from a normal distribution, each joint scaled as far as its limits allow.

    A joint's series is scaled until the first of these is reached: `fraction` of its range of positions, of
    its velocity bound, of its acceleration bound (with what a blend of `blend_s` [s] adds to it). Its path is
    centred in the range. Where a stop from some point of it would leave the range, it is made
    smaller. One seed gives one series, on every machine. The default fraction leaves room for
    tracking error; whether torques and the workspace allow the motion is for the checks to say.
    """
    if not 0.0 < fraction <= 0.99:
        raise ValueError(f"fraction is {fraction}, must be above 0 and at most 0.99")
    n = len(limits.axes)
    draw = np.random.default_rng(seed).standard_normal((2, n, harmonics))
    shape = FourierSeries(draw[0], draw[1], np.zeros(n), period_s)
    position, velocity, acceleration = shape.at(
        np.arange(POINTS * harmonics) * (period_s / (POINTS * harmonics))
    )
    low, high = position.min(axis=0), position.max(axis=0)
    peak_velocity = np.abs(velocity).max(axis=0)
    peak_acceleration = np.abs(acceleration).max(axis=0) + BLEND_SLOPE / blend_s * peak_velocity
    scale = fraction * np.minimum.reduce(
        [
            (limits.upper - limits.lower) / (high - low),
            limits.velocity / peak_velocity,
            limits.acceleration / peak_acceleration,
        ]
    )
    middle = 0.5 * (low + high)
    room = STOP_ROOM * 0.5 * (limits.upper - limits.lower)
    while True:
        reached = np.abs(limits.at_rest_from(scale * (position - middle), scale * velocity)).max(axis=0)
        if np.all(reached <= room):
            break
        scale = np.where(reached > room, SMALLER * scale, scale)
    centre = 0.5 * (limits.lower + limits.upper) - scale * middle
    return FourierSeries(shape.a * scale[:, None], shape.b * scale[:, None], centre, period_s)
