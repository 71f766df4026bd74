"""ODrive over CANSimple, firmware 0.5 and 0.6: all axes of an arm on one bus.

The axes are never polled: any frame that is addressed to an axis feeds its watchdog, and a program that hangs in its
control loop while it polls would keep the motors alive. They send encoder estimates and Iq by themselves, each by its
own clock; only setpoints go out, and only while armed. See docs/devices/odrive_can.md.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Validity
from heft.drivers.codecs import odrive_can as codec
from heft.drivers.codecs.odrive_can import Firmware
from heft.drivers.codecs.odrive_messages import (
    AxisState,
    ClearErrors,
    ControlMode,
    EncoderCount,
    EncoderEstimates,
    Heartbeat,
    Heartbeat05,
    InputMode,
    InputPosition,
    Iq,
    Message,
    SdoAnswer,
    SdoRequest,
    SetControllerMode,
    SetState,
    Version,
)
from heft.drivers.devices.bus.broadcast_assembler import BroadcastAssembler, BroadcastAssemblers
from heft.drivers.devices.bus.bus_load import Traffic
from heft.drivers.devices.bus.can_drives import CanDrives
from heft.drivers.devices.bus.can_options import in_order
from heft.drivers.devices.bus.row_assembler import age_columns
from heft.drivers.devices.odrive_can_options import OdriveOptions
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import CommandError, ConnectError, DeviceFault, DriverError
from heft.drivers.setpoints import Setpoints
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["OdriveCan"]

_ENABLE_S = 2.0
_STOP_S = 0.5
_ANSWER_S = 0.5
_FASTEST = 32.767  # [turn/s] that the feed-forward can say
_FRESH = 2  # estimates after closing the loop, before they are believed


class OdriveCan(CanDrives[OdriveOptions]):
    """Yields `NAME.motion`, `NAME.current` (each with the ages of its axes) and `NAME.played`."""

    Options = OdriveOptions

    def __init__(self, name: str, options: OdriveOptions, context: Context) -> None:
        self._axes = tuple(options.axes[axis] for axis in in_order(name, context.axes, tuple(options.axes)))
        self._firmware = Firmware(options.firmware)
        super().__init__(name, options, context, self._axes)
        n = len(self.axes)
        self._by_node = {axis.node: i for i, axis in enumerate(self._axes)}
        self._state = [0] * n
        self._error = [0] * n
        self._estimates = [0] * n
        self._versions: dict[int, Version] = {}
        self._parameters: dict[tuple[int, int], bytes] = {}
        self._watchdog_expired: set[int] = set()  # axes whose watchdog has expired
        self._arming = self._feeding = False
        self._currents: set[int] = set()  # axes that have sent Iq
        self._counts: dict[int, int] = {}
        # Axes whose estimates mean something: firmware 0.5 sends zeros until its loop has been closed once.
        self._estimated: set[int] = set()

    def _traffic(self) -> Sequence[Traffic]:
        o, n = self.options, len(self.names)
        return (
            Traffic("setpoints", n * o.rate_hz, InputPosition.length),
            Traffic("encoder estimates", n * o.feedback_hz, EncoderEstimates.length),
            Traffic("Iq", n * o.feedback_hz, Iq.length),
            Traffic("heartbeats", 10.0 * n, Heartbeat.length),
        )

    def _make_assembler(self) -> BroadcastAssemblers:
        n, rate_hz, axes = (
            len(self.names),
            self.options.feedback_hz,
            list(zip(self.names, self._axes, strict=True)),
        )
        ages = age_columns(self.names)
        positions = (Column(j, "position", "rad", a.scale, -a.zero * a.scale, "turn") for j, a in axes)
        velocities = (Column(j, "velocity", "rad/s", a.scale, raw_unit="turn/s") for j, a in axes)
        currents = (Column(j, "current", "A", a.sign) for j, a in axes)
        motion = Stream(f"{self.name}.motion", (*positions, *velocities, *ages), rate_hz, dtype="<f4")
        current = Stream(f"{self.name}.current", (*currents, *ages), rate_hz, dtype="<f4")
        block = self.options.block or max(1, round(0.01 * rate_hz))
        self._motion = BroadcastAssembler(motion, [(i, n + i) for i in range(n)], block, self._publish)
        self._current = BroadcastAssembler(current, [(i,) for i in range(n)], block, self._publish)
        return BroadcastAssemblers(self._motion, self._current)

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _connect(self) -> Identity:
        self._versions.clear()
        self._parameters.clear()
        self._watchdog_expired.clear()
        self._currents.clear()
        self._estimated = set() if self._firmware is Firmware.V05 else set(range(len(self.axes)))
        self._arming = self._feeding = False
        return Identity("ODrive Robotics", "ODrive", firmware=str(self.options.firmware))

    async def _start(self) -> None:
        await super()._start()
        await self._ask_version()
        await self._require_currents()
        self.watchdog_s = self.options.watchdog_s if await self._watchdog_seen() else None

    async def _ask_version(self) -> None:
        """Firmware 0.6 reports its version, 0.5 does not."""
        for axis in self._axes:
            await self._link.send(codec.request(axis.node, Version))
        await self._until(lambda: len(self._versions) == len(self.axes), _ANSWER_S)
        if self._firmware is Firmware.V05:
            if self._versions:
                raise ConnectError(
                    self.name,
                    f"{self._who(self.axes)}: says that it has firmware 0.6, the rig's file says 0.5",
                )
            return
        silent = [name for i, name in enumerate(self.axes) if i not in self._versions]
        if silent:
            raise ConnectError(
                self.name,
                f"{self._who(silent)} does not tell its version within {_ANSWER_S:g} s; is it firmware 0.5?",
            )
        version = self._versions[0]
        hardware = f"{version.hardware_major}.{version.hardware_minor}-{version.hardware_variant}"
        firmware = f"{version.firmware_major}.{version.firmware_minor}.{version.firmware_revision}"
        if not firmware.startswith("0.6."):
            raise ConnectError(
                self.name, f"{self._who(self.axes[:1])} has firmware {firmware}, expected 0.6.x"
            )
        self._identity = Identity("ODrive Robotics", f"ODrive {hardware}", firmware=firmware)

    async def _require_currents(self) -> None:
        """Every axis sends Iq by itself, or ConnectError."""
        wait_s = 5.0 / self.options.feedback_hz + _ANSWER_S
        if not await self._until(lambda: len(self._currents) == len(self.axes), wait_s):
            silent = [name for i, name in enumerate(self.axes) if i not in self._currents]
            setting = "iq_msg_rate_ms" if self._firmware is Firmware.V06 else "iq_rate_ms"
            older = "" if self._firmware is Firmware.V06 else "; firmware before 0.5.6 cannot: update it"
            raise ConnectError(
                self.name,
                f"{self._link.where}: {self._who(silent)} sends no Iq within {wait_s:.1f} s; set {setting} on "
                f"it{older}",
            )

    async def position(self) -> NDArray[np.float64]:
        self._require_bus()
        await self._locate()
        return await super().position()

    async def _locate(self) -> None:
        """Where axes are that send no estimate yet: from their counts, or CommandError."""
        unknown = [i for i in range(len(self.axes)) if i not in self._estimated]
        blind = [self.axes[i] for i in unknown if self._axes[i].cpr is None]
        if blind:
            raise CommandError(
                self.name,
                f"{self._who(blind)} tells position 0, as firmware 0.5 does until its loop has been closed "
                "once: where it "
                "is cannot be known; give its encoder's `cpr` in the rig's file, or close its loop once with "
                "odrivetool",
            )
        for i in unknown:
            self._counts.pop(i, None)
            await self._link.send(codec.request(self._axes[i].node, EncoderCount))
        if not await self._until(lambda: set(unknown) <= self._counts.keys(), _ANSWER_S):
            raise CommandError(
                self.name, f"{self._who([self.axes[i] for i in unknown])} does not tell its counts"
            )
        for i in unknown:
            self._store_state(i, self._counts[i] / (self._axes[i].cpr or 1), 0.0)

    async def _watchdog_seen(self) -> bool:
        """Whether the axes' own watchdog is on: from its parameters, or because it expires while nothing is sent."""
        o = self.options
        if o.endpoints is None:
            return await self._until(
                lambda: len(self._watchdog_expired) == len(self.axes), 1.5 * o.watchdog_s + 0.3
            )
        enable, timeout = o.endpoints.enable_watchdog, o.endpoints.watchdog_timeout
        for axis in self._axes:
            for endpoint in (enable, timeout):
                await self._link.send(codec.encode(axis.node, SdoRequest(0, endpoint)))
        await self._until(lambda: len(self._parameters) == 2 * len(self.axes), _ANSWER_S)
        return all(
            self._parameters.get((i, enable), b"\0")[0] == 1
            and 0.0
            < struct.unpack("<f", self._parameters.get((i, timeout), bytes(4)))[0]
            <= 1.01 * o.watchdog_s
            for i in range(len(self.axes))
        )

    # -- the cycle ----------------------------------------------------------------------------------------------------

    async def _exchange(self, due_ns: int) -> None:
        for i in range(len(self.axes)):
            self._missed[i] += 1
        self._check_silence()
        reference = self._follow(due_ns)
        if self._feeding:
            await self._command(reference)
        elif self._arming:
            for axis in self._axes:
                await self._link.send(codec.feed(axis.node))  # its watchdog, until there are setpoints
        self._played.add(self._cycle, reference.tolist(), self.clock.now_ns())
        self._cycle += 1

    async def _command(self, reference: NDArray[np.float64]) -> None:
        n = len(self.axes)
        turns = (reference[:n] - self._offset[:n]) / self._scale[:n]
        rates = reference[n : 2 * n] / self._scale[:n]
        for axis, turn, rate in zip(self._axes, turns.tolist(), rates.tolist(), strict=True):
            await self._link.send(codec.encode(axis.node, InputPosition(turn, rate)))

    async def _choose_mode(self) -> None:
        """Set position control, once: firmware 0.5 sets its setpoint anew whenever it is told."""
        mode = (
            InputMode.PASSTHROUGH if self.options.input_mode == "passthrough" else InputMode.POSITION_FILTER
        )
        await self._send_all(SetControllerMode(ControlMode.POSITION, mode))

    async def _send_all(self, message: Message) -> None:
        for axis in self._axes:
            await self._link.send(codec.encode(axis.node, message))

    # -- what comes in ------------------------------------------------------------------------------------------------

    def _on_frame(self, frame: CanFrame) -> None:
        if frame.remote or frame.extended or frame.id >> 5 not in self._by_node:
            return
        axis, command = self._by_node[frame.id >> 5], frame.id & 0x1F
        if command == Version.command:  # also with firmware 0.5 in the rig's file, which has no such message
            self._versions[axis] = Version.decode(frame.data)
            return
        if command in codec.UNREAD[self._firmware]:
            return
        _, message = codec.decode(frame, self._firmware)
        match message:
            case EncoderEstimates(position, velocity):
                self._missed[axis] = 0
                if position != 0.0 or velocity != 0.0:
                    self._estimated.add(axis)
                if axis not in self._estimated:
                    self._reported.add(axis)
                    self._motion.put(axis, (0.0, 0.0), frame.host_ns, (Validity.FAULT, Validity.FAULT))
                elif math.isfinite(position) and math.isfinite(velocity):
                    self._estimates[axis] += 1
                    self._store_state(axis, position, velocity)
                    self._motion.put(axis, (position, velocity), frame.host_ns)
                else:  # it has no estimate
                    self._motion.put(axis, (0.0, 0.0), frame.host_ns, (Validity.FAULT, Validity.FAULT))
            case EncoderCount(shadow, _):
                self._counts[axis] = shadow
            case Iq(measured=measured):
                self._currents.add(axis)
                self._current.put(axis, (measured,), frame.host_ns)
            case Heartbeat() | Heartbeat05():
                self._on_heartbeat(axis, message.error, message.state)
            case SdoAnswer(endpoint, value):
                self._parameters[axis, endpoint] = value

    def _on_heartbeat(self, axis: int, error: int, state: int) -> None:
        self._error[axis], self._state[axis] = error, state
        if state == AxisState.CLOSED_LOOP:
            self._estimated.add(axis)
        if error & codec.WATCHDOG[self._firmware]:
            self._watchdog_expired.add(axis)
        if self._feeding and self._failure is None and (error or state != AxisState.CLOSED_LOOP):
            self._report_fault(self._fault(axis, f"has left closed loop control (state {state})"))

    def _fault(self, axis: int, what: str) -> DeviceFault:
        error = self._error[axis]
        return DeviceFault(
            self.name,
            f"{self._who([self.axes[axis]])} {what}: {codec.describe_error(error, self._firmware)} ({error:#x}); "
            "clear the cause, then arm again",
        )

    # -- on and off ---------------------------------------------------------------------------------------------------

    async def _enable(self) -> None:
        self._arming = True
        try:
            await self._choose_mode()
            await self._send_all(ClearErrors())
            await self._send_all(SetState(AxisState.CLOSED_LOOP))
            await self._until(lambda: not self._open_axes() or self._failure is not None, _ENABLE_S)
            if isinstance(self._failure, DriverError):
                raise self._failure
            self._require_bus()
            for axis in self._open_axes():
                state = self._state[axis]
                raise self._fault(axis, f"does not close its loop within {_ENABLE_S:g} s (state {state})")
            # Firmware 0.5 may have reported zeros before: only what comes now is where the axes are.
            self._estimates = [0] * len(self.axes)
            await self._until(lambda: min(self._estimates) >= _FRESH, _ENABLE_S)
            self._follower.arm(self._measured()[0])
            self._feeding = True
        finally:
            self._arming = False

    async def _disable(self) -> None:
        self._feeding = False
        await self._send_all(SetState(AxisState.IDLE))
        if not await self._until(lambda: AxisState.CLOSED_LOOP not in self._state, _STOP_S):
            self._require_bus()
            raise DeviceFault(
                self.name, f"not every axis is idle within {_STOP_S:g} s; use the emergency stop"
            )

    def _powered(self) -> bool:
        return self._feeding and not self._open_axes()

    def _open_axes(self) -> list[int]:
        """Axes that are not in closed loop control without an error."""
        states = zip(self._state, self._error, strict=True)
        return [i for i, (state, error) in enumerate(states) if state != AxisState.CLOSED_LOOP or error]

    # -- limits and words ---------------------------------------------------------------------------------------------

    def _check_range(self, chunk: Setpoints) -> None:
        if chunk.velocity.shape[1:] != (len(self.axes),):
            return  # the follower says so
        rates = np.abs(chunk.velocity / self._scale[: len(self.axes)])
        if rates.max(initial=0.0) > _FASTEST:
            row, axis = np.unravel_index(int(rates.argmax()), rates.shape)
            raise CommandError(
                self.name,
                f"{self.axes[axis]} is sent on at {rates[row, axis]:.3f} turns/s of its motor, bound {_FASTEST} "
                "turns/s (what the feed-forward can say); slow the trajectory",
            )

    def _who(self, axes: Sequence[str]) -> str:
        return ", ".join(f"node {self.options.axes[axis].node} ({axis})" for axis in axes)

    def _unwatched(self) -> str:
        return (
            f"the watchdog of these ODrives has not run out while nobody spoke to them for {self.options.watchdog_s:g} "
            "s (set axis.config.watchdog_timeout and enable_watchdog): they are"
        )
