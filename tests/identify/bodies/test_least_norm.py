"""Least squares of least norm, also where LAPACK's singular values do not converge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heft.identify.bodies.least_norm import least_norm


@pytest.fixture
def table() -> np.ndarray:
    """Twelve columns, of which two are sums of others and one is next to nothing."""
    A = np.random.default_rng(0).normal(size=(80, 12))
    A[:, 3], A[:, 7], A[:, 9] = A[:, 0] + A[:, 1], A[:, 2] - A[:, 4], 1e-9 * A[:, 9]
    return A


@pytest.mark.parametrize("columns", [(), (3,)])
def test_another_way_finds_the_same(
    table: np.ndarray, columns: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    b = np.random.default_rng(1).normal(size=(80, *columns))
    usual = least_norm(table, b, 1e-6)
    np.testing.assert_allclose(usual, np.linalg.pinv(table, rcond=1e-6) @ b, atol=1e-12)

    def diverges(*_: Any, **__: Any) -> None:
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")

    monkeypatch.setattr(np.linalg, "lstsq", diverges)
    np.testing.assert_allclose(least_norm(table, b, 1e-6), usual, atol=1e-8)
