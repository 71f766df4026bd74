"""What the terminal says of a model: cut-off, rows, bootstrap, each in a line."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from heft.identify import Bootstrap, Dataset, Result, Robot, fit
from heft.identify.certainty.interval import Interval
from heft.identify.data.deflection import Deflection
from heft.main import main
from heft.terminal.model import _links, _vague, describe_result


@pytest.fixture(scope="module")
def result() -> Result:
    robot = Robot.from_dh([{"alpha": 0.0, "a": 0.3, "d": 0.0}])
    robot = replace(robot, prior=np.array([1.0, 0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1, 0.1, 0.5, 0.4, 0.0]))
    t = np.arange(8000) * 1e-3
    q = np.sin(2 * t) + 0.5 * np.sin(5.1 * t)
    dq, ddq = np.gradient(q, 1e-3), np.gradient(np.gradient(q, 1e-3), 1e-3)
    tau = robot.torque(q[:, None], dq[:, None], ddq[:, None], robot.prior)
    tau += 0.02 * np.random.default_rng(0).standard_normal(tau.shape)
    return fit(robot, Dataset.from_arrays(t, q[:, None], tau), "wls", bootstrap=Bootstrap(10))


def said(result: Result) -> list[str]:
    out = io.StringIO()
    describe_result(result, Path("result.json"), Console(file=out, width=400))
    return out.getvalue().splitlines()


def test_cutoff_rows_and_bootstrap_have_a_line_each(result: Result) -> None:
    lines = said(result)
    (cutoff,) = [line for line in lines if line.startswith("cut-off")]
    assert f"cut-off {result.processing.cutoff_hz:.3g} Hz chosen (" in cutoff
    assert "% of the motion's torque pass" in cutoff
    (rows,) = [line for line in lines if line.startswith("rows")]
    account = result.provenance.data[0].rows
    assert rows.startswith(f"rows {account['used']} of {account['on the grid']} used; left out: ")
    (drawn,) = [line for line in lines if line.startswith("bootstrap of 10")]
    assert "for friction" in drawn


def test_a_joint_that_is_left_out_is_called_so(result: Result) -> None:
    assert not any("left out" in line for line in said(result) if line.startswith("joint1"))
    without = replace(result, robot=replace(result.robot, unmeasured=("joint1",)))
    (line,) = [line for line in said(without) if line.startswith("joint1")]
    assert line.rstrip().endswith("left out")


def test_a_result_of_an_older_version_has_only_its_cutoff(result: Result) -> None:
    old = result.to_dict()
    old["tradeoff"], old["facts"] = None, {}
    for origin in old["provenance"]["data"]:
        origin["rows"] = {}
    lines = said(Result.from_dict(old))
    assert not any(line.startswith(("cut-off", "rows", "bootstrap")) for line in lines)
    assert any(f"cut-off {result.processing.cutoff_hz:.3g} Hz" in line for line in lines)


@pytest.mark.parametrize("number", ["5", "-1", "many"])
def test_too_few_replicates_are_a_mistake(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["identify", "session.mcap", f"--bootstrap={number}"])
    assert "at least 10" in capsys.readouterr().err


def test_what_the_data_do_not_tell_is_marked(result: Result) -> None:
    """A mass that may be anything is no mass, and one that only the prior knows is not measured."""
    (mass,) = [name for name in result.intervals if name.endswith(".mass")]
    value = result.intervals[mass].value
    sure = Interval(value, 0.01 * value, 0.98 * value, 1.02 * value, "kg")
    assert "?" not in _row(result, mass, sure)
    assert "?" in _row(result, mass, replace(sure, prior_dominated=True))
    assert "?" in _row(result, mass, replace(sure, low=0.01 * value, high=3 * value))


def _row(result: Result, name: str, interval: Interval) -> str:
    lines = said(replace(result, intervals={name: interval}))
    return next(line for line in lines if line.startswith(name.split(".")[0]))


def test_joints_that_bend_have_a_line(result: Result) -> None:
    one = {"joints": ("joint1",), "stream": "encoders.position", "motors": "arm.motion", "delay_s": 0.001}
    bends = Deflection(
        **one, offset=(0.0,), rms=(0.0012,), largest=(0.002,), stiffness=(400.0,), stiffness_std=(4.0,)
    )
    (line,) = [
        line for line in said(replace(result, deflections=(bends,))) if line.startswith("links against")
    ]
    assert line.endswith("(encoders.position): joint1 1.2 mrad rms (at most 2, 400 N m/rad)")
    stiff = replace(bends, stiffness=(np.inf,), stiffness_std=(np.inf,))
    (line,) = [
        line for line in said(replace(result, deflections=(stiff,))) if line.startswith("links against")
    ]
    assert line.endswith("at most 2 mrad, not with the torque")


@pytest.mark.parametrize("width", [80, 100])
def test_marks_of_doubt_are_seen_in_a_narrow_terminal(result: Result, width: int) -> None:
    """With names of links as they are in the field: the names are folded, numbers and marks are whole."""
    long = {name: f"left_arm_{name}_rotation_link" for name in result.robot.links}
    links = tuple(replace(link, name=long[link.name]) for link in result.parameters.links)
    renamed = SimpleNamespace(
        parameters=SimpleNamespace(links=links),
        intervals={
            f"{long[link]}.{rest}": one
            for name, one in result.intervals.items()
            for link, _, rest in [name.partition(".")]
            if link in long
        },
    )
    text = io.StringIO()
    Console(file=text, width=width).print(_links(renamed, None))  # type: ignore[arg-type]
    doubts = sum(vague for link in links for vague in _vague(renamed, link.name))  # type: ignore[arg-type]
    assert doubts > 0
    assert text.getvalue().count("?") == doubts
    assert "\u2026" not in text.getvalue()
    for link in links:
        assert f"{link.mass:.3f}" in text.getvalue()
