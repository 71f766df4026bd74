"""`heft stop` from a second terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heft.daq.bus.runtime import announced, private_endpoints
from heft.daq.config.shipped import CONFIGS
from heft.main import main

if TYPE_CHECKING:
    from tests.system.conftest import Bench, Process

SECOND_NS = 1_000_000_000


@pytest.fixture(autouse=True)
def _place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="heft-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield


def heft(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A second terminal."""
    command = [sys.executable, "-m", "heft.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def moving(bench: Bench, start: Callable[..., Process], **options: Any) -> Process:
    """A session in real time, in the middle of its motion."""
    bench.fourier(30.0)
    bench.session["watch"] = {"stream_age_s": 2.0}  # a busy machine must not stop it first
    process = start(**{"speed": "1", **options})
    process.wait_for("excitation")
    process.wait_until_recorded(0.7)  # past the blend
    return process


@pytest.mark.slow
def test_a_session_in_mid_motion(bench: Bench, start: Callable[..., Process]) -> None:
    process = moving(bench, start)
    stop = heft("stop", "--json")
    assert stop.returncode == 0, stop.stderr
    stopped = json.loads(stop.stdout)["stopped"]
    assert (stopped["name"], stopped["pid"]) == ("short", process.popen.pid)
    assert f"short (process {process.popen.pid}): acknowledged, drives off after" in stop.stderr
    run = process.finish()
    assert run.code == 3, run.err
    assert run.json["reason"] == "heft stop"
    assert run.json["lost"] == 0
    assert run.recording.recovery.ok
    assert run.states[-3:] == ["moving", "stopping", "aborted"]
    asked, off = run.event("stop_requested", reason="heft stop"), run.event("drives_off")
    assert 0 <= off.t_ns - asked.t_ns < SECOND_NS // 2
    run.check_off()
    again = heft("stop")
    assert again.returncode == 1
    assert again.stdout == "no session of this user is running on this host\n"


@pytest.mark.slow
def test_of_two_sessions_the_one_that_is_named(bench: Bench, start: Callable[..., Process]) -> None:
    """Both have one name: the process tells them apart."""
    bench.session["steps"] = [{"name": "rest", "wait": 30.0}]
    one, two = start(speed="1"), start(speed="1")
    for process in (one, two):
        process.wait_for("rest")
    for which in ((), ("short",)):
        unclear = heft("stop", *which)
        assert unclear.returncode == 2
        assert "2 sessions are running; give the name or the process id of one" in unclear.stderr
        assert f"short (process {one.popen.pid})" in unclear.stderr
        assert f"short (process {two.popen.pid})" in unclear.stderr
    unknown = heft("stop", "long")
    assert unknown.returncode == 2
    assert "long: no session of this name is running; there are" in unknown.stderr
    assert heft("stop", str(two.popen.pid)).returncode == 0
    assert two.finish().code == 3
    assert one.popen.poll() is None
    assert heft("stop", "short").returncode == 0
    assert one.finish().code == 3


@pytest.mark.slow
def test_a_rig_that_stands_by(tmp_path: Path) -> None:
    """As on Ctrl-C while nothing moves: it is done."""
    rig = str(CONFIGS / "rigs" / "sim_wam7.yaml")
    command = [sys.executable, "-m", "heft.main", "payload", "--live", rig, "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while (stop := heft("stop")).returncode == 1:
            assert process.poll() is None, process.communicate()
        assert stop.returncode == 0, stop.stderr
        assert stop.stdout.startswith("sim_wam7 (process")
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert "done: heft stop" in said
    finally:
        process.kill()
        process.communicate()


def test_one_that_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with private_endpoints() as endpoints, announced("hung", endpoints):
        assert main(["stop", "--json"]) == 4
    told = capsys.readouterr()
    assert "did not acknowledge within 2 s; use the emergency stop of the arm" in told.err
    assert set(json.loads(told.out)) == {"error"}


def test_nobody_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"running": [], "stopped": None}


def test_a_place_that_others_can_enter(capsys: pytest.CaptureFixture[str]) -> None:
    place = Path(os.environ["XDG_RUNTIME_DIR"]) / "heft"
    place.mkdir()
    place.chmod(0o770)
    assert main(["stop"]) == 2
    assert f"heft stop: {place}: mode 0770" in capsys.readouterr().err
