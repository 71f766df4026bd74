"""Square-root information against the same problem written out."""

from __future__ import annotations

import numpy as np

from heft.identify.payload.estimation.compensation import compensated
from heft.identify.payload.estimation.factor import InformationFactor


def test_updates_are_least_squares() -> None:
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(40, 5)), np.array([0.3, -1.0, 2.0, 0.5, 4.0])
    values = rows @ truth + 0.1 * rng.normal(size=40)
    factor = InformationFactor(np.array([1e6, 1e6]), 3)
    for part in range(4):
        factor.update(rows[10 * part : 10 * part + 10], values[10 * part : 10 * part + 10])
    expected = np.linalg.lstsq(rows, values, rcond=None)[0]
    R, z = factor.information
    s = np.linalg.solve(R, z)
    np.testing.assert_allclose(s, expected[2:], atol=1e-8)
    B, S, y = factor.bias_rows
    np.testing.assert_allclose(np.linalg.solve(B, y - S @ s), expected[:2], atol=1e-8)
    covariance = np.linalg.inv(rows.T @ rows)[2:, 2:]
    np.testing.assert_allclose(np.linalg.inv(R.T @ R), covariance, rtol=1e-6)


def test_a_walking_bias_is_the_problem_with_one_bias_per_step() -> None:
    rng = np.random.default_rng(1)
    rows, values = rng.normal(size=(30, 3)), rng.normal(size=30)
    factor, walk = InformationFactor(np.array([2.0]), 2), 0.3
    for part in range(3):
        factor.update(
            rows[10 * part : 10 * part + 10], values[10 * part : 10 * part + 10], walk=np.array([walk])
        )
    # Unknowns: bias before, three biases, s (2).
    full, rhs = np.zeros((34, 6)), np.zeros(34)
    full[0, 0] = 1 / 2.0
    for part in range(3):
        full[1 + part, part], full[1 + part, part + 1] = -1 / walk, 1 / walk
        block = slice(4 + 10 * part, 14 + 10 * part)
        full[block, part + 1] = rows[10 * part : 10 * part + 10, 0]
        full[block, 4:] = rows[10 * part : 10 * part + 10, 1:]
        rhs[block] = values[10 * part : 10 * part + 10]
    expected = np.linalg.lstsq(full, rhs, rcond=None)[0]
    R, z = factor.information
    np.testing.assert_allclose(np.linalg.solve(R, z), expected[4:], atol=1e-8)
    np.testing.assert_allclose(
        np.linalg.inv(R.T @ R), np.linalg.inv(full.T @ full)[4:, 4:], rtol=1e-6, atol=1e-12
    )


def test_forgetting_fades_what_came_before() -> None:
    factor = InformationFactor(np.array([1e6]), 1)
    factor.update(np.array([[0.0, 1.0]]), np.array([1.0]))
    factor.update(np.array([[0.0, 1.0]]), np.array([2.0]), forgetting=0.25)
    R, z = factor.information
    np.testing.assert_allclose(z / R[:, 0], [(0.25 * 1 + 2) / 1.25], rtol=1e-6)


def test_what_is_forgotten_is_marginalised_and_the_rest_is_kept() -> None:
    rng = np.random.default_rng(2)
    rows, values = rng.normal(size=(40, 6)), rng.normal(size=40)
    factor = InformationFactor(np.array([1e6, 1e6]), 4)
    factor.update(rows, values)
    factor.forget(slice(1, 4))
    expected = np.linalg.lstsq(rows, values, rcond=None)[0]
    R, z = factor.information
    precision = R.T @ R
    assert np.abs(precision[1:, 1:]).max() < 1e-12
    np.testing.assert_allclose((R.T @ z)[0] / precision[0, 0], expected[2], atol=1e-7)
    np.testing.assert_allclose(1 / precision[0, 0], np.linalg.inv(rows.T @ rows)[2, 2], rtol=1e-6)


def test_noise_in_a_regressor_biases_least_squares_and_is_taken_off() -> None:
    rng = np.random.default_rng(3)
    truth, count = np.array([2.0, -1.0, 0.7]), 20000
    clean = rng.normal(size=(count, 3)) * np.array([1.0, 1.0, 0.0])  # the third is never excited
    noise = rng.normal(size=(count, 3)) * np.array([0.0, 0.5, 0.5])
    values = clean @ truth + 0.1 * rng.normal(size=count)
    table = np.linalg.qr(np.column_stack([clean + noise, values]), mode="r")
    R, z = table[:3, :3], table[:3, 3]
    plain = np.linalg.solve(R, z)
    assert abs(plain[1] + 1.0) > 0.1
    assert abs(plain[2]) < 0.05  # "zero", says plain least squares
    squares = count * np.array([0.0, 0.25, 0.25])
    result = compensated(R, z, squares, np.zeros(3), np.array([0.0, 0.0, 0.0]))
    precision = result.R.T @ result.R
    estimate = np.linalg.lstsq(precision, result.R.T @ result.z, rcond=1e-9)[0]
    np.testing.assert_allclose(estimate[:2], truth[:2], atol=0.03)
    assert precision[2, 2] < 1e-4 * precision[1, 1]  # nothing is said of the third
    assert not result.doubt.any()


def test_slow_noise_is_doubt() -> None:
    R, z = np.diag([100.0, 100.0]), np.array([100.0, 200.0])
    result = compensated(R, z, np.zeros(2), np.array([0.0, 50.0]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(result.doubt, [0.0, 25.0 * 2.0])
    np.testing.assert_allclose(result.R.T @ result.R, np.diag([1e4, 1e4 - 25.0]))
    untouched = compensated(R, z, np.zeros(2), np.zeros(2), np.array([1.0, 2.0]))
    assert untouched.R is R
