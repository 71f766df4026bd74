"""Cosine, sine and hyperbolic tangent of many numbers together, compiled.

Without a branch or a call, so that several numbers stand side by side; a library's functions take one after the other.
Absolute errors are below 1e-15 up to a million radians. What is not a number stays so.

Angles: with k the nearest number of quarter turns, x = k pi/2 + r and |r| <= pi/4; both are their Taylor series in r. k
times the first part of pi/2 is exact.

Tangent: (1 - e) / (1 + e) with e = exp(-2 |x|) = 2^-k exp(r), |r| <= log(2) / 2, by the series of exp. Beyond |x| = 20
it is 1.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled

__all__ = ["cosine_sine", "tanh_of_ratio"]


def _parts(number: Decimal) -> tuple[float, float]:
    """A number as one of 32 bits behind the point, and the rest."""
    high = round(float(number) * 2**32) / 2**32
    return high, float(number - Decimal(high))


HIGH, LOW = _parts(Decimal("1.57079632679489661923132169163975144"))  # pi/2
LOG_HIGH, LOG_LOW = _parts(Decimal(2).ln())
QUARTERS, HALVINGS = 1 / (HIGH + LOW), 1 / (LOG_HIGH + LOG_LOW)
SATURATED = 20.0
POWERS = 0.5 ** np.arange(64)


@compiled(fastmath={"contract"})
def cosine_sine(angle: Array, cosine: Array, sine: Array) -> None:
    """Cosine and sine of angles [rad]: all (n, T)."""
    for j in range(angle.shape[0]):
        for i in range(angle.shape[1]):
            k = np.rint(angle[j, i] * QUARTERS)
            r = (angle[j, i] - k * HIGH) - k * LOW
            z = r * r
            s = (1 - z * (1 / 272)) * z * (1 / 210)
            s = (1 - (1 - s) * z * (1 / 156)) * z * (1 / 110)
            s = (1 - (1 - s) * z * (1 / 72)) * z * (1 / 42)
            s = r - r * (1 - (1 - s) * z * (1 / 20)) * z * (1 / 6)
            c = (1 - z * (1 / 306)) * z * (1 / 240)
            c = (1 - (1 - c) * z * (1 / 182)) * z * (1 / 132)
            c = (1 - (1 - c) * z * (1 / 90)) * z * (1 / 56)
            c = 1 - (1 - (1 - (1 - c) * z * (1 / 30)) * z * (1 / 12)) * z * (1 / 2)
            quarter = k - 4.0 * np.floor(0.25 * k)
            turned = quarter == 1.0 or quarter == 3.0
            x, y = (s, c) if turned else (c, s)
            cosine[j, i] = -x if quarter == 1.0 or quarter == 2.0 else x
            sine[j, i] = -y if quarter >= 2.0 else y


@compiled(fastmath={"contract"})
def tanh_of_ratio(values: Array, scales: Array, out: Array) -> None:
    """tanh(values / scales) of values (n, T) and scales (n,), above zero: out (n, T)."""
    for j in range(values.shape[0]):
        for i in range(values.shape[1]):
            ratio = abs(values[j, i] / scales[j])
            x = -2.0 * (SATURATED if ratio > SATURATED else ratio)
            k = np.rint(x * HALVINGS)
            r = (x - k * LOG_HIGH) - k * LOG_LOW
            e = (r * (1 / 13) + 1) * (r * (1 / 12)) + 1
            e = (e * (r * (1 / 11)) + 1) * (r * (1 / 10)) + 1
            e = (e * (r * (1 / 9)) + 1) * (r * (1 / 8)) + 1
            e = (e * (r * (1 / 7)) + 1) * (r * (1 / 6)) + 1
            e = (e * (r * (1 / 5)) + 1) * (r * (1 / 4)) + 1
            e = (e * (r * (1 / 3)) + 1) * (r * (1 / 2)) + 1
            power = max(0, min(63, int(-k)))  # whatever an integer makes of what is not a number
            e = (e * r + 1) * POWERS[power]
            size = (1 - e) / (1 + e)
            out[j, i] = size if values[j, i] >= 0 else -size
