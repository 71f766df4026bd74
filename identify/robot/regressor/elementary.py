"""Cosine, sine and hyperbolic tangent of many numbers together, compiled.

Without a branch or a call, so that several numbers stand side by side; a library's functions take one after the other.
Absolute errors are below 3e-16.

Angles: with k the nearest number of quarter turns, x = k pi/2 + r and |r| <= pi/4, and both are polynomials of r (those
of fdlibm). pi/2 is taken in two parts, of which k times the first is exact up to a million radians.

Tangent: (1 - e) / (1 + e) with e = exp(-2 |x|) = 2^k exp(r), |r| <= log(2) / 2, by the series of exp. Beyond |x| = 20
it is 1.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.compiled import compiled

__all__ = ["cosine_sine", "tanh_of_ratio"]

QUARTERS = 2 / np.pi  # in a radian
HIGH, LOW = 1.57079632673412561417e00, 6.07710050650619224932e-11  # of pi/2: 33 bits, and the rest
LOG_HIGH, LOG_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # of log(2), likewise
SATURATED = 20.0
POWERS = 0.5 ** np.arange(60)


@compiled(fastmath={"contract"})
def cosine_sine(angle: Array, cosine: Array, sine: Array) -> None:
    """Cosine and sine of angles [rad]: all (n, T)."""
    for j in range(angle.shape[0]):
        for i in range(angle.shape[1]):
            k = np.rint(angle[j, i] * QUARTERS)
            r = (angle[j, i] - k * HIGH) - k * LOW
            z = r * r
            s = 1.58969099521155010221e-10 * z - 2.50507602534068634195e-08
            s = ((s * z + 2.75573137070700676789e-06) * z - 1.98412698298579493134e-04) * z
            s = r + r * z * ((s + 8.33333333332248946124e-03) * z - 1.66666666666666324348e-01)
            c = -1.13596475577881948265e-11 * z + 2.08757232129817482790e-09
            c = ((c * z - 2.75573143513906633035e-07) * z + 2.48015872894767294178e-05) * z
            c = 1.0 - 0.5 * z + z * z * ((c - 1.38888888888741095749e-03) * z + 4.16666666666666019037e-02)
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
            x = -2.0 * min(abs(values[j, i] / scales[j]), SATURATED)
            k = np.rint(x * (1 / (LOG_HIGH + LOG_LOW)))
            r = (x - k * LOG_HIGH) - k * LOG_LOW
            e = (r * (1 / 13) + 1) * (r * (1 / 12)) + 1
            e = (e * (r * (1 / 11)) + 1) * (r * (1 / 10)) + 1
            e = (e * (r * (1 / 9)) + 1) * (r * (1 / 8)) + 1
            e = (e * (r * (1 / 7)) + 1) * (r * (1 / 6)) + 1
            e = (e * (r * (1 / 5)) + 1) * (r * (1 / 4)) + 1
            e = (e * (r * (1 / 3)) + 1) * (r * (1 / 2)) + 1
            e = (e * r + 1) * POWERS[np.int32(-k)]
            size = (1 - e) / (1 + e)
            out[j, i] = size if values[j, i] >= 0 else -size
