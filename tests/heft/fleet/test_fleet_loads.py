"""`heft fleet identify --load`: known loads by session, with the results of `heft identify --load`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heft.daq.errors import ConfigError
from heft.daq.recording import Recording
from heft.fleet.loads import loaded
from heft.fleet.results import FolderResults
from heft.fleet.sources import Source
from heft.fleet.store import read_table
from heft.identify.data.known_load import KnownLoad
from heft.identify.fit import identify_recordings
from heft.main import main

SOURCES = [Source(f"/r/{name}.mcap", name, "") for name in ("arm0/a", "arm0/b", "arm1/a")]
BRICK = (2.0, 0.0, 0.0, 0.1)


def test_loads_are_of_sessions_and_patterns() -> None:
    found = loaded(SOURCES, ["arm0/*=2,0,0,0.1", "arm1/a=1,0,0,0"])
    assert [one.load for one in found] == [BRICK, BRICK, (1.0, 0.0, 0.0, 0.0)]
    assert [one.load for one in loaded(SOURCES, ["2,0,0,0.1"])] == [BRICK] * 3
    assert loaded(SOURCES, []) == SOURCES


@pytest.mark.parametrize(
    "texts", [["arm7/*=1,0,0,0"], ["1,0,0,0", "arm0/a=1,0,0,0"], ["1,x"], ["1,2"], ["-1,0,0,0"]]
)
def test_loads_that_cannot_be_are_refused(texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="--load"):
        loaded(SOURCES, texts)


@pytest.mark.usefixtures("one_process")
def test_results_are_those_of_single_runs_with_the_load(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    identify = [
        "fleet",
        "identify",
        f"{fleet}/arm0/*.mcap",
        "--out",
        str(tmp_path),
        "--triangles",
        "out",
        "--json",
    ]
    assert main([*identify, "--load", "night0=2,0,0,0.1"]) == 0
    capsys.readouterr()
    recording = Recording.open(fleet / "arm0" / "night0.mcap")
    single = identify_recordings([recording], loads={recording: KnownLoad.from_numbers(BRICK)})
    saved = single.save(tmp_path / "single.json").read_bytes()
    assert (tmp_path / "night0" / "result.json").read_bytes() == saved
    rows = read_table(FolderResults(tmp_path), ["parameter=session"]).to_pylist()
    assert {row["session"]: row["load"] for row in rows} == {"night0": 2.0, "night2": 0.0}
    assert main(identify) == 0  # without it night0 is another question, night2 is not
    said = json.loads(capsys.readouterr().out)
    assert (said["identified"], said["unchanged"]) == (1, 1)
