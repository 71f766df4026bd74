"""The catalogue: an index of files that can be made anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from heft.daq.clock import ManualClock
from heft.daq.errors import ConfigError
from heft.daq.record import Recorder
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream
from heft.identify.fleet.page import render
from heft.service.catalogue import NAME, Catalogue
from heft.service.web.library import Library

STREAM = Stream("wrist.wrench", (Column("x", "force", "N"),), 1000.0)


async def record(path: Path, samples: int = 100) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    async with Recorder(path, ManualClock()) as recorder:
        recorder.describe(STREAM)
        times = (np.arange(samples) * 1_000_000 + 1_000_000_000).astype(np.int64)
        recorder.block(Block(STREAM, 0, times, np.ones((samples, 1)), np.zeros((samples, 1), dtype=np.uint8)))
        recorder.event("state", state="done", reason="")
        recorder.note("losses", {STREAM.name: {"lost": 3}})


def result(folder: Path, grade: str = "good") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "verdict": {"grade": grade, "headline": "every link is a body that could exist"},
        "robot": {"name": "wam7"},
        "method": "sdp",
        "level": "full",
        "relative_error": {"fit": 0.01, "validation": 0.02},
        "total_mass": 20.0,
        "rank": 59,
    }
    (folder / "result.json").write_text(json.dumps(facts))


async def test_files_are_entered_and_forgotten(tmp_path: Path) -> None:
    await record(tmp_path / "a" / "one.mcap")
    result(tmp_path / "a")
    (tmp_path / "a" / "other.mcap").write_bytes(b"not a recording")
    catalogue = Catalogue(tmp_path)
    catalogue.prepare()
    catalogue.refresh()
    kinds = {entry.kind: entry for entry in catalogue.entries()}
    assert set(kinds) == {"recording", "result"}
    told = kinds["recording"].to_dict()
    assert (told["state"], told["lost"], told["complete"]) == ("done", 3, True)
    assert kinds["result"].facts["grade"] == "good"
    assert catalogue.entry(kinds["result"].id).path == tmp_path / "a" / "result.json"
    (tmp_path / "a" / "one.mcap").unlink()
    result(tmp_path / "a", "unfit, or so it seems")
    catalogue.refresh()
    assert [entry.facts["grade"] for entry in catalogue.entries()] == ["unfit, or so it seems"]
    with pytest.raises(ConfigError, match="no such entry"):
        catalogue.entry(99)


async def test_links_of_a_result_have_intervals(tmp_path: Path) -> None:
    result(tmp_path / "a")
    path = tmp_path / "a" / "result.json"
    interval = {"value": 1.0, "std": 0.1, "low": 0.8, "high": 1.2, "unit": "kg", "prior_dominated": False}
    names = ("link1.mass", "link1.com.x", "link1.com.y", "link1.com.z", "hand.mass", "joint1.viscous")
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "intervals": dict.fromkeys(names, interval)}))
    library = Library(tmp_path)
    library.catalogue.prepare()
    library.catalogue.refresh()
    (entry,) = library.catalogue.entries()
    links = library.links(entry.id)
    assert [(one["name"], len(one["com"])) for one in links] == [("link1", 3), ("hand", 0)]
    assert links[0]["mass"]["high"] == 1.2
    path.write_text(json.dumps(told))
    with pytest.raises(ConfigError, match="not a whole result"):
        library.links(entry.id)


async def test_one_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    await record(tmp_path / "a" / "one.mcap")
    catalogue = Catalogue(tmp_path)
    catalogue.prepare()
    catalogue.refresh()
    data = bytearray((tmp_path / NAME).read_bytes())
    for damaged in (b"no database at all", bytes(data[:100]) + bytes(len(data) - 100)):
        (tmp_path / NAME).write_bytes(damaged)
        again = Catalogue(tmp_path)
        again.prepare()
        again.refresh()
        assert [entry.facts["name"] for entry in again.entries()] == ["one"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        Catalogue(tmp_path / "file" / "data").prepare()


def test_pages_of_fleets_are_entered_with_what_they_say(tmp_path: Path) -> None:
    head = "<!doctype html><head><title>Fleet: 1 of 3 arms have changed. &amp; more – Heft</title></head>"
    for name, text in {"year": head, "other": "<title>holidays</title>"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "fleet.html").write_text(text, encoding="utf-8")
    library = Library(tmp_path)
    library.catalogue.prepare()
    library.catalogue.refresh()
    (entry,) = library.entries()
    assert (entry["kind"], entry["name"]) == ("fleet", "year")
    assert entry["headline"] == "1 of 3 arms have changed. & more"
    assert library.report(entry["id"]) == tmp_path / "year" / "fleet.html"


def test_the_title_is_that_of_the_page_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "fleet.html").write_text(render([], [], lambda session: None), encoding="utf-8")
    catalogue = Catalogue(tmp_path)
    catalogue.prepare()
    catalogue.refresh()
    (entry,) = catalogue.entries()
    assert entry.kind == "fleet"
    assert entry.facts["headline"]


@pytest.mark.parametrize(
    "told",
    [{"robot": []}, {"verdict": "good"}, {"relative_error": 1e999}, {"robot": {"name": "\ud800"}}],
    ids=["robot", "verdict", "infinity", "surrogate"],
)
def test_a_strange_file_costs_its_own_entry_alone(tmp_path: Path, told: dict[str, object]) -> None:
    result(tmp_path / "a")
    result(tmp_path / "b")
    strange = tmp_path / "a" / "result.json"
    strange.write_text(json.dumps({**json.loads(strange.read_text()), **told}))
    catalogue = Catalogue(tmp_path)
    catalogue.prepare()
    catalogue.refresh()
    assert tmp_path / "b" / "result.json" in [entry.path for entry in catalogue.entries()]


def test_a_folder_whose_name_is_no_text_is_left_out(tmp_path: Path) -> None:
    result(tmp_path / "b")
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.rename(tmp_path / "b", folder)
    result(tmp_path / "c")
    catalogue = Catalogue(tmp_path)
    catalogue.prepare()
    catalogue.refresh()
    assert [entry.path.parent.name for entry in catalogue.entries()] == ["c"]


def test_a_number_beyond_all_entries_is_none(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    catalogue.prepare()
    with pytest.raises(ConfigError, match="no such entry"):
        catalogue.entry(10**30)
