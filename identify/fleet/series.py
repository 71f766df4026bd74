"""Series of one quantity of one arm over its sessions, and how each quantity is looked at."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen

__all__ = ["DAY_US", "FRICTION", "KINDS", "Kind", "Series", "kind_of", "series_of"]

#: The quantity of a joint that weather and wear change first.
FRICTION = ".friction"

DAY_US = 86_400e6


@dataclass(frozen=True)
class Kind:
    """A kind of quantity, by a pattern of its name.

    log          looked at by its logarithm: changes are shares of it
    covariates   what else changes it, and is taken off by regression; with the temperature goes what an arm's joints
                 share (`shared`)
    """

    pattern: str
    log: bool
    covariates: tuple[str, ...] = ()


#: What is watched, the first pattern that fits counts; quantities of no pattern are in the table alone.
KINDS: tuple[Kind, ...] = (
    Kind("*.friction", True, ("temperature", "load")),
    Kind("*.offset", False, ("temperature", "load")),
    Kind("*.gain", True, ("temperature",)),
    Kind("hand.mass", True, ("load",)),
    Kind("*.mass", True, ("load",)),
    Kind("*.tracking_error", True, ("temperature", "load")),
    Kind("*.torque_error", True, ("temperature", "load")),
    Kind("torque_error", True, ("temperature", "load")),
    Kind("clock_skew.*", False, ("temperature",)),
    Kind("delay.*", False, ()),
    Kind("loss.*", False, ()),
)


def kind_of(parameter: str) -> Kind | None:
    """How a quantity is looked at; None where it is not watched."""
    return next((kind for kind in KINDS if fnmatch.fnmatchcase(parameter, kind.pattern)), None)


@dataclass(frozen=True, eq=False)
class Series:
    """One quantity of one arm, in the order of time; all arrays of shape (T,).

    time         UTC [us]
    value, std   in `unit`; std NaN where only the scatter of the values tells it
    temperature  [K], `load` [kg]; NaN where not known
    shared       what the friction of the arm's other joints was above its usual value, as a logarithm; NaN or None
                 where that is not known
    """

    robot: str
    arm: str
    parameter: str
    unit: str
    kind: Kind
    sessions: NDArray[Any]
    time: NDArray[np.int64]
    value: Array
    std: Array
    temperature: Array
    load: Array
    shared: Array | None = None

    def __len__(self) -> int:
        return len(self.time)

    @property
    def scaled(self) -> tuple[Array, Array]:
        """What is looked at, and its standard deviation: the logarithm where the kind says so, shape (T,) each."""
        std = np.where(np.isfinite(self.std), self.std, 0.0)
        if not self.kind.log:
            return self.value, std
        return np.log(self.value), std / self.value

    @property
    def days(self) -> Array:
        """Time since the first session [days], shape (T,)."""
        return (self.time - self.time[0]) / DAY_US

    def covariates(self) -> tuple[tuple[str, ...], Array]:
        """Names and columns (T, c) of what is taken off, centred; without those that are not known or hardly vary."""
        wanted = self.kind.covariates
        names, columns = [], []
        for name, column, least in (("temperature", self.temperature, 0.2), ("load", self.load, 1e-3)):
            if name in wanted and np.isfinite(column).all() and np.std(column) > least:
                names.append(name)
                columns.append(column - column.mean())
        if "temperature" in wanted and self.shared is not None and np.isfinite(self.shared).all():
            names.append("shared")
            columns.append(self.shared - self.shared.mean())
        return tuple(names), np.column_stack(columns) if columns else np.zeros((len(self), 0))


def series_of(table: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Iterator[Series]:
    """The watched series of a table's columns (arrays of one length), sessions that failed and unknown times left out.

    Rows that the prior dominates tell of the file and not of the arm; they are left out, too.
    """
    column = {name: np.asarray(values) for name, values in table.items()}
    time = column["time"].astype("datetime64[us]").astype(np.int64)
    value = column["value"].astype(np.float64)
    good = np.isfinite(value) & (time != 0) & (column["verdict"] != "failed")
    good &= ~column["prior_dominated"].astype(np.bool_)
    good = np.flatnonzero(good)
    names, at = np.unique(column["parameter"][good].astype(str), return_inverse=True)
    kinds = [kind_of(str(name)) for name in names]
    positive = np.array([kind is not None and kind.log for kind in kinds])[at]
    watched = np.array([kind is not None for kind in kinds])[at] & (~positive | (value[good] > 0))
    good, at = good[watched], at[watched]
    # Two models may have had one name of an arm in turn.
    owners = [
        f"{arm}\0{robot}" for arm, robot in zip(column["arm"][good], column["robot"][good], strict=True)
    ]
    _, of = np.unique(np.array(owners, dtype=np.str_), return_inverse=True)
    order = np.lexsort((time[good], at, of))
    good, at, of = good[order], at[order], of[order]
    edges = np.flatnonzero(np.diff(of * len(names) + at, prepend=-1))
    for first, last in zip(edges, [*edges[1:], len(good)], strict=True):
        rows = good[first:last]
        kind = kinds[at[first]]
        assert kind is not None
        yield Series(
            robot=str(column["robot"][rows[0]]),
            arm=str(column["arm"][rows[0]]),
            parameter=str(names[at[first]]),
            unit=str(column["unit"][rows[0]]),
            kind=kind,
            sessions=column["session"][rows],
            time=time[rows],
            value=frozen(value[rows]),
            std=frozen(column["std"][rows].astype(np.float64)),
            temperature=frozen(column["temperature"][rows].astype(np.float64)),
            load=frozen(column["load"][rows].astype(np.float64)),
        )
