"""Whatever comes in, what goes out can exist: at level full, from the first estimate on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heft.identify.bodies.consistency import consistency
from heft.identify.payload import ObjectPrior, PayloadEstimator, WristSensor, fit_wrench

PRIORS = (
    None,
    ObjectPrior(density=2000.0),
    ObjectPrior(dimensions=(0.1, 0.02, 0.3), density=500.0, com=(0.0, 0.0, 0.1), com_std=0.02),
)


def random_data(rng: np.random.Generator, count: int, size: float, motion: float) -> dict[str, np.ndarray]:
    """Anything: wrenches that belong to no body, motion that belongs to no arm."""
    q, r = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    q = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    q[np.linalg.det(q) < 0, :, 0] *= -1
    if rng.random() < 0.3:
        q = np.broadcast_to(q[0], q.shape)
    return {
        "rotation": q,
        "wrench": size * rng.normal(size=(count, 6)) + size * rng.normal(size=6),
        "angular_velocity": motion * rng.normal(size=(count, 3)),
        "angular_acceleration": 10 * motion * rng.normal(size=(count, 3)),
        "linear_acceleration": 10 * motion * rng.normal(size=(count, 3)),
    }


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([1e-6, 0.01, 1.0, 30.0, 1e4]),
    motion=st.sampled_from([0.0, 1e-3, 1.0, 30.0]),
    prior=st.sampled_from(PRIORS),
    free=st.booleans(),
    delay_std=st.sampled_from([0.0, 2e-4]),
    cut=st.integers(15, 60),
    chunk=st.sampled_from([4, 20, 70]),
    noise=st.sampled_from([1e-4, 0.05, 10.0]),
)
def test_recursive(seed, size, motion, prior, free, delay_std, cut, chunk, noise) -> None:
    rng = np.random.default_rng(seed)
    gripper = None if rng.random() < 0.5 else np.array([0.8, 0, 0, 0.04, 0.004, 0, 0.004, 0, 0, 0.001])
    gravity = None if free else (0.0, 0.0, -9.81)
    sensor = WristSensor(force_noise=noise, torque_noise=noise / 25, delay_std=delay_std)
    estimator = PayloadEstimator(sensor, gripper=gripper, gravity=gravity, chunk=chunk)
    data = {"time": np.arange(80) * 1e-3, **random_data(rng, 80, size, motion)}
    start = int(rng.integers(0, 30))
    if start:
        estimator.update(**{k: v[:start] for k, v in data.items()})
    estimator.grasped(prior)
    assert consistency(estimator.estimate().ten, "full").ok
    for low in range(start, 80, cut):
        estimator.update(**{k: v[low : low + cut] for k, v in data.items()})
        estimate = estimator.estimate()
        assert consistency(estimate.ten, "full").ok
        assert np.all(np.isfinite(estimate.ten))
        assert not np.isnan(estimate.std.mass)
        assert not np.isnan(estimate.std.inertia).any()
    if rng.random() < 0.5:  # something else, at once: it starts from what was published last
        estimator.grasped(chunk=int(rng.integers(4, 30)))
        again = random_data(rng, 40, size * 10 ** rng.uniform(-3, 3), motion)
        estimator.update(time=1.0 + np.arange(40) * 1e-3, **again)
        assert consistency(estimator.estimate().ten, "full").ok


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    thickness=st.sampled_from([1e-6, 1e-3, 0.05]),
    noise=st.sampled_from([0.0, 1.0, 30.0]),
    vigour=st.sampled_from([0.0, 0.02, 1.0]),
)
def test_recursive_from_true_bodies(simulator, seed, thickness, noise, vigour) -> None:
    """Whatever noise, motion and prior: also one of a plate, on the border of what can exist."""
    rng = np.random.default_rng(seed)
    run = simulator.pick_up(seed, seconds=1.2, picked_s=0.3, moving_s=0.4, noise=noise, vigour=vigour)
    estimator = PayloadEstimator(WristSensor(), gripper=run.gripper.ten, chunk=int(rng.integers(10, 60)))
    estimator.update(**run.samples(0.0, 0.3))
    prior = ObjectPrior(dimensions=(0.2, 0.1, thickness)) if rng.random() < 0.5 else None
    estimator.grasped(prior)
    assert consistency(estimator.estimate().ten, "full").ok
    for at in np.arange(0.3, 1.2, 0.1):
        estimator.update(**run.samples(at, at + 0.1))
        assert consistency(estimator.estimate().ten, "full").ok


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 40),
    size=st.sampled_from([0.0, 1e-6, 1.0, 1e4]),
    motion=st.sampled_from([0.0, 1.0]),
    free=st.booleans(),
)
def test_batch(seed, count, size, motion, free) -> None:
    rng = np.random.default_rng(seed)
    data = random_data(rng, count, size, motion)
    estimate = fit_wrench(**data, gravity=None if free else (0.0, 0.0, -9.81))
    assert consistency(estimate.ten, "full").ok
    assert not np.isnan(estimate.std.inertia).any()
    assert not np.isnan(estimate.std.com).any()


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=1500, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_recursive_at_length(seed) -> None:
    rng = np.random.default_rng(seed)
    estimator = PayloadEstimator(
        gravity=None if rng.random() < 0.5 else (0.0, 0.0, -9.81), chunk=int(rng.integers(4, 101))
    )
    estimator.grasped(PRIORS[int(rng.integers(3))])
    count = int(rng.integers(1, 120))
    size, motion = 10 ** rng.uniform(-6, 5), 10 ** rng.uniform(-4, 2)
    estimator.update(time=np.arange(count) * 1e-3, **random_data(rng, count, size, motion))
    assert consistency(estimator.estimate().ten, "full").ok
