"""The one array type, and how a value keeps one: as its own read-only copy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "frozen"]

Array = NDArray[np.float64]


def frozen(values: ArrayLike) -> Array:
    """A read-only copy of `values` as doubles."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
