"""Base parameters with values and standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from identify.arrays import Array, frozen

__all__ = ["BaseValues"]


@dataclass(frozen=True)
class BaseValues:
    """What the data determine.

    names        readable combinations of parameters
    values       shape (n_base,)
    covariance   of the values (002, Eq. 11), shape (n_base, n_base); infinite on the diagonal where data say nothing
    matrix       values = matrix @ parameters, shape (n_base, p)
    essential    names of those whose relative standard deviation is small (002, section III)
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    matrix: Array
    essential: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("values", "covariance", "matrix"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def std(self) -> Array:
        """Standard deviations, shape (n_base,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_std(self) -> Array:
        """Standard deviations over absolute values (002, Eq. 12), shape (n_base,)."""
        size = np.abs(self.values)
        return np.divide(self.std, size, out=np.full_like(size, np.inf), where=size > 0)
