"""Which known object is this (004, section 4.1)? By mass and principal moments, which no grasp changes.

For each object the estimate is compared with what it should be, allowing for the estimate's uncertainty and for how
much two of the kind differ; moments that the motion did not tell are left out. "Something else" is one of the
hypotheses: an object with any mass and moments at all. Whether a known object is held as it should be, `grasp_check`
says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heft.daq.config.objects import ObjectConfig
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.output.grasp_check import GraspCheck, check_grasp
from heft.identify.payload.output.payload_frames import PrincipalInertia, principal_inertia

__all__ = ["Candidate", "Recognition", "recognise"]


@dataclass(frozen=True)
class _RecognitionRules:
    """When an object is called known. Chosen, not tuned.

    strange   prior probability of an object that is not in the library
    decades   that a strange object's mass and moments may be anywhere in
    sure      probability from which an answer is given
    """

    strange: float = 0.2
    decades: int = 3
    sure: float = 0.9


_RULES = _RecognitionRules()


@dataclass(frozen=True)
class Candidate:
    """A known object and its probability; `distance` is in standard deviations."""

    name: str
    probability: float
    distance: float


@dataclass(frozen=True)
class Recognition:
    """The answer: `known` (then `name` is set), `ambiguous`, `unknown`, or `nothing` in the gripper.

    `candidates` are all objects of the library, the most probable first; `strange` is the probability of an object
    that is not among them; `compared` says what could be compared.
    """

    verdict: Literal["known", "ambiguous", "unknown", "nothing"]
    name: str | None
    candidates: tuple[Candidate, ...]
    strange: float
    compared: tuple[str, ...]
    grasp: GraspCheck | None


def recognise(estimate: PayloadEstimate, library: Sequence[ObjectConfig]) -> Recognition:
    """Which object of the library this is, from an estimate in the flange's frame."""
    estimate.require_frame("flange")
    if not library:
        raise ProblemError("a library without objects; load one with load_objects()")
    principal = principal_inertia(estimate)
    kept, compared = _features(estimate, principal)
    values = np.array([estimate.mass, *principal.moments])[kept]
    covariance = principal.covariance[np.ix_(kept, kept)]
    logs, distances = [], []
    for known in library:
        log, distance = _likelihood(known, values, covariance, kept)
        logs.append(log + np.log((1 - _RULES.strange) / len(library)))
        distances.append(distance)
    logs.append(
        float(
            np.log(_RULES.strange) - np.sum(np.log(np.maximum(values, 1e-12) * np.log(10.0**_RULES.decades)))
        )
    )
    shares = np.exp(np.array(logs) - max(logs))
    shares /= shares.sum()
    candidates = sorted(
        (Candidate(k.name, float(p), d) for k, p, d in zip(library, shares, distances, strict=False)),
        key=lambda one: -one.probability,
    )
    strange = float(shares[-1])
    verdict: Literal["known", "ambiguous", "unknown", "nothing"]
    if estimate.empty:
        verdict = "nothing"
    elif strange >= _RULES.sure:
        verdict = "unknown"
    else:
        verdict = "known" if candidates[0].probability >= _RULES.sure else "ambiguous"
    name = candidates[0].name if verdict == "known" else None
    match = next((known for known in library if known.name == name), None)
    grasp = None if match is None or match.grasp is None else check_grasp(estimate, principal, match)
    return Recognition(verdict, name, tuple(candidates), strange, compared, grasp)


def _features(estimate: PayloadEstimate, principal: PrincipalInertia) -> tuple[list[int], tuple[str, ...]]:
    """Which of mass and the three moments the data tell, by index and by name."""
    measured = [estimate.marks["mass"] == "measured", *principal.measured]
    names = ("mass", "moment1", "moment2", "moment3")
    kept = [i for i in range(4) if measured[i]]
    return kept, tuple(names[i] for i in kept)


def _likelihood(
    known: ObjectConfig, values: Array, covariance: Array, kept: list[int]
) -> tuple[float, float]:
    """Logarithm of the density of the values if it is this object, and their distance in standard deviations."""
    moments = np.linalg.eigvalsh(np.array(known.inertia_matrix))[::-1]
    expected = np.array([known.mass, *moments])
    spread = expected * np.array([known.mass_spread, *[known.inertia_spread] * 3])
    total = covariance + np.diag(spread[kept] ** 2)
    away = values - expected[kept]
    distance = float(np.sqrt(away @ np.linalg.solve(total, away))) if kept else 0.0
    volume = float(np.linalg.slogdet(2 * np.pi * total)[1]) if kept else 0.0
    return -0.5 * (distance**2 + volume), distance
