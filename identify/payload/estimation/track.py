"""One kind of channels followed over time: its factor of information, its bias, and how noisy it really is."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.payload.estimation.compensation import compensated
from heft.identify.payload.estimation.factor import InformationFactor
from heft.identify.payload.estimation.prewhitening import zero_frequency_variance
from heft.identify.payload.estimation.unknowns import Lifted, LinearInformation, Point

__all__ = ["NOISE_RULES", "ChunkRows", "NoiseRules", "Track"]


@dataclass(frozen=True)
class NoiseRules:
    """What residuals say of noise; as shares of the variance that was assumed, where not said otherwise.

    Tuned on simulated pick-ups of half a second to a minute (`tests/identify/payload/estimation`).

    trust     chunks that the expected noise counts for, against the one that residuals show
    recent    chunks that noise is judged by
    least     residuals of few chunks may look too good
    same      a factor in the noise that hardly moves an estimate
    unlikely  times the standard deviation that was expected: something else than noise
    """

    trust: float = 10.0
    recent: int = 250
    least: float = 0.25
    same: float = 2.0
    unlikely: float = 10.0


NOISE_RULES = NoiseRules()


@dataclass(frozen=True, eq=False)
class ChunkRows:
    """One chunk of c channels as k orthonormal coefficients over its time.

    ones    of the constant 1, which the bias multiplies, shape (k,)
    rows    over s, shape (k, c, p)
    values  of the channels, shape (k, c)
    white   sum of the squares of the white noise in the rows' columns, as the chunk shows it, shape (p,)
    slow    the same of slow noise, as it is assumed, shape (p,)
    """

    ones: Array
    rows: Array
    values: Array
    white: Array
    slow: Array


class Track:
    """`sigma` (c,): assumed noise of each channel; `walk` (c,): of its bias, per square root of a second;
    `bias_std` (c,): what the bias may be at first.
    """

    def __init__(self, lifted: Lifted, sigma: Array, walk: Array, bias_std: Array) -> None:
        self.lifted = lifted
        self.noise = 1.0
        self._sigma, self._walk = sigma, walk
        self._factor = InformationFactor(bias_std / sigma, lifted.width)
        self._white, self._slow = np.zeros(lifted.width), np.zeros(lifted.width)
        self._count = 0.0  # of values of a load
        self._faded = 0.0  # log of what is left of the information that came first
        self._means: deque[tuple[float, float, Array, Array]] = deque(maxlen=NOISE_RULES.recent)

    def take(self, chunk: ChunkRows, *, elapsed: float, forgetting: float, loaded: bool) -> None:
        """The next chunk, `elapsed` [s] after the last; `forgetting` is what is left of the information before it."""
        ones, rows, values = chunk.ones, chunk.rows, chunk.values
        count, channels = values.shape
        full = np.zeros((count, channels, channels + rows.shape[2]))
        full[:, :, :channels] = ones[:, None, None] * np.eye(channels)  # the bias is kept in sigmas
        np.divide(rows, self._sigma[:, None], out=full[:, :, channels:])
        scaled = values / self._sigma
        walk = self._walk * np.sqrt(elapsed) / self._sigma
        self._factor.update(
            full.reshape(count * channels, -1),
            scaled.ravel(),
            walk=walk if walk.min() > 0 else None,
            forgetting=forgetting,
        )
        unit = float(np.mean(self._sigma)) ** 2 if loaded else np.inf
        self._white = self._white * forgetting + chunk.white / unit
        self._slow = self._slow * forgetting + chunk.slow / unit
        self._count = self._count * forgetting + values.size * float(loaded)
        weight = float(ones[0])
        self._faded += float(np.log(forgetting))
        self._means.append((self._faded, weight, full[0, :, channels:] / weight, scaled[0] / weight))

    def forget(self, columns: slice) -> None:
        """Start the load's part of s afresh."""
        self._factor.forget(columns)
        self._white[columns] = self._slow[columns] = 0.0
        self._count = 0.0
        self._means.clear()
        self.noise = 1.0

    def information(self, point: Point) -> LinearInformation:
        """What is known of s, `point` being the estimate so far."""
        s = point.lift(self.lifted).values
        clean = compensated(*self._factor.information, self._white, self._slow, s)
        return LinearInformation(clean.R, clean.z, self.lifted, self.noise, clean.doubt)

    def unconstrained(self) -> Array:
        """s (p,) of least norm among the best fits, its products not put together."""
        return self._factor.least_norm()

    def judge(self, point: Point) -> None:
        """Set `noise`: the variance at frequency zero of recent residuals about the estimate, over the assumed one.

        Before there are many residuals, it is the assumed one and what the noise in the rows adds.
        """
        s = point.lift(self.lifted).values
        count = float(len(self._means))
        at_once = self.lifted.lift(point.ten, 0.0, point.gravity).values  # the delay's columns hold slopes
        expected = 1.0 + float((self._white + self._slow) @ at_once**2) / max(self._count, 1.0)
        observed = expected
        if count >= 2:
            faded, weights, rows, values = (np.stack(parts) for parts in zip(*self._means, strict=True))
            left = np.exp(faded - self._faded)
            rest = values - rows @ s
            rest -= (left * weights**2 @ rest) / (left * weights @ weights)
            scaled = (np.sqrt(left) * weights)[:, None] * rest
            observed = float(zero_frequency_variance(scaled).mean() * count / left.sum())
            count = float(left.sum())
        trust = NOISE_RULES.trust
        self.noise = max((trust * expected + count * observed) / (trust + count), NOISE_RULES.least)

    def bias(self, point: Point, covariance: Array, columns: Array) -> tuple[Array, Array]:
        """The bias (c,) in the channels' units and its standard deviation; `covariance` is that of what is free."""
        s = point.lift(self.lifted)
        B, S, z = self._factor.bias_rows
        solved = np.linalg.solve(B, np.column_stack([z - S @ s.values, np.eye(len(B)), S]))
        value, root, through = solved[:, 0], solved[:, 1 : 1 + len(B)], solved[:, 1 + len(B) :]
        through = through @ (s.jacobian @ columns)
        variance = self.noise * np.sum(root**2, axis=1) + np.einsum(
            "ij,jk,ik->i", through, covariance, through
        )
        return value * self._sigma, np.sqrt(variance) * self._sigma
