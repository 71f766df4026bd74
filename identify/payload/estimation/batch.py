"""All rows at once: the load that can exist, and intervals that allow for autocorrelated residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import fdtri

from heft.identify.bodies.arrays import Array
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

__all__ = ["ChannelRows", "fit_rows"]

_CHANCE = 1e-3  # of columns that explain nothing to be kept


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
        table = triangle(np.column_stack([full.reshape(values.size, -1), values.ravel()]))
        for group in moved:
            columns = range(channels + group.start, channels + group.stop)
            if not _explains(table, columns, values.size):
                full[:, :, columns] = 0.0
                table[:, columns] = 0.0
        self.rows = full[:, :, channels:]
        self.sigma, self.freedom = self._noise(full, table)
        self.bias_std = bias_std
        self.factor = InformationFactor(np.full(channels, self.bias_std), rows.shape[2])
        self.factor.update(
            (full / self.sigma[:, None]).reshape(-1, full.shape[2]), (values / self.sigma).ravel()
        )

    def _noise(self, full: Array, table: Array) -> tuple[Array, int]:
        """Standard deviation of each channel about the best unconstrained fit, and its degrees of freedom.

        Channels of one kind are alike, so they share what a few samples tell.
        """
        count, channels = self.values.shape
        solution, _, rank, _ = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=RANK)
        squares = np.sum((self.values - full @ solution) ** 2, axis=0)
        freedom = count * channels - int(rank)
        shared = squares.sum() / max(freedom, 1)
        each = squares * channels / max(freedom, 1)
        trust = count / (count + 50.0)
        least = max(ROUNDING * float(np.sqrt(np.mean(self.values**2))), 1e-15)
        return np.maximum(np.sqrt(trust * each + (1 - trust) * shared), least), freedom

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


def fit_rows(
    channels: Sequence[ChannelRows],
    frame: str,
    gravity: Sequence[Array],
    prior: ObjectPrior,
    *,
    free_gravity: bool = False,
    bias_sign: float = 1.0,
) -> PayloadEstimate:
    """The load that the channels' rows tell of, in their frame.

    `gravity` [m/s2] as it is known, or directions that the search begins from where it is free.
    """
    unknowns = Unknowns(free_gravity=free_gravity)
    information = [one.information for one in channels]
    points = [maximise(information, prior, start_from(prior, g), unknowns) for g in gravity]
    point = representable(min(points, key=lambda p: sum(one.misfit(p) for one in information)))
    scale = prior.scale(point.body.mass, float(point.body.moments.max()))
    precision = unknowns.prior_precision(scale)
    covariance, bias, bias_std, noise = _sandwich(channels, point, precision, unknowns)
    freedom = min(one.freedom for one in channels)
    widen = quantile(freedom) / quantile(np.inf) if freedom > 0 else np.inf  # few samples: Student's t
    covariance, bias_std = covariance * widen**2, bias_std * widen
    warnings = [
        f"{one.name}: {one.values.size} values for as many unknowns, so their noise cannot be told; give more samples"
        for one in channels
        if one.freedom <= 0
    ]
    if freedom <= 0:
        covariance = inverse(precision)
    return concluded(
        point,
        unknowns,
        scale,
        covariance,
        bias_sign * bias,
        bias_std,
        frame=frame,
        samples=len(channels[0].values),
        noise=noise,
        warnings=tuple(warnings),
    )


def _sandwich(
    channels: Sequence[ChannelRows], point: Point, precision: Array, unknowns: Unknowns
) -> tuple[Array, Array, Array, tuple[float, ...]]:
    """Covariance that allows for autocorrelated residuals; bias, its deviations; the noise of each kind.

    H^-1 S H^-1 with H the information if noise were white and S the long-run covariance of the scores; never
    smaller than H^-1.
    """
    columns = y_columns(point, unknowns)
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
    """H^-1 S H^-1, with S the covariance of the sum of the scores (T, n) and the prior's; not below H^-1.

    In the coordinates in which H is the unit matrix, so that what the data do not tell stays apart.
    """
    scale = 1 / np.sqrt(np.diag(H))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    values = np.maximum(values, len(values) * np.finfo(float).eps)
    whiten = (vectors / np.sqrt(values)).T * scale  # whiten H whiten' = 1
    width = len(precision)
    S = covariance_of_sum(scores @ whiten.T) + whiten[:, :width] @ precision @ whiten[:, :width].T
    powers, directions = np.linalg.eigh(S)
    root = whiten.T @ (directions * np.sqrt(np.maximum(powers, 0.0)))
    robust, least = np.sum(root**2, axis=1), np.sum(whiten**2, axis=0)
    root *= np.sqrt(np.maximum(least / np.maximum(robust, 1e-300), 1.0))[:, None]
    return root @ root.T
