"""A load from joint torques or currents: the difference to what the identified arm needs by itself.

    residual = torque - arm's own torque = K phi + offset

with K the columns that belong to the last link in the arm's regressor (004, Eq. 17) at the measured q, q', q'', since
the load is a part of that link, and phi the load's ten numbers in that link's frame. Each joint has its own noise
and its own offset, which friction and temperature move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.mass_distribution import MassDistribution
from heft.identify.errors import DataError, ProblemError
from heft.identify.payload.estimation.batch import ChannelRows, fit_rows
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.inputs import series, times
from heft.identify.payload.estimation.object_prior import PLAUSIBLE, ObjectPrior
from heft.identify.payload.estimation.recursive import LoadEstimator
from heft.identify.payload.estimation.sample_chunks import parabolas
from heft.identify.payload.estimation.track import ChunkRows, Track
from heft.identify.payload.estimation.unknowns import DirectRows, Point, Unknowns

__all__ = ["JointTorqueEstimator", "body_near", "fit_joint_torque"]


def fit_joint_torque(
    rows: ArrayLike,
    residual: ArrayLike,
    joints: int,
    *,
    offset_std: float = np.inf,
    frame: str = "last link",
    prior: ObjectPrior | None = None,
) -> PayloadEstimate:
    """The load at the last link, in that link's frame.

    Args:
        rows: last link's columns of the arm's regressor, sample by sample and joint by joint, shape (T n, 10).
        residual: torque beyond the arm's own [N m], in the same order, shape (T n,).
        joints: n.
        offset_std: how far each joint's offset may be from the identified one [N m]; infinite: unknown.
        frame: name of the last link.
        prior: what is known of the object, in the last link's frame.
    """
    columns, torques = series("rows", rows, None, 10), series("residual", residual, None)
    if joints < 1 or len(columns) % joints or len(torques) != len(columns):
        raise DataError(
            f"{len(columns)} rows and {len(torques)} torques for {joints} joints; give one of each per joint and sample"
        )
    if not offset_std > 0:
        raise ProblemError(
            f"offset_std {offset_std:g} N m, must be above zero; give what the offset may have moved by"
        )
    channels = ChannelRows(
        "torque",
        DirectRows(),
        columns.reshape(-1, joints, 10),
        torques.reshape(-1, joints),
        bias_std=offset_std,
    )
    unused = np.zeros(3)  # gravity is within the rows
    return fit_rows([channels], frame, [unused], prior or ObjectPrior()).estimate


def body_near(ten: Array) -> MassDistribution | None:
    """The best fit (10,), whether it could exist or not, made thick, to begin a search from: torques of a whole
    motion come at once, and from what the prior expects the search may not find its way.

    None for a fit that hangs out of all reach (three standard deviations), as one of next to no mass does.
    """
    if ten[0] <= 0 or np.linalg.norm(ten[1:4]) > 3 * PLAUSIBLE.reach * ten[0]:
        return None
    body = MassDistribution.from_ten(ten)
    return body.thickened(max(0.1 * float(body.moments[-1]), 1e-4 * body.mass))


class JointTorqueEstimator(LoadEstimator):
    """The load at the last link while it is carried, in that link's frame; the counterpart of `PayloadEstimator`.

    `noise` [N m] (n,): rms of a joint's residual torque; `drift` [N m] (n,): of its offset per square root of a
    second; `offset_std` [N m] (n,): what the offset may be at first.
    """

    def __init__(
        self,
        noise: ArrayLike,
        drift: ArrayLike,
        offset_std: ArrayLike,
        *,
        frame: str = "last link",
        memory_s: float = 60.0,
        chunk: int = 20,
    ) -> None:
        sigma = series("noise", noise, None)
        walk, start = series("drift", drift, len(sigma)), series("offset_std", offset_std, len(sigma))
        if min(sigma.min(), start.min()) <= 0 or walk.min() < 0:
            raise ProblemError(
                "noise and offset_std must be above zero and drift not negative, for every joint"
            )
        self._joints = len(sigma)
        track = Track(DirectRows(), sigma, walk, start)
        super().__init__(
            [(track, slice(0, 10))], frame=frame, memory_s=memory_s, chunk=chunk, unknowns=Unknowns()
        )

    def update(self, time: ArrayLike, rows: ArrayLike, residual: ArrayLike) -> None:
        """Take in samples: time [s] (N,), rows as in `fit_joint_torque` (N n, 10) and residual [N m] (N n,)."""
        torques = series("residual", residual, None)
        if len(torques) % self._joints:
            raise DataError(
                f"residual: {len(torques)} torques for {self._joints} joints; give one per joint and sample"
            )
        count = len(torques) // self._joints
        columns = series("rows", rows, len(torques), 10)
        self._add(
            np.column_stack([times(time, count), torques.reshape(count, -1), columns.reshape(count, -1)])
        )

    def _blocks(self, chunks: Array) -> list[list[ChunkRows]]:
        """Each chunk as the coefficients of a parabola over its time; noise in the rows is not told."""
        n, silent = self._joints, np.zeros(10)
        basis, _ = parabolas(chunks[:, :, 0])
        coefficients = np.swapaxes(basis, 1, 2) @ chunks[:, :, 1:]
        blocks = []
        for ones, table in zip(basis.sum(axis=1), coefficients, strict=True):
            rows = table[:, n:].reshape(-1, n, 10)
            blocks.append([ChunkRows(ones, rows * float(self._loaded), table[:, :n], silent, silent)])
        return blocks

    def _start(self) -> Point:
        body = body_near(self._tracks[0].unconstrained())
        return super()._start() if body is None else Point(body, 0.0, self._first_gravity())

    def _first_gravity(self) -> Array:
        return np.zeros(3)  # unused: gravity is within the rows
