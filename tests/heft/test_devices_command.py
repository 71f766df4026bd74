"""`heft devices`: what it says of kinds, and to options that no emulator has."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from heft.drivers.registry import KINDS
from heft.main import main


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
