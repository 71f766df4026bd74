"""AMT21: golden answers, a second decoder from the data sheet's equations, every value there is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import amt21
from heft.drivers.errors import ProtocolError


def second_decoder(reply: bytes) -> int | None:
    """The data sheet's two equations, bit by bit: K1 = !(H5 ^ H3 ^ H1 ^ L7 ^ L5 ^ L3 ^ L1), K0 the even ones."""
    low, high = reply
    l7, l6, l5, l4, l3, l2, l1, l0 = (bool(low >> i & 1) for i in range(7, -1, -1))
    k1, k0, h5, h4, h3, h2, h1, h0 = (bool(high >> i & 1) for i in range(7, -1, -1))
    if k1 != (not (h5 ^ h3 ^ h1 ^ l7 ^ l5 ^ l3 ^ l1)) or k0 != (not (h4 ^ h2 ^ h0 ^ l6 ^ l4 ^ l2 ^ l0)):
        return None
    return high % 64 * 256 + low


@pytest.mark.parametrize(
    ("counts", "reply"), [(0, "00c0"), (1, "0180"), (8192, "0060"), (16383, "ff3f"), (0x21AB, "ab61")]
)
def test_golden_answers(counts, reply):
    assert amt21.encode(counts) == bytes.fromhex(reply)
    assert amt21.decode(bytes.fromhex(reply)) == counts


def test_all_answers_there_are():
    for word in range(1 << 16):
        reply = word.to_bytes(2, "little")
        expected = second_decoder(reply)
        if expected is None:
            with pytest.raises(ProtocolError, match="check bits"):
                amt21.decode(reply)
        else:
            assert amt21.decode(reply) == expected
            assert amt21.encode(expected) == reply


@given(counts=st.integers(0, 4095))
def test_twelve_bit_models(counts):
    reply = amt21.encode(counts, bits=12)
    assert amt21.decode(reply, bits=12) == counts
    assert amt21.decode(reply) == 4 * counts


def test_fourteen_bits_where_twelve_are_configured():
    with pytest.raises(ProtocolError, match="the configuration says 12"):
        amt21.decode(amt21.encode(4097), bits=12)


@given(turns=st.integers(-8192, 8191))
def test_turns(turns):
    assert amt21.decode_turns(amt21.encode(turns % 16384)) == turns


@given(data=st.binary(max_size=5))
def test_only_protocol_errors(data):
    for decode in (amt21.decode, amt21.decode_turns):
        try:
            decode(data)
        except ProtocolError:
            assert len(data) != 2 or second_decoder(data) is None


def test_requests():
    assert amt21.position(0x54) == b"\x54"
    assert amt21.turns(0x54) == b"\x55"


@pytest.mark.parametrize(
    "call",
    [
        lambda: amt21.position(0x55),
        lambda: amt21.position(0x100),
        lambda: amt21.encode(1 << 14),
        lambda: amt21.encode(-1),
        lambda: amt21.encode(4096, bits=12),
        lambda: amt21.decode(b"\x00\xc0", bits=13),
    ],
)
def test_what_cannot_be_asked(call):
    with pytest.raises(ProtocolError):
        call()
