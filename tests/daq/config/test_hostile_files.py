"""Files that were not meant well, or not thought over: every one ends in a ConfigError that names file and key."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heft.daq.config import load_rig, load_robot, load_session
from heft.daq.config.objects import load_object
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.drivers.options import Options, Positive
from heft.exit_codes import ExitCode, of_error

JOINT = "{position: [-1, 1], velocity: 1, acceleration: 1, torque: 1}"
NUMBER = re.compile(r"(?<=[ \[])-?\d+(?:\.\d+)?(?:e-?\d+)?(?=[,\]}\s])")


def robot(folder: Path, text: str, name: str = "r.yaml") -> Path:
    (folder / "r.xml").write_text("<mujoco/>", encoding="utf-8")
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def plain(joint: str = JOINT, more: str = "") -> str:
    return f"name: r\nmodel: r.xml\njoints:\n  j1: {joint}\n{more}"


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1.0e400", "'nan'", "1e400"])
@pytest.mark.parametrize("key", ["gear", "torque_constant", "velocity", "offset"])
def test_no_number_of_a_joint_is_infinite(key: str, value: str, tmp_path: Path) -> None:
    path = robot(tmp_path, plain(JOINT[:-1].replace(f"{key}: 1, ", "") + f", {key}: {value}}}"))
    with pytest.raises(ConfigError, match=rf"r\.yaml:4: joints\.j1\.{key}: .*finite"):
        load_robot(path)


@pytest.mark.parametrize(
    ("file", "load"),
    [
        ("rigs/sim_wam7_hard.yaml", load_rig),
        ("rigs/emulated_wam7.yaml", load_rig),
        ("robots/panda.yaml", load_robot),
        ("sessions/wam7_excitation.yaml", load_session),
        ("objects/gearbox.yaml", load_object),
    ],
)
def test_no_number_of_a_shipped_file_may_be_nan(
    file: str, load: Callable[[Path], Any], tmp_path: Path
) -> None:
    """Of a sample of all its numbers, one at a time; the message names file, line and key."""
    source = CONFIGS / file
    text = source.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^((?:robot|model|rig): )(?!configs)(\S+)", rf"\1{source.parent.resolve()}/\2", text)
    text = re.sub(r"#.*", "", text)
    found = list(NUMBER.finditer(text))
    assert len(found) >= 10
    for match in random.Random(1).sample(found, min(12, len(found))):
        for value in (".nan", "-.inf"):
            path = tmp_path / "changed.yaml"
            path.write_text(text[: match.start()] + value + text[match.end() :], encoding="utf-8")
            line = text.count("\n", 0, match.start()) + 1
            with pytest.raises(ConfigError, match=rf"changed\.yaml:{line}: [\w.]+: .*finite"):
                load(path)


def test_options_of_a_driver_are_finite_however_they_are_made() -> None:
    class Gain(Options):
        gain: Positive = 1.0

    with pytest.raises(ValueError, match="finite"):
        Gain(gain=float("inf"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: " + "[" * 5000, "nested more than 32 deep"),
        ("a: " + "{b: " * 5000, "nested more than 32 deep"),
        ("a:\n" + "".join(" " * i + "-\n" for i in range(1, 400)), "nested more than 32 deep"),
        ("a: " + "9" * 5000, "an integer beyond"),
        ("a: 99999999999999999999", "an integer beyond"),
        ("? [a, b]\n: 1", "a key is a word"),
        ("? {a: b}\n: 1", "a key is a word"),
        ("7: x", "a key is a word, got 7"),
        ("a: &x [*x]", "nested more than 32 deep by aliases"),
        ("a: 2001-99-99", "not valid YAML"),
        ("a: !!int x", "not valid YAML"),
        ("a: 2001-01-01", "a date is no value"),
        ("a: !!set {b}", "a set is no value"),
        ("a: 1.0e300", "a number must be within 1e\\+12"),
        ("a: " + "x" * 300_000, "longer than 262144 bytes"),
        (
            "a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n"
            + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)),
            "more than 50000 values",
        ),
        (
            "a0: &a0 {b0: 1, b1: 1}\n"
            + "".join(f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)),
            "merges more than 50000 keys",
        ),
    ],
)
def test_a_file_without_bounds(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        load_robot(robot(tmp_path, text))
    assert of_error(caught.value) == ExitCode.USAGE
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("name", ["a b", "a\\tb", "", "a+b", "x" * 101])
def test_joints_and_devices_are_called_by_a_word(name: str, tmp_path: Path) -> None:
    path = robot(tmp_path, f'name: r\nmodel: r.xml\njoints:\n  "{name}": {JOINT}\n')
    with pytest.raises(ConfigError, match=r"a name is a word"):
        load_robot(path)
    rig = tmp_path / "rig.yaml"
    rig.write_text(f'name: r\nrobot: r.yaml\ndevices:\n  "{name}": {{kind: sim_drives}}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"a name is a word"):
        load_rig(rig)


@pytest.mark.parametrize("name", ["", "..", "../../x", "a/b", ".hidden", "a\\nb", "x" * 200])
def test_a_session_is_called_as_a_file_can_be(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(f'name: "{name}"\nrig: r.yaml\nsteps:\n  - {{name: a, wait: 1}}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"s\.yaml:1: name: "):
        load_session(path)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{name: a, fourier: {seed: 1, harmonics: 1000000}}", r"fourier\.harmonics: .* equal to 100"),
        ("{name: a, fourier: {a: [[1, 2], [3]], b: [[1, 2], [3, 4]], q0: [0, 0]}}", "rows of 1, 2 numbers"),
        ("{name: a, fourier: {a: [[1, 2]], b: [[1]], q0: [0]}}", "rows of 1, 2 numbers"),
        ("{name: a, fourier: {a: [[]], b: [[]], q0: [0]}}", "rows of 0 numbers"),
    ],
)
def test_series_that_are_ragged_or_endless(step: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(f"name: s\nrig: r.yaml\nsteps:\n  - {step}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"s\.yaml:4: steps\.0\..*{said}"):
        load_session(path)


@pytest.mark.parametrize("value", ["1e9", "1.0e9", "1000000000"])
def test_rates_that_no_device_has(value: str, tmp_path: Path) -> None:
    session = tmp_path / "s.yaml"
    session.write_text(f"name: s\nrig: r.yaml\nrate_hz: {value}\nsteps: [{{name: a, wait: 1}}]\n")
    with pytest.raises(ConfigError, match=r"s\.yaml:3: rate_hz: .*20000"):
        load_session(session)
    rig = tmp_path / "rig.yaml"
    rig.write_text(
        f"name: r\nrobot: r.yaml\nsimulation: {{}}\ndevices:\n  arm: {{kind: sim_drives, rate_hz: {value}}}\n"
    )
    with pytest.raises(ConfigError, match=r"rig\.yaml:5: devices\.arm\.rate_hz: .*100000"):
        load_rig(rig)


def test_a_hundred_mistakes_are_told_in_a_few_lines(tmp_path: Path) -> None:
    path = robot(tmp_path, plain(more="".join(f"key{i}: 1\n" for i in range(100))))
    with pytest.raises(ConfigError, match="and 80 more mistakes") as caught:
        load_robot(path)
    assert len(str(caught.value).splitlines()) == 21
