"""CUI (Same Sky) AMT21 encoders over RS-485: one byte asks, two bytes answer.

The answer is 16 bits, low byte first: 14 bits of value, and above them two check bits, the inverted parity of
the odd and of the even value bits. Two bits find any single wrong bit, but let a quarter of random garbage
pass: the driver must also judge whether the shaft can have moved that far.
"""

from __future__ import annotations

from heft.drivers.errors import ProtocolError

__all__ = [
    "REPLY_BYTES",
    "check_bits",
    "decode",
    "decode_turns",
    "encode",
    "position",
    "turns",
]

REPLY_BYTES = 2


def position(address: int) -> bytes:
    """Ask for the position."""
    return bytes([_address(address)])


def turns(address: int) -> bytes:
    """Ask for the turns counter (multi-turn models)."""
    return bytes([_address(address) + 1])


def check_bits(value: int) -> int:
    """The two check bits of 14 value bits."""
    check = 0b11
    for shift in range(0, 14, 2):
        check ^= value >> shift & 0b11
    return check


def encode(counts: int, bits: int = 14) -> bytes:
    """The answer that carries a position of `bits` (12 or 14) bits."""
    shift = _shift(bits)
    if not 0 <= counts < 1 << bits:
        raise ProtocolError(f"AMT21: position {counts}, expected 0 to {(1 << bits) - 1}")
    value = counts << shift
    return (value | check_bits(value) << 14).to_bytes(REPLY_BYTES, "little")


def decode(reply: bytes, bits: int = 14) -> int:
    """The position in an answer, 0 to 2**bits - 1."""
    value = _value(reply)
    shift = _shift(bits)
    if value & ((1 << shift) - 1):
        raise ProtocolError(f"AMT21: {reply.hex(' ')} has 14 bits, the configuration says {bits}")
    return value >> shift


def decode_turns(reply: bytes) -> int:
    """The turns in an answer, -8192 to 8191."""
    value = _value(reply)
    return value - 0x4000 if value & 0x2000 else value


def _value(reply: bytes) -> int:
    if len(reply) != REPLY_BYTES:
        raise ProtocolError(f"AMT21: answer of {len(reply)} bytes, expected {REPLY_BYTES}")
    word = int.from_bytes(reply, "little")
    value, check = word & 0x3FFF, word >> 14
    if check != check_bits(value):
        raise ProtocolError(
            f"AMT21: {reply.hex(' ')} has check bits {check:02b}, computed {check_bits(value):02b}"
        )
    return value


def _shift(bits: int) -> int:
    if bits not in (12, 14):
        raise ProtocolError(f"AMT21: {bits} bits; the models have 12 or 14")
    return 14 - bits


def _address(address: int) -> int:
    if not 0 <= address <= 0xFC or address & 0b11:
        raise ProtocolError(f"AMT21: address {address:#04x}, expected a byte whose last two bits are 0")
    return address
