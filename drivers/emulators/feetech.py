"""Emulated Feetech servos, STS or SCS, one per joint.

FF FF, id, length, instruction (answers: an error byte), parameters, and the inverted sum of all from the id on.
Instructions: 01 ping, 02 read, 03 write, 82 sync read (STS only), 83 sync write. Words are little-endian on STS and
big-endian on SCS; negative numbers are a size and a sign bit. There is no watchdog: a servo that hears nothing holds
its last goal. A register that is not there reads 0, and what cannot be written is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from heft.drivers.emulators.base.servo_line import (
    Reply,
    Request,
    Servo,
    ServoConfig,
    ServoLine,
    ServoLineOptions,
)
from heft.drivers.plant.plant import Plant

__all__ = ["Feetech", "FeetechOptions", "FeetechServo"]

_ALL = 0xFE
_TORQUE, _GOAL, _LIMIT = 40, 42, 1000
_READ_ONLY = (range(5), range(56, 128))


class FeetechServo(ServoConfig):
    """One servo as it was set up."""

    #: 777 is an STS3215.
    model: int = 777
    mode: Annotated[int, Field(ge=0, le=3)] = 0
    #: Bit 2: velocity in count/s, else in 50 count/s; bit 3: goal velocity 0 is the fastest; bit 4: counts turns.
    phase: Annotated[int, Field(ge=0, le=255)] = 12
    #: Lowest and highest position; both 0: turns without end.
    limits: tuple[int, int] | None = None


class FeetechOptions(ServoLineOptions):
    """An arm of Feetech servos."""

    series: Literal["sts", "scs"] = "sts"
    #: One per joint, in the order of the joints; left out: ids 1, 2, ...
    servos: tuple[FeetechServo, ...] | None = None


class Feetech(ServoLine[FeetechOptions, FeetechServo]):
    """n servos on one line."""

    Options = FeetechOptions
    OVERLOAD = 0x20

    def __init__(self, name: str, options: FeetechOptions, plant: Plant) -> None:
        given = options.servos or tuple(FeetechServo(id=i + 1) for i in range(len(plant.axes)))
        super().__init__(name, options, plant, given)
        self._little = options.series == "sts"
        for servo in self._servos:
            config = servo.config
            memory = {
                0: 3,
                1: 10,
                2: 0 if self._little else 1,
                5: config.id,
                7: config.return_delay_us // 2,
                8: 1,
            }
            servo.memory = memory | {18: config.phase, 33: config.mode if self._little else 0, 55: 1}
            low, high = config.limits or (0, 4095 if self._little else 1023)
            for address, value in ((3, config.model), (9, low), (11, high), (48, _LIMIT)):
                self._put(servo.memory, address, value)

    def _put(self, memory: dict[int, int], address: int, value: int) -> None:
        low, high = value & 0xFF, value >> 8 & 0xFF
        memory[address], memory[address + 1] = (low, high) if self._little else (high, low)

    def _turn(self, servo: Servo[FeetechServo]) -> tuple[int, float]:
        turn, middle = (4096, 2048.0) if self._little else (1229, 512.0)
        return turn, middle if servo.config.zero is None else servo.config.zero

    def _counts(self, servo: Servo[FeetechServo], position: float) -> float:
        exact = 4096.0 if self._little else 1228.8
        return position * servo.config.gear * exact / (2.0 * math.pi) + self._turn(servo)[1]

    def _radians(self, servo: Servo[FeetechServo], counts: float) -> float:
        exact = 4096.0 if self._little else 1228.8
        return (counts - self._turn(servo)[1]) * 2.0 * math.pi / (exact * servo.config.gear)

    # -- packets ------------------------------------------------------------------------------------------------------

    def _packets(self, buffer: bytes) -> Iterator[tuple[int, Request | None]]:
        place = 0
        while len(buffer) - place >= 6:
            length = buffer[place + 3]
            end = place + 4 + length
            header = buffer.startswith(b"\xff\xff", place) and buffer[place + 2] != 0xFF and length >= 2
            if header and end > len(buffer):
                return
            if not header or sum(buffer[place + 2 : end]) & 0xFF != 0xFF:
                place += 1
                yield place, None
                continue
            packet, place = buffer[place:end], end
            yield end, Request(packet[2], packet[4], packet[5:-1])

    def _status(self, servo: Servo[FeetechServo], data: bytes = b"") -> Reply:
        body = bytes([servo.config.id, len(data) + 2, servo.error]) + data
        return Reply(b"\xff\xff" + body + bytes([0xFF - sum(body) % 256]), 2e-6 * servo.memory[7])

    def _execute(self, request: Request, t: float) -> Iterable[Reply]:
        p = request.parameters
        if request.instruction == 0x82 and self._little and len(p) > 2:
            for number in p[2:]:
                if number in self._by_id:
                    yield self._status(self._by_id[number], self._read(self._by_id[number], p[0], p[1], t))
        elif request.instruction == 0x83 and len(p) > 2:
            for at in range(2, len(p) - p[1], p[1] + 1):
                if p[at] in self._by_id:
                    self._write(self._by_id[p[at]], p[0], p[at + 1 : at + 1 + p[1]], t)
        else:
            servos = [self._by_id[request.id]] if request.id in self._by_id else []
            for servo in self._servos if request.id == _ALL else servos:
                answers = request.id != _ALL
                if request.instruction == 1:
                    yield self._status(servo)
                elif request.instruction == 2 and len(p) == 2 and answers:
                    yield self._status(servo, self._read(servo, p[0], p[1], t))
                elif request.instruction == 3 and len(p) > 1:
                    self._write(servo, p[0], p[1:], t)
                    if answers and servo.memory[8]:
                        yield self._status(servo)

    # -- registers ----------------------------------------------------------------------------------------------------

    def _read(self, servo: Servo[FeetechServo], address: int, count: int, t: float) -> bytes:
        q, v, torque = (float(values[servo.index]) for values in self._sample(t))
        steps = 1.0 if servo.config.phase & 4 or not self._little else 50.0
        exact = 4096.0 if self._little else 1228.8
        velocity = v * servo.config.gear * exact / (2.0 * math.pi) / steps
        ampere = self._ampere(servo, torque)
        told = dict(servo.memory)
        told |= {_TORQUE: int(servo.torque), 62: 74, 63: 35, 65: servo.error}
        self._put(told, _GOAL, _sized(servo.goal, 15))
        self._put(told, 56, _sized(round(self._counts(servo, q)), 15))
        self._put(told, 58, _sized(round(velocity), 15))
        self._put(told, 60, _sized(max(-1000, min(1000, round(200.0 * ampere))), 10))
        if self._little:
            self._put(told, 69, _sized(max(-32767, min(32767, round(ampere / 0.0065))), 15))
        return bytes(told.get(a, 0) for a in range(address, address + count))

    def _write(self, servo: Servo[FeetechServo], address: int, data: bytes, t: float) -> None:
        for i, byte in enumerate(data):
            if not any(address + i in taken for taken in _READ_ONLY):
                servo.memory[address + i] = byte
        end = address + len(data)
        if address <= _TORQUE < end:
            self._switch(servo, servo.memory[_TORQUE] == 1, t)
        if address <= _GOAL and end >= _GOAL + 2:
            word = bytes((servo.memory[_GOAL], servo.memory[_GOAL + 1]))
            raw = int.from_bytes(word, "little" if self._little else "big")
            goal = -(raw & 0x7FFF) if raw & 0x8000 else raw
            low, high = servo.config.limits or (0, 4095 if self._little else 1023)
            if low or high:
                goal = max(low, min(high, goal))
            self._go(servo, goal, t)


def _sized(value: int, sign: int) -> int:
    """A number as its size, with a bit for its sign."""
    return abs(value) | (1 << sign if value < 0 else 0)
