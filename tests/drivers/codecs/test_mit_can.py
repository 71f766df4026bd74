"""The packed protocol: the golden command, a second decoder written apart, and Damiao registers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import damiao, mit_can
from heft.drivers.codecs.mit_can import RANGES, Command, Dialect, Feedback, Range, Special
from heft.drivers.errors import ProtocolError

AK80_9 = RANGES["AK80-9"]
#: Position [rad], velocity [rad/s], torque [N m], from the vendors' tables.
TABLE = {
    "AK80-9": (12.5, 50, 18),
    "AK10-9": (12.5, 50, 65),
    "AK60-6": (12.5, 50, 15),
    "AK70-10": (12.5, 50, 25),
    "AK80-6": (12.5, 76, 12),
    "AK80-64": (12.5, 8, 144),
    "DM4310": (12.5, 30, 10),
    "DM4340": (12.5, 8, 28),
    "DM6006": (12.5, 45, 20),
    "DM8006": (12.5, 45, 40),
    "DM8009": (12.5, 45, 54),
    "DM10010": (12.5, 20, 200),
}


def second_decoder(data: bytes, motor: str) -> tuple[float, ...]:
    """A command once more: cut a string of bits, and compute with fractions."""
    bits = "".join(f"{byte:08b}" for byte in data)
    position, velocity, torque = TABLE[motor]
    fields = (
        (bits[0:16], -position, position),
        (bits[16:28], -velocity, velocity),
        (bits[28:40], 0, 500),
        (bits[40:52], 0, 5),
        (bits[52:64], -torque, torque),
    )
    return tuple(
        float(Fraction(low) + Fraction(int(text, 2), 2 ** len(text) - 1) * (Fraction(high) - Fraction(low)))
        for text, low, high in fields
    )


def second_feedback(data: bytes) -> tuple[int, int, int]:
    bits = "".join(f"{byte:08b}" for byte in data[1:6])
    return int(bits[:16], 2), int(bits[16:28], 2), int(bits[28:], 2)


def test_golden_command():
    data = Command(position=1.0, velocity=0.0, kp=20.0, kd=1.0, torque=2.0).encode(AK80_9)
    assert data == bytes.fromhex("8a3c7ff0a33338e3")


@pytest.mark.parametrize("motor", TABLE)
def test_range_table(motor):
    r = RANGES[motor]
    assert (r.position.high, r.velocity.high, r.torque.high) == TABLE[motor]
    assert (r.position.low, r.velocity.low, r.torque.low) == tuple(-x for x in TABLE[motor])
    assert (r.kp.low, r.kp.high, r.kd.low, r.kd.high) == (0, 500, 0, 5)


def test_resolution():
    assert AK80_9.position.scale == pytest.approx(0.38e-3, rel=0.01)
    assert AK80_9.torque.scale == pytest.approx(8.8e-3, rel=0.01)
    assert RANGES["AK80-64"].torque.scale == pytest.approx(70e-3, rel=0.01)


@pytest.mark.parametrize("motor", TABLE)
def test_every_code_comes_back(motor):
    r = RANGES[motor]
    for field in (r.velocity, r.torque, r.kp, r.kd):
        assert [field.encode(field.decode(c)) for c in range(1 << 12)] == list(range(1 << 12))
    codes = range(0, 1 << 16, 7)
    assert [r.position.encode(r.position.decode(c)) for c in codes] == list(codes)


@given(data=st.binary(min_size=8, max_size=8), motor=st.sampled_from(sorted(TABLE)))
def test_second_decoder_agrees(data, motor):
    if data in {s.value for s in Special}:
        return
    command = Command.decode(data, RANGES[motor])
    got = (command.position, command.velocity, command.kp, command.kd, command.torque)
    assert got == pytest.approx(second_decoder(data, motor), abs=1e-12)
    assert command.encode(RANGES[motor]) == data


@given(
    position=st.floats(-12.5, 12.5),
    velocity=st.floats(-50, 50),
    kp=st.floats(0, 500),
    kd=st.floats(0, 5),
    torque=st.floats(-18, 17.9),
)
def test_command_is_off_by_less_than_one_code(position, velocity, kp, kd, torque):
    values = (position, velocity, kp, kd, torque)
    got = second_decoder(Command(*values).encode(AK80_9), "AK80-9")
    scales = (25 / 65535, 100 / 4095, 500 / 4095, 5 / 4095, 36 / 4095)
    for value, back, scale in zip(values, got, scales, strict=True):
        assert -1e-5 * scale <= value - back < scale * 1.00001


@pytest.mark.parametrize(
    "command",
    [
        Command(position=12.6),
        Command(velocity=-50.1),
        Command(kp=-1.0),
        Command(kd=6.0),
        Command(torque=float("nan")),
    ],
)
def test_outside_the_range_is_refused_not_clamped(command):
    with pytest.raises(ProtocolError, match="outside"):
        command.encode(AK80_9)


def test_command_that_would_be_an_order_is_refused():
    for code, order in ((0xFFB, "CLEAR_ERROR"), (0xFFC, "ENABLE"), (0xFFD, "DISABLE"), (0xFFE, "ZERO")):
        torque = AK80_9.torque.decode(code)
        with pytest.raises(ProtocolError, match=order):
            Command(12.5, 50.0, 500.0, 5.0, torque).encode(AK80_9)
    assert Command(12.5, 50.0, 500.0, 5.0, 18.0).encode(AK80_9) == b"\xff" * 8


def test_orders():
    assert Special.ENABLE.value == bytes.fromhex("fffffffffffffffc")
    assert Special.DISABLE.value[-1] == 0xFD
    assert Special.ZERO.value[-1] == 0xFE
    with pytest.raises(ProtocolError, match="ENABLE"):
        Command.decode(Special.ENABLE.value, AK80_9)


def test_feedback_of_an_ak_motor():
    data = bytes.fromhex("03 8a3c 7ff8e3 1e 02")
    feedback = Feedback.decode(data, Dialect.AK)
    assert feedback == Feedback(3, 0x8A3C, 0x7FF, 0x8E3, 2, (30,))
    assert AK80_9.position.decode(feedback.position) == pytest.approx(1.0, abs=4e-4)
    assert AK80_9.torque.decode(feedback.torque) == pytest.approx(2.0, abs=1e-9)
    assert mit_can.describe_status(Dialect.AK, feedback.status) == "over-current"
    assert mit_can.is_fault(Dialect.AK, feedback.status)
    short = Feedback.decode(data[:6], Dialect.AK)
    assert (short.status, short.temperatures_c) == (None, ())
    assert not mit_can.is_fault(Dialect.AK, None)
    assert Feedback.decode(data[:6] + b"\xf6\x00", Dialect.AK).temperatures_c == (-10,)


def test_feedback_of_a_damiao_motor():
    feedback = Feedback.decode(bytes.fromhex("d5 8000 800801 28 32"), Dialect.DAMIAO)
    assert feedback == Feedback(5, 0x8000, 0x800, 0x801, 0xD, (40, 50))
    assert mit_can.describe_status(Dialect.DAMIAO, 0xD) == "communication lost"
    assert mit_can.is_fault(Dialect.DAMIAO, 0xD)
    assert not mit_can.is_fault(Dialect.DAMIAO, 1)
    assert mit_can.describe_status(Dialect.DAMIAO, 3) == "unknown status 3"


@given(data=st.binary(max_size=10), dialect=st.sampled_from(Dialect))
def test_feedback_only_protocol_errors_and_the_second_decoder(data, dialect):
    try:
        feedback = Feedback.decode(data, dialect)
    except ProtocolError:
        assert len(data) != 8
        assert len(data) != 6 or dialect is Dialect.DAMIAO
        return
    assert feedback.encode(dialect) == data
    assert (feedback.position, feedback.velocity, feedback.torque) == second_feedback(data)


@given(data=st.binary(max_size=10))
def test_command_only_protocol_errors(data):
    try:
        assert Command.decode(data, AK80_9).encode(AK80_9) == data
    except ProtocolError:
        assert len(data) != 8 or data in {s.value for s in Special}


@pytest.mark.parametrize(
    "feedback",
    [Feedback(16, 0, 0, 0, 0, (0, 0)), Feedback(1, 1 << 16, 0, 0, 0, (0, 0)), Feedback(1, 0, 0, 0, 0, (0,))],
)
def test_feedback_that_does_not_fit(feedback):
    with pytest.raises(ProtocolError):
        feedback.encode(Dialect.DAMIAO)


@pytest.mark.parametrize("limits", [(0, 1, 1), (1, float("inf"), 1), (1, 1, -1)])
def test_ranges_that_make_no_sense(limits):
    with pytest.raises(ProtocolError):
        Range.of(*limits)


def test_damiao_requests():
    assert damiao.query(0x01, damiao.Register.POSITION_MAX).data == bytes.fromhex("0100331500000000")
    assert damiao.query(0x01, 21).id == 0x7FF
    assert damiao.write(0x102, damiao.Register.TIMEOUT, 2000).data == bytes.fromhex("02015509d0070000")
    assert damiao.write(1, damiao.Register.TORQUE_MAX, 10.0).data == bytes.fromhex("0100551700002041")
    assert damiao.refresh(1).data == bytes.fromhex("0100cc0000000000")


def test_damiao_answers():
    assert damiao.Answer.decode(bytes.fromhex("0100331500004841")) == damiao.Answer(1, 0x33, 21, 12.5)
    assert damiao.Answer.decode(bytes.fromhex("01003309d0070000")).value == 2000
    with pytest.raises(ProtocolError, match="does not answer"):
        damiao.Answer.decode(bytes.fromhex("0100aa0100000000"))
    with pytest.raises(ProtocolError):
        damiao.Answer.decode(bytes(7))


@given(
    motor=st.integers(0, 0x7FF),
    register=st.integers(0, 255),
    number=st.integers(0, 2**32 - 1),
    real=st.floats(width=32, allow_nan=False),
)
def test_damiao_round_trip(motor, register, number, real):
    value = number if register in damiao._WHOLE else real
    answer = damiao.Answer(motor, 0x33, register, value)
    assert damiao.Answer.decode(answer.encode()) == answer


@pytest.mark.parametrize("value", [1.5, -1.0, 2.0**32, float("inf")])
def test_damiao_whole_registers_hold_whole_numbers(value):
    with pytest.raises(ProtocolError):
        damiao.write(1, damiao.Register.TIMEOUT, value)
