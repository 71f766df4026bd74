"""What killed sessions leave is listed, and cleaned; what living ones use is not touched."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from heft.daq.bus.runtime import private_endpoints, runtime_folder
from heft.daq.temporary import abandoned_folders, temporary_folder
from heft.main import main
from heft.output_folder import WORKSPACE_PREFIX, OutputFolder


@pytest.fixture
def dead() -> int:
    """The number of a process that has gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, object]]]:
    capsys.readouterr()
    code = main(["doctor", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)["found"]


def test_nothing_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(capsys, str(tmp_path))
    assert (code, found) == (0, [])
    assert main(["doctor", str(tmp_path)]) == 0
    assert "nothing is left" in capsys.readouterr().out


def test_what_a_killed_session_left_is_listed_and_cleaned(
    tmp_path: Path, dead: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    sockets, unlocked = runtime_folder() / f"{dead}-abcdefgh", runtime_folder() / f"{dead}-ijklmnop"
    temporary = tmp_path / "tmp" / f"heft-{dead}-abc"
    workspace = tmp_path / "out" / f"{WORKSPACE_PREFIX}abc"
    for folder in (sockets, unlocked, temporary, workspace):
        folder.mkdir(parents=True)
    (sockets / "lock").touch()
    left = [sockets, unlocked, temporary, workspace]
    code, found = doctor(capsys, str(tmp_path))
    assert code == 1
    assert [one["path"] for one in found] == [str(path) for path in left]
    assert all(path.exists() for path in left)
    code, found = doctor(capsys, str(tmp_path), "--clean")
    assert code == 0
    assert all(one["cleaned"] for one in found)
    assert not any(path.exists() for path in left)


def test_the_living_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with OutputFolder(tmp_path / "out", ()) as out, private_endpoints(), temporary_folder() as folder:
        work = out.workspace()
        (out.path / "x.mcap.partial").touch()
        assert doctor(capsys, str(tmp_path), "--clean") == (0, [])
        assert folder.exists()
        assert work.exists()
        work.rmdir()
        (out.path / "x.mcap.partial").unlink()


def test_the_next_start_removes_temporary_folders_of_the_dead(
    tmp_path: Path, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"heft-{dead}-abc").mkdir()
    (tmp_path / "heft-other").mkdir()
    assert abandoned_folders() == (tmp_path / f"heft-{dead}-abc",)
    with temporary_folder():
        assert abandoned_folders() == ()
    assert [path.name for path in tmp_path.iterdir()] == ["heft-other"]


def test_a_folder_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err
