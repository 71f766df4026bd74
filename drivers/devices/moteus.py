"""mjbots moteus controllers: all axes of an arm on one CAN FD bus, through the vendor's library.

The library makes the frames and reads the answers; they travel by this project's own link, which stamps them as the
kernel received them and never hears itself. Every position command carries the time after which the controller stops
by itself, so the watchdog is armed with the first of them. See docs/devices/moteus.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import moteus
import numpy as np
from moteus import Mode, Register
from moteus.protocol import parse_message
from moteus.transport_device import Frame
from numpy.typing import NDArray
from pydantic import Field, model_validator

from heft.drivers.block import Validity
from heft.drivers.devices.bus.bus_load import Traffic
from heft.drivers.devices.bus.can_drives import CanDrives, DriveOptions
from heft.drivers.devices.bus.can_options import in_order
from heft.drivers.devices.bus.cycle_assembler import CycleAssembler, Place
from heft.drivers.devices.bus.following_drives import TurnAxisOptions
from heft.drivers.devices.bus.row_assembler import age_columns
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, DeviceFault, DriverError, ProtocolError
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.can_frame import FD_LENGTHS, CanFrame
from heft.drivers.transports.can_link import CanLink

__all__ = ["Moteus", "MoteusAxis", "MoteusOptions"]

_ENABLE_S = 1.0
_STOP_S = 0.5
_ANSWER_S = 0.5
_LIMITS = 96  # faults from here on are limits that are in force
_NOP = b"\x50"
_MODEL, _FIRMWARE = int(Register.MODEL_NUMBER), int(Register.FIRMWARE_VERSION)
_HOME = int(Register.HOME_STATE)
_HOMED = {0: "it counts from where it was switched on", 1: "it is referenced to its rotor, not to its output"}
_NO_LIMIT = -1.0  # negative: not even the one stored in the controller
_SERIAL = tuple(int(Register.SERIAL_NUMBER1) + i for i in range(3))
_MOVING = {Mode.POSITION, Mode.TIMEOUT, Mode.ZERO_VELOCITY, Mode.STAY_WITHIN, Mode.BRAKE}


class MoteusAxis(TurnAxisOptions):
    """One controller; its turns are those of its output (after its own `rotor_to_output_ratio`)."""

    #: Its number on the bus (id.id).
    number: Annotated[int, Field(ge=1, le=126)]
    #: Serial number that it must have, as the vendor prints it (three groups of hexadecimal digits); left out: any.
    serial: str | None = None


class MoteusOptions(DriveOptions):
    """moteus controllers, all on one bus."""

    #: Joint by joint.
    axes: dict[str, MoteusAxis]
    #: Which number torque is identified from: the measured current, or the controller's estimate of its torque.
    effort: Literal["current", "torque"] = "current"
    #: [bit/s] of the payload.
    data_bitrate: Annotated[int, Field(gt=0)] = 5_000_000

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        numbers = [axis.number for axis in self.axes.values()]
        twice = sorted({number for number in numbers if numbers.count(number) > 1})
        if twice:
            raise ValueError(f"axes: number {twice[0]} is used twice; every controller has its own")
        return self


class Moteus(CanDrives[MoteusOptions]):
    """Yields `NAME.motion`, `NAME.current` or `NAME.torque` (each with the ages of its axes) and `NAME.played`."""

    Options = MoteusOptions

    def __init__(self, name: str, options: MoteusOptions, context: Context) -> None:
        self._axes = tuple(options.axes[axis] for axis in in_order(name, context.axes, tuple(options.axes)))
        super().__init__(name, options, context, self._axes)
        wanted = moteus.QueryResolution()
        wanted.voltage = wanted.temperature = moteus.IGNORE
        wanted.torque, wanted.q_current = (
            (moteus.IGNORE, moteus.F32) if options.effort == "current" else (moteus.F32, moteus.IGNORE)
        )
        sent = moteus.PositionResolution()
        sent.velocity_limit = sent.accel_limit = moteus.INT8  # of which only the sign matters
        self._controllers = [
            moteus.Controller(id=a.number, query_resolution=wanted, position_resolution=sent)
            for a in self._axes
        ]
        self._by_number = {axis.number: i for i, axis in enumerate(self._axes)}
        self._mode = [0] * len(self.axes)
        self._fault_code = [0] * len(self.axes)
        self._identities: dict[int, dict[int, Any]] = {}
        self._asking = True  # who they are, before the cycle
        self._arming = False
        self._orders: list[Any] = []  # what is sent to every axis instead of a cycle's command
        self._sending = False
        self._braking = False

    def _traffic(self) -> Sequence[Traffic]:
        frames = len(self.names) * self.options.rate_hz
        return Traffic("commands", frames, 32, extended=True, fd=True), Traffic(
            "answers", frames, 24, fd=True
        )

    def _make_link(self) -> CanLink:
        settings = self.options.settings(fd=True, data_bitrate=self.options.data_bitrate)
        return CanLink(self.name, self.clock, settings)

    def _make_assembler(self) -> CycleAssembler:
        n, axes, o = len(self.names), list(zip(self.names, self._axes, strict=True)), self.options
        ages = age_columns(self.names)
        positions = (Column(j, "position", "rad", a.scale, -a.zero * a.scale, "turn") for j, a in axes)
        velocities = (Column(j, "velocity", "rad/s", a.scale, raw_unit="turn/s") for j, a in axes)
        efforts = (
            Column(j, "current", "A", a.sign) if o.effort == "current" else Column(j, "torque", "N m", a.gear)
            for j, a in axes
        )
        motion = Stream(f"{self.name}.motion", (*positions, *velocities, *ages), o.rate_hz, dtype="<f4")
        effort = Stream(f"{self.name}.{o.effort}", (*efforts, *ages), o.rate_hz, dtype="<f4")
        self._cycles = CycleAssembler(
            (motion, effort),
            [(Place(0, i), Place(0, n + i), Place(1, i)) for i in range(n)],
            self._block,
            self._publish,
            self._on_cycle_end,
            ages=[(Place(0, 2 * n + i), Place(1, n + i)) for i in range(n)],
        )
        return self._cycles

    @property
    def _bridged_cycles(self) -> int:
        """A controller goes on at the velocity of its last command until its watchdog stops it."""
        return math.ceil(self.options.watchdog_s * self.options.rate_hz)

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _connect(self) -> Identity:
        self._asking, self._arming, self._sending, self._braking = True, False, False, False
        self._orders = []
        self._identities.clear()
        return Identity("mjbots", "moteus")

    async def _start(self) -> None:
        wanted = dict.fromkeys((_HOME, _MODEL, _FIRMWARE, *_SERIAL), moteus.INT32)
        for controller in self._controllers:
            command = controller.make_custom_query(wanted)
            await self._link.send(_frame(command))
        await self._until(lambda: len(self._identities) == len(self.axes), _ANSWER_S)
        silent = [name for i, name in enumerate(self.axes) if i not in self._identities]
        if silent:
            raise ConnectError(
                self.name,
                f"{self._link.where}: no answer from {self._who(silent)} within {_ANSWER_S:g} s; {self.CHECK}",
            )
        serials = [self._check_serial(i) for i in range(len(self.axes))]
        first = self._identities[0]
        version = int(first.get(_FIRMWARE, 0))
        self._identity = Identity(
            "mjbots",
            f"moteus, model {int(first.get(_MODEL, 0)):#x}",
            ", ".join(serials),
            f"{version >> 16 & 0xFF}.{version >> 8 & 0xFF}.{version & 0xFF}",
        )
        self._asking = False
        await super()._start()

    def _check_serial(self, index: int) -> str:
        decoded, expected = self._identities[index], self._axes[index].serial
        words = [int(decoded.get(register, 0)) & 0xFFFF_FFFF for register in _SERIAL]
        serial = "-".join(f"{word:08x}" for word in words)
        if expected is not None and serial != expected.lower():
            raise ConnectError(
                self.name,
                f"{self._who([self.axes[index]])} has serial number {serial}, the rig's file says {expected}; was it "
                "exchanged?",
            )
        return serial

    # -- the cycle ----------------------------------------------------------------------------------------------------

    async def _exchange(self, due_ns: int) -> None:
        if self._asking:
            return
        reference = self._follow(due_ns)
        frames = self._frames(reference)
        now_ns = self.clock.now_ns()
        self._played.add(self._cycles.begin(now_ns), reference.tolist(), now_ns)
        for frame in frames:
            await self._link.send(frame)

    def _frames(self, reference: NDArray[np.float64]) -> list[CanFrame]:
        """One frame for every controller."""
        if self._orders:
            order = self._orders.pop(0)
            return [_frame(order(controller)) for controller in self._controllers]
        if self._braking:
            return [_frame(c.make_zero_velocity(query=True)) for c in self._controllers]
        if not self._sending:
            return [_frame(c.make_query()) for c in self._controllers]
        n = len(self.axes)
        turns = ((reference[:n] - self._offset[:n]) / self._scale[:n]).tolist()
        rates = (reference[n : 2 * n] / self._scale[:n]).tolist()
        return [
            _frame(
                c.make_position(
                    position=p,
                    velocity=v,
                    velocity_limit=_NO_LIMIT,
                    accel_limit=_NO_LIMIT,
                    watchdog_timeout=self.options.watchdog_s,
                    query=True,
                )
            )
            for c, p, v in zip(self._controllers, turns, rates, strict=True)
        ]

    # -- what comes in ------------------------------------------------------------------------------------------------

    def _on_frame(self, frame: CanFrame) -> None:
        index = self._by_number.get(frame.id >> 8)
        if index is None or frame.id & 0xFF or frame.remote:
            return
        try:
            values = parse_message(Frame(arbitration_id=frame.id, data=frame.data)).values
        except Exception as exc:  # whatever the library raises for bytes that are no answer
            raise ProtocolError(f"moteus: {frame.data.hex(' ')} is no answer ({exc})") from exc
        if _MODEL in values:
            self._identities[index] = values
        if not self._asking and Register.MODE in values:
            self._take(index, values, frame.host_ns)

    def _take(self, index: int, values: dict[int, Any], host_ns: int) -> None:
        effort = Register.Q_CURRENT if self.options.effort == "current" else Register.TORQUE
        try:
            decoded = [float(values[r]) for r in (Register.POSITION, Register.VELOCITY, effort)]
            self._mode[index] = int(values[Register.MODE])
        except KeyError as exc:
            raise ProtocolError(f"moteus: register {exc} is missing in an answer") from None
        self._fault_code[index] = int(values.get(Register.FAULT, 0))
        flags = {i: Validity.FAULT for i, value in enumerate(decoded) if not math.isfinite(value)}
        decoded = [0.0 if i in flags else value for i, value in enumerate(decoded)]
        if not flags:
            self._store_state(index, decoded[0], decoded[1])
        self._cycles.put(index, decoded, host_ns, flags)
        watched = self._sending and not self._arming and self._failure is None
        if watched and self._mode[index] != Mode.POSITION:
            self._report_fault(self._fault(index, "has left position mode"))

    def _fault(self, index: int, what: str) -> DeviceFault:
        mode, code = self._mode[index], self._fault_code[index]
        name = Mode(mode).name.lower() if mode in set(Mode) else "unknown"
        why = f"fault {code}" if code and code < _LIMITS else "no fault"
        return DeviceFault(
            self.name,
            f"{self._who([self.axes[index]])} {what}: mode {mode} ({name}), {why}; see the vendor's list of faults, "
            "clear the cause, then arm again",
        )

    # -- on and off ---------------------------------------------------------------------------------------------------

    async def _enable(self) -> None:
        self._arming = True
        self._orders = [lambda c: c.make_stop(query=True)]  # clears a fault or a timeout
        self._sending = True
        try:
            await self._until(
                lambda: (
                    (not self._orders and set(self._mode) == {Mode.POSITION}) or self._failure is not None
                ),
                _ENABLE_S,
            )
        finally:
            self._arming = False
        if isinstance(self._failure, DriverError):
            raise self._failure
        self._require_bus()
        for index, mode in enumerate(self._mode):
            if mode != Mode.POSITION:
                raise self._fault(index, f"does not go to position mode within {_ENABLE_S:g} s")

    async def _disable(self) -> None:
        self._sending = self._braking = False
        self._orders = [lambda c: c.make_stop(query=True)] * 2
        if not await self._until(lambda: not self._orders and not set(self._mode) & _MOVING, _STOP_S):
            self._require_bus()
            raise DeviceFault(
                self.name, f"not every controller has stopped within {_STOP_S:g} s; use the emergency stop"
            )

    def _relative(self, axis: int) -> str | None:
        told = self._identities.get(axis, {}).get(_HOME)
        if told is None:
            return super()._relative(axis)
        return _HOMED.get(int(told))  # what it says of itself goes before the rig's file

    def _quick_stop(self) -> None:
        self._sending, self._braking = False, True

    def _powered(self) -> bool:
        return set(self._mode) <= {Mode.POSITION, Mode.ZERO_VELOCITY}

    def _who(self, axes: Sequence[str]) -> str:
        return ", ".join(f"controller {self.options.axes[axis].number} ({axis})" for axis in axes)


def _frame(command: Any) -> CanFrame:
    """A command of the library as a frame: source << 8 | destination, with bit 15 where a reply is wanted."""
    identifier = command.destination | (0x8000 if command.reply_required else 0) | command.source << 8
    length = next(length for length in FD_LENGTHS if length >= len(command.data))
    data = command.data.ljust(length, _NOP)
    return CanFrame(identifier, data, extended=identifier > 0x7FF, fd=True, bitrate_switch=True)
