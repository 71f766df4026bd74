"""A campaign: every session of a fleet identified, as many at once as there are workers; what is done stays done.

Each session has a folder of its own below that of the campaign, with its result and a note (`session.json`) that says
of which bytes, by which version and with which settings it was made. A campaign that starts again skips what the notes
still hold for.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal
from urllib.parse import quote

from heft import __version__
from heft.daq.bounded_json import bounded_json
from heft.daq.errors import BusError
from heft.fleet.answer import Answer, Job
from heft.fleet.job import identify_job, look
from heft.fleet.kept_job import ESTIMATE
from heft.fleet.results import Results
from heft.fleet.sources import REDUCED, Source, write_beside
from heft.fleet.store import write_table
from heft.identify.fleet.session_facts import SessionFacts

__all__ = ["NOTE", "Campaign", "Grouping", "Tally", "group", "notes_of"]

NOTE, ERROR, RESULT, REPORT = "session.json", "error.txt", "result.json", "report.html"
SCHEMA, VERSION = "heft.FleetSession", 1
MOST_NOTE = 16 * 1024 * 1024
#: How often a job is tried again whose worker was lost.
RETRIES = 3

Grouping = Literal["recording", "night", "arm"]
Connect = Callable[[], AbstractContextManager[Any]]


@dataclass
class Tally:
    """How far a campaign is.

    started_s, first_s, now_s   when it began, of the first answer and of the last one, on a clock of one's own [s]
    memory                      the most that each worker's process has held [bytes]
    """

    total: int
    counts: Counter[str] = field(default_factory=Counter)
    started_s: float = 0.0
    first_s: float = 0.0
    now_s: float = 0.0
    memory: dict[int, int] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Sessions that are settled, whatever became of them."""
        return sum(self.counts.values())

    @property
    def rate(self) -> float:
        """Sessions a second since the first answer: without the time that workers take to start."""
        computed = self.counts["identified"] + self.counts["failed"] - 1
        return computed / (self.now_s - self.first_s) if computed > 0 and self.now_s > self.first_s else 0.0

    @property
    def remaining_s(self) -> float | None:
        """What is left at the rate so far [s]; None before the first has been computed."""
        computed = self.counts["identified"] + self.counts["failed"]
        if not computed:
            return None
        return (self.now_s - self.started_s) / computed * (self.total - self.done)


@dataclass(frozen=True)
class Campaign:
    """What to identify, and where results go.

    jobs       one for each session
    out        where results go
    beside     whether triangles are kept beside the recordings, where those may be written to
    retry      whether sessions that failed before are tried again
    """

    jobs: tuple[Job, ...]
    out: Results
    beside: bool = True
    retry: bool = False

    def run(
        self, connect: Connect, progress: Callable[[Tally], None], clock: Callable[[], float] = time.monotonic
    ) -> Tally:
        """Identify what is not done yet; files are written as answers come, the table at the end.

        connect   makes a client of the cluster; not called where nothing is to be done
        """
        tally = Tally(len(self.jobs), started_s=clock(), now_s=clock())
        waiting = []
        for job in self.jobs:
            settled, known = self._settled(job)
            if settled:
                tally.counts["unchanged"] += 1
            else:
                waiting.append(replace(job, known=known))
        progress(tally)
        try:
            if waiting:
                with connect() as client:
                    self._compute(client, waiting, tally, progress, clock)
        finally:
            self.write_table()
        return tally

    def _compute(
        self,
        client: Any,
        jobs: Sequence[Job],
        tally: Tally,
        progress: Callable[[Tally], None],
        clock: Callable[[], float],
    ) -> None:
        tally.started_s = clock()
        for answer in _answers(client, jobs):
            self._keep(answer)
            tally.counts[answer.outcome] += 1
            tally.now_s = clock()
            tally.first_s = tally.first_s or tally.now_s
            if answer.process:
                tally.memory[answer.process] = max(answer.memory, tally.memory.get(answer.process, 0))
            progress(tally)

    @cached_property
    def _by_session(self) -> dict[str, Job]:
        return {job.session: job for job in self.jobs}

    def write_table(self) -> None:
        """The table of all sessions that have a note."""
        write_table(self.out, (row for note in notes_of(self.out) for row in note["rows"]))

    def _settled(self, job: Job) -> tuple[bool, str]:
        """Whether a job's note says that nothing is to be done; and the digest of the bytes that it holds for."""
        note = _note(self.out, job.session)
        if note is None or note.get("asked") != asked(job) or note.get("heft") != __version__:
            return False, ""
        if note["outcome"] == "failed" and (self.retry or not note["final"]):
            return False, ""
        if job.report and note["outcome"] != "failed" and not self.out.has(f"{job.session}/{REPORT}"):
            return False, ""
        same = note.get("marks") == [source.mark for source in job.sources]
        return same, note.get("digest", "")

    def _keep(self, answer: Answer) -> None:
        """Write what an answer holds; the note last, so that what it says is there."""
        job = self._by_session[answer.session]
        marks = [source.mark for source in job.sources]
        if answer.outcome == "unchanged":  # touched, with the same bytes
            note = _note(self.out, job.session)
            if note is not None:
                self._write_note(job, {**note, "marks": marks})
            return
        if answer.outcome == "failed":
            for name in (RESULT, REPORT, ESTIMATE):
                self.out.remove(f"{job.session}/{name}")
            self.out.write(f"{job.session}/{ERROR}", f"{answer.reason}\n".encode())
        else:
            self.out.remove(f"{job.session}/{ERROR}")
            files = {RESULT: answer.result, REPORT: answer.report, ESTIMATE: answer.estimate}
            for name, data in files.items():
                if data:
                    self.out.write(f"{job.session}/{name}", data)
        note = {
            "schema": SCHEMA,
            "version": VERSION,
            "heft": __version__,
            "asked": asked(job),
            "sources": [source.place for source in job.sources],
            "marks": marks,
            "digest": answer.digest,
            "outcome": answer.outcome,
            "final": bool(answer.digest),
            "reason": answer.reason,
            "triangles": list(self._keep_triangles(job, answer.triangles)),
            "rows": list(answer.rows),
        }
        self._write_note(job, note)

    def _write_note(self, job: Job, note: dict[str, Any]) -> None:
        self.out.write(f"{job.session}/{NOTE}", json.dumps(note, allow_nan=False).encode())

    def _keep_triangles(self, job: Job, triangles: Sequence[bytes]) -> Iterator[str]:
        """Beside each recording, or in the session's folder where that may not be written to."""
        for number, (source, data) in enumerate(zip(job.sources, triangles, strict=bool(triangles))):
            place = write_beside(source, REDUCED, data) if self.beside else None
            if place is None:
                place = self.out.write(f"{job.session}/{number}{REDUCED}", data)
            yield place


def asked(job: Job) -> str:
    """A hash of all that a result depends on beside recordings and version."""
    parts: list[Any] = [
        job.method,
        job.level,
        dict(job.settings),
        job.robot,
        job.arm,
        [one.name for one in job.sources],
    ]
    if loads := [one.load for one in job.sources if one.load]:
        parts.append(loads)
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def group(connect: Connect, jobs: Sequence[Job], by: Grouping) -> list[Job]:
    """Jobs of one recording each, joined by night or by arm; one that cannot be read stays alone, and will say why."""
    if by == "recording":
        return list(jobs)
    with connect() as client:
        looked = client.map(look, [job.sources[0] for job in jobs], pure=False, retries=RETRIES)
        seen = client.gather(looked)
    together: dict[str, list[tuple[float, Job]]] = {}
    for job, (arm, utc_s, reason) in zip(jobs, seen, strict=True):
        name = job.arm or arm or "unknown"
        night = SessionFacts(name, utc_s).night or "unknown"
        folder = _folder(name)
        key = job.session if reason else (folder if by == "arm" else f"{folder}/{night}")
        together.setdefault(key, []).append((utc_s, job))
    joined = []
    for key, parts in together.items():
        parts.sort(key=lambda part: (part[0], part[1].session))
        sources = tuple(source for _, job in parts for source in job.sources)
        joined.append(replace(parts[0][1], session=key, sources=sources))
    return joined


def _folder(name: str) -> str:
    """An arm's name, which a recording may say as it likes, as that of one folder: it leads nowhere else."""
    quoted = quote(name, safe=" ()+,@")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


def _answers(client: Any, jobs: Sequence[Job]) -> Iterator[Answer]:
    """Answers as they come; a job whose workers were killed again and again fails, a lost scheduler ends it all."""
    from distributed import as_completed

    futures = {
        client.submit(identify_job, job, pure=False, retries=RETRIES, priority=-number): job
        for number, job in enumerate(jobs)
    }
    with client.as_current():
        completed = as_completed(list(futures))
    for future in completed:
        job = futures[future]
        if future.status in ("cancelled", "lost"):
            raise BusError(
                "the scheduler is gone: what was finished is kept; start it, and give the same command again"
            )
        if future.status == "error":
            exc = future.exception()
            lost = f"its worker was lost again and again ({type(exc).__name__})"
            yield Answer(
                job.session, "failed", reason=f"{lost}: give workers more memory (--memory), or try again"
            )
        else:
            yield future.result()
        future.release()


def notes_of(out: Results) -> Iterator[dict[str, Any]]:
    """Notes of all sessions of a campaign, in order of their names."""
    for name in out.find(NOTE):
        note = _note(out, name.rpartition("/")[0])
        if note is not None:
            yield note


def _note(out: Results, session: str) -> dict[str, Any] | None:
    """A session's note; None where there is none that can be used."""
    data = out.read(f"{session}/{NOTE}")
    try:
        note = None if data is None else bounded_json(data, most=MOST_NOTE)
    except ValueError:
        return None
    usable = isinstance(note, dict) and note.get("schema") == SCHEMA and note.get("version") == VERSION
    return note if usable else None


def sources_to_jobs(sources: Sequence[Source], **options: Any) -> list[Job]:
    """A job for each recording."""
    return [Job(source.session, (source,), **options) for source in sources]
