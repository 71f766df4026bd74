"""Is an object held as it should be? By where its centre of mass lies and how its principal axes stand.

Each is off by a vector x (of place, or of turns about the principal axes that mean something) with covariance C. A
grasp may be off by any u up to its tolerance t, so what counts is how far x is from all of those, in standard
deviations:

    D^2 = min over |u| <= t of (x - u)' C^-1 (x - u)

If the object is held right, D^2 is at most chi-squared with as many degrees of freedom as x has numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri

from heft.daq.config.objects import ObjectConfig
from heft.identify.bodies.arrays import Array, frozen
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.output.payload_frames import PrincipalInertia

__all__ = ["FALSE_ALARM", "GraspCheck", "check_grasp"]

FALSE_ALARM = (
    0.05  # chance that an object at the edge of its tolerances is called wrong; half for place, half for turn
)
DISTINCT = (
    0.1  # relative difference of two moments from which a turn about the third axis means something. Chosen
)
SURE = 1.96  # standard deviations that a place must be known to, of its tolerance, to be called right
SIGNS = tuple(np.diag(s) for s in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)))  # axes have no heads


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


def check_grasp(estimate: PayloadEstimate, principal: PrincipalInertia, known: ObjectConfig) -> GraspCheck:
    """The grasp of a known object, from an estimate in the flange's frame and its principal moments."""
    grasp = known.grasp
    assert grasp is not None
    R = _rotation(grasp.rpy)
    offset = frozen(estimate.com - (R @ np.array(known.com) + np.array(grasp.position)))
    spread = estimate.covariance[1:4, 1:4]
    turn, told = _turn(principal, R, known)
    angle = float(np.linalg.norm(turn)) if told else None
    if not np.all(np.isfinite(estimate.std.com)):
        return GraspCheck(None, offset, angle, "the centre of mass is not known yet; tilt the object")
    if _beyond(offset, spread, grasp.tolerance):
        size = float(np.linalg.norm(offset))
        return GraspCheck(
            False,
            offset,
            angle,
            f"the centre of mass is {1000 * size:.1f} mm from where it should be, the bound is "
            f"{1000 * grasp.tolerance:.1f} mm; grasp again",
        )
    if angle is not None and _beyond(
        turn[told], principal.angle_covariance[np.ix_(told, told)], grasp.angle_tolerance
    ):
        return GraspCheck(
            False,
            offset,
            angle,
            f"the object is turned by {np.degrees(angle):.0f} deg, the bound is "
            f"{np.degrees(grasp.angle_tolerance):.0f} deg; grasp again",
        )
    doubt = float(np.sqrt(np.linalg.eigvalsh(spread)[-1]))
    if SURE * doubt > grasp.tolerance:
        return GraspCheck(
            None, offset, angle, f"the centre of mass is known to {1000 * doubt:.1f} mm only; tilt the object"
        )
    return GraspCheck(True, offset, angle, "held where it should be")


def _beyond(x: Array, covariance: Array, tolerance: float) -> bool:
    """Whether x (k,) is further from all that is within the tolerance than chance explains."""
    variances, axes = np.linalg.eigh(covariance)
    weights = 1 / np.maximum(variances, variances[-1] * np.finfo(float).eps)
    along = axes.T @ x
    if float(np.linalg.norm(along)) <= tolerance:
        return False

    def inside(log: float) -> float:
        """How far beyond the tolerance the nearest u is, at a Lagrange multiplier."""
        return float(np.linalg.norm(weights / (weights + np.exp(log)) * along)) - tolerance

    low, high = np.log(weights.min()) - 40.0, np.log(weights.max()) + 40.0
    multiplier = np.exp(brentq(inside, low, high)) if inside(high) < 0 < inside(low) else np.exp(high)
    away = multiplier / (weights + multiplier) * along
    return bool(away @ (weights * away) > chdtri(len(x), FALSE_ALARM / 2))


def _turn(principal: PrincipalInertia, R: Array, known: ObjectConfig) -> tuple[Array, list[int]]:
    """Turn [rad] (3,) about the principal axes, from where they should be, and about which of them it means something.

    One that means something about two axes only, as of a bottle, is that of the third axis' direction.
    """
    moments, axes = np.linalg.eigh(np.array(known.inertia_matrix))
    moments, axes = moments[::-1], (R @ axes)[:, ::-1]
    axes = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
    pairs = [(moments[(k + 1) % 3], moments[(k + 2) % 3]) for k in range(3)]
    distinct = [abs(a - b) > DISTINCT * max(a, b) for a, b in pairs]
    told = [k for k in range(3) if distinct[k] and not principal.loose(k)]
    if len(told) < 2:
        return np.zeros(3), []
    relative = principal.axes.T @ axes  # where they should be, along the axes as they are
    if len(told) == 3:
        turns = [_rotation_vector((relative @ sign).T) for sign in SIGNS]
        return min(turns, key=lambda turn: float(np.linalg.norm(turn))), told
    (k,) = {0, 1, 2} - set(told)
    should = relative[:, k] * (1.0 if relative[k, k] >= 0 else -1.0)
    across = np.cross(should, np.eye(3)[k])
    sine = float(np.linalg.norm(across))
    return across * (float(np.arctan2(sine, should[k])) / sine if sine > 0 else 0.0), told


def _rotation_vector(R: Array) -> Array:
    """Axis times angle [rad] of a rotation matrix, up to half a turn."""
    across = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine = float(np.linalg.norm(across))
    angle = float(np.arctan2(sine, (np.trace(R) - 1) / 2))
    return across * (angle / sine) if sine > 1e-12 else angle * np.eye(3)[int(np.argmax(np.diag(R)))]


def _rotation(rpy: tuple[float, float, float]) -> Array:
    """Object to flange: turned about x, then y, then z of the flange."""
    (a, b, c), (s, t, u) = np.cos(rpy), np.sin(rpy)
    about_x = np.array([[1, 0, 0], [0, a, -s], [0, s, a]])
    about_y = np.array([[b, 0, t], [0, 1, 0], [-t, 0, b]])
    about_z = np.array([[c, -u, 0], [u, c, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x
