"""The fingers of an emulated Robotiq gripper: what they do, however they are told.

The gripper must be activated, and moves to the requested position while it is told to go. Objects lie between its
fingers one after the other, in the order of the options: each is held from when the fingers touch it to when they open.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from heft.drivers.emulators.base.emulator import EmulatorOptions
from heft.drivers.options import Positive
from heft.drivers.plant.objects import ObjectOptions
from heft.drivers.plant.plant import Plant

__all__ = ["FingerOptions", "FingerState", "Fingers"]

_MOVING, _CLOSING_CONTACT, _THERE = 0, 2, 3  # of gOBJ
_PENDING, _NOT_ACTIVATED, _NO_COMMUNICATION = 0x5, 0x7, 0x9
_QUIET_S = 1.0


class FingerOptions(EmulatorOptions):
    """The fingers of one gripper, and the objects that they pick up in order."""

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
    #: What there is to pick up, by name, in the order in which the hand will find it.
    objects: dict[str, ObjectOptions] = Field(default_factory=dict)


class FingerState(NamedTuple):
    """What the gripper tells: echoes, activation (gSTA), object (gOBJ), fault (gFLT), position, current [10 mA]."""

    activate: bool
    go: bool
    activation: int
    object: int
    fault: int
    requested: int
    position: int
    current: int


class Fingers:
    """Fingers that move evenly in time; their state is worked out when somebody asks.

    fault   that somebody has set, besides what the gripper finds by itself
    """

    def __init__(self, options: FingerOptions, plant: Plant) -> None:
        self.options, self.plant = options, plant
        self.fault = 0
        self._activated = self._going = False
        self._requested = self._speed = 0
        self._active_from: float | None = None  # when activation is over [s]
        start = float(options.open_count)
        self._start_t, self._start, self._goal = 0.0, start, start  # of the motion [s], [counts]
        self._to_come = list(options.objects.items())
        self._held: str | None = None
        self._touching = False
        self._heard = 0.0

    def slip(self) -> None:
        """Lose what is held: the fingers close on nothing."""
        if self._held is not None:
            self._move(self.plant.now(), self._reachable(self._requested))
            self.plant.drop()
            self._held, self._touching = None, False

    def state(self) -> FingerState:
        """Now; counts as having been heard."""
        t = self.plant.now()
        position = self._position(t)
        active = self._active_from is not None and t >= self._active_from
        activation = 0 if self._active_from is None else 3 if active else 1
        moving = active and position != self._goal
        contact = _CLOSING_CONTACT if self._touching else _THERE
        found = _MOVING if moving or not self._going else contact
        current = self.options.moving_current if moving else self.options.holding_current * self._touching
        fault = self._own_fault(t, activation)
        self._heard = t
        return FingerState(
            self._activated,
            self._going,
            activation,
            found,
            fault,
            self._requested,
            round(position),
            round(current * 100.0),
        )

    def _own_fault(self, t: float, activation: int) -> int:
        if self.fault:
            return self.fault & 0xFF
        if t - self._heard > _QUIET_S and activation == 3:
            return _NO_COMMUNICATION
        if activation == 0:
            return _NOT_ACTIVATED
        return _PENDING if activation == 1 and self._going else 0

    def command(self, *, activate: bool, go: bool, position: int, speed: int) -> None:
        """What was written to it."""
        t = self._heard = self.plant.now()
        if activate and not self._activated:
            self._active_from = t + self.options.activation_s
            start = float(self.options.open_count)
            self._start_t, self._start, self._goal = t, start, start
        elif not activate:
            self._active_from = None
        self._activated, self._going = activate, go
        self._requested, self._speed = position, speed
        if go and self._active_from is not None and t >= self._active_from:
            self._go(t, self._reachable(position))

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
