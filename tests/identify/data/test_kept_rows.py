"""Rows on disk are the rows that were made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Robot, fit
from heft.identify.data import Processing, kept_rows
from heft.identify.information.fit_data import FitData

ROBOT = Path(__file__).parents[3] / "configs" / "robots" / "ddarm.yaml"


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(ROBOT)


@pytest.fixture(scope="module")
def data(robot: Robot) -> Dataset:
    assert robot.prior is not None
    t = np.arange(20_000) * 1e-3
    rates = np.array([2.1, 2.9, 3.7])
    phase = np.multiply.outer(t, rates)
    q, dq, ddq = np.sin(phase), np.cos(phase) * rates, -np.sin(phase) * rates**2
    torque = robot.torque(q, dq, ddq, robot.prior)
    noise = np.random.default_rng(0).normal(size=torque.shape)
    return Dataset.from_arrays(t, q, torque + 0.1 * noise)


@pytest.mark.parametrize("bound", [0, 40_000])
def test_a_second_look_sees_the_same_rows(
    robot: Robot, data: Dataset, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rows, "IN_MEMORY", bound)
    source = FitData.of(robot, [data], Processing(5.0)).aligned((1e-4,))
    first, again = list(source.blocks()), list(source.blocks())
    assert len(first) > 1
    for one, other in zip(first, again, strict=True):
        for name in ("index", "time", "table", "keep", "rates"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_where_they_lie_changes_nothing(
    robot: Robot, data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for bound in (0, 10**9):
        monkeypatch.setattr(kept_rows, "IN_MEMORY", bound)
        results.append(fit(robot, data, cutoff_hz=5.0).save(tmp_path / f"{bound}.json").read_bytes())
    assert results[0] == results[1]
