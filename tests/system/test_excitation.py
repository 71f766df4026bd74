"""A few random design requests, judged by MuJoCo: each ends in a motion that keeps everything, or names what binds."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import pytest

from heft.daq.config.robot import load_robot

ROOT = Path(__file__).parents[2]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("excitation")


def request_of(judge: ModuleType, **joint2: float) -> Any:
    config = load_robot(ROOT / "configs/robots/ddarm.yaml")
    joint = config.joints["joint2"].model_copy(update=joint2)
    config = config.model_copy(update={"joints": {**config.joints, "joint2": joint}})
    limits = judge.robot_limits(config)
    return judge.DesignRequest(config, config.scene, limits, seconds=8.0, harmonics=3, starts=1, budget_s=2.0)


@pytest.mark.parametrize(
    ("message", "bound"),
    [
        ("joint2: its velocity limit lets it move by 0.005 rad in 20 s", ("velocity", "joint2")),
        (
            "cannot be told; the acceleration limit of joint3, 0.1, binds; widen it",
            ("acceleration", "joint3"),
        ),
        ("no posture is free (401 were tried): torque of joint2: 9 N m to stand still", ("torque", "joint2")),
        ("keeps every bound: the stop of joint1 is left by the smallest of them", ("stop", "joint1")),
        (
            "(401 were tried): hand and obstacle0: -0.013 m apart, 0.02 m are kept",
            ("distance", "hand and obstacle0"),
        ),
        ("was found in time: link3 and link6 is left by the best", ("distance", "link3 and link6")),
        ("no motion was found in time; widen what stands in the way", None),
    ],
)
def test_the_bound_that_a_message_names(judge: ModuleType, message: str, bound: Any) -> None:
    assert judge.named(message) == bound


def test_the_bound_that_binds_is_told_from_one_that_does_not(judge: ModuleType) -> None:
    """Another number in the same words is no proof: the bound must be gone."""
    request = request_of(judge, velocity=1e-3)
    assert judge.refused(request, "joint2: its velocity limit lets it move by 0.005 rad") == "binds"
    assert (
        judge.refused(request, "joint3: its velocity limit lets it move by 0.005 rad") == "binds"
    )  # another is named
    wrong = "joint2: its acceleration limit lets it move by 0.005 rad"
    assert judge.loosened(request, judge.named(wrong)).limits.velocity[1] == 1e-3


def test_a_part_that_the_judge_does_not_know_is_an_error(judge: ModuleType) -> None:
    model = mujoco.MjModel.from_xml_path(str(ROOT / "configs/robots/panda.xml"))
    assert judge._geoms(model, "hand")
    with pytest.raises(KeyError, match="nowhere"):
        judge._geoms(model, "nowhere")


@pytest.mark.slow
def test_random_requests_end_well() -> None:
    asked = [sys.executable, "benchmarks/excitation.py", "--requests", "4", "--budget", "8"]
    ended = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert ended.returncode == 0, ended.stderr
    summary = ended.stdout.splitlines()[-1]
    assert "in between" not in summary, ended.stdout
    assert "does not bind" not in summary, ended.stdout
    assert "names no bound" not in summary, ended.stdout
