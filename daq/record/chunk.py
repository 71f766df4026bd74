"""An MCAP chunk being filled: whole arrays of messages at a time, with the index of each channel."""

from __future__ import annotations

import struct

import numpy as np
from mcap.opcode import Opcode
from numpy.typing import NDArray

__all__ = ["Chunk"]

_MESSAGE = struct.Struct("<BQHIQQ")  # opcode, length, channel, sequence, log time, publish time
_MESSAGE_BODY = _MESSAGE.size - 9  # of which this much counts in the record's length
_ENTRY = struct.Struct("<QQ")  # of an index: log time, offset in the chunk
_INDEX = struct.Struct("<BQHI")  # opcode, length, channel, bytes of entries
_ROW_HEADER = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("sequence", "<u4"),
        ("log_ns", "<u8"),
        ("publish_ns", "<u8"),
    ]
)


class Chunk:
    """Messages of several channels. Begins with `preamble`: the schemas and channels, as records.

    Each chunk carries the definitions of all its channels, so that it can be read without any other.
    """

    def __init__(self, preamble: bytes = b"") -> None:
        self.size = len(preamble)  # bytes so far
        self.start_ns = 0  # of the messages' log times
        self.end_ns = 0
        self.messages: dict[int, int] = {}  # per channel
        self._parts: list[bytes | memoryview] = [preamble]
        self._entries: dict[int, list[bytes]] = {}  # of the index, per channel

    def __bool__(self) -> bool:
        return bool(self.messages)

    def define(self, record: bytes) -> None:
        """Add a schema or channel that has come up since the chunk was begun."""
        self._append(record)

    def add(self, channel: int, sequence: int, log_ns: int, publish_ns: int, data: bytes) -> None:
        """Add one message."""
        at = self.size
        head = _MESSAGE.pack(
            Opcode.MESSAGE, _MESSAGE_BODY + len(data), channel, sequence & 0xFFFFFFFF, log_ns, publish_ns
        )
        self._append(head)
        self._append(data)
        self._note(channel, 1, _ENTRY.pack(log_ns, at), log_ns, log_ns)

    def add_rows(
        self,
        channel: int,
        sequence: NDArray[np.int64],
        log_ns: NDArray[np.int64],
        rows: NDArray[np.uint8],
        publish_ns: NDArray[np.int64] | None = None,
    ) -> None:
        """Add N messages of one length: numbers, log and publish times (N,), `rows` (N, length)."""
        n, length = rows.shape
        records = np.empty((n, _MESSAGE.size + length), np.uint8)
        head = np.empty(n, _ROW_HEADER)
        head["opcode"] = Opcode.MESSAGE
        head["length"] = _MESSAGE_BODY + length
        head["channel"] = channel
        head["sequence"] = sequence & 0xFFFFFFFF
        head["log_ns"] = log_ns
        head["publish_ns"] = log_ns if publish_ns is None else publish_ns
        records[:, : _MESSAGE.size] = head.view(np.uint8).reshape(n, _MESSAGE.size)
        records[:, _MESSAGE.size :] = rows
        entries = np.empty((n, 2), "<u8")
        entries[:, 0] = log_ns
        entries[:, 1] = self.size + np.arange(n, dtype=np.uint64) * np.uint64(records.shape[1])
        self._append(records.data.cast("B"))
        self._note(channel, n, entries.tobytes(), int(log_ns.min()), int(log_ns.max()))

    @property
    def data(self) -> bytes:
        """The records, uncompressed."""
        return b"".join(self._parts)

    def index(self, channel: int) -> bytes:
        """The channel's MessageIndex record."""
        entries = b"".join(self._entries[channel])
        return _INDEX.pack(Opcode.MESSAGE_INDEX, 6 + len(entries), channel, len(entries)) + entries

    def _append(self, record: bytes | memoryview) -> None:
        self._parts.append(record)
        self.size += len(record)

    def _note(self, channel: int, count: int, entries: bytes, start_ns: int, end_ns: int) -> None:
        self.start_ns = min(self.start_ns, start_ns) if self else start_ns
        self.end_ns = max(self.end_ns, end_ns) if self else end_ns
        self.messages[channel] = self.messages.get(channel, 0) + count
        self._entries.setdefault(channel, []).append(entries)
