"""The log: bounded, shared by processes, readable by its user alone, without secrets."""

from __future__ import annotations

import logging
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heft.log_file import LogFile, log_path, logged, without_secrets
from heft.main import main


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("heft.test", logging.INFO, "", 0, text, None, None)


def test_its_size_is_bounded_and_the_newest_is_kept(tmp_path: Path) -> None:
    handlers = [LogFile(tmp_path / "heft.log", most_bytes=2000, kept=2) for _ in range(3)]

    def write(number: int) -> None:
        handlers[number % 3].emit(record(f"line {number:04d}"))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(600)))
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["heft.log", "heft.log.1", "heft.log.2"]
    assert all(path.stat().st_size <= 2000 for path in files)
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    assert any(f"line {number:04d}" in text for number in range(590, 600))
    assert all("line " in line for line in text.splitlines())  # no line was torn


@pytest.mark.parametrize(
    "text",
    [
        "mqtt://cell:hunter2@broker:8883/x",
        "password: hunter2",
        "HEFT_MQTT_PASSWORD=hunter2",
        '{"mqtt_password": "hunter2"}',
        "api_token=hunter2",
        "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
    ],
)
def test_secrets_are_left_out(text: str) -> None:
    assert "hunter2" not in without_secrets(text)


def test_every_command_leaves_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["identify", str(tmp_path / "nothing.mcap"), "--set", "cutoff_hz=8"]) == 4
    path = log_path()
    text = path.read_text(encoding="utf-8")
    assert "heft identify: begins: identify" in text
    assert "nothing.mcap: cannot be read" in text
    assert "ends with exit code 4" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_written_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert main(["devices", "list"]) == 0
    assert capsys.readouterr().err == ""


def test_warnings_still_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with logged() as log:
        log.warning("look out")
    assert "look out" in capsys.readouterr().err
