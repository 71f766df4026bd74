"""Gear ratios and torque constants that a file brings along beside its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.importing.guessing.families import Family, largest
from heft.daq.importing.guessing.names import words_of
from heft.daq.importing.table import Table

__all__ = ["position_gear", "torque_constant", "torque_gear"]

_GEAR = frozenset(("gear", "gears", "reduction", "ratio", "ratios", "gearing"))
_CONSTANT = frozenset(("kt", "constant", "constants", "kmotor", "km"))


def position_gear(table: Table, position: Family, values: NDArray[np.float64]) -> tuple[dict[str, Any], str]:
    """What the map says of the gear of positions (N, n), and why: they are divided by it where they are the motors'."""
    gear = _beside(table, _GEAR, values.shape[1])
    if gear is None or not position.hints.motor or largest(values) < 3 * np.pi:
        return {}, ""
    return {"gear": gear[1]}, f"; at the motors: divided by {gear[0]}"


def torque_gear(
    table: Table, torque: Family, families: Sequence[Family], values: NDArray[np.float64], *, turned: bool
) -> tuple[dict[str, Any], str]:
    """The same of torques (N, n), which are multiplied; `turned`: positions were divided by it."""
    gear = _beside(table, _GEAR, values.shape[1])
    if gear is None:
        return {}, ""
    at_motor = torque.hints.motor or turned
    # Another torque that is said to be the motors' makes this one the joints'.
    another = any(
        one is not torque and one.hints.quantity in ("torque", "current") and one.hints.motor
        for one in families
    )
    if not at_motor and another:
        return {}, ""
    why = (
        "the file's gear ratios"
        if at_motor
        else "positions are of the joints, so it can only be for torques: check it"
    )
    return {"gear": gear[1]}, f"; times {gear[0]} ({why})"


def torque_constant(table: Table, n: int) -> tuple[str, list[float]] | None:
    """Torque constants of n joints [N m/A] and what they are called; None: there are none."""
    return _beside(table, _CONSTANT, n)


def _beside(table: Table, names: frozenset[str], n: int) -> tuple[str, list[float]] | None:
    """An array of n numbers that the file holds beside its rows, by a word in its name."""
    for name, value in table.constants.items():
        if (
            set(words_of(name)) & names
            and value.dtype.kind in "fiu"
            and value.shape == (n,)
            and np.all(value != 0)
        ):
            return name, [float(one) for one in value]
    return None
