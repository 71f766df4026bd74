"""The object dictionary of an emulated CANopen node, and its SDO server (CiA 301)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Abort", "Entry", "ObjectDictionary", "SdoServer"]

Key = tuple[int, int]


class Abort(Exception):
    """An SDO transfer that the node refuses, with the code that it answers."""

    TOGGLE = 0x0503_0000
    UNKNOWN_COMMAND = 0x0504_0001
    READ_ONLY = 0x0601_0002
    NO_OBJECT = 0x0602_0000
    NOT_MAPPABLE = 0x0604_0041
    PDO_LENGTH = 0x0604_0042
    LENGTH = 0x0607_0010
    NO_SUB_INDEX = 0x0609_0011
    VALUE = 0x0609_0030
    STATE = 0x0800_0022

    def __init__(self, code: int) -> None:
        super().__init__(f"{code:#010x}")
        self.code = code


@dataclass(slots=True)
class Entry:
    """One object: `code` is its type (b B h H i I; s for text), `value` a number or text."""

    code: str
    value: int | bytes
    writable: bool = False

    @property
    def data(self) -> bytes:
        return self.value if isinstance(self.value, bytes) else struct.pack("<" + self.code, self.value)


class ObjectDictionary:
    """Objects by index and sub-index. `check` may refuse a value before it is written, by raising Abort."""

    def __init__(self) -> None:
        self._entries: dict[Key, Entry] = {}
        self.check: Callable[[Key, int], None] = lambda key, value: None

    def add(self, index: int, sub: int, code: str, value: int | bytes = 0, *, writable: bool = False) -> None:
        self._entries[index, sub] = Entry(code, value, writable)

    def remove(self, index: int) -> None:
        """The node does not have this object."""
        for key in [key for key in self._entries if key[0] == index]:
            del self._entries[key]

    def get(self, key: Key) -> int:
        """A number; 0 where there is no such object."""
        return self[key] if key in self._entries else 0

    def __getitem__(self, key: Key) -> int:
        return self._entries[key].value  # type: ignore[return-value]  # texts are read over the bus only

    def __setitem__(self, key: Key, value: int) -> None:
        self._entries[key].value = value

    def show(self, key: Key, value: int) -> None:
        """Set a number, where there is such an object."""
        if key in self._entries:
            self._entries[key].value = value

    def code(self, key: Key) -> str:
        """Type of an object."""
        return self._find(key).code

    def read(self, key: Key) -> bytes:
        """As it goes over the bus; Abort if there is none."""
        return self._find(key).data

    def write(self, key: Key, data: bytes) -> None:
        """As it came over the bus; Abort if that is refused."""
        entry = self._find(key)
        if not entry.writable:
            raise Abort(Abort.READ_ONLY)
        if len(data) != len(entry.data):
            raise Abort(Abort.LENGTH)
        (value,) = struct.unpack("<" + entry.code, data)
        self.check(key, value)
        entry.value = value

    def _find(self, key: Key) -> Entry:
        if key not in self._entries:
            known = any(index == key[0] for index, _ in self._entries)
            raise Abort(Abort.NO_SUB_INDEX if known else Abort.NO_OBJECT)
        return self._entries[key]


class SdoServer:
    """Answers SDO requests: expedited transfers both ways, segmented uploads for text."""

    def __init__(self, objects: ObjectDictionary) -> None:
        self._objects = objects
        self._rest = b""
        self._toggle = 0

    def answer(self, request: bytes) -> bytes | None:
        """The reply to one request of 8 bytes; None: none is due."""
        command, index, sub = struct.unpack_from("<BHB", request.ljust(8, b"\0"))
        try:
            match command >> 5:
                case 1:
                    return self._download(command, index, sub, request)
                case 2:
                    return self._upload(index, sub)
                case 3:
                    return self._segment(command)
                case 4:
                    self._rest = b""  # the client gives up
                    return None
            raise Abort(Abort.UNKNOWN_COMMAND)
        except Abort as refusal:
            return struct.pack("<BHBI", 0x80, index, sub, refusal.code)

    def _download(self, command: int, index: int, sub: int, request: bytes) -> bytes:
        if not command & 2:
            raise Abort(Abort.UNKNOWN_COMMAND)  # nothing here takes more than four bytes
        size = 4 - (command >> 2 & 3) if command & 1 else 4
        self._objects.write((index, sub), request[4 : 4 + size])
        return struct.pack("<BHBI", 0x60, index, sub, 0)

    def _upload(self, index: int, sub: int) -> bytes:
        data = self._objects.read((index, sub))
        if len(data) <= 4:
            return struct.pack("<BHB", 0x43 | (4 - len(data)) << 2, index, sub) + data.ljust(4, b"\0")
        self._rest, self._toggle = data, 0
        return struct.pack("<BHBI", 0x41, index, sub, len(data))

    def _segment(self, command: int) -> bytes:
        if command >> 4 & 1 != self._toggle:
            raise Abort(Abort.TOGGLE)
        part, self._rest = self._rest[:7], self._rest[7:]
        head = self._toggle << 4 | (7 - len(part)) << 1 | (not self._rest)
        self._toggle ^= 1
        return bytes([head]) + part.ljust(7, b"\0")
