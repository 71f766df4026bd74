"""heft.Block: bytes and back, exactly; and nothing else gets through."""

from __future__ import annotations

import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.daq.errors import RecordingError
from heft.daq.record import codec
from heft.daq.record.codec import DTYPES, decode, decode_runs, encode
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream

TYPES = [dtype.str for dtype in DTYPES.values()]


def stream_of(k: int, dtype: str) -> Stream:
    return Stream("a.b", tuple(Column(f"c{i}", "position", "rad") for i in range(k)), 1000.0, dtype)


@st.composite
def any_block(draw: st.DrawFn) -> Block:
    n, k = draw(st.integers(0, 20)), draw(st.integers(0, 9))
    stream = stream_of(k, draw(st.sampled_from(TYPES)))
    size = n * k * np.dtype(stream.dtype).itemsize
    times = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n).map(
        lambda t: np.array(t, np.int64)
    )
    validity = st.one_of(st.just(bytes(n * k)), st.binary(min_size=n * k, max_size=n * k))
    return Block(
        stream,
        draw(st.integers(-(2**63), 2**63 - 1)),
        draw(times),
        np.frombuffer(draw(st.binary(min_size=size, max_size=size)), stream.dtype).reshape(n, k),
        np.frombuffer(draw(validity), np.uint8).reshape(n, k),
        draw(st.none() | times),
        draw(st.none() | times),
    )


def same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@given(any_block())
def test_decode_is_the_inverse_of_encode(block: Block) -> None:
    back = decode(encode(block), block.stream)
    assert back.sequence == block.sequence
    for name in ("host_ns", "values", "validity", "request_ns", "ticks"):
        assert same(getattr(back, name), getattr(block, name)), name


def test_a_block_is_encoded_once_for_all_who_take_it() -> None:
    block = Block(stream_of(2, "<i2"), 5, np.arange(3), np.ones((3, 2), "<i2"), np.zeros((3, 2), np.uint8))
    other = Block(stream_of(2, "<i2"), 9, np.arange(3), np.ones((3, 2), "<i2"), np.zeros((3, 2), np.uint8))
    first = encode(block)
    assert encode(block) is first
    assert encode(other) != first == encode(block)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_recording_error(data: bytes) -> None:
    with pytest.raises(RecordingError):
        decode(data, stream_of(3, "<f8"))


@given(any_block(), st.data())
def test_changed_bytes_decode_or_raise_recording_error(block: Block, data: st.DataObject) -> None:
    changed = bytearray(encode(block))
    changed[data.draw(st.integers(0, min(31, len(changed) - 1)))] ^= data.draw(st.integers(1, 255))
    with suppress(RecordingError):
        decode(bytes(changed), block.stream)


def test_layout_is_the_documented_one() -> None:
    stream = stream_of(2, "<i2")
    block = Block(
        stream,
        5,
        np.array([7, 8, 9]),
        np.array([[1, 2], [3, 4], [5, 6]], "<i2"),
        np.array([[0, 0], [0, 1], [0, 0]], np.uint8),
        None,
        np.array([-1, -2, -3]),
    )
    assert encode(block) == (
        struct.pack("<4sHHIIq4sI", b"HEFT", 1, 2 | 4, 3, 2, 5, b"<i2", 0)
        + struct.pack("<3q", 7, 8, 9)
        + struct.pack("<3q", -1, -2, -3)
        + struct.pack("<6h", 1, 2, 3, 4, 5, 6)
        + bytes([0, 0, 0, 1, 0, 0])
    )


def test_validity_costs_nothing_when_all_is_good() -> None:
    stream = stream_of(2, "<f8")
    good = Block(stream, 0, np.arange(4), np.zeros((4, 2)), np.zeros((4, 2), np.uint8))
    assert len(encode(good)) == 32 + 4 * (8 + 2 * 8)


def test_strided_arrays_are_written_in_row_order() -> None:
    stream = stream_of(2, "<f8")
    values = np.arange(8.0).reshape(2, 4).T
    block = Block(stream, 0, np.arange(8)[::2], values, np.zeros((4, 2), np.uint8))
    back = decode(encode(block), stream)
    assert np.array_equal(back.values, values)
    assert np.array_equal(back.host_ns, [0, 2, 4, 6])


def test_a_newer_version_is_named() -> None:
    stream = stream_of(1, "<f8")
    data = bytearray(encode(Block(stream, 0, np.arange(1), np.zeros((1, 1)), np.zeros((1, 1), np.uint8))))
    data[4] = 2
    with pytest.raises(RecordingError, match="version 2, this program reads 1"):
        decode(bytes(data), stream)


@st.composite
def messages_of_one_stream(draw: st.DrawFn) -> list[Block]:
    """Blocks of one stream: some continue the one before, some do not, some have ticks or flaws."""
    stream = stream_of(2, "<i2")
    blocks, sequence = [], 0
    for _ in range(draw(st.integers(0, 12))):
        n = draw(st.sampled_from([0, 1, 3, 3, 3]))
        sequence += draw(st.sampled_from([0, 0, 0, 1]))
        numbers = np.arange(sequence, sequence + n)
        values = np.column_stack((numbers, -numbers)).astype("<i2")
        validity = np.full((n, 2), draw(st.sampled_from([0, 0, 0, 1])), np.uint8)
        ticks = draw(st.sampled_from([None, numbers * 7]))
        blocks.append(Block(stream, sequence, numbers * 10, values, validity, numbers * 10 - 3, ticks))
        sequence += n
    return blocks


@given(messages_of_one_stream(), st.integers(1, 4))
def test_joined_runs_hold_the_same_samples(blocks: list[Block], limit: int) -> None:
    stream = stream_of(2, "<i2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "RUN_LIMIT", limit)
        runs = list(decode_runs(map(encode, blocks), stream))

    def rows(parts: list[Block]) -> list[tuple[object, ...]]:
        return [
            (
                part.sequence + i,
                int(part.host_ns[i]),
                part.values[i].tolist(),
                part.validity[i].tolist(),
                None if part.request_ns is None else int(part.request_ns[i]),
                None if part.ticks is None else int(part.ticks[i]),
            )
            for part in parts
            for i in range(len(part))
        ]

    assert rows(runs) == rows(blocks)


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=3))
def test_runs_of_arbitrary_bytes_raise_recording_error(data: list[bytes]) -> None:
    with pytest.raises(RecordingError):
        list(decode_runs(data, stream_of(3, "<f8")))
