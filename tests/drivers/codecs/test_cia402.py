"""Drives: the state machine against a drive of its own, and the PDOs byte by byte."""

import itertools
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import cia402
from heft.drivers.codecs.cia402 import Feedback, Motion, Setpoint, State, controlword_toward
from heft.drivers.errors import ProtocolError

I16, U16 = st.integers(-(2**15), 2**15 - 1), st.integers(0, 0xFFFF)
I32 = st.integers(-(2**31), 2**31 - 1)


WORDS = {
    State.NOT_READY: 0x0000,
    State.SWITCH_ON_DISABLED: 0x0240,
    State.READY: 0x0231,
    State.SWITCHED_ON: 0x0233,
    State.OPERATION_ENABLED: 0x1637,
    State.QUICK_STOP: 0x0217,
    State.FAULT_REACTION: 0x021F,
    State.FAULT: 0x0218,
}


class Drive:
    """The device side, from the profile's table of commands (bit 7, then bits 3 to 0) and transitions."""

    def __init__(self, state):
        self.state = state
        self.word = 0

    @property
    def statusword(self):
        return WORDS[self.state]

    def take(self, word):
        rising = word & 0x80 and not self.word & 0x80
        self.word = word
        on, voltage, no_quick_stop, operation = (word >> i & 1 for i in range(4))
        s = self.state
        if s is State.NOT_READY:
            self.state = State.SWITCH_ON_DISABLED
        elif s is State.FAULT_REACTION:
            self.state = State.FAULT
        elif s is State.FAULT:
            if rising:
                self.state = State.SWITCH_ON_DISABLED
        elif not voltage:
            self.state = State.SWITCH_ON_DISABLED
        elif not no_quick_stop:
            if s in (State.READY, State.SWITCHED_ON):
                self.state = State.SWITCH_ON_DISABLED
            elif s is State.OPERATION_ENABLED:
                self.state = State.QUICK_STOP
        elif s is State.QUICK_STOP:
            pass  # going straight back is optional, and this drive does not
        elif not on:
            self.state = State.READY
        elif not operation:
            if s in (State.READY, State.OPERATION_ENABLED):
                self.state = State.SWITCHED_ON
        elif s is State.SWITCHED_ON:
            self.state = State.OPERATION_ENABLED
        elif s is State.READY:
            self.state = State.SWITCHED_ON


TARGETS = (State.SWITCH_ON_DISABLED, State.READY, State.SWITCHED_ON, State.OPERATION_ENABLED)


@pytest.mark.parametrize(("start", "target"), list(itertools.product(State, TARGETS)))
def test_every_target_is_reached_and_kept(start, target):
    drive = Drive(start)
    for _ in range(8):
        present = cia402.state(drive.statusword)
        drive.take(controlword_toward(present, target, previous=drive.word, reset_fault=True))
    for _ in range(3):
        assert drive.state is target
        drive.take(controlword_toward(cia402.state(drive.statusword), target, previous=drive.word))


@pytest.mark.parametrize("start", [State.FAULT, State.FAULT_REACTION])
def test_fault_stays_without_leave_to_reset(start):
    drive = Drive(start)
    for _ in range(5):
        drive.take(controlword_toward(drive.state, State.OPERATION_ENABLED, previous=drive.word))
    assert drive.state is State.FAULT


def test_fault_reset_makes_an_edge():
    assert controlword_toward(State.FAULT, State.READY, previous=0x80, reset_fault=True) == 0x00
    assert controlword_toward(State.FAULT, State.READY, previous=0x00, reset_fault=True) == 0x80


@pytest.mark.parametrize("start", State)
def test_quick_stop_never_leaves_a_drive_enabled(start):
    drive = Drive(start)
    for _ in range(3):
        drive.take(controlword_toward(drive.state, State.QUICK_STOP))
    expected = {
        State.OPERATION_ENABLED: State.QUICK_STOP,
        State.QUICK_STOP: State.QUICK_STOP,
        State.FAULT: State.FAULT,
        State.FAULT_REACTION: State.FAULT,
    }
    assert drive.state is expected.get(start, State.SWITCH_ON_DISABLED)


def test_enabling_goes_by_the_published_words():
    words, state = [], State.SWITCH_ON_DISABLED
    drive = Drive(state)
    while drive.state is not State.OPERATION_ENABLED:
        words.append(controlword_toward(drive.state, State.OPERATION_ENABLED))
        drive.take(words[-1])
    assert words == [0x06, 0x07, 0x0F]


@pytest.mark.parametrize("target", [State.FAULT, State.NOT_READY, State.FAULT_REACTION])
def test_drive_cannot_be_sent_into_a_fault(target):
    with pytest.raises(ProtocolError):
        controlword_toward(State.READY, target)


@pytest.mark.parametrize(("state", "word"), list(WORDS.items()))
def test_states_whatever_the_other_bits(state, word):
    for extra in (0x0000, 0x0080, 0x0E00, 0xFF00, 0x0010):
        assert cia402.state(word | extra) is state


@given(word=U16)
def test_every_word_shows_one_state_or_none(word):
    matches = [s for mask, value, s in cia402._STATES if word & mask == value]
    assert len(matches) <= 1
    if matches:
        assert cia402.state(word) is matches[0]
    else:
        with pytest.raises(ProtocolError, match="shows no state"):
            cia402.state(word)


def test_pdos_byte_by_byte():
    feedback = Feedback(statusword=0x1637, position=-2, torque=-500)
    assert feedback.encode() == bytes.fromhex("3716 feffffff 0cfe")
    assert Feedback(statusword=0x1637, position=-2).encode() == bytes.fromhex("3716 feffffff")
    motion = Motion(velocity=1000, error_code=0x8611, current=250)
    assert motion.encode() == bytes.fromhex("e8030000 1186 fa00")
    assert Motion(velocity=1000, error_code=0x8611).encode() == bytes.fromhex("e8030000 1186")
    setpoint = Setpoint(controlword=0x0F, position=0x01020304)
    assert setpoint.encode() == bytes.fromhex("0f00 04030201 08")


def test_recommended_mapping():
    """Of 6077 and 6078 only the one that is used is asked for: an EPOS4 has no 6078."""
    assert [p.words for p in cia402.TORQUE_PDOS] == [
        (0x60410010, 0x60640020, 0x60770010),
        (0x606C0020, 0x603F0010),
    ]
    assert [p.words for p in cia402.CURRENT_PDOS] == [
        (0x60410010, 0x60640020),
        (0x606C0020, 0x603F0010, 0x60780010),
    ]
    assert cia402.RPDO1.words == (0x60400010, 0x607A0020, 0x60600008)
    assert [p.size for p in (*cia402.TORQUE_PDOS, *cia402.CURRENT_PDOS, cia402.RPDO1)] == [8, 6, 6, 8, 7]


@given(statusword=U16, position=I32, torque=I16)
def test_feedback_round_trip(statusword, position, torque):
    for message in (Feedback(statusword, position, torque), Feedback(statusword, position)):
        assert Feedback.decode(message.encode(), torque=message.torque is not None) == message


@given(velocity=I32, current=I16, error=U16)
def test_motion_round_trip(velocity, current, error):
    for message in (Motion(velocity, error, current), Motion(velocity, error)):
        assert Motion.decode(message.encode(), current=message.current is not None) == message


@given(controlword=U16, position=I32, mode=st.integers(-128, 127))
def test_setpoint_round_trip(controlword, position, mode):
    message = Setpoint(controlword, position, mode)
    assert Setpoint.decode(message.encode()) == message


@given(data=st.binary(max_size=10))
def test_only_protocol_errors(data):
    for decode, size in (
        (partial(Feedback.decode, torque=True), 8),
        (partial(Feedback.decode, torque=False), 6),
        (partial(Motion.decode, current=True), 8),
        (partial(Motion.decode, current=False), 6),
        (Setpoint.decode, 7),
    ):
        try:
            assert decode(data).encode() == data
        except ProtocolError:
            assert len(data) != size


def test_setpoint_outside_the_field_is_refused_not_wrapped():
    with pytest.raises(ProtocolError, match="RPDO1"):
        Setpoint(0x0F, 2**31).encode()


@pytest.mark.parametrize(
    ("period_us", "expected"),
    [(4000, (4, -3)), (1000, (1, -3)), (2500, (25, -4)), (1_000_000, (1, 0)), (125, (125, -6))],
)
def test_interpolation_period(period_us, expected):
    value, exponent = cia402.interpolation_period(period_us)
    assert (value, exponent) == expected
    assert value * 10.0**exponent == pytest.approx(period_us * 1e-6)


@pytest.mark.parametrize("period_us", [0, -1000, 3333])
def test_interpolation_period_that_cannot_be_said(period_us):
    with pytest.raises(ProtocolError):
        cia402.interpolation_period(period_us)


def test_error_classes():
    assert cia402.describe_error(0x0000) == "0x0000 (no error)"
    assert cia402.describe_error(0x8130) == "0x8130 (communication)"
    assert cia402.describe_error(0x8611) == "0x8611 (positioning or following error)"
    assert cia402.describe_error(0x2310) == "0x2310 (current)"
    assert cia402.describe_error(0xA000) == "0xa000 (manufacturer's)"
