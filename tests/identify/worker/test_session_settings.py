"""Settings of a session travel in its recording; those of a command line go before them; a result remembers both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heft.daq.recording import Recording
from heft.identify.errors import ResultError
from heft.identify.fit import identify_recordings
from heft.identify.result.reproduction import reproduce
from heft.main import main

SESSION = """
name: short
rig: somewhere.yaml
steps: []
identify:
  cutoff_hz: 6
  method: wls
  bounds: {signs: false}
"""


@pytest.fixture(scope="module")
def told(write_session: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording whose session says how it wants to be identified."""
    return write_session(tmp_path_factory.mktemp("told") / "told.mcap", session=SESSION)


def configuration(result: Any) -> Any:
    return result.provenance.configuration


def test_a_sessions_own_settings(told: Path) -> None:
    result = identify_recordings([Recording.open(told)])
    assert (result.method, result.processing.cutoff_hz) == ("wls", 6.0)
    assert configuration(result)["bounds"]["signs"] is False
    assert configuration(result)["settings"] == {"cutoff_hz": 6.0, "method": "wls", "bounds.signs": False}


def test_others_go_before_them(told: Path, tmp_path: Path) -> None:
    settings = {"cutoff_hz": 7.0, "method.margin": 1e-4, "constraints.pinned": ["link3"]}
    result = identify_recordings([Recording.open(told)], method="sdp", settings=settings)
    assert (result.method, result.processing.cutoff_hz) == ("sdp", 7.0)
    assert configuration(result)["options"] == {"margin": 1e-4}
    assert configuration(result)["settings"] == {"bounds.signs": False, **settings}
    path = result.save(tmp_path / "result.json")
    assert reproduce(path, identify_recordings, [Recording.open(told)]).identical


def test_the_command_line(told: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["identify", str(told), "--out", str(tmp_path), "--json", "--method", "sdp", "--second-opinion"]
    assert main([*command, "--set", "cutoff_hz=5", "--set", "spread.inertia=0.2"]) in (0, 1)
    saved = json.loads((tmp_path / "result.json").read_text())
    assert saved["provenance"]["configuration"]["settings"] == {
        "cutoff_hz": 5.0,
        "bounds.signs": False,
        "spread.inertia": 0.2,
        "method.second_opinion": True,
    }
    assert saved["facts"]["second_opinion_deviation"] < 1e-4
    assert main(["identify", "--reproduce", str(tmp_path / "result.json"), str(told)]) == 0
    assert "identical" in capsys.readouterr().out


def test_mistakes_and_help_of_the_command_line(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["identify", str(told), "--set", "cutof=5"]) == 2
    assert "no setting 'cutof'; there are" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["identify", "--set", "help"])
    assert ended.value.code == 0
    assert "bounds.mass.LINK" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["identify", "--reproduce", "result.json", "--set", "cutoff_hz=5"])
    assert ended.value.code == 2


def test_constraints_of_ones_own_are_not_in_a_file(told: Path, tmp_path: Path) -> None:
    result = identify_recordings(
        [Recording.open(told)], method="sdp", constraints=lambda p: p.link["link1"].mass >= 1
    )
    path = result.save(tmp_path / "result.json")
    with pytest.raises(ResultError, match=r"constraints of one's own \(1.0 <= link1.mass\)"):
        reproduce(path, identify_recordings, [Recording.open(told)])
