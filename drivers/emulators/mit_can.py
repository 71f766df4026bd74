"""Emulated T-Motor AK and Damiao actuators: MIT's packed protocol, one motor per joint.

Command, 8 bytes, most significant bit first: position 16, velocity 12, kp 12, kd 12, torque 12 bits, each from the
lower to the upper end of its range. Answer: motor, position 16, velocity 12, torque 12, and two bytes more. A motor
says nothing unless it is spoken to.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.axes import ImpedanceAxes
from heft.drivers.emulators.base.drive_model import ONE_INSTANT_S, DriveModel, DriveOptions
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.wires.can_wire import CanWire
from heft.drivers.errors import OptionError
from heft.drivers.options import Options, Positive
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["MitCan", "MitMotor", "MitOptions"]

_WATCH_NS = 5_000_000
_REGISTERS_ID = 0x7FF
_QUERY, _WRITE, _REFRESH = 0x33, 0x55, 0xCC
_TIMEOUT = 9
_WHOLE = {7, 8, 9, 10, 13, 14, 15, 16, 35, 36}
_TIMEOUT_TICK_S = 50e-6
_LOST, _OVER_CURRENT = 0xD, {"ak": 2, "damiao": 0xA}
_KP, _KD = 500.0, 5.0

#: Position [rad], velocity [rad/s] and torque [N m] at the ends of the codes.
_LIMITS = {
    "AK80-9": (12.5, 50.0, 18.0),
    "AK10-9": (12.5, 50.0, 65.0),
    "AK60-6": (12.5, 50.0, 15.0),
    "AK70-10": (12.5, 50.0, 25.0),
    "AK80-6": (12.5, 76.0, 12.0),
    "AK80-64": (12.5, 8.0, 144.0),
    "DM4310": (12.5, 30.0, 10.0),
    "DM4340": (12.5, 8.0, 28.0),
    "DM6006": (12.5, 45.0, 20.0),
    "DM8006": (12.5, 45.0, 40.0),
    "DM8009": (12.5, 45.0, 54.0),
    "DM10010": (12.5, 20.0, 200.0),
}


class MitMotor(Options):
    """One actuator as it was set up."""

    model: str = "DM10010"
    motor: Annotated[int, Field(ge=0, le=0x7FF)]
    #: Identifier of its answers; left out: 0 for AK motors, 0x10 above the motor's number for Damiao.
    reply: Annotated[int, Field(ge=0, le=0x7FF)] | None = None
    direction: Literal[1, -1] = 1
    zero: float = 0.0
    serial: int = 70001
    #: True torque over what the firmware reports; left out: 0.746 for the AK80-9, else 1.
    torque_gain: Positive | None = None
    #: Limits in the motor's registers, where somebody has changed them.
    limits: tuple[float, float, float] | None = None


class MitOptions(DriveOptions):
    """An arm of such motors."""

    #: One per joint, in the order of the joints; left out: DM10010 motors 1, 2, ...
    motors: tuple[MitMotor, ...] | None = None
    #: What register 10 says: 1 is this protocol.
    control_mode: int = 1
    #: Whether AK motors answer commands while they are off; the manual says that they must be enabled first.
    answers_off: bool = True


@dataclass
class _Motor:
    """State of one motor; times in seconds since the plant's start."""

    index: int
    config: MitMotor
    limits: tuple[float, float, float]
    registers: dict[int, float]
    enabled: bool = False
    error: int = 0
    broken: bool = False
    heard: float = 0.0

    @property
    def dialect(self) -> str:
        return "damiao" if self.config.model.startswith("DM") else "ak"

    @property
    def gain(self) -> float:
        """True torque over what is reported."""
        known = 0.59 * 0.115 / 0.091 if self.config.model == "AK80-9" else 1.0
        return known if self.config.torque_gain is None else self.config.torque_gain

    @property
    def reply(self) -> int:
        given = self.config.reply
        default = 0x10 + self.config.motor if self.dialect == "damiao" else 0
        return default if given is None else given


class MitCan(Emulator[MitOptions, CanWire]):
    """n motors on one bus."""

    Options = MitOptions

    def __init__(self, name: str, options: MitOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        n = len(plant.axes)
        motors = options.motors or tuple(MitMotor(motor=i + 1, serial=70001 + i) for i in range(n))
        if len(motors) != n:
            raise OptionError(f"{name}.motors: {len(motors)} motors for {n} joints ({', '.join(plant.axes)})")
        self._motors = [self._make_motor(i, config) for i, config in enumerate(motors)]
        self._by_id = {motor.config.motor: motor for motor in self._motors}
        self._stages = ImpedanceAxes(
            name,
            plant,
            bandwidth_hz=options.bandwidth_hz,
            on_trip=self._on_trip,
            period_s=1.0 / options.servo_hz,
            brakes=options.brakes(n),
        )
        self._model = DriveModel(name, options, plant, self._stages)
        self.declare({}, {"motion": 0.0, "torque": 0.5 * options.window_s})

    def _make_motor(self, index: int, config: MitMotor) -> _Motor:
        if config.model not in _LIMITS and config.limits is None:
            raise OptionError(
                f"{self.name}.motors: {config.model!r} is not in the table ({', '.join(_LIMITS)})"
            )
        limits = config.limits or _LIMITS[config.model]
        registers = {1: 1.0, 7: 0, 8: config.motor, 9: 0, 10: self.options.control_mode}
        registers |= {
            13: 3,
            14: 5013,
            15: config.serial,
            20: 10.0,
            21: limits[0],
            22: limits[1],
            23: limits[2],
        }
        motor = _Motor(index, config, limits, registers)
        motor.registers[7] = motor.reply
        return motor

    def _make_wire(self) -> CanWire:
        return CanWire(self.name, self.plant, self.options.settings())

    # -- the bus ------------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} bus")
            tasks.create_task(self._watch(), name=f"emulator {self.name} watch")

    async def _listen(self) -> None:
        while True:
            measured, measured_t = None, 0.0
            for frame in await self.wire.receive():
                if frame.extended or frame.remote or frame.error or len(frame.data) != 8:
                    continue
                self.plant.advance(frame.host_ns)
                t = self.plant.seconds(frame.host_ns)
                if measured is None or t - measured_t > ONE_INSTANT_S:
                    measured, measured_t = self._model.measure(t), t
                if frame.id == _REGISTERS_ID:
                    await self._answer_register(frame.data, t, measured)
                    continue
                motor = self._by_id.get(frame.id)
                if motor is not None:
                    motor.heard = t
                    self._handle_command(motor, frame.data, t)
                    mute = motor.dialect == "ak" and not motor.enabled and not self.options.answers_off
                    if mute and frame.data[:7] != b"\xff" * 7:
                        continue
                    await self._report(motor, measured, t)

    def _handle_command(self, motor: _Motor, data: bytes, t: float) -> None:
        if data[:7] == b"\xff" * 7:
            match data[7]:
                case 0xFC if not motor.error and not motor.enabled:
                    motor.enabled = True
                    self._stages.enable(motor.index)
                    self._stages.set_gains(motor.index, 0.0, 0.0, 0.0, motor.limits[2])
                case 0xFD if motor.enabled:
                    self._switch_off(motor, 0, t)
                case 0xFB if not motor.broken:
                    motor.error = 0
            return
        if motor.enabled:
            word = int.from_bytes(data, "big")
            p, v, torque = motor.limits
            side = motor.config.direction
            position = _value(word >> 48, 16, p)
            velocity = _value(word >> 36 & 0xFFF, 12, v)
            kp, kd = (word >> 24 & 0xFFF) * _KP / 4095, (word >> 12 & 0xFFF) * _KD / 4095
            forward = _value(word & 0xFFF, 12, torque)
            self._stages.set_setpoint(
                motor.index, t, side * (position - motor.config.zero), velocity=side * velocity
            )
            self._stages.set_gains(motor.index, kp, kd, side * forward, torque)

    def _switch_off(self, motor: _Motor, error: int, t: float) -> None:
        motor.error = motor.error or error
        if motor.enabled:
            motor.enabled = False
            self._stages.disable(motor.index, t)

    async def _report(self, motor: _Motor, measured: tuple[NDArray[np.float64], ...], t: float) -> None:
        q, v, torque = (float(values[motor.index]) for values in measured)
        side, config = motor.config.direction, motor.config
        wrap = motor.dialect == "ak"
        codes = [
            _code(value, bits, limit, wrap=wrap)
            for value, bits, limit in zip(
                (side * q + config.zero, side * v, side * torque / motor.gain),
                (16, 12, 12),
                motor.limits,
                strict=True,
            )
        ]
        packed = (codes[0] << 24 | codes[1] << 12 | codes[2]).to_bytes(5, "big")
        error = motor.error | self.status
        if motor.dialect == "damiao":
            head = config.motor & 0xF | (error or int(motor.enabled)) << 4
            data = bytes([head & 0xFF]) + packed + bytes([35, 40])
        else:
            data = bytes([config.motor & 0xFF]) + packed + struct.pack("<bB", 35, error)
        await self.wire.send(CanFrame(motor.reply, data), at=t)

    async def _answer_register(
        self, data: bytes, t: float, measured: tuple[NDArray[np.float64], ...]
    ) -> None:
        number, operation, register = struct.unpack_from("<HBB", data)
        motor = self._by_id.get(number)
        if motor is None or motor.dialect != "damiao":
            return
        motor.heard = t
        if operation == _REFRESH:
            await self._report(motor, measured, t)
            return
        if register not in motor.registers or operation not in (_QUERY, _WRITE):
            return
        code = "<I" if register in _WHOLE else "<f"
        if operation == _WRITE:
            (motor.registers[register],) = struct.unpack(code, data[4:])
        value = motor.registers[register]
        answer = struct.pack(code, int(value) if register in _WHOLE else value)
        await self.wire.send(CanFrame(motor.reply, struct.pack("<HBB", number, operation, register) + answer))

    async def _watch(self) -> None:
        """Damiao: a motor that is not spoken to for TIMEOUT switches itself off."""
        while True:
            await self.clock.sleep_until(self.clock.now_ns() + _WATCH_NS)
            t = self.plant.now()
            for motor in self._motors:
                limit = motor.registers[_TIMEOUT] * _TIMEOUT_TICK_S
                if motor.dialect == "damiao" and motor.enabled and 0 < limit < t - motor.heard:
                    self._switch_off(motor, _LOST, t)

    def _on_trip(self, index: int) -> None:
        motor = self._motors[index]
        motor.broken = True
        self._switch_off(motor, _OVER_CURRENT[motor.dialect], self.plant.seconds(self.clock.now_ns()))


def _value(code: int, bits: int, limit: float) -> float:
    """From a code: 0 is the lower end, all ones the upper."""
    return code * 2.0 * limit / ((1 << bits) - 1) - limit


def _code(value: float, bits: int, limit: float, *, wrap: bool) -> int:
    """To a code; beyond its range it begins anew at the other end, or stays at the end."""
    top = (1 << bits) - 1
    code = int((value + limit) * top / (2.0 * limit))
    return code & top if wrap else min(max(code, 0), top)
