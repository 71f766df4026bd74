"""All that a recording holds, in the order of time: Blocks of every stream, and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge
from operator import itemgetter
from typing import NamedTuple

from daq.archive.shelf import Shelf
from daq.recording import Recording
from daq.recording.chunks import ChunkEntry, Encoded
from drivers.stream import Stream

__all__ = ["Item", "Timeline"]


class Item(NamedTuple):
    """A Block of a stream, or an event where that is None: its log time, host clock [ns], number and bytes."""

    log_ns: int
    stream: Stream | None
    number: int
    data: bytes


@dataclass(slots=True)
class _Track:
    """One stream: its chunks, and how many Blocks are in each that has been read."""

    entries: tuple[ChunkEntry, ...]
    counts: list[int] = field(default_factory=list)


class Timeline:
    """Reads a recording chunk by chunk, and puts each on a shelf the first time, so that its Blocks have numbers."""

    def __init__(self, recording: Recording, shelf: Shelf) -> None:
        self._recording = recording
        self._shelf = shelf
        self._tracks = {name: _Track(recording.chunks(name)) for name in recording.streams}
        self._events = _as_published(list(recording.event_texts))
        times = [*recording.span_ns, *(event.log_ns for event in self._events)]
        self.start_ns, self.end_ns = min(times), max(times)

    def items(self, start_ns: int) -> Iterator[Item]:
        """From a host time on [ns]; what lies before is only counted."""
        tracks = [self._blocks(stream, start_ns) for stream in self._recording.streams.values()]
        return merge(*tracks, self._happened(start_ns), key=itemgetter(0))

    def told(self, start_ns: int) -> Iterator[bytes]:
        """Events before a host time [ns]: what is the case when playing begins there."""
        return (data for log_ns, data in self._events if log_ns < start_ns)

    def _blocks(self, stream: Stream, start_ns: int) -> Iterator[Item]:
        name, track, number = stream.name, self._tracks[stream.name], 0
        channel = self._recording.channel(name)
        for place, entry in enumerate(track.entries):
            if place < len(track.counts) and entry.end_ns < start_ns:
                number += track.counts[place]
                continue
            found = self._recording.encoded(name, entry)
            if place == len(track.counts):
                track.counts.append(len(found))
                if found:
                    self._shelf.put(name, entry, channel, len(found))
            for log_ns, data in found:
                if log_ns >= start_ns:
                    yield Item(log_ns, stream, number, data)
                number += 1

    def _happened(self, start_ns: int) -> Iterator[Item]:
        for number, (log_ns, data) in enumerate(self._events):
            if log_ns >= start_ns:
                yield Item(log_ns, None, number, data)


def _as_published(events: list[Encoded]) -> list[Encoded]:
    """Events at the times when they were told: none after one that follows it, though it may be about later."""
    told: list[Encoded] = []
    for event in reversed(events):
        log_ns = min(event.log_ns, told[-1].log_ns) if told else event.log_ns
        told.append(Encoded(log_ns, event.data))
    return told[::-1]
