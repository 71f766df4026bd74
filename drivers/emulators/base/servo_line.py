"""Emulated servos on one half-duplex serial line: what Dynamixels and Feetechs have in common.

A request is complete when its last byte has passed the line; servos sample then, and answer one after the other, each
after its return delay. After power-up they are deaf for `boot_s`.
"""

from __future__ import annotations

import asyncio
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.axes import Axes
from heft.drivers.emulators.base.drive_model import DriveModel, MotorOptions
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.wires.serial_wire import SerialWire
from heft.drivers.errors import OptionError
from heft.drivers.options import NonNegative, Options, Positive
from heft.drivers.plant.faults import Stuck
from heft.drivers.plant.plant import Plant

__all__ = ["Reply", "Request", "Servo", "ServoConfig", "ServoLine", "ServoLineOptions"]

_WATCH_NS = 5_000_000
_BITS_PER_BYTE = 10

Measured = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


class ServoConfig(Options):
    """One servo as it was set up."""

    id: Annotated[int, Field(ge=0, le=252)]
    #: Turns of its output for one of the joint (negative: the other way).
    gear: float = 1.0
    #: Its reading where the joint is at 0 [count]; left out: the middle of its turn.
    zero: float | None = None
    #: Time between a request and its answer [us], in steps of 2.
    return_delay_us: Annotated[int, Field(ge=0, le=508)] = 500


class ServoLineOptions(MotorOptions):
    """An arm of servos."""

    baud: Annotated[int, Field(gt=0)] = 1_000_000
    #: For so long after power-up nobody answers [s].
    boot_s: NonNegative = 0.0
    #: Distance from the goal at which a servo gives up, overloaded [rad at the joint].
    following_error: Positive = 0.4


C = TypeVar("C", bound=ServoConfig)
O = TypeVar("O", bound=ServoLineOptions)  # noqa: E741 - options


@dataclass
class Servo(Generic[C]):
    """State of one servo; times in seconds since the plant's start."""

    index: int
    config: C
    torque: bool = False
    error: int = 0  # hardware error bits
    goal: int = 0  # [count]
    heard: float = 0.0  # when the last instruction came
    memory: dict[int, int] = field(default_factory=dict)  # bytes that were written


class Request(NamedTuple):
    """A packet of the host: to whom, what, and its parameters."""

    id: int
    instruction: int
    parameters: bytes


class Reply(NamedTuple):
    """What a servo answers, and after which delay [s]."""

    data: bytes
    delay_s: float


class ServoLine(Emulator[O, SerialWire], Generic[O, C]):
    """n servos on one line."""

    TICK_HZ = 1000.0
    TICK_BITS = 15

    def __init__(self, name: str, options: O, plant: Plant, configs: Sequence[C]) -> None:
        super().__init__(name, options, plant)
        n = len(plant.axes)
        if len(configs) != n:
            raise OptionError(f"{name}.servos: {len(configs)} for {n} joints ({', '.join(plant.axes)})")
        self._servos = [Servo(i, config) for i, config in enumerate(configs)]
        self._by_id = {servo.config.id: servo for servo in self._servos}
        self._stages = Axes(
            name,
            plant,
            bandwidth_hz=options.bandwidth_hz,
            on_trip=self._on_trip,
            period_s=1.0 / options.servo_hz,
            brakes=options.brakes(n),
            forward=False,
        )
        self._model = DriveModel(name, options, plant, self._stages)
        self._measured: Measured | None = None
        self._sampled_t = -1.0
        self._tick = 0  # of the servos' clocks, at the sample
        self._buffer = b""
        self.declare({}, {"motion": 0.0, "current": 0.5 * options.window_s})

    # -- what protocols add -------------------------------------------------------------------------------------------

    @abstractmethod
    def _packets(self, buffer: bytes) -> Iterator[tuple[int, Request | None]]:
        """Packets in a buffer: where each ends, and what it asks; None: bytes that are none.

        Ends where more bytes are needed.
        """

    @abstractmethod
    def _execute(self, request: Request, t: float) -> Iterable[Reply]:
        """Obey a request that was complete at t [s]; what the servos answer, in turn."""

    @abstractmethod
    def _turn(self, servo: Servo[C]) -> tuple[int, float]:
        """Counts per turn of a servo, and its reading where the joint is at 0."""

    def _watch_servo(self, servo: Servo[C], t: float) -> None:
        """What a servo does by itself, some times a second."""

    OVERLOAD: int

    # -- the line -----------------------------------------------------------------------------------------------------

    def _make_wire(self) -> SerialWire:
        return SerialWire(self.name, self.plant, self.options.baud)

    async def serve(self) -> None:
        await self.clock.sleep_until(self.clock.now_ns() + round(self.options.boot_s * 1e9))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} line")
            tasks.create_task(self._watch(), name=f"emulator {self.name} watch")

    async def _listen(self) -> None:
        byte_s = _BITS_PER_BYTE / self.options.baud
        while True:
            for chunk in await self.wire.receive():
                held = len(self._buffer)
                self._buffer += chunk.data
                end = 0
                for end, request in self._packets(self._buffer):
                    if request is not None:
                        t = self.plant.seconds(chunk.host_ns) + (end - held) * byte_s
                        await self._serve_request(request, t)
                self._buffer = self._buffer[end:]

    async def _serve_request(self, request: Request, t: float) -> None:
        self.plant.advance(self.plant.nanoseconds(t))
        for servo in self._servos:
            servo.heard = t
            if self.status and not servo.error:
                self._fail(servo, self.status, t)
        for reply in self._execute(request, t):
            self.wire.pause(reply.delay_s)
            await self.wire.send(reply.data, at=t)

    # -- what servos measure ------------------------------------------------------------------------------------------

    def _sample(self, t: float) -> Measured:
        """Position [rad], velocity [rad/s], torque [N m] of all joints at t, shape (n,) each.

        One request is answered from one sample.
        """
        stuck = self._measured is not None and self.active(Stuck)
        if self._measured is None or (t != self._sampled_t and not stuck):
            self._measured, self._sampled_t = self._model.measure(t), t
            self._tick = int(self.ticker.ticks(np.array([t]))[0])
        return self._measured

    def _counts(self, servo: Servo[C], position: float) -> float:
        """A position of the joint [rad] in counts of the servo."""
        turn, zero = self._turn(servo)
        return position * servo.config.gear * turn / (2.0 * math.pi) + zero

    def _radians(self, servo: Servo[C], counts: float) -> float:
        turn, zero = self._turn(servo)
        return (counts - zero) * 2.0 * math.pi / (turn * servo.config.gear)

    def _ampere(self, servo: Servo[C], torque: float) -> float:
        per_ampere = float(self.plant.torque_per_ampere[servo.index])
        return math.copysign(1.0, servo.config.gear) * torque / per_ampere

    # -- what servos do -----------------------------------------------------------------------------------------------

    def _switch(self, servo: Servo[C], on: bool, t: float) -> None:
        """Torque on, where nothing is wrong: the servo holds where it is. Torque off: nothing holds it."""
        on = on and not servo.error
        if on and not servo.torque:
            self._stages.enable(servo.index)
            position = float(self._sample(t)[0][servo.index])
            servo.goal = round(self._counts(servo, position))
        elif servo.torque and not on:
            self._stages.disable(servo.index, t)
        servo.torque = on

    def _go(self, servo: Servo[C], goal: int, t: float) -> None:
        """A new goal position [count]: a step, which the servo's loop follows as it can."""
        servo.goal = goal
        if servo.torque:
            self._stages.set_setpoint(servo.index, t, self._radians(servo, goal))

    def _fail(self, servo: Servo[C], error: int, t: float) -> None:
        """A hardware error: torque goes off and stays off."""
        servo.error |= error
        self._switch(servo, False, t)

    def _on_trip(self, index: int) -> None:
        self._fail(self._servos[index], self.OVERLOAD, self.plant.seconds(self.clock.now_ns()))

    async def _watch(self) -> None:
        while True:
            await self.clock.sleep_until(self.clock.now_ns() + _WATCH_NS)
            t = self.plant.now()
            position = self.plant.motor(np.array([t])).q[0]
            for servo in self._servos:
                away = abs(self._stages.setpoint(servo.index, t) - float(position[servo.index]))
                if servo.torque and away > self.options.following_error:
                    self._fail(servo, self.OVERLOAD, t)
                self._watch_servo(servo, t)
