"""Messages of ROS 2 in CDR, as far as an arm needs them: joint states, wrenches, the clock, trajectories, positions.

CDR (version 1, as ROS writes it): two bytes of encapsulation (00 01 little-endian, 00 00 big-endian), two of options;
then numbers aligned to their own size, counted from behind those four bytes. A string is its length with the
terminating zero (u32), its bytes, the zero; a sequence its length (u32) and its elements. Stamps are i32 seconds
and u32 nanoseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from heft.drivers.errors import ProtocolError

__all__ = ["Clock", "JointState", "JointStates", "JointTrajectory", "Point", "Positions", "WrenchStamped"]

_SECOND = 1_000_000_000
_MOST_STRING = 4096  # longer names are none
_PADDING = 3  # bytes that may follow a message


class _Reader:
    """Takes a message apart; ProtocolError where it is none."""

    def __init__(self, data: bytes) -> None:
        if len(data) < 4 or data[0] != 0 or data[1] > 1:
            raise ProtocolError(f"encapsulation {data[:2].hex()} is not CDR version 1 (0000, 0001)")
        self._order = "<" if data[1] == 1 else ">"
        self._data, self.at = data, 4

    def _unpack(self, code: str, size: int, count: int = 1) -> tuple[float, ...]:
        at = self.at + (4 - self.at) % size  # aligned, from behind the encapsulation
        end = at + size * count
        if end > len(self._data):
            raise ProtocolError(f"message of {len(self._data)} bytes ends inside a field")
        self.at = end
        return struct.unpack_from(f"{self._order}{count}{code}", self._data, at)

    def u32(self) -> int:
        return int(self._unpack("I", 4)[0])

    def f64(self, count: int) -> tuple[float, ...]:
        return self._unpack("d", 8, count) if count else ()

    def sequence_f64(self, *lengths: int) -> tuple[float, ...]:
        """Numbers, of one of these lengths; any where none is given."""
        count = self.u32()
        if lengths and count not in lengths:
            raise ProtocolError(f"{count} numbers, expected {' or '.join(map(str, lengths))}")
        return self.f64(count)

    def count(self, least_bytes: int) -> int:
        """The length of a sequence whose elements have at least so many bytes."""
        count = self.u32()
        if count * least_bytes > len(self._data) - self.at:
            raise ProtocolError(f"a sequence of {count} elements in a message of {len(self._data)} bytes")
        return count

    def string(self) -> str:
        length = self.u32()
        end = self.at + length
        if not 1 <= length <= _MOST_STRING or end > len(self._data):
            raise ProtocolError(f"a string of {length} bytes")
        raw, self.at = self._data[self.at : end], end
        if raw.index(0) != length - 1 if 0 in raw else True:
            raise ProtocolError("a string that does not end with its only zero")
        try:
            return raw[:-1].decode("utf-8")
        except UnicodeDecodeError as exc:
            raise ProtocolError("a string that is not UTF-8") from exc

    def time_ns(self) -> int:
        seconds = int(self._unpack("i", 4)[0])
        nanoseconds = self.u32()
        if nanoseconds >= _SECOND:
            raise ProtocolError(f"a stamp with {nanoseconds} ns, must be below {_SECOND}")
        return seconds * _SECOND + nanoseconds

    def end(self) -> None:
        if len(self._data) - self.at > _PADDING:
            raise ProtocolError(f"{len(self._data) - self.at} bytes behind the message")


class _Writer:
    """Puts a message together, little-endian."""

    def __init__(self) -> None:
        self._data = bytearray(b"\x00\x01\x00\x00")

    def _pad(self, size: int) -> None:
        self._data += bytes((4 - len(self._data)) % size)

    def u32(self, value: int) -> None:
        self._pad(4)
        self._data += struct.pack("<I", value)

    def f64(self, values: Sequence[float]) -> None:
        if len(values):
            self._pad(8)
            self._data += struct.pack(f"<{len(values)}d", *values)

    def sequence_f64(self, values: Sequence[float]) -> None:
        self.u32(len(values))
        self.f64(values)

    def string(self, text: str) -> None:
        raw = text.encode("utf-8")
        self.u32(len(raw) + 1)
        self._data += raw + b"\x00"

    def strings(self, texts: Sequence[str]) -> None:
        self.u32(len(texts))
        for text in texts:
            self.string(text)

    def time_ns(self, t_ns: int) -> None:
        seconds, nanoseconds = divmod(t_ns, _SECOND)
        self._pad(4)
        self._data += struct.pack("<iI", seconds, nanoseconds)

    def bytes(self) -> bytes:
        return bytes(self._data)


@dataclass(frozen=True, slots=True)
class JointState:
    """sensor_msgs/msg/JointState: of n joints by name; each of the three is empty or has n numbers, in SI units."""

    stamp_ns: int
    name: tuple[str, ...]
    position: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]
    frame: str = ""

    def encode(self) -> bytes:
        out = _Writer()
        out.time_ns(self.stamp_ns)
        out.string(self.frame)
        out.strings(self.name)
        for values in (self.position, self.velocity, self.effort):
            out.sequence_f64(values)
        return out.bytes()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Of CDR bytes; ProtocolError where they are none."""
        read = _Reader(data)
        stamp_ns, frame = read.time_ns(), read.string()
        n = read.count(5)
        names = tuple([read.string() for _ in range(n)])
        position, velocity, effort = (read.sequence_f64(0, n) for _ in range(3))
        read.end()
        if len(set(names)) != n:
            raise ProtocolError("a joint is named twice")
        return cls(stamp_ns, names, position, velocity, effort, frame)


class JointStates:
    """Decodes one message after the other; names that are those of the last one are not read again."""

    def __init__(self) -> None:
        self._known = b""  # frame and names of the last message, as bytes
        self._order = 0
        self._last: JointState | None = None

    def decode(self, data: bytes) -> JointState:
        """As `JointState.decode` does."""
        end = 12 + len(self._known)
        if self._last is None or data[:2] != bytes([0, self._order]) or data[12:end] != self._known:
            self._last = told = JointState.decode(data)
            read = _Reader(data)
            read.time_ns()
            read.string()
            for _ in range(read.u32()):
                read.string()
            self._known, self._order = data[12 : read.at], data[1]
            return told
        read, n, last = _Reader(data), len(self._last.name), self._last
        stamp_ns = read.time_ns()
        read.at = end
        position, velocity, effort = (read.sequence_f64(0, n) for _ in range(3))
        read.end()
        return JointState(stamp_ns, last.name, position, velocity, effort, last.frame)


@dataclass(frozen=True, slots=True)
class WrenchStamped:
    """geometry_msgs/msg/WrenchStamped: force [N] and torque [N m], six numbers."""

    stamp_ns: int
    wrench: tuple[float, ...]
    frame: str = ""

    def encode(self) -> bytes:
        out = _Writer()
        out.time_ns(self.stamp_ns)
        out.string(self.frame)
        out.f64(self.wrench)
        return out.bytes()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Of CDR bytes; ProtocolError where they are none."""
        read = _Reader(data)
        stamp_ns, frame, wrench = read.time_ns(), read.string(), read.f64(6)
        read.end()
        return cls(stamp_ns, wrench, frame)


@dataclass(frozen=True, slots=True)
class Clock:
    """rosgraph_msgs/msg/Clock: simulated time [ns]."""

    time_ns: int

    def encode(self) -> bytes:
        out = _Writer()
        out.time_ns(self.time_ns)
        return out.bytes()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Of CDR bytes; ProtocolError where they are none."""
        read = _Reader(data)
        time_ns = read.time_ns()
        read.end()
        return cls(time_ns)


@dataclass(frozen=True, slots=True)
class Point:
    """Position, velocity, acceleration of n joints, so long after the trajectory's stamp [ns]."""

    after_ns: int
    position: tuple[float, ...]
    velocity: tuple[float, ...] = ()
    acceleration: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class JointTrajectory:
    """trajectory_msgs/msg/JointTrajectory: points of n joints by name, from `stamp_ns` on."""

    stamp_ns: int
    name: tuple[str, ...]
    points: tuple[Point, ...] = field(default=())
    frame: str = ""

    def encode(self) -> bytes:
        out = _Writer()
        out.time_ns(self.stamp_ns)
        out.string(self.frame)
        out.strings(self.name)
        out.u32(len(self.points))
        for point in self.points:
            for values in (point.position, point.velocity, point.acceleration, point.effort):
                out.sequence_f64(values)
            out.time_ns(point.after_ns)
        return out.bytes()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Of CDR bytes; ProtocolError where they are none."""
        read = _Reader(data)
        stamp_ns, frame = read.time_ns(), read.string()
        n = read.count(5)
        names = tuple([read.string() for _ in range(n)])
        points = []
        for _ in range(read.count(24)):
            values = [read.sequence_f64(0, n) for _ in range(4)]
            points.append(Point(read.time_ns(), *values))
        read.end()
        return cls(stamp_ns, names, tuple(points), frame)


@dataclass(frozen=True, slots=True)
class Positions:
    """std_msgs/msg/Float64MultiArray as a forward_command_controller takes it: a plain list."""

    values: tuple[float, ...]

    def encode(self) -> bytes:
        out = _Writer()
        out.u32(0)  # dimensions
        out.u32(0)  # offset
        out.sequence_f64(self.values)
        return out.bytes()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Of CDR bytes; ProtocolError where they are none, or have dimensions."""
        read = _Reader(data)
        if read.u32() or read.u32():
            raise ProtocolError("an array with dimensions or an offset, expected a plain list")
        values = read.sequence_f64()
        read.end()
        return cls(values)
