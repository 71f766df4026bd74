"""Emulated Dynamixels of the X and P series, protocol 2.0, one servo per joint.

FF FF FD 00, id, length (2), instruction, parameters, CRC-16 (0x8005, high bit first, from 0); FF FF FD inside becomes
FF FF FD FD. Instructions: 01 ping, 02 read, 03 write, 08 reboot, 82 sync read, 83 sync write, 92 bulk read; answers are
55 with an error byte: bit 7 a hardware error, below it 02 instruction, 04 range, 05 length, 07 access. What is not
defined cannot be read or written, the EEPROM not while torque is on, and goals not once the bus watchdog has fired.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field

from heft.drivers.emulators.base.servo_line import (
    Reply,
    Request,
    Servo,
    ServoConfig,
    ServoLine,
    ServoLineOptions,
)
from heft.drivers.errors import OptionError
from heft.drivers.plant.plant import Plant

__all__ = ["Dynamixel", "DynamixelOptions", "DynamixelServo"]

_HEADER = b"\xff\xff\xfd\x00"
_PING, _READ, _WRITE, _REBOOT, _SYNC_READ, _SYNC_WRITE, _BULK_READ = 1, 2, 3, 8, 0x82, 0x83, 0x92
_ALL = 0xFE
_INSTRUCTION, _RANGE, _LENGTH, _ACCESS = 2, 4, 5, 7
_FIRED, _UNIT_S = 0xFF, 0.02

#: Model number, counts per turn, [1/min] of one count of velocity, [A] of one of current (0: no sensor), RAM's offset.
_MODELS: dict[str, tuple[int, int, float, float, int]] = {
    "XM430-W350": (1020, 4096, 0.229, 0.00269, 0),
    "XM540-W270": (1120, 4096, 0.229, 0.00269, 0),
    "XL430-W250": (1060, 4096, 0.229, 0.0, 0),
    "XL330-M288": (1200, 4096, 0.229, 0.001, 0),
    "PH42-020-S300": (2000, 607_500, 0.01, 0.001, 448),
    "PH54-200-S500": (2020, 1_003_846, 0.01, 0.001, 448),
}

#: Address, bytes, can be written; as on the X series. Up to 63: EEPROM.
_EEPROM = (
    (0, 2, 0), (2, 4, 0), (6, 1, 0), (7, 1, 1), (8, 1, 1), (9, 1, 1), (10, 1, 1), (11, 1, 1), (12, 1, 1), (13, 1, 1),
    (20, 4, 1), (24, 4, 1), (31, 1, 1), (32, 2, 1), (34, 2, 1), (36, 2, 1), (38, 2, 1), (44, 4, 1), (48, 4, 1),
    (52, 4, 1), (63, 1, 1),
)  # fmt: skip
_RAM = (
    (64, 1, 1), (65, 1, 1), (68, 1, 1), (69, 1, 0), (70, 1, 0), (76, 2, 1), (78, 2, 1), (80, 2, 1), (82, 2, 1),
    (84, 2, 1), (88, 2, 1), (90, 2, 1), (98, 1, 1), (100, 2, 1), (102, 2, 1), (104, 4, 1), (108, 4, 1), (112, 4, 1),
    (116, 4, 1), (120, 2, 0), (122, 1, 0), (123, 1, 0), (124, 2, 0), (126, 2, 0), (128, 4, 0), (132, 4, 0), (136, 4, 0),
    (140, 4, 0), (144, 2, 0), (146, 1, 0),
)  # fmt: skip
_REGISTERS = {address: (size, writable) for address, size, writable in (*_EEPROM, *_RAM)}
_DEFINED = frozenset(address + i for address, (size, _) in _REGISTERS.items() for i in range(size))
_TORQUE, _ERROR, _WATCHDOG, _GOALS, _GOAL = 64, 70, 98, range(100, 108), 116


class DynamixelServo(ServoConfig):
    """One servo as it was set up."""

    model: str = "XM430-W350"
    firmware: int = 46
    #: Operating Mode: 3 position, 4 extended position, 5 current-based position.
    mode: Annotated[int, Field(ge=0, le=16)] = 3
    #: Status Return Level: 0 answers pings only, 1 reads too, 2 everything.
    status_return: Annotated[int, Field(ge=0, le=2)] = 2


class DynamixelOptions(ServoLineOptions):
    """An arm of Dynamixels."""

    #: One per joint, in the order of the joints; left out: ids 1, 2, ...
    servos: tuple[DynamixelServo, ...] | None = None


class Dynamixel(ServoLine[DynamixelOptions, DynamixelServo]):
    """n Dynamixels on one line."""

    Options = DynamixelOptions
    OVERLOAD = 0x20

    def __init__(self, name: str, options: DynamixelOptions, plant: Plant) -> None:
        given = options.servos or tuple(DynamixelServo(id=i + 1) for i in range(len(plant.axes)))
        for servo in given:
            if servo.model not in _MODELS:
                raise OptionError(f"{name}.servos: model {servo.model!r}; known: {', '.join(_MODELS)}")
        super().__init__(name, options, plant, given)
        for made in self._servos:
            self._power_up(made)

    def _power_up(self, servo: Servo[DynamixelServo]) -> None:
        """The memory as it is after switching on; what is in the EEPROM stays."""
        config = servo.config
        number, turn, *_ = _MODELS[config.model]
        kept = {a: v for a, v in servo.memory.items() if a < 64}
        servo.memory = {}
        self._put(servo, 0, 2, number)
        values = {6: config.firmware, 7: config.id, 8: 3, 9: config.return_delay_us // 2, 11: config.mode}
        for address, value in {**values, 12: 255, 13: 2, 63: 52}.items():
            self._put(servo, address, 1, value)
        symmetric = bool(_MODELS[config.model][4])
        self._put(servo, 48, 4, turn // 2 if symmetric else turn - 1)
        self._put(servo, 52, 4, -(turn // 2) if symmetric else 0)
        self._put(servo, 68, 1, config.status_return)
        servo.memory |= kept
        servo.error = 0

    def _put(self, servo: Servo[DynamixelServo], address: int, size: int, value: int) -> None:
        for i, byte in enumerate((value & (1 << 8 * size) - 1).to_bytes(size, "little")):
            servo.memory[address + i] = byte

    def _turn(self, servo: Servo[DynamixelServo]) -> tuple[int, float]:
        _, turn, _, _, ram = _MODELS[servo.config.model]
        centre = 0.0 if ram else turn / 2
        return turn, centre if servo.config.zero is None else servo.config.zero

    # -- packets ------------------------------------------------------------------------------------------------------

    def _packets(self, buffer: bytes) -> Iterator[tuple[int, Request | None]]:
        place = 0
        while len(buffer) - place >= 10:
            if not buffer.startswith(_HEADER, place):
                place += 1
                yield place, None
                continue
            length = int.from_bytes(buffer[place + 5 : place + 7], "little")
            end = place + 7 + length
            if length > 1024 or length < 3:
                place += 1
                yield place, None
                continue
            if end > len(buffer):
                return
            packet = buffer[place:end]
            if int.from_bytes(packet[-2:], "little") != _crc(packet[:-2]):
                place += 1
                yield place, None
                continue
            place = end
            body = _unstuffed(packet[7:-2])
            yield end, Request(packet[4], body[0], body[1:])

    def _status(self, servo: Servo[DynamixelServo], data: bytes = b"", error: int = 0) -> Reply:
        error |= 0x80 if servo.error else 0
        body = _stuffed(bytes([0x55, error]) + data)
        packet = _HEADER + bytes([servo.config.id]) + struct.pack("<H", len(body) + 2) + body
        delay_s = 2e-6 * servo.memory[9]
        return Reply(packet + struct.pack("<H", _crc(packet)), delay_s)

    def _execute(self, request: Request, t: float) -> Iterable[Reply]:
        p = request.parameters
        match request.instruction:
            case 0x82 if len(p) >= 4:
                address, count = struct.unpack_from("<HH", p)
                for number in p[4:]:
                    if number in self._by_id:
                        yield from self._answer_read(self._by_id[number], address, count, t)
            case 0x92:
                for number, address, count in struct.iter_unpack("<BHH", p[: len(p) // 5 * 5]):
                    if number in self._by_id:
                        yield from self._answer_read(self._by_id[number], address, count, t)
            case 0x83 if len(p) >= 4:
                address, count = struct.unpack_from("<HH", p)
                for at in range(4, len(p) - count, count + 1):
                    if p[at] in self._by_id:
                        self._write(self._by_id[p[at]], address, p[at + 1 : at + 1 + count], t)
            case _:
                named = self._by_id.get(request.id)
                servos = self._servos if request.id == _ALL else [named] if named else []
                for servo in servos:
                    yield from self._single(servo, request, t)

    def _single(self, servo: Servo[DynamixelServo], request: Request, t: float) -> Iterable[Reply]:
        p, level = request.parameters, servo.memory[68]
        if request.instruction == _PING:
            number = _MODELS[servo.config.model][0]
            yield self._status(servo, struct.pack("<HB", number, servo.config.firmware))
        elif request.id == _ALL:
            if request.instruction == _WRITE and len(p) > 2:
                self._write(servo, int.from_bytes(p[:2], "little"), p[2:], t)
        elif request.instruction == _READ and len(p) == 4:
            address, count = struct.unpack("<HH", p)
            yield from self._answer_read(servo, address, count, t)
        elif request.instruction == _WRITE and len(p) > 2:
            error = self._write(servo, int.from_bytes(p[:2], "little"), p[2:], t)
            if level == 2:
                yield self._status(servo, error=error)
        elif request.instruction == _REBOOT:
            if level == 2:
                yield self._status(servo)
            self._switch(servo, False, t)
            self._power_up(servo)
        elif level == 2:
            yield self._status(servo, error=_INSTRUCTION)

    # -- registers ----------------------------------------------------------------------------------------------------

    def _local(self, servo: Servo[DynamixelServo], address: int) -> int | None:
        """The address as on the X series; None where this model has nothing."""
        ram = _MODELS[servo.config.model][4]
        if address < 64:
            return address
        return address - ram if address - ram >= 64 else None

    def _answer_read(
        self, servo: Servo[DynamixelServo], address: int, count: int, t: float
    ) -> Iterable[Reply]:
        if servo.memory[68] < 1:
            return
        first = self._local(servo, address)
        if first is None or not count or not _DEFINED.issuperset(range(first, first + count)):
            yield self._status(servo, error=_ACCESS)
            return
        live = self._live(servo, t)
        data = bytes(live.get(a, servo.memory.get(a, 0)) for a in range(first, first + count))
        yield self._status(servo, data)

    def _live(self, servo: Servo[DynamixelServo], t: float) -> dict[int, int]:
        """Registers that measure, byte by byte."""
        _, _, rpm, ampere, _ = _MODELS[servo.config.model]
        q, v, torque = (float(values[servo.index]) for values in self._sample(t))
        position = round(self._counts(servo, q))
        velocity = round(v * servo.config.gear * 60.0 / (2.0 * math.pi) / rpm)
        current = self._ampere(servo, torque)
        effort = round(current / ampere) if ampere else round(200.0 * current)
        effort = max(-32768, min(32767, effort))
        packed = struct.pack("<HBBhhiiii", self._tick, 0, 0, 0, effort, velocity, position, 0, servo.goal)
        told = dict(enumerate(packed, 120))
        told |= dict(enumerate(struct.pack("<i", servo.goal), _GOAL))
        return told | {_TORQUE: int(servo.torque), _ERROR: servo.error, 144: 120, 145: 0, 146: 35}

    def _write(self, servo: Servo[DynamixelServo], address: int, data: bytes, t: float) -> int:
        """Write whole registers; the error, 0 where it was done."""
        place = self._local(servo, address)
        while data:
            if place is None or place not in _REGISTERS or not _REGISTERS[place][1]:
                return _ACCESS
            if place < 64 and servo.torque:
                return _ACCESS
            size = _REGISTERS[place][0]
            if len(data) < size:
                return _LENGTH
            error = self._set(servo, place, int.from_bytes(data[:size], "little", signed=size == 4), size, t)
            if error:
                return error
            place, data = place + size, data[size:]
        return 0

    def _set(self, servo: Servo[DynamixelServo], address: int, value: int, size: int, t: float) -> int:
        fired = servo.memory.get(_WATCHDOG, 0) == _FIRED
        if (address in _GOALS or address == _GOAL) and fired:
            return _RANGE
        if address == _TORQUE:
            if value > 1:
                return _RANGE
            self._switch(servo, bool(value), t)
        elif address == _WATCHDOG and value > 127:
            return _RANGE
        elif address == _GOAL:
            if servo.memory[11] == 3:
                low, high = (
                    int.from_bytes(bytes(servo.memory[a + i] for i in range(4)), "little", signed=True)
                    for a in (52, 48)
                )
                if not low <= value <= high:
                    return _RANGE
            self._go(servo, value, t)
        self._put(servo, address, size, value)
        return 0

    # -- what they do by themselves -----------------------------------------------------------------------------------

    def _watch_servo(self, servo: Servo[DynamixelServo], t: float) -> None:
        units = servo.memory.get(_WATCHDOG, 0)
        if servo.torque and 0 < units <= 127 and t - servo.heard > units * _UNIT_S:
            servo.memory[_WATCHDOG] = _FIRED  # it stays where it is, with torque
            self._stages.set_setpoint(servo.index, t, float(self._sample(t)[0][servo.index]))


def _remainder(byte: int) -> int:
    register = byte << 8
    for _ in range(8):
        register = (register << 1 ^ 0x8005 if register & 0x8000 else register << 1) & 0xFFFF
    return register


_REMAINDERS = [_remainder(byte) for byte in range(256)]


def _crc(data: bytes) -> int:
    register = 0
    for byte in data:
        register = _REMAINDERS[register >> 8 ^ byte] ^ (register << 8 & 0xFFFF)
    return register


def _stuffed(body: bytes) -> bytes:
    out = bytearray()
    for byte in body:
        out.append(byte)
        if out[-3:] == b"\xff\xff\xfd":
            out.append(0xFD)
    return bytes(out)


def _unstuffed(body: bytes) -> bytes:
    out = bytearray()
    after = False
    for byte in body:
        if not after:
            out.append(byte)
        after = not after and out[-3:] == b"\xff\xff\xfd"
    return bytes(out)
