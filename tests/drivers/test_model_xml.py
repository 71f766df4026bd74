"""Model files that were not meant well are refused in words, before a parser gets them that trusts what it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from heft.daq.config import load_robot
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.drivers.errors import ModelFileError
from heft.drivers.model_xml import model_root, read_model_text
from heft.identify import Robot
from heft.identify.errors import ModelError

JOINT = "{position: [-1, 1], velocity: 1, acceleration: 1, torque: 1}"
BOMB = (
    '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {n} "{f"&{o};" * 10}">' for o, n in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)


def arm(inertial: str = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>', name: str = "l1") -> str:
    body = f'<body name="{name}"><joint name="j1" axis="0 0 1"/>{inertial}</body>'
    return f"<mujoco><worldbody>{body}</worldbody></mujoco>"


HOSTILE = {
    "entity bomb": (f"{BOMB}<mujoco><a>&i;</a></mujoco>", "a document type with entities"),
    "external entity": (
        '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco>&x;</mujoco>',
        "a document type",
    ),
    "nested bodies": (
        "<mujoco><worldbody>" + "<body>" * 300_000 + "</body>" * 300_000 + "</worldbody></mujoco>",
        "more than 200 elements inside each other",
    ),
    "many links": ("<robot>" + '<link name="a"/>' * 1500 + "</robot>", "more than 1000 bodies"),
    "many elements": ("<robot>" + "<x/>" * 30_000 + "</robot>", "more than 20000 elements"),
    "negative mass": (
        arm('<inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/>'),
        "nothing has a negative one",
    ),
    "infinite mass": (arm('<inertial pos="0 0 0" mass="inf" diaginertia="1 1 1"/>'), "must be finite"),
    "nan mass": (arm('<inertial pos="0 0 0" mass="nan" diaginertia="1 1 1"/>'), "must be finite"),
    "huge mass": (arm('<inertial pos="0 0 0" mass="1e300" diaginertia="1 1 1"/>'), "within 1e\\+09"),
    "no number": (arm('<inertial pos="0 0 x" mass="1" diaginertia="1 1 1"/>'), "'x' is no number"),
    "a name with a blank": (arm(name="link 1"), "a name is a word"),
    "replicated": ("<mujoco><replicate count='1000000000'/></mujoco>", "unfolds into more"),
    "included": ("<mujoco><include file='/etc/passwd'/></mujoco>", "write included files into it"),
    "a picture": ("<mujoco><texture width='100000' height='1'/></mujoco>", "at most 4096 pixels"),
    "cut": ("<mujoco><worldbody>", "not XML"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_in_words_by_every_reader(case: str, tmp_path: Path) -> None:
    text, said = HOSTILE[case]
    with pytest.raises(ModelFileError, match=said):
        model_root(text, "m.xml")
    path = tmp_path / "m.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=said):
        Robot.from_mjcf(path)
    robot = tmp_path / "r.yaml"
    robot.write_text(f"name: r\nmodel: m.xml\njoints:\n  j1: {JOINT}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"r\.yaml:2: model: .*{said}"):
        load_robot(robot)


@pytest.mark.parametrize("mass", ["-1", "inf", "nan"])
def test_masses_of_a_urdf(mass: str, tmp_path: Path) -> None:
    path = tmp_path / "m.urdf"
    path.write_text(
        f'<robot name="r"><link name="b"/><link name="l"><inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" '
        'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous"><parent link="b"/>'
        '<child link="l"/><axis xyz="0 0 1"/></joint></robot>'
    )
    with pytest.raises(ModelError, match=r"<mass value="):
        Robot.from_urdf(path)


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long.xml"
    with path.open("wb") as file:
        file.truncate(10**11)
    with pytest.raises(ModelFileError, match="longer than 16777216 bytes"):
        read_model_text(path)


def test_every_shipped_model_passes() -> None:
    files = [*(CONFIGS / "robots").glob("*.xml"), *(CONFIGS / "robots").glob("*.urdf")]
    assert files
    for file in files:
        assert model_root(read_model_text(file), file.name).tag in ("mujoco", "robot")
