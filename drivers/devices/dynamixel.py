"""ROBOTIS Dynamixel servos of the X and P series, protocol 2.0: all axes of an arm on one line.

Every cycle is a sync write of goal positions and a sync read of tick, current, velocity and position (a bulk read where
the line has both series). In every eighth cycle they are asked for their bus watchdog too, and half-way between for
their torque: as long as these are what they were set to, a servo has neither been stopped, nor restarted, nor has it
switched itself off. See docs/devices/dynamixel.md.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from heft.drivers.block import Validity
from heft.drivers.codecs import dynamixel as codec
from heft.drivers.codecs.dynamixel_models import (
    MODELS,
    EepromRegister,
    HardwareError,
    Mode,
    Model,
    RamRegister,
)
from heft.drivers.codecs.servo_status import Status
from heft.drivers.devices.bus.can_options import in_order
from heft.drivers.devices.bus.cycle_assembler import CycleAssembler, Place
from heft.drivers.devices.bus.servo_client import ServoClient
from heft.drivers.devices.bus.servo_clock import ServoClock
from heft.drivers.devices.bus.servo_drives import (
    Request,
    ServoAxisOptions,
    ServoDrives,
    ServoOptions,
    unique_ids,
)
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, ProtocolError
from heft.drivers.options import Positive
from heft.drivers.stream import Column, Stream

__all__ = ["Dynamixel", "DynamixelAxis", "DynamixelOptions"]

_WATCHDOG_S = 0.02  # one unit of the bus watchdog
_WATCHED_FROM = 38  # first firmware of the X series with a bus watchdog
_FIRED = 255
_LOOK_EVERY = 8  # cycles between two looks at the same state of the servos
_STILL_NS = 3_000_000  # a tick of 1 ms that has not gone on for so long stands still
_ALERTS = 6  # answers with the alert bit that are waited for the reason

_FIRST, _END = RamRegister.REALTIME_TICK, RamRegister.PRESENT_POSITION + 4
_MOTION_BYTES = _END - _FIRST  # registers without a hole between them: what is not defined may not be read
#: What is asked for besides motion: first register by length of the answer, lest a late one be taken for another.
_WATCHDOG_BYTES, _TORQUE_BYTES, _ERROR_BYTES = 1, 2, 3
_LOOKS = {
    _WATCHDOG_BYTES: RamRegister.BUS_WATCHDOG,
    _TORQUE_BYTES: RamRegister.TORQUE_ENABLE,  # and a LED
    _ERROR_BYTES: RamRegister.STATUS_RETURN,  # registered instruction, hardware error
}
_MOTION = struct.Struct("<H4xhii")  # tick; moving, moving status, PWM; current or load, velocity, position


class DynamixelAxis(ServoAxisOptions):
    """One servo."""

    #: As printed on it, without the letter of its line (-R or -T): XM430-W350, PH54-200-S500 ...
    model: str

    @field_validator("model")
    @classmethod
    def _known(cls, model: str) -> str:
        if model not in MODELS:
            raise ValueError(f"model: {model!r} is not known; known: {', '.join(MODELS)}")
        return model

    @property
    def facts(self) -> Model:
        """What this model counts."""
        return MODELS[self.model]

    @property
    def scale(self) -> float:
        """[rad] of the joint for one count of position."""
        return 2.0 * math.pi / (self.facts.turn * self.gear)

    @property
    def origin(self) -> float:
        """What the servo reads where the joint's position is 0 [count]."""
        return self.facts.centre if self.zero is None else self.zero


class DynamixelOptions(ServoOptions):
    """Dynamixels, all on one line."""

    #: Joint by joint.
    axes: dict[str, DynamixelAxis]
    #: What the register of the effort tells: the current, or a load on models without a current sensor (no torque).
    effort: Literal["current", "load"] = "current"
    #: Of the servos' own bus watchdog [s], rounded up to 20 ms.
    watchdog_s: Annotated[Positive, Field(ge=0.02, le=2.54)] = 0.2

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        unique_ids(tuple(self.axes.values()))
        for joint, axis in self.axes.items():
            senses = axis.facts.ampere is not None
            if senses != (self.effort == "current"):
                has = "a current sensor" if senses else "no current sensor, its register tells a load"
                raise ValueError(
                    f"effort: {self.effort}, but {axis.model} ({joint}) has {has}; say effort: "
                    f"{'current' if senses else 'load'}, and do not mix such models on one device"
                )
        return self


class Dynamixel(ServoDrives[DynamixelOptions]):
    """Yields `NAME.motion`, `NAME.current` or `NAME.load`, `NAME.clock` (the servos' own ticks) and `NAME.played`."""

    Options = DynamixelOptions

    def __init__(self, name: str, options: DynamixelOptions, context: Context) -> None:
        self._axes = tuple(options.axes[axis] for axis in in_order(name, context.axes, tuple(options.axes)))
        n = len(self._axes)
        self._ram = [axis.facts.ram for axis in self._axes]
        self._modes: list[int] = [0] * n
        self._error: list[int | None] = [0] * n
        self._watchdog: list[int | None] = [0] * n
        self._alerts = [0] * n  # answers in a row with the alert bit
        self._tick: list[tuple[int, int]] = [(-1, 0)] * n  # and when it was first heard [ns]
        self._servo_clocks = [ServoClock() for _ in range(n)]
        self._number = 0  # of the cycle
        super().__init__(name, options, context, self._axes)
        if not all(axis.facts.watchdog for axis in self._axes):
            self.watchdog_s = None
        self._watchdog_units = math.ceil(options.watchdog_s / _WATCHDOG_S - 1e-9)
        self._motion_request = self._read_all(_FIRST, _MOTION_BYTES)

    def _read_all(self, register: RamRegister, count: int) -> Request:
        """Ask every servo for the same registers."""
        same = len(set(self._ram)) == 1
        packet = (
            codec.sync_read(self._ram[0] + register, count, self._ids)
            if same
            else codec.bulk_read([(a.id, a.facts.ram + register, count) for a in self._axes])
        )
        return Request(packet, range(len(self._ids)), codec.STATUS_BYTES + count)

    def _make_parser(self) -> codec.Parser:
        return codec.Parser()

    def _read_request(self, servo: int, address: int, count: int) -> bytes:
        return codec.read(servo, address, count)

    def _make_assembler(self) -> CycleAssembler:
        n, axes, o = len(self.names), list(zip(self.names, self._axes, strict=True)), self.options
        rpm = 2.0 * math.pi / 60.0
        positions = (Column(j, "position", "rad", a.scale, -a.origin * a.scale, "count") for j, a in axes)
        velocities = (
            Column(j, "velocity", "rad/s", a.facts.rpm * rpm / a.gear, raw_unit=f"{a.facts.rpm:g} rpm")
            for j, a in axes
        )
        efforts = (
            Column(j, "load", "1", 1e-3 * a.sign, raw_unit="0.1 %")
            if a.facts.ampere is None
            else Column(j, "current", "A", a.facts.ampere * a.sign, raw_unit=f"{a.facts.ampere * 1e3:g} mA")
            for j, a in axes
        )
        ticks = (Column(j, "clock", "s", 1e-3, raw_unit="ms") for j, a in axes)
        streams = [
            Stream(f"{self.name}.{what}", tuple(columns), o.rate_hz, dtype="<i4", at_request=True)
            for what, columns in (
                ("motion", (*positions, *velocities)),
                (o.effort, efforts),
                ("clock", ticks),
            )
        ]
        places = [(Place(0, i), Place(0, n + i), Place(1, i), Place(2, i)) for i in range(n)]
        return CycleAssembler(streams, places, self._block, self._publish, self._on_cycle_end)

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _find(self, client: ServoClient) -> Identity:
        self._number = 0
        self._alerts = [0] * len(self._axes)
        for clock in self._servo_clocks:
            clock.reset()
        for axis, number in enumerate(await self._ask_all(client, EepromRegister.MODEL_NUMBER, 2)):
            self._check_model(axis, number)
        firmware = await self._ask_all(client, EepromRegister.FIRMWARE, 1)
        self._modes = await self._ask_all(client, EepromRegister.OPERATING_MODE, 1)
        for axis, mode in enumerate(self._modes):
            self._check_mode(axis, mode)
        if any(old < _WATCHED_FROM and not ram for old, ram in zip(firmware, self._ram, strict=True)):
            self.watchdog_s = None
        highest = await self._ask_all(client, EepromRegister.MAX_POSITION, 4, signed=True)
        lowest = await self._ask_all(client, EepromRegister.MIN_POSITION, 4, signed=True)
        for axis, mode in enumerate(self._modes):
            bounded = mode == Mode.POSITION
            self._lowest[axis] = lowest[axis] if bounded else -math.inf
            self._highest[axis] = highest[axis] if bounded else math.inf
        torque = [
            (await client.read(servo, ram + RamRegister.TORQUE_ENABLE, 1))[0]
            for servo, ram in zip(self._ids, self._ram, strict=True)
        ]
        delays = await self._set_return_delay(client, EepromRegister.RETURN_DELAY, torque)
        self._check_line(delays)
        models = sorted({axis.model for axis in self._axes})
        return Identity("ROBOTIS", ", ".join(models), firmware=", ".join(str(v) for v in firmware))

    def _check_model(self, axis: int, number: int) -> None:
        expected = self._axes[axis]
        if number != expected.facts.number:
            known = next((name for name, model in MODELS.items() if model.number == number), "unknown here")
            raise ConnectError(
                self.name,
                f"{self._who([self.axes[axis]])} has model number {number} ({known}), the rig's file says "
                f"{expected.model}, which is {expected.facts.number}; was it exchanged?",
            )

    def _check_mode(self, axis: int, mode: int) -> None:
        if mode not in set(Mode):
            raise ConnectError(
                self.name,
                f"{self._who([self.axes[axis]])} is in operating mode {mode}, which follows no positions; set "
                "Operating Mode (11) to 3, 4 or 5 with the maker's tool",
            )

    async def _store(self, client: ServoClient, address: int, data: bytes) -> None:
        await client.write(codec.sync_write(address, dict.fromkeys(self._ids, data)))

    # -- the cycle ----------------------------------------------------------------------------------------------------

    def _goals(self, counts: Sequence[int]) -> bytes:
        data = [struct.pack("<i", count) for count in counts]
        return self._write_all(RamRegister.GOAL_POSITION, data)

    def _write_all(self, register: RamRegister, data: Sequence[bytes]) -> bytes:
        """One sync write, or one for each series on the line."""
        return b"".join(
            codec.sync_write(
                ram + register,
                {
                    servo: part
                    for servo, its, part in zip(self._ids, self._ram, data, strict=True)
                    if its == ram
                },
            )
            for ram in sorted(set(self._ram))
        )

    def _requests(self) -> list[Request]:
        self._number += 1
        look = self._next_look()
        if look is None:
            return [self._motion_request]
        return [self._motion_request, self._read_all(_LOOKS[look], look)]

    def _next_look(self) -> int | None:
        """What to ask for in this cycle besides, by the length of its answer; None: nothing but motion."""
        if self._arming:
            return _TORQUE_BYTES if self._number % 2 else _WATCHDOG_BYTES
        if any(self._alerts):
            return _ERROR_BYTES
        return {0: _WATCHDOG_BYTES, _LOOK_EVERY // 2: _TORQUE_BYTES}.get(self._number % _LOOK_EVERY)

    def _take(self, axis: int, status: Status, host_ns: int) -> bool:
        data = status.data
        match len(data):
            case 1:
                self._watchdog[axis] = data[0]
                return True
            case 2:
                self._torque[axis] = data[0]
                return True
            case 3:
                self._error[axis] = data[2]
                return True
        if len(data) != _MOTION_BYTES:
            raise ProtocolError(
                f"Dynamixel: {len(data)} bytes of servo {status.id}, error {status.error:#04x}; asked for "
                f"{_MOTION_BYTES}"
            )
        self._alerts[axis] = self._alerts[axis] + 1 if status.error & codec.ALERT else 0
        tick, effort, velocity, position = _MOTION.unpack(data)
        if (asked_ns := self._cycles.sampled_ns) is not None:
            off_ns = self._servo_clocks[axis].off_ns(tick, asked_ns, host_ns)
            if off_ns < -self._period_ns:  # an answer to an earlier request
                self.counters.late += 1
                return False
            if axis == 0 and off_ns:
                self._cycles.sampled_late(off_ns)
        flags = None
        if self._stands(axis, tick, host_ns):
            flags = dict.fromkeys(range(3), Validity.STALE)
        else:
            self._store_state(axis, position, velocity)
        self._cycles.put(axis, (position, velocity, effort, tick), host_ns, flags)
        return True

    def _stands(self, axis: int, tick: int, host_ns: int) -> bool:
        """Whether a servo's clock has stood still for so long that its values are old ones."""
        last, since_ns = self._tick[axis]
        if tick != last:
            self._tick[axis] = tick, host_ns
            return False
        return host_ns - since_ns > _STILL_NS

    # -- on and off ---------------------------------------------------------------------------------------------------

    def _switching(self, on: bool) -> list[bytes]:
        n = len(self._axes)
        self._watchdog = [None] * n

        def write(register: RamRegister, data: bytes) -> bytes:
            return self._write_all(register, [data] * n)

        if not on:
            return [write(RamRegister.BUS_WATCHDOG, b"\x00") + write(RamRegister.TORQUE_ENABLE, b"\x00")]
        return [
            write(RamRegister.BUS_WATCHDOG, b"\x00"),  # clears one that has fired
            write(
                RamRegister.PROFILE_ACCELERATION, bytes(8)
            ),  # and velocity: setpoints are followed as they come
            write(RamRegister.TORQUE_ENABLE, b"\x01"),
            write(RamRegister.BUS_WATCHDOG, bytes([self._watchdog_units])),
        ]

    def _powered(self) -> bool:
        watched = self.watchdog_s is None or set(self._watchdog) == {self._watchdog_units}
        return super()._powered() and watched

    def _doubt(self, axis: int) -> str | None:
        error, watchdog = self._error[axis] or 0, self._watchdog[axis]
        if self._alerts[axis] and (error or self._alerts[axis] >= _ALERTS):
            why = HardwareError(error).name or f"bits {error:#04x}"
            return (
                f"tells a hardware error ({why.lower().replace('|', ', ')}) and has switched its torque off; clear the "
                "cause, then reboot it"
            )
        if watchdog == _FIRED:
            return (
                f"was stopped by its bus watchdog after {self._watchdog_units * _WATCHDOG_S:g} s without a packet; "
                "look for what holds this host or the line up"
            )
        if self._torque[axis] != 1:
            return (
                "has its torque off; was it restarted, or switched off by another program? Check its supply"
            )
        if self.watchdog_s is not None and watchdog != self._watchdog_units:
            return (
                f"has its bus watchdog at {watchdog}, it was set to {self._watchdog_units}; was it restarted? Check "
                "its supply"
            )
        return None

    def _relative(self, axis: int) -> str | None:
        if self._modes[axis] == Mode.POSITION:
            return None  # absolute within its one turn
        if self.options.referenced is not None:
            return None
        return f"in operating mode {self._modes[axis]} it counts turns from where it was switched on (mode 3 does not)"

    def _unwatched(self) -> str:
        loose = [name for name, axis in zip(self.axes, self._axes, strict=True) if not axis.facts.watchdog]
        if loose:
            return f"{self._who(loose)}, of a model whose bus watchdog is known not to stop it, is"
        return f"a servo with firmware older than {_WATCHED_FROM} is"
