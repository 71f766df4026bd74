"""The names inside a recording: topics, schemas, encodings. `docs/file-format.md` says what they mean."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping

__all__ = [
    "BLOCK_ENCODING",
    "BLOCK_PREFIX",
    "BLOCK_SCHEMA",
    "BLOCK_SCHEMA_ENCODING",
    "BLOCK_SCHEMA_TEXT",
    "CHECKSUM_KEY",
    "EVENT_SCHEMA",
    "EVENT_SCHEMA_TEXT",
    "EVENT_TOPIC",
    "EXTENTS_NOTE",
    "FILE_NOTE",
    "LOG_OFFSET_KEY",
    "SEGMENT_END",
    "SEGMENT_START",
    "STREAM_KEY",
    "UTC_OFFSET_KEY",
    "block_topic",
    "checksum",
    "standard_topic",
]

BLOCK_PREFIX = "/heft/blocks/"
EVENT_TOPIC = "/heft/events"

BLOCK_SCHEMA = "heft.Block"
BLOCK_SCHEMA_ENCODING = "x-heft-text"
BLOCK_ENCODING = "x-heft-block"
BLOCK_SCHEMA_TEXT = """\
heft.Block, version 1, little-endian. N consecutive samples of one stream with k columns.
header, 32 bytes: char[4] "HEFT"; u16 version; u16 flags; u32 N; u32 k; i64 sequence; char[4] dtype; u32 zero
then, without padding:
  host_ns     i64[N]       receive time, host clock [ns]
  request_ns  i64[N]       only with flag 1: when the request left, host clock [ns]
  ticks       i64[N]       only with flag 2: raw device counter
  values      dtype[N, k]  the device's own numbers, one row per sample
  validity    u8[N, k]     only with flag 4 (else all 0):
                           0 ok, 1 saturated, 2 stale, 3 fault, 4 corrupt, 5 duplicate
dtype is a numpy type string padded with zero bytes. The channel's metadata `stream` is a JSON object with
name, rate_hz, columns (of, quantity, unit, scale, offset); SI value = scale * value + offset.
"""

EVENT_SCHEMA = "heft.Event"
EVENT_SCHEMA_TEXT = json.dumps(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": EVENT_SCHEMA,
        "type": "object",
        "properties": {
            "t_ns": {"type": "integer", "description": "host clock [ns]"},
            "name": {"type": "string"},
        },
        "required": ["t_ns", "name"],
        "additionalProperties": True,
    }
)

#: Events that mark a segment; both carry `segment` (its name) and `use`.
SEGMENT_START = "segment_start"
SEGMENT_END = "segment_end"

#: Key of a Block channel's metadata that holds the stream's description.
STREAM_KEY = "stream"

#: Metadata record that every recording begins with: software version and offset to UTC.
FILE_NOTE = "heft"
UTC_OFFSET_KEY = "utc_offset_ns"
#: Key of the metadata of Heft's channels: log times are host times plus this [ns]; without it they are host times.
LOG_OFFSET_KEY = "log_time_minus_host_time_ns"
#: Metadata record that a whole recording ends with: per stream, how much of it there is.
EXTENTS_NOTE = "heft.streams"
#: MCAP has no checksum for metadata records; this key holds one.
CHECKSUM_KEY = "crc32"


def block_topic(stream: str) -> str:
    """Topic of a stream's Blocks: the truth."""
    return BLOCK_PREFIX + stream


def standard_topic(stream: str) -> str:
    """Topic of a stream's JointState or WrenchStamped messages: for viewers."""
    return "/" + stream.replace(".", "/")


def checksum(name: str, entries: Mapping[str, str]) -> str:
    """CRC-32 in hexadecimal over a metadata record's name and its entries, except the checksum itself."""
    items = sorted((key, value) for key, value in entries.items() if key != CHECKSUM_KEY)
    return f"{zlib.crc32(json.dumps([name, items]).encode()):08x}"
