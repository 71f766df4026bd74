"""001, section IV: a leg on a force and torque sensor, 60 s of minimum-jerk motion between random postures.

Completion times of 10, 5, 2, 1 and 0.5 s, sampled at 100 Hz, filtered as in the paper (Savitzky-Golay of order 2 with
windows of 499, 41, 21, 9 and 7 samples). The leg is our own: 0.3 m of tube with a foot, the weight of Table I.
"""

import numpy as np
import pytest
from scipy.signal import savgol_filter

from heft.identify.bodies import from_mass_com_inertia
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import LINK_TERMS, Layout
from heft.identify.bodies.wrench import wrench_terms
from heft.identify.estimation.estimators import estimate
from heft.identify.estimation.problem import Problem
from heft.identify.information.reduction import Information
from heft.identify.robot.base import BaseParameters

WINDOWS = {10.0: 499, 5.0: 41, 2.0: 21, 1.0: 9, 0.5: 7}  # samples, by completion time [s]
LEG = from_mass_com_inertia(1.85, [0.033, 0.002, 0.11], np.diag([0.014, 0.0145, 0.0012]))
RATE_HZ, SECONDS = 100.0, 60.0
ENCODER = 1e-4  # [rad]
NOISE = np.array([0.5, 0.5, 0.5, 0.05, 0.05, 0.05])  # [N], [N m]
AXES = np.eye(3)[[1, 0, 2]]  # of the shoulder: pitch, roll, yaw


def postures(rng: np.random.Generator, completion_s: float) -> Array:
    """Shoulder angles [rad] (T, 3): point to point, minimum jerk."""
    t = np.arange(0, SECONDS, 1 / RATE_HZ)
    points = rng.uniform(-0.8, 0.8, (int(SECONDS / completion_s) + 2, 3))
    k, s = np.divmod(t / completion_s, 1.0)
    blend = (10 * s**3 - 15 * s**4 + 6 * s**5)[:, None]
    start = points[k.astype(int)]
    return np.asarray(start + blend * (points[k.astype(int) + 1] - start))


def regressor(q: Array, dq: Array, ddq: Array) -> Array:
    """Newton-Euler rows (T, 6, 10) in the sensor's frame, at the crossing of the three axes."""
    rotation = np.broadcast_to(np.eye(3), (len(q), 3, 3))
    w, dw = np.zeros((2, len(q), 3))
    for k, axis in enumerate(AXES):
        turn = turned(axis, q[:, k])
        rotation, back = rotation @ turn, np.swapaxes(turn, 1, 2)
        w, dw = (np.einsum("tij,tj->ti", back, vector) for vector in (w, dw))
        dw = dw + np.outer(ddq[:, k], axis) + np.cross(w, np.outer(dq[:, k], axis))
        w = w + np.outer(dq[:, k], axis)
    return wrench_terms(rotation, w, dw).regressor([0, 0, -9.81])


def turned(axis: Array, angle: Array) -> Array:
    """Rodrigues' formula, shape (T, 3, 3)."""
    K = np.cross(np.eye(3), axis).T
    return np.eye(3) + np.sin(angle)[:, None, None] * K + (1 - np.cos(angle))[:, None, None] * (K @ K)


def problem(completion_s: float, seed: int) -> Problem:
    """What was measured, reduced; exact angles move the leg, noisy ones are filtered."""
    rng = np.random.default_rng(seed)
    q = postures(rng, completion_s)
    dq = np.gradient(q, 1 / RATE_HZ, axis=0)
    wrench = regressor(q, dq, np.gradient(dq, 1 / RATE_HZ, axis=0)) @ LEG
    wrench = wrench + NOISE * rng.normal(size=wrench.shape)
    seen = q + ENCODER * rng.normal(size=q.shape)
    filtered = [
        savgol_filter(seen, WINDOWS[completion_s], 2, deriv=order, delta=1 / RATE_HZ, axis=0)
        for order in range(3)
    ]
    rows = np.concatenate([regressor(*filtered), wrench[:, :, None]], axis=2)
    factors = np.stack([np.linalg.qr(rows[:, j], mode="r") for j in range(6)])
    layout = Layout(tuple(f"leg.{term}" for term in LINK_TERMS))
    base = BaseParameters(layout.names, layout.names, np.eye(10), tuple(range(10)), {})
    return Problem(Information(factors, np.full(6, len(rows)), layout.names), base, layout)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("completion_s", WINDOWS)
def test_the_manifold_is_consistent_at_every_speed(completion_s: float, seed: int) -> None:
    case = problem(completion_s, seed)
    found = estimate(case, "manifold").parameters
    assert case.consistency(found, "full").ok
    # Mass and first moment are known at every speed (Table I: 1.82 to 1.85 kg).
    assert found[0] == pytest.approx(LEG[0], rel=0.05)
    np.testing.assert_allclose(found[1:4], LEG[1:4], atol=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_plain_least_squares_is_not_where_motion_is_slow(seed: int) -> None:
    for completion_s in (10.0, 5.0):
        case = problem(completion_s, seed)
        for method in ("ols", "wls"):
            assert not case.consistency(estimate(case, method).parameters, "full").ok, completion_s


@pytest.mark.parametrize("seed", range(5))
def test_where_motion_is_fast_they_agree(seed: int) -> None:
    case = problem(1.0, seed)
    plain, found = estimate(case, "wls").parameters, estimate(case, "manifold").parameters
    assert case.consistency(plain, "full").ok
    np.testing.assert_allclose(found, plain, atol=1e-4)
    np.testing.assert_allclose(found[4:], LEG[4:], atol=2e-3)


def test_slow_motion_costs_an_order_of_magnitude_of_inertia() -> None:
    """Table I: inertias of the slow runs are larger by an order of magnitude or have the wrong sign."""
    error = {
        completion_s: np.mean(
            [
                np.abs(estimate(problem(completion_s, seed), "wls").parameters[4:] - LEG[4:]).max()
                for seed in range(3)
            ]
        )
        for completion_s in (10.0, 1.0)
    }
    assert error[10.0] > 10 * error[1.0]
