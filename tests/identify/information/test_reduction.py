"""Information factors: exact, the same however rows arrive, mergeable, and small."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from heft.identify.data import Dataset, Processing, filtered_rows
from heft.identify.errors import DataError, ParameterError
from heft.identify.information.fit_data import FitData
from heft.identify.information.reduction import Information, Reduction, reduce
from heft.identify.robot import Robot

RATE = 500.0


@pytest.fixture(scope="module")
def arm() -> Robot:
    rows = [{"alpha": -np.pi / 2, "a": 0.0, "d": 0.0}, {"alpha": 0.0, "a": 0.4, "d": 0.1}]
    return Robot.from_dh(rows)


def motion(seconds: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(int(seconds * RATE)) / RATE
    a, b = np.random.default_rng(seed).uniform(-1, 1, (2, 2, 3))
    w = np.array([1.0, 2.3, 3.1])
    return t, np.sin(np.multiply.outer(t, w)) @ a.T + np.cos(np.multiply.outer(t, w)) @ b.T


def data_of(seconds: float, seed: int = 0) -> Dataset:
    t, q = motion(seconds, seed)
    return Dataset.from_arrays(t, q, np.random.default_rng(seed + 50).standard_normal(q.shape))


def dense(robot: Robot, data: Dataset, processing: Processing) -> tuple[np.ndarray, np.ndarray]:
    """[Y_j tau_j] of every joint, (n, T, p + 1)."""
    p, layout = len(robot.parameter_names), robot.regressor.layout
    blocks = list(filtered_rows(robot, data, processing))
    table = np.concatenate([block.table for block in blocks])
    full = np.zeros((len(robot.joints), len(table), p + 1))
    for j in range(len(robot.joints)):
        full[j][:, layout.parameters[layout.row(j)]] = table[:, layout.row(j)]
    return full, np.concatenate([block.keep for block in blocks])


def test_factors_are_square_roots_of_the_information(arm: Robot) -> None:
    data, processing = data_of(60.0), Processing(8.0)
    information = reduce(arm, data, processing)
    rows, keep = dense(arm, data, processing)
    for j, factor in enumerate(information.factors):
        used = rows[j][keep[:, j]]
        assert information.rows[j] == len(used)
        assert np.array_equal(factor, np.triu(factor))
        assert np.allclose(factor.T @ factor, used.T @ used, rtol=1e-10, atol=1e-9)


def test_weights_can_change_afterwards(arm: Robot) -> None:
    data, processing = data_of(40.0), Processing(8.0)
    information = reduce(arm, data, processing)
    rows, keep = dense(arm, data, processing)
    weights, x = np.array([2.0, 0.3]), np.random.default_rng(1).standard_normal(len(arm.parameter_names))
    R, z, rho2 = information.stacked(weights)
    cost = sum(
        (weights[j] * (rows[j][keep[:, j], :-1] @ x - rows[j][keep[:, j], -1]) ** 2 * weights[j]).sum()
        for j in range(2)
    )
    assert ((R @ x - z) ** 2).sum() + rho2 == pytest.approx(cost, rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_however_rows_arrive(arm: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((3000, arm.regressor.layout.width))
    weights = (rng.random((3000, 2)) < 0.9).astype(float)
    whole = Reduction(arm.regressor.layout)
    whole.add(table, weights)
    parts = Reduction(arm.regressor.layout)
    start = 0
    while start < len(table):
        stop = start + int(rng.integers(1, 700))
        parts.add(table[start:stop], weights[start:stop])
        start = stop
    one, other = whole.finish(), parts.finish()
    assert np.array_equal(one.factors, other.factors)
    assert np.array_equal(one.rows, other.rows)


def test_merge_is_as_if_reduced_together(arm: Robot) -> None:
    processing = Processing(8.0)
    one, two = reduce(arm, data_of(20.0, 1), processing), reduce(arm, data_of(30.0, 2), processing)
    both = one.merge(two)
    expected = np.einsum("jka,jkb->jab", one.factors, one.factors) + np.einsum(
        "jka,jkb->jab", two.factors, two.factors
    )
    assert np.allclose(np.einsum("jka,jkb->jab", both.factors, both.factors), expected, rtol=1e-10, atol=1e-9)
    assert np.array_equal(both.rows, one.rows + two.rows)
    with pytest.raises(ParameterError, match="another robot or other joint terms"):
        one.merge(reduce(arm.with_terms(()), data_of(20.0, 1), processing))


def test_accuracy_is_not_lost_to_squares(arm: Robot) -> None:
    """Columns nearly alike to 1e-9: their difference survives, which R'R alone could not tell."""
    rng = np.random.default_rng(0)
    layout = arm.regressor.layout
    table = rng.standard_normal((2000, layout.width))
    row = layout.row(0)
    table[:, row.start + 1] = table[:, row.start] + 1e-9 * table[:, row.start + 1]
    reduction = Reduction(layout)
    reduction.add(table, np.ones((2000, 2)))
    values = np.linalg.svd(reduction.finish().factors[0], compute_uv=False)
    smallest = values[values > 0].min()
    assert smallest == pytest.approx(np.linalg.svd(table[:, row], compute_uv=False)[-1], rel=1e-4)


def test_reweighting_goes_through_the_data_again(arm: Robot) -> None:
    data, processing = (data_of(20.0, 1), data_of(15.0, 2)), Processing(8.0)
    x = np.random.default_rng(3).standard_normal(len(arm.parameter_names))
    seen: list[np.ndarray] = []
    older: list[np.ndarray] = []

    def weigh(index: np.ndarray, age_s: np.ndarray, residual: np.ndarray) -> np.ndarray:
        seen.append(index)
        older.append(age_s)
        return np.full_like(residual, 4.0)

    heavy = FitData.of(arm, data, processing, ("offsets",)).reweight(weigh, x)
    plain = reduce(arm, data[0], processing).merge(reduce(arm, data[1], processing))
    assert np.allclose(
        np.einsum("jka,jkb->jab", heavy.factors, heavy.factors),
        4 * np.einsum("jka,jkb->jab", plain.factors, plain.factors),
    )
    assert np.array_equal(np.concatenate(seen), np.arange(len(np.concatenate(seen))))
    age = np.concatenate(older)
    assert age[-1] == 0.0
    assert (np.diff(age) <= 0).all()
    assert 28.0 < age[0] < 35.0  # one dataset after the other, less what the filters need


def test_memory_does_not_grow_with_the_data(arm: Robot) -> None:
    def peak(seconds: float) -> int:
        data = data_of(seconds)
        reduce(arm, data, Processing(8.0))  # compiled, and caches filled
        tracemalloc.start()
        reduce(arm, data, Processing(8.0))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    extra = 900 * RATE * 8  # one column of doubles
    assert peak(1000.0) < peak(100.0) + 8 * extra  # the survey's coarse copy and masks; not filtered copies


def test_nothing_moves_long_enough(arm: Robot) -> None:
    t, q = motion(20.0)
    still = np.where((np.arange(len(t)) < 40)[:, None], q, q[40])
    with pytest.raises(DataError, match="no joint moves long enough"):
        reduce(arm, Dataset.from_arrays(t, still, q), Processing(8.0))


def test_shapes_are_looked_at(arm: Robot) -> None:
    with pytest.raises(ParameterError, match="for 2 joints and 1 parameters"):
        Information(np.zeros((2, 3, 3)), np.ones(2, dtype=np.int64), ("a.b",))
    information = reduce(arm, data_of(10.0), Processing(8.0))
    with pytest.raises(ParameterError, match="for 2 joints"):
        information.stacked(np.ones(3))


def test_factors_of_any_factorisation_will_do() -> None:
    """LAPACK leaves a row beside a zero on the diagonal: it counts."""
    rows = np.random.default_rng(0).standard_normal((30, 5))
    rows[:, 1] = 0.0
    factor = np.linalg.qr(rows).R
    assert factor[1, 1] == 0.0
    R, z, rho2 = Information(factor[None], np.array([30]), tuple("abcd")).stacked(np.ones(1))
    whole = np.column_stack([R, z])
    assert np.allclose((whole.T @ whole)[:4], (rows.T @ rows)[:4], rtol=1e-12, atol=1e-12)
    assert rho2 + z @ z == pytest.approx((rows[:, 4] ** 2).sum())
