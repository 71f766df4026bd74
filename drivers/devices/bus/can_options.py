"""Where a device's CAN bus is: the keys that every device on a bus has in the rig's file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heft.drivers.errors import OptionError
from heft.drivers.options import Options
from heft.drivers.transports.can_bus import CanSettings

__all__ = ["CanOptions", "in_order"]


class CanOptions(Options):
    """A bus; devices with equal `interface` and `channel` share it."""

    #: python-can's name: socketcan (Linux), pcan, kvaser, slcan ...; virtual and udp_multicast for emulated devices.
    interface: str = "socketcan"
    #: can0; for udp_multicast an address such as 239.74.163.2.
    channel: str = "can0"
    #: [bit/s]; with socketcan it is set by `ip link`, and this number is only what the load is computed from.
    bitrate: Annotated[int, Field(gt=0)] = 1_000_000
    #: udp_multicast only: port, and how many routers a frame may pass (0: it stays on this host).
    multicast_port: Annotated[int, Field(gt=0, lt=65536)] | None = None
    hop_limit: Annotated[int, Field(ge=0, le=255)] = 0

    def settings(self, *, fd: bool = False, data_bitrate: int = 5_000_000) -> CanSettings:
        """As the transport wants it."""
        more: dict[str, object] = {}
        if self.interface == "udp_multicast":
            more = {"hop_limit": self.hop_limit}
            more |= {} if self.multicast_port is None else {"port": self.multicast_port}
        return CanSettings(
            self.interface, self.channel, self.bitrate, fd=fd, data_bitrate=data_bitrate, options=more
        )


def in_order(device: str, axes: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
    """The device's motors in the robot's order, each with an entry in its `axes`; OptionError otherwise."""
    missing = [axis for axis in axes if axis not in given]
    unknown = [axis for axis in given if axis not in axes]
    if missing or unknown:
        what = [f"no entry for {', '.join(missing)}"] if missing else []
        what += [f"{', '.join(unknown)} is no joint of the robot that this device moves"] if unknown else []
        raise OptionError(f"{device}.axes: {'; '.join(what)}; name {', '.join(axes)}")
    return axes
