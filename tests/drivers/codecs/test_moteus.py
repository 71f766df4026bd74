"""moteus replies: the example of its documentation, and refusal of everything else."""

import contextlib
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.codecs.moteus import Mode, Register, Reply
from drivers.errors import ProtocolError


def test_example_of_the_documentation():
    reply = Reply.decode(bytes.fromhex("2404000a005000000170ff230d181400"))
    assert reply.values[Register.MODE] == Mode.POSITION
    assert reply.values[Register.POSITION] == pytest.approx(0.008)
    assert reply.values[Register.VELOCITY] == pytest.approx(0.064)
    assert reply.values[Register.TORQUE] == pytest.approx(-1.44)
    assert reply.values[Register.VOLTAGE] == 12.0
    assert reply.values[Register.TEMPERATURE] == 20.0
    assert reply.values[Register.FAULT] == 0
    assert reply.errors == {}


def test_floats_padding_and_errors():
    data = (
        b"\x2d\x04"
        + struct.pack("<f", 2.5)
        + b"\x29\x01"
        + struct.pack("<i", -150_000)
        + b"\x31\x81\x01\x04\x50\x50"
    )
    reply = Reply.decode(data)
    assert reply.values == pytest.approx({Register.Q_CURRENT: 2.5, Register.POSITION: -1.5})
    assert reply.errors == {0x81: 4}


@pytest.mark.parametrize("data", ["210180", "25010080", "290100000080", "2d010000c07f"])
def test_value_that_is_not_set_is_nan(data):
    assert math.isnan(Reply.decode(bytes.fromhex(data)).values[Register.POSITION])


@pytest.mark.parametrize("data", ["00", "24", "2404", "240400", "2505", "2560000000", "31", "30ffffffffffff"])
def test_wrong_replies(data):
    with pytest.raises(ProtocolError):
        Reply.decode(bytes.fromhex(data))


@given(data=st.binary(max_size=64))
def test_only_protocol_errors(data):
    with contextlib.suppress(ProtocolError):
        Reply.decode(data)
