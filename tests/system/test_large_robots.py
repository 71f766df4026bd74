"""The shipped sessions of large robots, by the commands of an arm: a force plate, a leg with an inner sensor, a
humanoid on a crane."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.identify import Robot
from heft.identify.bodies.parameters import Layout
from heft.identify.result import load
from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs"


def heft(*arguments: object) -> dict[str, Any]:
    """What a command prints as JSON; it must end well."""
    out, wrong = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(wrong):
        code = main([*map(str, arguments), "--json"])
    assert code == 0, wrong.getvalue()
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "grades", "unseen"),
    [
        ("plate_excitation", {"good"}, 0.004),
        ("leg_postures", {"good", "care"}, 0.002),
        ("humanoid", {"good", "care"}, 0.01),
    ],
)
def test_a_shipped_session_goes_through_every_command(
    tmp_path: Path, name: str, grades: set[str], unseen: float
) -> None:
    ran = heft(
        "run", CONFIGS / "sessions" / f"{name}.yaml", "--speed", "max", "--seed", 3, "--out", tmp_path / "ran"
    )
    assert ran["lost"] == 0
    recording, first = tmp_path / "ran" / f"{name}.mcap", tmp_path / "ran" / "result.json"
    result = load(first)
    assert result.verdict.grade in grades
    assert result.validation is not None
    assert result.validation.total < unseen
    assert result.consistency("full").ok
    assert not [one for one in heft("check", recording)["findings"] if one["severity"] == "fatal"]

    heft("identify", recording, "--out", tmp_path / "again")
    assert (tmp_path / "again" / "result.json").read_bytes() == first.read_bytes()
    heft("compare", first, tmp_path / "again" / "result.json")

    model = tmp_path / "model.xml"
    heft("export", first, "--mjcf", model, "--urdf", tmp_path / "model.urdf")
    read = Robot.from_mjcf(model)
    assert read.tree.free == result.robot.tree.free
    assert read.prior is not None
    total = sum(read.prior[Layout(read.parameter_names).link(link)][0] for link in read.links)
    assert total == pytest.approx(result.total_mass, rel=1e-6)
    assert np.all(np.isfinite(read.prior))
