"""Base of the drivers whose devices send by themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, TypeVar

from heft.drivers.block import Block
from heft.drivers.devices.base.wire_driver import WireDriver, WireOptions
from heft.drivers.driver import Context
from heft.drivers.errors import DeviceLost

__all__ = ["StreamingDriver"]

O = TypeVar("O", bound=WireOptions)  # noqa: E741 - options
In = TypeVar("In")
Out = TypeVar("Out")


class StreamingDriver(WireDriver[O, In, Out]):
    """Gathers what arrives and makes blocks of it.

    BATCH_NS   arrivals are gathered for this long [ns]: fewer, longer blocks. Each has its own time of arrival.
    """

    BATCH_NS: ClassVar[int] = 5_000_000

    def __init__(self, name: str, options: O, context: Context) -> None:
        super().__init__(name, options, context)
        self._early: list[In] = []  # arrived while the stream was being started
        self._batch_ns = 0
        self._no_sample_since_ns: int | None = None  # since when what arrives makes no sample

    @abstractmethod
    def _blocks(self, arrived: list[In]) -> Iterable[Block]:
        """What arrived, as blocks."""

    async def _next(self) -> Iterable[Block]:
        if not self._early:
            await self.clock.sleep_until(self._batch_ns)
        arrived = self._early or await self._within(self.options.timeout_s)
        self._early = []
        if arrived is None:
            if self._stopped:
                return ()
            raise self._silent()
        self.counters.refused = self.line.refused
        now_ns = self.clock.now_ns()
        self._batch_ns = now_ns + self.BATCH_NS
        blocks = list(self._blocks(arrived))
        self._no_sample_since_ns = None if blocks else self._no_sample_since_ns or now_ns
        if (
            self._no_sample_since_ns is not None
            and now_ns - self._no_sample_since_ns > 1e9 * self.options.timeout_s
        ):
            raise DeviceLost(
                self.name,
                f"{self.line.where}: it speaks, but has told nothing new for more than {self.options.timeout_s:g} s "
                f"(timeout_s): it has stopped measuring, or the line garbles everything; {self.CHECK}",
            )
        return blocks

    def _close(self) -> None:
        super()._close()
        self._early, self._no_sample_since_ns = [], None
