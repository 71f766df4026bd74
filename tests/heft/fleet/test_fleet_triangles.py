"""`heft fleet identify '**/*.triangles.npz'`: sessions together from their kept triangles, without a recording."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.config.shipped import CONFIGS
from heft.fleet.results import FolderResults
from heft.fleet.store import read_table
from heft.identify.fleet.simulated.whole_session import WholeSession
from heft.identify.robot import Robot
from heft.main import main

pytestmark = pytest.mark.usefixtures("one_process")

FIXED = ("--set", "cutoff_hz=8", "--set", "friction=file")
KNOWN = ("--set", "delay_s=0")
DAY_NS = 86_400_000_000_000
SESSIONS = 3


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["fleet", "identify", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nights of one arm with offsets of torque, other ones each night."""
    robot = Robot.load(CONFIGS / "robots" / "wam7.yaml")
    assert robot.prior is not None
    folder = tmp_path_factory.mktemp("kept") / "recordings"
    folder.mkdir()
    offsets = np.array([name.endswith(".offset") for name in robot.parameter_names])
    for i in range(SESSIONS):
        own, utc_ns = robot.prior + 0.2 * i * offsets, (1_780_000_000 * 10**9) + i * DAY_NS
        WholeSession(robot, "a7", own, utc_ns, 6.0, seed=i, motion_seed=i).write(folder / f"night{i}.mcap")
    return folder


@pytest.fixture
def triangles(recordings: Path, tmp_path: Path) -> str:
    """What is left when the recordings are gone: the pattern of their triangles."""
    return f"{tmp_path}/triangles/*.triangles.npz"


def keep(capsys: pytest.CaptureFixture[str], recordings: Path, tmp_path: Path, *asked: str) -> None:
    """Identify each recording by itself, and copy the triangles away from it."""
    assert answer(capsys, str(recordings), *FIXED, *asked, "--out", str(tmp_path / "single"))[0] == 0
    (tmp_path / "triangles").mkdir()
    for path in recordings.glob("*.npz"):
        shutil.move(path, tmp_path / "triangles")


def joint_and_kept(
    capsys: pytest.CaptureFixture[str], recordings: Path, triangles: str, tmp_path: Path, *asked: str
) -> tuple[Any, Any]:
    """The arm's recordings as one fit, and the estimate from their triangles."""
    keep(capsys, recordings, tmp_path, *asked)
    together = (*FIXED, *asked, "--group-by", "arm", "--out")
    joint = (str(recordings), *together, str(tmp_path / "joint"), "--triangles", "out")
    assert answer(capsys, *joint)[0] == 0
    code, said = answer(capsys, triangles, *together, str(tmp_path / "kept"))
    assert (code, said["identified"], said["verdicts"]) == (0, 1, {"unjudged": 1})
    return read(tmp_path / "joint" / "a7" / "result.json"), read(tmp_path / "kept" / "a7" / "estimate.json")


@pytest.mark.parametrize("method", ["wls", "sdp"])
def test_an_estimate_from_triangles_is_the_joint_fit_of_the_recordings(
    recordings: Path, triangles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    """To 1e-9 where delays are known; one of the sessions by itself says little, and weighs as little here."""
    joint, kept = joint_and_kept(capsys, recordings, triangles, tmp_path, "--method", method, *KNOWN)
    assert kept["base"]["names"] == joint["base"]["names"]
    np.testing.assert_allclose(kept["base"]["values"], joint["base"]["values"], rtol=1e-9, atol=1e-9)
    assert [one["source"] for one in kept["sessions"]] == [one["source"] for one in joint["recordings"]]
    for mine, theirs in zip(kept["sessions"], joint["recordings"], strict=True):
        assert mine["offsets"] == pytest.approx(theirs["offsets"], abs=1e-9)


def test_sessions_whose_delays_are_found_anew_have_nearly_the_joint_fit(
    recordings: Path, triangles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six seconds tell a delay badly: within a tenth of a standard deviation."""
    joint, kept = joint_and_kept(capsys, recordings, triangles, tmp_path, "--method", "wls")
    off = np.subtract(kept["base"]["values"], joint["base"]["values"])
    assert (np.abs(off) / np.sqrt(np.diag(joint["base"]["covariance"]))).max() < 0.1


def test_estimates_are_sessions_of_the_table_and_are_not_made_twice(
    recordings: Path, triangles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(capsys, recordings, tmp_path)
    asked = (triangles, "--group-by", "night", "--method", "wls", "--out", str(tmp_path / "out"))
    assert answer(capsys, *asked)[1]["identified"] == SESSIONS
    assert answer(capsys, *asked)[1]["unchanged"] == SESSIONS
    rows = read_table(FolderResults(tmp_path / "out"), ["parameter=joint1.friction"]).to_pylist()
    assert [(row["arm"], row["verdict"], row["method"]) for row in rows] == [
        ("a7", "unjudged", "wls")
    ] * SESSIONS
    assert all(row["low"] < row["value"] < row["high"] for row in rows)
    assert (tmp_path / "out" / rows[0]["result"]).is_file()
    assert rows[0]["time"] < rows[1]["time"] < rows[2]["time"]


def test_what_needs_recordings_is_refused(
    recordings: Path, triangles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(capsys, recordings, tmp_path)
    asked = ("fleet", "identify", triangles, "--out", str(tmp_path / "out"))
    for option in (("--reports",), ("--load", "1,0,0,0"), ("--robot", str(CONFIGS / "robots" / "wam7.yaml"))):
        assert main([*asked, *option]) == 2
        assert "give the recordings" in capsys.readouterr().err
    assert main(["fleet", "identify", triangles, str(recordings), "--out", str(tmp_path / "out")]) == 2
    assert "both recordings" in capsys.readouterr().err
    for setting in (
        "cutoff_hz=5",
        "friction=viscous",
        "smoothing_velocity=0.1",
        "filter.order=4",
        "terms=viscous",
        "unmeasured=joint2",
    ):
        code, said = answer(capsys, *asked[2:], "--set", setting)
        assert code == 4
        assert all(setting.partition("=")[0] in reason for reason in said["failed"].values())
