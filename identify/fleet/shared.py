"""What the joints of an arm share from session to session: weather and warming up, whether or not it was measured.

Friction of all joints falls on a warm evening and rises on a cold morning. Where nobody measured the temperature, or
measured it elsewhere, the other joints tell it: the median over them of what their friction is above its usual value.
One joint's own change moves that median hardly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.fleet.series import ALL_JOINTS, FRICTION, Series, kind_of

__all__ = ["with_shared"]

#: Joints that are needed to tell what they share: the median of fewer follows one of them.
FEWEST_JOINTS = 3


def with_shared(series: Sequence[Series]) -> list[Series]:
    """The series of one arm, with what its (other) joints share; and that itself, where temperatures explain it.

    Without temperatures a change of all joints at once cannot be told from weather, and is taken for it.
    """
    joints = [one for one in series if one.parameter.endswith(FRICTION)]
    if len(joints) <= FEWEST_JOINTS:
        return list(series)
    sessions, above = _above(joints)
    found = []
    for one in series:
        others = [i for i, joint in enumerate(joints) if _owner(joint) != _owner(one)]
        found.append(replace(one, shared=_at(one, sessions, _middle(above[:, others]))))
    everyone = _together(joints, sessions, _middle(above))
    return found if everyone is None else [*found, everyone]


def _owner(one: Series) -> str:
    return one.parameter.partition(".")[0]


def _above(joints: Sequence[Series]) -> tuple[NDArray[np.int64], Array]:
    """Times of sessions (S,), and logarithms of friction over its median (S, n), NaN where a joint's is missing."""
    sessions = np.unique(np.concatenate([one.time for one in joints]))
    above = np.full((len(sessions), len(joints)), np.nan)
    for column, one in enumerate(joints):
        y, _ = one.scaled
        above[np.searchsorted(sessions, one.time), column] = y - np.median(y)
    return sessions, above


def _middle(above: Array) -> Array:
    """Median of each row's known values; NaN where too few are known."""
    known = np.isfinite(above).sum(axis=1) >= FEWEST_JOINTS
    found = np.full(len(above), np.nan)
    found[known] = np.nanmedian(above[known], axis=1)
    return found


def _at(one: Series, sessions: NDArray[np.int64], values: Array) -> Array:
    """Values of the sessions of a series; NaN for those that have none."""
    place = np.clip(np.searchsorted(sessions, one.time), 0, len(sessions) - 1)
    return frozen(np.where(sessions[place] == one.time, values[place], np.nan))


def _together(joints: Sequence[Series], sessions: NDArray[np.int64], middle: Array) -> Series | None:
    """Friction of all joints as a series of its own; None where no temperature says what is usual."""
    kind = kind_of(ALL_JOINTS)
    assert kind is not None
    longest = max(joints, key=len)
    warm = np.full((len(sessions), len(joints)), np.nan)
    load = np.full(len(sessions), np.nan)
    names = np.empty(len(sessions), dtype=object)
    for column, one in enumerate(joints):
        place = np.searchsorted(sessions, one.time)
        warm[place, column], load[place], names[place] = one.temperature, one.load, one.sessions
    good = np.isfinite(middle) & np.isfinite(warm).any(axis=1)
    if not good.all():
        return None
    return replace(
        longest,
        parameter=ALL_JOINTS,
        unit="",
        kind=kind,
        sessions=names,
        time=sessions,
        value=frozen(np.exp(middle)),
        std=frozen(np.full(len(sessions), np.nan)),
        temperature=frozen(np.nanmean(warm, axis=1)),
        load=frozen(load),
        shared=None,
    )
