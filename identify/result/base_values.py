"""Base parameters with values and standard deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.certainty.interval import quantile
from heft.identify.data import RowBlock

__all__ = ["BaseValues"]


@dataclass(frozen=True)
class BaseValues:
    """What the data determine.

    names        readable combinations of parameters
    values       shape (n_base,)
    covariance   of the values, shape (n_base, n_base), with all that is known to disturb them (docs/intervals.md);
                 infinite on the diagonal where data say nothing
    matrix       values = matrix @ parameters, shape (n_base, p)
    essential    names of those whose relative standard deviation is small (002, section III)
    degrees      of freedom that the covariance was estimated with
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    matrix: Array
    essential: tuple[str, ...] = ()
    degrees: float = np.inf

    def __post_init__(self) -> None:
        for name in ("values", "covariance", "matrix"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def std(self) -> Array:
        """Standard deviations, shape (n_base,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def half_widths(self) -> Array:
        """Of the 95 % intervals about the values, shape (n_base,)."""
        return quantile(self.degrees) * self.std

    def torque_std(self, block: RowBlock) -> Array:
        """Standard deviation of the torques that these parameters predict for rows [N m, N], shape (B, n)."""
        alone = (self.matrix != 0).sum(
            axis=0
        ) == 1  # a parameter of one combination only has that one's column
        rows, columns = np.nonzero((self.matrix == 1.0) & alone)
        place = dict(zip(columns.tolist(), rows.tolist(), strict=True))
        known = np.isfinite(np.diag(self.covariance))
        covariance = np.where(np.isfinite(self.covariance), self.covariance, 0.0)
        std = np.empty((len(block.table), block.layout.count))
        for j in range(std.shape[1]):
            part = block.layout.row(j)
            owners: dict[int, int] = {}  # base parameter to column: one each
            for column, parameter in enumerate(block.layout.parameters[part].tolist(), part.start):
                if parameter in place:
                    owners.setdefault(place[parameter], column)
            to = np.array(list(owners), dtype=np.int64)
            picked = block.table[:, np.array(list(owners.values()), dtype=np.int64)]
            square = ((picked @ covariance[np.ix_(to, to)]) * picked).sum(axis=1)
            lost = (picked[:, ~known[to]] != 0).any(axis=1)
            std[:, j] = np.where(lost, np.inf, np.sqrt(np.maximum(square, 0.0)))
        return std

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; what is infinite is null."""
        return {
            "names": list(self.names),
            "values": self.values.tolist(),
            "std": _with_null(self.std),
            "covariance": [_with_null(row) for row in self.covariance],
            "matrix": self.matrix.tolist(),
            "essential": list(self.essential),
            "degrees": self.degrees if np.isfinite(self.degrees) else None,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BaseValues:
        """Inverse of `to_dict`; files of before have no `degrees`."""
        covariance = [[np.inf if value is None else value for value in row] for row in data["covariance"]]
        return cls(
            tuple(data["names"]),
            np.array(data["values"]),
            np.array(covariance),
            np.array(data["matrix"]),
            tuple(data["essential"]),
            np.inf if data.get("degrees") is None else data["degrees"],
        )


def _with_null(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
