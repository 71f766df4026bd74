"""Feetech STS (SMS) and SCS servos: all axes of an arm on one line, as in the SO-100 and SO-101.

Every cycle is a sync write of goal positions, and a sync read of everything from torque enable to current; SCS servos
know no sync read and are asked one after the other. They have no watchdog, and what they call load is the duty cycle of
their bridge, not a torque. See docs/devices/feetech.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heft.drivers.codecs import feetech as codec
from heft.drivers.codecs.servo_status import Status
from heft.drivers.devices.bus.can_options import in_order
from heft.drivers.devices.bus.cycle_assembler import CycleAssembler, Place
from heft.drivers.devices.bus.servo_client import ServoClient
from heft.drivers.devices.bus.servo_drives import (
    Request,
    ServoAxisOptions,
    ServoDrives,
    ServoOptions,
    unique_ids,
)
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, ProtocolError
from heft.drivers.options import Positive, RateHz
from heft.drivers.stream import Column, Stream

__all__ = ["Feetech", "FeetechAxis", "FeetechOptions"]

# Registers; words are two bytes.
_BYTE_ORDER, _MODEL, _DELAY, _LOWEST, _HIGHEST, _PHASE, _MODE = 2, 3, 7, 9, 11, 18, 33
_TORQUE, _GOAL, _POSITION, _VELOCITY, _LOAD, _STATUS, _CURRENT = 40, 42, 56, 58, 60, 65, 69
_LOCK = {"sts": 55, "scs": 48}
_LAST = {"sts": _CURRENT + 1, "scs": 66}
_TURN = {"sts": 4096.0, "scs": 1024 * 360 / 300}
_LARGE_STEPS, _FULL_ANGLE, _NO_CURRENT = 4, 16, 32  # bits of the phase: small steps where the first is set
_SIGN, _LOAD_SIGN = 15, 10
_AMPERE = 6.5e-3
_ERRORS = {1: "voltage", 2: "encoder", 4: "temperature", 8: "current", 32: "overload"}


class FeetechAxis(ServoAxisOptions):
    """One servo."""

    #: Counts per turn of its output; left out: 4096 (STS, SMS), or 1228.8 (SCS: 1024 over 300 degrees).
    counts_per_turn: Positive | None = None
    #: Model number that it must have (777: STS3215); left out: any.
    model: int | None = None


class FeetechOptions(ServoOptions):
    """Feetech servos, all on one line, all of one series."""

    #: sts: STS and SMS, magnetic encoders, low byte first; scs: potentiometers, high byte first.
    series: Literal["sts", "scs"] = "sts"
    #: Joint by joint.
    axes: dict[str, FeetechAxis]
    #: current [A], STS only; load: the duty cycle, which is no torque and from which nothing is identified.
    effort: Literal["current", "load"] = "current"
    #: Counts per second of one unit of velocity; an STS tells it in bit 2 of its phase register.
    speed_steps: Annotated[int, Field(gt=0)] = 1
    #: Cycles per second.
    rate_hz: RateHz = 100.0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        unique_ids(tuple(self.axes.values()))
        if self.series == "scs" and self.effort == "current":
            raise ValueError("effort: SCS servos tell no current; say effort: load (a duty cycle, no torque)")
        return self


class Feetech(ServoDrives[FeetechOptions]):
    """Yields `NAME.motion`, `NAME.current` or `NAME.load` (a duty cycle), and `NAME.played`."""

    Options = FeetechOptions

    def __init__(self, name: str, options: FeetechOptions, context: Context) -> None:
        self._axes = tuple(options.axes[axis] for axis in in_order(name, context.axes, tuple(options.axes)))
        self._order: codec.ByteOrder = "little" if options.series == "sts" else "big"
        self._asked = _LAST[options.series] + 1 - _TORQUE
        self._faults = [0] * len(self._axes)
        self._multi_turn = [False] * len(self._axes)
        super().__init__(name, options, context, self._axes)
        self.watchdog_s = None
        n, answer = len(self._axes), codec.STATUS_BYTES + self._asked
        self._asking = (
            [Request(codec.sync_read(_TORQUE, self._asked, self._ids), range(n), answer)]
            if options.series == "sts"
            else [
                Request(codec.read(servo, _TORQUE, self._asked), (i,), answer)
                for i, servo in enumerate(self._ids)
            ]
        )

    def _make_parser(self) -> codec.Parser:
        return codec.Parser()

    def _read_request(self, servo: int, address: int, count: int) -> bytes:
        return codec.read(servo, address, count)

    def _make_assembler(self) -> CycleAssembler:
        n, o = len(self.names), self.options
        motion: list[Column] = []
        velocities: list[Column] = []
        efforts: list[Column] = []
        for joint, axis in zip(self.names, self._axes, strict=True):
            turn = axis.counts_per_turn or _TURN[o.series]
            scale = 2.0 * math.pi / (turn * axis.gear)
            middle = 2048.0 if o.series == "sts" else 512.0
            zero = middle if axis.zero is None else axis.zero
            motion.append(Column(joint, "position", "rad", scale, -zero * scale, "count"))
            velocities.append(
                Column(joint, "velocity", "rad/s", o.speed_steps * scale, raw_unit=f"{o.speed_steps} count/s")
            )
            efforts.append(
                Column(joint, "current", "A", _AMPERE * axis.sign, raw_unit="6.5 mA")
                if o.effort == "current"
                else Column(joint, "load", "1", 1e-3 * axis.sign, raw_unit="0.1 %")
            )
        streams = [
            Stream(f"{self.name}.{what}", tuple(columns), o.rate_hz, dtype="<i4", at_request=True)
            for what, columns in (("motion", [*motion, *velocities]), (o.effort, efforts))
        ]
        places = [(Place(0, i), Place(0, n + i), Place(1, i)) for i in range(n)]
        return CycleAssembler(streams, places, self._block, self._publish, self._on_cycle_end)

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _find(self, client: ServoClient) -> Identity:
        order, sts = self._order, self.options.series == "sts"
        numbers = await self._ask_all(client, _MODEL, 2, order=order)
        for axis, number in enumerate(numbers):
            expected = self._axes[axis].model
            if expected is not None and number != expected:
                raise self._differs(axis, f"has model number {number}, the rig's file says {expected}")
        lowest = await self._ask_all(client, _LOWEST, 2, order=order)
        highest = await self._ask_all(client, _HIGHEST, 2, order=order)
        if sts:
            await self._check_sts(client)
        for axis, (low, high) in enumerate(zip(lowest, highest, strict=True)):
            free = low == high == 0  # turns without end
            self._multi_turn[axis] |= free
            self._lowest[axis], self._highest[axis] = (-math.inf, math.inf) if free else (low, high)
        torque = await self._ask_all(client, _TORQUE, 1)
        delays = await self._set_return_delay(client, _DELAY, torque)
        self._check_line(delays)
        return Identity(
            "Feetech", f"{self.options.series.upper()}, model {', '.join(map(str, sorted(set(numbers))))}"
        )

    async def _check_sts(self, client: ServoClient) -> None:
        orders = await self._ask_all(client, _BYTE_ORDER, 1)
        modes = await self._ask_all(client, _MODE, 1)
        phases = await self._ask_all(client, _PHASE, 1)
        for axis, (order, mode, phase) in enumerate(zip(orders, modes, phases, strict=True)):
            if order != 0:
                raise self._differs(axis, "says that its high byte comes first; say series: scs")
            if mode != 0:
                raise self._differs(axis, f"is in mode {mode}, expected 0 (position); set Mode (33)")
            steps = 1 if phase & _LARGE_STEPS else 50
            if steps != self.options.speed_steps:
                raise self._differs(
                    axis, f"counts velocity in {steps} count/s, speed_steps is {self.options.speed_steps}"
                )
            if phase & _NO_CURRENT and self.options.effort == "current":
                raise self._differs(axis, "says that it measures no current; say effort: load (no torque)")
            self._multi_turn[axis] = bool(phase & _FULL_ANGLE)

    def _differs(self, axis: int, what: str) -> ConnectError:
        return ConnectError(
            self.name, f"{self._who([self.axes[axis]])} {what}; was it exchanged, or set anew?"
        )

    async def _store(self, client: ServoClient, address: int, data: bytes) -> None:
        lock = _LOCK[self.options.series]
        for at, value in ((lock, b"\x00"), (address, data), (lock, b"\x01")):
            await client.write(codec.sync_write(at, dict.fromkeys(self._ids, value)))

    # -- the cycle ----------------------------------------------------------------------------------------------------

    def _goals(self, counts: Sequence[int]) -> bytes:
        words = (codec.to_sign_magnitude(count, _SIGN).to_bytes(2, self._order) for count in counts)
        return codec.sync_write(_GOAL, dict(zip(self._ids, words, strict=True)))

    def _requests(self) -> list[Request]:
        return self._asking

    def _take(self, axis: int, status: Status, host_ns: int) -> bool:
        data = status.data
        if len(data) != self._asked:
            raise ProtocolError(f"Feetech: {len(data)} bytes of servo {status.id}, asked for {self._asked}")

        def number(register: int, sign: int) -> int:
            return codec.from_sign_magnitude(codec.word(data, register - _TORQUE, self._order), sign)

        self._torque[axis] = data[0]
        self._faults[axis] = status.error | data[_STATUS - _TORQUE]
        position, velocity = number(_POSITION, _SIGN), number(_VELOCITY, _SIGN)
        current = self.options.effort == "current"
        effort = number(_CURRENT, _SIGN) if current else number(_LOAD, _LOAD_SIGN)
        self._store_state(axis, position, velocity)
        self._cycles.put(axis, (position, velocity, effort), host_ns)
        return True

    # -- on and off ---------------------------------------------------------------------------------------------------

    def _switching(self, on: bool) -> list[bytes]:
        return [codec.sync_write(_TORQUE, dict.fromkeys(self._ids, bytes([on])))]

    def _doubt(self, axis: int) -> str | None:
        bits = self._faults[axis]
        if bits:
            words = [word for bit, word in _ERRORS.items() if bits & bit] or [f"bits {bits:#04x}"]
            return f"tells an error ({', '.join(words)}); clear the cause, then switch it off and on"
        if self._torque[axis] != 1:
            return (
                "has its torque off; was it restarted, or switched off by another program? Check its supply"
            )
        return None

    def _relative(self, axis: int) -> str | None:
        if not self._multi_turn[axis] or self.options.referenced is not None:
            return None  # absolute within its one turn
        return "it is set to count turns, and begins anew when it is switched on"

    def _unwatched(self) -> str:
        return "Feetech servos are"
