"""T-Motor (CubeMars) AK and Damiao actuators: MIT's packed protocol, all axes of an arm on one bus.

A motor answers only when it is spoken to: each cycle sends one frame to every motor and reads one answer. Before arming
these are frames that move nothing; then position, velocity and gains. See docs/devices/mit_can.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Validity
from heft.drivers.codecs import damiao
from heft.drivers.codecs.damiao import Register
from heft.drivers.codecs.mit_can import Command, Dialect, Feedback, Field, Special, describe_status, is_fault
from heft.drivers.devices.bus.bus_load import Traffic
from heft.drivers.devices.bus.can_drives import CanDrives
from heft.drivers.devices.bus.can_options import in_order
from heft.drivers.devices.bus.cycle_assembler import CycleAssembler, Place
from heft.drivers.devices.bus.row_assembler import age_columns
from heft.drivers.devices.mit_can_options import MitAxis, MitOptions
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import CommandError, ConnectError, DeviceFault, DriverError, ProtocolError
from heft.drivers.setpoints import Setpoints
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["MitCan"]

_ENABLE_S = 1.0
_STOP_S = 0.5
_ANSWER_S = 0.3
_ASK = 3  # times for one register
_DISTRUST = 0.02  # of a range, at both ends: what an AK motor sends wraps there
_MIT_MODE = 1
_ENABLED = 1  # status of a Damiao motor


class MitCan(CanDrives[MitOptions]):
    """Yields `NAME.motion`, `NAME.torque` (each with the ages of its axes) and `NAME.played`."""

    Options = MitOptions

    def __init__(self, name: str, options: MitOptions, context: Context) -> None:
        self._axes = tuple(options.axes[axis] for axis in in_order(name, context.axes, tuple(options.axes)))
        super().__init__(name, options, context, self._axes)
        n = len(self.axes)
        self._status: list[int | None] = [None] * n
        self._answers = [0] * n
        self._quiet = True  # nothing is sent but requests for registers
        self._due: tuple[int, Register] | None = None
        self._value: float | None = None
        self._orders: list[list[Special]] = [[] for _ in range(n)]  # sent instead of a cycle's frame
        self._arming = False
        self._sending = False  # setpoints with gains
        self._by_reply: dict[int, tuple[Dialect, dict[int, int]]] = {}
        for i, axis in enumerate(self._axes):
            self._by_reply.setdefault(axis.reply, (axis.dialect, {}))[1][axis.motor] = i

    def _traffic(self) -> Sequence[Traffic]:
        frames = len(self.names) * self.options.rate_hz
        return Traffic("commands", frames, 8), Traffic("answers", frames, 8)

    def _make_assembler(self) -> CycleAssembler:
        n, axes = len(self.names), list(zip(self.names, self._axes, strict=True))
        ages = age_columns(self.names)
        positions = (_column(j, "position", "rad", a, a.ranges.position, a.zero) for j, a in axes)
        velocities = (_column(j, "velocity", "rad/s", a, a.ranges.velocity) for j, a in axes)
        torques = (_column(j, "torque", "N m", a, a.ranges.torque, gain=a.true_torque) for j, a in axes)
        rate_hz = self.options.rate_hz
        motion = Stream(f"{self.name}.motion", (*positions, *velocities, *ages), rate_hz, dtype="<i4")
        torque = Stream(f"{self.name}.torque", (*torques, *ages), rate_hz, dtype="<i4")
        self._cycles = CycleAssembler(
            (motion, torque),
            [(Place(0, i), Place(0, n + i), Place(1, i)) for i in range(n)],
            self._block,
            self._publish,
            self._on_cycle_end,
            ages=[(Place(0, 2 * n + i), Place(1, n + i)) for i in range(n)],
        )
        return self._cycles

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _connect(self) -> Identity:
        self._quiet, self._arming, self._sending = True, False, False
        self._orders = [[] for _ in self._axes]
        self._woken: set[int] = set()
        self._require_held()
        kinds = sorted({axis.model for axis in self._axes})
        maker = {Dialect.AK: "T-Motor", Dialect.DAMIAO: "Damiao"}
        return Identity(", ".join(sorted({maker[a.dialect] for a in self._axes})), ", ".join(kinds))

    async def _start(self) -> None:
        serials, versions = [], []
        for i, axis in enumerate(self._axes):
            if axis.dialect is Dialect.DAMIAO:
                await self._compare_ranges(i)
                await self._set_watchdog(i)
                serials.append(f"{await self._register(i, Register.SERIAL_NUMBER):.0f}")
                versions.append(f"{await self._register(i, Register.SOFTWARE_VERSION):.0f}")
                if axis.serial is not None and float(serials[-1]) != axis.serial:
                    raise ConnectError(
                        self.name,
                        f"{self._who([self.axes[i]])} has serial number {serials[-1]}, the rig's file says "
                        f"{axis.serial}; was it exchanged?",
                    )
        identity = self.identity
        self._identity = Identity(
            identity.vendor, identity.model, ", ".join(serials), ", ".join(sorted(set(versions)))
        )
        unwatched = [a for a in self._axes if a.dialect is Dialect.AK]
        self.watchdog_s = None if unwatched else self.options.watchdog_s
        self._quiet = False
        await self._wake()
        await super()._start()

    def _require_held(self) -> None:
        """Reading an AK motor takes a command: one that was left switched on goes limp. ConnectError where an arm
        may fall.
        """
        loose = [
            name
            for name, axis in zip(self.axes, self._axes, strict=True)
            if axis.dialect is Dialect.AK and not axis.brake
        ]
        if loose and self.options.off_without_brake is None:
            raise ConnectError(
                self.name,
                f"{self._who(loose)} has no brake, and can be read only by a command without torque: if an "
                "earlier program "
                "has left it switched on, the arm falls. Say under `off_without_brake` in the rig's file where it then "
                "rests or what balances it (docs/safety.md)",
            )

    async def _wake(self) -> None:
        """Send ENABLE to AK motors that do not answer while they are off, as their manual has it; they get no
        torque.
        """
        ak = [i for i, axis in enumerate(self._axes) if axis.dialect is Dialect.AK]
        if await self._until(
            lambda: self._reported.issuperset(ak), min(_ANSWER_S, 0.4 * self.options.timeout_s)
        ):
            return
        for i in set(ak) - self._reported:
            self._woken.add(i)
            self._orders[i] = [Special.ENABLE]
            self._missed[i] = 0

    async def _shut_down(self) -> None:
        if not self._armed:
            for i in self._woken:
                await self._link.send(CanFrame(self._axes[i].motor, Special.DISABLE.value))

    async def _compare_ranges(self, index: int) -> None:
        """The motor's own limits are those that its codes are read with, and it listens to this protocol."""
        ranges, who = self._axes[index].ranges, self._who([self.axes[index]])
        for register, field, unit in (
            (Register.POSITION_MAX, ranges.position, "rad"),
            (Register.VELOCITY_MAX, ranges.velocity, "rad/s"),
            (Register.TORQUE_MAX, ranges.torque, "N m"),
        ):
            actual = await self._register(index, register)
            if abs(actual - field.high) > 1e-3 * field.high:
                raise ConnectError(
                    self.name,
                    f"{who}: the range of {field.name} is {field.high:g} {unit} in the rig's file, but the motor says "
                    f"{actual:g} {unit} (register {register:d}); a wrong one is silently a wrong unit: "
                    "correct the file",
                )
        mode = await self._register(index, Register.CONTROL_MODE)
        if mode != _MIT_MODE:
            raise ConnectError(
                self.name, f"{who} is in control mode {mode:.0f}, expected {_MIT_MODE} (MIT); set register 10"
            )

    async def _set_watchdog(self, index: int) -> None:
        ticks = round(self.options.watchdog_s / damiao.TIMEOUT_TICK_S)
        await self._link.send(damiao.write(self._axes[index].motor, Register.TIMEOUT, ticks))
        actual = await self._register(index, Register.TIMEOUT)
        if actual != ticks:
            raise ConnectError(
                self.name,
                f"{self._who([self.axes[index]])} does not take its watchdog: register 9 is {actual:.0f}, not {ticks}",
            )

    async def _register(self, index: int, register: Register) -> float:
        """Value of a Damiao motor's register."""
        for _ in range(_ASK):
            self._due, self._value = (index, register), None
            await self._link.send(damiao.query(self._axes[index].motor, register))
            await self._until(lambda: self._value is not None, _ANSWER_S)
            self._due = None
            if self._value is not None:
                return self._value
        raise ConnectError(
            self.name,
            f"{self._link.where}: {self._who([self.axes[index]])} does not tell register {register:d}, asked {_ASK} "
            f"times; {self.CHECK}",
        )

    # -- the cycle ----------------------------------------------------------------------------------------------------

    async def _exchange(self, due_ns: int) -> None:
        if self._quiet:
            return
        reference = self._follow(due_ns)
        frames = self._frames(reference)
        number = self._cycles.begin(self.clock.now_ns())
        self._played.add(number, reference.tolist(), self.clock.now_ns())
        for frame in frames:
            await self._link.send(frame)

    def _frames(self, reference: NDArray[np.float64]) -> list[CanFrame]:
        """One frame for every motor."""
        n = len(self._axes)
        states = zip(
            self._axes, self._orders, reference[:n].tolist(), reference[n : 2 * n].tolist(), strict=True
        )
        frames = []
        for axis, orders, q, v in states:
            if orders:
                frames.append(CanFrame(axis.motor, orders.pop(0).value))
                continue
            command = Command()
            if self._sending:
                command = Command(axis.direction * q + axis.zero, axis.direction * v, axis.kp, axis.kd)
            elif axis.dialect is Dialect.DAMIAO:
                frames.append(damiao.refresh(axis.motor))
                continue
            frames.append(CanFrame(axis.motor, command.encode(axis.ranges)))
        return frames

    # -- what comes in ------------------------------------------------------------------------------------------------

    def _on_frame(self, frame: CanFrame) -> None:
        if frame.extended or frame.remote:
            return
        if self._quiet:
            self._take_register(frame)
            return
        dialect, motors = self._by_reply.get(frame.id, (None, {}))
        if dialect is not None:
            decoded = Feedback.decode(frame.data, dialect)
            if decoded.motor in motors:
                self._take(motors[decoded.motor], decoded, frame.host_ns)

    def _take_register(self, frame: CanFrame) -> None:
        """The answer that is due; without one, nothing is believed: it can look like feedback."""
        if self._due is not None and frame.id == self._axes[self._due[0]].reply:
            answer = damiao.Answer.decode(frame.data)
            if answer.register == self._due[1] and answer.operation == damiao.Operation.QUERY:
                self._value = answer.value

    def _take(self, index: int, decoded: Feedback, host_ns: int) -> None:
        axis = self._axes[index]
        self._status[index] = decoded.status
        self._answers[index] += 1
        values = (decoded.position, decoded.velocity, decoded.torque)
        self._store_state(index, decoded.position, decoded.velocity)
        fields = (axis.ranges.position, axis.ranges.velocity, axis.ranges.torque)
        flags = {
            i: Validity.SATURATED
            for i, (code, field) in enumerate(zip(values, fields, strict=True))
            if _at_its_end(code, field)
        }
        self._cycles.put(index, values, host_ns, flags)
        gone = axis.dialect is Dialect.DAMIAO and decoded.status != _ENABLED
        watched = self._sending and not self._arming and self._failure is None
        if watched and (gone or is_fault(axis.dialect, decoded.status)):
            self._report_fault(self._fault(index, "reports"))

    def _fault(self, index: int, what: str) -> DeviceFault:
        axis, status = self._axes[index], self._status[index]
        return DeviceFault(
            self.name,
            f"{self._who([self.axes[index]])} {what} {describe_status(axis.dialect, status)} (status {status}); clear "
            "the cause, then arm again",
        )

    # -- on and off ---------------------------------------------------------------------------------------------------

    async def _enable(self) -> None:
        self._arming = True
        self._orders = [
            [Special.CLEAR_ERROR, Special.ENABLE] if axis.dialect is Dialect.DAMIAO else [Special.ENABLE]
            for axis in self._axes
        ]
        self._answers, self._sending = [0] * len(self.axes), True
        try:
            await self._until(lambda: self._enabled() or isinstance(self._failure, DriverError), _ENABLE_S)
        finally:
            self._arming = False
        if isinstance(self._failure, DriverError):
            raise self._failure
        self._require_bus()
        for index in self._not_enabled():
            raise self._fault(index, f"is not enabled after {_ENABLE_S:g} s:")

    async def _disable(self) -> None:
        self._sending = False
        self._answers = [0] * len(self.axes)
        # Those that are mute while they are off are switched on again, without torque, to be heard.
        self._orders = [
            [Special.DISABLE] * _ASK + [Special.ENABLE] * (i in self._woken) for i in range(len(self._axes))
        ]
        if not await self._until(self._off, _STOP_S):
            self._require_bus()
            raise DeviceFault(
                self.name, f"not every motor is off within {_STOP_S:g} s; use the emergency stop"
            )

    def _powered(self) -> bool:
        return self._sending and not self._not_enabled()

    def _enabled(self) -> bool:
        """Whether every motor has answered a setpoint and none reports that it is off."""
        return min(self._answers) > _ASK and not self._not_enabled()

    def _off(self) -> bool:
        """Whether every motor has been sent DISABLE often enough, and no Damiao motor reports that it is on."""
        damiao_on = any(
            s == _ENABLED and a.dialect is Dialect.DAMIAO
            for a, s in zip(self._axes, self._status, strict=True)
        )
        return not any(self._orders) and not damiao_on

    def _not_enabled(self) -> list[int]:
        """Motors that say that they are off or in trouble; an AK motor only says the latter."""
        return [
            i
            for i, (axis, status) in enumerate(zip(self._axes, self._status, strict=True))
            if is_fault(axis.dialect, status) or (axis.dialect is Dialect.DAMIAO and status != _ENABLED)
        ]

    # -- limits and words ---------------------------------------------------------------------------------------------

    def _check_range(self, chunk: Setpoints) -> None:
        if chunk.position.shape[1:] != (len(self.axes),):
            return  # the follower says so
        for i, axis in enumerate(self._axes):
            for values, field in (
                (axis.direction * chunk.position[:, i] + axis.zero, axis.ranges.position),
                (axis.direction * chunk.velocity[:, i], axis.ranges.velocity),
            ):
                worst = float(values[np.abs(values).argmax()])
                try:
                    field.encode(worst)
                except ProtocolError as exc:
                    raise CommandError(self.name, f"{self.axes[i]}: {exc}; change the trajectory") from exc

    def _who(self, axes: Sequence[str]) -> str:
        return ", ".join(f"motor {self.options.axes[axis].motor} ({axis})" for axis in axes)

    def _unwatched(self) -> str:
        ak = [name for name, axis in zip(self.axes, self._axes, strict=True) if axis.dialect is Dialect.AK]
        return f"{self._who(ak)} is"


def _column(
    joint: str, quantity: str, unit: str, axis: MitAxis, field: Field, zero: float = 0.0, gain: float = 1.0
) -> Column:
    """Motors round down: a code stands for the middle of what leads to it; times `gain`."""
    offset = field.offset + 0.5 * field.scale - zero
    side = axis.direction * gain
    return Column(joint, quantity, unit, side * field.scale, side * offset, "code")


def _at_its_end(code: int, field: Field) -> bool:
    """Whether a code is so near to an end of its range that it may have wrapped."""
    top = (1 << field.bits) - 1
    return not _DISTRUST * top < code < (1.0 - _DISTRUST) * top
