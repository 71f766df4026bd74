"""Columns beside the rows are those that the regressor would have computed."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify import Dataset, Processing, Robot
from heft.identify.data import filtered_rows
from heft.identify.estimation.friction.shapes import RowFilter, shape

TERMS = ("viscous", "coulomb", "coulomb_asymmetry", "stribeck")


@pytest.mark.parametrize("window", ["kaiser", "butterworth"])
@pytest.mark.parametrize("term", TERMS[1:])
def test_a_shape_is_the_regressors_column(term: str, window) -> None:
    robot = Robot.from_dh([{"alpha": 0.0, "a": 0.3, "d": 0.0}], joint_terms=TERMS)
    t = np.arange(20000) * 1e-3
    q = 0.6 * np.sin(2.1 * t) + 0.3 * np.sin(5.3 * t + 1)
    processing = Processing(8.0, window=window)
    blocks = list(filtered_rows(robot, Dataset.from_arrays(t, q[:, None], q[:, None]), processing))
    table = np.concatenate([block.table for block in blocks])
    time = np.concatenate([block.time for block in blocks])
    row_filter = RowFilter.of(time, processing)
    fine = row_filter.fine(table[:, 10])
    column = row_filter.rows(shape(term, fine, np.tanh(fine / 0.02), 0.1, None)[None])[0]
    valid = row_filter.valid
    assert valid.sum() > 0.9 * len(time)
    exact = table[:, 10 + TERMS.index(term)]
    error = np.linalg.norm((column - exact)[valid]) / np.linalg.norm(exact[valid])
    assert error < (0.2 if term == "stribeck" else 0.02)  # its bump is hardly longer than a fine step


def test_rows_beside_a_gap_are_not_valid() -> None:
    time = np.concatenate([np.arange(100) * 0.05, 7.0 + np.arange(100) * 0.05])
    valid = RowFilter.of(time, Processing(10.0)).valid
    reach = int(np.argmax(valid))
    assert 4 <= reach <= 10
    assert not valid[100 - reach : 100 + reach].any()
    assert valid[reach : 100 - reach - 1].all()
