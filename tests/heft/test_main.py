"""The command line itself: usage, exit codes, one message per mistake."""

from __future__ import annotations

import subprocess
import sys

import pytest

from heft import __version__
from heft.daq.errors import BusError, CheckError, ConfigError, RecordError, RecordingError, SafetyStop
from heft.daq.motion.state import State
from heft.drivers.errors import DeviceFault, DeviceLost, OptionError
from heft.exit_codes import ExitCode, of_error, of_state
from heft.main import main


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said to a command line that cannot be understood."""
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert exit_.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


def test_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the following arguments are required: COMMAND" in refused(capsys)


def test_an_unknown_command_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "lift")
    assert "invalid choice: 'lift'" in message
    assert "run" in message


@pytest.mark.parametrize("speed", ["fast", "0", "-1", "nan", ""])
def test_a_speed_that_is_none(capsys: pytest.CaptureFixture[str], speed: str) -> None:
    message = refused(capsys, "run", "--speed", speed)
    assert f"argument --speed: {speed!r} is not a speed; give 1, a positive factor, or max" in message


@pytest.mark.parametrize("seed", ["-1", "1.5", "lucky"])
def test_a_seed_that_is_none(capsys: pytest.CaptureFixture[str], seed: str) -> None:
    assert f"{seed!r} is not a seed; give a whole number from 0 on" in refused(
        capsys, "run", f"--seed={seed}"
    )


def test_an_unknown_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unrecognized arguments: --sped" in refused(capsys, "run", "--sped", "1")


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, text in ((["--version"], f"heft {__version__}"), (["run", "--help"], "--speed")):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 0
        assert text in capsys.readouterr().out


def test_devices_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "list"]) == 0
    out = capsys.readouterr().out
    for kind in ("sim_drives", "sim_encoders", "sim_wrench", "sim_gripper"):
        assert any(line.startswith(kind) for line in out.splitlines())


def test_it_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "heft.main", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"heft {__version__}\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), ExitCode.USAGE),
        (OptionError("x"), ExitCode.USAGE),
        (CheckError("x"), ExitCode.USAGE),
        (SafetyStop("x"), ExitCode.ABORTED),
        (DeviceLost("arm", "x"), ExitCode.FAILED),
        (DeviceFault("arm", "x"), ExitCode.FAILED),
        (RecordError("x"), ExitCode.FAILED),
        (RecordingError("x"), ExitCode.FAILED),
        (BusError("x"), ExitCode.FAILED),
    ],
)
def test_exit_codes_of_errors(error: Exception, code: ExitCode) -> None:
    assert of_error(error) == code


def test_exit_codes_of_states() -> None:
    codes = {state: int(of_state(state)) for state in (State.DONE, State.ABORTED, State.FAILED)}
    assert codes == {State.DONE: 0, State.ABORTED: 3, State.FAILED: 4}


def test_an_expected_error_is_one_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: object) -> None:
        raise DeviceLost("wrist", "silent; check its cable")

    monkeypatch.setattr("heft.commands.run.load_session", fail)
    assert main(["run"]) == 4
    assert capsys.readouterr().err == "heft run: wrist: silent; check its cable\n"


def test_an_interruption_before_anything_moves(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(path: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("heft.commands.run.load_session", interrupt)
    assert main(["run"]) == 3
    assert capsys.readouterr().err == "heft run: interrupted\n"


def test_an_interruption_while_a_command_is_loaded() -> None:
    """Not an exception: a library that is being loaded might swallow it, and the arm would move all the same."""
    code = (
        "import os, signal, heft.main as m; "
        "m.import_module = lambda name: os.kill(os.getpid(), signal.SIGINT); m.main(['run'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "heft: interrupted: SIGINT received\n")
