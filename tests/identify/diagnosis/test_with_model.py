"""What a robot's file tells of a log: a few defects quickly, a dozen of the benchmark's slowly."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.identify import Robot
from heft.identify.diagnosis.diagnose import diagnose
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.model_checks import check_bodies, check_limits_of

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from log_defects import DEFECTS

SLOW = (
    "rate wrong, no velocities",
    "clock of torques drifts",
    "torques late",
    "positions converted twice",
    "torque scale of one joint",
    "torque sign of one joint",
    "gravity elsewhere",
    "torques exchanged",
    "joint offset",
    "torques of a model",
    "friction drifts",
    "slow motion",
)


#: Ids that users build on: they stay.
STABLE = [
    "rate_mismatch",
    "stamps",
    "gaps",
    "stale_rows",
    "slow_stream",
    "held_samples",
    "clock_drift",
    "stream_delay",
    "angle_unit",
    "angle_wrap",
    "velocity_unit",
    "torque_unit",
    "torque_scale",
    "torque_sign",
    "gear_ratio",
    "wrench_frame",
    "wrench_sign",
    "gravity_direction",
    "joint_order",
    "joint_offset",
    "dead_column",
    "saturation",
    "quantisation",
    "spikes",
    "garbage_rows",
    "model_output",
    "gravity_compensated_effort",
    "smoothed_before_recording",
    "contact",
    "friction_drift",
    "bias_drift",
    "unexcited_axis",
    "synchronous_axes",
    "slow_motion",
    "unidentifiable",
    "model_inconsistent",
    "model_kinematics",
]


@pytest.mark.slow
@pytest.mark.parametrize("factor", [180 / np.pi, np.pi / 180])
def test_positions_in_another_unit_are_one_fault(healthy: Log, wam7: Robot, factor: float) -> None:
    """Without velocities; what the model and the limits say of such positions is not told."""
    tables = {key: one for key, one in healthy.tables.items() if key != "dq"}
    log = replace(healthy, tables=tables).with_values(q=factor * healthy.tables["q"].values)
    found = diagnose(log, wam7)
    assert [one.id for one in found if one.severity != "note"] == ["angle_unit"]


def test_every_stable_id_has_a_defect_and_a_line_in_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "check.md").read_text(encoding="utf-8")
    assert set(STABLE) <= {id_ for one in DEFECTS for id_ in one.ids}
    assert [id_ for id_ in STABLE if f"`{id_}`" not in page] == []


def test_computed_torques_are_found_in_one_run_of_several(healthy: Log, wam7: Robot) -> None:
    """A second run without any torque must not hide that those of the first were computed."""
    (defect,) = (one for one in DEFECTS if one.name == "torques of a model")
    log, _ = defect.make(healthy, wam7, 2, np.random.default_rng(0))
    start = float(log.tables["q"].t[len(log.tables["q"]) // 2])
    tables = {}
    for key, one in log.tables.items():
        later = one.t >= start
        values = np.where(later[:, None], 0.0, one.values) if key == "tau" else one.values
        tables[key] = replace(one, t=one.t + 5.0 * later, values=values)
    two = replace(log, tables=tables, breaks=(start + 4.0,))
    assert {one.id for one in diagnose(two, wam7)} >= {"model_output"}


def test_a_healthy_log_has_nothing_serious(healthy: Log, wam7: Robot) -> None:
    assert [one for one in diagnose(healthy, wam7) if one.severity != "note"] == []


@pytest.mark.slow
def test_a_turned_sign_of_all_torques(healthy: Log, wam7: Robot) -> None:
    found = diagnose(healthy.with_values(tau=-healthy.tables["tau"].values), wam7)
    assert found[0].id == "torque_sign"
    assert found[0].severity == "fatal"
    assert found[0].fix == {"torque": {"sign": -1.0}}


def test_a_contact_is_found_where_it_was(healthy: Log, wam7: Robot) -> None:
    tau = healthy.tables["tau"]
    pulse = 0.5 * np.exp(-(((tau.t - 7.0) / 0.2) ** 2))[:, None] * tau.values.std(axis=0)
    found = {one.id: one for one in diagnose(healthy.with_values(tau=tau.values + pulse), wam7)}
    assert found["contact"].place is not None
    assert found["contact"].place.span_s == pytest.approx((6.0, 8.0), abs=0.5)


def test_a_link_that_could_not_exist_is_named_with_its_level(wam7: Robot) -> None:
    assert wam7.prior is not None
    prior = wam7.prior.copy()
    prior[24] = 5 * (prior[26] + prior[29])
    (found,) = check_bodies(replace(wam7, prior=prior))
    assert found.where == wam7.links[2]
    assert "level full" in found.evidence
    assert check_bodies(wam7) == []


def test_limits_in_degrees(wam7: Robot) -> None:
    assert wam7.limits is not None
    limits = replace(wam7.limits, position=wam7.limits.position * 180 / np.pi)
    assert {one.id for one in check_limits_of(replace(wam7, limits=limits))} == {"model_limits"}
    assert check_limits_of(wam7) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_severe_defects_are_named(healthy: Log, wam7: Robot, name: str) -> None:
    (one,) = (defect for defect in DEFECTS if defect.name == name)
    log, robot = one.make(healthy, wam7, 2, np.random.default_rng(0))
    assert {found.id for found in diagnose(log, robot)} & set(one.ids)


def test_a_free_base_says_what_was_not_looked_at() -> None:
    """Silence would pass for health."""
    walker = Path(__file__).parents[1] / "excitation" / "walker.xml"
    robot = Robot.from_mjcf(walker)
    t = np.arange(0.0, 10.0, 0.01)
    n = len(robot.joints)
    q = 0.3 * np.sin(t[:, None] * (1.0 + 0.1 * np.arange(n)))
    found = diagnose(Log.of_arrays(t, q, q, joints=robot.joints), robot)
    (one,) = [one for one in found if one.id == "not_checked"]
    assert one.severity == "note"
    assert "not held against the model" in one.evidence
