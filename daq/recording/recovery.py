"""What could be read of a recording, and what could not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DamagedChunk", "Recovery"]


@dataclass(frozen=True, slots=True)
class DamagedChunk:
    """A chunk that is not what was written: skipped, never returned as data.

    `offset` is its first byte in the file, `start_ns` and `end_ns` the host times it covered [ns] if known,
    `streams` those that lost samples (empty also if that is not known).
    """

    offset: int
    reason: str
    start_ns: int | None = None
    end_ns: int | None = None
    streams: tuple[str, ...] = ()

    def __str__(self) -> str:
        when = ""
        if self.start_ns is not None and self.end_ns is not None:
            when = f", {self.start_ns * 1e-9:.3f} to {self.end_ns * 1e-9:.3f} s"
        which = f", {', '.join(self.streams)}" if self.streams else ""
        return f"chunk at byte {self.offset}{when}{which}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Recovery:
    """The state of a file.

    `complete`: the recorder finished it. `chunks` are whole, `samples` per stream are in them. `damaged`
    chunks were skipped. `lost_bytes` at the end or between records could not be read at all. `notes` say what
    else is wrong: the index, a note, an attached file.
    """

    complete: bool
    chunks: int
    samples: Mapping[str, int]
    damaged: tuple[DamagedChunk, ...] = ()
    lost_bytes: int = 0
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Nothing is missing and nothing is wrong."""
        return self.complete and not self.damaged and not self.lost_bytes and not self.notes

    def __str__(self) -> str:
        if self.ok:
            return f"whole: {self.chunks} chunks"
        samples = ", ".join(f"{name} {count}" for name, count in self.samples.items())
        lines = [f"recovered {self.chunks} chunks; samples: {samples or 'none'}"]
        if not self.complete:
            lines.append("the file was not finished by its recorder")
        lines += [f"skipped {chunk}" for chunk in self.damaged]
        return "\n".join([*lines, *self.notes])
