"""Bota frames: the golden one, a second decoder written apart, and what the stream parser makes of damage."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import bota
from heft.drivers.errors import ProtocolError

GOLDEN = bytes.fromhex("aa00000000803f000000c00000f041cdcccc3dcdcc4cbe9a99993e40e201000000cc4137b5")
GOLDEN_SAMPLE = bota.Sample(0, tuple(float(np.float32(x)) for x in (1, -2, 30, 0.1, -0.2, 0.3)), 123456, 25.5)

F32 = st.floats(width=32, allow_nan=False)
SAMPLES = st.builds(
    bota.Sample,
    status=st.integers(0, 0xFFFF),
    wrench=st.tuples(*[F32] * 6),
    timestamp_us=st.integers(0, 2**32 - 1),
    temperature_c=F32,
)


class SecondDecoder:
    """The protocol once more, from the description: one byte at a time, CRC most significant bit first."""

    def __init__(self):
        self.window = []
        self.samples = []

    def feed(self, data):
        for byte in data:
            self.window.append(byte)
            while self.window and self.window[0] != 0xAA:
                del self.window[0]
            while len(self.window) == 37:
                if self.crc(self.window[1:35]) == self.window[35] + 256 * self.window[36]:
                    self.samples.append(self.sample(self.window[1:35]))
                    self.window = []
                else:
                    del self.window[0]
                    while self.window and self.window[0] != 0xAA:
                        del self.window[0]

    @staticmethod
    def crc(payload):
        """X.25: polynomial x^16 + x^12 + x^5 + 1, bits of each byte reversed, result reversed and inverted."""
        register = 0xFFFF
        for byte in payload:
            register ^= int(f"{byte:08b}"[::-1], 2) << 8
            for _ in range(8):
                register <<= 1
                if register > 0xFFFF:
                    register = (register & 0xFFFF) ^ 0x1021
        return int(f"{register:016b}"[::-1], 2) ^ 0xFFFF

    @classmethod
    def sample(cls, payload):
        wrench = [cls.single(payload[2 + 4 * i : 6 + 4 * i]) for i in range(6)]
        timestamp = sum(b << 8 * i for i, b in enumerate(payload[26:30]))
        return payload[0] + 256 * payload[1], *wrench, timestamp, cls.single(payload[30:34])

    @staticmethod
    def single(four):
        """IEEE 754 single precision, from its definition."""
        word = sum(b << 8 * i for i, b in enumerate(four))
        sign, exponent, fraction = -1 if word >> 31 else 1, word >> 23 & 0xFF, word & 0x7FFFFF
        if exponent == 255:
            return math.nan if fraction else sign * math.inf
        if exponent == 0:
            return sign * math.ldexp(fraction, -149)
        return sign * math.ldexp(fraction | 1 << 23, exponent - 150)


def test_golden_frame():
    assert GOLDEN_SAMPLE.encode() == GOLDEN
    assert bota.Sample.decode(GOLDEN) == GOLDEN_SAMPLE


@given(sample=SAMPLES)
def test_round_trip(sample):
    assert bota.Sample.decode(sample.encode()) == sample


@given(sample=SAMPLES)
def test_second_decoder_agrees(sample):
    second = SecondDecoder()
    second.feed(sample.encode())
    assert second.samples == [(sample.status, *sample.wrench, sample.timestamp_us, sample.temperature_c)]


@given(data=st.binary(max_size=80))
def test_only_protocol_errors(data):
    try:
        bota.Sample.decode(data)
    except ProtocolError:
        assert (
            len(data) != 37 or data[0] != 0xAA or SecondDecoder.crc(data[1:35]) != data[35] + 256 * data[36]
        )


@given(bit=st.integers(0, 37 * 8 - 1))
def test_any_single_wrong_bit_is_refused(bit):
    data = bytearray(GOLDEN)
    data[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ProtocolError):
        bota.Sample.decode(bytes(data))


def test_second_decoder_agrees_on_a_damaged_stream():
    rng = random.Random(5)
    stream = bytearray()
    for i in range(3000):
        wrench = tuple(float(np.float32(rng.uniform(-50, 50))) for _ in range(6))
        stream += bota.Sample(rng.randrange(16), wrench, 1000 * i, 25.0).encode()
    for _ in range(1500):
        place = rng.randrange(len(stream))
        if rng.random() < 0.5:
            stream[place] = rng.choice((0xAA, rng.randrange(256)))
        else:
            del stream[place : place + rng.randrange(1, 40)]
    parser, second, place = bota.Parser(), SecondDecoder(), 0
    ours = []
    while place < len(stream):
        cut = rng.randrange(1, 300)
        samples = parser.samples(stream[place : place + cut])
        for i in range(len(samples)):
            wrench = samples.wrench[i].tolist()
            ours.append(
                (
                    int(samples.status[i]),
                    *wrench,
                    int(samples.timestamp_us[i]),
                    float(samples.temperature_c[i]),
                )
            )
        place += cut
    second.feed(bytes(stream))
    assert ours == second.samples
    assert 1000 < len(ours) < 3000


def test_samples_are_arrays_with_their_place_in_the_stream():
    parser = bota.Parser()
    samples = parser.samples(b"\x00\x01" + GOLDEN * 3)
    assert samples.wrench.shape == (3, 6)
    assert samples.wrench.dtype == np.float32
    assert samples.timestamp_us.tolist() == [123456] * 3
    assert (parser.fed - samples.ends).tolist() == [74, 37, 0]
    assert len(parser.samples(b"")) == 0


def test_timestamp_at_its_wrap_comes_out_raw():
    sample = bota.Sample(0, (0.0,) * 6, 2**32 - 1, 20.0)
    assert bota.Parser().samples(sample.encode()).timestamp_us.tolist() == [2**32 - 1]


def test_commands():
    assert bota.communication(baud=460800) == b"c,0,1,0,4"
    assert bota.communication(baud=115200, temperature_compensated=True, csv=True) == b"c,1,1,1,2"
    assert bota.filters(sinc=512, fast=True, skip=False) == b"f,512,0,1,0"


@pytest.mark.parametrize(
    "call",
    [
        lambda: bota.communication(baud=19200),
        lambda: bota.filters(sinc=63),
        lambda: bota.Sample(0, (1e39,) * 6, 0, 0.0).encode(),
        lambda: bota.Sample(0, (1.0,) * 5, 0, 0.0).encode(),
        lambda: bota.Sample(-1, (1.0,) * 6, 0, 0.0).encode(),
    ],
)
def test_values_that_cannot_be_sent(call):
    with pytest.raises(ProtocolError):
        call()


def test_rates():
    assert 1 / bota.sample_period_s(512) == pytest.approx(100)
    assert 1 / bota.sample_period_s(64) == pytest.approx(800)
    assert [int(bota.line_rate_hz(b)) for b in (115200, 230400, 460800)] == [311, 622, 1245]


def test_status_bits():
    assert bota.Status(0b0110) == bota.Status.OVERRANGE | bota.Status.INVALID
