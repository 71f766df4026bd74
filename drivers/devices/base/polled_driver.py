"""Base of the drivers whose devices answer when they are asked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TypeVar

from heft.drivers.block import Block
from heft.drivers.devices.base.wire_driver import WireDriver, WireOptions
from heft.drivers.driver import Context
from heft.drivers.errors import ProtocolError
from heft.drivers.options import RateHz

__all__ = ["PolledDriver", "PolledOptions"]

In = TypeVar("In")
Out = TypeVar("Out")


class PolledOptions(WireOptions):
    """Of every device that is asked for its values."""

    #: How often it is asked [1/s].
    rate_hz: RateHz = 100.0


O = TypeVar("O", bound=PolledOptions)  # noqa: E741 - options


class PolledDriver(WireDriver[O, In, Out]):
    """Asks at `rate_hz`; the number of the question is the sample's sequence number.

    A question without a good answer is a gap, and so is one that this host was too late to ask. No good answer for
    `timeout_s`: the device is lost.
    """

    def __init__(self, name: str, options: O, context: Context) -> None:
        super().__init__(name, options, context)
        self._period_ns = round(1e9 / options.rate_hz)
        self._due_ns = 0
        self._number = -1
        self._heard_ns = 0

    @abstractmethod
    async def _poll(self, number: int) -> Iterable[Block]:
        """Ask once; TimeoutError where no answer came, ProtocolError where it was wrong."""

    def _missed(self, why: Exception) -> None:
        """Count a question without a good answer."""
        self.counters.lost += 1
        self.counters.corrupt += isinstance(why, ProtocolError)

    async def _start(self) -> None:
        self._due_ns = self._heard_ns = self.clock.now_ns()

    async def _next(self) -> Iterable[Block]:
        await self.clock.sleep_until(self._due_ns)
        late = (self.clock.now_ns() - self._due_ns) // self._period_ns
        self.counters.skipped += late
        self.counters.lost += late
        self._due_ns += (late + 1) * self._period_ns
        self._number += late + 1
        try:
            blocks = await self._poll(self._number)
        except (TimeoutError, ProtocolError) as exc:
            if self._stopped:
                return ()
            self._missed(exc)
            if self.clock.now_ns() - self._heard_ns > self.options.timeout_s * 1e9:
                raise self._silent() from exc
            return ()
        self._heard_ns = self.clock.now_ns()
        return blocks
