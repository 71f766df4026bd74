"""The log as rows of a regression, and each joint's torque against all that its own rows could explain.

Here no two joints share a parameter: each may have links of its own. That is less than physics demands, so that what
is left of a torque is not a matter of any prior, and one projection answers every question about a column more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset
from heft.identify.data.filters import central
from heft.identify.data.motion import choose_cutoff
from heft.identify.data.processing import Processing
from heft.identify.data.survey import survey
from heft.identify.robot import Robot

__all__ = ["Regression"]

MOST = 1500  # rows
CUTOFF_HZ = (1.0, 20.0)
RANK = 1e-4  # of the largest singular value
REST = 0.02  # of a joint's top speed
BLOCKS = 20  # of rows, for errors of coefficients


@dataclass(frozen=True, eq=False)
class Regression:
    """Filtered motion and torque at K instants.

    t             [s], shape (K,)
    q, dq, ddq    shape (K, n); derivatives of positions, whatever velocities were measured
    tau, dtau     and its derivative, shape (K, n)
    kept          False where a joint stands still, shape (K, n)
    step_s        of the samples
    """

    robot: Robot
    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    dtau: Array
    kept: NDArray[np.bool_]
    step_s: float
    cutoff_hz: float
    dense_t: Array
    dense_tau: Array
    wrench: Array | None = None

    @classmethod
    def of(cls, robot: Robot, data: Dataset) -> Regression:
        """`DataError` where the data are not this robot's, or nothing moves."""
        cutoff = float(np.clip(choose_cutoff(data), *CUTOFF_HZ))
        rate = 1 / float(np.median(np.diff(data.t)))
        processing = Processing(cutoff_hz=min(cutoff, 0.2 * rate))
        one = survey(robot, data, processing)
        step = one.sampling.step_s
        smooth = central(processing.taps(1 / step), step)
        L = smooth.half
        columns: list[list[Array]] = []
        for piece in one.sampling.pieces:
            if piece.count <= 2 * L + 2:
                continue
            position, _ = one.data.motion(piece, step, 0, piece.count)
            q, dq, ddq = smooth.apply(position)
            tau, dtau, _ = smooth.apply(one.data.torque(piece, step, 0, piece.count))
            t = piece.start_s + step * np.arange(L, piece.count - L, dtype=np.float64)
            wrench = np.zeros((0, len(t)))
            if one.data.wrench is not None:
                raw = one.data.wrist_wrench(piece, step, 0, piece.count)
                raw = np.where(np.isfinite(raw), raw, np.nanmedian(raw, axis=1, keepdims=True))
                wrench = smooth.apply(raw)[0]
            columns.append([t[None], q, dq, ddq, tau, dtau, wrench])
        if not columns:
            from heft.identify.errors import DataError

            raise DataError(f"no stretch of {2 * L + 2} samples without a gap; too little to filter")
        t, q, dq, ddq, tau, dtau, wrench = (
            np.concatenate(one, axis=1).T for one in zip(*columns, strict=True)
        )
        stride = max(1, len(t) // MOST)
        rows = slice(None, None, stride)
        top = np.quantile(np.abs(dq), 0.99, axis=0)
        kept = (np.abs(dq[rows]) > REST * top) & ~one.still
        moves = ~one.still
        return cls(
            robot,
            t[rows, 0],
            q[rows],
            dq[rows] * moves,
            ddq[rows] * moves,
            tau[rows],
            dtau[rows],
            kept,
            step,
            processing.cutoff_hz,
            t[:, 0],
            tau,
            wrench[rows] if wrench.shape[1] else None,
        )

    @property
    def n(self) -> int:
        """Joints."""
        return self.tau.shape[1]

    @cached_property
    def rows(self) -> Array:
        """Y, shape (K, n, p)."""
        return self.robot.regressor.dense(self.q, self.dq, self.ddq)

    @cached_property
    def bases(self) -> tuple[Array, ...]:
        """For each joint an orthonormal basis of its columns at kept rows, zero at the others, shape (K, r_j)."""
        return tuple(_basis(self.rows[:, j] * self.kept[:, j, None]) for j in range(self.n))

    @cached_property
    def reversals(self) -> NDArray[np.int64]:
        """How often each joint turns round, shape (n,)."""
        turns = [np.diff(np.sign(self.dq[self.kept[:, j], j])) != 0 for j in range(self.n)]
        return np.array([int(one.sum()) for one in turns])

    def residual(self, values: Array) -> Array:
        """What columns (K, n), one of each joint, have beside what the joint's rows explain; zero where not kept."""
        out = np.where(self.kept, values, 0.0)
        for j, basis in enumerate(self.bases):
            out[:, j] -= basis @ (basis.T @ out[:, j])
        return out

    @cached_property
    def left(self) -> Array:
        """Share of each joint's torque that its rows leave, shape (n,); NaN for joints without rows."""
        rest, whole = (
            np.sqrt((one**2).sum(axis=0))
            for one in (self.residual(self.tau), np.where(self.kept, self.tau, 0.0))
        )
        return np.divide(rest, whole, out=np.full(self.n, np.nan), where=whole > 0)

    def added(self, j: int, column: Array) -> tuple[float, float, float]:
        """A column (K,) more for joint j: its coefficient, standard deviation, share of the residual's square it takes.

        The deviation is that of sums over blocks of rows: neighbours resemble each other.
        """
        basis, kept = self.bases[j], self.kept[:, j]
        u = np.where(kept, column, 0.0)
        u = u - basis @ (basis.T @ u)
        e = np.where(kept, self.tau[:, j], 0.0)
        e = e - basis @ (basis.T @ e)
        size = float(u @ u)
        if size <= 1e-9 * float((np.where(kept, column, 0.0) ** 2).sum()) or not float(e @ e) > 0:
            return 0.0, np.inf, 0.0
        b = float(u @ e) / size
        rest = e - b * u
        sums = np.array([part.sum() for part in np.array_split(u * rest, BLOCKS)])
        std = float(np.sqrt((sums**2).sum())) / size
        return b, std, b * b * size / float(e @ e)

    def shifted(self, delay_s: float) -> Regression:
        """The same with torques taken `delay_s` later: what a delay of them was is taken out."""
        t = self.t + delay_s
        tau = np.stack([np.interp(t, self.dense_t, column) for column in self.dense_tau.T], axis=1)
        return replace(self, tau=tau)


def _basis(columns: Array) -> Array:
    size = np.sqrt((columns**2).sum(axis=0))
    live = size > 1e-9 * max(float(size.max(initial=0.0)), 1e-300)
    if not live.any():
        return np.zeros((len(columns), 0))
    u, s, _ = np.linalg.svd(columns[:, live] / size[live], full_matrices=False)
    return np.asarray(u[:, s > RANK * s[0]])
