"""`heft fleet identify`: the results of single runs, resumed, with what is broken told apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from heft.fleet.results import FolderResults
from heft.fleet.store import read_table
from heft.identify.fleet.triangles import KeptTriangles
from heft.main import main

pytestmark = pytest.mark.usefixtures("one_process")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["fleet", "identify", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_every_result_is_bit_equal_to_that_of_a_single_run(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = answer(capsys, f"{fleet}/**/*.mcap", "--out", str(tmp_path / "out"), "--triangles", "out")
    assert (code, said["identified"], said["failed"]) == (0, 4, {})
    assert main(
        ["identify", str(fleet / "arm1" / "night1.mcap"), "--out", str(tmp_path / "one"), "--json"]
    ) in (0, 1)
    single = (tmp_path / "one" / "result.json").read_bytes()
    assert (tmp_path / "out" / "arm1" / "night1" / "result.json").read_bytes() == single
    kept = KeptTriangles.decoded((tmp_path / "out" / "arm1" / "night1" / "0.triangles.npz").read_bytes())
    assert kept.source == "night1.mcap"


def test_what_is_done_is_not_done_again_and_what_has_changed_is(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recordings = shutil.copytree(fleet / "arm0", tmp_path / "recordings")
    out = ("--out", str(tmp_path / "out"))
    assert answer(capsys, str(recordings), *out)[1]["identified"] == 2
    assert (recordings / "night0.triangles.npz").exists()
    first = (tmp_path / "out" / "night0" / "result.json").stat().st_mtime_ns
    assert answer(capsys, str(recordings), *out)[1]["unchanged"] == 2
    (recordings / "night0.mcap").touch()  # other stamp, same bytes
    assert answer(capsys, str(recordings), *out)[1]["unchanged"] == 2
    assert (tmp_path / "out" / "night0" / "result.json").stat().st_mtime_ns == first
    assert answer(capsys, str(recordings), *out, "--method", "wls")[1]["identified"] == 2
    shutil.copy(fleet / "arm1" / "night1.mcap", recordings / "night0.mcap")
    said = answer(capsys, str(recordings), *out, "--method", "wls")[1]
    assert (said["identified"], said["unchanged"]) == (1, 1)


def test_a_corrupt_file_loses_its_own_result_and_says_why(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recordings = shutil.copytree(fleet / "arm0", tmp_path / "recordings")
    (recordings / "empty.mcap").write_bytes(b"")
    (recordings / "cut.mcap").write_bytes((fleet / "arm0" / "night0.mcap").read_bytes()[:2000])
    code, said = answer(capsys, str(recordings), "--out", str(tmp_path / "out"))
    assert (code, said["identified"], set(said["failed"])) == (1, 2, {"empty", "cut"})
    assert "empty" in (tmp_path / "out" / "empty" / "error.txt").read_text(encoding="utf-8")
    rows = read_table(FolderResults(tmp_path / "out"), ["verdict=failed"]).to_pylist()
    assert [row["session"] for row in rows] == ["cut", "empty"]
    assert all(row["reason"] for row in rows)
    code, said = answer(capsys, str(recordings / "empty.mcap"), "--out", str(tmp_path / "other"))
    assert code == 4


def test_recordings_of_a_night_or_an_arm_are_one_fit(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = answer(capsys, str(fleet), "--out", str(tmp_path), "--group-by", "arm", "--triangles", "out")
    assert (code, said["sessions"]) == (0, 2)
    result = json.loads((tmp_path / "arm1" / "result.json").read_text(encoding="utf-8"))
    assert [one["source"] for one in result["recordings"]] == ["night1.mcap", "night3.mcap"]


def test_triangles_go_below_out_where_nothing_can_be_written_beside(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recordings = shutil.copytree(
        fleet / "arm0", tmp_path / "recordings", ignore=shutil.ignore_patterns("*.npz")
    )
    (recordings / "night0.triangles.npz").mkdir()  # in the way, also of one who may write everywhere
    code, said = answer(capsys, str(recordings), "--out", str(tmp_path / "out"))
    assert (code, said["identified"]) == (0, 2)
    assert (tmp_path / "out" / "night0" / "0.triangles.npz").is_file()
    assert (recordings / "night2.triangles.npz").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nowhere/*.mcap"], "no recording there"),
        (["{fleet}", "--tls-ca", "ca.pem"], "go together"),
        (["{fleet}", "--set", "cutof=1"], "cutof"),
        (["strange://x/**"], "strange"),
    ],
)
def test_wrong_arguments_are_told(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    filled = [one.format(fleet=fleet) for one in arguments]
    assert main(["fleet", "identify", *filled, "--out", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
