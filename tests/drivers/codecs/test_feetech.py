"""Feetech: packets as another library makes them, round trips, signs, and streams with garbage."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import feetech as codec
from heft.drivers.codecs.servo_status import Status
from heft.drivers.errors import ProtocolError

packets = st.builds(
    codec.Packet,
    id=st.integers(0, 253) | st.just(codec.BROADCAST),
    code=st.integers(0, 255),
    parameters=st.binary(max_size=40),
)


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        # The frames are those of Dynamixel's protocol 1.0: examples of ROBOTIS' e-Manual.
        (codec.ping(1), "FF FF 01 02 01 FB"),
        (codec.read(1, 0x2B, 1), "FF FF 01 04 02 2B 01 CC"),
        (codec.status(1, b"\x20"), "FF FF 01 03 00 20 DB"),
        (codec.write(codec.BROADCAST, 3, b"\x01"), "FF FF FE 04 03 03 01 F6"),
    ],
)
def test_what_is_printed_is_what_is_sent(made: bytes, printed: str) -> None:
    assert made == bytes.fromhex(printed)


@given(packets)
def test_round_trip(packet: codec.Packet) -> None:
    assert codec.Packet.decode(packet.encode()) == packet


@given(st.integers(1, 15), st.data())
def test_sizes_and_signs(bit: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(1 - (1 << bit), (1 << bit) - 1))
    assert codec.from_sign_magnitude(codec.to_sign_magnitude(value, bit), bit) == value
    with pytest.raises(ProtocolError, match="expected"):
        codec.to_sign_magnitude(1 << bit, bit)


def test_words_in_both_orders() -> None:
    assert codec.word(b"\x01\x02", 0, "little") == 0x0201
    assert codec.word(b"\x00\x01\x02", 1, "big") == 0x0102
    assert codec.from_sign_magnitude(0x8000 | 100, 15) == -100
    assert codec.from_sign_magnitude(0x400 | 250, 10) == -250


@given(st.binary(max_size=60))
def test_any_bytes_raise_only_protocol_errors(data: bytes) -> None:
    for attempt in (data, b"\xff\xff" + data):
        with contextlib.suppress(ProtocolError):
            codec.Packet.decode(attempt)


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=5), st.integers(1, 7))
def test_answers_are_found_in_pieces_of_any_size(payloads: list[bytes], step: int) -> None:
    sent = [Status(i + 1, 0, data) for i, data in enumerate(payloads)]
    stream = b"".join(codec.status(s.id, s.data) for s in sent)
    parser, found = codec.Parser(), []
    for place in range(0, len(stream), step):
        found += parser.feed(stream[place : place + step])
    assert found == sent
    assert parser.refused == 0


def test_a_longer_header_and_a_wrong_checksum_are_passed_over() -> None:
    parser, good = codec.Parser(), codec.status(2, b"\x07")
    assert parser.feed(b"\xff" + good + good[:-1] + b"\x00" + good) == [Status(2, 0, b"\x07")] * 2
    assert parser.refused == 1


def test_ids_and_lengths_that_cannot_be_are_refused() -> None:
    with pytest.raises(ProtocolError, match="id 255, expected 0 to 253, or 254 for all"):
        codec.ping(255)
    with pytest.raises(ProtocolError, match=r"length \d+, bound 250; ask fewer servos"):
        codec.sync_read(40, 31, range(253))


class Tapped:
    """A port of the other library that keeps what is written to it."""

    is_using = False
    baudrate = 1_000_000

    def __init__(self) -> None:
        self.sent = b""

    def clearPort(self) -> None:  # noqa: N802 - the library's name
        pass

    def setPacketTimeout(self, length: int) -> None:  # noqa: N802
        pass

    def writePort(self, packet: list[int]) -> int:  # noqa: N802
        self.sent = bytes(packet)
        self.is_using = False
        return len(packet)


def test_requests_are_those_of_another_library():
    """Every kind of request, 2000 random ones each, byte by byte (feetech-servo-sdk)."""
    sdk = pytest.importorskip("scservo_sdk")
    port, bus, rng = Tapped(), sdk.PacketHandler(0), random.Random(3)
    for _ in range(2000):
        servos = rng.sample(range(253), rng.randrange(1, 8))
        address, count = rng.randrange(70), rng.randrange(1, 16)
        data = rng.randbytes(count)
        bus.readTx(port, servos[0], address, count)
        port.is_using = False
        assert port.sent == codec.read(servos[0], address, count)
        bus.writeTxOnly(port, servos[0], address, count, list(data))
        port.is_using = False
        assert port.sent == codec.write(servos[0], address, data)
        bus.syncReadTx(port, address, count, servos, len(servos))
        port.is_using = False
        assert port.sent == codec.sync_read(address, count, servos)
        told = {servo: rng.randbytes(count) for servo in servos}
        each = [byte for servo, part in told.items() for byte in (servo, *part)]
        bus.syncWriteTxOnly(port, address, count, each, len(each))
        port.is_using = False
        assert port.sent == codec.sync_write(address, told)
