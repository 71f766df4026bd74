"""`heft calibrate gains` and `heft payload --all`: recordings of a direct-drive arm whose drives report too much."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.config.robot import load_robot
from heft.daq.config.shipped import CONFIGS
from heft.daq.record.writer import Writer
from heft.daq.recording import Recording
from heft.drivers.block import Block, Validity
from heft.drivers.stream import Column, Stream
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia
from heft.identify.robot import Robot
from heft.main import main

GAINS = np.array([1.1, 1.05, 0.95])  # torque reported over torque
MASS, COM, INERTIA = 8.0, (0.02, 0.1, 0.05), (0.03, 0.0, 0.03, 0.0, 0.0, 0.03)
SECONDS, RATE_HZ = 12.0, 500.0


def write(path: Path, robot: Robot, seed: int, load: np.ndarray | None = None) -> Path:
    """A motion by its seed, bare or with a load on the last link, without any gripper."""
    rng, n = np.random.default_rng(seed), len(robot.joints)
    t = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
    w = 2 * np.pi * rng.uniform(0.2, 1.0, (4, n))
    size, phase = rng.uniform(0.1, 0.4, (4, n)), rng.uniform(0, 6, (4, n))
    angle = t[:, None, None] * w + phase
    q, dq, ddq = ((size * w**k * np.sin(angle + k * np.pi / 2)).sum(axis=1) for k in range(3))
    assert robot.prior is not None
    parameters = robot.prior.copy()
    parameters[[4, 6]] += 2.0  # link1 of the paper's file could not exist
    if load is not None:
        parameters[10 * (len(robot.links) - 1) : 10 * len(robot.links)] += load
    tau = GAINS * robot.torque(q, dq, ddq, parameters) + rng.normal(0, 0.05, q.shape)
    with path.open("xb", buffering=0) as raw:
        writer = Writer(raw, seed)
        for name, unit, values in (("position", "rad", q), ("torque", "N m", tau)):
            columns = tuple(Column(joint, name, unit) for joint in robot.joints)
            stream = Stream(f"arm.{name}", columns, RATE_HZ)
            host_ns = 1_000_000_000 + np.rint(t * 1e9).astype(np.int64)
            writer.block(Block(stream, 0, host_ns, values, np.zeros(values.shape, np.uint8)))
        for kind, at in (("segment_start", 1.0), ("segment_end", 1.0 + SECONDS)):
            event = {"t_ns": int(at * 1e9), "name": kind, "segment": "motion", "use": "identification"}
            writer.event(int(at * 1e9), json.dumps(event))
        writer.finish()
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("gains")
    for name in ("ddarm.yaml", "ddarm.xml"):
        shutil.copy(CONFIGS / "robots" / name, folder)
    robot = Robot.load(folder / "ddarm.yaml")
    load = from_mass_com_inertia(MASS, np.array(COM), INERTIA[0] * np.eye(3))
    files = {
        "robot": folder / "ddarm.yaml",
        "bare": write(folder / "bare.mcap", robot, 1),
        "loaded": write(folder / "loaded.mcap", robot, 2, load),
    }
    code = main(
        ["identify", str(files["bare"]), "--robot", str(files["robot"]), "--out", str(folder / "before")]
    )
    assert code in (0, 1)
    return files | {"result": folder / "before" / "result.json", "folder": folder}


def payload(files: dict[str, Path], capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["payload", str(files["loaded"]), "--all", "--json", *options]) == 0
    (facts,) = json.loads(capsys.readouterr().out)["payloads"]
    return dict(facts)


def test_a_load_without_a_grippers_events(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    exact = payload(files, capsys, "--result", str(files["result"]))
    unsure = payload(files, capsys, "--result", str(files["result"]), "--gain-spread", "0.1")
    assert exact["weighed_by"] == "joint torques"
    assert any("taken for exact" in note for note in exact["notes"])
    assert abs(unsure["mass"] - MASS) < 1.96 * unsure["std"]["mass"]
    assert unsure["std"]["mass"] > 0.08 * MASS
    assert not any("taken for exact" in note for note in unsure["notes"])
    assert np.abs(np.array(unsure["com"]) - COM).max() < 0.01


def test_gains_are_calibrated_and_then_used(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out = files["folder"] / "calibrated.yaml"
    arguments = [
        "calibrate",
        "gains",
        str(files["bare"]),
        str(files["loaded"]),
        "--robot",
        str(files["robot"]),
    ]
    load = ["--load", ",".join(str(x) for x in (MASS, *COM, *INERTIA))]
    capsys.readouterr()
    assert main([*arguments, *load, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for (joint, config), gain in zip(load_robot(out).joints.items(), GAINS, strict=True):
        one = told["gains"][joint]
        assert config.gain == pytest.approx(1 / gain, rel=0.02)
        assert one["low"] < 1 / gain < one["high"]
        assert config.gain_std == pytest.approx(one["std"] / one["gain"], rel=1e-4)
    before = files["robot"].read_text()
    assert "gain" not in before
    assert main([*arguments, *load]) == 0  # from a result, into the file itself
    assert "joint1  0.9" in capsys.readouterr().out
    files["robot"].write_text(before)
    after = files["folder"] / "after"
    assert main(["identify", str(files["bare"]), "--robot", str(out), "--out", str(after)]) in (0, 1)
    facts = payload(files, capsys, "--result", str(after / "result.json"))
    assert facts["mass"] == pytest.approx(MASS, rel=0.01)
    assert facts["std"]["mass"] < 0.02 * MASS
    assert (
        main(
            ["payload", str(files["loaded"]), "--all", "--result", str(files["result"]), "--robot", str(out)]
        )
        == 4
    )
    assert "identify the bare arm anew" in capsys.readouterr().err
    assert main([*arguments[:2], str(files["result"]), *arguments[3:-1], str(out), *load]) == 2
    assert "other gains" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["calibrate", "gains", "a.mcap", "b.mcap", "--load", "1,2,3", "--robot", "r.yaml"], "four numbers"),
        (
            ["calibrate", "gains", "a.mcap", "b.mcap", "--load", "1,0,0,x", "--robot", "r.yaml"],
            "four numbers",
        ),
        (["payload", "a.mcap", "--gain-spread", "2"], "0.1 is 10 %"),
    ],
)
def test_usage(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_all_asks_for_the_arm(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["payload", "a.mcap", "--all"]) == 2
    assert "--result" in capsys.readouterr().err


def test_a_recording_without_most_positions_is_not_weighed(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Recording.open(files["loaded"])
    with (tmp_path / "holes.mcap").open("xb", buffering=0) as raw:
        writer = Writer(raw, 0)
        for name in whole.streams:
            for block in whole.blocks(name):
                validity = block.validity.copy()
                validity[: len(block) // 2 if name == "arm.position" else 0] = Validity.FAULT
                writer.block(replace(block, validity=validity))
        writer.finish()
    command = ["payload", str(tmp_path / "holes.mcap"), "--all", "--result", str(files["result"]), "--json"]
    capsys.readouterr()
    assert main(command) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["payloads"] == []
    assert {one["id"] for one in told["reasons"] if one["severity"] == "unfit"} == {"garbage_rows"}
    assert "--force" in told["notes"][-1]
    main([*command, "--force"])
    assert "not weighed" not in capsys.readouterr().out


def test_a_good_recording_is_weighed_without_doubts(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    command = ["payload", str(files["loaded"]), "--all", "--result", str(files["result"]), "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["reasons"] == []
