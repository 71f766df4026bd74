"""The verdict: what it calls good, what it does not, why; and that one mistake in the data does not fool it."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit, load
from heft.identify.certainty.interval import Interval
from heft.identify.certainty.reason import CAUSE, Reason
from heft.identify.result import Parameters
from heft.identify.result.inertia_matrix import check_inertia_matrix, inertia_matrices

SWAP = [0, 2, 1]


@pytest.fixture(scope="module")
def robot(bench) -> Robot:
    """The arm with a file whose masses are off by up to a tenth."""
    file = bench.truth.copy()
    for k, share in enumerate((1.08, 0.93, 1.05)):
        file[10 * k : 10 * k + 10] *= share
    return replace(bench.robot, prior=file)


def turned(robot: Robot) -> Robot:
    return replace(robot, tree=replace(robot.tree, gravity=np.array([9.81, 0.0, 0.0])))


def mistaken(
    *,
    tau: float | list[float] = 1.0,
    time: float = 1.0,
    q: float = 1.0,
    order: tuple[list[int], list[int]] | None = None,
) -> Callable[[Dataset], Dataset]:
    positions, torques = order or ([0, 1, 2], [0, 1, 2])
    return lambda data: Dataset.from_arrays(
        data.t * time, data.q[:, positions] * q, data.tau[:, torques] * np.asarray(tau)
    )


MISTAKES = {
    "a hundredth": ("torque-scale", mistaken(tau=0.01)),
    "half": ("torque-scale", mistaken(tau=0.5)),
    "1.3 times": ("torque-scale", mistaken(tau=1.3)),
    "a hundred times": ("torque-scale", mistaken(tau=100.0)),
    "negated": ("torque-sign", mistaken(tau=-1.0)),
    "one joint twice": ("joint-gain", mistaken(tau=[1.0, 2.0, 1.0])),
    "half the rate": ("time-scale", mistaken(time=2.0)),
    "a twentieth of the rate": ("time-scale", mistaken(time=20.0)),
    "twice the rate": ("time-scale", mistaken(time=0.5)),
    "torques exchanged": ("joints-exchanged", mistaken(order=([0, 1, 2], SWAP))),
    "columns exchanged": ("joints-exchanged", mistaken(order=(SWAP, SWAP))),
    "degrees": ("position-unit", mistaken(q=180 / np.pi)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_not_called_good_and_its_cause_is_told(name: str, robot: Robot, bench) -> None:
    cause, made = MISTAKES[name]
    verdict = fit(robot, made(bench.dataset(1)), validate=made(bench.dataset(2))).verdict
    assert verdict.grade != "good"
    assert cause in [reason.id for reason in verdict.reasons[:3]], verdict.reasons


def test_gravity_that_was_turned_is_found(robot: Robot, bench) -> None:
    verdict = fit(turned(robot), bench.dataset(1), cutoff_hz=5.0, validate=bench.dataset(2)).verdict
    assert verdict.grade == "unfit"
    assert verdict.reasons[0].id == "gravity-direction"
    assert "90 degrees" in verdict.reasons[0].text


def test_measured_velocities_tell_a_wrong_rate(robot: Robot, bench) -> None:
    data = bench.dataset(1)
    dq = np.gradient(np.asarray(data.q), data.t, axis=0)
    wrong = Dataset.from_arrays(2 * data.t, data.q, data.tau, dq)
    first = fit(robot, wrong, cutoff_hz=2.5).verdict.reasons[0]
    assert first.id == "time-scale"
    assert "measured velocities are 2 times the derivative of positions" in first.text


def test_without_a_file_friction_tells_the_sign(bench) -> None:
    bare, data = replace(bench.robot, prior=None, boxes={}, total_mass=None), bench.dataset(1)
    assert "torque-sign" not in [one.id for one in fit(bare, data, cutoff_hz=5.0).verdict.reasons]
    negated = Dataset.from_arrays(data.t, data.q, -np.asarray(data.tau))
    verdict = fit(bare, negated, "wls", cutoff_hz=5.0).verdict
    assert "torque-sign" in [one.id for one in verdict.reasons[:3]]


def test_a_healthy_session_is_good(robot: Robot, bench, result: Result) -> None:
    for good in (result, fit(robot, bench.dataset(3), cutoff_hz=5.0, validate=bench.dataset(4))):
        assert good.verdict.grade == "good"
        assert good.verdict.reasons == ()
        assert "can be used: it predicts the torque of motion that it has not seen" in good.verdict.headline


def test_a_result_that_is_read_back_has_the_same_verdict(robot: Robot, bench, tmp_path) -> None:
    made = mistaken(tau=[1.0, 2.0, 1.0])
    first = fit(robot, made(bench.dataset(1)), cutoff_hz=5.0)
    path = first.save(tmp_path / "result.json")
    assert load(path).verdict == first.verdict
    stored = json.loads(path.read_text())["verdict"]
    assert stored == first.verdict.to_dict()
    assert stored["grade"] == "unfit"
    assert {"id", "severity", "text"} == set(stored["reasons"][0])


def ids(result: Result) -> list[tuple[str, str]]:
    return [(one.id, one.severity) for one in result.verdict.reasons]


def unseen(result: Result, per_joint: list[float], rows: tuple[int, ...] = (100, 100, 100)) -> Result:
    assert result.validation is not None
    error = replace(result.validation, per_joint=np.array(per_joint), rows=np.array(rows))
    return replace(result, validation=error)


def test_a_joint_cannot_hide_in_the_total(result: Result) -> None:
    assert ids(unseen(result, [0.01, 0.02, 0.25])) == [("joint-error", "care")]
    assert ids(unseen(result, [0.01, 0.02, 0.69])) == [("joint-error", "unfit")]
    assert ids(unseen(result, [0.21, 0.22, 0.25])) == [("joint-error", "unfit")]
    assert ids(unseen(result, [0.01, 0.02, 0.69], (100, 100, 0))) == []  # it did not move
    assert "69.0 % of joint3's torque" in unseen(result, [0.01, 0.02, 0.69]).verdict.headline


def test_total_error_and_overfitting(result: Result) -> None:
    assert result.validation is not None
    poor = replace(result, validation=replace(result.validation, total=0.31))
    assert ids(poor) == [("error", "unfit")]
    worse = replace(result, validation=replace(result.validation, total=4 * result.fit.total))
    assert ("overfit", "care") in ids(worse)
    assert ids(replace(result, validation=None)) == [("not-validated", "care")]


def test_masses_are_held_against_file_and_data_sheet(result: Result) -> None:
    light = replace(result, prior=result.parameters.values / 4, intervals={})
    assert ids(light)[0] == ("total-mass", "unfit")
    assert ("link-mass", "care") in ids(light)
    sheet = replace(result, robot=replace(result.robot, total_mass=(1.0, 2.0)), intervals={})
    assert ids(sheet) == [("data-sheet", "care")]


def test_no_complaint_where_the_interval_reaches_the_file(result: Result) -> None:
    wide = {
        name: Interval(1.0, 10.0, 0.1, 50.0, "kg")
        for name in ("total_mass", "link1.mass", "link2.mass", "link3.mass")
    }
    assert ids(replace(result, prior=result.parameters.values / 4, intervals=wide)) == []


def test_rank_condition_and_delay(result: Result) -> None:
    assert ids(replace(result, rank=result.rank - 1)) == [("rank", "care")]
    assert ids(replace(result, condition_number=2e4)) == [("condition", "care")]
    late = {name: replace(delay, value_s=0.1, estimated=True) for name, delay in result.delays.items()}
    assert ids(replace(result, delays=late)) == [("delay", "care")]


def test_negative_friction_is_told(result: Result) -> None:
    values = result.parameters.values.copy()
    values[result.layout.index("joint2.viscous")] = -0.5
    told = ids(replace(result, parameters=Parameters(result.layout, values)))
    assert ("negative", "care") in told


def test_the_worst_reason_comes_first_and_sets_the_grade(result: Result) -> None:
    found = (Reason("a", "care", "one", 5.0), Reason("b", "unfit", "two"), Reason("c", "care", "three", 9.0))
    judged = replace(result, findings=found).verdict
    assert [one.id for one in judged.reasons] == ["b", "c", "a"]
    assert judged.grade == "unfit"
    assert judged.headline.endswith("is not fit for use: two; and 2 more reasons.")


def test_a_cause_is_as_bad_as_what_it_causes(result: Result) -> None:
    found = (Reason("torque-scale", "care", "torques look 1.3 times as large", CAUSE + 5.0),)
    assert replace(result, findings=found).verdict.grade == "care"
    missed = replace(unseen(result, [0.01, 0.02, 0.69]), findings=found).verdict
    assert [(one.id, one.severity) for one in missed.reasons] == [
        ("torque-scale", "unfit"),
        ("joint-error", "unfit"),
    ]


def test_the_inertia_matrix_is_that_of_the_torques(bench) -> None:
    rng = np.random.default_rng(0)
    q, ddq = rng.normal(size=(2, 5, 3))
    M = inertia_matrices(bench.robot, bench.truth, q)
    still = np.zeros_like(q)
    torque = bench.robot.torque(q, still, ddq, bench.truth) - bench.robot.torque(q, still, still, bench.truth)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", M, ddq), torque, atol=1e-9)


def test_an_inertia_matrix_that_is_not_positive_definite(bench) -> None:
    assert check_inertia_matrix(bench.robot, bench.truth).ok
    broken = bench.truth.copy()
    broken[20:30] *= -1.0
    broken[[i for i, name in enumerate(bench.robot.parameter_names) if name.endswith("drive_inertia")]] = 0.0
    check = check_inertia_matrix(bench.robot, broken)
    assert check.failed == check.poses
    assert check.smallest < 0
    assert check_inertia_matrix(bench.robot, broken, tolerance=2.0).ok
