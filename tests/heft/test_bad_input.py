"""What commands say to files, folders and addresses that they cannot use: one message, the right exit code."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from heft.daq.record import Writer
from heft.drivers import Block, Column, Stream
from heft.identify import Dataset, Robot, fit
from heft.main import main
from heft.terminal.model import describe_result

ROBOTS = Path(__file__).parents[2] / "configs" / "robots"


def write(path: Path, *, finish: bool = True) -> Path:
    """One Block of one stream."""
    stream = Stream("arm.motion", (Column("joint1", "position", "rad"),), 1000.0)
    values, validity = np.zeros((10, 1)), np.zeros((10, 1), np.uint8)
    with path.open("xb", buffering=0) as raw:
        writer = Writer(raw, 0)
        writer.block(Block(stream, 0, np.arange(10) * 1_000_000, values, validity))
        writer.flush()
        if finish:
            writer.finish()
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write(tmp_path / "short.mcap")


@pytest.mark.parametrize("command", [["identify"], ["replay", "--identify", "--speed", "max"]])
def test_results_have_nowhere_to_go(
    command: list[str], recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    name, *options = command
    assert main([name, str(recording), *options, "--out", str(taken)]) == 2
    why = (
        "a file; give a folder"
        if name == "replay"
        else "cannot be written: File exists; choose another folder"
    )
    assert capsys.readouterr().err == f"heft {name}: --out {taken}: {why}\n"


def test_a_recording_that_is_missing_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["identify", str(tmp_path / "nowhere" / "x.mcap")]) == 4
    assert "No such file or directory; check the path" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_a_recording_that_was_cut_off_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = write(tmp_path / "cut.mcap", finish=False)
    assert main(["identify", str(cut), "--out", str(tmp_path)]) == 4
    assert "the file was not finished by its recorder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "remedy"), [("nonsense", "give ipc://PATH"), ("tcp://*:5570", "name one host")]
)
def test_a_worker_without_an_address(address: str, remedy: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["worker", "--bus", address])
    assert exit_.value.code == 2
    assert remedy in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--gone", "-1", "'-1' is not a number above 0"),
        ("--gone", "nan", "'nan' is not a number above 0"),
        ("--name", "a/b", "'a/b' is no name; give letters"),
    ],
)
def test_a_worker_with_a_strange_option(
    option: str, value: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["worker", "--bus", "tcp://127.0.0.1:5570", f"{option}={value}"])
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


def test_a_session_that_is_no_text(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(recording)]) == 2
    assert "not text (invalid start byte at byte 0); give the path of a YAML file" in capsys.readouterr().err


def test_a_disk_that_is_full(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/disk/result.json")

    monkeypatch.setattr("heft.commands.run.load_session", full)
    assert main(["run"]) == 4
    assert capsys.readouterr().err == (
        "heft run: /disk/result.json: No space left on device; check the disk and the path\n"
    )


def test_a_robot_without_joint_terms_can_be_told(tmp_path: Path) -> None:
    robot = Robot.load(ROBOTS / "ddarm.yaml")
    assert robot.prior is not None
    t = np.arange(4000) * 2e-3
    phase = np.multiply.outer(t, [2.1, 2.9, 3.7])
    rates = np.array([2.1, 2.9, 3.7])
    q, dq, ddq = np.sin(phase), np.cos(phase) * rates, -np.sin(phase) * rates**2
    torque = robot.torque(q, dq, ddq, robot.prior)
    result = fit(robot, Dataset.from_arrays(t, q, torque), method="ols")
    with (tmp_path / "told").open("w") as file:
        describe_result(result, tmp_path / "result.json", Console(file=file, width=200))
    assert "joint3" in (tmp_path / "told").read_text()
