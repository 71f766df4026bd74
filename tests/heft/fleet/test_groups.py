"""Groups of recordings: an arm's name is what a recording says, and no way out of the folder of results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heft.daq.recording import Recording
from heft.fleet import campaign
from heft.fleet.answer import Job
from heft.fleet.campaign import Campaign, group
from heft.fleet.job import look
from heft.fleet.results import FolderResults
from heft.fleet.sources import Source
from heft.identify.fleet.session_facts import RIG_FILE, SessionFacts


def jobs(*names: str) -> list[Job]:
    return [Job(name, (Source(f"/{name}.mcap", name, "mark"),)) for name in names]


def cluster(*seen: tuple[str, float, str]) -> Any:
    @contextmanager
    def connect() -> Iterator[Any]:
        yield SimpleNamespace(map=lambda *_, **__: list(seen), gather=lambda found: found)

    return connect


@pytest.mark.parametrize("by", ["arm", "night"])
def test_a_name_of_an_arm_is_one_folder(by: Any) -> None:
    names = ["../../elsewhere", "..", "a/b", "a b", "a%2Fb", ""]
    seen = [(name, 1.8e9, "") for name in names]
    found = [job.session for job in group(cluster(*seen), jobs(*"123456"), by)]
    folders = [one.removesuffix("/2027-01-14") for one in found]
    assert folders == ["..%2F..%2Felsewhere", "%2E%2E", "a%2Fb", "a b", "a%252Fb", "unknown"]


class Told:
    """A recording with a rig's file, and a beginning, of somebody else."""

    attachments = (RIG_FILE,)
    utc_offset_ns = 10**30
    span_ns = (0, 1)

    def __init__(self, text: str) -> None:
        self._text = text

    def attachment(self, name: str) -> bytes:
        return self._text.encode()


@pytest.mark.parametrize(
    "text", ["[" * 20_000, "cell: &a [x, *a]", "cell: {a: b}", "\0"], ids=["deep", "list", "map", "zero"]
)
def test_what_a_recording_says_of_itself_is_a_name_or_nothing(text: str) -> None:
    facts = SessionFacts.of(Told(text), brief=True)  # type: ignore[arg-type]
    assert facts.arm == ""
    assert facts.night == ""


def test_a_recording_that_breaks_its_reader_stays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> Recording:
        raise OverflowError("what a stranger wrote")

    monkeypatch.setattr(Recording, "open", broken)
    arm, _, reason = look(jobs("1")[0].sources[0])
    assert (arm, reason) == ("", "internal error: OverflowError: what a stranger wrote")


def test_what_has_failed_for_good_is_not_tried_again_for_its_missing_report(tmp_path: Path) -> None:
    job = Job("1", jobs("1")[0].sources, report=True)
    run = Campaign((job,), FolderResults(tmp_path))
    note = {
        "heft": campaign.__version__,
        "asked": campaign.asked(job),
        "marks": ["mark"],
        "digest": "d",
        "outcome": "failed",
        "final": True,
        "schema": campaign.SCHEMA,
        "version": campaign.VERSION,
        "rows": [],
    }
    run._write_note(job, note)
    assert run._settled(job) == (True, "d")
