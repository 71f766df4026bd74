"""What all drivers of real devices have in common: options, identity, and an emulator in the device's place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar

from heft.drivers.driver import Context, Driver, Identity
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.options import NonNegative, Options, Positive

__all__ = ["RETRY_NS", "DeviceDriver", "DeviceOptions"]

O = TypeVar("O", bound="DeviceOptions")  # noqa: E741 - options

#: Time between two attempts to reconnect [ns].
RETRY_NS = 100_000_000


class DeviceOptions(Options):
    """Of every real device."""

    #: A device that has been silent for this long is lost [s].
    timeout_s: Positive = 0.25
    #: For how long the driver tries to reconnect to a lost device [s]; 0: it stays lost, and motion stops.
    reconnect_s: NonNegative = 0.0


class DeviceDriver(Driver, Generic[O]):
    """A driver that opens a line when it is entered."""

    def __init__(self, name: str, options: O, context: Context) -> None:
        super().__init__(name, context)
        self.options = options
        self._identity: Identity | None = None

    @abstractmethod
    async def _open(self) -> None:
        """Connect and identify, or raise ConnectError with nothing left open."""

    def redirect(self, endpoint: Mapping[str, Any]) -> None:
        """Connect to the emulator at `endpoint` instead of where the options say; before entering."""
        known = type(self.options).model_fields
        wanted = {("port" if key == "pty" else key): value for key, value in endpoint.items()}
        self.options = self.options.model_copy(update={k: v for k, v in wanted.items() if k in known})

    @property
    def identity(self) -> Identity:
        if self._identity is None:
            raise ConnectError(self.name, "has not been connected; use the driver inside `async with`")
        return self._identity

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    def _not_connected(self) -> DeviceLost:
        return DeviceLost(self.name, "is not connected; use the driver inside `async with`")
