"""What can go wrong below the session, and how it reads.

    HeftError                    the root for every package; the command line prints it and nothing else
    +-- DriverError (OSError)    a device, named
    |   +-- ConnectError         it cannot be reached or is not what the rig's file says
    |   +-- DeviceLost           it stopped answering
    |   +-- DeviceFault          it answers that it is in trouble (drive fault, sensor overload)
    |   +-- UnderrunError        a drive ran out of setpoints
    |   +-- CommandError         it refused a command (wrong axes, setpoints in the past, not armed)
    |   +-- RestError            a stop was asked for, and the arm has not come to rest
    +-- ProtocolError (ValueError)  bytes that are not what the protocol says
    +-- OptionError (ValueError) an option of a device's configuration
    +-- ModelFileError (ValueError)  a URDF or MJCF file that no parser should be given

Each message says what, the value, the bound, and what to do.
"""

from __future__ import annotations

__all__ = [
    "CommandError",
    "ConnectError",
    "DeviceFault",
    "DeviceLost",
    "DriverError",
    "HeftError",
    "ModelFileError",
    "OptionError",
    "ProtocolError",
    "RestError",
    "UnderrunError",
]


class HeftError(Exception):
    """Root of every error that Heft raises on purpose."""


class DriverError(HeftError, OSError):
    """Something about one device; `device` is its name in the rig's file."""

    def __init__(self, device: str, message: str) -> None:
        self.device = device
        super().__init__(f"{device}: {message}")


class ConnectError(DriverError):
    """The device cannot be reached, or is not the one the rig's file describes."""


class DeviceLost(DriverError):
    """The device stopped answering."""


class DeviceFault(DriverError):
    """The device answers, and says that it is in trouble."""


class UnderrunError(DriverError):
    """A drive ran out of setpoints and brought itself to rest."""


class CommandError(DriverError):
    """The device refused a command."""


class RestError(DriverError):
    """The arm has not come to rest within the time that its deceleration needs."""


class ProtocolError(HeftError, ValueError):
    """Bytes that do not follow the protocol."""


class OptionError(HeftError, ValueError):
    """A value in a device's configuration that cannot be used."""


class ModelFileError(HeftError, ValueError):
    """A URDF or MJCF file that no parser should be given."""
