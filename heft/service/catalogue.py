"""The catalogue of a data folder: recordings, results, pick-ups and pages of fleets, and what each says of itself.

    DATA/catalogue.sqlite      entries(id, kind, path, size, mtime_ns, at, facts)

It is an index of files and no more: whatever is in it can be read from them again, so one that is lost, damaged or out
of date is made anew from the folder. Paths are relative to the folder, which may be moved.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from threading import Lock
from typing import Any

from heft.daq.bounded_json import bounded_json
from heft.daq.errors import ConfigError
from heft.daq.motion.state import State
from heft.daq.recording import Recording
from heft.drivers.errors import HeftError

__all__ = ["MOST_RESULT", "NAME", "Catalogue", "Entry", "imported_recording", "imports_of"]

_log = logging.getLogger("heft.service")

NAME = "catalogue.sqlite"
VERSION = 2
#: So deep below the folder files are looked for: `<UTC time>-<session>/NAME.mcap`, and one more.
DEPTH = 3
ENDS = tuple(state for state in State if state.final)
MOST_RESULT = 256 * 1024 * 1024
#: Page of a fleet, as `heft fleet report` writes it; its title stands in the first bytes.
FLEET_PAGE, FLEET_TITLE, TITLE_BYTES = "fleet.html", re.compile(r"<title>Fleet: (.*?) – Heft</title>"), 4096
_TABLE = """
CREATE TABLE IF NOT EXISTS entries(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL, at TEXT NOT NULL, facts TEXT NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: `kind` recording, result, pickup or fleet; `at` UTC, ISO 8601; `facts` as plain JSON values."""

    id: int
    kind: str
    path: Path
    at: str
    facts: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"id": self.id, "kind": self.kind, "path": str(self.path), "at": self.at, **self.facts}


class Catalogue:
    """May be used from any thread, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / NAME
        self._lock = Lock()

    def prepare(self) -> None:
        """Make it, or make it anew where it is damaged; ConfigError where the folder cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check()
        except sqlite3.DatabaseError as exc:
            _log.warning("%s: %s; it is made anew from the files", self._path, exc)
            try:
                for path in self.folder.glob(f"{NAME}*"):
                    path.unlink()
                self._check()
            except (OSError, sqlite3.Error) as again:
                raise self._unwritable(again) from again
        except OSError as exc:
            raise self._unwritable(exc) from exc

    def refresh(self, folder: Path | None = None) -> None:
        """Enter what is new or changed in a folder (default: all), and forget what is gone."""
        known = self._known()
        rows = []
        for path in _files(folder or self.folder):  # they are read while nobody waits for the base
            name = path.relative_to(self.folder).as_posix()
            try:
                found = path.stat()
                name.encode()
            except OSError:
                continue
            except UnicodeEncodeError:
                _log.info("%r: not in the catalogue: a name that is no text", name)
                continue
            if known.pop(name, None) == (found.st_size, found.st_mtime_ns):
                continue
            told = _described(path)
            if told is not None:
                kind, at, facts = told
                rows.append((kind, name, found.st_size, found.st_mtime_ns, at, facts))
        with self._open() as base:
            base.executemany(
                "INSERT INTO entries(kind, path, size, mtime_ns, at, facts) VALUES(?, ?, ?, ?, ?, ?) "
                "ON CONFLICT(path) DO UPDATE SET kind=excluded.kind, size=excluded.size, "
                "mtime_ns=excluded.mtime_ns, at=excluded.at, facts=excluded.facts",
                rows,
            )
            for name in known:
                if not (self.folder / name).exists():
                    base.execute("DELETE FROM entries WHERE path = ?", (name,))

    def entries(self, most: int = 1000) -> list[Entry]:
        """The newest first."""
        with self._open() as base:
            rows = base.execute(
                "SELECT id, kind, path, at, facts FROM entries ORDER BY at DESC, id DESC LIMIT ?", (most,)
            ).fetchall()
        return [self._entry(row) for row in rows]

    def entry(self, number: int) -> Entry:
        """The one of that number; ConfigError where there is none."""
        row = None
        if abs(number) < 1 << 63:  # SQLite has no others
            with self._open() as base:
                row = base.execute(
                    "SELECT id, kind, path, at, facts FROM entries WHERE id = ?", (number,)
                ).fetchone()
        if row is None:
            raise ConfigError(f"{number}: the catalogue has no such entry; reload the page")
        return self._entry(row)

    def _entry(self, row: tuple[int, str, str, str, str]) -> Entry:
        return Entry(row[0], row[1], self.folder / row[2], row[3], json.loads(row[4]))

    def _known(self) -> dict[str, tuple[int, int]]:
        with self._open() as base:
            return {
                path: (size, mtime)
                for path, size, mtime in base.execute("SELECT path, size, mtime_ns FROM entries")
            }

    def _check(self) -> None:
        with self._open() as base:
            version = base.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                raise sqlite3.DatabaseError(f"version {version}, this is version {VERSION}")
            (said,) = base.execute("PRAGMA quick_check").fetchone()
            if said != "ok":
                raise sqlite3.DatabaseError(said)
            base.execute(_TABLE)
            base.execute(f"PRAGMA user_version = {VERSION}")

    def _unwritable(self, exc: Exception) -> ConfigError:
        return ConfigError(f"--out {self.folder}: cannot be written: {exc}; choose another folder")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own: committed at the end, rolled back where something fails."""
        with self._lock:
            base = sqlite3.connect(self._path, timeout=10.0)
            try:
                with base:
                    yield base
            finally:
                base.close()


def imports_of(data: Path) -> Path:
    """Where files that were given on the page lie, each beside the recording that was made of it."""
    return data.resolve() / "imported"


def imported_recording(path: Path) -> Path:
    """The recording that is made of such a file; an own recording is one already."""
    return path if path.suffix == ".mcap" else path.with_name(f"{path.name}.mcap")


def _files(folder: Path) -> Iterator[Path]:
    for depth in range(DEPTH):
        for name in ("*.mcap", "result.json", FLEET_PAGE):
            yield from sorted(folder.glob("/".join(["*"] * depth + [name])))


def _described(path: Path) -> tuple[str, str, str] | None:
    """Kind, time and facts (JSON) of a file; None where it is not Heft's."""
    try:
        kind, at, facts = {".json": _result, ".html": _fleet}.get(path.suffix, _recording)(path)
        return kind, at, json.dumps(facts)
    except Exception as exc:  # whatever a stranger has written
        _log.info("%s: not in the catalogue: %s: %s", path, type(exc).__name__, exc)
        return None


def _recording(path: Path) -> tuple[str, str, dict[str, Any]]:
    recording = Recording.open(path)
    states = [event.facts for event in recording.events if event.name == "state"]
    notes = recording.metadata
    lost = sum(int(json.loads(text)["lost"]) for text in notes.get("losses", {}).values())
    facts: dict[str, Any] = {
        "name": path.stem,
        "folder": path.parent.name,
        "seconds": recording.duration_s if recording.streams else 0.0,
        "bytes": path.stat().st_size,
        "state": _ended(recording, states[-1] if states else None),
        "reason": str(states[-1].get("reason", "")) if states else "",
        "lost": lost,
        "complete": recording.complete,
        "streams": sorted(recording.streams),
    }
    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    with suppress(HeftError, ValueError, OverflowError):
        start_ns = recording.span_ns[0] + recording.utc_offset_ns
        if start_ns > 1_500_000_000 * 10**9:  # simulated time begins at no date
            at = datetime.fromtimestamp(start_ns * 1e-9, UTC)
    payload = notes.get("payloads", {}).get("payload")
    if payload is not None:
        return "pickup", _iso(at), facts | {"payload": json.loads(payload)}
    return "recording", _iso(at), facts


def _ended(recording: Recording, last: Mapping[str, Any] | None) -> str:
    """How its session ended; `cut off` where that was not recorded, since the program was killed."""
    state = State.DONE if last is None and recording.complete else last and last.get("state")
    return str(state) if state in ENDS else "cut off"


def _result(path: Path) -> tuple[str, str, dict[str, Any]]:
    told = bounded_json(path.read_bytes(), most=MOST_RESULT)
    verdict = told["verdict"]
    report = path.with_name("report.html")
    facts = {
        "name": path.parent.name,
        "folder": path.parent.name,
        "robot": str(told["robot"].get("name", "")),
        "method": str(told["method"]),
        "level": str(told["level"]),
        "grade": str(verdict["grade"]),
        "headline": str(verdict["headline"]),
        "fit": told["relative_error"]["fit"],
        "validation": told["relative_error"]["validation"],
        "total_mass": told["total_mass"],
        "rank": told["rank"],
        "report": report.exists(),
    }
    return "result", _iso(datetime.fromtimestamp(path.stat().st_mtime, UTC)), facts


def _fleet(path: Path) -> tuple[str, str, dict[str, Any]]:
    with path.open("rb") as file:
        title = FLEET_TITLE.search(file.read(TITLE_BYTES).decode("utf-8", errors="replace"))
    if title is None:
        raise ValueError("no page of `heft fleet report`")
    facts = {"name": path.parent.name, "folder": path.parent.name, "headline": unescape(title[1])}
    return "fleet", _iso(datetime.fromtimestamp(path.stat().st_mtime, UTC)), facts


def _iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
