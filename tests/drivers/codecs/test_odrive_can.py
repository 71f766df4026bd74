"""ODrive CANSimple against a DBC read by cantools: written from the vendor's table, not from our code."""

from dataclasses import astuple

import cantools
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import odrive_can
from heft.drivers.codecs import odrive_messages as m
from heft.drivers.codecs.odrive_can import Firmware
from heft.drivers.errors import ProtocolError
from heft.drivers.transports.can_frame import CanFrame

NODE = 1

#: Message name: command, bytes, signals (name, start bit, bits, sign, factor); F marks an IEEE 754 single.
COMMON = {
    "Set_Axis_State": (0x07, 8, [("Axis_Requested_State", 0, 32, "+", 1)]),
    "Get_Encoder_Estimates": (0x09, 8, [("Pos_Estimate", 0, 32, "F", 1), ("Vel_Estimate", 32, 32, "F", 1)]),
    "Set_Controller_Mode": (0x0B, 8, [("Control_Mode", 0, 32, "-", 1), ("Input_Mode", 32, 32, "-", 1)]),
    "Set_Input_Pos": (
        0x0C,
        8,
        [("Input_Pos", 0, 32, "F", 1), ("Vel_FF", 32, 16, "-", 0.001), ("Torque_FF", 48, 16, "-", 0.001)],
    ),
    "Get_Iq": (0x14, 8, [("Iq_Setpoint", 0, 32, "F", 1), ("Iq_Measured", 32, 32, "F", 1)]),
}
ONLY_05 = {
    "Heartbeat": (
        0x01,
        8,
        [
            ("Axis_Error", 0, 32, "+", 1),
            ("Axis_State", 32, 8, "+", 1),
            ("Motor_Error_Flag", 40, 1, "+", 1),
            ("Encoder_Error_Flag", 48, 1, "+", 1),
            ("Controller_Error_Flag", 56, 1, "+", 1),
            ("Trajectory_Done_Flag", 63, 1, "+", 1),
        ],
    ),
}
ONLY_06 = {
    "Get_Version": (
        0x00,
        8,
        [
            (name, 8 * i, 8, "+", 1)
            for i, name in enumerate(
                (
                    "Protocol",
                    "Hw_Major",
                    "Hw_Minor",
                    "Hw_Variant",
                    "Fw_Major",
                    "Fw_Minor",
                    "Fw_Rev",
                    "Fw_Unreleased",
                )
            )
        ],
    ),
    "Heartbeat": (
        0x01,
        8,
        [
            ("Axis_Error", 0, 32, "+", 1),
            ("Axis_State", 32, 8, "+", 1),
            ("Procedure_Result", 40, 8, "+", 1),
            ("Trajectory_Done_Flag", 48, 1, "+", 1),
        ],
    ),
}


def dbc(messages):
    """The text of a DBC file for node 1."""
    lines = ['VERSION ""', "NS_ :", "BS_:", "BU_: Master Axis"]
    floats = []
    for name, (command, size, signals) in messages.items():
        number = NODE << 5 | command
        lines.append(f"BO_ {number} {name}: {size} Axis")
        for signal, start, bits, sign, factor in signals:
            kind = "-" if sign == "F" else sign
            lines.append(f' SG_ {signal} : {start}|{bits}@1{kind} ({factor},0) [0|0] "" Master')
            if sign == "F":
                floats.append(f"SIG_VALTYPE_ {number} {signal} : 1;")
    return "\n".join([*lines, "", *floats, ""])


DATABASES = {
    Firmware.V05: cantools.database.load_string(dbc(COMMON | ONLY_05), "dbc"),
    Firmware.V06: cantools.database.load_string(dbc(COMMON | ONLY_06), "dbc"),
}

F32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
U8, U32, I32 = st.integers(0, 255), st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1)
MILLI = st.integers(-32768, 32767).map(lambda n: n / 1000)
BOOL = st.booleans()
BOTH = st.one_of(
    st.builds(m.SetState, U32),
    st.builds(m.EncoderEstimates, F32, F32),
    st.builds(m.SetControllerMode, I32, I32),
    st.builds(m.InputPosition, F32, MILLI, MILLI),
    st.builds(m.Iq, F32, F32),
)
IN_DBC = {
    Firmware.V05: st.one_of(BOTH, st.builds(m.Heartbeat05, U32, U8, BOOL, BOOL, BOOL, BOOL)),
    Firmware.V06: st.one_of(
        BOTH,
        st.builds(m.Version, U8, U8, U8, U8, U8, U8, U8, U8),
        st.builds(m.Heartbeat, U32, U8, U8, BOOL),
    ),
}
FOUR = st.binary(min_size=4, max_size=4)
NOT_IN_DBC = st.one_of(
    st.builds(m.SdoRequest, st.integers(0, 1), st.integers(0, 0xFFFF), FOUR),
    st.builds(m.SdoAnswer, st.integers(0, 0xFFFF), FOUR),
    st.builds(m.ClearErrors),
)


def values(message):
    """A message's fields in the order of the DBC's signals."""
    return [float(value) for value in astuple(message)]


@pytest.mark.parametrize("firmware", Firmware)
@given(data=st.data())
def test_cantools_reads_what_we_send_and_we_read_what_it_sends(firmware, data):
    message = data.draw(IN_DBC[firmware])
    frame = odrive_can.encode(NODE, message)
    entry = DATABASES[firmware].get_message_by_frame_id(frame.id)
    decoded = entry.decode(frame.data, decode_choices=False)
    assert list(decoded.values()) == pytest.approx(values(message), rel=1e-9, abs=1e-12)
    again = CanFrame(entry.frame_id, entry.encode(decoded))
    assert odrive_can.decode(again, firmware) == (NODE, message)


@pytest.mark.parametrize("firmware", Firmware)
@given(data=st.data(), node=st.integers(0, 63))
def test_round_trip(firmware, data, node):
    extra = NOT_IN_DBC if firmware is Firmware.V06 else st.nothing()
    message = data.draw(IN_DBC[firmware] | extra)
    assert odrive_can.decode(odrive_can.encode(node, message), firmware) == (node, message)


def test_golden_input_position():
    frame = odrive_can.encode(1, m.InputPosition(1.5, 1.0, -0.25))
    assert frame == CanFrame(0x2C, bytes.fromhex("0000c03fe80306ff"))


def test_heartbeats_differ_by_firmware():
    frame = CanFrame(1 << 5 | 1, bytes.fromhex("00000000 08 01 00 80"))
    assert odrive_can.decode(frame, Firmware.V05)[1] == m.Heartbeat05(0, 8, True, False, False, True)
    assert odrive_can.decode(frame, Firmware.V06)[1] == m.Heartbeat(0, 8, 1, False)


def test_requests_are_remote_frames():
    assert odrive_can.request(3, m.Iq) == CanFrame(3 << 5 | 0x14, remote=True)


@pytest.mark.parametrize("firmware", Firmware)
@given(identifier=st.integers(0, 0x7FF), data=st.binary(max_size=8), remote=st.booleans())
def test_only_protocol_errors(firmware, identifier, data, remote):
    frame = CanFrame(identifier, b"" if remote else data, remote=remote)
    try:
        node, message = odrive_can.decode(frame, firmware)
    except ProtocolError:
        return
    assert node == identifier >> 5
    assert message.command == identifier & 0x1F


def test_payload_may_leave_out_the_padding():
    short = CanFrame(1 << 5 | 7, bytes.fromhex("08000000"))
    assert odrive_can.decode(short, Firmware.V06) == (1, m.SetState(m.AxisState.CLOSED_LOOP))
    assert odrive_can.encode(1, m.SetState(8)).data == bytes.fromhex("0800000000000000")


def test_messages_of_the_other_firmware_are_refused():
    for command in (0x00, 0x03, 0x15, 0x1C, 0x1D):
        with pytest.raises(ProtocolError, match=r"0\.5"):
            odrive_can.decode(CanFrame(command, bytes(8)), Firmware.V05)


@pytest.mark.parametrize(
    "call",
    [
        lambda: odrive_can.encode(64, m.ClearErrors()),
        lambda: odrive_can.encode(1, m.InputPosition(0.0, 33.0)),
        lambda: odrive_can.encode(1, m.InputPosition(0.0, float("nan"))),
        lambda: odrive_can.encode(1, m.Iq(0.0, 1e39)),
        lambda: odrive_can.encode(1, m.SdoRequest(0, 1, b"")),
        lambda: odrive_can.decode(CanFrame(0x29, bytes(7)), Firmware.V06),
        lambda: odrive_can.decode(CanFrame(0x29, bytes(8), extended=True), Firmware.V06),
        lambda: odrive_can.split_id(0x800),
    ],
)
def test_what_cannot_be_sent_or_read(call):
    with pytest.raises(ProtocolError):
        call()


def test_errors_in_words():
    assert odrive_can.describe_error(0x0100_0000, Firmware.V06) == "watchdog expired"
    assert odrive_can.describe_error(0x4800, Firmware.V05) == "watchdog expired, emergency stop requested"
    assert odrive_can.describe_error(0, Firmware.V06) == "no error"
    assert odrive_can.describe_error(0x80, Firmware.V06) == "bit 7"
    for firmware in Firmware:
        assert odrive_can.describe_error(odrive_can.WATCHDOG[firmware], firmware) == "watchdog expired"


def test_position_is_sent_in_single_precision():
    _, message = odrive_can.decode(odrive_can.encode(1, m.InputPosition(0.1)), Firmware.V06)
    assert message.position == float(np.float32(0.1))
