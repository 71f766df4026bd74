"""What stamps, values and velocities tell without any model."""

from dataclasses import replace

import numpy as np
import pytest

from heft.identify.diagnosis.diagnose import look_over
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.fixes import corrected
from heft.identify.diagnosis.log import Log


def named(log: Log) -> dict[str, Finding]:
    return {one.id: one for one in reversed(look_over(log))}


def stamped(log: Log, t: np.ndarray) -> Log:
    return replace(log, tables={key: replace(one, t=t) for key, one in log.tables.items()})


def test_a_healthy_log_has_nothing_serious(healthy: Log) -> None:
    assert [one for one in look_over(healthy) if one.severity != "note"] == []


@pytest.mark.parametrize("factor", [0.2, 1.05, 3.0])
def test_a_wrong_rate_shows_in_the_velocities(healthy: Log, factor: float) -> None:
    found = named(stamped(healthy, healthy.tables["q"].t * factor))["rate_mismatch"]
    assert found.fix is not None
    assert found.fix["rate_hz"] == pytest.approx(250.0, rel=0.005)


@pytest.mark.parametrize("unit", [1.0, 180 / np.pi])
def test_positions_that_start_anew_after_a_turn(healthy: Log, unit: float) -> None:
    q = healthy.tables["q"].values.copy()
    q[:, 3] = (q[:, 3] - np.median(q[:, 3])) % (2 * np.pi) + np.median(q[:, 3])
    broken = healthy.with_values(q=unit * q)
    found = look_over(broken)
    assert [one.where for one in found if one.id == "angle_wrap"] == [healthy.joints[3]]
    assert all(one.id in ("angle_wrap", "angle_unit") for one in found if one.severity != "note")
    again, _ = corrected(broken, None, found)
    moved = again.tables["q"].values - healthy.tables["q"].values
    np.testing.assert_allclose(moved[:, 3] / (2 * np.pi), np.round(moved[0, 3] / (2 * np.pi)), atol=1e-6)


def test_milliseconds_are_told_from_another_rate(healthy: Log) -> None:
    found = named(stamped(healthy, healthy.tables["q"].t * 1e3))["rate_mismatch"]
    assert found.fix == {"time": {"unit": "ms"}}


def test_lost_samples_are_gaps(healthy: Log) -> None:
    kept = np.random.default_rng(0).random(len(healthy.tables["q"])) > 0.03
    cut = {key: replace(one, t=one.t[kept], values=one.values[kept]) for key, one in healthy.tables.items()}
    assert named(replace(healthy, tables=cut))["gaps"].severity == "serious"


def test_repeated_and_backward_stamps(healthy: Log) -> None:
    t = healthy.tables["q"].t.copy()
    t[100], t[200] = t[99], t[150]
    assert "1 stamps repeat" in named(stamped(healthy, t))["stamps"].evidence


def test_stamps_that_never_increase_are_fatal(healthy: Log) -> None:
    assert named(stamped(healthy, np.zeros(len(healthy.tables["q"]))))["stamps"].severity == "fatal"


def test_two_clocks_that_drift_apart(healthy: Log) -> None:
    tables = {key: replace(one, host=one.t * 1.002) for key, one in healthy.tables.items()}
    assert "2e+03 ppm" in named(replace(healthy, tables=tables))["clock_drift"].evidence


def test_a_held_stream_is_slower_than_its_log(healthy: Log) -> None:
    tau = healthy.tables["tau"].values
    found = named(healthy.with_values(tau=tau[np.arange(len(tau)) // 5 * 5]))
    assert "measured at 50 samples/s" in found["slow_stream"].evidence
    assert "held_samples" in found


@pytest.mark.parametrize(("factor", "unit"), [(180 / np.pi, "deg/s"), (60 / (2 * np.pi), "rpm")])
def test_units_of_velocities(healthy: Log, factor: float, unit: str) -> None:
    log = healthy.with_values(dq=healthy.tables["dq"].values * factor)
    assert named(log)["velocity_unit"].fix == {"velocity": {"unit": unit}}


def test_degrees(healthy: Log) -> None:
    log = healthy.with_values(q=healthy.tables["q"].values * 180 / np.pi)
    assert named(log)["angle_unit"].fix == {"position": {"unit": "deg"}}


def test_velocities_in_another_order(healthy: Log) -> None:
    order = [0, 3, 2, 1, 4, 5, 6]
    found = named(healthy.with_values(dq=healthy.tables["dq"].values[:, order]))["joint_order"]
    assert found.fix == {"velocity": {"columns": [healthy.joints[i] for i in order]}}


def test_velocities_that_lag(healthy: Log) -> None:
    dq = healthy.tables["dq"]
    late = np.stack([np.interp(dq.t - 0.1, dq.t, column) for column in dq.values.T], axis=1)
    assert "lag positions by 1" in named(healthy.with_values(dq=late))["stream_delay"].evidence


def test_values_of_single_columns(healthy: Log) -> None:
    rng = np.random.default_rng(0)
    tau = healthy.tables["tau"].values.copy()
    tau[:, 0] = 0.0
    top = np.quantile(np.abs(tau[:, 1]), 0.9)
    tau[:, 1] = np.clip(tau[:, 1], -top, top)
    at = rng.choice(len(tau), 40, replace=False)
    tau[at, 2] += 10 * np.ptp(tau[:, 2])
    tau[:, 3] = np.round(tau[:, 3] / tau[:, 3].std()) * tau[:, 3].std()
    tau[500] = np.nan
    found = named(healthy.with_values(tau=tau))
    assert {"dead_column", "saturation", "spikes", "quantisation", "garbage_rows"} <= set(found)
    assert healthy.joints[0] in found["dead_column"].where
    assert healthy.joints[1] in found["saturation"].where


def test_axes_that_stand_still_or_move_in_step(healthy: Log) -> None:
    q = healthy.tables["q"].values.copy()
    q[:, 2] = 0.3
    q[:, 4] = 0.5 * q[:, 3]
    found = {
        one.id: one
        for one in look_over(
            replace(healthy.with_values(q=q), tables={"q": replace(healthy.tables["q"], values=q)})
        )
    }
    assert found["unexcited_axis"].where == healthy.joints[2]
    assert set(found["synchronous_axes"].where.split(", ")) == {healthy.joints[3], healthy.joints[4]}
