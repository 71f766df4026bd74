"""What the emulated ODrives send, read by cantools with a DBC that was written from the vendor's tables."""

from __future__ import annotations

import asyncio

import cantools
import pytest

from heft.daq.clock import RealClock
from heft.drivers.emulators.odrive_can import OdriveCan, OdriveOptions
from heft.drivers.plant.bench import Bench
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink

NODE = 5
_SIGNALS = {
    0x09: ("Get_Encoder_Estimates", (("Pos_Estimate", 0, "F"), ("Vel_Estimate", 32, "F"))),
    0x14: ("Get_Iq", (("Iq_Setpoint", 0, "F"), ("Iq_Measured", 32, "F"))),
    0x17: ("Get_Bus_Voltage_Current", (("Bus_Voltage", 0, "F"), ("Bus_Current", 32, "F"))),
    0x0C: ("Set_Input_Pos", (("Input_Pos", 0, "F"), ("Vel_FF", 32, 0.001), ("Torque_FF", 48, 0.001))),
    0x0B: ("Set_Controller_Mode", (("Control_Mode", 0, 1), ("Input_Mode", 32, 1))),
    0x07: ("Set_Axis_State", (("Axis_Requested_State", 0, 1),)),
    0x18: ("Clear_Errors", ()),
}
_HEARTBEAT = {
    "0.6": (
        ("Axis_Error", 0, 32),
        ("Axis_State", 32, 8),
        ("Procedure_Result", 40, 8),
        ("Trajectory_Done_Flag", 48, 1),
    ),
    "0.5": (
        ("Axis_Error", 0, 32),
        ("Axis_State", 32, 8),
        ("Motor_Error_Flag", 40, 1),
        ("Encoder_Error_Flag", 48, 1),
        ("Controller_Error_Flag", 56, 1),
        ("Trajectory_Done_Flag", 63, 1),
    ),
}


def database(firmware):
    lines, floats = ['VERSION ""', "NS_ :", "BS_:", "BU_: Host Axis"], []
    number = NODE << 5 | 0x01
    lines.append(f"BO_ {number} Heartbeat: 8 Axis")
    lines += [
        f' SG_ {name} : {start}|{bits}@1+ (1,0) [0|0] "" Host' for name, start, bits in _HEARTBEAT[firmware]
    ]
    for command, (message, signals) in _SIGNALS.items():
        number = NODE << 5 | command
        lines.append(f"BO_ {number} {message}: 8 Axis")
        for name, start, kind in signals:
            bits = 16 if name.endswith("FF") else 32
            factor = 1 if kind == "F" else kind
            lines.append(f' SG_ {name} : {start}|{bits}@1- ({factor},0) [0|0] "" Host')
            if kind == "F":
                floats.append(f"SIG_VALTYPE_ {number} {name} : 1;")
    return cantools.database.load_string("\n".join([*lines, "", *floats, ""]), "dbc")


@pytest.mark.parametrize("firmware", ["0.5", "0.6"])
async def test_a_dbc_drives_an_axis(firmware):
    """Commands encoded, messages decoded by cantools alone: clear, closed loop, a step, and the axis arrives."""
    dbc, clock = database(firmware), RealClock()
    options = OdriveOptions(
        interface="virtual", firmware=firmware, nodes=({"node": NODE, "gear": 10.0},), watchdog_timeout=None
    )
    plant = Bench(clock, axes=("joint1",))
    async with OdriveCan("arm", options, plant) as arm, CanLink("host", clock, arm.wire.settings) as link:
        seen = {}

        async def send(message, **signals):
            number = dbc.get_message_by_name(message).frame_id
            await link.send(CanFrame(number, dbc.encode_message(message, signals)))

        async def until(condition):
            async with asyncio.timeout(20):
                while not condition():
                    for frame in await link.receive():
                        seen[dbc.get_message_by_frame_id(frame.id).name] = dbc.decode_message(
                            frame.id, frame.data
                        )

        await until(lambda: {"Heartbeat", "Get_Encoder_Estimates", "Get_Iq"} <= set(seen))
        assert seen["Heartbeat"]["Axis_State"] == 1
        await send("Clear_Errors")
        await send("Set_Controller_Mode", Control_Mode=3, Input_Mode=1)
        await send("Set_Axis_State", Axis_Requested_State=8)
        await until(lambda: seen["Heartbeat"]["Axis_State"] == 8)
        assert seen["Heartbeat"]["Axis_Error"] == 0
        await send("Set_Input_Pos", Input_Pos=0.1, Vel_FF=0.0, Torque_FF=0.0)
        await until(lambda: abs(seen["Get_Encoder_Estimates"]["Pos_Estimate"] - 0.1) < 0.005)
        await link.send(CanFrame(NODE << 5 | 0x17, remote=True))
        await until(lambda: "Get_Bus_Voltage_Current" in seen)
        assert seen["Get_Bus_Voltage_Current"]["Bus_Voltage"] == pytest.approx(24.0)


async def test_any_addressed_frame_feeds_the_watchdog_a_request_too():
    clock = RealClock()
    plant = Bench(clock, axes=("joint1",))
    options = OdriveOptions(interface="virtual", nodes=({"node": NODE},), watchdog_timeout=0.4)
    async with OdriveCan("arm", options, plant) as arm, CanLink("host", clock, arm.wire.settings) as link:
        axis = arm._axes[0]
        async with asyncio.timeout(20):
            while not axis.error:
                await link.receive()
            assert axis.error == 0x0100_0000
            await link.send(CanFrame(NODE << 5 | 0x18, bytes(8)))
            while axis.error:
                await link.receive()
        fed = axis.fed
        await link.send(CanFrame(NODE << 5 | 0x17, remote=True))
        async with asyncio.timeout(20):
            while axis.fed == fed:
                await link.receive()
