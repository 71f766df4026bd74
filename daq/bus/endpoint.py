"""Where a channel of the bus is: parsed and judged before any socket exists."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Self

from heft.daq.errors import BusError

__all__ = ["Endpoint", "Endpoints"]

_FORMS = "give ipc://PATH, tcp://HOST:PORT, curve+tcp://HOST:PORT or inproc://NAME"
_CURVE = "curve+"
_LONGEST_PATH = 107  # what a UNIX socket's address holds [byte]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of the bus: `ipc://PATH`, `tcp://HOST:PORT` or `inproc://NAME`.

    ipc     between processes of this host; a path, or `@NAME` without a file
    tcp     between hosts, with keys (CURVE); `*` as host binds every address of this one, port 0 or `*` any free port.
            On the loopback it is plain, unless it is given as `curve+tcp://`
    inproc  inside one ZMQ context
    """

    scheme: str
    address: str  # path, name or host
    port: int | None = None
    curve: bool = False  # keys are asked for, though only this host can reach it

    @classmethod
    def parse(cls, text: str | Endpoint) -> Endpoint:
        """From its usual form; BusError says what is wrong with it."""
        if isinstance(text, Endpoint):
            return text
        curve = text.startswith(f"{_CURVE}tcp://")
        scheme, separator, rest = text.removeprefix(_CURVE if curve else "").partition("://")
        if not separator or not rest or scheme not in ("ipc", "tcp", "inproc"):
            raise BusError(f"endpoint {text!r} is not an address of the bus; {_FORMS}")
        if scheme == "tcp":
            return replace(cls._parse_tcp(text, rest), curve=curve)
        if scheme == "ipc" and len(rest.encode()) > _LONGEST_PATH:
            raise BusError(
                f"endpoint {text!r}: a path of {len(rest.encode())} bytes, at most {_LONGEST_PATH} fit; "
                "choose a shorter one"
            )
        return cls(scheme, rest)

    @classmethod
    def _parse_tcp(cls, text: str, rest: str) -> Self:
        host, _, port_text = rest.rpartition(":")
        host = host.strip("[]")
        if not host or not (port_text == "*" or (port_text.isascii() and port_text.isdigit())):
            raise BusError(f"endpoint {text!r} has no host or no port; {_FORMS}")
        port = 0 if port_text == "*" else int(port_text)
        if port > 65_535:
            raise BusError(f"endpoint {text!r}: port {port} is above 65535; choose one from 1024 to 65535")
        return cls("tcp", "127.0.0.1" if host == "localhost" else host, port)

    def __str__(self) -> str:
        return f"{_CURVE if self.curve else ''}{self.wire}"

    @property
    def wire(self) -> str:
        """As ZMQ knows it."""
        if self.scheme != "tcp":
            return f"{self.scheme}://{self.address}"
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"tcp://{host}:{self.port or '*'}"

    @property
    def secured(self) -> bool:
        """Whether keys are asked for: always, where others than this host can reach it."""
        return self.curve or not self.is_local

    @property
    def path(self) -> Path | None:
        """The file of an ipc endpoint that has one."""
        return Path(self.address) if self.scheme == "ipc" and not self.address.startswith("@") else None

    @property
    def following(self) -> Endpoint:
        """Where followers of a session get its recording whose telemetry is here: the next port, or beside the file."""
        if self.port is None:
            return Endpoint.parse(f"{self.scheme}://{self.address}.following")
        return Endpoint.parse(str(replace(self, port=self.port and self.port + 1)))

    @property
    def reachable(self) -> Endpoint:
        """Where a peer on this host connects: every address of a host is also the loopback's; with keys as before."""
        everywhere = {"*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
        address = everywhere.get(self.address, self.address)
        return replace(self, address=address, curve=self.curve or (address != self.address))

    @property
    def is_local(self) -> bool:
        """Whether only this host can reach it."""
        if self.scheme != "tcp":
            return True
        try:
            return ipaddress.ip_address(self.address).is_loopback
        except ValueError:  # `*`, an interface, a name that may mean anything tomorrow
            return False

    def require_local(self, channel: str) -> Self:
        """This endpoint, or BusError where others than this host could reach the channel."""
        if not self.is_local:
            raise BusError(
                f"{channel} may not use {self}: a session keeps this channel for its own host; use ipc://PATH or "
                f"tcp://127.0.0.1:PORT, and for others the rig's key `{channel}`"
            )
        return self

    def require_target(self, channel: str) -> Self:
        """This endpoint, or BusError where it can be bound but not connected to."""
        if self.scheme == "tcp" and (not self.port or self.address == "*"):
            raise BusError(f"{channel} cannot connect to {self}: name one host and one port")
        return self


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The channels of one session; that for followers is beside telemetry.

    folder    where the session tells that it can be reached (`heft.daq.bus.runtime`); None: nowhere
    outside   control and stop once more, for peers with keys that may use them (by the channel's name)
    """

    telemetry: Endpoint
    control: Endpoint
    stop: Endpoint
    folder: Path | None = None
    outside: Mapping[str, Endpoint] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.control.require_local("control")
        self.stop.require_local("stop")

    @property
    def following(self) -> Endpoint:
        """The recording, for followers: see `heft.daq.following`."""
        return self.telemetry.following

    @classmethod
    def under(
        cls,
        folder: Path,
        *,
        telemetry: str | Endpoint | None = None,
        outside: Mapping[str, Endpoint] = MappingProxyType({}),
    ) -> Self:
        """All in one folder; telemetry, and with it the channel for followers, elsewhere where it is given."""
        return cls(
            telemetry=Endpoint.parse(telemetry or f"ipc://{folder / 'telemetry'}"),
            control=Endpoint.parse(f"ipc://{folder / 'control'}"),
            stop=Endpoint.parse(f"ipc://{folder / 'stop'}"),
            folder=folder,
            outside=outside,
        )
