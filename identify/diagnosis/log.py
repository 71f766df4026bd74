"""A log as it was recorded: tables of samples with their stamps, nothing filtered, sorted or left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.errors import DataError

__all__ = ["QUANTITIES", "Log", "Table"]

#: Tables of a log, and the key of a map that each comes from.
QUANTITIES = {
    "q": "position",
    "dq": "velocity",
    "tau": "torque",
    "wrench": "wrench",
    "temperature": "temperature",
}
FEWEST = 16  # samples


@dataclass(frozen=True, eq=False)
class Table:
    """Samples of one stream.

    t        stamps [s] as recorded, shape (T,); any order, NaN where there is none
    values   [SI], shape (T, k); NaN where nothing was measured
    names    of the columns, k of them
    host     a second clock's stamps of the same samples [s], shape (T,), or None
    stream   its name
    """

    t: Array
    values: Array
    names: tuple[str, ...]
    host: Array | None = None
    stream: str = ""

    def __len__(self) -> int:
        return len(self.t)

    @property
    def step_s(self) -> float:
        """The usual interval [s]: the median of those that are positive; NaN without any."""
        steps = np.diff(self.t)
        steps = steps[np.isfinite(steps) & (steps > 0)]
        return float(np.median(steps)) if len(steps) else float("nan")


@dataclass(frozen=True, eq=False)
class Log:
    """What was recorded of n joints.

    joints    names, n of them, in the order of the columns of q, dq and tau
    tables    by quantity: `q`, `dq`, `tau`, `wrench`, `temperature`; those that there are
    rate_hz   that the file states, or None
    breaks    where a segment of the recording begins [s]: intervals across these are no gaps
    """

    joints: tuple[str, ...]
    tables: Mapping[str, Table]
    rate_hz: float | None = None
    source: str = "arrays"
    breaks: tuple[float, ...] = ()

    @classmethod
    def of_arrays(
        cls,
        t: ArrayLike,
        q: ArrayLike,
        tau: ArrayLike | None = None,
        dq: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        temperature: ArrayLike | None = None,
        *,
        joints: tuple[str, ...] | None = None,
        host: ArrayLike | None = None,
        rate_hz: float | None = None,
    ) -> Log:
        """From arrays with one row per stamp: t [s] (T,), q, dq, tau, temperature (T, n), wrench (T, 6)."""
        stamps = np.array(t, dtype=np.float64)
        second = None if host is None else np.array(host, dtype=np.float64)
        given = {"q": q, "dq": dq, "tau": tau, "wrench": wrench, "temperature": temperature}
        tables = {}
        for key, value in given.items():
            if value is None:
                continue
            values = np.array(value, dtype=np.float64)
            if stamps.ndim != 1 or values.ndim != 2 or len(values) != len(stamps):
                raise DataError(
                    f"{key} has shape {values.shape}, with {stamps.shape} stamps it must be (T, n)"
                )
            names = joints if joints is not None and len(joints) == values.shape[1] else None
            names = names or tuple(f"{key}{i + 1}" for i in range(values.shape[1]))
            tables[key] = Table(stamps, values, names, second, QUANTITIES[key])
        if len(stamps) < FEWEST:
            raise DataError(f"{len(stamps)} samples; at least {FEWEST} are needed to say anything")
        count = tables["q"].values.shape[1]
        return cls(joints or tuple(f"joint{i + 1}" for i in range(count)), tables, rate_hz)

    @property
    def n(self) -> int:
        """Joints."""
        return len(self.joints)

    def get(self, quantity: str) -> Table | None:
        """A table, or None where there is none."""
        return self.tables.get(quantity)

    def with_values(self, **values: NDArray[Any]) -> Log:
        """The same log with other values in some tables."""
        return self.with_tables(
            **{key: replace(self.tables[key], values=value) for key, value in values.items()}
        )

    def with_tables(self, **tables: Table) -> Log:
        """The same log with some tables replaced."""
        return replace(self, tables={**self.tables, **tables})

    def retimed(self, scale: float) -> Log:
        """The same log with every stamp times `scale`."""
        tables = {
            key: replace(table, t=table.t * scale, host=None if table.host is None else table.host * scale)
            for key, table in self.tables.items()
        }
        return replace(self, tables=tables)
