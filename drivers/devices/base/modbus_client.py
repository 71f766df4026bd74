"""The asking side of Modbus RTU on a serial line."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from heft.drivers.clock import Clock
from heft.drivers.codecs import modbus
from heft.drivers.devices.base.wire_driver import SECOND_LOOK_S
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["ModbusClient", "Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """Registers read; when the request left and when its answer was complete, host clock [ns]."""

    registers: tuple[int, ...]
    request_ns: int
    host_ns: int


class ModbusClient:
    """One device on one line, one request at a time; tasks take turns.

    unit        of the device
    timeout_s   how long an answer may take [s]
    gap_s       silence between an answer and the next request [s]: 3.5 characters, or 1.75 ms above 19200 baud

    Raises TimeoutError where no whole answer came, ProtocolError where it was wrong or refused, DeviceLost where the
    line is gone.
    """

    def __init__(
        self, line: Transport[Chunk, bytes], clock: Clock, *, unit: int, baud: int, timeout_s: float
    ) -> None:
        self._line = line
        self._clock = clock
        self._unit = unit
        self._timeout_s = timeout_s
        self._gap_s = 0.00175 if baud > 19200 else 38.5 / baud
        self._turn = asyncio.Lock()

    async def read(self, address: int, count: int, *, function: int = modbus.READ_HOLDING) -> Reply:
        """`count` registers from `address` on."""
        frame, request_ns, host_ns = await self._transact(
            modbus.read_request(self._unit, address, count, function=function)
        )
        registers = modbus.decode_read_response(frame, self._unit, count, function=function)
        return Reply(registers, request_ns, host_ns)

    async def write(self, address: int, registers: Sequence[int]) -> None:
        """Registers from `address` on."""
        frame, _, _ = await self._transact(modbus.write_request(self._unit, address, registers))
        modbus.decode_write_response(frame, self._unit, address, len(registers))

    async def _transact(self, request: bytes) -> tuple[bytes, int, int]:
        """A request and its answer, and when they left and came [ns]."""
        async with self._turn:
            await self._quiet()
            request_ns = await self._line.send(request)
            received = bytearray()
            try:
                async with asyncio.timeout(self._timeout_s):
                    frame, host_ns = await self._answer(received)
            except TimeoutError:  # a host that has stalled looks once more
                async with asyncio.timeout(SECOND_LOOK_S):
                    frame, host_ns = await self._answer(received)
            return frame, request_ns, host_ns

    async def _answer(self, received: bytearray) -> tuple[bytes, int]:
        """A whole answer; `received` keeps what has come of it so far."""
        while True:
            for chunk in await self._line.receive():
                received += chunk.data
                length = modbus.response_bytes(bytes(received))
                if length is not None and len(received) >= length:
                    return bytes(received[:length]), chunk.host_ns

    async def _quiet(self) -> None:
        """Wait until the line is; what comes before a request is no answer to it."""
        give_up_ns = self._clock.now_ns() + round(self._timeout_s * 1e9)
        while self._clock.now_ns() < give_up_ns:
            try:
                async with asyncio.timeout(self._gap_s):
                    await self._line.receive()
            except TimeoutError:
                return
