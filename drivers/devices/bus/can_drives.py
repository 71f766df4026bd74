"""Base of the drivers of drives on a CAN bus."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from heft.drivers.devices.bus.bus_driver import BusDriver, BusOptions
from heft.drivers.devices.bus.following_drives import FollowingDrives, FollowingOptions
from heft.drivers.transports.can_frame import CanFrame

__all__ = ["CanDrives", "DriveOptions"]

D = TypeVar("D", bound="DriveOptions")


class DriveOptions(BusOptions, FollowingOptions):
    """Of every group of drives on a CAN bus."""


class CanDrives(FollowingDrives[D, CanFrame, CanFrame], BusDriver[D], Generic[D]):
    """Drives on one CAN bus that follow setpoints cycle by cycle."""

    Options: ClassVar[type[DriveOptions]]
