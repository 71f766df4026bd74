"""Base of the drivers of real devices.

A driver opens its line and identifies its device in `_connect`, starts the stream in `_start`, and waits for the next
blocks in `_next`: what arrives (`StreamingDriver`), or what is asked for (`PolledDriver`). The base does what is the
same for all:

- *Loss.* `_next` raises DeviceLost when the device has been silent for `timeout_s`, with what to check.
- *Reconnecting.* By default a lost device stays lost: motion must stop. With `reconnect_s` the driver first tries that
  long to open the line and start the stream again; the samples missed are a gap in the sequence. What came before
  is never yielded again. In either case the driver can be entered anew.
- *Stopping.* `stop()` ends the iteration at once and sends the device to rest; the line stays open for the next one.
- *Cancellation* at any await leaves no task and no open port: lines close without awaiting.
- *Redirecting.* `redirect(endpoint)` before entering lets an emulator stand in for the device.

Devices live in real time, and so do timeouts here.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from typing import ClassVar, Generic, TypeVar

from heft.drivers.block import Block
from heft.drivers.devices.base.device_driver import RETRY_NS, DeviceDriver, DeviceOptions
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, DeviceLost, HeftError
from heft.drivers.stream import Stream
from heft.drivers.transports.transport import Transport

__all__ = ["SECOND_LOOK_S", "WireDriver", "WireOptions"]


O = TypeVar("O", bound="WireOptions")  # noqa: E741 - options
In = TypeVar("In")
Out = TypeVar("Out")

#: How long what a stalled host has missed may take to be read [s].
SECOND_LOOK_S = 0.01


class WireOptions(DeviceOptions):
    """Of every device on a line of its own."""


class WireDriver(DeviceDriver[O], Generic[O, In, Out]):
    """A device on a line of its own. `CHECK` is what to look at when it does not answer."""

    Options: ClassVar[type[WireOptions]]
    CHECK: ClassVar[str] = "check its cable and power"

    def __init__(self, name: str, options: O, context: Context) -> None:
        super().__init__(name, options, context)
        self._line: Transport[In, Out] | None = None
        self._scope: asyncio.Timeout | None = None  # of the wait that `stop` ends
        self._streaming = False  # the device may be streaming
        self._stopped = True

    # -- what drivers add ---------------------------------------------------------------------------------------------

    @abstractmethod
    def _make_line(self) -> Transport[In, Out]:
        """The line that the options name, closed."""

    @abstractmethod
    async def _connect(self) -> Identity:
        """Identify the device on the open line; ConnectError if it is not there or not the right one."""

    async def _start(self) -> None:
        """Make the device stream."""

    @abstractmethod
    async def _next(self) -> Iterable[Block]:
        """Wait for samples, use `_within` for that; none when stopped; DeviceLost when there are none."""

    def _flush(self) -> Iterable[Block]:
        """Blocks that were held back, when nothing more will come."""
        return ()

    def _counts(self, stream: Stream) -> bool:
        """Do samples of this stream count as received? Not those that come with others."""
        return True

    async def _rest(self) -> None:
        """Tell the device to stop streaming; the line may be gone."""

    # -- the life of a driver -----------------------------------------------------------------------------------------

    @property
    def line(self) -> Transport[In, Out]:
        """The open line."""
        if self._line is None:
            raise self._not_connected()
        return self._line

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self.stop()
        finally:
            self._close()

    async def stop(self) -> None:
        self._stopped = True
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())
        if self._streaming:
            self._streaming = False
            with suppress(HeftError):
                await self._rest()

    async def __aiter__(self) -> AsyncIterator[Block]:
        self._stopped = False
        await self._begin()
        while not self._stopped:
            try:
                blocks = await self._next()
            except DeviceLost as lost:
                for block in self._counted(self._flush()):
                    yield block
                await self._reconnect(lost)
            else:
                for block in self._counted(blocks):
                    yield block

    def _counted(self, blocks: Iterable[Block]) -> Iterator[Block]:
        for block in blocks:
            self.counters.received += len(block) if self._counts(block.stream) else 0
            yield block

    async def _open(self) -> None:
        """Line and identity, or ConnectError with nothing left open."""
        self._line = line = self._make_line()
        try:
            await line.__aenter__()
            self._identity = await self._connect()
        except DeviceLost as exc:
            self._close()
            raise ConnectError(self.name, str(exc).removeprefix(f"{self.name}: ")) from exc
        except BaseException:
            self._close()
            raise

    async def _begin(self) -> None:
        self._streaming = True  # from here on the device may stream, whatever becomes of this
        await self._start()

    def _close(self) -> None:
        self._streaming = False
        if self._line is not None:
            self._line.close()
            self._line = None

    async def _within(self, timeout_s: float) -> list[In] | None:
        """What comes within a time [s], or at least what is there already; None: nothing, or stopped.

        A host that has stalled finds its time over before it has looked: so it looks once more.
        """
        for patience_s in (timeout_s, SECOND_LOOK_S if timeout_s else 0.0):
            try:
                async with asyncio.timeout(patience_s) as self._scope:
                    return await self.line.receive()
            except TimeoutError:
                continue
            finally:
                self._scope = None
        return None

    async def _drain(self) -> None:
        """Forget what has arrived: it answers to what was asked before."""
        while await self._within(0.0):
            pass

    def _silent(self) -> DeviceLost:
        return DeviceLost(
            self.name,
            f"{self.line.where}: silent for more than {self.options.timeout_s:g} s (timeout_s); {self.CHECK}",
        )

    async def _reconnect(self, lost: DeviceLost) -> None:
        """Try to get the device back for `reconnect_s`, or raise what happened at first."""
        give_up_ns = self.clock.now_ns() + round(self.options.reconnect_s * 1e9)
        while not self._stopped and self.clock.now_ns() < give_up_ns:
            self._close()
            try:
                await self._open()
                await self._begin()
            except HeftError:
                await self.clock.sleep_until(self.clock.now_ns() + RETRY_NS)
            else:
                return
        self._close()
        if not self._stopped:
            raise lost
