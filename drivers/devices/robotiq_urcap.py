"""Robotiq 2F and Hand-E grippers through the port that Robotiq's URCap opens on a Universal Robots controller."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, ClassVar

from pydantic import Field

from heft.drivers.codecs import robotiq_urcap as codec
from heft.drivers.codecs.robotiq_2f import Action, Status
from heft.drivers.devices.robotiq_2f import FingerOptions, RobotiqFingers
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ProtocolError
from heft.drivers.options import Positive, RateHz
from heft.drivers.transports.tcp import TcpLine
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["RobotiqUrcap", "UrcapOptions"]

_ATTEMPTS = 3


class UrcapOptions(FingerOptions):
    """A gripper on the controller of a Universal Robots arm."""

    #: Address of the controller, and the URCap's port.
    host: str
    port: Annotated[int, Field(gt=0, lt=65536)] = codec.PORT
    #: How often its state is read [1/s]; each reading is seven questions.
    rate_hz: RateHz = 20.0
    #: How long an answer may take [s].
    answer_s: Positive = 0.2
    timeout_s: Positive = 1.0


class RobotiqUrcap(RobotiqFingers[UrcapOptions]):
    """Yields `NAME.state`: opening [m], current [A] (0: not told), object held (0 or 1)."""

    Options: ClassVar[type[UrcapOptions]] = UrcapOptions
    CHECK = "check the gripper's cable, and that Robotiq's URCap is installed on the controller"

    def __init__(self, name: str, options: UrcapOptions, context: Context) -> None:
        super().__init__(name, options, context)
        self._turn = asyncio.Lock()  # a command may come between two readings

    def _make_line(self) -> Transport[Chunk, bytes]:
        return TcpLine(self.name, self.clock, remote=(self.options.host, self.options.port))

    async def _connect(self) -> Identity:
        await self._answering()
        return Identity("Robotiq", "2F or Hand-E gripper, by URCap")

    def _silence(self) -> str:
        return "the URCap does not answer"

    async def _exchange(self, request: bytes) -> tuple[bytes, int, int]:
        """Answer, request time and answer time [ns], one question at a time; TimeoutError."""
        async with self._turn:
            await self._drain()  # of an answer that came too late
            request_ns = await self.line.send(request)
            said, host_ns = b"", request_ns
            async with asyncio.timeout(min(self.options.answer_s, self.options.timeout_s)):
                while said != codec.ACK and not said.endswith(b"\n"):
                    chunks = await self.line.receive()
                    said += b"".join(chunk.data for chunk in chunks)
                    host_ns = chunks[-1].host_ns
            return said, request_ns, host_ns

    async def _drain(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.0):
                await self.line.receive()

    async def _read_status(self) -> tuple[Status, int, int]:
        values: dict[str, int] = {}
        first_ns = last_ns = 0
        for name in codec.READ:
            values[name], request_ns, last_ns = await self._ask(name)
            first_ns = first_ns or request_ns
        return codec.status_of(values), first_ns, last_ns

    async def _ask(self, name: str) -> tuple[int, int, int]:
        """A variable, request time and answer time [ns]; asked again where no answer comes."""
        begin_ns, attempts = self.clock.now_ns(), 0
        while True:
            attempts += 1
            try:
                said, request_ns, host_ns = await self._exchange(codec.get(name))
                return codec.answer_of(said, name), request_ns, host_ns
            except (TimeoutError, ProtocolError):
                waited_s = (self.clock.now_ns() - begin_ns) * 1e-9
                if attempts == _ATTEMPTS or waited_s >= self.options.timeout_s:
                    raise

    async def _write_action(self, action: Action) -> None:
        said, _, _ = await self._exchange(codec.set_action(action))
        if said != codec.ACK:
            raise ProtocolError(f"URCap: {said[:40]!r}, expected ack")
