"""`heft design` and `heft plan`, as they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heft.daq.clock import ManualClock
from heft.daq.config.design_file import load_design
from heft.daq.config.robot import load_robot
from heft.daq.config.session import load_session
from heft.daq.config.steps import FourierStep
from heft.daq.record import Recorder
from heft.designing import earlier_motions, robot_limits
from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs"


SHIPPED = sorted(path.stem for path in (CONFIGS / "sessions").glob("*.yaml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_session_draws_no_fourier_series(name: str) -> None:
    session = load_session(CONFIGS / f"sessions/{name}.yaml")
    drawn = [
        step.name for step in session.steps if isinstance(step, FourierStep) and step.fourier.seed is not None
    ]
    # of a free base the motion to validate on is drawn, in a small part of the limits
    assert bool(drawn) == (session.rig.robot.base == "free")


async def test_the_motion_of_an_earlier_session_is_found_in_its_recording(tmp_path: Path) -> None:
    text = (CONFIGS / "sessions/designs/wam7_validation.yaml").read_bytes()
    axes = load_robot(CONFIGS / "robots/wam7.yaml").axes
    path = tmp_path / "night.mcap"
    other = b"name: no design\n"
    files = {"configuration/designs/one.yaml": text, "configuration/session.yaml": other, "notes.yaml": text}
    async with Recorder(path, ManualClock()) as recorder:
        for name, data in files.items():
            recorder.attach(name, "application/yaml", data)
    (found,) = earlier_motions([path, path], axes)
    assert found.harmonics == len(load_design(CONFIGS / "sessions/designs/wam7_validation.yaml").fourier.a[0])  # type: ignore[union-attr]
    assert earlier_motions([path], axes[::-1]) == ()


@pytest.mark.parametrize(
    ("name", "weight"), [("panda_excitation", 87.0), ("wam7_excitation", 160.0), ("pick_and_weigh", 160.0)]
)
def test_a_plan_is_shown_without_a_device(
    name: str, weight: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(CONFIGS / f"sessions/{name}.yaml"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"]
    assert told["lowest_point"]["m"] > 0.0
    assert told["closest_approach"]["m"] > 0.0
    assert 0.0 < told["peak_torque"]["joint2"] < weight


def test_the_designed_humanoid_keeps_every_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(CONFIGS / "sessions/humanoid_designed.yaml"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"]
    assert told["closest_approach"]["m"] >= 0.01


def test_a_plan_through_the_mounting_plane_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = tmp_path / "s.yaml"
    session.write_text(
        f"name: s\nrig: {CONFIGS}/rigs/sim_panda.yaml\n"
        "steps:\n  - {name: shake, use: identification, fourier: {seed: 7}}\n",
        encoding="utf-8",
    )
    assert main(["run", str(session), "--dry-run", "--json"]) == 1
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert not told["ok"]
    assert {v["quantity"] for v in told["violations"]} == {"distance"}
    assert "steps.shake may not be played" in err
    assert "mounting_plane" in err


def test_a_design_is_written_with_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "d.yaml"
    robot = str(CONFIGS / "robots/ddarm.yaml")
    asked = ["design", robot, "--seconds", "8", "--starts", "1", "--out", str(out), "--json"]
    assert main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["limits_ok"]
    assert told["worst_limit"]["share"] <= 1.0
    assert told["random"]["median_std_ratio"] > 1.0
    assert out.exists()
    assert out.with_suffix(".html").exists()
    assert main(asked) == 2
    assert "is there already" in capsys.readouterr().err


def test_a_fraction_of_the_speed_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = CONFIGS / "robots/ddarm.yaml"
    told = {}
    for fraction in ("1", "0.2"):
        asked = ["design", str(robot), "--seconds", "8", "--starts", "1", "--fraction", fraction, "--json"]
        assert main([*asked, "--out", str(tmp_path / f"{fraction}.yaml")]) == 0
        told[fraction] = json.loads(capsys.readouterr().out)
    assert told["0.2"]["limits_ok"]
    assert told["0.2"]["worst_limit"]["share"] <= 1.0
    config = load_robot(robot)
    slow = load_design(tmp_path / "0.2.yaml").motion(robot_limits(config), 100.0)
    whole = slow.window(0, len(slow))
    for k, joint in enumerate(config.joints.values()):
        assert abs(whole.velocity[:, k]).max() <= 0.2 * joint.velocity * (1 + 1e-9)
        assert abs(whole.acceleration[:, k]).max() <= 0.2 * joint.acceleration * (1 + 1e-9)
    assert told["0.2"]["hardest"]["std"] > told["1"]["hardest"]["std"]
    with pytest.raises(SystemExit):
        main(["design", str(robot), "--fraction", "1.5"])
    assert "at most 1" in capsys.readouterr().err


def test_an_unknown_obstacle_shape_is_a_mistake_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = tmp_path / "scene.yaml"
    scene.write_text("scene: {obstacles: {table: {at: [0.0, 0.0, 0.1]}}}\n", encoding="utf-8")
    assert main(["design", str(CONFIGS / "robots/ddarm.yaml"), "--obstacles", str(scene)]) == 2
    assert "an obstacle is one of box, sphere, capsule, cylinder, plane" in capsys.readouterr().err


def test_a_model_alone_does_not_say_the_limits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", str(CONFIGS / "robots/wam7.xml")]) == 2
    assert "does not say how hard joints may accelerate" in capsys.readouterr().err
