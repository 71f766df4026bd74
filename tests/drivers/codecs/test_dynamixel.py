"""Dynamixel protocol 2.0: the packets that the e-Manual prints, round trips, and streams with garbage."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import dynamixel as codec
from heft.drivers.codecs.dynamixel_models import MODELS, RamRegister
from heft.drivers.codecs.servo_status import Status
from heft.drivers.errors import ProtocolError

#: ROBOTIS e-Manual, "DYNAMIXEL Protocol 2.0", the examples of each instruction.
PRINTED = {
    "ping": (codec.ping(1), "FF FF FD 00 01 03 00 01 19 4E"),
    "ping all": (codec.ping(codec.BROADCAST), "FF FF FD 00 FE 03 00 01 31 42"),
    "read": (codec.read(1, 132, 4), "FF FF FD 00 01 07 00 02 84 00 04 00 1D 15"),
    "write": (
        codec.write(1, 116, bytes.fromhex("00020000")),
        "FF FF FD 00 01 09 00 03 74 00 00 02 00 00 CA 89",
    ),
    "reboot": (codec.Packet(1, codec.Instruction.REBOOT).encode(), "FF FF FD 00 01 03 00 08 2F 4E"),
    "sync read": (codec.sync_read(132, 4, (1, 2)), "FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA"),
    "sync write": (
        codec.sync_write(116, {1: bytes.fromhex("96000000"), 2: bytes.fromhex("AA000000")}),
        "FF FF FD 00 FE 11 00 83 74 00 04 00 01 96 00 00 00 02 AA 00 00 00 82 87",
    ),
    "bulk read": (
        codec.bulk_read(((1, 144, 2), (2, 146, 1))),
        "FF FF FD 00 FE 0D 00 92 01 90 00 02 00 02 92 00 01 00 1A 05",
    ),
}
ANSWERS = {
    "FF FF FD 00 01 07 00 55 00 06 04 26 65 5D": Status(1, 0, bytes((0x06, 0x04, 0x26))),
    "FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0": Status(1, 0, bytes.fromhex("A6000000")),
    "FF FF FD 00 02 08 00 55 00 1F 08 00 00 BA BE": Status(2, 0, bytes.fromhex("1F080000")),
    "FF FF FD 00 01 04 00 55 00 A1 0C": Status(1, 0, b""),
    "FF FF FD 00 01 06 00 55 00 77 00 C3 69": Status(1, 0, bytes.fromhex("7700")),
    "FF FF FD 00 02 05 00 55 00 24 8B A9": Status(2, 0, bytes.fromhex("24")),
}

packets = st.builds(
    codec.Packet,
    id=st.integers(0, 252) | st.just(codec.BROADCAST),
    instruction=st.integers(0, 255),
    parameters=st.binary(max_size=40) | st.lists(st.sampled_from((0xFF, 0xFD, 0)), max_size=40).map(bytes),
)


@pytest.mark.parametrize("name", PRINTED)
def test_what_the_manual_prints_is_what_is_sent(name: str) -> None:
    made, printed = PRINTED[name]
    assert made == bytes.fromhex(printed)


@pytest.mark.parametrize("printed", ANSWERS)
def test_answers_that_the_manual_prints_are_read(printed: str) -> None:
    assert codec.Parser().feed(bytes.fromhex(printed)) == [ANSWERS[printed]]
    told = ANSWERS[printed]
    assert codec.status(told.id, told.data, told.error) == bytes.fromhex(printed)


@given(packets)
def test_round_trip(packet: codec.Packet) -> None:
    encoded = packet.encode()
    assert codec.Packet.decode(encoded) == packet
    assert encoded.count(b"\xff\xff\xfd\x00", 0, -2) == 1, "a header inside"


def test_a_header_inside_is_stuffed() -> None:
    encoded = codec.status(1, b"\xff\xff\xfd\x00")
    assert b"\xff\xff\xfd\xfd\x00" in encoded
    assert codec.Parser().feed(encoded) == [Status(1, 0, b"\xff\xff\xfd\x00")]


@given(st.binary(max_size=60))
def test_any_bytes_raise_only_protocol_errors(data: bytes) -> None:
    for attempt in (data, b"\xff\xff\xfd\x00" + data):
        with contextlib.suppress(ProtocolError):
            codec.Packet.decode(attempt)


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=5), st.integers(1, 7), st.binary(max_size=8))
def test_answers_are_found_in_pieces_of_any_size_behind_garbage(
    payloads: list[bytes], step: int, garbage: bytes
) -> None:
    sent = [Status(i + 1, 0, data) for i, data in enumerate(payloads)]
    stream = garbage + b"".join(codec.status(s.id, s.data) for s in sent) + bytes(1100)
    parser, found = codec.Parser(), []
    for place in range(0, len(stream), step):
        found += parser.feed(stream[place : place + step])
    assert [s for s in found if s in sent] == sent


def test_an_echo_is_no_answer() -> None:
    assert codec.Parser().feed(codec.sync_read(132, 4, (1, 2)) + codec.status(1, b"1234")) == [
        Status(1, 0, b"1234")
    ]


def test_wrong_checksums_are_counted() -> None:
    parser = codec.Parser()
    damaged = bytearray(codec.status(1, b"1234"))
    damaged[9] ^= 1
    assert parser.feed(bytes(damaged) + codec.status(2)) == [Status(2, 0, b"")]
    assert parser.refused == 1


def test_ids_and_lengths_that_cannot_be_are_refused() -> None:
    with pytest.raises(ProtocolError, match="id 253, expected 0 to 252, or 254 for all"):
        codec.ping(253)
    with pytest.raises(ProtocolError, match=r"length \d+, bound 1024"):
        codec.write(1, 0, bytes(2000))


def test_models_have_numbers_of_their_own() -> None:
    numbers = [model.number for model in MODELS.values()]
    assert len(set(numbers)) == len(numbers)
    assert RamRegister.GOAL_POSITION + MODELS["PH54-200-S500"].ram == 564
    assert RamRegister.REALTIME_TICK + MODELS["PH54-200-S500"].ram == 568
    assert MODELS["PH54-200-S500"].turn == 1_003_846
