"""A humanoid on a crane holds something: weighed by its wrenches alone, with no torque of any joint measured."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs"
MASS, COM = 0.8, (0.01, 0.02, -0.03)  # in the flange's frame
GRIPPER = f"""
  gripper:
    kind: sim_gripper
    rate_hz: 100
    objects:
      weight: {{mass: {MASS}, com: {list(COM)}, inertia: [0.004, 0.004, 0.003, 0.0, 0.0, 0.0], width: 0.05}}
"""
EXCITATION = (
    "{name: excitation, use: identification, "
    "fourier: {seconds: 20, period_s: 20, harmonics: 10, seed: %d, fraction: 0.45}}"
)


def heft(*arguments: object) -> str:
    """What a command says on standard output; it must end well."""
    out, wrong = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(wrong):
        code = main([str(one) for one in arguments])
    assert code == 0, wrong.getvalue()
    return out.getvalue()


def played(folder: Path, name: str, steps: list[str], *options: str) -> Path:
    """A session's recording."""
    session = folder / f"{name}.yaml"
    lines = [f"name: {name}", "rig: rig.yaml", "rate_hz: 200", "steps:", *(f"  - {step}" for step in steps)]
    session.write_text("\n".join(lines))
    heft("run", session, "--speed", "max", "--seed", "5", "--out", folder / name, *options)
    return folder / name / f"{name}.mcap"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_a_humanoid_holds_is_weighed_inside_its_interval(tmp_path: Path) -> None:
    rig = (CONFIGS / "rigs" / "sim_humanoid.yaml").read_text()
    robot = CONFIGS / "robots" / "humanoid.yaml"
    (tmp_path / "rig.yaml").write_text(rig.replace("../robots/humanoid.yaml", str(robot)) + GRIPPER)
    bare = played(tmp_path, "bare", [EXCITATION % 1])
    held = played(tmp_path, "held", ["{name: take, grip: weight}", EXCITATION % 2], "--no-identify")
    report = json.loads(heft("payload", held, "--result", bare.with_name("result.json"), "--all", "--json"))
    (found,) = report["payloads"]
    assert found["weighed_by"] == "wrenches"
    assert abs(found["mass"] - MASS) < 2 * found["std"]["mass"]
    assert found["std"]["mass"] < 0.15 * MASS
    assert np.all(np.abs(np.array(found["com"]) - COM) < 3 * np.array(found["std"]["com"]))
    nothing = json.loads(heft("payload", bare, "--result", bare.with_name("result.json"), "--all", "--json"))
    assert all(one["mass"] < 0.15 for one in nothing["payloads"])
