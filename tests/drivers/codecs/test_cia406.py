"""Encoders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import cia406
from heft.drivers.errors import ProtocolError


def test_position_pdo():
    assert cia406.POSITION.words == (0x60040020,)
    assert cia406.Position.decode(bytes.fromhex("01020304")).counts == 0x04030201


@given(counts=st.integers(0, 2**32 - 1))
def test_round_trip(counts):
    assert cia406.Position.decode(cia406.Position(counts).encode()).counts == counts


@given(data=st.binary(max_size=8))
def test_only_protocol_errors(data):
    if len(data) == 4:
        assert cia406.Position.decode(data).encode() == data
    else:
        with pytest.raises(ProtocolError):
            cia406.Position.decode(data)


def test_words():
    assert cia406.Operating(0b101) == cia406.Operating.COUNTER_CLOCKWISE | cia406.Operating.SCALING
