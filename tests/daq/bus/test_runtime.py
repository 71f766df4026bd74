"""The private place of running sessions: who may enter, what is found there, what the dead leave."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from heft.daq.bus.runtime import announced, private_endpoints, running_sessions, runtime_folder
from heft.daq.errors import ConfigError


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="heft-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder) / "heft"


def test_endpoints_are_in_a_folder_of_this_user_alone(place: Path) -> None:
    with private_endpoints(telemetry="tcp://127.0.0.1:0") as endpoints:
        assert endpoints.folder is not None
        assert endpoints.folder.parent == place
        assert Path(endpoints.control.address).parent == endpoints.folder
        for folder in (place, endpoints.folder):
            assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert endpoints.telemetry.scheme == "tcp"
        assert running_sessions() == ()  # it has not told of itself
    assert list(place.iterdir()) == []


def test_a_session_is_found_while_it_can_be_reached(place: Path) -> None:
    with private_endpoints() as endpoints:
        with announced("sweep", endpoints):
            (session,) = running_sessions()
            assert (session.name, session.pid, session.endpoints) == ("sweep", os.getpid(), endpoints)
            assert not session.ended
        assert session.ended
        assert running_sessions() == ()


def test_two_of_one_name_are_told_apart(place: Path) -> None:
    with (
        private_endpoints() as one,
        private_endpoints() as two,
        announced("sweep", one),
        announced("sweep", two),
    ):
        first, second = running_sessions()
        assert first.folder != second.folder
        assert first.endpoints.stop != second.endpoints.stop


KILLED = """
import sys, time
from heft.daq.bus.runtime import announced, private_endpoints
with private_endpoints() as endpoints, announced("killed", endpoints):
    print("here", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_has_left_is_removed_by_whoever_looks(place: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    (session,) = running_sessions()
    assert (session.name, session.pid) == ("killed", process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert session.ended
    assert running_sessions() == ()
    assert list(place.iterdir()) == []


def test_the_next_session_removes_it_too(place: Path) -> None:
    stale = runtime_folder() / "1-abcdefgh"
    stale.mkdir()
    (stale / "lock").touch()
    (stale / "session.json").write_text(json.dumps({"name": "long gone"}), encoding="utf-8")
    with private_endpoints():
        assert not stale.exists()


def test_a_folder_that_others_can_enter_is_refused(place: Path) -> None:
    place.mkdir()
    place.chmod(0o755)
    with pytest.raises(ConfigError, match=rf"{place}: mode 0755: others could reach .*; chmod 700 {place}"):
        running_sessions()
    with pytest.raises(ConfigError, match="mode 0755"), private_endpoints():
        pass


def test_a_folder_of_another_user_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.mkdir(mode=0o700)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(
        ConfigError, match=rf"belongs to user {me}, and this is user {me + 1}; set XDG_RUNTIME_DIR to a"
    ):
        running_sessions()


def test_a_link_to_elsewhere_is_refused(place: Path, tmp_path: Path) -> None:
    place.symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="is not a folder; move it away"):
        running_sessions()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("run/heft", "XDG_RUNTIME_DIR=run/heft: not an absolute path; correct or unset it"),
        (
            "/nowhere/at/all",
            "cannot be made: No such file or directory; set XDG_RUNTIME_DIR to a folder of your own",
        ),
    ],
)
def test_a_variable_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch, given: str, says: str) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", given)
    with pytest.raises(ConfigError, match=says):
        running_sessions()


def test_a_path_too_long_for_sockets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 80)
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    with pytest.raises(
        ConfigError, match=r"bytes long, at most 70 leave room .*; set XDG_RUNTIME_DIR to a shorter"
    ):
        running_sessions()


def test_without_the_variable_it_is_this_user_s_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)  # whom this machine does not know
    monkeypatch.setattr("heft.daq.bus.runtime._LONGEST", 1000)
    with pytest.raises(ConfigError, match="heft-4000000000: belongs to user"):
        runtime_folder()
    assert stat.S_IMODE((tmp_path / "heft-4000000000").stat().st_mode) == 0o700
