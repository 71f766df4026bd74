"""All rows at once: the load that can exist, and intervals that allow for autocorrelated residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from identify.arrays import Array, frozen
from identify.payload.channels import Lifted, WrenchChannels
from identify.payload.covariance import free_columns, gravity_spread, inverse, kept_inside, prior_precision
from identify.payload.estimate import PayloadEstimate
from identify.payload.factor import InformationFactor
from identify.payload.inputs import STANDARD_GRAVITY
from identify.payload.noise import long_run_covariance
from identify.payload.posterior import Evidence, Point, maximise, start_from
from identify.payload.prior import ObjectPrior

__all__ = ["ChannelRows", "fit_rows"]

_ROUNDING = 1e-10  # of the rms wrench: below it residuals are arithmetic, not noise
_RANK = 1e-9  # of the largest singular value
_CHANCE = 6.0  # F: a thousand times rarer than not, also for few columns
_ANY_BIAS = 1e4  # times the largest value: no bias at all is excluded


class ChannelRows:
    """One kind of channels over time: rows over s (T, c, p) and values (T, c) of c channels with a bias each.

    `moved` are groups of columns that hold accelerations alone. At rest that is their noise, which the values do not
    follow; a group that explains nothing of them is left out, for it would say that its unknowns are zero.
    `bias_std` is what the biases may be; infinite: anything.
    """

    def __init__(
        self,
        name: str,
        lifted: Lifted,
        rows: Array,
        values: Array,
        *,
        moved: Sequence[slice] = (),
        bias_std: float = np.inf,
    ) -> None:
        self.name, self.lifted, self.values = name, lifted, values
        channels = values.shape[1]
        biases = np.broadcast_to(np.eye(channels), (*values.shape, channels))
        full = np.concatenate([biases, rows], axis=2)
        upper = np.linalg.qr(np.column_stack([full.reshape(values.size, -1), values.ravel()]), mode="r")
        table = np.asarray(upper, dtype=np.float64)
        for group in moved:
            columns = range(channels + group.start, channels + group.stop)
            if not _explains(table, columns, values.size):
                full[:, :, columns] = 0.0
                table[:, columns] = 0.0
        self.rows = full[:, :, channels:]
        self.sigma, self.freedom = self._noise(full, table)
        largest = _ANY_BIAS * max(float(np.abs(values).max()), float(self.sigma.max()))
        self.bias_std = min(bias_std, largest)
        self.factor = InformationFactor(np.full(channels, self.bias_std), rows.shape[2])
        self.factor.update(
            (full / self.sigma[:, None]).reshape(-1, full.shape[2]), (values / self.sigma).ravel()
        )

    def _noise(self, full: Array, table: Array) -> tuple[Array, int]:
        """Standard deviation of each channel about the best unconstrained fit, and its degrees of freedom.

        Channels of one kind are alike, so they share what a few samples tell.
        """
        count, channels = self.values.shape
        solution, _, rank, _ = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=_RANK)
        squares = np.sum((self.values - full @ solution) ** 2, axis=0)
        freedom = count * channels - int(rank)
        shared = squares.sum() / max(freedom, 1)
        each = squares * channels / max(freedom, 1)
        trust = count / (count + 50.0)
        least = max(_ROUNDING * float(np.sqrt(np.mean(self.values**2))), 1e-15)
        return np.maximum(np.sqrt(trust * each + (1 - trust) * shared), least), freedom

    @property
    def evidence(self) -> Evidence:
        """What the rows say of s."""
        return Evidence(*self.factor.information, self.lifted)


def _explains(table: Array, columns: range, count: int) -> bool:
    """Whether some columns of the triangular `table` (values last) explain the values better than chance (F test)."""
    others = np.setdiff1d(np.arange(table.shape[1] - 1), columns)
    rests, ranks = [], []
    for kept in (np.arange(table.shape[1] - 1), others):
        solution, _, rank, _ = np.linalg.lstsq(table[:, kept], table[:, -1], rcond=_RANK)
        rests.append(float(np.sum((table[:, -1] - table[:, kept] @ solution) ** 2)))
        ranks.append(int(rank))
    freed, left = ranks[0] - ranks[1], count - ranks[0]
    if freed == 0 or left <= 0:
        return freed > 0
    least = _ROUNDING**2 * float(np.sum(table[:, -1] ** 2))
    return (rests[1] - rests[0]) / freed > _CHANCE * max(rests[0], least) / left


def fit_rows(
    channels: Sequence[ChannelRows],
    frame: str,
    gravity: Array | None,
    prior: ObjectPrior,
    *,
    bias_sign: float = 1.0,
) -> PayloadEstimate:
    """The load that the channels' rows tell of, in their frame; `gravity` None: its direction is free."""
    free = gravity is None
    evidence = [one.evidence for one in channels]
    starts = [gravity] if gravity is not None else _gravity_starts(channels)
    points = [maximise(evidence, prior, start_from(prior, g), free_gravity=free) for g in starts]
    point = min(points, key=lambda p: sum(_misfit(one, p) for one in evidence))
    point = Point(kept_inside(point.body), 0.0, point.gravity)
    scale = prior.scale(point.body.mass, float(point.body.moments.max()))
    precision = prior_precision(scale, delay_std=None, free_gravity=free)
    covariance, bias, bias_std, noise = _sandwich(channels, point, precision, free)
    freedom = min(one.freedom for one in channels)
    widen = float(stdtrit(freedom, 0.975)) / 1.96 if freedom > 0 else np.inf  # few samples: Student's t
    covariance, bias_std = covariance * widen**2, bias_std * widen
    warnings = [
        f"{one.name}: {one.values.size} values for as many unknowns, so their noise cannot be told; give more samples"
        for one in channels
        if one.freedom <= 0
    ]
    if freedom <= 0:
        covariance = inverse(precision)
    covariance, gravity_std = gravity_spread(point, covariance, free)
    return PayloadEstimate(
        frame=frame,
        body=point.body,
        covariance=frozen(covariance[:10, :10]),
        scale=scale,
        bias=frozen(bias_sign * bias),
        bias_std=frozen(bias_std),
        gravity=frozen(point.gravity),
        gravity_std=frozen(gravity_std),
        delay=0.0,
        delay_std=0.0,
        samples=len(channels[0].values),
        noise=noise,
        warnings=tuple(warnings),
    )


def _misfit(evidence: Evidence, point: Point) -> float:
    residual = evidence.R @ point.lift(evidence.lifted).values - evidence.z
    return float(residual @ residual)


def _gravity_starts(channels: Sequence[ChannelRows]) -> list[Array]:
    """Directions to begin from: the weight that the unconstrained fit sees, and straight down."""
    force = channels[0].lifted
    assert isinstance(force, WrenchChannels)
    solution = np.linalg.lstsq(*channels[0].factor.information, rcond=_RANK)[0]
    weight = np.asarray(solution[force.weight], dtype=np.float64)
    size = float(np.linalg.norm(weight))
    down = np.array([0.0, 0.0, -STANDARD_GRAVITY])
    return [weight * (STANDARD_GRAVITY / size), down] if size > 0 else [down]


def _sandwich(
    channels: Sequence[ChannelRows], point: Point, precision: Array, free_gravity: bool
) -> tuple[Array, Array, Array, tuple[float, ...]]:
    """Covariance that allows for autocorrelated residuals; bias, its deviations; the noise of each kind.

    H^-1 S H^-1 with H the information if noise were white and S the long-run covariance of the scores; never
    smaller than H^-1.
    """
    columns = free_columns(point, delayed=False, free_gravity=free_gravity)
    width = columns.shape[1]
    biases = sum(one.values.shape[1] for one in channels)
    H = np.zeros((width + biases, width + biases))
    H[:width, :width] = precision
    scores = np.zeros((len(channels[0].values), width + biases))
    bias, noise, at, rows_total = [], [], width, 0
    for one in channels:
        s = point.lift(one.lifted)
        B, S, z = one.factor.bias_rows
        b = np.linalg.solve(B, z - S @ s.values)
        residual = (one.values - one.rows @ s.values - b) / one.sigma
        jacobian = np.zeros((*one.values.shape, width + biases))
        jacobian[..., :width] = one.rows @ (s.jacobian @ columns)
        n = one.values.shape[1]
        jacobian[..., at : at + n] = np.eye(n)
        jacobian /= one.sigma[:, None]
        flat = jacobian.reshape(-1, width + biases)
        H += flat.T @ flat
        H[range(at, at + n), range(at, at + n)] += one.bias_std**-2
        scores += np.einsum("tcp,tc->tp", jacobian, residual)
        bias.append(b)
        noise.append(float(np.sqrt(np.mean((residual * one.sigma) ** 2))))
        at, rows_total = at + n, rows_total + residual.size
    covariance = _robust(H, precision, scores * np.sqrt(rows_total / max(rows_total - width - biases, 1)))
    vague = H.copy()
    vague[:width, :width] -= 0.99 * precision
    variances, limit = np.diag(covariance)[width:], np.diag(inverse(vague))[width:]
    deviations = np.where(limit > 4 * variances, np.inf, np.sqrt(variances))  # only the prior bounds it
    return covariance[:width, :width], np.concatenate(bias), deviations, tuple(noise)


def _robust(H: Array, precision: Array, scores: Array) -> Array:
    """H^-1 S H^-1, with S the long-run covariance of the scores (T, n) and the prior's; not below H^-1.

    In the coordinates in which H is the unit matrix, so that what the data do not tell stays apart.
    """
    scale = 1 / np.sqrt(np.diag(H))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    whiten = (vectors / np.sqrt(np.maximum(values, 1e-14))).T * scale  # whiten H whiten' = 1
    width = len(precision)
    S = long_run_covariance(scores @ whiten.T) + whiten[:, :width] @ precision @ whiten[:, :width].T
    powers, directions = np.linalg.eigh(S)
    root = whiten.T @ (directions * np.sqrt(np.maximum(powers, 0.0)))
    robust, least = np.sum(root**2, axis=1), np.sum(whiten**2, axis=0)
    root *= np.sqrt(np.maximum(least / np.maximum(robust, 1e-300), 1.0))[:, None]
    return root @ root.T
