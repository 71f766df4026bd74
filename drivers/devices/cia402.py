"""CANopen drives (CiA 402): all axes of an arm on one bus, in cyclic synchronous position mode.

Each cycle begins with SYNC, at which every drive samples and takes up the setpoint that it was sent before; then the
drives answer with two TPDOs each, and this host sends the setpoints of the next cycle. See docs/devices/cia402.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Validity
from heft.drivers.codecs import cia402
from heft.drivers.codecs.canopen import (
    Emergency,
    Function,
    Heartbeat,
    NmtCommand,
    NmtState,
    cob_id,
    nmt,
    sync,
)
from heft.drivers.codecs.cia402 import Controlword, Mode, State, Statusword
from heft.drivers.devices.bus.bus_load import Traffic
from heft.drivers.devices.bus.can_drives import CanDrives
from heft.drivers.devices.bus.can_options import in_order
from heft.drivers.devices.bus.canopen_setup import CanopenSetup, in_thread
from heft.drivers.devices.bus.cycle_assembler import CycleAssembler, Place
from heft.drivers.devices.cia402_options import Cia402Axis, Cia402Options
from heft.drivers.devices.cia402_setup import Facts, set_up
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import CommandError, DeviceFault, DeviceLost, DriverError
from heft.drivers.setpoints import Setpoints
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["Cia402"]

_ENABLE_S = 2.0
_STOP_S = 0.5  # for a quick stop, and for switching off
_INT32 = 1 << 31


class Cia402(CanDrives[Cia402Options]):
    """Yields `NAME.motion`, `NAME.current` (or `NAME.torque`) and `NAME.played`, sampled at SYNC (`request_ns`)."""

    Options = Cia402Options

    def __init__(self, name: str, options: Cia402Options, context: Context) -> None:
        self._axes = tuple(options.axes[axis] for axis in in_order(name, context.axes, tuple(options.axes)))
        super().__init__(name, options, context, self._axes)
        n = len(self.axes)
        self._status = [0] * n
        self._error_code = [0] * n
        self._emergency = [0] * n
        self._controlword = [int(Controlword.DISABLE_VOLTAGE)] * n
        self._goal = [State.SWITCH_ON_DISABLED] * n
        self._arming = False
        self._unwatched_axes: tuple[str, ...] = ()
        self._dropped_axes: tuple[
            str, ...
        ] = ()  # without a brake, and the drive does not hold after a quick stop
        self._heartbeat_ns = 0
        self._in_force: NDArray[np.float64] | None = None  # what the drives take up at the next SYNC
        self._rpdo = [cob_id(Function.RPDO1, axis.node) for axis in self._axes]
        self._handlers = self._make_handlers()

    def _traffic(self) -> Sequence[Traffic]:
        o, n = self.options, len(self.names)
        return (
            Traffic("SYNC", o.rate_hz, 0),
            Traffic("TPDOs", 2 * n * o.rate_hz, max(pdo.size for pdo in o.transmitted)),
            Traffic("RPDOs", n * o.rate_hz, cia402.RPDO1.size),
            Traffic("heartbeats", 10 * n + 4 / o.watchdog_s, 1),
        )

    def _make_assembler(self) -> CycleAssembler:
        n, torque = len(self.names), self.options.effort == "torque"
        first = [[Place(0, i), *([Place(1, i)] if torque else [])] for i in range(n)]
        second = [[Place(0, n + i), *([] if torque else [Place(1, i)])] for i in range(n)]
        streams = _streams(self.name, self.options, self.names, self._axes)
        self._cycles = CycleAssembler(streams, first + second, self._block, self._publish, self._on_cycle_end)
        return self._cycles

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _connect(self) -> Identity:
        names = {axis.node: name for name, axis in zip(self.axes, self._axes, strict=True)}
        settings, options = self.options.settings(), self.options

        def work(abandon: threading.Event) -> Facts:
            with CanopenSetup(self.name, settings, names, abandon) as setup:
                return set_up(setup, options)

        facts = await in_thread(work)
        self._unwatched_axes, self._dropped_axes = facts.unwatched, facts.dropped
        self.watchdog_s = None if facts.unwatched else options.watchdog_s
        self._goal = [State.SWITCH_ON_DISABLED] * len(self.axes)
        self._in_force = None
        return facts.identity

    async def _start(self) -> None:
        for axis in self._axes:
            await self._link.send(nmt(NmtCommand.OPERATIONAL, axis.node))
        await super()._start()

    async def _shut_down(self) -> None:
        if self._armed:
            return  # they stay on until their own watchdog finds this host silent
        for axis in self._axes:
            await self._link.send(nmt(NmtCommand.PRE_OPERATIONAL, axis.node))

    # -- the cycle ----------------------------------------------------------------------------------------------------

    async def _exchange(self, due_ns: int) -> None:
        sync_ns = await self._link.send(sync())
        number = self._cycles.begin(sync_ns)
        if self._in_force is not None:
            self._played.add(number, self._in_force.tolist(), sync_ns)
        reference = self._follow(due_ns + self._period_ns)
        if len(self._reported) == len(self.axes):  # before, there is no position to stay at
            await self._command(reference)
        if sync_ns - self._heartbeat_ns >= 0.25e9 * self.options.watchdog_s:
            self._heartbeat_ns = sync_ns
            state = Heartbeat(NmtState.OPERATIONAL)
            await self._link.send(
                CanFrame(cob_id(Function.HEARTBEAT, self.options.host_node), state.encode())
            )

    async def _command(self, reference: NDArray[np.float64]) -> None:
        """Controlword and target of every drive, for the next SYNC."""
        n = len(self._axes)
        for i, target in enumerate(self._counts(reference[:n]).tolist()):
            if self._goal[i] is not State.OPERATION_ENABLED:
                target = int(self._raw_position[i])  # whatever switches it on, nothing jumps
            self._controlword[i] = self._next_controlword(i)
            data = cia402.Setpoint(self._controlword[i], target, Mode.CYCLIC_POSITION).encode()
            await self._link.send(CanFrame(self._rpdo[i], data))
        self._in_force = reference.copy()

    def _next_controlword(self, axis: int) -> int:
        state = cia402.state(self._status[axis])
        goal = self._goal[axis]
        if (
            state is State.QUICK_STOP and axis in self._held_axes()
        ):  # nothing else holds it: never by way of off
            return Controlword.ENABLE if goal is State.OPERATION_ENABLED else Controlword.QUICK_STOP
        if self._armed and not self._arming and goal is State.OPERATION_ENABLED and state is not goal:
            return (
                Controlword.DISABLE_VOLTAGE
            )  # the drive left this state by itself: `_check_state` raises, and it is not switched on again
        return cia402.controlword_toward(
            state, goal, previous=self._controlword[axis], reset_fault=self._arming
        )

    def _counts(self, position: NDArray[np.float64]) -> NDArray[np.int64]:
        """Joint positions [rad], shape (..., n), in the drives' units."""
        n = len(self._axes)
        return np.rint((position - self._offset[:n]) / self._scale[:n]).astype(np.int64)

    # -- what comes in ------------------------------------------------------------------------------------------------

    def _make_handlers(self) -> dict[int, tuple[Callable[[int, CanFrame], None], int]]:
        handlers: dict[int, tuple[Callable[[int, CanFrame], None], int]] = {}
        for i, axis in enumerate(self._axes):
            for function, handler in (
                (Function.TPDO1, self._on_feedback),
                (Function.TPDO2, self._on_motion),
                (Function.EMCY, self._on_emergency),
                (Function.HEARTBEAT, self._on_heartbeat),
            ):
                handlers[cob_id(function, axis.node)] = (handler, i)
        return handlers

    def _on_frame(self, frame: CanFrame) -> None:
        handler, axis = self._handlers.get(frame.id, (None, 0))
        if handler is not None and not frame.extended and not frame.remote:
            handler(axis, frame)

    def _on_feedback(self, axis: int, frame: CanFrame) -> None:
        decoded = cia402.Feedback.decode(frame.data, torque=self.options.effort == "torque")
        cia402.state(decoded.statusword)
        self._status[axis] = decoded.statusword
        self._store_state(axis, decoded.position)
        if decoded.torque is not None:
            self._cycles.put(axis, (decoded.position, decoded.torque), frame.host_ns, self._flags(axis))
        else:
            self._cycles.put(axis, (decoded.position,), frame.host_ns)
        if self._armed and not self._arming:
            self._check_state(axis)

    def _on_motion(self, axis: int, frame: CanFrame) -> None:
        decoded = cia402.Motion.decode(frame.data, current=self.options.effort == "current")
        self._error_code[axis] = decoded.error_code
        self._raw_velocity[axis] = decoded.velocity
        second = len(self._axes) + axis
        if decoded.current is not None:
            self._cycles.put(second, (decoded.velocity, decoded.current), frame.host_ns, self._flags(axis))
        else:
            self._cycles.put(second, (decoded.velocity,), frame.host_ns)

    def _flags(self, axis: int) -> dict[int, int] | None:
        """SATURATED for current or torque while the drive reports an internal limit."""
        return {1: Validity.SATURATED} if self._status[axis] & Statusword.INTERNAL_LIMIT else None

    def _on_emergency(self, axis: int, frame: CanFrame) -> None:
        decoded = Emergency.decode(frame.data)
        self._emergency[axis] = 0 if decoded.cleared else decoded.code
        if self._armed and not self._arming and not decoded.cleared:
            self._report_fault(
                DeviceFault(
                    self.name,
                    f"{self._who([self.axes[axis]])} reports emergency {cia402.describe_error(decoded.code)}, register "
                    f"{decoded.register:#04x}, {decoded.manufacturer.hex(' ')}; see the drive's manual, then arm again",
                )
            )

    def _on_heartbeat(self, axis: int, frame: CanFrame) -> None:
        decoded = Heartbeat.decode(frame.data)
        if decoded.state is not NmtState.OPERATIONAL and axis in self._reported and self._failure is None:
            what = "has restarted" if decoded.state is NmtState.BOOT else f"is {decoded.state.name.lower()}"
            self._fail(
                DeviceLost(
                    self.name,
                    f"{self._who([self.axes[axis]])} {what} by itself; check its supply, connect anew",
                )
            )

    def _check_state(self, axis: int) -> None:
        """Report a fault if the drive has left operation-enabled by itself."""
        state = cia402.state(self._status[axis])
        if self._failure is None and state is not State.OPERATION_ENABLED:
            self._report_fault(self._fault(axis, f"is in state {state.value!r}"))

    def _fault(self, axis: int, what: str) -> DeviceFault:
        code = self._error_code[axis] or self._emergency[axis]
        return DeviceFault(
            self.name,
            f"{self._who([self.axes[axis]])} {what}, error {cia402.describe_error(code)}, statusword "
            f"{self._status[axis]:#06x}; see the drive's manual, clear the cause, then arm again",
        )

    # -- on and off ---------------------------------------------------------------------------------------------------

    async def _enable(self) -> None:
        self._arming = True
        self._goal = [State.OPERATION_ENABLED] * len(self.axes)
        try:
            await self._until(
                lambda: not self._not_in(State.OPERATION_ENABLED) or self._failure is not None, _ENABLE_S
            )
        finally:
            self._arming = False
        if isinstance(self._failure, DriverError):
            raise self._failure
        self._require_bus()
        for axis in self._not_in(State.OPERATION_ENABLED):
            state = cia402.state(self._status[axis])
            raise self._fault(
                axis, f"does not switch on: after {_ENABLE_S:g} s it is in state {state.value!r}"
            )

    async def _disable(self) -> None:
        held = self._held_axes()
        self._goal = [
            State.QUICK_STOP if i in held else State.SWITCH_ON_DISABLED for i in range(len(self.axes))
        ]
        on = (State.OPERATION_ENABLED, State.QUICK_STOP)

        def done() -> bool:
            off = self._not_in(*on)
            return len(off) == len(self.axes) - len(held) and not held & set(off)

        if not await self._until(done, _STOP_S):
            self._require_bus()
            raise DeviceFault(
                self.name, f"not every drive is off within {_STOP_S:g} s; use the emergency stop"
            )

    def _quick_stop(self) -> None:
        self._goal = [State.QUICK_STOP] * len(self.axes)

    def _powered(self) -> bool:
        held = self._held_axes() if not self._armed else set(range(len(self.axes)))
        return bool(held) and not held & set(self._not_in(State.OPERATION_ENABLED, State.QUICK_STOP))

    def _holds_alone(self) -> bool:
        return not self._dropped_axes

    def _relative(self, axis: int) -> str | None:
        bit = self.options.referenced_bit
        if bit is None:
            return super()._relative(axis)
        word = self._status[axis]
        return (
            None
            if word >> bit & 1
            else f"its drive says that it is not homed (statusword {word:#06x}, bit {bit})"
        )

    def _held_axes(self) -> set[int]:
        """Axes without a brake, which their drives go on holding after a quick stop."""
        if self.options.off_without_brake is not None:
            return set()
        return {i for i, brake in enumerate(self._brakes.tolist()) if not brake}

    def _not_in(self, *states: State) -> list[int]:
        """Axes whose drive is in none of these states."""
        return [i for i, word in enumerate(self._status) if cia402.state(word) not in states]

    # -- limits and words ---------------------------------------------------------------------------------------------

    def _check_range(self, chunk: Setpoints) -> None:
        if chunk.position.shape[1:] != (len(self.axes),):
            return  # the follower says so
        counts = self._counts(chunk.position)
        outside = np.argwhere((counts < -_INT32) | (counts >= _INT32))
        if len(outside):
            row, axis = outside[0]
            raise CommandError(
                self.name,
                f"{self.axes[axis]} is sent to {chunk.position[row, axis]:.4f} rad, {counts[row, axis]} units: more "
                "than 32 bits hold; check counts_per_turn and zero",
            )

    def _who(self, axes: Sequence[str]) -> str:
        return ", ".join(f"node {self.options.axes[axis].node} ({axis})" for axis in axes)

    def _unwatched(self) -> str:
        return f"{self._who(self._unwatched_axes)} (object 1016 or 6007 is refused) is"


def _streams(
    name: str, options: Cia402Options, names: Sequence[str], axes: Sequence[Cia402Axis]
) -> tuple[Stream, ...]:
    """Motion, and current or torque; both at SYNC."""
    positions = [
        Column(n, "position", "rad", a.position_scale, -a.zero * a.position_scale, "count")
        for n, a in zip(names, axes, strict=True)
    ]
    velocities = [
        Column(n, "velocity", "rad/s", a.velocity_scale, raw_unit="count/s")
        for n, a in zip(names, axes, strict=True)
    ]
    motion = Stream(
        f"{name}.motion", (*positions, *velocities), options.rate_hz, dtype="<i4", at_request=True
    )
    if options.effort == "current":
        unit, scale = "A", [a.sign * (a.rated_current or 0.0) / 1000 for a in axes]
    else:
        unit, scale = "N m", [a.sign * a.gear * (a.rated_torque or 0.0) / 1000 for a in axes]
    columns = tuple(
        Column(n, options.effort, unit, s, raw_unit="per mille of rated")
        for n, s in zip(names, scale, strict=True)
    )
    effort = Stream(f"{name}.{options.effort}", columns, options.rate_hz, dtype="<i4", at_request=True)
    return motion, effort
