"""An arm whose friction and joints are not those of its file: friction is found, and the result says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from heft.identify.result import load
from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.slow
def test_friction_of_another_form_is_found_and_told(tmp_path: Path) -> None:
    text = (CONFIGS / "sessions" / "wam7_excitation.yaml").read_text(encoding="utf-8")
    text = text.replace("../rigs/sim_wam7.yaml", str(CONFIGS / "rigs" / "sim_wam7_hard.yaml"))
    session = tmp_path / "session.yaml"
    session.write_text(text.replace("design: ", f"design: {CONFIGS}/sessions/"), encoding="utf-8")
    assert main(["run", str(session), "--speed", "max", "--seed", "1", "--out", str(tmp_path / "out")]) == 0
    result = load(tmp_path / "out" / "result.json")
    # Stribeck friction is at every joint, half of the Coulomb friction; only beside the second one's noise (gravity,
    # large torques) it may not show.
    assert result.friction is not None
    found = [one.joint for one in result.friction.changed if "stribeck" in one.added]
    assert set(found) >= {"joint1", "joint3", "joint4", "joint5", "joint6", "joint7"}
    assert result.validation is not None
    assert result.validation.total < 0.006  # with plain friction 0.0095
    # What is told: the joints whose friction was chosen, and those for which the model does not hold even so.
    said = [line for line in result.warnings if "is not of the form that the robot's file has" in line]
    assert len(said) == 1
    assert all(joint in said[0] for joint in found)
    left = [line for line in result.warnings if "the model does not hold for" in line]
    assert all("larger near standstill" in line for line in left)
    reasons = {one.id: one.text for one in result.verdict.reasons}
    assert result.verdict.grade == "care"
    assert all(joint in reasons["friction-form"] for joint in found)
