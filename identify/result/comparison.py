"""Results side by side: which parameters moved by more than their intervals allow, and who predicts whose data.

Compared are base parameters, since only they are determined by data. Of two independent estimates a and b of one value
the difference has the variance s_a^2 + s_b^2; with n values compared at once, one has moved if

    |a - b| > z sqrt(s_a^2 + s_b^2),   z = Phi^-1(1 - (1 - confidence) / (2 n))

so that with equal robots all n stay within their bounds in `confidence` of the comparisons (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from heft.daq.recording import Recording
from heft.identify.bodies.arrays import Array, frozen
from heft.identify.data.from_recording import IDENTIFICATION, datasets_of
from heft.identify.errors import HeftError, ProblemError

if TYPE_CHECKING:
    from heft.identify.data import Dataset
    from heft.identify.result import Result

__all__ = ["Comparison", "Difference", "Move", "compare", "data_of"]

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Move:
    """One base parameter in two results; `std` is that of the difference, infinite where data say nothing."""

    name: str
    first: float
    second: float
    std: float

    @property
    def score(self) -> float:
        """Difference over its standard deviation; 0 where data say nothing."""
        if not np.isfinite(self.std):
            return 0.0
        change = self.second - self.first
        return change / self.std if self.std > 0 else float(np.sign(change) * np.inf) if change else 0.0


@dataclass(frozen=True)
class Difference:
    """Result `second` against result `first`, by number.

    moves      every base parameter that both have
    bound      largest score that chance explains
    unmatched  base parameters that only one of the two has (other joint terms)
    """

    first: int
    second: int
    moves: tuple[Move, ...]
    bound: float
    unmatched: tuple[str, ...]

    @property
    def moved(self) -> tuple[Move, ...]:
        """Those beyond their bound, the most certain first."""
        beyond = [move for move in self.moves if abs(move.score) > self.bound]
        return tuple(sorted(beyond, key=lambda move: -abs(move.score)))

    @property
    def rms_score(self) -> float:
        """Root mean square of the scores; about 1 where nothing has changed and intervals are honest."""
        known = [move.score for move in self.moves if np.isfinite(move.std)]
        return float(np.sqrt(np.mean(np.square(known)))) if known else 0.0


@dataclass(frozen=True)
class Comparison:
    """Every result against the first one.

    errors   relative torque error of result i on the data of result j, shape (k, k); NaN where data are not at hand
    """

    differences: tuple[Difference, ...]
    errors: Array


def compare(
    results: Sequence[Result],
    data: Sequence[Sequence[Dataset]] | None = None,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare two results or more; `data` are those of each result, empty where they are not at hand."""
    if len(results) < 2:
        raise ProblemError(f"{len(results)} result to compare; give at least two")
    if not 0 < confidence < 1:
        raise ProblemError(f"confidence {confidence}: choose one between 0 and 1")
    differences = tuple(_difference(results, second, confidence) for second in range(1, len(results)))
    errors = np.full((len(results), len(results)), np.nan)
    for j, own in enumerate(data or ()):
        for i, result in enumerate(results):
            if own:
                errors[i, j] = result.relative_error(list(own)).total
    return Comparison(differences, frozen(errors))


def data_of(
    result: Result, *folders: Path, opened: Callable[[Path], Recording] = Recording.open
) -> tuple[list[Dataset], list[str]]:
    """The data that a result was identified from, its recordings in one of `folders` or here; and what is missing.

    `opened` gives the recording at a path. Data with another hash than the result's are not used: a recording that
    changed, or that is read another way.
    """
    found, missing = [], []
    for source in dict.fromkeys(origin.source for origin in result.provenance.data):
        hashes = [origin.hash for origin in result.provenance.data if origin.source == source]
        places = [path for path in (*(folder / source for folder in folders), Path(source)) if path.is_file()]
        why = [] if places else [f"{source}: not at hand"]
        for place in dict.fromkeys(places):
            parts, reason = _read(place, opened, result, hashes)
            if not reason:
                found += parts
                break
            why.append(reason)
        else:
            missing.append(why[0])
    return ([] if missing else found), missing


def _read(
    place: Path, opened: Callable[[Path], Recording], result: Result, hashes: Sequence[str]
) -> tuple[list[Dataset], str]:
    """A recording's data, or why they are not those of a result."""
    try:
        recording = opened(place)
        parts = datasets_of(recording, result.robot, IDENTIFICATION)
        if (load := result.provenance.load_of(recording)) is not None:
            parts = [part.loaded(load) for part in parts]
    except HeftError as exc:
        return [], f"{place}: {exc}"
    if [part.fingerprint for part in parts] != hashes:
        return [], f"{place}: holds other data than the result was identified from"
    return parts, ""


def _difference(results: Sequence[Result], second: int, confidence: float) -> Difference:
    a, b = results[0], results[second]
    same = (a.robot.name, a.robot.links, a.robot.joints) == (b.robot.name, b.robot.links, b.robot.joints)
    if not same:
        raise ProblemError(
            f"result 1 is of {a.robot.name} ({', '.join(a.robot.links)}), result {second + 1} of {b.robot.name} "
            f"({', '.join(b.robot.links)}); compare results of one robot"
        )
    where = {name: i for i, name in enumerate(b.base.names)}
    common = [(i, where[name]) for i, name in enumerate(a.base.names) if name in where]
    if not common:
        raise ProblemError(
            f"results 1 and {second + 1} share no base parameter: their robots have other lengths or axes; "
            "identify both with one robot's file"
        )
    moves = tuple(
        Move(
            a.base.names[i],
            float(a.base.values[i]),
            float(b.base.values[j]),
            float(np.hypot(a.base.std[i], b.base.std[j])),
        )
        for i, j in common
    )
    shared = {move.name for move in moves}
    unmatched = [name for name in dict.fromkeys((*a.base.names, *b.base.names)) if name not in shared]
    bound = float(norm.ppf(1 - (1 - confidence) / (2 * len(moves))))
    return Difference(0, second, moves, bound, tuple(unmatched))
