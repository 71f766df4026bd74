"""Fixes: what they do to a log, and how they are merged."""

import numpy as np
import pytest

from heft.identify.diagnosis.cure import cured, merged
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.fixes import chosen, fix_of
from heft.identify.diagnosis.log import Log


@pytest.fixture
def log() -> Log:
    rng = np.random.default_rng(0)
    t = np.arange(100) * 0.01
    return Log.of_arrays(
        t, *rng.standard_normal((3, 100, 2)), wrench=rng.standard_normal((100, 6)), joints=("a", "b")
    )


def test_units_scales_and_offsets(log: Log) -> None:
    again = cured(
        log, {"position": {"unit": "deg", "gear": [1.0, 2.0], "offset": 0.1}, "torque": {"gear": 3.0}}
    )
    expected = log.tables["q"].values * np.pi / 180 / [1.0, 2.0] + 0.1
    np.testing.assert_allclose(again.tables["q"].values, expected)
    np.testing.assert_allclose(again.tables["tau"].values, 3 * log.tables["tau"].values)


def test_order_of_columns_and_of_joints(log: Log) -> None:
    swapped = cured(log, {"torque": {"columns": ["b", "a"]}})
    np.testing.assert_array_equal(swapped.tables["tau"].values, log.tables["tau"].values[:, ::-1])
    whole = cured(log, {"joints": ["b", "a"]})
    np.testing.assert_array_equal(whole.tables["q"].values, log.tables["q"].values[:, ::-1])


def test_rate_and_unit_of_time(log: Log) -> None:
    assert cured(log, {"rate_hz": 500.0}).tables["q"].step_s == pytest.approx(0.002)
    assert cured(log, {"time": {"unit": "ms"}}).tables["tau"].step_s == pytest.approx(1e-5)


def test_a_wrench_is_turned_and_its_sign_with_it(log: Log) -> None:
    turn = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    again = cured(log, {"wrench": {"reaction": True, "rotation": turn}}).tables["wrench"].values
    np.testing.assert_allclose(again[:, 0], log.tables["wrench"].values[:, 1])


def test_factors_multiply_and_all_else_is_replaced() -> None:
    old = {"torque": {"scale": 2.0, "unit": "A", "columns": ["x"]}, "rate_hz": 10.0}
    new = {"torque": {"scale": [1.0, 0.5]}, "rate_hz": 20.0, "robot": {"gravity": [0, 0, 0]}}
    whole = merged(old, new)
    assert whole["torque"] == {"scale": [2.0, 1.0], "unit": "A", "columns": ["x"]}
    assert whole["rate_hz"] == 20.0
    assert old["rate_hz"] == 10.0


def test_of_rivals_only_the_first_is_mended() -> None:
    def finding(id: str, weight: float, fix: dict[str, object], *, rival: bool) -> Finding:
        return Finding(id, "fatal", "", "", "", "", fix, weight, rival=rival)

    one = finding("torque_sign", 20.0, {"torque": {"sign": -1.0}}, rival=True)
    other = finding("gravity_direction", 10.0, {"robot": {"gravity": [0, 0, 9.81]}}, rival=True)
    sure = finding("angle_unit", 5.0, {"position": {"unit": "deg"}}, rival=False)
    assert chosen([other, sure, one]) == [one, sure]
    assert fix_of([other, sure, one]) == {"torque": {"sign": -1.0}, "position": {"unit": "deg"}}
