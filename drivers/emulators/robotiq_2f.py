"""An emulated Robotiq 2F gripper: Modbus RTU, three registers to write at 0x03E8, three to read at 0x07D0.

It must be activated by a rising rACT, and moves to rPR while rGTO is set. Objects lie between its fingers one after the
other, in the order of the options: each is held from the moment the fingers touch it to the moment they open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from heft.drivers.emulators.base.emulator import Emulator, EmulatorOptions
from heft.drivers.emulators.protocols.modbus_slave import IllegalAddress, ModbusSlave
from heft.drivers.emulators.wires.serial_wire import SerialWire
from heft.drivers.options import Positive
from heft.drivers.plant.objects import ObjectOptions
from heft.drivers.plant.plant import Plant

__all__ = ["GripperOptions", "Robotiq2f"]


_ACTION, _STATUS = 0x03E8, 0x07D0
_ACTIVATE, _GO = 0x01, 0x08
_MOVING, _CLOSING_CONTACT, _THERE = 0, 2, 3  # of gOBJ
_PENDING, _NOT_ACTIVATED, _NO_COMMUNICATION = 0x5, 0x7, 0x9
_QUIET_S = 1.0


class GripperOptions(EmulatorOptions):
    """One gripper, and the objects it picks up in order."""

    baud: Literal[115200] = 115200
    unit: Annotated[int, Field(ge=1, le=247)] = 9
    #: Largest opening [m]; slowest and fastest speed of the fingers [m/s].
    stroke: Positive = 0.085
    #: What its position reads with the fingers fully open, and fully closed: they stop there, whatever was asked.
    open_count: Annotated[int, Field(ge=0, le=255)] = 13
    closed_count: Annotated[int, Field(ge=0, le=255)] = 230
    slowest: Positive = 0.02
    fastest: Positive = 0.15
    #: How long activation takes [s]; on the real one it opens and closes fully.
    activation_s: Positive = 0.3
    #: Motor current while moving and while holding [A].
    moving_current: Positive = 0.15
    holding_current: Positive = 0.4
    #: How long it takes to carry out a request [s].
    response_s: Annotated[float, Field(ge=0)] = 0.004
    #: What there is to pick up, by name, in the order in which the hand will find it.
    objects: dict[str, ObjectOptions] = Field(default_factory=dict)


class Robotiq2f(Emulator[Any, SerialWire]):
    """Fingers that move evenly in time; their state is worked out when somebody asks."""

    Options: ClassVar[type[GripperOptions]] = GripperOptions

    def __init__(self, name: str, options: GripperOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self._slave = ModbusSlave(options.unit, self._read, self._write)
        self._flags = 0
        self._requested = self._speed = 0
        self._active_from: float | None = None  # when activation is over [s]
        start = float(options.open_count)
        self._start_t, self._start, self._goal = 0.0, start, start  # of the motion [s], [counts]
        self._to_come = list(options.objects.items())
        self._held: str | None = None
        self._touching = False
        self._heard = 0.0
        self.declare({}, {"state": 0.0})

    def _make_wire(self) -> SerialWire:
        return SerialWire(self.name, self.plant, self.options.baud)

    async def serve(self) -> None:
        while True:
            for chunk in await self.wire.receive():
                responses = self._slave.feed(chunk.data, chunk.host_ns)
                if responses:
                    await self.clock.sleep_until(chunk.host_ns + round(self.options.response_s * 1e9))
                for response in responses:
                    await self.wire.send(response)

    def slip(self) -> None:
        """Lose what is held: the fingers close on nothing."""
        if self._held is not None:
            self._move(self.plant.now(), self._reachable(self._requested))
            self.plant.drop()
            self._held, self._touching = None, False

    # -- registers ----------------------------------------------------------------------------------------------------

    def _read(self, address: int, count: int) -> Sequence[int]:
        if not _STATUS <= address <= address + count <= _STATUS + 3:
            raise IllegalAddress
        t = self.plant.now()
        position = self._position(t)
        active = self._active_from is not None and t >= self._active_from
        activation = 0 if self._active_from is None else 3 if active else 1
        moving = active and position != self._goal
        contact = _CLOSING_CONTACT if self._touching else _THERE
        state = _MOVING if moving or not self._flags & _GO else contact
        current = self.options.moving_current if moving else self.options.holding_current * self._touching
        six = (
            (self._flags & (_ACTIVATE | _GO)) | activation << 4 | state << 6,
            0,
            self._fault(t, activation),
            self._requested,
            round(position),
            round(current * 100.0),
        )
        self._heard = t
        words = [six[0] << 8 | six[1], six[2] << 8 | six[3], six[4] << 8 | six[5]]
        return words[address - _STATUS :][:count]

    def _fault(self, t: float, activation: int) -> int:
        if self.status:
            return self.status & 0xFF
        if t - self._heard > _QUIET_S and activation == 3:
            return _NO_COMMUNICATION
        if activation == 0:
            return _NOT_ACTIVATED
        return _PENDING if activation == 1 and self._flags & _GO else 0

    def _write(self, address: int, registers: Sequence[int]) -> None:
        if address != _ACTION or len(registers) != 3:
            raise IllegalAddress
        t = self._heard = self.plant.now()
        flags, requested = registers[0] >> 8, registers[1] & 0xFF
        if flags & _ACTIVATE and not self._flags & _ACTIVATE:
            self._active_from = t + self.options.activation_s
            start = float(self.options.open_count)
            self._start_t, self._start, self._goal = t, start, start
        elif not flags & _ACTIVATE:
            self._active_from = None
        self._flags = flags
        self._requested, self._speed = requested, registers[2] >> 8
        if flags & _GO and self._active_from is not None and t >= self._active_from:
            self._go(t, self._reachable(requested))

    # -- fingers ------------------------------------------------------------------------------------------------------

    def _reachable(self, requested: int) -> float:
        """Where the fingers stop [counts]."""
        return float(min(max(requested, self.options.open_count), self.options.closed_count))

    def _go(self, t: float, target: float) -> None:
        position = self._position(t)
        if target < position:
            if self._held is not None:
                self.plant.schedule(t, self.plant.drop)
            self._held, self._touching = None, False
            self._move(t, target)
        elif not self._touching:
            self._close(t, target)

    def _close(self, t: float, target: float) -> None:
        """Until the target, or the next object where that comes first."""
        stroke = self.options.stroke
        if self._to_come:
            name, thing = self._to_come[0]
            contact = float(round(self.options.closed_count - self._travel * min(thing.width / stroke, 1.0)))
            if self._position(t) <= contact < target:
                self._to_come.pop(0)
                touch = self._move(t, contact)
                self._held, self._touching = name, True
                self.plant.schedule(touch, lambda: self._pick(name, thing))
                return
        self._move(t, target)

    def _pick(self, name: str, thing: ObjectOptions) -> None:
        if self._held == name:
            self.plant.pick(name, thing.body)

    def _move(self, t: float, goal: float) -> float:
        """Send the fingers to a position [counts]; when they arrive [s]."""
        self._start, self._start_t, self._goal = self._position(t), t, goal
        return t + abs(goal - self._start) / self._counts_per_second

    def _position(self, t: float) -> float:
        way = min(max(t - self._start_t, 0.0) * self._counts_per_second, abs(self._goal - self._start))
        return self._start + float(np.sign(self._goal - self._start)) * way

    @property
    def _counts_per_second(self) -> float:
        o = self.options
        return float(self._travel * (o.slowest + (o.fastest - o.slowest) * self._speed / 255.0) / o.stroke)

    @property
    def _travel(self) -> int:
        """Counts from open to closed."""
        return int(self.options.closed_count - self.options.open_count)
