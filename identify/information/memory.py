"""Exponential forgetting, in seconds: a row of age a counts exp(-a / memory) of a new one.

Under motion that excites alike all the time, an estimate from rows that are weighed so follows a step in a parameter
with the time constant `memory`: after so many seconds 63 % of the step is in it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError

__all__ = ["ages", "checked_memory", "remembered"]


def remembered(age_s: Array, memory_s: float) -> Array:
    """Weights on the squares of rows of these ages [s]; ones for an infinite memory."""
    return np.exp(-np.asarray(age_s) / memory_s)


def ages(times: Iterable[Array]) -> list[Array]:
    """How long before the last row each row was [s], from the rows' times in pieces.

    A time that does not go on from the one before is that of another dataset: it is taken to follow directly.
    """
    clock, shift, last = [], 0.0, -np.inf
    for time in times:
        if time[0] + shift <= last:
            shift = last - float(time[0])
        clock.append(time + shift)
        last = float(clock[-1][-1])
    return [last - one for one in clock]


def checked_memory(memory_s: float) -> float:
    """The memory [s]; `ProblemError` where it is none."""
    if not memory_s > 0:
        raise ProblemError(f"memory_s {memory_s:g} s must be above 0; inf forgets nothing")
    return memory_s
