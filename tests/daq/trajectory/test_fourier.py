"""Fourier series (003, Eq. 78): exact derivatives, blends on the path, the excitation of 003, Table 5."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heft.daq.config.robot import load_robot
from heft.daq.trajectory import FourierSeries, Limits, fourier, limit_checks, run_checks

ROBOT = Path(__file__).parents[3] / "configs" / "robots" / "wam7.yaml"
RATE_HZ = 1000.0
AXES = tuple(f"joint{k}" for k in range(1, 8))

# 003, Table 5: a, b [rad/s], q0 [rad]; 003, Eq. 79: w = 0.1 pi rad/s.
TABLE_5 = FourierSeries(
    a=np.array(
        [
            [0.05, -0.29, 0.48, 0.55, 0.65],
            [0.03, 0.29, -0.23, 0.32, 0.82],
            [-0.07, 0.40, 0.45, 0.40, -0.03],
            [0.14, -0.35, 0.15, 0.11, 0.93],
            [0.21, 0.35, 0.16, -0.02, 0.03],
            [-0.11, 0.28, 0.36, -0.06, 0.33],
            [-0.01, 0.24, 0.37, -0.45, 0.75],
        ]
    ),
    b=np.array(
        [
            [0.19, -0.40, -0.18, 0.63, -0.46],
            [0.09, -0.08, 0.05, -0.02, 0.65],
            [-0.49, 0.32, -0.26, -0.63, 0.06],
            [-0.14, 0.06, -0.13, -0.14, -0.03],
            [-0.51, 0.14, 0.37, -0.15, -0.17],
            [0.13, 0.07, 0.67, -0.15, -0.22],
            [0.24, 0.24, -0.22, -0.50, -0.52],
        ]
    ),
    q0=np.array([-0.29, 0.11, -0.02, 1.67, -2.41, 0.20, 0.58]),
    period_s=20.0,
)


def random_series(seed: int, n: int = 3, harmonics: int = 4, period_s: float = 7.0) -> FourierSeries:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n, harmonics))
    return FourierSeries(a, b, rng.normal(size=n), period_s)


def test_a_single_harmonic_written_out() -> None:
    """003, Eq. 78 by hand, at a quarter period."""
    series = FourierSeries(np.array([[2.0]]), np.array([[3.0]]), np.array([0.5]), period_s=2.0)
    q, dq, ddq = series.at([0.0, 0.5])
    w = np.pi
    np.testing.assert_allclose(q[:, 0], [0.5 - 3.0 / w, 0.5 + 2.0 / w], atol=1e-14)
    np.testing.assert_allclose(dq[:, 0], [2.0, 3.0], atol=1e-14)
    np.testing.assert_allclose(ddq[:, 0], [3.0 * w, -2.0 * w], atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_exact(seed: int) -> None:
    """Complex step: the derivative of q at x is Im q(x + ih) / h, to rounding."""
    series = random_series(seed)
    t = np.linspace(0.0, 7.0, 29)
    _, dq, ddq = series.at(t)
    wl = 2 * np.pi / 7.0 * np.arange(1, 5)
    z = (t + 1e-30j)[:, None] * wl
    q_z = np.sin(z) @ (series.a / wl).T - np.cos(z) @ (series.b / wl).T
    dq_z = np.cos(z) @ series.a.T + np.sin(z) @ series.b.T
    np.testing.assert_allclose(q_z.imag / 1e-30, dq, atol=1e-13)
    np.testing.assert_allclose(dq_z.imag / 1e-30, ddq, atol=1e-12)


@pytest.mark.parametrize(
    ("seconds", "blend_s", "rate_hz"), [(20.0, 2.0, 1000.0), (3.3, 0.7, 500.0), (8.0, 1.0, 333.0)]
)
def test_the_middle_is_the_series_itself(seconds: float, blend_s: float, rate_hz: float) -> None:
    series = random_series(5)
    trajectory = fourier(series, seconds=seconds, blend_s=blend_s, rate_hz=rate_hz, axes=AXES[:3])
    n_pure, n_blend = round(seconds * rate_hz), int(np.ceil(blend_s * rate_hz - 1e-6))
    assert len(trajectory) == n_pure + 2 * n_blend + 1
    middle = slice(n_blend, n_blend + n_pure + 1)
    q, dq, ddq = series.at(np.arange(n_pure + 1) / rate_hz)
    np.testing.assert_array_equal(trajectory.position[middle], q)
    np.testing.assert_array_equal(trajectory.velocity[middle], dq)
    np.testing.assert_array_equal(trajectory.acceleration[middle], ddq)


@pytest.mark.parametrize("seed", range(5))
def test_rest_continuity_and_bounds_of_the_blends(seed: int) -> None:
    series, blend_s = random_series(seed), 1.5
    trajectory = fourier(series, seconds=7.0, blend_s=blend_s, rate_hz=RATE_HZ, axes=AXES[:3])
    assert trajectory.begins_at_rest
    assert trajectory.ends_at_rest
    _, dq, ddq = (np.abs(x).max(axis=0) for x in series.at(np.arange(0.0, 7.0, 1e-3)))
    assert np.all(np.abs(trajectory.velocity).max(axis=0) <= dq * (1 + 1e-5))
    assert np.all(np.abs(trajectory.acceleration).max(axis=0) <= ddq + 15 / 8 / blend_s * dq)
    path, _, _ = series.at(np.arange(0.0, 7.0, 1e-3))
    assert np.all(trajectory.position <= path.max(axis=0) + 1e-5)
    assert np.all(trajectory.position >= path.min(axis=0) - 1e-5)
    # Velocities and accelerations are those of the positions, everywhere, and the jerk has no step.
    h = 1 / RATE_HZ
    np.testing.assert_allclose(
        (trajectory.position[2:] - trajectory.position[:-2]) / (2 * h), trajectory.velocity[1:-1], atol=2e-4
    )
    np.testing.assert_allclose(
        (trajectory.velocity[2:] - trajectory.velocity[:-2]) / (2 * h),
        trajectory.acceleration[1:-1],
        atol=2e-3,
    )
    jerk = np.diff(trajectory.acceleration, axis=0) / h
    assert np.max(np.abs(np.diff(jerk, axis=0))) < 0.5  # a step in acceleration would show as > 1000


def test_the_excitation_of_paper_003() -> None:
    """One period returns to its start, within the limits of the WAM's file with room to spare."""
    joints = load_robot(ROBOT).joints
    limits = Limits(
        axes=tuple(joints),
        lower=np.array([j.position[0] for j in joints.values()]),
        upper=np.array([j.position[1] for j in joints.values()]),
        velocity=np.array([j.velocity for j in joints.values()]),
        acceleration=np.array([j.acceleration for j in joints.values()]),
    )
    trajectory = fourier(TABLE_5, seconds=20.0, blend_s=2.0, rate_hz=RATE_HZ, axes=AXES)
    assert trajectory.duration_s == pytest.approx(24.0)
    np.testing.assert_allclose(trajectory.position[2000], trajectory.position[22000], atol=1e-12)
    run_checks(trajectory, limit_checks(limits))
    room = np.minimum(trajectory.position - limits.lower, limits.upper - trajectory.position).min(axis=0)
    assert np.all(room > 0.2)
    assert np.abs(trajectory.velocity).max() < 1.5
    assert np.abs(trajectory.acceleration).max() < 2.5


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"shapes \(2, 3\), \(2, 2\)"):
        FourierSeries(np.zeros((2, 3)), np.zeros((2, 2)), np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="period_s is -1"):
        FourierSeries(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(2), -1.0)
    with pytest.raises(ValueError, match="7 axes, but 2 are named"):
        fourier(TABLE_5, seconds=20.0, blend_s=2.0, rate_hz=RATE_HZ, axes=("a", "b"))
    with pytest.raises(ValueError, match="blend_s is -1"):
        fourier(TABLE_5, seconds=20.0, blend_s=-1.0, rate_hz=RATE_HZ, axes=AXES)
