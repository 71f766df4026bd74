"""Emulated ODrives: CANSimple, firmware 0.5 and 0.6, one node per joint.

Identifier: node << 5 | command; little-endian. Encoder estimates, Iq and the heartbeat are sent by each axis' own
clock; anything else is sent on a remote request. Any frame that is addressed to an axis feeds its watchdog.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import struct
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.emulators.base.drive_model import ONE_INSTANT_S, DriveModel, DriveOptions
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.sampling import Sampling
from heft.drivers.emulators.wires.can_wire import CanWire
from heft.drivers.errors import OptionError
from heft.drivers.options import Options, Positive
from heft.drivers.plant.plant import Plant
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["OdriveCan", "OdriveNode", "OdriveOptions"]

_VERSION, _HEARTBEAT, _ESTOP, _ERRORS, _RX_SDO, _TX_SDO = 0x00, 0x01, 0x02, 0x03, 0x04, 0x05
_SET_STATE, _ENCODER, _COUNT, _SET_MODE, _INPUT_POS, _LIMITS = 0x07, 0x09, 0x0A, 0x0B, 0x0C, 0x0F
_IQ, _REBOOT, _BUS, _CLEAR, _TORQUES = 0x14, 0x16, 0x17, 0x18, 0x1C
_IDLE, _CLOSED_LOOP, _POSITION = 1, 8, 3
_FILTER = 3
_WATCHDOG = {"0.5": 0x800, "0.6": 0x0100_0000}
_ESTOPPED = {"0.5": 0x4000, "0.6": 0x0200_0000}
_MOTOR_FAILED = {"0.5": 0x40, "0.6": 0x1000}
_TICK_NS = 1_000_000
_ENABLE_ENDPOINT, _TIMEOUT_ENDPOINT = 241, 242


class OdriveNode(Options):
    """One axis as it was set up over USB."""

    node: Annotated[int, Field(ge=0, le=63)]
    #: Turns of the motor for one of the joint (negative: the other way); its reading where the joint is at 0 [turn].
    gear: float = 1.0
    zero: float = 0.0
    #: Counts of its encoder for a turn.
    cpr: Annotated[int, Field(gt=0)] = 8192


class OdriveOptions(DriveOptions):
    """An arm of ODrives."""

    #: One per joint, in the order of the joints; left out: nodes 0, 1, ... with the values above.
    nodes: tuple[OdriveNode, ...] | None = None
    firmware: Literal["0.5", "0.6"] = "0.6"
    #: How often each axis sends [ms]; 0: never.
    encoder_rate_ms: Annotated[int, Field(ge=0)] = 10
    iq_rate_ms: Annotated[int, Field(ge=0)] = 10
    heartbeat_rate_ms: Annotated[int, Field(ge=0)] = 100
    #: The axes' watchdog [s]; null: it is off.
    watchdog_timeout: Positive | None = 0.2
    #: Firmware 0.5 tells its position as 0 until its loop has been closed once; whether it has been.
    closed_before: bool = False
    #: Of the input filter, a critically damped one of second order [rad/s]; it acts in input mode 3.
    input_filter_bandwidth: Positive = 20.0
    #: Distance from the setpoint at which an axis gives up [rad at the joint].
    following_error: Positive = 0.2


@dataclass
class _Axis:
    """State of one axis; times in seconds since the plant's start."""

    index: int
    config: OdriveNode
    clock: float  # its seconds per true second
    phase: float
    state: int = _IDLE
    error: int = 0
    disarm_reason: int = 0
    mode: tuple[int, int] = (_POSITION, 1)
    fed: float = 0.0
    modes_set: int = 0  # how often it was told its mode
    broken: bool = False
    known: bool = True  # whether the estimates are more than zeros

    @property
    def scale(self) -> float:
        """[rad] of the joint for one turn of the motor."""
        return 2.0 * math.pi / self.config.gear


class OdriveCan(Emulator[OdriveOptions, CanWire]):
    """n axes on one bus."""

    Options = OdriveOptions

    def __init__(self, name: str, options: OdriveOptions, plant: Plant) -> None:
        super().__init__(name, options, plant)
        n = len(plant.axes)
        nodes = options.nodes or tuple(OdriveNode(node=i) for i in range(n))
        if len(nodes) != n:
            raise OptionError(f"{name}.nodes: {len(nodes)} axes for {n} joints ({', '.join(plant.axes)})")
        rng = plant.rng(name, "axes")
        drift = 1e-6 * options.clock_drift_ppm
        self._axes = [
            _Axis(i, node, 1.0 + float(rng.uniform(-drift, drift)), float(rng.random()))
            for i, node in enumerate(nodes)
        ]
        for axis in self._axes:
            axis.known = options.closed_before or options.firmware == "0.6"
        self._by_node = {axis.config.node: axis for axis in self._axes}
        stages = Axes(
            name,
            plant,
            bandwidth_hz=options.bandwidth_hz,
            on_trip=self._on_trip,
            period_s=1.0 / options.servo_hz,
            brakes=options.brakes(n),
            filter_hz=options.input_filter_bandwidth / (2.0 * math.pi),
            forward=False,  # controller.config.inertia is 0
        )
        stages.smoothed[:] = False
        self._stages = stages
        self._model = DriveModel(name, options, plant, stages)
        self.declare({}, {"motion": 0.0, "current": 0.5 * options.window_s})

    def _make_wire(self) -> CanWire:
        return CanWire(self.name, self.plant, self.options.settings())

    # -- the bus ------------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} bus")
            tasks.create_task(self._broadcast(), name=f"emulator {self.name} messages")

    async def _listen(self) -> None:
        while True:
            for frame in await self.wire.receive():
                axis = self._by_node.get(frame.id >> 5)
                if axis is None or frame.extended or frame.error:
                    continue
                self.plant.advance(frame.host_ns)
                t = self.plant.seconds(frame.host_ns)
                axis.fed = t
                command = frame.id & 0x1F
                if frame.remote:
                    data = self._payload(axis, command, self._model.measure(t))
                    if data is not None:
                        await self._send(axis, command, data)
                elif command == _RX_SDO and self.options.firmware == "0.6":
                    await self._answer_sdo(axis, frame.data)
                else:
                    self._handle_command(axis, command, frame.data, t)

    def _handle_command(self, axis: _Axis, command: int, data: bytes, t: float) -> None:
        data = data.ljust(8, b"\0")
        if command == _SET_STATE:
            (state,) = struct.unpack_from("<I", data)
            self._enter(axis, state, t)
        elif command == _SET_MODE:
            axis.mode = struct.unpack("<ii", data)
            axis.modes_set += 1
            if self.options.firmware == "0.5" and axis.state == _CLOSED_LOOP:
                here = float(self.plant.motor(np.array([t])).q[0][axis.index])
                self._stages.set_setpoint(axis.index, t, here)
            self._stages.smoothed[axis.index] = axis.mode[1] == _FILTER
        elif command == _INPUT_POS and axis.state == _CLOSED_LOOP and axis.mode[0] == _POSITION:
            turns, rate, _ = struct.unpack("<fhh", data)
            position, velocity = (turns - axis.config.zero) * axis.scale, 0.001 * rate * axis.scale
            self._stages.set_setpoint(axis.index, t, position, velocity=velocity)
        elif command == _CLEAR and not axis.broken:
            axis.error = 0
        elif command == _ESTOP:
            self._disarm(axis, _ESTOPPED[self.options.firmware], t)
        elif command == _REBOOT:
            self._disarm(axis, 0, t)
            axis.error = 0

    def _enter(self, axis: _Axis, state: int, t: float) -> None:
        if state == _CLOSED_LOOP and not axis.error and axis.state != _CLOSED_LOOP:
            axis.state = _CLOSED_LOOP
            axis.known = True
            self._stages.enable(axis.index)
        elif state == _IDLE and axis.state == _CLOSED_LOOP:
            axis.state = _IDLE
            self._stages.disable(axis.index, t)

    def _disarm(self, axis: _Axis, error: int, t: float) -> None:
        axis.error |= error
        if axis.state == _CLOSED_LOOP:
            axis.disarm_reason = error
        self._enter(axis, _IDLE, t)

    async def _answer_sdo(self, axis: _Axis, data: bytes) -> None:
        opcode, endpoint = struct.unpack_from("<BH", data.ljust(8, b"\0"))
        timeout = self.options.watchdog_timeout
        values = {
            _ENABLE_ENDPOINT: struct.pack("<I", timeout is not None),
            _TIMEOUT_ENDPOINT: struct.pack("<f", timeout or 0.0),
        }
        if opcode == 0 and endpoint in values:
            await self._send(axis, _TX_SDO, struct.pack("<xHx", endpoint) + values[endpoint])

    # -- what the axes say --------------------------------------------------------------------------------------------

    async def _broadcast(self) -> None:
        """Every message when it is due, in the order of time; what was missed while this process stalled comes late.

        Not what was missed long ago.
        """
        o = self.options
        rates = {_HEARTBEAT: o.heartbeat_rate_ms, _ENCODER: o.encoder_rate_ms, _IQ: o.iq_rate_ms}
        now = self.plant.now()
        due = [
            (now + 1e-3 * ms * axis.phase, axis.index, command, 1e-3 * ms / axis.clock)
            for axis in self._axes
            for command, ms in rates.items()
            if ms
        ]
        heapq.heapify(due)
        while True:
            await self.clock.sleep_until(self.clock.now_ns() + _TICK_NS)
            now = self.plant.now()
            position = self.plant.motor(np.array([now])).q[0]
            for axis in self._axes:
                self._guard(axis, now, position)
            measured, measured_t = None, 0.0
            while due and due[0][0] <= now:
                t, index, command, period = due[0]
                heapq.heapreplace(due, (t + period, index, command, period))
                if now - t > Sampling.PATIENCE_S:
                    continue
                if measured is None or t - measured_t > ONE_INSTANT_S:
                    measured, measured_t = self._model.measure(t), t
                data = self._payload(self._axes[index], command, measured)
                if data is not None:
                    await self._send(self._axes[index], command, data, t)

    def _guard(self, axis: _Axis, t: float, position: NDArray[np.float64]) -> None:
        """Disarm an axis on watchdog timeout, following error, or error bits on command."""
        o = self.options
        if o.watchdog_timeout is not None and t - axis.fed > o.watchdog_timeout:
            self._disarm(axis, _WATCHDOG[o.firmware], t)
        if self.status:
            self._disarm(axis, self.status, t)
        if axis.state == _CLOSED_LOOP:
            away = abs(self._stages.setpoint(axis.index, t) - float(position[axis.index]))
            if away > o.following_error:
                self._disarm(axis, _MOTOR_FAILED[o.firmware], t)

    def _payload(self, axis: _Axis, command: int, measured: tuple[NDArray[np.float64], ...]) -> bytes | None:
        """The payload of one message; None: there is no such message."""
        new = self.options.firmware == "0.6"
        if command == _HEARTBEAT:
            failed = int(axis.error != 0)
            if new:
                return struct.pack("<IBBBx", axis.error, axis.state, 0, 1)
            return struct.pack("<IBBBB", axis.error, axis.state, failed, 0, 0x80)
        if command == _VERSION:
            return bytes([2, 4, 4, 58, 0, 6, 10, 0]) if new else None
        if command == _ERRORS:
            return struct.pack("<II", axis.error, axis.disarm_reason) if new else None
        if command == _BUS:
            return struct.pack("<ff", 24.0, 0.5)
        q, v, torque = measured
        i, sign = axis.index, math.copysign(1.0, axis.config.gear)
        if command == _COUNT and not new:
            counts = round((q[i] / axis.scale + axis.config.zero) * axis.config.cpr)
            return struct.pack("<ii", counts, counts % axis.config.cpr)
        if command == _ENCODER and not axis.known:
            return bytes(8)
        if command == _ENCODER:
            return struct.pack("<ff", q[i] / axis.scale + axis.config.zero, v[i] / axis.scale)
        current = sign * torque[i] / self.plant.torque_per_ampere[i]
        if command == _IQ:
            return struct.pack("<ff", current, current)
        if command == _TORQUES and new:
            return struct.pack("<ff", torque[i] / axis.config.gear, torque[i] / axis.config.gear)
        return None

    async def _send(self, axis: _Axis, command: int, data: bytes, at: float | None = None) -> None:
        await self.wire.send(CanFrame(axis.config.node << 5 | command, data), at=at)

    def _on_trip(self, index: int) -> None:
        axis = self._axes[index]
        axis.broken = True
        self._disarm(axis, _MOTOR_FAILED[self.options.firmware], self.plant.seconds(self.clock.now_ns()))
