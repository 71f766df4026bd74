"""All that a recording holds, in the order of time: Blocks of every stream, and events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from heapq import merge
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from heft.daq.recording import Recording
from heft.daq.recording.chunks import Encoded
from heft.drivers.stream import Stream

__all__ = ["Item", "Timeline"]


class Item(NamedTuple):
    """A Block of a stream, or an event where that is None: its log time, host clock [ns], and its bytes."""

    log_ns: int
    stream: Stream | None
    data: bytes


class Timeline:
    """Reads a recording chunk by chunk."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._events = _as_published(list(recording.event_texts))
        times = [*recording.span_ns, *(event.log_ns for event in self._events)]
        self.start_ns, self.end_ns = min(times), max(times)
        chunks = sorted((e.end_ns, e.offset) for name in recording.streams for e in recording.chunks(name))
        self._chunk_ends = [end_ns for end_ns, _ in chunks]
        size = recording.path.stat().st_size
        # Where the first chunk in the file is that ends as late as the n-th one by time, or later.
        self._offsets = [*accumulate((at for _, at in reversed(chunks)), min, initial=size)][::-1]

    def bytes_until(self, log_ns: int) -> int:
        """Bytes of the file before the first chunk with a Block that is logged after a host time [ns]."""
        return self._offsets[bisect_right(self._chunk_ends, log_ns)]

    def items(self, start_ns: int) -> Iterator[Item]:
        """From a host time on [ns]."""
        tracks = [self._blocks(stream, start_ns) for stream in self._recording.streams.values()]
        events = (Item(log_ns, None, data) for log_ns, data in self._events if log_ns >= start_ns)
        return merge(*tracks, events, key=itemgetter(0))

    def events_before(self, start_ns: int) -> Iterator[bytes]:
        """Events before a host time [ns]: what is the case when playing begins there."""
        return (data for log_ns, data in self._events if log_ns < start_ns)

    def _blocks(self, stream: Stream, start_ns: int) -> Iterator[Item]:
        for entry in self._recording.chunks(stream.name):
            if entry.end_ns >= start_ns:
                for log_ns, data in self._recording.encoded(stream.name, entry):
                    if log_ns >= start_ns:
                        yield Item(log_ns, stream, data)


def _as_published(events: list[Encoded]) -> list[Encoded]:
    """Events at the times when they were published: none after one that follows it, though it may be about later."""
    published: list[Encoded] = []
    for event in reversed(events):
        log_ns = min(event.log_ns, published[-1].log_ns) if published else event.log_ns
        published.append(Encoded(log_ns, event.data))
    return published[::-1]
