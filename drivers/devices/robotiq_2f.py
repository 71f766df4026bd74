"""Robotiq 2F-85, 2F-140 and Hand-E grippers over Modbus RTU."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Annotated, ClassVar, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator

from heft.drivers.block import Block, Validity
from heft.drivers.codecs import modbus
from heft.drivers.codecs.robotiq_2f import (
    ACTION,
    CURRENT_SCALE,
    STATUS,
    UNIT,
    Action,
    Activation,
    Fault,
    Object,
    Status,
)
from heft.drivers.codecs.robotiq_grasp import Grasp, Rule
from heft.drivers.devices.base.modbus_client import ModbusClient
from heft.drivers.devices.base.polled_driver import PolledDriver, PolledOptions
from heft.drivers.driver import Context, Gripper, Identity
from heft.drivers.errors import CommandError, ConnectError, DeviceFault, ProtocolError
from heft.drivers.options import Positive, RateHz
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.serial_port import SerialPort
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["FingerOptions", "GripperOptions", "Robotiq2f", "RobotiqFingers"]

_BAUD = 115200
_ATTEMPTS = 3
_OPEN, _CLOSED = 0, 255
_POLL_NS = 20_000_000  # while waiting for the fingers

Byte = Annotated[int, Field(ge=0, le=255)]


class FingerOptions(PolledOptions):
    """Fingers of a gripper, however it is connected."""

    #: Largest distance of the fingers [m]: 0.085 or 0.140 (2F), 0.050 (Hand-E).
    stroke: Positive = 0.085
    #: What its position reads with the fingers fully open, and fully closed without an object: 13 and 230 on a 2F-85,
    #: which never reach 0 and 255. Look at `heft devices probe` with your fingers.
    open_count: Byte = 13
    closed_count: Byte = 230
    #: Speed and force of a grip, 0 to 255.
    speed: Byte = 128
    force: Byte = 128
    #: How many readings in a row must show an object before it counts as held.
    polls: Annotated[int, Field(ge=1)] = 3
    #: Objects are gripped from inside, by opening.
    inside: bool = False
    #: How long activating, closing or opening may take at most [s].
    motion_s: Positive = 8.0

    @model_validator(mode="after")
    def _travels(self) -> Self:
        if self.closed_count <= self.open_count:
            raise ValueError(
                f"closed_count: {self.closed_count} must be above open_count, {self.open_count}: it counts up "
                "while closing"
            )
        return self


F = TypeVar("F", bound=FingerOptions)


class RobotiqFingers(PolledDriver[F, Chunk, bytes], Gripper):
    """Yields `NAME.state`: opening [m], current [A], object held (0 or 1).

    Connecting moves nothing; the first command activates a gripper that is not, which opens and closes it fully.
    Held is what the rule of `heft.drivers.codecs.robotiq_grasp` says; confirm it by the weight before relying on it.
    """

    def __init__(self, name: str, options: F, context: Context) -> None:
        super().__init__(name, options, context)
        travel = options.closed_count - options.open_count
        self._stream = Stream(
            name=f"{name}.state",
            columns=(
                Column(
                    "fingers",
                    "opening",
                    "m",
                    -options.stroke / travel,
                    options.stroke * options.closed_count / travel,
                    raw_unit="count",
                ),
                Column("fingers", "current", "A", CURRENT_SCALE, raw_unit="10 mA"),
                Column("object", "detected", "1"),
            ),
            rate_hz=options.rate_hz,
            dtype="<i4",
        )
        self._rule = Rule(options.polls, options.inside)
        self._grasp = Grasp()

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self._stream,)

    @property
    def held(self) -> bool:
        """Whether something is held between the fingers."""
        return self._grasp.held

    @abstractmethod
    async def _read_status(self) -> tuple[Status, int, int]:
        """Status, request time and answer time [ns]; TimeoutError, ProtocolError."""

    @abstractmethod
    async def _write_action(self, action: Action) -> None:
        """Ask for an action and hear that it was taken; TimeoutError, ProtocolError."""

    @abstractmethod
    def _silence(self) -> str:
        """Who does not answer."""

    async def _answering(self) -> Status:
        """The status of a gripper that answers, or ConnectError."""
        why: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                return (await self._read())[0]
            except (TimeoutError, ProtocolError) as exc:
                why = exc
        reason = self._silence() if isinstance(why, TimeoutError) else str(why)
        raise ConnectError(
            self.name, f"{self.line.where}: asked {_ATTEMPTS} times for its status: {reason}; {self.CHECK}"
        )

    async def _activate(self) -> None:
        """A rising edge of rACT; the fingers open and close."""
        await self._write(Action())
        await self._write(Action(activate=True))
        await self._until(lambda s: s.activation is Activation.ACTIVE, "activate")

    # -- commands -----------------------------------------------------------------------------------------------------

    async def grip(self, target: str = "") -> None:
        await self._go(_OPEN if self.options.inside else _CLOSED, "grip")

    async def release(self) -> None:
        await self._go(_CLOSED if self.options.inside else _OPEN, "release")

    async def _go(self, position: int, what: str) -> None:
        o = self.options
        status = await self._answering()
        if status.activation is not Activation.ACTIVE or status.fault >= Fault.UNDER_VOLTAGE:
            await self._activate()
        self._grasp = self._grasp.request(position)
        await self._write(Action(activate=True, go=True, position=position, speed=o.speed, force=o.force))
        await self._until(
            lambda s: s.going and s.requested == position and s.object is not Object.MOVING, what
        )

    async def _until(self, done: Callable[[Status], bool], what: str) -> None:
        """Read the state until the fingers have stopped."""
        give_up_ns = self.clock.now_ns() + round(self.options.motion_s * 1e9)
        while self.clock.now_ns() < give_up_ns:
            await self.clock.sleep_until(self.clock.now_ns() + _POLL_NS)
            try:
                status, _, _ = await self._read()
            except (TimeoutError, ProtocolError):
                continue  # the reader of the stream reports when this lasts
            if status.fault >= Fault.OVER_TEMPERATURE and status.fault != Fault.NO_COMMUNICATION:
                raise DeviceFault(
                    self.name, f"cannot {what}: {status.fault_name}; clear the fingers and connect again"
                )
            if done(status):
                return
        raise CommandError(
            self.name, f"{what}: the fingers had not stopped after {self.options.motion_s:g} s (motion_s)"
        )

    # -- state --------------------------------------------------------------------------------------------------------

    async def _poll(self, number: int) -> Iterable[Block]:
        status, request_ns, host_ns = await self._read()
        faulty = status.fault >= Fault.OVER_TEMPERATURE and status.fault != Fault.NO_COMMUNICATION
        return (
            Block(
                self._stream,
                number,
                host_ns=np.array([host_ns]),
                values=np.array([[status.position, status.current, self._grasp.held]], dtype=np.int32),
                validity=np.full((1, 3), Validity.FAULT if faulty else Validity.OK, dtype=np.uint8),
                request_ns=np.array([request_ns]),
            ),
        )

    async def _read(self) -> tuple[Status, int, int]:
        """Status, request time and answer time [ns]; updates the grasp state."""
        status, request_ns, host_ns = await self._read_status()
        self._grasp = self._rule.step(self._grasp, status)
        return status, request_ns, host_ns

    async def _write(self, action: Action) -> None:
        why: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                await self._write_action(action)
            except (TimeoutError, ProtocolError) as exc:
                why = exc
            else:
                return
        raise CommandError(
            self.name,
            f"{self.line.where}: no confirmation of a command after {_ATTEMPTS} attempts "
            f"({str(why) or 'no answer'}); {self.CHECK}",
        )


class GripperOptions(FingerOptions):
    """A gripper on a serial line of its own."""

    #: The serial port; `/dev/serial/by-id/...` stays the same over re-plugging.
    port: str
    #: Modbus address of the gripper.
    unit: Annotated[int, Field(ge=1, le=247)] = UNIT
    #: How often its state is read [1/s]; a transaction takes about 16 ms.
    rate_hz: RateHz = 30.0
    #: How long an answer may take [s].
    answer_s: Positive = 0.05
    timeout_s: Positive = 0.5


class Robotiq2f(RobotiqFingers[GripperOptions]):
    """A gripper on a serial line."""

    Options: ClassVar[type[GripperOptions]] = GripperOptions
    CHECK = "check its cable and its 24 V supply, and its unit (9 from the factory)"

    def __init__(self, name: str, options: GripperOptions, context: Context) -> None:
        super().__init__(name, options, context)
        self._modbus: ModbusClient | None = None

    def _make_line(self) -> Transport[Chunk, bytes]:
        return SerialPort(self.name, self.clock, port=self.options.port, baudrate=_BAUD)

    async def _connect(self) -> Identity:
        o = self.options
        self._modbus = ModbusClient(self.line, self.clock, unit=o.unit, baud=_BAUD, timeout_s=o.answer_s)
        await self._answering()
        return Identity("Robotiq", "2F or Hand-E gripper")

    def _silence(self) -> str:
        return f"unit {self.options.unit} does not answer"

    async def _read_status(self) -> tuple[Status, int, int]:
        reply = await self._client.read(*STATUS, function=modbus.READ_INPUT)
        return Status.decode(reply.registers), reply.request_ns, reply.host_ns

    async def _write_action(self, action: Action) -> None:
        await self._client.write(ACTION[0], action.encode())

    @property
    def _client(self) -> ModbusClient:
        if self._modbus is None:
            raise self._not_connected()
        return self._modbus
