"""The catalogue as a page sees it: entries by number, their files, and what they hold. No path comes from outside."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from heft.daq.bounded_json import bounded_json
from heft.daq.errors import ConfigError
from heft.daq.recording import Recording
from heft.service.catalogue import MOST_RESULT, Catalogue, Entry
from heft.service.web.ring import envelope

__all__ = ["Library", "command_json", "file_name"]

MOST_BINS = 4000
_NAME = re.compile(r"[A-Za-z0-9][\w .()+-]{0,120}")
_COMMAND_S = 120.0


def file_name(text: str) -> str:
    """A name for a file in the data folder; ConfigError for whatever could lead elsewhere."""
    if not _NAME.fullmatch(text) or ".." in text:
        raise ConfigError(
            f"{text[:100]!r}: not a file name; letters, digits, spaces and . _ - ( ) + only, without a folder"
        )
    return text


class Library:
    """Reads; what is written is the owner's business."""

    def __init__(self, folder: Path) -> None:
        self.catalogue = Catalogue(folder)

    def entries(self) -> list[dict[str, Any]]:
        """The newest first."""
        return [entry.to_dict() for entry in self.catalogue.entries()]

    def entry(self, number: int, *kinds: str) -> Entry:
        """The one of this number; ConfigError where it is of another kind, or its file has gone."""
        entry = self.catalogue.entry(number)
        if kinds and entry.kind not in kinds:
            raise ConfigError(f"{number}: a {entry.kind}; wanted a {' or '.join(kinds)}")
        if not entry.path.is_file():
            raise ConfigError(f"{entry.path}: has gone; reload the page")
        return entry

    def report(self, number: int) -> Path:
        """The report of a result, or the page of a fleet."""
        entry = self.entry(number, "result", "fleet")
        path = entry.path if entry.kind == "fleet" else entry.path.with_name("report.html")
        if not path.is_file():
            raise ConfigError(f"{path}: there is no report; `heft identify` writes one")
        return path

    def links(self, number: int) -> list[dict[str, Any]]:
        """Of a result, the links' masses [kg] and centres of mass [m] with their 95 % intervals."""
        path = self.entry(number, "result").path
        try:
            intervals = bounded_json(path.read_bytes(), most=MOST_RESULT)["intervals"]
            names = [name.removesuffix(".mass") for name in intervals if name.endswith(".mass")]
            return [
                {"name": name, "mass": intervals[f"{name}.mass"]}
                | {
                    "com": [
                        intervals[f"{name}.com.{axis}"] for axis in "xyz" if f"{name}.com.{axis}" in intervals
                    ]
                }
                for name in names
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise ConfigError(f"{path}: not a whole result: {exc}; identify anew") from exc

    def outline(self, number: int) -> dict[str, Any]:
        """A recording's streams, segments and span, for a time line."""
        recording = Recording.open(self.entry(number, "recording", "pickup").path)
        begin_ns, end_ns = recording.span_ns
        return {
            "seconds": (end_ns - begin_ns) * 1e-9,
            "streams": {
                name: {
                    "rate_hz": s.rate_hz,
                    "role": str(s.role),
                    "columns": [{"name": c.name, "quantity": c.quantity, "unit": c.unit} for c in s.columns],
                }
                for name, s in recording.streams.items()
            },
            "segments": [
                {
                    "name": one.name,
                    "use": one.use,
                    "begin": (one.start_ns - begin_ns) * 1e-9,
                    "end": (one.end_ns - begin_ns) * 1e-9,
                }
                for one in recording.segments
            ],
        }

    def samples(
        self, number: int, stream: str, columns: list[str], begin_s: float, end_s: float, bins: int
    ) -> dict[str, Any]:
        """Minima and maxima of a recording's columns between two times from its beginning [s]."""
        if not 0 < bins <= MOST_BINS or not begin_s < end_s:
            raise ConfigError(
                f"{bins} intervals from {begin_s:g} s to {end_s:g} s: at most {MOST_BINS}, forward"
            )
        recording = Recording.open(self.entry(number, "recording", "pickup").path)
        if stream not in recording.streams:
            raise ConfigError(f"{stream[:100]!r}: the recording has {', '.join(recording.streams)}")
        origin_ns = recording.span_ns[0]
        names = [c.name for c in recording.streams[stream].columns]
        unknown = [name for name in columns if name not in names]
        if unknown:
            raise ConfigError(f"{unknown[0][:100]!r}: {stream} has {', '.join(names)}")
        found = recording.columns(stream, origin_ns + int(begin_s * 1e9), origin_ns + int(end_s * 1e9))
        values = np.column_stack([found[name] for name in columns]) if columns else np.zeros((0, 0))
        bin_ns = max(int((end_s - begin_s) * 1e9 / bins), 1)
        middle, low, high = envelope(found.host_ns, values, bin_ns)
        return {
            "columns": columns,
            "t": ((middle - origin_ns) * 1e-9).tolist(),
            "low": [_plain(column) for column in low.T],
            "high": [_plain(column) for column in high.T],
        }


def _plain(values: Any) -> list[float | None]:
    return [None if v != v else float(v) for v in values.tolist()]


async def command_json(*words: str) -> dict[str, Any]:
    """What a command of Heft prints as JSON, from a process of its own; ConfigError where it says why not."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # whatever lies in the current folder
        "-m",
        "heft",
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_COMMAND_S):
            out, err = await process.communicate()
    except TimeoutError:
        raise ConfigError(
            f"heft {words[0]}: no answer within {_COMMAND_S:g} s; try it at a terminal"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = out.decode(errors="replace").strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise ConfigError(err.decode(errors="replace").strip()[-500:] or f"exit code {process.returncode}")
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer
