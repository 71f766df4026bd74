"""Agreement between data and what was known of the robot beforehand: one number to compare explanations by.

An explanation of the data (gains g_j of the measured torques, another regressor Y) leaves r_j = |g_j Y_j d + friction -
tau_j| / |tau_j - mean| of each joint's torque (a constant may be an offset as well as weight: it tells nothing), and
costs

    E = N / 2 sum_j log(r_j^2 + f^2) + |S^-1 (d - d0)|^2 / 2 + log det A / 2,   A = I + S' Y' W Y S

at the most probable d: minus the logarithm of its marginal likelihood (Laplace), with d0, S the prior and its spread,
each joint's noise unknown and W its weights, N the independent samples that a joint counts for. Friction may be
anything. The spread of a link may itself be wrong (S^2 k with k inverse-gamma, found by expectation and maximisation):
a link whose file is poor does not speak for the whole arm, and links that agree with their files better than stated
speak louder. r does not change with the unit of torque, so that explanations of different scale compare fairly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.problem import Problem

__all__ = ["SAMPLES", "Agreement", "Explained", "Known"]

SAMPLES = 100.0  # that each joint counts for: rows of one motion are not independent, nor is the model exact
FLOOR = 0.03  # of the torque: what is left below this is friction's detail, and tells nothing of causes
START = 0.3  # relative residual that the search begins with
LEAST = 1e-3  # of the squared torque: less change is noise
DEGREES = 0.5  # of freedom of a link's k: files are much better than their spread, or much worse
ROUNDS, LESS_ROUNDS = 10, 4
ROUNDING = (1e-10, 1e-8, 1e-6, 1e-4)  # of each parameter's information: keeps the factorisation going


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a robot before it moves, as a normal distribution of its parameters.

    centre   d0, shape (p,)
    spread   S, shape (p, p): the truth is d0 + S x with x standard normal
    free     parameters that may be anything: friction and offsets, and all joint terms that no prior tells
    offsets  of these, the joints' constant torques
    total    of all masses [kg]: mean and standard deviation, or None
    masses   places of the links' masses
    who      knows it
    """

    centre: Array
    spread: Array
    free: NDArray[np.int64]
    offsets: NDArray[np.int64]
    total: tuple[float, float] | None
    masses: NDArray[np.int64]
    who: str = "the robot's file"

    @classmethod
    def of(cls, problem: Problem) -> Known:
        """What a problem knows."""
        layout = problem.layout
        offsets = [terms["offset"] for terms in layout.joint_terms.values() if "offset" in terms]
        total, bounds = None, problem.bounds.total_mass
        if bounds is not None:
            total = (float(np.mean(bounds)), max(float(np.ptp(bounds)) / 4, 1e-3 * bounds[1]))
        masses = [layout.link(link).start for link in layout.links]
        who = "the robot's file" if problem.carried is None else "the robot's file with the wrist sensor"
        constant = np.array(offsets, dtype=np.int64)
        return cls(problem.start, problem.metric, problem.vague, constant, total, np.array(masses), who)

    def scaled(self, factor: float) -> Known:
        """The same of an arm that is so many times as heavy."""
        return replace(self, centre=factor * self.centre, spread=factor * self.spread)

    @property
    def rigid(self) -> Array:
        """d0 without what may be anything, shape (p,)."""
        rigid = self.centre.copy()
        rigid[self.free] = 0.0
        return rigid


@dataclass(frozen=True)
class Explained:
    """The most probable parameters of an explanation.

    cost         E
    left         r: what is left of each joint's torque, shape (n,)
    width        k: how far each link is from its file, over what the spread allows, squared, shape (n_links,)
    parameters   d, shape (p,)
    """

    cost: float
    left: Array
    width: Array
    parameters: Array


@dataclass(frozen=True, eq=False)
class Agreement:
    """Of rows of the regression with what is known.

    rows   [Y_j tau_j] of each joint, or a root of its square, shape (n, K, p + 1); zero for joints without rows
    """

    known: Known
    rows: Array

    @classmethod
    def of_rows(cls, known: Known, regressor: Array, torque: Array, kept: NDArray[np.bool_]) -> Agreement:
        """From rows Y (K, n, p), torques (K, n), and which of them count (K, n)."""
        rows = np.concatenate([regressor, torque[:, :, None]], axis=2) * kept[:, :, None]
        return cls(known, np.ascontiguousarray(np.moveaxis(rows, 1, 0)))

    @classmethod
    def of_problem(cls, problem: Problem) -> Agreement:
        """From the information that a problem was made of."""
        return cls(Known.of(problem), problem.information.factors)

    @cached_property
    def grams(self) -> Array:
        """[Y_j tau_j]' [Y_j tau_j] of each joint, shape (n, p + 1, p + 1)."""
        return self.rows.transpose(0, 2, 1) @ self.rows

    @cached_property
    def _squares(self) -> Array:
        """Their diagonals: squared lengths of the columns of [Y_j tau_j], shape (n, p + 1)."""
        return np.asarray((self.rows**2).sum(axis=1))

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Joints with torque, shape (n,)."""
        return self._squares[:, -1] > 0

    @cached_property
    def _spread(self) -> Array:
        """S, with what may be anything as wide as would explain all of the torque."""
        spread, squares = self.known.spread.copy(), self._squares
        for i in self.known.free:
            shares = [s[-1] / s[i] for s in squares if s[i] > 0]
            spread[i, :] = spread[:, i] = 0.0
            spread[i, i] = np.sqrt(max(shares)) if shares else 1.0
        return spread

    @cached_property
    def changing(self) -> Array:
        """Squared torque of each joint without its constant part, as the joint's offset explains it, shape (n,)."""
        tau, constant = self.rows[:, :, -1], np.moveaxis(self.rows[:, :, self.known.offsets], 2, 0)
        square = (constant**2).sum(axis=2)
        part = np.divide(
            (constant * tau).sum(axis=2) ** 2, square, out=np.zeros_like(square), where=square > 0
        )
        whole = self._squares[:, -1]
        return np.asarray(np.maximum(whole - part.sum(axis=0), LEAST * whole))

    @cached_property
    def _whitened(self) -> Array:
        """grams of [Y S, Y d0, tau] over the square of what changes of the torque, of joints with torque.

        Shape (n, p + 2, p + 2).
        """
        p = len(self.known.centre)
        change = np.zeros((p + 1, p + 2))
        change[:p, :p], change[:p, p], change[p, p + 1] = self._spread, self.known.rigid, 1.0
        sizes = np.sqrt(np.where(self.used, self.changing, 1.0))
        rows = (self.rows / sizes[:, None, None]) @ change  # a square of these stays one, whatever cancels
        return np.asarray((rows.transpose(0, 2, 1) @ rows)[self.used])

    def explained(
        self, gains: Array | float = 1.0, start: Explained | None = None, rounds: int | None = None
    ) -> Explained:
        """Where measured torques are `gains` times the true ones, of each joint (n,) or of all.

        start    an explanation nearby, from which fewer rounds lead to this one
        rounds   of the search; None: as many as it takes
        """
        n, p = len(self.rows), len(self.known.centre)
        rigid = np.ones(p + 2, dtype=bool)
        rigid[[*self.known.free, p + 1]] = False
        g = np.broadcast_to(np.asarray(gains, dtype=np.float64), (n,))[self.used]
        scale = np.where(rigid, g[:, None], 1.0)
        grams = self._whitened * scale[:, :, None]
        grams *= scale[:, None, :]
        squares = grams[:, :p, :p].reshape(len(g), p * p)
        side = grams[:, :p, p + 1] - grams[:, :p, p]
        off, row = self._weighed
        heavy = np.outer(row, row)
        left = np.full(len(g), START**2) if start is None else start.left[self.used] ** 2
        width = np.ones(len(self.known.masses)) if start is None else start.width
        for _ in range(rounds or (ROUNDS if start is None else LESS_ROUNDS)):
            weights = SAMPLES / (left + FLOOR**2)
            precision = np.ones(p)
            precision[: 10 * len(width)] = np.repeat(1 / width, 10)
            A = heavy + (weights @ squares).reshape(p, p)
            A[np.diag_indices(p)] += precision
            factor = _factor(A)
            x = dpotrs(factor, off * row + weights @ side)[0]
            variance = (dtrtri(factor)[0] ** 2).sum(axis=1)  # diagonal of the inverse of A
            vector = np.concatenate([x, [1.0, -1.0]])
            left = np.maximum(vector @ grams @ vector, 0.0)
            moments = (x**2 + variance)[: 10 * len(width)].reshape(-1, 10).sum(axis=1)
            cost = SAMPLES * float(np.log(left + FLOOR**2).sum()) + 2 * float(np.log(np.diag(factor)).sum())
            cost += float(((x**2 * precision)[self._told]).sum() + (row @ x - off) ** 2)
            cost += float((DEGREES / width + (DEGREES + 12) * np.log(width) - DEGREES).sum())
            last, width = width, (DEGREES + moments) / (DEGREES + 12)
        rest = np.zeros(n)
        rest[self.used] = np.sqrt(left)
        return Explained(0.5 * cost, rest, last, self.known.rigid + self._spread @ x)

    @cached_property
    def _told(self) -> NDArray[np.bool_]:
        """Parameters that something is known of, shape (p,)."""
        told = np.ones(len(self.known.centre), dtype=bool)
        told[self.known.free] = False
        return told

    @cached_property
    def _weighed(self) -> tuple[float, Array]:
        """What the data sheet's total mass says of x: row @ x = off, to a standard deviation of 1."""
        if self.known.total is None:
            return 0.0, np.zeros(len(self.known.centre))
        mean, std = self.known.total
        off = (mean - float(self.known.rigid[self.known.masses].sum())) / std
        return off, self._spread[self.known.masses].sum(axis=0) / std


def _factor(A: Array) -> Array:
    """Cholesky factor of a sum of squares, with as little added to its diagonal as rounding demands; upper triangle."""
    factor: Array
    for share in ROUNDING:
        rounded = A.copy()
        rounded[np.diag_indices(len(A))] *= 1 + share
        factor, failed = dpotrf(rounded.T, overwrite_a=True)  # A is symmetric, and LAPACK stores columns
        if not failed:
            return factor
    factor = np.diag(np.sqrt(np.diag(A)))
    return factor
