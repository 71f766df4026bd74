"""Universal Robots' RTDE (TCP 30004), protocol version 2: packages, recipes, and values.

Package: size u16 (of all) | type u8 | payload; big-endian. A recipe is a list of names; the controller answers with its
number and the types, in the same order, and data packages carry the number and the values one after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

from heft.drivers.errors import ProtocolError

__all__ = [
    "DASHBOARD_PORT",
    "MOVABLE",
    "PORT",
    "SCRIPT_PORT",
    "TICK_BITS",
    "TICK_HZ",
    "VERSION",
    "Package",
    "Parser",
    "Recipe",
    "RobotMode",
    "RuntimeState",
    "SafetyMode",
    "Type",
    "mode_name",
    "setup_inputs",
    "setup_outputs",
    "version_request",
]

PORT = 30004
#: The secondary interface, which takes programs, and the dashboard server.
SCRIPT_PORT = 30002
DASHBOARD_PORT = 29999
VERSION = 2
#: The controller's `timestamp` [s] counted in microseconds.
TICK_HZ = 1_000_000
TICK_BITS = 52

_HEAD = struct.Struct(">HB")
_LARGEST = 4096

#: struct codes of the types.
_CODES = {
    "BOOL": "?",
    "UINT8": "B",
    "UINT32": "I",
    "UINT64": "Q",
    "INT32": "i",
    "DOUBLE": "d",
    "VECTOR3D": "3d",
    "VECTOR6D": "6d",
    "VECTOR6INT32": "6i",
    "VECTOR6UINT32": "6I",
}


class Type(IntEnum):
    """Of packages."""

    REQUEST_VERSION = ord("V")
    CONTROLLER_VERSION = ord("v")
    TEXT = ord("M")
    DATA = ord("U")
    SETUP_OUTPUTS = ord("O")
    SETUP_INPUTS = ord("I")
    START = ord("S")
    PAUSE = ord("P")


_KINDS = frozenset(Type)


class RobotMode(IntEnum):
    """`robot_mode`: what the arm is doing."""

    NO_CONTROLLER = -1
    DISCONNECTED = 0
    CONFIRM_SAFETY = 1
    BOOTING = 2
    POWER_OFF = 3
    POWER_ON = 4
    IDLE = 5
    BACKDRIVE = 6
    RUNNING = 7
    UPDATING_FIRMWARE = 8


class SafetyMode(IntEnum):
    """`safety_mode`: whether the arm may move."""

    NORMAL = 1
    REDUCED = 2
    PROTECTIVE_STOP = 3
    RECOVERY = 4
    SAFEGUARD_STOP = 5
    SYSTEM_EMERGENCY_STOP = 6
    ROBOT_EMERGENCY_STOP = 7
    VIOLATION = 8
    FAULT = 9
    VALIDATE_JOINT_ID = 10
    UNDEFINED = 11


#: Safety modes in which an arm moves.
MOVABLE = frozenset({SafetyMode.NORMAL, SafetyMode.REDUCED})


class RuntimeState(IntEnum):
    """`runtime_state`: what the program is doing."""

    STOPPING = 0
    STOPPED = 1
    PLAYING = 2
    PAUSING = 3
    PAUSED = 4
    RESUMING = 5


def mode_name(modes: type[IntEnum], number: int) -> str:
    """A mode in words, with its number."""
    known = {int(mode): mode.name.lower().replace("_", " ") for mode in modes}
    return f"{known.get(number, 'unknown')} ({number})"


@dataclass(frozen=True, slots=True)
class Package:
    """One package."""

    type: int
    payload: bytes = b""

    def encode(self) -> bytes:
        size = _HEAD.size + len(self.payload)
        if size > 0xFFFF:
            raise ProtocolError(f"RTDE: a package of {size} bytes, at most 65535")
        return _HEAD.pack(size, self.type) + self.payload

    def numbers(self, layout: str) -> tuple[Any, ...]:
        """The payload by a struct layout, big-endian; bytes behind it are left."""
        form = struct.Struct(">" + layout)
        if len(self.payload) < form.size:
            raise ProtocolError(
                f"RTDE: package {self.type:#04x} of {len(self.payload)} bytes, expected {form.size}"
            )
        return form.unpack_from(self.payload)

    @property
    def accepted(self) -> bool:
        """What an answer to a version, a start or a pause says."""
        return bool(self.numbers("B")[0])


class Parser:
    """Finds packages in a byte stream. What cannot begin one is skipped byte by byte, and counted.

    data_bytes   size of the data packages' payload, once the recipe is known: no other is one
    skipped      bytes that belong to no package
    """

    def __init__(self) -> None:
        self._rest = b""
        self.data_bytes: int | None = None
        self.skipped = 0

    def feed(self, data: bytes) -> list[Package]:
        """Whole packages."""
        self._rest += data
        packages, place = [], 0
        while len(self._rest) - place >= _HEAD.size:
            size, kind = _HEAD.unpack_from(self._rest, place)
            if not self._begins(size, kind):
                self.skipped += 1
                place += 1
                continue
            if len(self._rest) - place < size:
                break
            packages.append(Package(kind, self._rest[place + _HEAD.size : place + size]))
            place += size
        self._rest = self._rest[place:]
        return packages

    def _begins(self, size: int, kind: int) -> bool:
        if kind == Type.DATA and self.data_bytes is not None:
            return size == _HEAD.size + self.data_bytes
        return _HEAD.size <= size <= _LARGEST and kind in _KINDS

    def reset(self) -> None:
        """Forget what is there."""
        self._rest, self.data_bytes = b"", None


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe that the controller has taken: its number, the names, and the struct layout of their values."""

    number: int
    names: tuple[str, ...]
    layout: str

    @classmethod
    def decode(cls, package: Package, names: Sequence[str]) -> Self:
        """From the answer to a set-up; ProtocolError names what the controller does not have, or others use."""
        if not package.payload:
            raise ProtocolError("RTDE: an empty answer to a recipe")
        types = package.payload[1:].decode("ascii", "replace").removesuffix(",").split(",")
        if len(types) != len(names):
            raise ProtocolError(f"RTDE: {len(types)} types for {len(names)} names")
        wrong = [f"{name} is {kind}" for name, kind in zip(names, types, strict=True) if kind not in _CODES]
        if wrong:
            raise ProtocolError(f"RTDE: {', '.join(wrong)}")
        if package.type == Type.SETUP_INPUTS and package.payload[0] == 0:
            raise ProtocolError("RTDE: the recipe of inputs was refused (number 0)")
        return cls(package.payload[0], tuple(names), "".join(_CODES[kind] for kind in types))

    @property
    def size(self) -> int:
        """Bytes of a data package's payload."""
        return struct.calcsize(">B" + self.layout)

    def unpack(self, package: Package) -> tuple[Any, ...]:
        """The values of a data package, one after the other (a vector is six of them)."""
        form = struct.Struct(">B" + self.layout)
        if len(package.payload) != form.size:
            raise ProtocolError(f"RTDE: {len(package.payload)} bytes of data, expected {form.size}")
        number, *values = form.unpack(package.payload)
        if number != self.number:
            raise ProtocolError(f"RTDE: data of recipe {number}, expected {self.number}")
        return tuple(values)

    def pack(self, *values: Any) -> Package:
        """A data package with these values."""
        try:
            return Package(Type.DATA, struct.pack(">B" + self.layout, self.number, *values))
        except struct.error as exc:
            raise ProtocolError(f"RTDE: values {values} do not fit {', '.join(self.names)} ({exc})") from exc


def version_request() -> Package:
    """Ask for protocol version 2."""
    return Package(Type.REQUEST_VERSION, VERSION.to_bytes(2, "big"))


def setup_outputs(names: Sequence[str], rate_hz: float) -> Package:
    """Ask for these values at this rate."""
    return Package(Type.SETUP_OUTPUTS, struct.pack(">d", rate_hz) + ",".join(names).encode("ascii"))


def setup_inputs(names: Sequence[str]) -> Package:
    """Ask to write these values."""
    return Package(Type.SETUP_INPUTS, ",".join(names).encode("ascii"))
