"""FT 300: the golden frames, a second decoder written apart, and the registers."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import modbus, robotiq_ft300
from heft.drivers.errors import ProtocolError

GOLDEN = bytes.fromhex("204e640006ffb80b0f00ecff07000076")
COUNTS = (100, -250, 3000, 15, -20, 7)

SAMPLES = st.builds(robotiq_ft300.Sample, counts=st.tuples(*[st.integers(-(2**15), 2**15 - 1)] * 6))


def second_decoder(stream: bytes) -> list[tuple[int, ...]]:
    """The manual's stream format once more: search for the header, divide by the polynomial, read the numbers."""
    found = []
    place = stream.find(b"\x20\x4e")
    while 0 <= place <= len(stream) - 16:
        message = list(stream[place : place + 16])
        if remainder(message[:14]) == message[14:]:
            found.append(tuple(number(message[i], message[i + 1]) for i in range(2, 14, 2)))
            place += 15
        place = stream.find(b"\x20\x4e", place + 1)
    return found


def remainder(message: list[int]) -> list[int]:
    """CRC-16/Modbus by long division of bits, least significant first, the first 16 of them inverted."""
    bits = [byte >> i & 1 for byte in message for i in range(8)] + [0] * 16
    bits[:16] = [bit ^ 1 for bit in bits[:16]]
    divisor = [int(bit) for bit in f"{0x18005:017b}"]
    for i in range(len(bits) - 16):
        if bits[i]:
            for j, bit in enumerate(divisor):
                bits[i + j] ^= bit
    rest = bits[-16:]
    return [sum(bit << i for i, bit in enumerate(rest[:8])), sum(bit << i for i, bit in enumerate(rest[8:]))]


def number(low: int, high: int) -> int:
    return low + 256 * (high - 256 if high > 127 else high)


def test_golden_frames():
    assert robotiq_ft300.Sample(COUNTS).encode() == GOLDEN
    assert robotiq_ft300.Sample.decode(GOLDEN).counts == COUNTS
    assert bytes.fromhex("0910019a0001020200cdca") == modbus.write_request(
        robotiq_ft300.UNIT, *robotiq_ft300.STREAM
    )
    assert len(robotiq_ft300.STOP_STREAM) == 50
    assert second_decoder(GOLDEN) == [COUNTS]


def test_scales():
    force, torque = robotiq_ft300.FORCE_SCALE, robotiq_ft300.TORQUE_SCALE
    assert [c * force for c in COUNTS[:3]] == pytest.approx([1.0, -2.5, 30.0])
    assert [c * torque for c in COUNTS[3:]] == pytest.approx([0.015, -0.020, 0.007])


@given(sample=SAMPLES)
def test_round_trip_and_second_decoder(sample):
    frame = sample.encode()
    assert robotiq_ft300.Sample.decode(frame) == sample
    assert second_decoder(frame) == [sample.counts]


@given(data=st.binary(max_size=40))
def test_only_protocol_errors(data):
    try:
        sample = robotiq_ft300.Sample.decode(data)
    except ProtocolError:
        return
    assert second_decoder(data) == [sample.counts]


def test_second_decoder_agrees_on_a_damaged_stream():
    rng = random.Random(3)
    stream = bytearray()
    for _ in range(1500):
        counts = tuple(
            rng.choice((0x4E20, rng.randrange(-3000, 3000))) for _ in range(6)
        )  # header bytes inside
        stream += robotiq_ft300.Sample(counts).encode()
    for _ in range(800):
        place = rng.randrange(len(stream))
        stream[place : place + rng.randrange(3)] = rng.choice((b"", b"\x20", b"\x20\x4e", rng.randbytes(2)))
    parser, ours, place = robotiq_ft300.Parser(), [], 0
    while place < len(stream):
        cut = rng.randrange(1, 100)
        ours += [tuple(row) for row in parser.samples(stream[place : place + cut]).counts.tolist()]
        place += cut
    assert ours == second_decoder(bytes(stream))
    assert 500 < len(ours) < 1500


@given(sample=SAMPLES)
def test_registers(sample):
    assert robotiq_ft300.Sample.from_registers([c % 65536 for c in sample.counts]) == sample


@pytest.mark.parametrize("registers", [[0] * 5, [0] * 7, [70000] + [0] * 5, [-1] + [0] * 5])
def test_wrong_registers(registers):
    with pytest.raises(ProtocolError, match="six numbers"):
        robotiq_ft300.Sample.from_registers(registers)


@pytest.mark.parametrize("counts", [(0,) * 5, (2**15,) + (0,) * 5])
def test_counts_that_do_not_fit(counts):
    with pytest.raises(ProtocolError):
        robotiq_ft300.Sample(counts).encode()


def test_start_is_confirmed_like_any_write():
    body = bytes.fromhex("0910019a0001")
    modbus.decode_write_response(body + bytes(remainder(list(body))), robotiq_ft300.UNIT, 410, 1)
