"""Setpoints through their bytes and back."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from heft.daq.bus import setpoint_codec
from heft.drivers import Setpoints
from heft.drivers.errors import ProtocolError


@st.composite
def chunks(draw: st.DrawFn) -> Setpoints:
    n, axes = draw(st.integers(0, 6)), draw(st.integers(0, 8))
    start = draw(st.integers(0, 2**62))
    steps = np.array(draw(st.lists(st.integers(1, 10**9), min_size=n, max_size=n)), np.int64)
    arrays = hnp.arrays(np.float64, (n, axes))
    return Setpoints(
        draw(st.integers(0, 2**62)),
        start + np.cumsum(steps, dtype=np.int64),
        draw(arrays),
        np.asfortranarray(draw(arrays)),  # any layout in memory
        draw(arrays),
        draw(st.booleans()),
    )


@given(chunks())
def test_round_trip(chunk: Setpoints) -> None:
    payload, buffers = setpoint_codec.encode(chunk)
    again = setpoint_codec.decode(json.loads(json.dumps(payload)), [bytes(buffer) for buffer in buffers])
    assert (again.sequence, again.last) == (chunk.sequence, chunk.last)
    for name in ("host_ns", "position", "velocity", "acceleration"):
        ours, theirs = getattr(chunk, name), getattr(again, name)
        assert ours.shape == theirs.shape
        assert ours.tobytes() == theirs.tobytes()
        assert not theirs.flags.writeable


VALUES = st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=2)


@given(
    st.dictionaries(st.sampled_from(["sequence", "count", "axes", "last"]), VALUES),
    st.lists(st.binary(max_size=16), max_size=5),
)
def test_anything_else_raises_only_protocol_errors(payload: dict[str, object], buffers: list[bytes]) -> None:
    with contextlib.suppress(ProtocolError):
        setpoint_codec.decode(payload, buffers)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"count": 3}, "host_ns has 16 bytes, .* 24"),
        ({"axes": 2}, "position has 16 bytes, .* 32"),
        ({"sequence": -1}, "sequence is -1, expected an integer from 0 on"),
        ({"last": 1}, "last is 1, expected true or false"),
    ],
)
def test_messages(change: dict[str, object], says: str) -> None:
    one = np.ones((2, 1))
    payload, buffers = setpoint_codec.encode(Setpoints(0, np.array([1, 2]), one, one, one))
    with pytest.raises(ProtocolError, match=says):
        setpoint_codec.decode({**payload, **change}, [bytes(buffer) for buffer in buffers])
    swapped = np.array([2, 1], "<i8").tobytes()
    with pytest.raises(ProtocolError, match="strictly increasing"):
        setpoint_codec.decode(payload, [swapped, *(bytes(buffer) for buffer in buffers[1:])])
    with pytest.raises(ProtocolError, match="3 buffers, expected 4"):
        setpoint_codec.decode(payload, [bytes(buffer) for buffer in buffers[1:]])
