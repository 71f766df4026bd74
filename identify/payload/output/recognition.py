"""Which known object is this (004, section 4.1)? By mass and principal moments, which no grasp changes.

For each object the estimate is compared with what it should be, allowing for the estimate's uncertainty and for how
much two of the kind differ; moments that the motion did not tell are left out. "Something else" is one of the
hypotheses: an object with any mass and moments at all. Where the centre of mass lies and how the principal axes
stand then says whether the object is held as it should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heft.daq.config.objects import ObjectConfig
from heft.identify.bodies.arrays import Array, frozen
from heft.identify.errors import ProblemError
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.output.payload_frames import PrincipalInertia, principal_inertia

__all__ = ["Candidate", "GraspCheck", "Recognition", "recognise"]


@dataclass(frozen=True)
class _RecognitionRules:
    """When an object is called known, and held as it should be. Chosen, not tuned.

    strange   prior probability of an object that is not in the library
    decades   that a strange object's mass and moments may be anywhere in
    sure      probability from which an answer is given
    distinct  relative difference of an object's moments from which its axes are compared
    sigmas    standard deviations that a place or an angle may be off
    """

    strange: float = 0.2
    decades: int = 3
    sure: float = 0.9
    distinct: float = 0.1
    sigmas: float = 2.0


_RULES = _RecognitionRules()


@dataclass(frozen=True)
class Candidate:
    """A known object and its probability; `distance` is in standard deviations."""

    name: str
    probability: float
    distance: float


@dataclass(frozen=True)
class GraspCheck:
    """Whether the object is held where it should be; `ok` None: the data do not tell.

    `offset` [m] (3,) of the centre of mass from where it should be, in the flange's frame; `angle` [rad] of the
    principal axes from where they should be, None if they mean nothing.
    """

    ok: bool | None
    offset: Array
    angle: float | None
    reason: str


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
    grasp = None if match is None or match.grasp is None else _grasp(estimate, principal, match)
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


def _grasp(estimate: PayloadEstimate, principal: PrincipalInertia, known: ObjectConfig) -> GraspCheck:
    grasp = known.grasp
    assert grasp is not None
    R = _rotation(grasp.rpy)
    offset = frozen(estimate.com - (R @ np.array(known.com) + np.array(grasp.position)))
    size, doubt = float(np.linalg.norm(offset)), float(np.linalg.norm(estimate.std.com))
    angle, loose = _turned(principal, R, known)
    if not np.isfinite(doubt):
        return GraspCheck(None, offset, angle, "the centre of mass is not known yet; tilt the object")
    if size > grasp.tolerance + _RULES.sigmas * doubt:
        return GraspCheck(
            False,
            offset,
            angle,
            f"the centre of mass is {1000 * size:.1f} mm from where it should be, the bound is "
            f"{1000 * grasp.tolerance:.1f} mm; grasp again",
        )
    if angle is not None and angle > grasp.angle_tolerance + _RULES.sigmas * loose:
        return GraspCheck(
            False,
            offset,
            angle,
            f"the object is turned by {np.degrees(angle):.0f} deg, the bound is "
            f"{np.degrees(grasp.angle_tolerance):.0f} deg; grasp again",
        )
    if _RULES.sigmas * doubt > grasp.tolerance:
        return GraspCheck(
            None, offset, angle, f"the centre of mass is known to {1000 * doubt:.1f} mm only; tilt the object"
        )
    return GraspCheck(True, offset, angle, "held where it should be")


def _turned(principal: PrincipalInertia, R: Array, known: ObjectConfig) -> tuple[float | None, float]:
    """Largest angle [rad] between axes that mean something, here and in the library, and its deviation."""
    moments, axes = np.linalg.eigh(np.array(known.inertia_matrix))
    moments, axes = moments[::-1], (R @ axes)[:, ::-1]
    angles = []
    for k in range(3):
        others = [moments[(k + 1) % 3], moments[(k + 2) % 3]]
        distinct = all(abs(moments[k] - other) > _RULES.distinct * max(moments[k], other) for other in others)
        if distinct and principal.axes_defined[k]:
            cosine = min(abs(float(axes[:, k] @ principal.axes[:, k])), 1.0)
            angles.append(float(np.arccos(cosine)))
    return (max(angles), float(principal.angle_std.min())) if angles else (None, 0.0)


def _rotation(rpy: tuple[float, float, float]) -> Array:
    """Object to flange: turned about x, then y, then z of the flange."""
    (a, b, c), (s, t, u) = np.cos(rpy), np.sin(rpy)
    about_x = np.array([[1, 0, 0], [0, a, -s], [0, s, a]])
    about_y = np.array([[b, 0, t], [0, 1, 0], [-t, 0, b]])
    about_z = np.array([[c, -u, 0], [u, c, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x
