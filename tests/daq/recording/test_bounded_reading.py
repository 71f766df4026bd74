"""What a file says of its own sizes and places is not believed before it is checked."""

from __future__ import annotations

import random
import struct
import tracemalloc
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import lz4.frame
import pytest
import zstandard
from mcap.opcode import Opcode

from heft.daq.errors import RecordingError
from heft.daq.record.file import MAGIC
from heft.daq.recording import Recording
from heft.daq.recording.chunks import CHUNK, DamageError, entry_at, unpack

FOOTER = struct.Struct("<BQQQI")


def chunk(packed: bytes, compression: str, stated: int) -> BytesIO:
    """A file that is one chunk, whose header states a size."""
    name = compression.encode()
    length = CHUNK.size - 9 + len(name) + 8 + len(packed)
    head = CHUNK.pack(Opcode.CHUNK, length, 0, 0, stated, 0, len(name))
    return BytesIO(head + name + struct.pack("<Q", len(packed)) + packed)


def bomb(compression: str, size: int) -> bytes:
    if compression == "lz4":
        return bytes(lz4.frame.compress(bytes(size), store_size=True))
    return zstandard.ZstdCompressor().compress(bytes(size))


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("stated", [1000, 200_000_000, 2**62])
def test_a_small_chunk_does_not_unpack_to_much(compression: str, stated: int) -> None:
    """The frame states 200 MB of its own; whatever the chunk says, little memory is asked for."""
    file = chunk(bomb(compression, 200_000_000), compression, stated)
    entry = entry_at(file, 0)
    assert entry is not None
    tracemalloc.start()
    try:
        with pytest.raises(DamageError):
            unpack(file, entry)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_zstd_frame_of_unknown_size_is_bounded_by_the_chunk() -> None:
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    packed = packer.compress(bytes(200_000_000)) + packer.flush()
    file = chunk(packed, "zstd", 1000)
    entry = entry_at(file, 0)
    assert entry is not None
    with pytest.raises(DamageError, match="does not unpack"):
        unpack(file, entry)


@pytest.mark.parametrize("seed", range(4))
def test_an_index_that_was_altered_and_signed_again(seed: int, sample: Any, tmp_path: Path) -> None:
    """Its numbers changed, its CRC repaired: readable all the same, or a RecordingError; never anything else."""
    rng = random.Random(seed)
    original = sample.path.read_bytes()
    tail = len(original) - FOOTER.size - len(MAGIC)
    start = FOOTER.unpack_from(original, tail)[2]
    for _ in range(60):
        data = bytearray(original)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(start, tail - 8)
            value = rng.choice((0, 1, 255, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1, rng.getrandbits(64)))
            width = rng.choice((1, 2, 4, 8))
            data[at : at + width] = (value % 256**width).to_bytes(width, "little")
        crc = zlib.crc32(bytes(data[start : tail + FOOTER.size - 4]))
        data[tail + FOOTER.size - 4 : tail + FOOTER.size] = crc.to_bytes(4, "little")
        path = tmp_path / "altered.mcap"
        path.write_bytes(data)
        try:
            recording = Recording.open(path)
            assert str(recording.recovery)
            for name in recording.streams:
                recording.columns(name)
            for name in recording.attachments:
                recording.attachment(name)
            assert recording.segments is not None
            assert recording.digest
        except RecordingError:
            continue
