"""The delay of torques against positions, by the joint equations.

With torques that are d old, the right-hand side of the regression is tau(t + d), and the squared residual left by
least squares is a function of d. To second order tau(t + d) = tau + d tau' + d^2/2 tau'', so on the triangles of
`heft.identify.information.reduction` it is a polynomial:

    cost(d) = |B (1, d, d^2/2)'|^2,   B (3, 3): what is left of tau, tau', tau'' beside the regressor

Several recordings have a delay each, and the parameters in common: B has two columns more for every one of them.
Noise is shifted with its signal: its contributions to tau'^2 and tau tau'' cancel, which a first-order expansion would
miss. Where the minimum is outside the expansion's range, rows are computed anew around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.estimation.alignment.delay import SensorDelay
from heft.identify.estimation.problem import Problem
from heft.identify.information.fit_data import FitData
from heft.identify.information.reduction import Information
from heft.identify.information.triangle import triangle

__all__ = ["REACH", "Alignment", "align", "begun", "profile", "settled", "several"]

REACH = 0.03  # delay times cut-off within which the expansion is good: a phase of 11 degrees at the cut-off
LONGEST_S = 0.25  # beyond this it is no delay but a mistake in the stamps
UNSURE = 0.1  # standard deviation times cut-off above which the data cannot tell
ROUNDS = 12
SETTLED_S = 1e-7


@dataclass(frozen=True)
class Alignment:
    """Data with torques aligned, the delays that were corrected [s], and whether they were estimated from the data.

    There is one delay for each recording, or one for all (`FitData.delays_s`). `sensors` are those that have one of
    their own on top of it.
    """

    data: FitData
    problem: Problem
    estimated: bool
    warnings: tuple[str, ...] = ()
    sensors: tuple[SensorDelay, ...] = ()

    @property
    def delays_s(self) -> tuple[float, ...]:
        """Of the torques against positions [s]."""
        return self.data.delays_s


def begun(data: FitData, delays_s: Sequence[float]) -> FitData:
    """The data with rows for delays [s] near which the search should begin; as they are where it would get there."""
    far = ROUNDS / 2 * REACH / data.processing.cutoff_hz
    there = len(delays_s) == len(data.delays_s) and max(map(abs, delays_s)) > far
    return data.delayed(delays_s) if there else data


def align(
    data: FitData,
    problem_of: Callable[[Information], Problem],
    given_s: float | None,
    parts: tuple[Information, ...],
) -> Alignment:
    """Estimate the torques' delays and correct them; or correct a known one, `given_s` [s].

    The search begins at the delays that the rows were computed for.

    parts   information of the rows of each delay, as `FitData.reduced` has it
    """
    reach = REACH / data.processing.cutoff_hz
    if given_s is not None:
        given = (given_s,) * len(parts)
        if max(abs(given_s - rows_s) for rows_s in data.rows_delays_s) > reach:
            data = data.delayed(given)
            parts = data.reduced()
        data = data.aligned(given)
        return Alignment(data, problem_of(_merged(data, parts)), False)
    problem, at = (
        problem_of(Information.merged(parts)),
        np.array(data.rows_delays_s),
    )  # `at`: where the torques are
    for _ in range(ROUNDS):
        weights = problem.joint_weights[0]
        step, curvature = profile(problem, weights, reach, _aligned(data.aligned(at.tolist()), parts))
        unsure = ~(curvature > 0)
        unsure[~unsure] = 1 / np.sqrt(curvature[~unsure]) > UNSURE / data.processing.cutoff_hz
        if unsure.any() or np.abs(at + step).max() > LONGEST_S:
            return _unaligned(data, problem_of, parts, curvature, at + step, unsure)
        if np.abs(step).max() <= SETTLED_S:
            break
        at = at + step
        if np.abs(at - data.rows_delays_s).max() > reach:
            data = data.delayed(at.tolist())
            parts = data.reduced()
        problem = replace(problem, information=_merged(data.aligned(at.tolist()), parts))
    else:
        if np.abs(step).max() >= reach:
            return _unaligned(data, problem_of, parts, curvature, at + step, unsure)
    return Alignment(data.aligned(at.tolist()), problem, True)


def _aligned(data: FitData, parts: tuple[Information, ...]) -> tuple[Information, ...]:
    """Information of the rows of each delay, with the rest of its delay corrected."""
    rest = np.subtract(data.delays_s, data.rows_delays_s)
    return tuple(part.aligned(float(one)) for part, one in zip(parts, rest, strict=True))


def _merged(data: FitData, parts: tuple[Information, ...]) -> Information:
    return Information.merged(_aligned(data, parts))


def settled(problem: Problem, reach_s: float) -> tuple[Problem, float]:
    """The problem with a remaining delay of all its torques corrected, and that delay [s], within +-`reach_s`."""
    information, at = problem.information, 0.0
    for _ in range(ROUNDS):
        steps, curvature = profile(problem, problem.joint_weights[0], reach_s)
        step = float(steps[0])
        at = float(np.clip(at + step, -reach_s, reach_s)) if curvature[0] > 0 else 0.0
        problem = replace(problem, information=information.aligned(at))
        if curvature[0] <= 0 or abs(step) <= SETTLED_S:
            break
    return problem, at


def profile(
    problem: Problem, weights: Array, reach_s: float, parts: tuple[Information, ...] | None = None
) -> tuple[Array, Array]:
    """The minimum of the cost within +-`reach_s` [s] in every delay (D,), and 1 / variance of each there [1/s2] (D,).

    weights   1 / variance of each joint's residual
    parts     information of the rows of each delay; None: one delay, that of the problem's
    """
    parts = (problem.information,) if parts is None else parts
    if any(one.rates is None for one in parts):
        return np.zeros(len(parts)), np.zeros(len(parts))
    columns, width = list(problem.base.independent), 2 * len(parts)
    rows = []
    for number, part in enumerate(parts):
        assert part.rates is not None
        place = slice(2 * number, 2 * number + 2)
        for w, factor, rates in zip(weights, part.factors, part.rates, strict=True):
            told = rates.any(axis=1)
            told[:-2] |= factor.any(axis=1)
            beside = np.zeros((len(rates), width))
            beside[:, place] = rates
            own = np.vstack([factor[:, [*columns, -1]], np.zeros((2, len(columns) + 1))])
            rows.append(np.sqrt(w) * np.hstack([own[told], beside[told]]))
    left = triangle(np.concatenate(rows))[-1 - width :, -1 - width :]
    G = left.T @ left
    return _single(G, reach_s) if len(parts) == 1 else several(G, reach_s)


def _single(G: Array, reach_s: float) -> tuple[Array, Array]:
    """One delay: the polynomial's own minimum."""
    cost = np.array([G[2, 2] / 4, G[1, 2], G[1, 1] + G[0, 2], 2 * G[0, 1], G[0, 0]])
    slope, bend = np.polyder(cost), np.polyder(cost, 2)
    turns = np.roots(slope)
    places = [
        float(x.real) for x in turns if abs(x.imag) < 1e-9 * max(1.0, abs(x)) and abs(x.real) <= reach_s
    ]
    best = min([*places, -reach_s, reach_s], key=lambda d: float(np.polyval(cost, d)))
    return np.array([best]), np.array([0.5 * float(np.polyval(bend, best))])


def several(G: Array, reach_s: float) -> tuple[Array, Array]:
    """Several delays together, by Newton's method: the parameters, profiled out, are common to them."""
    count = len(G) // 2
    first, second = np.arange(count) * 2 + 1, np.arange(count) * 2 + 2
    at = np.zeros(count)
    for _ in range(ROUNDS):
        v = np.zeros(len(G))
        v[0], v[first], v[second] = 1.0, at, at**2 / 2
        turn = np.zeros((len(G), count))  # dv / d delay
        turn[first, np.arange(count)], turn[second, np.arange(count)] = 1.0, at
        slope = turn.T @ G @ v
        bend = turn.T @ G @ turn + np.diag((G @ v)[second])
        values, vectors = np.linalg.eigh(bend)
        if values[0] <= 0:  # no minimum near: downhill all the same
            bend = turn.T @ G @ turn
            values, vectors = np.linalg.eigh(bend)
        inverse = vectors / np.maximum(values, 1e-12 * max(values[-1], 1e-100)) @ vectors.T
        before, at = at, np.clip(at - inverse @ slope, -reach_s, reach_s)
        if np.abs(at - before).max() <= SETTLED_S:
            break
    return at, 1 / np.maximum(np.diag(inverse), 1e-300)


def _unaligned(
    data: FitData,
    problem_of: Callable[[Information], Problem],
    parts: tuple[Information, ...],
    curvature: Array,
    at: Array,
    unsure: NDArray[np.bool_],
) -> Alignment:
    """Where a delay cannot be estimated: one for all recordings; where there is but one, the data as stamped.

    Either with a warning.
    """
    if unsure.any():
        worst = curvature[unsure].min()
        spread = np.inf if worst <= 0 else 1e3 / np.sqrt(worst)
        why = f"the motion tells the delay of torques only to {spread:.2g} ms; move faster"
    else:
        far = float(at[np.argmax(np.abs(at))])
        bound = f"more than {LONGEST_S * 1e3:.0f} ms" if abs(far) > LONGEST_S else "or further"
        why = f"torque fits best {far * 1e3:.0f} ms off, {bound}: correct the stamps"
    if len(parts) > 1:
        together = data.with_one_delay()
        found = align(together, problem_of, None, together.reduced())
        warning = (
            f"one delay was taken out of all recordings: for one by itself {why}, or give it (`delay_s`)"
        )
        return replace(found, warnings=(warning, *found.warnings))
    if data.delays_s != (0.0,):
        data = data.delayed((0.0,))
        parts = data.reduced()
    warning = f"no delay was taken out of the torques: {why}, or give it (`delay_s`)"
    return Alignment(data, problem_of(Information.merged(parts)), False, (warning,))
