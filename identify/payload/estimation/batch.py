"""All rows at once: the load that can exist, and intervals that allow for autocorrelated residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtri

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.mass_distribution import MassDistribution
from heft.identify.certainty.interval import quantile
from heft.identify.information.triangle import triangle
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.factor import RANK, InformationFactor
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.optimiser import maximise, start_from
from heft.identify.payload.estimation.prewhitening import covariance_of_sum
from heft.identify.payload.estimation.uncertainty import (
    ROUNDING,
    concluded,
    inverse,
    representable,
    y_columns,
)
from heft.identify.payload.estimation.unknowns import Lifted, LinearInformation, Point, Unknowns

__all__ = ["ChannelRows", "FittedRows", "disturbances_beside", "fit_rows"]

_NOISE_ROUNDS = 5
_CHANCE = 1e-3  # of columns that explain nothing to be kept


class ChannelRows:
    """One kind of channels over time: rows over s (T, c, p) and values (T, c) of c channels with a bias each.

    `moved` are groups of columns that hold accelerations alone. At rest that is their noise, which the values do not
    follow; a group that explains nothing of them is left out, for it would say that its unknowns are zero.
    `bias_std` is what the biases may be, of all or of each (c,); infinite: anything.
    `nuisance` (T, c, k) are columns of what else disturbs the values, each times a standard normal number; they and the
    biases are the disturbances. `keep` (T, c) is False for values that do not count.
    """

    def __init__(
        self,
        name: str,
        lifted: Lifted,
        rows: Array,
        values: Array,
        *,
        moved: Sequence[slice] = (),
        bias_std: ArrayLike = np.inf,
        nuisance: Array | None = None,
        keep: NDArray[np.bool_] | None = None,
    ) -> None:
        self.name, self.lifted = name, lifted
        channels = values.shape[1]
        biases = np.broadcast_to(np.eye(channels), (*values.shape, channels))
        full = np.concatenate([biases, *([] if nuisance is None else [nuisance]), rows], axis=2)
        if keep is not None:
            full[~keep], values = 0.0, np.where(keep, values, 0.0)
        self.values = values
        self.counts = np.full(channels, len(values)) if keep is None else keep.sum(axis=0)
        disturbances = full.shape[2] - rows.shape[2]
        table = triangle(np.column_stack([full.reshape(values.size, -1), values.ravel()]))
        for group in moved:
            columns = range(disturbances + group.start, disturbances + group.stop)
            if not _explains(table, columns, values.size):
                full[:, :, columns] = 0.0
                table[:, columns] = 0.0
        self.disturbances, self.rows = full[:, :, :disturbances], full[:, :, disturbances:]
        self.disturbance_std = np.ones(disturbances)
        self.disturbance_std[:channels] = bias_std
        self.sigma, self.freedom = self._noise(full, table)
        if nuisance is not None:
            self.sigma = self._weighted_noise(full)
        self.factor = InformationFactor(self.disturbance_std, rows.shape[2])
        self.factor.update(
            (full / self.sigma[:, None]).reshape(-1, full.shape[2]), (values / self.sigma).ravel()
        )

    def _noise(self, full: Array, table: Array) -> tuple[Array, int]:
        """Standard deviation of each channel about the best unconstrained fit, and its degrees of freedom.

        Channels of one kind are alike, so they share what a few samples tell.
        """
        count = self.counts
        solution, _, rank, _ = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=RANK)
        squares = np.sum((self.values - full @ solution) ** 2, axis=0)
        freedom = int(count.sum()) - int(rank)
        shared = squares.sum() / max(freedom, 1)
        each = squares * count.sum() / np.maximum(count, 1) / max(freedom, 1)
        trust = count / (count + 50.0)
        least = max(ROUNDING * float(np.sqrt(np.mean(self.values**2))), 1e-15)
        return np.maximum(np.sqrt(trust * each + (1 - trust) * shared), least), freedom

    def _weighted_noise(self, full: Array) -> Array:
        """The same about the fit with these weights and with what is known of the disturbances, until they settle.

        Channels whose noise differs by much would else be judged by what the loudest does to their common unknowns, and
        disturbances that hardly show would be as free as those that do.
        """
        sigma = self.sigma
        prior = np.zeros(full.shape[2])
        prior[: len(self.disturbance_std)] = self.disturbance_std**-2
        for _ in range(_NOISE_ROUNDS):
            rows = (full / sigma[:, None]).reshape(-1, full.shape[2])
            data = rows.T @ rows
            spread = inverse(data + np.diag(np.maximum(prior, RANK**2 * np.diag(data).max())))
            solution = spread @ (rows.T @ (self.values / sigma).ravel())
            free = 1.0 - float(np.sum(spread * data)) / max(float(self.counts.sum()), 1.0)
            squares = np.sum((self.values - full @ solution) ** 2, axis=0)
            each = np.sqrt(squares / np.maximum(self.counts, 1) / max(free, 0.1))
            sigma = np.maximum(each, 1e-3 * self.sigma)
        return sigma

    @property
    def information(self) -> LinearInformation:
        """What the rows say of s."""
        return LinearInformation(*self.factor.information, self.lifted)


def _explains(table: Array, columns: range, count: int) -> bool:
    """Whether some columns of the triangular `table` (values last) explain the values better than chance (F test)."""
    others = np.setdiff1d(np.arange(table.shape[1] - 1), columns)
    rests, ranks = [], []
    for kept in (np.arange(table.shape[1] - 1), others):
        solution, _, rank, _ = np.linalg.lstsq(table[:, kept], table[:, -1], rcond=RANK)
        rests.append(float(np.sum((table[:, -1] - table[:, kept] @ solution) ** 2)))
        ranks.append(int(rank))
    freed, left = ranks[0] - ranks[1], count - ranks[0]
    if freed == 0 or left <= 0:
        return freed > 0
    least = ROUNDING**2 * float(np.sum(table[:, -1] ** 2))
    bound = float(fdtri(freed, left, 1 - _CHANCE))
    return (rests[1] - rests[0]) / freed > bound * max(rests[0], least) / left


@dataclass(frozen=True)
class FittedRows:
    """A load, and the disturbances beside it: values (k,), covariance (k, k), and that with y (10, k).

    y is as in `estimate`; disturbances of all channels follow each other, biases of each first.
    """

    estimate: PayloadEstimate
    disturbances: Array
    covariance: Array
    with_load: Array


def fit_rows(
    channels: Sequence[ChannelRows],
    frame: str,
    gravity: Sequence[Array],
    prior: ObjectPrior,
    *,
    free_gravity: bool = False,
    bias_sign: float = 1.0,
    start: MassDistribution | None = None,
) -> FittedRows:
    """The load that the channels' rows tell of, in their frame.

    `gravity` [m/s2] as it is known, or directions that the search begins from where it is free; `start` is the body
    that it begins from, None: what the prior expects.
    """
    unknowns = Unknowns(free_gravity=free_gravity)
    information = [one.information for one in channels]
    starts = [start_from(prior, g) if start is None else Point(start, 0.0, g) for g in gravity]
    points = [maximise(information, prior, one, unknowns) for one in starts]
    point = representable(min(points, key=lambda p: sum(one.misfit(p) for one in information)))
    scale = prior.scale(point.body.mass, float(point.body.moments.max()))
    precision = unknowns.prior_precision(scale)
    whole, values, bias_std, noise = _sandwich(channels, point, precision, unknowns)
    freedom = min(one.freedom for one in channels)
    widen = quantile(freedom) / quantile(np.inf) if freedom > 0 else 1.0  # few samples: Student's t
    whole, bias_std, width = whole * widen**2, bias_std * widen, len(precision)
    warnings = [
        f"{one.name}: {one.values.size} values for as many unknowns, so their noise cannot be told; give more samples"
        for one in channels
        if one.freedom <= 0
    ]
    covariance = whole[:width, :width]
    if freedom <= 0:
        covariance, bias_std = inverse(precision), np.full_like(bias_std, np.inf)
    biases = np.concatenate([own[: one.values.shape[1]] for own, one in zip(values, channels, strict=True)])
    estimate = concluded(
        point,
        unknowns,
        scale,
        covariance,
        bias_sign * biases,
        bias_std,
        frame=frame,
        samples=len(channels[0].values),
        noise=noise,
        warnings=tuple(warnings),
    )
    return FittedRows(estimate, np.concatenate(values), whole[width:, width:], whole[:10, width:])


def disturbances_beside(one: ChannelRows, ten: Array) -> tuple[Array, Array]:
    """Disturbances of rows beside a load that is known (10,): values (k,) and covariance (k, k), as in `fit_rows`."""
    B, S, z = one.factor.bias_rows
    values = np.asarray(np.linalg.solve(B, z - S @ ten), dtype=np.float64)
    residual = (one.values - one.rows @ ten - one.disturbances @ values) / one.sigma
    jacobian = one.disturbances / one.sigma[:, None]
    flat = jacobian.reshape(-1, len(values))
    prior = np.diag(one.disturbance_std**-2)
    count = int(one.counts.sum())
    scores = np.einsum("tcp,tc->tp", jacobian, residual) * np.sqrt(count / max(count - len(values), 1))
    return values, _robust(flat.T @ flat + prior, prior, scores)


def _sandwich(
    channels: Sequence[ChannelRows], point: Point, precision: Array, unknowns: Unknowns
) -> tuple[Array, list[Array], Array, tuple[float, ...]]:
    """Covariance that allows for autocorrelated residuals; disturbances, deviations of the biases among them; the noise
    of each kind.

    H^-1 S H^-1 with H the information if noise were white and S the long-run covariance of the scores; never
    smaller than H^-1.
    """
    columns = y_columns(point, unknowns)
    width = columns.shape[1]
    whole = width + sum(one.disturbances.shape[2] for one in channels)
    prior = np.zeros((whole, whole))
    prior[:width, :width] = precision
    data = np.zeros((whole, whole))
    scores = np.zeros((len(channels[0].values), whole))
    values: list[Array] = []
    biases: list[int] = []
    noise, at, rows_total = [], width, 0
    for one in channels:
        s = point.lift(one.lifted)
        B, S, z = one.factor.bias_rows
        b = np.asarray(np.linalg.solve(B, z - S @ s.values), dtype=np.float64)
        residual = (one.values - one.rows @ s.values - one.disturbances @ b) / one.sigma
        k, n = one.disturbances.shape[2], one.values.shape[1]
        own = slice(at, at + k)
        jacobian = np.zeros((*one.values.shape, whole))
        jacobian[..., :width] = one.rows @ (s.jacobian @ columns)
        jacobian[..., own] = one.disturbances
        jacobian /= one.sigma[:, None]
        flat = jacobian.reshape(-1, whole)
        data += flat.T @ flat
        prior[own, own] = np.diag(one.disturbance_std**-2)
        scores += np.einsum("tcp,tc->tp", jacobian, residual)
        values.append(b)
        biases += range(at, at + n)
        noise.append(float(np.sqrt(np.sum((residual * one.sigma) ** 2) / one.counts.sum())))
        at, rows_total = at + k, rows_total + int(one.counts.sum())
    covariance = _robust(data + prior, prior, scores * np.sqrt(rows_total / max(rows_total - whole, 1)))
    vague = data + prior
    vague[:width, :width] -= 0.99 * precision
    variances, limit = np.diag(covariance)[biases], np.diag(inverse(vague))[biases]
    deviations = np.where(limit > 4 * variances, np.inf, np.sqrt(variances))  # only the prior bounds it
    return covariance, values, deviations, tuple(noise)


def _robust(H: Array, precision: Array, scores: Array) -> Array:
    """H^-1 S H^-1, with S the covariance of the sum of the scores (T, n) and the prior's `precision`; not below H^-1.

    In the coordinates in which H is the unit matrix, so that what the data do not tell stays apart.
    """
    scale = 1 / np.sqrt(np.diag(H))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    values = np.maximum(values, len(values) * np.finfo(float).eps)
    whiten = (vectors / np.sqrt(values)).T * scale  # whiten H whiten' = 1
    S = covariance_of_sum(scores @ whiten.T) + whiten @ precision @ whiten.T
    powers, directions = np.linalg.eigh(S)
    root = whiten.T @ (directions * np.sqrt(np.maximum(powers, 0.0)))
    robust, least = np.sum(root**2, axis=1), np.sum(whiten**2, axis=0)
    root *= np.sqrt(np.maximum(least / np.maximum(robust, 1e-300), 1.0))[:, None]
    return root @ root.T
