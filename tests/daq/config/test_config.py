"""A bad file gives one clear message: file, line, key, value, remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heft.daq.config import load_rig, load_robot, load_session
from heft.daq.errors import ConfigError

JOINT = "{position: [-1, 1], velocity: 1, acceleration: 1, torque: 1}"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: no such file"):
        load_robot(tmp_path / "nowhere.yaml")


def test_an_unknown_key_is_named_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, "r.xml", "<mujoco/>")
    path = write(tmp_path, "r.yaml", f"name: r\nmodel: r.xml\njoints:\n  j1: {JOINT}\ncolour: red\n")
    with pytest.raises(ConfigError, match=r"r\.yaml:5: colour: unknown key; remove it"):
        load_robot(path)


def test_a_limit_the_wrong_way_round(tmp_path: Path) -> None:
    write(tmp_path, "r.xml", "<mujoco/>")
    bad = "{position: [1, -1], velocity: 1, acceleration: 1, torque: 1}"
    path = write(tmp_path, "r.yaml", f"name: r\nmodel: r.xml\njoints:\n  j1: {bad}\n")
    with pytest.raises(ConfigError, match=r"r\.yaml:4: joints\.j1\.position: .*swap them, got \[1, -1\]"):
        load_robot(path)


def test_a_missing_model_file(tmp_path: Path) -> None:
    path = write(tmp_path, "r.yaml", f"name: r\nmodel: gone.xml\njoints:\n  j1: {JOINT}\n")
    with pytest.raises(ConfigError, match=r"gone\.xml.*put it beside"):
        load_robot(path)


def test_not_yaml_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_robot(write(tmp_path, "r.yaml", "a: [1, 2"))
    with pytest.raises(ConfigError, match="expected keys with values"):
        load_robot(write(tmp_path, "r.yaml", "- 1\n- 2\n"))


def test_a_key_given_twice(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'name' is given twice, on line 1 too; keep one"):
        load_robot(write(tmp_path, "r.yaml", "name: a\nname: b\n"))


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{name: a, wait: 1.0e7}", "steps.0.wait: Input should be less than or equal to 86400"),
        ("{name: a, wait: .nan}", "steps.0.wait: Input should be a finite number"),
        (
            "{name: a, fourier: {seed: -3}}",
            "steps.0.fourier.seed: Input should be greater than or equal to 0",
        ),
    ],
)
def test_numbers_that_no_session_has(step: str, said: str, tmp_path: Path) -> None:
    path = write(tmp_path, "s.yaml", f"name: s\nrig: r.yaml\nsteps:\n  - {step}\n")
    with pytest.raises(ConfigError, match=f"^{path}:4: {said}") as caught:
        load_session(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{name: a, furier: {seed: 1}}", ["steps.0.furier: unknown key; remove it or correct its spelling"]),
        (
            "{name: a}",
            [
                "steps.0: a step does one of fourier, design, postures, move, wait, grip, release; this one has none"
            ],
        ),
        ("{wait: 1}", ["steps.0.name: missing; add this key"]),
        ("{name: a, wait: 1, vigour: 2}", ["steps.0.vigour: unknown key; remove it or correct its spelling"]),
        (
            "{name: a, move: {too: [1]}}",
            [
                "steps.0.move.to: missing; add this key",
                "steps.0.move.too: unknown key; remove it or correct its spelling",
            ],
        ),
        (
            "{name: a, use: fun, grip: 7}",
            [
                "steps.0.use: Input should be 'identification', 'validation', 'payload' or 'motion', got 'fun'",
                "steps.0.grip: Input should be a valid string, got 7",
            ],
        ),
        ("{name: a, release: false}", ["steps.0.release: Input should be True, got False"]),
        ("sway", ["steps.0: Input should be a valid dictionary or instance of Step, got 'sway'"]),
    ],
)
def test_mistakes_in_a_step(step: str, said: list[str], tmp_path: Path) -> None:
    """The key is the one in the file, with its line, whatever kind of step it is."""
    path = write(tmp_path, "s.yaml", f"name: s\nrig: r.yaml\nsteps:\n  - {step}\n")
    with pytest.raises(ConfigError) as caught:
        load_session(path)
    assert str(caught.value).splitlines() == [f"{path}:4: {line}" for line in said]


def test_an_unknown_kind_of_device_lists_the_known_ones(tmp_path: Path) -> None:
    path = write(tmp_path, "rig.yaml", "name: r\nrobot: r.yaml\ndevices:\n  arm: {kind: sim_drivez}\n")
    with pytest.raises(
        ConfigError, match=r"devices\.arm\.kind: 'sim_drivez' is not a known device; known: .*sim_drives"
    ):
        load_rig(path)


def test_a_device_without_a_kind(tmp_path: Path) -> None:
    path = write(tmp_path, "rig.yaml", "name: r\nrobot: r.yaml\ndevices:\n  arm: {rate_hz: 5}\n")
    with pytest.raises(ConfigError, match=r"devices\.arm: `kind` is missing"):
        load_rig(path)


def test_a_step_does_one_thing(tmp_path: Path) -> None:
    path = write(
        tmp_path, "s.yaml", "name: s\nrig: rig.yaml\nsteps:\n  - {name: a, wait: 1, release: true}\n"
    )
    with pytest.raises(ConfigError, match=r"s\.yaml:4: steps\.0: a step does one of"):
        load_session(path)


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ("arm: {kind: sim_drives, joints: [joint1, elbow]}", "elbow is no joint of the robot"),
        ("arm: {kind: sim_drives, joints: [joint1, joint1]}", "joint1 is there twice"),
        ("arm: {kind: sim_drives, joints: joint1}", "give a list of the robot's joints"),
        ("arm: {kind: sim_drives, joints: [joint1, joint2]}", "nothing moves joint3, joint4, joint5, joint6"),
        ("arm: {kind: sim_drives}\n  other: {kind: sim_drives}", "joint1 is moved by arm already; give each"),
        (
            "arm: {kind: sim_drives, joints: [joint1, joint2, joint3, joint4, joint5]}\n"
            "  tool: {kind: sim_drives, joints: [joint6]}",
            "devices.arm.joints: the robot's `coupling` ties a motor of these joints to others",
        ),
    ],
)
def test_which_device_moves_which_joint(devices: str, said: str, tmp_path: Path) -> None:
    robot = Path(__file__).parents[3] / "configs" / "robots" / "tx40.yaml"
    text = f"name: two\nrobot: {robot}\nsimulation: {{}}\ndevices:\n  {devices}\n"
    with pytest.raises(ConfigError, match=re.escape(said)):
        load_rig(write(tmp_path, "rig.yaml", text))


@pytest.mark.parametrize(
    ("rows", "said"), [("[[1, 0], [0, 1]]", "give 1 rows of 1 numbers"), ("[[0]]", "cannot be inverted")]
)
def test_a_coupling_that_no_arm_has(rows: str, said: str, tmp_path: Path) -> None:
    text = f"name: r\ndh: [{{alpha: 0, a: 0, d: 0}}]\njoints:\n  j1: {JOINT}\ncoupling: {rows}\n"
    with pytest.raises(ConfigError, match=said):
        load_robot(write(tmp_path, "r.yaml", text))
