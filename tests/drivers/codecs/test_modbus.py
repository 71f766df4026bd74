"""Modbus RTU: frames that Robotiq's manuals print, and refusal of everything else."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import modbus
from heft.drivers.codecs.checksums import MODBUS
from heft.drivers.errors import ProtocolError

GRIPPED = bytes.fromhex("090406b90000ffbd005c9a")


def checked(body: bytes) -> bytes:
    return body + MODBUS(body).to_bytes(2, "little")


def test_requests_as_the_manuals_print_them():
    assert modbus.read_request(9, 0x07D0, 3, function=4) == bytes.fromhex("090407d00003b1ce")
    assert modbus.write_request(9, 0x03E8, (0x0100, 0, 0)) == bytes.fromhex("091003e8000306010000000000 72e1")
    assert modbus.write_request(9, 0x03E8, (0x0900, 0xFF, 0xFFFF)) == bytes.fromhex(
        "091003e80003060900 00ffffff4229"
    )


def test_responses_as_the_manuals_print_them():
    assert modbus.decode_read_response(GRIPPED, 9, 3, function=4) == (0xB900, 0x00FF, 0xBD00)
    holding = bytes.fromhex("090306b90000ffbd001d7c")
    assert modbus.decode_read_response(holding, 9, 3) == (0xB900, 0x00FF, 0xBD00)
    modbus.decode_write_response(bytes.fromhex("091003e800030130"), 9, 0x03E8, 3)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (GRIPPED[:-1] + b"\x00", "CRC"),
        (GRIPPED[:4], "at least 5"),
        (checked(b"\x08" + GRIPPED[1:-2]), "unit 8"),
        (checked(b"\x09\x03" + GRIPPED[2:-2]), "function 3"),
        (checked(b"\x09\x84\x02"), "illegal data address"),
        (checked(b"\x09\x84\x63"), "unknown exception"),
        (checked(b"\x09\x04\x04" + bytes(4)), "3 registers"),
        (checked(b"\x09\x04\x06" + bytes(4)), "3 registers"),
    ],
)
def test_wrong_responses_say_what_is_wrong(frame, text):
    with pytest.raises(ProtocolError, match=text):
        modbus.decode_read_response(frame, 9, 3, function=4)


def test_write_response_to_something_else():
    with pytest.raises(ProtocolError, match="asked for 3 at 1000"):
        modbus.decode_write_response(checked(bytes.fromhex("091003e90003")), 9, 0x03E8, 3)
    with pytest.raises(ProtocolError):
        modbus.decode_write_response(checked(bytes.fromhex("091003e9000300")), 9, 0x03E8, 3)


@given(data=st.binary(max_size=20))
def test_only_protocol_errors(data):
    for call in (
        lambda: modbus.decode_read_response(data, 9, 3),
        lambda: modbus.decode_write_response(data, 9, 0, 1),
        lambda: modbus.response_bytes(data),
    ):
        with contextlib.suppress(ProtocolError):
            call()


def test_how_long_a_response_will_be():
    assert [modbus.response_bytes(GRIPPED[:n]) for n in range(4)] == [None, None, None, 11]
    assert modbus.response_bytes(bytes.fromhex("0984")) == 5
    assert modbus.response_bytes(bytes.fromhex("0910")) == 8
    with pytest.raises(ProtocolError, match="unknown function"):
        modbus.response_bytes(b"\x09\x01")


@pytest.mark.parametrize(
    "call",
    [
        lambda: modbus.read_request(9, 0, 0),
        lambda: modbus.read_request(9, 0, 126),
        lambda: modbus.read_request(9, 0, 1, function=16),
        lambda: modbus.read_request(256, 0, 1),
        lambda: modbus.write_request(9, 0, ()),
        lambda: modbus.write_request(9, 0, (70000,)),
        lambda: modbus.write_request(9, -1, (0,)),
    ],
)
def test_requests_that_cannot_be_sent(call):
    with pytest.raises(ProtocolError):
        call()
