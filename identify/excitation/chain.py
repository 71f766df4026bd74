"""Chains of minimum-jerk moves between chosen poses (001, section IV; 004, section 4), and static poses.

Poses are drawn inside the limits, and those that are not free are left out. The chain grows by the pose whose move (and
rest) adds most to log det of the information, among those whose move keeps every bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heft.daq.trajectory.chain import chain_motion
from heft.daq.trajectory.fourier import FourierSeries
from heft.identify.bodies.arrays import Array
from heft.identify.errors import ProblemError
from heft.identify.excitation.criterion import CRITERIA, evaluate
from heft.identify.excitation.design import Design, before, make_design
from heft.identify.excitation.request import DesignRequest
from heft.identify.excitation.search import Candidate
from heft.identify.excitation.starting import free_postures, posture

__all__ = ["design_chain"]

CANDIDATES, TRIED = 60, 12  # free poses, and how many of them each further move chooses from
FRACTION = 0.8  # of the velocity and acceleration limits
REST_S, DWELL_S = 0.2, 1.0  # between moves, and at static poses
LOOK_HZ = 50.0
SHARPEST = 150.0  # exponent of a criterion's rounding: chains are compared, not improved
LITTLE = 1e-9  # of what a pose tells: so that log det has a value from the first move on


@dataclass(frozen=True, eq=False)
class _Chain:
    """Poses (K, n) [rad], and the motion through them, sampled; `value` of the criterion, the smaller the better."""

    start: int
    poses: Array
    motion: tuple[Array, Array, Array]
    rate_hz: float
    value: float


def design_chain(
    request: DesignRequest, *, dwell: bool, tell: Callable[[Candidate], None] = lambda _: None
) -> Design:
    """Moves for `request.seconds`; with `dwell` the arm stands at each pose, and only what it shows there counts.

    Every start grows a chain of its own, and the criterion that was asked for chooses among them; one that begins when
    the budget is over is left out.
    """
    begin = time.monotonic()
    request.check()
    rest = DWELL_S if dwell else REST_S
    size = _size(request)
    best: _Chain | None = None
    reason: ProblemError | None = None
    for number in range(request.starts):
        if number and time.monotonic() - begin > request.budget_s:
            break
        try:
            made = _grown(request, number, rest, size, dwell=dwell)
        except ProblemError as exc:
            reason = reason or exc
            continue
        tell(_candidate(made))
        if best is None or made.value < best.value:
            best = made
    if best is None:
        assert reason is not None
        raise reason
    still = FourierSeries(
        np.zeros((len(best.poses[0]), 1)), np.zeros((len(best.poses[0]), 1)), best.poses[0], request.seconds
    )
    return make_design(
        request,
        _candidate(best),
        still,
        np.arange(len(best.motion[0])) / best.rate_hz,
        best.motion,
        before(request, np.linspace(0.0, request.seconds, 500)),
        begin,
        poses=best.poses,
        fraction=FRACTION,
        rest_s=rest,
    )


def _candidate(chain: _Chain) -> Candidate:
    return Candidate(chain.start, np.zeros((0, 0)), chain.value, True, len(chain.poses), True)


def _grown(request: DesignRequest, number: int, rest: float, size: Array, *, dwell: bool) -> _Chain:
    """The chain of one start; `ProblemError` where hardly any pose can be reached."""
    rng = np.random.default_rng([request.seed, number])
    pool = free_postures(request, rng, CANDIDATES)
    chain = [posture(request, rng, number)]
    columns = list(request.columns)
    F = LITTLE * np.eye(len(columns)) if request.given is None else size * request.given * size[:, None]
    F = F + LITTLE * np.eye(len(columns))
    lasted = rest
    while lasted < request.seconds:
        best: tuple[float, Array, Array, float] | None = None
        for pose in pool[rng.permutation(len(pool))[:TRIED]]:
            move = chain_motion(
                np.array([chain[-1], pose]), request.bounds, fraction=FRACTION, rest_s=rest, rate_hz=LOOK_HZ
            )
            if lasted + move.duration_s > request.seconds and len(chain) > 1:
                continue
            if not _free(request, move.position, move.velocity, move.acceleration):
                continue
            use = np.all(move.velocity == 0.0, axis=1) if dwell else np.ones(len(move), dtype=bool)
            W = request.rows_of((move.position[use], move.velocity[use], move.acceleration[use]))
            W = (W[:, :, columns] / request.row_noise[:, None]).reshape(-1, len(columns)) * size
            more = F + W.T @ W * (request.rate_hz / LOOK_HZ)
            worth = float(np.linalg.slogdet(more)[1]) / max(move.duration_s, 0.1)
            if best is None or worth > best[0]:
                best = worth, pose, more, move.duration_s
        if best is None:
            break
        _, pose, F, seconds = best
        chain.append(pose)
        lasted += seconds
    if len(chain) < 3:
        raise ProblemError(
            f"--seconds {request.seconds:g}: only {len(chain)} poses can be reached in this time past every bound, at "
            "least 3 are needed; give it more"
        )
    poses = np.array(chain)
    _check_use(request, poses)
    motion = chain_motion(poses, request.bounds, fraction=FRACTION, rest_s=rest, rate_hz=10 * LOOK_HZ)
    sampled = (motion.position, motion.velocity, motion.acceleration)
    return _Chain(number, poses, sampled, motion.rate_hz, _value(request, sampled, dwell=dwell))


def _value(request: DesignRequest, motion: tuple[Array, Array, Array], *, dwell: bool) -> float:
    """What the criterion that was asked for says of a motion (T, n), or of its rests alone."""
    use = np.all(motion[1] == 0.0, axis=1) if dwell else np.ones(len(motion[1]), dtype=bool)
    criterion, columns = CRITERIA[request.criterion], list(request.columns)
    W = request.rows_of((motion[0][use], motion[1][use], motion[2][use]))[:, :, columns]
    W = (W / request.row_noise[:, None] if criterion.weighted else W).reshape(-1, len(columns))
    F = W.T @ W * (request.rate_hz * request.seconds / len(motion[0]))
    if request.given is not None and criterion.weighted:
        F = F + request.given
    return evaluate(criterion, F, SHARPEST, request.scale)[0]


def _check_use(request: DesignRequest, poses: Array) -> None:
    """`ProblemError` where a joint does not go as far as it has to."""
    if request.least_use is None:
        return
    way = np.ptp(poses, axis=0)
    for k in np.flatnonzero(way < request.least_use):
        raise ProblemError(
            f"{request.limits.axes[k]}: the poses of this chain move it by {way[k]:.3g} rad, excitation.least_use asks "
            f"for {request.least_use[k]:g} rad; give it more --seconds, or --family fourier, which heeds it"
        )


def _size(request: DesignRequest) -> Array:
    """A scale for each column, so that LITTLE means the same for all, (c,)."""
    rng = np.random.default_rng(0)
    limits = request.bounds
    q = rng.uniform(limits.lower, limits.upper, (50, len(limits.axes)))
    dq = rng.uniform(-1.0, 1.0, q.shape) * limits.velocity
    ddq = rng.uniform(-1.0, 1.0, q.shape) * limits.acceleration
    W = request.rows_of((q, dq, ddq))[:, :, list(request.columns)] / request.row_noise[:, None]
    length = np.linalg.norm(W.reshape(-1, len(request.columns)), axis=0)
    return 1.0 / np.maximum(length, 1e-12)


def _free(request: DesignRequest, q: Array, dq: Array, ddq: Array) -> bool:
    problem = request.problem(q[0])
    return bool(np.all(problem.constraints_of(q, dq, ddq).value <= 0.0))
