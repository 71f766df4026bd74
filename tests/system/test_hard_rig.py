"""An arm whose friction and joints are not those of the model: the result says so, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from heft.identify.result import load
from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.slow
def test_the_result_says_that_the_model_does_not_hold_and_where(tmp_path: Path) -> None:
    text = (CONFIGS / "sessions" / "wam7_excitation.yaml").read_text(encoding="utf-8")
    rig = CONFIGS / "rigs" / "sim_wam7_hard.yaml"
    session = tmp_path / "session.yaml"
    session.write_text(text.replace("../rigs/sim_wam7.yaml", str(rig)), encoding="utf-8")
    assert main(["run", str(session), "--speed", "max", "--seed", "1", "--out", str(tmp_path / "out")]) == 0
    result = load(tmp_path / "out" / "result.json")
    said = [line for line in result.warnings if "the model does not hold for" in line]
    assert len(said) == 1
    named = [joint for joint in result.robot.joints if f"{joint} (residual" in said[0]]
    # Stribeck friction is at every joint; only beside the second one's noise (gravity, large torques) it may not show.
    assert set(named) >= {"joint1", "joint3", "joint4", "joint5", "joint6", "joint7"}
    assert said[0].count("larger near standstill") == len(named)
