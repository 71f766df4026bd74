"""Short talks with a Universal Robots controller: requests over RTDE, questions to its dashboard, programs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from heft.drivers.clock import Clock
from heft.drivers.codecs import ur_rtde as codec
from heft.drivers.codecs.ur_rtde import Package, Recipe, Type
from heft.drivers.codecs.ur_script import FOLLOW, INPUTS
from heft.drivers.errors import CommandError, DeviceLost, ProtocolError
from heft.drivers.transports.tcp import TcpLine
from heft.drivers.transports.transport import Address

__all__ = ["ANSWER_S", "ProgramLine", "RtdeClient", "ask_dashboard"]

#: How long an answer may take [s].
ANSWER_S = 1.0
_SLOW_HZ = 10.0
_BEATS = 1 << 30


class RtdeClient:
    """An RTDE connection of its own, for requests one after the other; use inside `async with`."""

    def __init__(self, name: str, clock: Clock, remote: Address) -> None:
        self.name = name
        self.line = TcpLine(name, clock, remote=remote)
        self._parser = codec.Parser()
        self._early: list[Package] = []

    async def __aenter__(self) -> RtdeClient:
        await self.line.__aenter__()
        try:
            await self.ask(codec.version_request())
        except BaseException:
            self.line.close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.line.close()

    async def ask(self, package: Package) -> Package:
        """The answer to a package."""
        await self.line.send(package.encode())
        return await self.take(package.type)

    async def take(self, kind: int) -> Package:
        """The next package of this type."""
        try:
            async with asyncio.timeout(ANSWER_S):
                while True:
                    while self._early:
                        if (package := self._early.pop(0)).type == kind:
                            return package
                    for chunk in await self.line.receive():
                        self._early += self._parser.feed(chunk.data)
        except TimeoutError:
            raise CommandError(
                self.name, f"{self.line.where}: no RTDE package {kind:#04x} within {ANSWER_S:g} s"
            ) from None

    async def read(self, names: Sequence[str]) -> tuple[Any, ...]:
        """The present values of outputs, one after the other; ProtocolError names what the controller does not have."""
        recipe = Recipe.decode(await self.ask(codec.setup_outputs(names, _SLOW_HZ)), names)
        self._parser.data_bytes = recipe.size
        await self.ask(Package(Type.START))
        return recipe.unpack(await self.take(Type.DATA))


class ProgramLine:
    """The two lines of a program that follows registers: one that starts it, one that feeds it.

    Inputs are claimed while it is open, and belong to nobody else meanwhile.
    """

    def __init__(self, name: str, clock: Clock, rtde: Address, script: Address) -> None:
        self._client = RtdeClient(name, clock, rtde)
        self._script = TcpLine(name, clock, remote=script)
        self._recipe: Recipe | None = None
        self._beat = 0
        self._drains: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Claim the inputs; CommandError where another program has them."""
        client = self._client
        await client.__aenter__()
        # A start is refused where no output is configured: something slow.
        await client.ask(codec.setup_outputs(("timestamp",), _SLOW_HZ))
        answer = await client.ask(codec.setup_inputs(INPUTS))
        try:
            self._recipe = Recipe.decode(answer, INPUTS)
        except ProtocolError as exc:
            raise CommandError(
                client.name,
                f"{client.line.where}: {exc}; IN_USE: another program feeds these registers, stop it",
            ) from exc
        if not (await client.ask(Package(Type.START))).accepted:
            raise CommandError(client.name, f"{client.line.where}: refuses to take inputs")
        await self._script.__aenter__()
        for line in (client.line, self._script):
            self._drains.append(asyncio.create_task(_drain(line), name=f"{client.name} {line.where}"))

    async def start(self, text: str) -> None:
        """Send a program."""
        await self._script.send(text.encode("ascii"))

    async def feed(self, position: Sequence[float], velocity: Sequence[float], command: int = FOLLOW) -> None:
        """A setpoint [rad], [rad/s], six each."""
        if self._recipe is not None:
            self._beat = (self._beat + 1) % _BEATS
            package = self._recipe.pack(self._beat, command, *position, *velocity)
            await self._client.line.send(package.encode())

    @property
    def lost(self) -> bool:
        """Whether a line has gone."""
        return any(task.done() for task in self._drains)

    def close(self) -> None:
        """Release both lines at once: without beats the program stops the arm by its watchdog."""
        for task in self._drains:
            task.cancel()
        self._drains.clear()
        self._client.line.close()
        self._script.close()


async def _drain(line: TcpLine) -> None:
    """Read and forget what comes, until the line has gone."""
    with suppress(DeviceLost):
        while True:
            await line.receive()


async def ask_dashboard(name: str, clock: Clock, remote: Address, command: str) -> str:
    """One question to the dashboard server; DriverError where nobody answers."""
    async with TcpLine(name, clock, remote=remote) as line:
        said = b""
        try:
            async with asyncio.timeout(ANSWER_S):
                while said.count(b"\n") < 1:  # its greeting
                    said += b"".join([chunk.data for chunk in await line.receive()])
                await line.send(command.encode("ascii") + b"\n")
                while said.count(b"\n") < 2:
                    said += b"".join([chunk.data for chunk in await line.receive()])
        except TimeoutError:
            raise CommandError(
                name, f"{line.where}: the dashboard does not answer {command!r} within {ANSWER_S:g} s"
            ) from None
    return said.decode("ascii", "replace").splitlines()[1].strip()
