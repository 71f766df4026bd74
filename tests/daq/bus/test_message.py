"""The bytes of telemetry: round trips, and nothing but BusError for anything else."""

from __future__ import annotations

import contextlib
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from heft.daq.bus.message import Descriptions, Header, decode, encode_block, encode_json
from heft.daq.errors import BusError
from heft.daq.record import codec
from heft.drivers import Block, Column, Role, Stream

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
COLUMNS = st.builds(Column, NAMES, NAMES, NAMES, scale=FINITE, offset=FINITE, raw_unit=NAMES)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    dtype = draw(st.sampled_from(["<f8", "<f4", "<i4", "<i2", "|u1"]))
    stream = Stream(
        "arm." + draw(NAMES),
        tuple(draw(st.lists(COLUMNS, min_size=1, max_size=4))),
        rate_hz=draw(FINITE),
        dtype=dtype,
        role=draw(st.sampled_from(Role)),
        tick_hz=draw(st.none() | FINITE),
        frame=draw(st.none() | NAMES),
    )
    n, k = draw(st.integers(0, 5)), stream.width
    times = hnp.arrays(np.int64, n)
    return Block(
        stream,
        draw(st.integers(0, 2**62)),
        draw(times),
        draw(hnp.arrays(dtype, (n, k))),
        draw(hnp.arrays(np.uint8, (n, k), elements=st.integers(0, 5))),
        draw(st.none() | times),
        draw(st.none() | times),
    )


@given(blocks(), NAMES, st.integers(0, 2**64 - 1), st.booleans())
def test_a_block_comes_back_as_it_was(block: Block, session: str, sequence: int, replay: bool) -> None:
    header = Header(session, sequence, replay, is_block=True)
    parts = encode_block(block.stream, codec.encode(block), header.encode(), b"block/x", Descriptions())
    message = decode(parts, Descriptions())
    assert (message.topic, message.session, message.sequence) == ("block/x", session, sequence)
    assert message.replay is replay
    assert message.json is None
    again = message.block
    assert again is not None
    assert again.stream == block.stream
    assert again.sequence == block.sequence
    for name in ("host_ns", "values", "validity", "request_ns", "ticks"):
        ours, theirs = getattr(block, name), getattr(again, name)
        if ours is None:
            assert theirs is None
        else:
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes()
            assert not theirs.flags.writeable


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 10**20, 10**20 - 1) | FINITE | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_json_comes_back_as_it_was(value: object) -> None:
    parts = encode_json(value, Header("s", 0, False, False).encode(), b"state")
    message = decode(parts, Descriptions())
    assert message.json == value
    assert message.block is None


def test_what_json_cannot_say_becomes_null_and_numpy_becomes_plain() -> None:
    value = {
        "a": float("nan"),
        "b": [np.float64(np.inf), np.int32(3)],
        "c": np.array([1.0, np.nan]),
        "d": (1.5,),
    }
    parts = encode_json(value, Header("s", 0, False, False).encode(), b"state")
    assert json.loads(parts[-1]) == {"a": None, "b": [None, 3], "c": [1.0, None], "d": [1.5]}
    fine = encode_json({"n": np.int64(7)}, b"", b"state")
    assert json.loads(fine[-1]) == {"n": 7}
    with pytest.raises(TypeError, match="object cannot be published as JSON; convert it first"):
        encode_json({"o": object()}, b"", b"state")


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_arbitrary_parts_raise_only_bus_errors(parts: list[bytes]) -> None:
    with pytest.raises(BusError):
        decode(parts, Descriptions())


@given(blocks(), st.data())
def test_damaged_parts_raise_only_bus_errors(block: Block, data: st.DataObject) -> None:
    parts = list(
        encode_block(
            block.stream,
            codec.encode(block),
            Header("s", 1, False, True).encode(),
            b"block/x",
            Descriptions(),
        )
    )
    which = data.draw(st.integers(0, 3))
    damaged = bytearray(parts[which])
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    parts[which] = bytes(damaged)
    with contextlib.suppress(BusError):  # some damage cannot be seen, such as another value
        decode(parts, Descriptions())


def test_a_description_is_small_and_a_changed_one_is_seen(stream: Stream) -> None:
    packer, unpacker = Descriptions(), Descriptions()
    packed = packer.pack(stream)
    assert packer.pack(Stream.from_dict(stream.to_dict())) is packed  # an equal stream is packed once
    assert len(packed) < 400
    assert unpacker.unpack("t", packed) is unpacker.unpack("t", bytes(packed))
    changed = Stream(stream.name, stream.columns[:3], stream.rate_hz)
    assert unpacker.unpack("t", packer.pack(changed)) == changed
    with pytest.raises(BusError, match="the stream's description cannot be read"):
        unpacker.unpack("t", zlib.compress(b'{"name": 1}'))


def test_another_program_is_named_as_a_possible_cause() -> None:
    with pytest.raises(BusError, match="is it another program's endpoint, or another version of Heft"):
        Header.decode(b"HB\x07\0" + bytes(8))
