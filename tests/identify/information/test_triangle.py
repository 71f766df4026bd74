"""The triangle that takes in rows."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.information.triangle import BLOCK, absorb, triangle


@pytest.mark.parametrize("rows", [1, 5, BLOCK, 3 * BLOCK + 7])
def test_triangle_of_rows(rows: int) -> None:
    matrix = np.random.default_rng(rows).standard_normal((rows, 12))
    R = triangle(matrix)
    assert np.array_equal(R, np.triu(R))
    assert np.all(np.diag(R) >= 0)
    assert np.allclose(R.T @ R, matrix.T @ matrix, rtol=1e-12, atol=1e-12)


def test_as_accurate_as_lapack_on_a_bad_matrix() -> None:
    """Singular values over ten decades: the smallest is right to what rounding allows."""
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.standard_normal((500, 20))).Q, np.linalg.qr(rng.standard_normal((20, 20))).Q
    values = np.logspace(0, -10, 20)
    matrix = U * values @ V.T
    ours = np.linalg.svd(triangle(matrix), compute_uv=False)
    assert np.allclose(ours, values, rtol=0, atol=1e-15)


def test_columns_of_zeros_stay_zero() -> None:
    matrix = np.random.default_rng(0).standard_normal((30, 4))
    matrix[:, 2] = 0.0
    R = triangle(matrix)
    assert not np.any(R[:, 2])
    assert not np.any(R[2])


def test_taking_in_is_as_if_factorised_together() -> None:
    one, two = np.random.default_rng(1).standard_normal((2, 40, 6))
    R = triangle(one)
    absorb(R, two.T.copy())
    assert np.allclose(R.T @ R, one.T @ one + two.T @ two, rtol=1e-12)
