"""Held-out errors are those of fitting all blocks but one, and predicting that one."""

from __future__ import annotations

import numpy as np

from heft.identify.estimation.friction.held_out import HeldOut


def test_errors_are_those_of_leaving_out_each_block() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(200, 4)) * [1.0, 50.0, 0.01, 1.0]
    target = columns @ [1.0, 0.02, 5.0, 0.0] + rng.normal(size=200)
    blocks = np.repeat(np.arange(5), 40)
    held = HeldOut.of(np.column_stack([columns, target]), blocks)
    choices = [(0, 1), (0, 2), (1, 3)]
    errors = held.errors(choices)
    for choice, found in zip(choices, errors, strict=True):
        X = columns[:, choice]
        for b in range(5):
            out = blocks == b
            k = np.linalg.lstsq(X[~out], target[~out])[0]
            assert np.isclose(found[b], ((target[out] - X[out] @ k) ** 2).sum(), rtol=1e-6)
    assert np.allclose(held.coefficients((0, 1, 2)), np.linalg.lstsq(columns[:, :3], target)[0], rtol=1e-6)


def test_two_equal_columns_are_no_error() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=100)
    held = HeldOut.of(np.column_stack([x, x, 2 * x + rng.normal(size=100)]), np.repeat(np.arange(4), 25))
    one, both = held.errors([(0,)])[0], held.errors([(0, 1)])[0]
    assert np.allclose(one, both, rtol=1e-3)
