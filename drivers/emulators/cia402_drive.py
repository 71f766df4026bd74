"""The state machine of an emulated drive (CiA 402), and what it does to its axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.emulators.protocols.canopen_node import CanopenNode
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["Cia402Drive", "DriveState"]

_CSP = 8
# Interpolation periods: from SYNC to being at its target; how far ahead the drive looks; how long it goes on by itself.
_LAG, _AHEAD, _FURTHER = 1.5, 5.0, 10.0
_REMOTE, _TARGET_REACHED, _LIMIT, _FOLLOWS = 1 << 9, 1 << 10, 1 << 11, 1 << 12
_FOLLOWING_ERROR, _HEARTBEAT_ERROR, _HARDWARE = 0x8611, 0x8130, 0x5000


class DriveState(IntEnum):
    """By the bits that the statusword shows, voltage and quick stop bits included."""

    SWITCH_ON_DISABLED = 0x40
    READY = 0x21
    SWITCHED_ON = 0x33
    OPERATION_ENABLED = 0x37
    QUICK_STOP = 0x17
    FAULT = 0x08


class Cia402Drive:
    """One axis behind one node.

    counts_per_turn, zero   position units for a turn of the joint (negative: it counts the other way), and at q = 0
    send                    takes frames that the drive sends by itself
    status_bits             of the maker's own, always set in the statusword
    """

    def __init__(
        self,
        node: CanopenNode,
        axes: Axes,
        axis: int,
        *,
        counts_per_turn: float,
        zero: int,
        following_error: float,
        quick_stop: float,
        send: Callable[[CanFrame], None],
        status_bits: int = 0,
    ) -> None:
        self._status_bits = status_bits
        self.node = node
        self.state = DriveState.SWITCH_ON_DISABLED
        self.scale, self.zero = 2.0 * math.pi / counts_per_turn, zero
        self._axes, self._axis = axes, axis
        self._following_error, self._quick_stop = following_error, quick_stop
        self._send = send
        self._controlword = 0
        self._stopped_at: float | None = None
        self._target: tuple[float, float] | None = (
            None  # the last one: when it was meant for [s], and where [rad]
        )
        self.limited = False  # shows as "internal limit active"
        self.broken = False  # a fault that a reset does not clear

    # -- what the host wants ------------------------------------------------------------------------------------------

    def on_write(self, index: int, value: int, t: float) -> None:
        """An object has been written at t [s]."""
        if index == 0x6040:
            self._handle_command(value, t)
        elif index == 0x6060:
            self.node.objects[0x6061, 0] = value

    def _handle_command(self, word: int, t: float) -> None:
        before, self._controlword = self._controlword, word
        old = self.state
        state = self.state
        if state is DriveState.FAULT:
            if word & ~before & 0x80 and not self.broken:
                self._clear()
        elif not word & 0x02:
            state = DriveState.SWITCH_ON_DISABLED
        elif not word & 0x04:
            if state is DriveState.OPERATION_ENABLED:
                self._begin_quick_stop(t)
                return
            state = DriveState.SWITCH_ON_DISABLED if state is not DriveState.QUICK_STOP else state
        elif state is DriveState.QUICK_STOP and word & 0x0F == 0x0F and self.node.objects[0x605A, 0] >= 5:
            state = DriveState.OPERATION_ENABLED
        elif state is DriveState.SWITCH_ON_DISABLED:
            state = DriveState.READY if word & 0x07 == 0x06 else state
        elif state is DriveState.READY:
            state = DriveState.SWITCHED_ON if word & 0x07 == 0x07 else state
        elif state in (DriveState.SWITCHED_ON, DriveState.OPERATION_ENABLED):
            if word & 0x07 == 0x06:
                state = DriveState.READY
            else:
                state = DriveState.OPERATION_ENABLED if word & 0x08 else DriveState.SWITCHED_ON
        if state is not old and state is not DriveState.FAULT:
            self._enter(state, t)

    def _enter(self, state: DriveState, t: float) -> None:
        was_on = self._axes.on[self._axis]
        self.state = state
        self._stopped_at = None
        if state is DriveState.OPERATION_ENABLED:
            self._axes.enable(self._axis)
        elif was_on:
            self._axes.disable(self._axis, t)

    def _begin_quick_stop(self, t: float) -> None:
        self.state = DriveState.QUICK_STOP
        self._stopped_at = t + self._axes.slow_down(self._axis, t, self._quick_stop)

    def _clear(self) -> None:
        self.state = DriveState.SWITCH_ON_DISABLED
        self.node.objects[0x603F, 0] = 0
        self._send(self.node.emergency(0, 0))

    # -- what happens to it -------------------------------------------------------------------------------------------

    def fail(self, code: int, t: float) -> None:
        """Find a fault: off, and say so."""
        if self.state is not DriveState.FAULT:
            if self._axes.on[self._axis]:
                self._axes.disable(self._axis, t)
            self.state = DriveState.FAULT
            self.node.objects[0x603F, 0] = code
            self._send(self.node.emergency(code, 0x01 | (0x10 if code >> 8 == 0x81 else 0x20)))

    def trip(self, t: float) -> None:
        """A fault on command, which no reset clears."""
        self.broken = True
        self.fail(_HARDWARE, t)

    def watch(self, t: float) -> None:
        """Once in a while: the host's heartbeat, the end of a quick stop."""
        if self._stopped_at is not None and t >= self._stopped_at and self.node.objects[0x605A, 0] < 5:
            self._enter(DriveState.SWITCH_ON_DISABLED, t)
        if not self.node.host_silent(t):
            return
        self.node.forget_host()
        self._send(self.node.emergency(_HEARTBEAT_ERROR, 0x11))
        if self.state is DriveState.OPERATION_ENABLED:
            match self.node.objects.get((0x6007, 0)):
                case 1:
                    self.fail(_HEARTBEAT_ERROR, t)
                case 2:
                    self._enter(DriveState.SWITCH_ON_DISABLED, t)
                case 3:
                    self._begin_quick_stop(t)

    # -- SYNC ---------------------------------------------------------------------------------------------------------

    def set_setpoint(self, t: float, slot: int, meant: float, period: float) -> None:
        """Follow targets; the present one was meant for SYNC number `slot`, which is due at `meant` [s].

        The drive goes for where the line through the last two will be some periods from now, and goes on where no other
        comes: neither a late SYNC nor one that is missing is felt.
        """
        if self.state is not DriveState.OPERATION_ENABLED or self.node.objects[0x6061, 0] != _CSP:
            self._target = None
            return
        target = (self.node.objects[0x607A, 0] - self.zero) * self.scale
        before, rate = self._target, 0.0
        if before is not None and slot > before[0]:
            rate = (target - before[1]) / ((slot - before[0]) * period)
        self._target = (slot, target)
        start, ahead = self._axes.setpoint(self._axis, t), _AHEAD * period
        goal = target + rate * (t + ahead - meant - _LAG * period)
        rate = (goal - start) / ahead
        self._axes.set_setpoint(
            self._axis, t, start, rate=rate, velocity=rate, span=ahead + _FURTHER * period
        )

    def show(self, t: float, position: float, velocity: int, current: int, torque: int) -> None:
        """What the sensors say: joint position [rad], the rest in the drive's units."""
        objects = self.node.objects
        objects[0x6064, 0] = _fit(round(position / self.scale) + self.zero, 32)
        objects[0x606C, 0] = _fit(velocity, 32)
        objects.show((0x6078, 0), _fit(current, 16))
        objects.show((0x6077, 0), _fit(torque, 16))
        error = abs(self._axes.setpoint(self._axis, t) - position)
        if self.state is DriveState.OPERATION_ENABLED and error > self._following_error:
            self.fail(_FOLLOWING_ERROR, t)
        objects[0x6041, 0] = self.statusword

    @property
    def statusword(self) -> int:
        word = int(self.state) | _REMOTE | self._status_bits
        if self.state is DriveState.OPERATION_ENABLED:
            word |= _FOLLOWS | _TARGET_REACHED
        return word | _LIMIT if self.limited else word


def _fit(value: int, bits: int) -> int:
    """At its limits a field stays there."""
    top = (1 << (bits - 1)) - 1
    return max(-top - 1, min(top, value))
