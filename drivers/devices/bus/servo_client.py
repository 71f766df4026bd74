"""Set-up of servos on a serial line: registers are read one after the other, before the cycle begins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from heft.drivers.codecs.servo_status import Status
from heft.drivers.devices.base.wire_driver import SECOND_LOOK_S
from heft.drivers.errors import ProtocolError
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["ServoClient", "ServoParser"]

_ATTEMPTS = 3
_SETTLE_S = 0.01  # in which a servo has stored what was written


class ServoParser(Protocol):
    """Finds the answers of servos in a stream of bytes; `refused` counts pieces that were none."""

    refused: int

    def feed(self, data: bytes) -> list[Status]:
        """Answers that are complete now."""
        ...


class ServoClient:
    """Asks one servo at a time on an open line.

    parser     of the protocol's answers
    request    makes the bytes that ask servo, address, count
    answer_s   how long an answer may take [s]
    """

    def __init__(
        self,
        line: Transport[Chunk, bytes],
        parser: ServoParser,
        request: Callable[[int, int, int], bytes],
        answer_s: float,
    ) -> None:
        self.line = line
        self._parser = parser
        self._request = request
        self._answer_s = answer_s
        self._quiet_s = (
            answer_s  # at first somebody may still be answering what was asked before this program came
        )

    async def read(self, servo: int, address: int, count: int) -> bytes:
        """`count` bytes from `address` on; TimeoutError without an answer, ProtocolError where it is refused."""
        refusal: ProtocolError | None = None
        for _ in range(_ATTEMPTS):
            await self._drain()
            await self.line.send(self._request(servo, address, count))
            for patience_s in (self._answer_s, SECOND_LOOK_S):  # a host that has stalled looks once more
                try:
                    async with asyncio.timeout(patience_s):
                        answer = await self._answer(servo)
                except TimeoutError:
                    continue
                if len(answer.data) == count:
                    return answer.data
                refusal = ProtocolError(
                    f"{count} bytes from register {address} on were asked for, {len(answer.data)} came, with "
                    f"error {answer.error:#04x}; does this model have these registers?"
                )
                break
        raise refusal or TimeoutError

    async def write(self, packet: bytes) -> None:
        """Send what nobody answers, and wait until it is stored."""
        await self.line.send(packet)
        await asyncio.sleep(_SETTLE_S)

    async def _answer(self, servo: int) -> Status:
        while True:
            for chunk in await self.line.receive():
                for status in self._parser.feed(chunk.data):
                    if status.id == servo:
                        return status

    async def _drain(self) -> None:
        """Forget what has arrived: it answers to what was asked before."""
        quiet_s, self._quiet_s = self._quiet_s, 0.0
        while True:
            try:
                async with asyncio.timeout(quiet_s):
                    await self.line.receive()
            except TimeoutError:
                return
