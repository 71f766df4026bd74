"""Base of the drivers of devices on a CAN bus."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from heft.drivers.devices.bus.bus_load import BusLoad, Traffic
from heft.drivers.devices.bus.can_options import CanOptions
from heft.drivers.devices.bus.cycle_driver import CycleDriver, CycleOptions
from heft.drivers.driver import Context
from heft.drivers.errors import ProtocolError
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink

__all__ = ["BusDriver", "BusOptions"]

O = TypeVar("O", bound="BusOptions")  # noqa: E741 - options


class BusOptions(CanOptions, CycleOptions):
    """Of every driver that asks axes on a CAN bus in a cycle."""


class BusDriver(CycleDriver[O, CanFrame, CanFrame], Generic[O]):
    """`n` axes on one CAN bus; the load of the bus is checked before it is opened."""

    Options: ClassVar[type[BusOptions]]
    CHECK: ClassVar[str] = "check its power, its number on the bus, the bit rate and the termination"

    def __init__(self, name: str, options: O, context: Context, axes: Sequence[str]) -> None:
        super().__init__(name, options, context, axes)
        data_bitrate = getattr(options, "data_bitrate", options.bitrate)
        BusLoad(self._traffic(), options.bitrate, data_bitrate).check(name)

    @abstractmethod
    def _traffic(self) -> Sequence[Traffic]:
        """All that will be sent on the bus."""

    @abstractmethod
    def _on_frame(self, frame: CanFrame) -> None:
        """Handle a received frame; a ProtocolError counts as corrupt."""

    def _make_link(self) -> CanLink:
        return CanLink(self.name, self.clock, self.options.settings())

    def _on_received(self, item: CanFrame) -> None:
        if item.error:
            raise ProtocolError("an error frame")
        self._on_frame(item)
