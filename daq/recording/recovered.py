"""A recording that was cut off, written once more as a whole file."""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Iterator
from pathlib import Path

from heft.daq.errors import RecordError
from heft.daq.record import layout
from heft.daq.record.writer import Writer
from heft.daq.recording.recording import Recording
from heft.drivers.block import Block

__all__ = ["recover"]

NOTE = "heft.recovered"


def recover(partial: Path) -> Path:
    """Write NAME.mcap from NAME.mcap.partial, which is removed when that is on the disk; the path of the whole file.

    All that can be read goes over: streams, samples, events, notes, attached files. RecordError where there is a whole
    file already, RecordingError where nothing can be read.
    """
    whole = partial.with_name(partial.name.removesuffix(".partial"))
    if whole == partial or whole.exists():
        raise RecordError(f"{whole} exists; move it away")
    recording = Recording.open(partial)
    draft = whole.with_name(f".{whole.name}.recovering")
    try:
        with open(draft, "wb", buffering=0) as raw:
            _write(recording, Writer(raw, recording.utc_offset_ns))
            os.fsync(raw.fileno())
        os.rename(draft, whole)
    except OSError as exc:
        raise RecordError(f"{draft}: cannot be written: {exc.strerror or exc}; free some space") from exc
    finally:
        draft.unlink(missing_ok=True)
    partial.unlink()
    return whole


def _write(recording: Recording, writer: Writer) -> None:
    first_ns, _ = recording.span_ns
    for name in recording.attachments:
        writer.attach(name, "application/octet-stream", first_ns, recording.attachment(name))
    for name, entries in recording.metadata.items():
        if name not in (layout.FILE_NOTE, layout.EXTENTS_NOTE):
            writer.note(name, entries)
    writer.note(NOTE, {"from": recording.path.name, "recovery": str(recording.recovery)})
    for stream in recording.streams.values():
        writer.describe(stream)
    for event in recording.events:
        writer.event(event.t_ns, json.dumps({"t_ns": event.t_ns, "name": event.name, **event.facts}))
    for block in _in_order(recording):
        writer.block(block)
    writer.finish()


def _in_order(recording: Recording) -> Iterator[Block]:
    """Blocks of all streams by their arrival."""

    def keyed(number: int, name: str) -> Iterator[tuple[int, int, int, Block]]:
        for count, block in enumerate(recording.blocks(name)):
            if len(block):
                yield int(block.host_ns[0]), number, count, block

    streams = [keyed(number, name) for number, name in enumerate(recording.streams)]
    return (block for *_, block in heapq.merge(*streams, key=lambda item: item[:3]))
