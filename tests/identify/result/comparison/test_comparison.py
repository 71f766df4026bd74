"""Results side by side: one arm measured twice, the arm after a change, another arm."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.exit_codes import ExitCode
from heft.identify import Dataset, Result, Robot, fit
from heft.identify.errors import ProblemError
from heft.identify.result import BaseValues
from heft.identify.result.comparison import compare, data_of
from heft.main import main

PENDULUMS = (
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.3},
    {"alpha": 0.0, "a": 0.4, "d": 0.0},
)
LINK = [2.0, 0.2, 0.1, 0.3, 0.15, -0.01, 0.16, -0.03, -0.015, 0.12]


def measured(robot: Robot, parameters: np.ndarray, seed: int) -> Dataset:
    """Twenty seconds of motion with torques of these parameters and noise of 0.05 N m."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, 20, 0.005)
    q, dq, ddq = np.zeros((3, len(t), 2))
    for k in range(1, 6):
        w = 2 * np.pi * k / 10
        a, b = rng.normal(size=(2, 2)) / k
        q += np.outer(np.sin(w * t), a) + np.outer(np.cos(w * t), b)
        dq += w * (np.outer(np.cos(w * t), a) - np.outer(np.sin(w * t), b))
        ddq -= w**2 * (np.outer(np.sin(w * t), a) + np.outer(np.cos(w * t), b))
    tau = robot.torque(q, dq, ddq, parameters)
    return Dataset.from_arrays(t, q, tau + 0.05 * rng.normal(size=tau.shape))


@pytest.fixture(scope="module")
def robot() -> Robot:
    plain = Robot.from_dh(PENDULUMS)
    return replace(plain, prior=np.array([*LINK, *LINK, 0.1, 0.8, 0.6, 0.1, 0.1, 0.8, 0.6, 0.1]))


@pytest.fixture(scope="module")
def changed(robot: Robot) -> np.ndarray:
    values = robot.prior.copy()
    values[robot.parameter_names.index("joint2.viscous")] = 1.0  # worn
    return values


@pytest.fixture(scope="module")
def three(robot: Robot, changed: np.ndarray) -> tuple[list[Dataset], list[Result]]:
    """The arm twice, and once more after joint 2 has worn."""
    data = [measured(robot, values, seed) for seed, values in enumerate((robot.prior, robot.prior, changed))]
    return data, [fit(robot, one, "wls", cutoff_hz=5.0) for one in data]


def test_an_arm_that_stayed_as_it_was_has_not_moved(three) -> None:
    _, (first, again, _) = three
    (difference,) = compare([first, again]).differences
    assert len(difference.moves) == len(first.base.names)
    assert difference.moved == ()
    assert 0.5 < difference.rms_score < 1.6
    assert difference.bound == pytest.approx(2.91, abs=0.01)  # 14 at once


def test_a_joint_that_wore_is_found(three) -> None:
    _, results = three
    same, worn = compare(results).differences
    assert (worn.first, worn.second) == (0, 2)
    assert same.moved == ()
    assert worn.moved[0].name == "joint2.viscous"
    assert worn.moved[0].second - worn.moved[0].first == pytest.approx(0.2, abs=0.02)
    assert worn.moved[0].score > worn.bound


def test_each_predicts_the_others_data(three) -> None:
    data, results = three
    errors = compare(results, [[one] for one in data]).errors
    assert errors[0, 1] == pytest.approx(errors[1, 1], rel=0.2)
    assert errors[0, 2] > 3 * errors[2, 2]
    some = compare(results[:2], [[data[0]], []]).errors
    assert np.isfinite(some[:, 0]).all()
    assert np.isnan(some[:, 1]).all()


def test_what_data_do_not_tell_does_not_move(three) -> None:
    _, (first, again, _) = three
    base = again.base
    covariance = base.covariance.copy()
    covariance[0, 0] = np.inf
    unknown = BaseValues(base.names, base.values + np.eye(len(base.names))[0] * 1e3, covariance, base.matrix)
    (difference,) = compare([first, replace(again, base=unknown)]).differences
    assert difference.moves[0].score == 0.0
    assert difference.moved == ()


def test_results_with_other_joint_terms_share_what_they_can(robot: Robot, three) -> None:
    data, results = three
    fewer = fit(robot.with_terms(("viscous", "coulomb", "offset")), data[0], "wls", cutoff_hz=5.0)
    (difference,) = compare([results[0], fewer]).differences
    assert difference.unmatched
    assert {"joint1.viscous", "joint2.offset"} <= {move.name for move in difference.moves}


def test_refusals(robot: Robot, three) -> None:
    _, results = three
    with pytest.raises(ProblemError, match="1 result to compare; give at least two"):
        compare(results[:1])
    with pytest.raises(ProblemError, match="confidence 1: choose one between 0 and 1"):
        compare(results, confidence=1)
    other = replace(results[1], robot=replace(robot, links=("upper", "lower"), prior=None))
    with pytest.raises(ProblemError, match=r"result 1 is of .*link1, link2.* result 2 of .*upper, lower"):
        compare([results[0], other])
    named = replace(results[1], robot=replace(robot, name="another"))
    with pytest.raises(ProblemError, match=r"result 2 of another .*; compare results of one robot"):
        compare([results[0], named])


def test_data_that_are_not_at_hand_are_told(three, tmp_path: Path) -> None:
    assert data_of(three[1][0], tmp_path) == ([], ["arrays: not at hand"])


def test_command(three, tmp_path: Path, capsys) -> None:
    paths = [str(result.save(tmp_path / f"{i}.json")) for i, result in enumerate(three[1])]
    assert main(["compare", *paths]) == ExitCode.DONE
    out = capsys.readouterr().out
    assert "against 1" in out
    assert "joint2.viscous" in out
    assert "arrays: not at hand" in out
    assert main(["compare", *paths, "--all", "--no-data"]) == ExitCode.DONE
    assert "joint1.offset" in capsys.readouterr().out
    assert main(["compare", *paths, "--json"]) == ExitCode.DONE
    said = json.loads(capsys.readouterr().out)
    assert [d["moved"] > 0 for d in said["differences"]] == [False, True]
    assert said["relative_error"] == [[None] * 3] * 3
    with pytest.raises(SystemExit):
        main(["compare", paths[0]])
    assert "give two results or more" in capsys.readouterr().err
