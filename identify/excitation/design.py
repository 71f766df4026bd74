"""A designed excitation: the motion, what it keeps, and what it will tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heft.daq.trajectory.fourier import FourierSeries
from heft.daq.trajectory.random_fourier import random_fourier
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.excitation.parallel import best_candidate
from heft.identify.excitation.problem import FINER
from heft.identify.excitation.request import DesignRequest
from heft.identify.excitation.scene import Approach
from heft.identify.excitation.search import Candidate
from heft.identify.excitation.with_prior import deviations_with_prior

__all__ = [
    "Design",
    "LimitUse",
    "Telling",
    "Weakest",
    "before",
    "conditioning",
    "design",
    "information",
    "make_design",
    "telling",
]

LARGE_PART, SMALL = (
    0.3,
    0.3,
)  # of a unit combination; of the condition number, for its columns' lengths to be the cause
HOPELESS = 1e8  # a condition number beyond this: some parameter cannot be told at all


@dataclass(frozen=True, slots=True)
class LimitUse:
    """The limit that a motion comes closest to, or leaves: `share` is value over bound, above 1 where it is left."""

    joint: str
    quantity: str
    value: float
    bound: float
    share: float


@dataclass(frozen=True)
class Weakest:
    """The combination of parameters that a motion moves the torques with least.

    parameters   those with the largest parts in it, the largest first
    strongest    the parameter with the largest part in the combination that moves them most
    without      the condition number without it
    balanced     the condition number with columns of equal length: what does not come from units and sizes
    """

    parameters: tuple[str, ...]
    strongest: str
    without: float
    balanced: float

    def why(self, condition: float) -> str:
        """Why the condition number is what it is, as a sentence without its end."""
        names = ", ".join(self.parameters)
        if self.balanced < SMALL * condition:
            return (
                f"torques by {names} are small beside those by {self.strongest} (with columns of equal length: "
                f"{self.balanced:.0f})"
            )
        alike = "looks like others along it" if len(self.parameters) == 1 else "look alike along it"
        return f"torques by {names} {alike} (without this combination: {self.without:.0f})"


@dataclass(frozen=True, eq=False)
class Telling:
    """What a motion tells: condition number of the base columns, and expected standard deviations by parameter."""

    names: tuple[str, ...]
    condition_number: float
    weakest: Weakest
    std: Array
    relative: Array


@dataclass(frozen=True, eq=False)
class Design:
    """A designed excitation.

    series           the motion, one period of it, from rest to rest
    time, motion     on a grid ten times finer than the optimiser's: [s] (T,); position, velocity, acceleration (T, n)
    torque           by the robot's prior [N m] (T, n); None without one
    clearance        the closest approach at each of these times [m] (T,)
    limits_ok        whether every limit is kept there
    worst_limit      the one it comes closest to
    telling, before  what it will tell, and what a random motion of the same duration would
    poses            of a chain of moves (K, n) [rad], each within `fraction` of the limits, with `rest_s` [s] at each
    """

    request: DesignRequest
    candidate: Candidate
    series: FourierSeries
    time: Array
    motion: tuple[Array, Array, Array]
    torque: Array | None
    clearance: Array
    closest: Approach
    worst_limit: LimitUse
    telling: Telling
    before: Telling
    wall_seconds: float
    poses: Array | None = None
    fraction: float = 1.0
    rest_s: float = 0.0

    @property
    def limits_ok(self) -> bool:
        """Every limit is kept on the fine grid."""
        return self.worst_limit.share <= 1.0 and self.candidate.proved

    @property
    def condition_number(self) -> float:
        """Of the base columns, unweighted: as results print it."""
        return self.telling.condition_number


def design(request: DesignRequest, tell: Callable[[Candidate], None] = lambda _: None) -> Design:
    """The best motion for a request; `ProblemError` names the bound that cannot be kept."""
    begin = time.monotonic()
    request.check()
    candidate = best_candidate(request, tell)
    series = request.basis.series(candidate.coefficients)
    t = request.basis.grid(FINER * request.problem(series.q0).points)
    made = make_design(request, candidate, series, t, series.at(t), before(request, t), begin)
    if made.condition_number > HOPELESS and request.target == "links" and request.given is None:
        hard = made.telling.names[int(np.nanargmax(made.telling.relative))]
        raise ProblemError(
            f"condition number {made.condition_number:.3g}: {hard} cannot be told by any motion inside these limits; "
            f"the {made.worst_limit.quantity} limit of {made.worst_limit.joint}, {made.worst_limit.bound:.3g}, binds; "
            "widen it"
        )
    return made


def make_design(
    request: DesignRequest,
    candidate: Candidate,
    series: FourierSeries,
    t: Array,
    motion: tuple[Array, Array, Array],
    before: Telling,
    begin: float,
    *,
    poses: Array | None = None,
    fraction: float = 1.0,
    rest_s: float = 0.0,
) -> Design:
    """A motion with all that is said of it; `begin` is when the search began."""
    robot, scene = request.whole, request.surroundings
    nearest, closest = scene.closest(motion[0])
    torque = None if robot.prior is None else robot.torque(*motion, robot.prior)
    if torque is not None and request.held:
        torque[:, request.held] = np.nan  # up to how the legs share the load
    return Design(
        request,
        candidate,
        series,
        t,
        motion,
        torque,
        nearest,
        closest,
        _worst_limit(request, motion, torque),
        telling(request, motion),
        before,
        time.monotonic() - begin,
        poses,
        fraction,
        rest_s,
    )


def information(request: DesignRequest, motion: tuple[Array, Array, Array]) -> Array:
    """F about the request's parameters from a motion (T, n) that is measured at its rate, (c, c)."""
    columns = list(request.columns)
    W = request.rows_of(motion)[:, :, columns] / request.row_noise[:, None]
    W = W.reshape(-1, len(columns))
    samples = request.rate_hz * request.seconds
    return np.asarray(W.T @ W * (samples / len(motion[0])))


def before(request: DesignRequest, t: Array) -> Telling:
    """What a random motion of the same duration tells, sampled at t [s] (T,)."""
    random = random_fourier(
        request.limits, period_s=request.seconds, harmonics=request.harmonics, seed=request.seed
    )
    motion = random.at(t)
    for values, still in zip(
        motion, (request.stance, 0.0 * request.stance, 0.0 * request.stance), strict=True
    ):
        values[:, request.held] = still[list(request.held)]
    return telling(request, motion)


def telling(request: DesignRequest, motion: tuple[Array, Array, Array]) -> Telling:
    """What a motion tells, together with what is given, and of a free base with what the file knows."""
    robot, columns = request.robot, list(request.columns)
    F = information(request, motion)
    if request.given is not None:
        F = F + request.given
    size = np.sqrt(np.maximum(np.diag(F), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(F / np.outer(size, size))
    inverse = (vectors**2 / np.maximum(values, np.finfo(float).eps)).sum(axis=1)
    std = np.sqrt(inverse) / size
    if request.support is not None and robot.prior is not None:
        std = deviations_with_prior(robot, request.base, F)
    W = request.rows_of(motion).reshape(-1, len(robot.parameter_names))
    names = (
        request.base.names if request.target == "links" else tuple(robot.parameter_names[k] for k in columns)
    )
    condition, weakest = conditioning(W[:, columns], names)
    return Telling(names, condition, weakest, std, std / request.scale)


def conditioning(W: Array, names: tuple[str, ...]) -> tuple[float, Weakest]:
    """The condition number of columns W (m, c), and what it comes from."""
    triangle = np.linalg.qr(W, mode="r")
    _, values, directions = np.linalg.svd(triangle)
    length = np.linalg.norm(triangle, axis=0)
    equal = np.linalg.svd(triangle / np.maximum(length, np.finfo(float).tiny), compute_uv=False)
    shares = np.abs(directions[-1])
    parts = tuple(names[k] for k in np.argsort(-shares) if shares[k] >= min(LARGE_PART, shares.max()))
    strongest = names[int(np.abs(directions[0]).argmax())]
    return _ratio(values, -1), Weakest(parts, strongest, _ratio(values, -2), _ratio(equal, -1))


def _ratio(values: Array, place: int) -> float:
    """The first of some singular values over another one."""
    low = float(values[max(place, -len(values))])
    return float(values[0]) / low if low > 0.0 else float("inf")


def _worst_limit(
    request: DesignRequest, motion: tuple[Array, Array, Array], torque: Array | None
) -> LimitUse:
    limits, names = request.bounds, request.bounds.axes
    q, dq, ddq = motion
    uses: list[LimitUse] = []
    half = 0.5 * (limits.upper - limits.lower)
    middle = limits.lower + half
    bounds = np.array([joint.torque for joint in request.config.joints.values()])
    for k, name in enumerate(names):
        if k in request.held:
            continue
        i = int(np.abs(q[:, k] - middle[k]).argmax())
        bound = limits.upper[k] if q[i, k] > middle[k] else limits.lower[k]
        share = float(abs(q[i, k] - middle[k]) / half[k])
        uses.append(LimitUse(name, "position", float(q[i, k]), float(bound), share))
        for quantity, values, limit in (
            ("velocity", dq, limits.velocity[k]),
            ("acceleration", ddq, limits.acceleration[k]),
            ("torque", torque, bounds[k]),
        ):
            if values is not None:
                peak = float(np.abs(values[:, k]).max())
                uses.append(LimitUse(name, quantity, peak, float(limit), peak / float(limit)))
    return max(uses, key=lambda use: use.share)
