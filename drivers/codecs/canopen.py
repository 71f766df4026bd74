"""CANopen (CiA 301): identifiers, network management, SYNC, heartbeat, emergencies and the mapping of PDOs.

Everything is little-endian. SDO transfers are left to the `canopen` library, which set-up uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

from heft.drivers.codecs.layout import Layout
from heft.drivers.errors import ProtocolError
from heft.drivers.transports.can_frame import CanFrame

__all__ = [
    "Emergency",
    "Function",
    "Heartbeat",
    "MappedObject",
    "NmtCommand",
    "NmtState",
    "PdoMap",
    "cob_id",
    "consumer_heartbeat",
    "nmt",
    "sync",
]


class Function(IntEnum):
    """Base of the identifier (COB-ID); the node number is added, except to NMT and SYNC."""

    NMT = 0x000
    SYNC = 0x080
    EMCY = 0x080  # the same base; a node number tells it from SYNC
    TIME = 0x100
    TPDO1 = 0x180
    RPDO1 = 0x200
    TPDO2 = 0x280
    RPDO2 = 0x300
    TPDO3 = 0x380
    RPDO3 = 0x400
    TPDO4 = 0x480
    RPDO4 = 0x500
    SDO_TX = 0x580
    SDO_RX = 0x600
    HEARTBEAT = 0x700


def cob_id(function: Function, node: int) -> int:
    """Identifier of a node's message."""
    if not 1 <= node <= 127:
        raise ProtocolError(f"CANopen: node {node}, expected 1 to 127")
    return function + node


class NmtCommand(IntEnum):
    OPERATIONAL = 0x01
    STOP = 0x02
    PRE_OPERATIONAL = 0x80
    RESET_NODE = 0x81
    RESET_COMMUNICATION = 0x82


def nmt(command: NmtCommand, node: int = 0) -> CanFrame:
    """Command to one node, or to all (0)."""
    if not 0 <= node <= 127:
        raise ProtocolError(f"CANopen: node {node}, expected 0 (all) to 127")
    return CanFrame(Function.NMT, bytes([command, node]))


def sync(counter: int | None = None) -> CanFrame:
    """SYNC, with its counter (1 to 240) where object 1019 asks for one."""
    if counter is None:
        return CanFrame(Function.SYNC)
    if not 1 <= counter <= 240:
        raise ProtocolError(f"CANopen: SYNC counter {counter}, expected 1 to 240")
    return CanFrame(Function.SYNC, bytes([counter]))


class NmtState(IntEnum):
    BOOT = 0x00
    STOPPED = 0x04
    OPERATIONAL = 0x05
    PRE_OPERATIONAL = 0x7F


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A node's heartbeat; `BOOT` is sent once, after a reset."""

    state: NmtState

    def encode(self) -> bytes:
        return bytes([self.state])

    @classmethod
    def decode(cls, data: bytes) -> Self:
        if len(data) != 1:
            raise ProtocolError(f"CANopen heartbeat: {len(data)} bytes, expected 1")
        try:
            return cls(NmtState(data[0]))
        except ValueError:
            raise ProtocolError(f"CANopen heartbeat: unknown state {data[0]:#04x}") from None


_EMERGENCY = Layout("CANopen emergency", "<HB5s")


@dataclass(frozen=True, slots=True)
class Emergency:
    """What a node reports when an error appears or, with code 0, is gone."""

    code: int
    register: int  # copy of object 1001
    manufacturer: bytes = bytes(5)

    @property
    def cleared(self) -> bool:
        """True where this says that there is no error any more."""
        return self.code >> 8 == 0

    def encode(self) -> bytes:
        if len(self.manufacturer) != 5:
            raise ProtocolError(
                f"CANopen emergency: {len(self.manufacturer)} manufacturer's bytes, expected 5"
            )
        return _EMERGENCY.pack(self.code, self.register, self.manufacturer)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls(*_EMERGENCY.unpack(data))


def consumer_heartbeat(node: int, time_ms: int) -> int:
    """Value of object 1016: watch the heartbeat of `node` (here: the host), act when it is missing for
    `time_ms`.
    """
    if not (1 <= node <= 127 and 0 <= time_ms <= 0xFFFF):
        raise ProtocolError(
            f"CANopen: consumer heartbeat of node {node}, {time_ms} ms; expected 1 to 127 and 0 to 65535 ms"
        )
    return node << 16 | time_ms


@dataclass(frozen=True, slots=True)
class MappedObject:
    """One object in a PDO: `code` is its type in the notation of `struct` (b B h H i I)."""

    index: int
    sub: int
    code: str

    @property
    def bits(self) -> int:
        return 8 * Layout("CANopen object", "<" + self.code).size

    @property
    def word(self) -> int:
        """The entry of object 1600 or 1A00 that maps this object."""
        return self.index << 16 | self.sub << 8 | self.bits


class PdoMap:
    """The objects in one PDO, packed one after the other."""

    def __init__(self, name: str, *objects: MappedObject) -> None:
        self.objects = objects
        self._layout = Layout(name, "<" + "".join(o.code for o in objects))
        if self._layout.size > 8:
            raise ProtocolError(f"{name}: {self._layout.size} bytes mapped, a PDO holds 8")

    @property
    def size(self) -> int:
        """Bytes in the PDO."""
        return self._layout.size

    @property
    def words(self) -> tuple[int, ...]:
        """The mapping entries, to be written to sub-indices 1, 2, ... of the mapping object."""
        return tuple(o.word for o in self.objects)

    def pack(self, *values: int) -> bytes:
        return self._layout.pack(*values)

    def unpack(self, data: bytes) -> tuple[Any, ...]:
        return self._layout.unpack(data)
