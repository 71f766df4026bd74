"""Emulated moteus controllers: registers over CAN FD, one controller per joint.

Identifier: source << 8 | destination, bit 15 set where a reply is wanted. A frame is a row of subframes: writes 0x00
to 0x0F, reads 0x10 to 0x1F (type in bits 2 and 3: int8, int16, int32, float; count in bits 0 and 1, or behind), 0x50
fills. Numbers above 127 are sent in groups of seven bits, lowest first.
"""

from __future__ import annotations

import asyncio
import math
import struct
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.emulators.base.drive_model import ONE_INSTANT_S, DriveModel, DriveOptions
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.wires.can_wire import CanWire
from heft.drivers.errors import OptionError
from heft.drivers.options import Options, Positive
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.can_frame import FD_LENGTHS, CanFrame

__all__ = ["Moteus", "MoteusController", "MoteusOptions"]

_WATCH_NS = 5_000_000
_STOPPED, _FAULT, _POSITION, _TIMEOUT, _ZERO_VELOCITY = 0, 1, 10, 11, 12
_HOLDING = (_POSITION, _ZERO_VELOCITY)
_DRIVER_FAULT = 33
_PLANNER_HZ = 4.0  # as slow as its own planner looks from outside, roughly
_FORMATS, _SIZES = ("<b", "<h", "<i", "<f"), (1, 2, 4, 4)
_UNKNOWN = 1

_POS, _VEL, _TORQUE, _CURRENT = (0.01, 1e-4, 1e-5), (0.1, 2.5e-4, 1e-5), (0.5, 0.01, 1e-3), (1.0, 0.1, 1e-3)
_VOLT, _TEMPERATURE, _TIME, _PLAIN = (0.5, 0.1, 1e-3), (1.0, 0.1, 1e-3), (0.01, 1e-3, 1e-6), (1.0, 1.0, 1.0)
_RATIO = (1 / 127, 1 / 32767, 1 / 2147483647)
#: What one step of int8, int16, int32 stands for.
_STEPS = {
    0x000: _PLAIN,
    0x001: _POS,
    0x002: _VEL,
    0x003: _TORQUE,
    0x004: _CURRENT,
    0x005: _CURRENT,
    0x006: _POS,
    0x00A: _TEMPERATURE,
    0x00B: _PLAIN,
    0x00C: _PLAIN,
    0x00D: _VOLT,
    0x00E: _TEMPERATURE,
    0x00F: _PLAIN,
    0x020: _POS,
    0x021: _VEL,
    0x022: _TORQUE,
    0x023: _RATIO,
    0x024: _RATIO,
    0x025: _TORQUE,
    0x026: _POS,
    0x027: _TIME,
    0x028: _VEL,
    0x029: (0.05, 1e-3, 1e-5),
    0x100: _PLAIN,
    0x101: _PLAIN,
    0x102: _PLAIN,
    0x120: _PLAIN,
    0x121: _PLAIN,
    0x122: _PLAIN,
}
_COMMANDS = range(0x020, 0x02A)
_LIMITS = 96  # faults from here on only say what limits the output


class MoteusController(Options):
    """One controller as it was set up."""

    number: Annotated[int, Field(ge=1, le=126)]
    #: Turns of its output for one of the joint (negative: the other way); its reading where the joint is at 0 [turn].
    gear: float = 1.0
    zero: float = 0.0
    serial: int = 1
    #: Register 0x00C: 0 counts from where it was switched on, 1 referenced to its rotor, 2 to its output.
    home_state: Annotated[int, Field(ge=0, le=2)] = 2


class MoteusOptions(DriveOptions):
    """An arm of controllers."""

    #: One per joint, in the order of the joints; left out: numbers 1, 2, ...
    controllers: tuple[MoteusController, ...] | None = None
    #: servo.default_timeout_s: after this time without a command a controller stops by itself [s].
    default_timeout_s: Positive = 0.1
    #: servo.default_accel_limit [turn/s2]: with it the controller plans its own way to each setpoint; a negative
    #: limit in a command switches that off. Null: there is none.
    default_accel_limit: Positive | None = 50.0
    #: Distance from the setpoint at which a controller gives up [rad at the joint].
    following_error: Positive = 0.3


@dataclass
class _Servo:
    """State of one controller; times in seconds since the plant's start."""

    index: int
    config: MoteusController
    mode: int = _STOPPED
    fault: int = 0
    broken: bool = False
    heard: float = 0.0
    timeout: float = math.inf
    written: dict[int, float] = field(default_factory=dict)

    @property
    def scale(self) -> float:
        """[rad] of the joint for one turn of the output."""
        return 2.0 * math.pi / self.config.gear


class Moteus(Emulator[MoteusOptions, CanWire]):
    """n controllers on one bus."""

    Options = MoteusOptions

    def __init__(self, name: str, options: MoteusOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        n = len(plant.axes)
        given = options.controllers or tuple(MoteusController(number=i + 1, serial=i + 1) for i in range(n))
        if len(given) != n:
            raise OptionError(f"{name}.controllers: {len(given)} for {n} joints ({', '.join(plant.axes)})")
        self._servos = [_Servo(i, config) for i, config in enumerate(given)]
        self._by_number = {servo.config.number: servo for servo in self._servos}
        self._stages = Axes(
            name,
            plant,
            bandwidth_hz=options.bandwidth_hz,
            on_trip=self._on_trip,
            period_s=1.0 / options.servo_hz,
            brakes=options.brakes(n),
            filter_hz=_PLANNER_HZ,
        )
        self._stages.smoothed[:] = False
        self._model = DriveModel(name, options, plant, self._stages)
        self.declare({}, {"motion": 0.0, "current": 0.5 * options.window_s})

    def _make_wire(self) -> CanWire:
        return CanWire(self.name, self.plant, self.options.settings(fd=True))

    # -- the bus ------------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} bus")
            tasks.create_task(self._watch(), name=f"emulator {self.name} watch")

    async def _listen(self) -> None:
        while True:
            measured, measured_t = None, 0.0
            for frame in await self.wire.receive():
                servo = self._by_number.get(frame.id & 0x7F)
                if servo is None or frame.remote or frame.error or frame.id & 0x80:
                    continue
                self.plant.advance(frame.host_ns)
                t = self.plant.seconds(frame.host_ns)
                if measured is None or t - measured_t > ONE_INSTANT_S:
                    measured, measured_t = self._model.measure(t), t
                if 0 < self.status < _LIMITS and servo.mode in _HOLDING:
                    self._leave(servo, _FAULT, self.status, t)
                reply = self._execute(servo, frame.data, t, measured)
                if frame.id & 0x8000:
                    await self._reply(servo, frame.id >> 8 & 0x7F, reply, t)

    async def _reply(self, servo: _Servo, to: int, data: bytes, t: float) -> None:
        identifier = servo.config.number << 8 | to
        length = next(length for length in FD_LENGTHS if length >= len(data))
        extended = identifier > 0x7FF
        padded = data.ljust(length, b"\x50")
        frame = CanFrame(identifier, padded, extended=extended, fd=True, bitrate_switch=True)
        await self.wire.send(frame, at=t)

    def _execute(
        self, servo: _Servo, data: bytes, t: float, measured: tuple[NDArray[np.float64], ...]
    ) -> bytes:
        """All subframes of a request; what is answered."""
        reply, place = bytearray(), 0
        commanded = False
        try:
            while place < len(data):
                head, place = data[place], place + 1
                if head == 0x50:
                    continue
                if head >= 0x20:
                    break  # streams and others: not here
                kind, count = head >> 2 & 3, head & 3
                if count == 0:
                    count, place = _varuint(data, place)
                first, place = _varuint(data, place)
                if head < 0x10:
                    for register in range(first, first + count):
                        commanded |= self._write(servo, register, kind, data[place : place + _SIZES[kind]], t)
                        place += _SIZES[kind]
                else:
                    reply += self._read(servo, kind, first, count, measured)
        except (IndexError, struct.error):
            pass  # a frame that ends early is obeyed as far as it goes
        if commanded:
            self._command(servo, t)
        return bytes(reply)

    def _write(self, servo: _Servo, register: int, kind: int, raw: bytes, t: float) -> bool:
        """One register; True where a command has begun."""
        (value,) = struct.unpack(_FORMATS[kind], raw)
        if register == 0x000:
            self._enter(servo, int(value), t)
            servo.written.clear()
            return True
        if register in _COMMANDS:
            servo.written[register] = value if kind == 3 else _scaled(register, kind, value)
        return False

    def _read(
        self, servo: _Servo, kind: int, first: int, count: int, measured: tuple[NDArray[np.float64], ...]
    ) -> bytes:
        values = []
        for register in range(first, first + count):
            if register not in _STEPS:
                return b"\x31" + _as_varuint(register) + _as_varuint(_UNKNOWN)
            values.append(_packed(register, kind, self._value(servo, register, measured)))
        head = 0x20 | kind << 2 | (count if count <= 3 else 0)
        more = b"" if count <= 3 else _as_varuint(count)
        return bytes([head]) + more + _as_varuint(first) + b"".join(values)

    def _value(self, servo: _Servo, register: int, measured: tuple[NDArray[np.float64], ...]) -> float:
        q, v, torque = (float(values[servo.index]) for values in measured)
        sign = math.copysign(1.0, servo.config.gear)
        ampere = sign * torque / float(self.plant.torque_per_ampere[servo.index])
        match register:
            case 0x000:
                return servo.mode
            case 0x001 | 0x006:
                return q / servo.scale + servo.config.zero
            case 0x002:
                return v / servo.scale
            case 0x003:
                return torque / servo.config.gear
            case 0x004:
                return ampere
            case 0x00C:
                return servo.config.home_state
            case 0x00D:
                return 24.0
            case 0x00E:
                return 30.0
            case 0x00F:
                return servo.fault or self.status
            case 0x100:
                return 0x0200
            case 0x101:
                return 0x00010A
            case 0x120 | 0x121 | 0x122:
                return servo.config.serial + 0x01000000 * (register - 0x120)
            case _:
                return servo.written.get(register, math.nan if register in _COMMANDS else 0.0)

    # -- what the controllers do --------------------------------------------------------------------------------------

    def _enter(self, servo: _Servo, mode: int, t: float) -> None:
        was = servo.mode
        if mode == _STOPPED and not servo.broken:
            servo.fault = 0
        elif servo.mode in (_FAULT, _TIMEOUT):
            return  # only a stop leads out
        servo.mode = mode if not servo.broken else _FAULT
        if servo.mode in _HOLDING and was not in _HOLDING:
            self._stages.enable(servo.index)
        elif servo.mode not in _HOLDING and was in _HOLDING:
            self._stages.disable(servo.index, t)

    def _command(self, servo: _Servo, t: float) -> None:
        """Apply a complete command: setpoint, velocity and watchdog timeout."""
        servo.heard = t
        timeout = servo.written.get(0x027, math.nan)
        servo.timeout = self.options.default_timeout_s if math.isnan(timeout) else timeout or math.inf
        if servo.mode == _ZERO_VELOCITY:
            self._stages.slow_down(servo.index, t, 50.0)
        if servo.mode != _POSITION:
            return
        limit = servo.written.get(0x029, math.nan)
        stored = self.options.default_accel_limit
        self._stages.smoothed[servo.index] = stored is not None if math.isnan(limit) else limit >= 0.0
        position = servo.written.get(0x020, math.nan)
        velocity = servo.written.get(0x021, 0.0)
        velocity = 0.0 if math.isnan(velocity) else velocity * servo.scale
        start = (
            self._stages.setpoint(servo.index, t)
            if math.isnan(position)
            else (position - servo.config.zero) * servo.scale
        )
        self._stages.set_setpoint(servo.index, t, start, rate=velocity, velocity=velocity)

    async def _watch(self) -> None:
        while True:
            await self.clock.sleep_until(self.clock.now_ns() + _WATCH_NS)
            t = self.plant.now()
            position = self.plant.motor(np.array([t])).q[0]
            for servo in self._servos:
                if servo.mode in _HOLDING and t - servo.heard > servo.timeout:
                    self._leave(servo, _TIMEOUT, 0, t)
                away = abs(self._stages.setpoint(servo.index, t) - float(position[servo.index]))
                if servo.mode == _POSITION and away > self.options.following_error:
                    self._leave(servo, _FAULT, _DRIVER_FAULT, t)

    def _leave(self, servo: _Servo, mode: int, fault: int, t: float) -> None:
        if servo.mode in _HOLDING:
            self._stages.disable(servo.index, t)
        servo.mode, servo.fault = mode, fault

    def _on_trip(self, index: int) -> None:
        servo = self._servos[index]
        servo.broken = True
        self._leave(servo, _FAULT, _DRIVER_FAULT, self.plant.seconds(self.clock.now_ns()))


def _varuint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, place = data[place], place + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, place


def _as_varuint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _scaled(register: int, kind: int, value: int) -> float:
    """An integer as the number that it stands for; the most negative one is "not set"."""
    if value == -(1 << (8 * _SIZES[kind] - 1)):
        return math.nan
    return value * _STEPS[register][kind]


def _packed(register: int, kind: int, value: float) -> bytes:
    if kind == 3:
        return struct.pack("<f", value)
    top = (1 << (8 * _SIZES[kind] - 1)) - 1
    if math.isnan(value):
        return struct.pack(_FORMATS[kind], -top - 1)
    return struct.pack(_FORMATS[kind], max(-top, min(top, round(value / _STEPS[register][kind]))))
