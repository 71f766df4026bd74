"""Filtered rows: what they are, and that true parameters come back from raw positions and torques."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from heft.identify.data import Dataset, Processing, filtered_rows
from heft.identify.data import rows as rows_module
from heft.identify.errors import DataError
from heft.identify.information.reduction import reduce
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters


def base_error(robot: Robot, data: Dataset, processing: Processing, truth: np.ndarray) -> float:
    """Largest error of the least-squares base parameters."""
    base = base_parameters(robot)
    R, z, _ = reduce(robot, data, processing).stacked(np.ones(len(robot.joints)))
    values = np.linalg.lstsq(R[:, list(base.independent)], z, rcond=None)[0]
    return float(np.abs(values - base.matrix @ truth).max())


def test_rows_are_regressors_and_torque_through_one_filter(arm: Robot, make: Callable[..., Dataset]) -> None:
    data, processing = make(np.arange(3000) * 1e-3), Processing(8.0)
    motion, taps = processing.differentiator(1000.0), processing.taps(1000.0)
    q, dq, ddq = motion.apply(np.ascontiguousarray(data.q.T))
    inner = data.tau[motion.half : -motion.half]
    table = arm.regressor.rows(q.T, dq.T, ddq.T, inner)
    whole = np.stack([np.convolve(column, taps, "same") for column in table.T], axis=1)
    step = processing.decimation(1000.0)
    blocks = list(filtered_rows(arm, data, processing))
    time = np.concatenate([block.time for block in blocks])
    at = np.round(time * 1000).astype(int) - motion.half
    assert np.array_equal(np.diff(at), np.full(len(at) - 1, step))
    assert at[0] >= len(taps) // 2 > at[0] - step
    found = np.concatenate([block.table for block in blocks])
    assert np.allclose(found, whole[at], rtol=1e-9, atol=1e-9)
    assert np.concatenate([block.index for block in blocks]).tolist() == list(range(len(at)))


def test_long_data_go_through_in_blocks(
    arm: Robot, make: Callable[..., Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, processing = make(np.arange(20000) * 1e-3), Processing(25.0)
    whole = np.concatenate([block.table for block in filtered_rows(arm, data, processing)])
    monkeypatch.setattr(rows_module, "BLOCK", 1000)
    blocks = list(filtered_rows(arm, data, processing))
    assert len(blocks) > 15
    assert np.allclose(np.concatenate([block.table for block in blocks]), whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("processing", "tolerance"),
    [
        (Processing(6.0), 1e-6),
        (Processing(40.0), 1e-6),
        (Processing(6.0, order=2), 1e-4),
        (Processing(12.0, derivative="savitzky_golay"), 2e-3),
        (Processing(6.0, derivative="fourier", period_s=5.0), 1e-6),
    ],
)
def test_true_parameters_come_back(
    arm: Robot, make: Callable[..., Dataset], truth: np.ndarray, processing: Processing, tolerance: float
) -> None:
    assert base_error(arm, make(np.arange(20000) * 1e-3), processing, truth) < tolerance


def test_true_parameters_come_back_from_uneven_stamps(
    arm: Robot, make: Callable[..., Dataset], truth: np.ndarray
) -> None:
    rng = np.random.default_rng(0)
    t = np.delete(np.arange(20000) * 1e-3, [500, 9000, 9001]) + rng.uniform(-2e-4, 2e-4, 19997)
    t[12000:] += 0.7
    assert base_error(arm, make(t), Processing(6.0), truth) < 2e-5  # torque bends where friction turns


def test_measured_velocities_are_used(arm: Robot, make: Callable[..., Dataset], harmonic, truth) -> None:  # type: ignore[no-untyped-def]
    data = make(np.arange(20000) * 1e-3)
    _, q, dq, _ = harmonic(data.t)
    rough = q + 2e-4 * np.random.default_rng(0).standard_normal(q.shape)
    without = Dataset.from_arrays(data.t, rough, data.tau)
    with_velocity = Dataset.from_arrays(data.t, rough, data.tau, dq=dq)
    assert base_error(arm, with_velocity, Processing(6.0), truth) < 0.5 * base_error(
        arm, without, Processing(6.0), truth
    )


def test_as_published_filters_do_it(arm: Robot, make: Callable[..., Dataset]) -> None:
    """Window butterworth, differences of second order: scipy's filter on positions, torques and regressor."""
    data, processing = make(np.arange(8000) * 1e-3), Processing(10.0, window="butterworth", order=2)
    sos = butter(4, 10.0, fs=1000.0, output="sos")
    q = sosfiltfilt(sos, data.q, axis=0)
    dq, ddq = np.zeros_like(q), np.zeros_like(q)
    dq[1:-1] = (q[2:] - q[:-2]) / 2e-3
    ddq[1:-1] = (q[2:] - 2 * q[1:-1] + q[:-2]) / 1e-6
    table = sosfiltfilt(sos, arm.regressor.rows(q, dq, ddq, data.tau), axis=0)
    for block in filtered_rows(arm, data, processing):
        at = np.round(block.time * 1000).astype(int)
        assert np.allclose(block.table, table[at], atol=2e-4)


def test_predictions_are_filtered_like_measurements(
    arm: Robot, make: Callable[..., Dataset], truth: np.ndarray
) -> None:
    for block in filtered_rows(arm, make(np.arange(5000) * 1e-3), Processing(6.0)):
        assert np.allclose(block.predict(truth), block.torque, atol=1e-5)


def test_rest_is_not_kept(arm: Robot, make: Callable[..., Dataset]) -> None:
    data = make(np.arange(10000) * 1e-3)
    q = data.q.copy()
    q[6000:, 2] = q[6000, 2]
    for block in filtered_rows(arm, Dataset.from_arrays(data.t, q, data.tau), Processing(10.0)):
        assert block.keep[:, :2].all()
        assert not block.keep[block.time > 5.96, 2].any()
        assert block.keep[block.time < 5.9, 2].all()


def test_trimming(arm: Robot, make: Callable[..., Dataset]) -> None:
    data = make(np.arange(10000) * 1e-3)
    blocks = list(filtered_rows(arm, data, Processing(10.0, trim_s=(2.0, 3.0))))
    assert 2.0 <= blocks[0].time[0] < 2.06
    assert 6.9 < blocks[-1].time[-1] <= 7.0


def test_too_short(arm: Robot, make: Callable[..., Dataset]) -> None:
    with pytest.raises(
        DataError, match=r"too short: the longest stretch is 1 s, and at 3 Hz the filters need 2.\d+ s"
    ):
        list(filtered_rows(arm, make(np.arange(1000) * 1e-3), Processing(3.0)))


def test_averaging_periods_lowers_noise(arm: Robot, make: Callable[..., Dataset], truth: np.ndarray) -> None:
    data = make(np.arange(100000) * 1e-3)
    rng = np.random.default_rng(0)
    noisy = Dataset.from_arrays(data.t, data.q, data.tau + rng.standard_normal(data.tau.shape))
    processing = Processing(6.0, derivative="fourier", period_s=5.0)
    one = base_error(arm, noisy.between(0.0, 5.001), processing, truth)
    all_of_them = base_error(arm, noisy, processing, truth)
    assert all_of_them < 0.5 * one
    block = next(iter(filtered_rows(arm, noisy, processing)))
    residual = block.torque - block.predict(truth)
    taps = processing.taps(1000.0)
    assert residual.std() == pytest.approx(np.linalg.norm(taps), rel=0.25)  # as if of one sample's noise


def test_a_period_between_samples(arm: Robot, truth: np.ndarray, harmonic) -> None:  # type: ignore[no-untyped-def]
    t, q, dq, ddq = harmonic(np.arange(26000) * 0.9731e-3)
    data = Dataset.from_arrays(t, q, arm.torque(q, dq, ddq, truth))
    assert base_error(arm, data, Processing(6.0, derivative="fourier", period_s=5.0), truth) < 1e-4


def test_motion_that_does_not_repeat(arm: Robot, make: Callable[..., Dataset]) -> None:
    data = make(np.arange(20000) * 1e-3)
    with pytest.raises(
        DataError, match=r"joint1 does not repeat after 4 s: periods differ by .* correct period_s"
    ):
        list(filtered_rows(arm, data, Processing(6.0, derivative="fourier", period_s=4.0)))
    with pytest.raises(DataError, match="20 s of data for a period of 50 s"):
        list(filtered_rows(arm, data, Processing(6.0, derivative="fourier", period_s=50.0)))
