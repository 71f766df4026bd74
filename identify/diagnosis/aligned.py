"""A log as a dataset: cleaned as recordings are, torques and wrench at the instants of the positions."""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data import Dataset
from heft.identify.diagnosis.log import Log, Table
from heft.identify.errors import DataError

__all__ = ["dataset_of"]


def dataset_of(log: Log, *, velocities: bool = False) -> Dataset:
    """`DataError` where there are no torques, or too little can be used; measured velocities only where asked for."""
    q, tau, wrench = (log.get(key) for key in ("q", "tau", "wrench"))
    dq = log.get("dq") if velocities else None
    if q is None or tau is None:
        raise DataError("no torques")
    force = None if wrench is None else _at(q, wrench)
    measured = None if dq is None else _at(q, dq)
    return Dataset.from_arrays(q.t, q.values, _at(q, tau), measured, wrench=force)


def _at(q: Table, other: Table) -> Array:
    """Values of another table at the stamps of positions; NaN outside its own."""
    if other.t is q.t or np.array_equal(other.t, q.t, equal_nan=True):
        return other.values
    t, first = np.unique(other.t, return_index=True)
    good = np.isfinite(t) & np.isfinite(other.values[first]).all(axis=1)
    if good.sum() < 2:
        return np.full((len(q), other.values.shape[1]), np.nan)
    t, values = t[good], other.values[first][good]
    columns = [np.interp(q.t, t, column, left=np.nan, right=np.nan) for column in values.T]
    return np.stack(columns, axis=1)
