"""What the joints of an arm share from session to session: weather and warming up, where nobody measured it (there).

Friction of all joints falls on a warm evening and rises on a cold morning. What temperature and load do not explain of
joint j is r_j = l_j f + e_j, with f of the session and l_j of the joint. l_j is found from differences of neighbouring
sessions, and f is the median of r_j / l_j over the other joints: one joint's own change moves it hardly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.fleet.noise import explained, running_median
from heft.identify.fleet.series import FRICTION, Series

__all__ = ["with_shared"]

#: Joints that are needed to tell what they share: the median of fewer follows one of them.
FEWEST_JOINTS = 3
#: Differences of a joint must resemble those of the others so much (correlation), and by so many of its standard
#: deviations (about 1 / sqrt(T)): else it shares nothing.
ALIKE, SURE_ALIKE = 0.2, 2.5
#: Sessions before that can be said.
FEWEST = 12
#: What a joint does alone: its median over so many sessions, from so many standard deviations of one on; so often.
WEEKS, ALONE, SWEEPS = 9, 1.5, 2


def with_shared(series: Sequence[Series]) -> list[Series]:
    """The series of one arm, with what its (other) joints share.

    Where they share weather that nobody measured, a change of all joints at once cannot be told from it, and is taken
    for it.
    """
    joints = [one for one in series if one.parameter.endswith(FRICTION)]
    if len(joints) <= FEWEST_JOINTS:
        return list(series)
    rest = _Rest.of(joints)
    everybody = rest.shared(None)
    if everybody is None:
        return list(series)
    for _ in range(SWEEPS):  # what a joint does alone moves the median of the others still a little
        rest = rest.in_common(everybody)
        everybody = rest.shared(None)
        if everybody is None:
            return list(series)
    shares = {_owner(joint): rest.shared(column) for column, joint in enumerate(joints)}
    found = []
    for one in series:
        said = shares.get(_owner(one), everybody)
        found.append(one if said is None else replace(one, shared=rest.at(one, said)))
    return found


def _owner(one: Series) -> str:
    return one.parameter.partition(".")[0]


@dataclass(frozen=True)
class _Rest:
    """Sessions (S,), and what temperature and load leave of each joint's friction (S, n), NaN where missing."""

    sessions: NDArray[np.int64]
    rest: Array

    @classmethod
    def of(cls, joints: Sequence[Series]) -> _Rest:
        sessions = np.unique(np.concatenate([one.time for one in joints]))
        rest = np.full((len(sessions), len(joints)), np.nan)
        for column, one in enumerate(joints):
            y, _ = one.scaled
            left = y - explained(y, one.covariates()[1])
            rest[np.searchsorted(sessions, one.time), column] = left - np.median(left)
        return cls(sessions, rest)

    def shared(self, without: int | None) -> Array | None:
        """f (S,) of all joints but one; None where they share nothing."""
        others = [column for column in range(self.rest.shape[1]) if column != without]
        middle = _middle(self.rest[:, others])
        scaled = [
            self.rest[:, column] / part
            for column in others
            if (part := self._part(column, middle, 1.0 / np.sqrt(len(others)))) > 0.0
        ]
        return _middle(np.column_stack(scaled)) if len(scaled) >= FEWEST_JOINTS else None

    def _part(self, column: int, shared: Array, by_chance: float) -> float:
        """l_j of a joint, by differences; 0 where these resemble each other no more than by chance."""
        step, own = np.diff(shared), np.diff(self.rest[:, column])
        both = np.isfinite(own) & np.isfinite(step)
        if both.sum() < FEWEST:
            return 0.0
        x, y = _mild(step[both]), _mild(own[both])
        alike = float(np.corrcoef(x, y)[0, 1]) if x.any() and y.any() else 0.0
        # The median of the joints holds a part of each one's own scatter.
        sure = alike - by_chance > max(ALIKE, SURE_ALIKE / np.sqrt(both.sum()))
        return float(x @ y) / float(x @ x) if sure else 0.0

    def in_common(self, shared: Array) -> _Rest:
        """The same without what single joints do beside the others for weeks."""
        rest = self.rest.copy()
        for column in range(rest.shape[1]):
            known = np.isfinite(rest[:, column]) & np.isfinite(shared)
            if known.sum() < FEWEST:
                continue
            left = rest[known, column] - self._part(column, shared, 0.0) * shared[known]
            alone = running_median(left - np.median(left), WEEKS)
            scatter = float(np.median(np.abs(np.diff(left)))) / 0.6745 / np.sqrt(2.0)
            rest[known, column] -= np.where(np.abs(alone) > ALONE * scatter, alone, 0.0)
        return replace(self, rest=rest)

    def at(self, one: Series, values: Array) -> Array:
        """Values of the sessions of a series; NaN for those that have none."""
        place = np.clip(np.searchsorted(self.sessions, one.time), 0, len(self.sessions) - 1)
        return frozen(np.where(self.sessions[place] == one.time, values[place], np.nan))


def _mild(values: Array) -> Array:
    """Differences about their median, those of steps drawn in."""
    values = values - np.median(values)
    most = 3.0 * float(np.median(np.abs(values))) / 0.6745
    return np.clip(values, -most, most)


def _middle(rest: Array) -> Array:
    """Median of each row's known values; NaN where too few are known."""
    known = np.isfinite(rest).sum(axis=1) >= FEWEST_JOINTS
    found = np.full(len(rest), np.nan)
    found[known] = np.nanmedian(rest[known], axis=1)
    return found
