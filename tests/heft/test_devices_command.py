"""`heft devices`: what it says of kinds, and to options that no emulator has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from heft.drivers.registry import KINDS
from heft.main import COMMANDS, main


def test_every_kind_is_listed_with_what_it_yields(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "list"]) == 0
    shown = capsys.readouterr().out
    for name, kind in KINDS.items():
        (line,) = [line for line in shown.splitlines() if line.split()[0] == name]
        assert kind.yields in line
        assert line.rstrip().endswith("yes") == (not kind.simulated)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--set", "rate=5"], "--set rate: there is no such key; known: clock_drift_ppm, "),
        (["--set", "rate_hz=-5"], "--set rate_hz: Input should be greater than 0, got -5"),
        (["--set", "rate"], "--set rate: expected KEY=VALUE"),
        (["--fault", '{"kind": "drop"'], '--fault {"kind": "drop": not a JSON object'),
        (["--fault", "5"], "--fault 5: not a JSON object"),
        (["--fault", '{"kind": "dorp"}'], "'dorp' found using 'kind' does not match any of"),
        (
            ["--fault", '{"kind": "drop", "rate": 2}'],
            "drop.rate: Input should be less than or equal to 1, got 2",
        ),
    ],
)
def test_options_that_cannot_be(option: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "emulate", "ati_rdt", *option]) == 2
    assert says in capsys.readouterr().err


def test_an_emulator_says_where_it_is_and_ends_by_sigterm() -> None:
    command = [sys.executable, "-m", "heft.main", "devices", "emulate", "onrobot_hex"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        process.terminate()
        assert process.wait(timeout=30) == 0
    assert said["kind"] == "onrobot_hex"
    assert said["host"] == "127.0.0.1"
    assert said["port"] > 0


def test_the_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "list", "--json"]) == 0
    kinds = json.loads(capsys.readouterr().out)["kinds"]
    assert kinds["sim_drives"]["transport"]
    assert kinds["onrobot_hex"]["emulator"] is True


@pytest.mark.parametrize(
    "command", [*(name for name in COMMANDS if name not in ("devices", "calibrate", "fleet", "keys"))]
)
def test_every_command_takes_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    "action",
    [
        ["devices", "list"],
        ["devices", "probe"],
        ["devices", "emulate"],
        ["calibrate", "gains"],
        ["fleet", "identify"],
        ["fleet", "drift"],
    ],
)
def test_every_action_takes_json(action: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*action, "--help"])
    assert "--json" in capsys.readouterr().out


def test_an_error_is_one_json_object_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "probe", str(tmp_path / "none.yaml"), "--json"]) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)["error"] in told.err
