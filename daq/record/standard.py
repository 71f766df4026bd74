"""A stream as standard messages: JointState or WrenchStamped in CDR, so that viewers open it with no plugin.

All messages of a stream have the same length and differ only in stamps and numbers. So the bytes are made
once as an image, and N samples are packed by laying it out N times and filling in the numbers as arrays.

A stream with forces or torques about x, y, z becomes WrenchStamped. Every other becomes JointState: a column
goes by its unit to `position` (rad, m), `velocity` (rad/s, m/s) or `effort` (N m, N, A) of the element it is
`of`; a second column with the same place has none, and is in the Blocks alone. A stream of which nothing has
a place (temperatures) becomes elements named after the columns, with the values in `position`.
`header.stamp` is UTC; numbers are SI; what is missing or not valid is NaN.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.stream import Column, Stream

__all__ = ["HEADER_TEXT", "RULE", "Image", "Standard", "standard"]

# ROS 2 message definitions that viewers know, as the text of MCAP schemas with encoding `ros2msg`.
RULE = "=" * 80

HEADER_TEXT = f"""\
{RULE}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{RULE}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""

JOINT_STATE = "sensor_msgs/msg/JointState"
JOINT_STATE_TEXT = f"""\
std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{HEADER_TEXT}"""

WRENCH = "geometry_msgs/msg/WrenchStamped"
WRENCH_TEXT = f"""\
std_msgs/Header header
geometry_msgs/Wrench wrench
{HEADER_TEXT}{RULE}
MSG: geometry_msgs/Wrench
geometry_msgs/Vector3 force
geometry_msgs/Vector3 torque
{RULE}
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""

_ARRAY_OF_UNIT = {
    "rad": "position",
    "m": "position",
    "rad/s": "velocity",
    "m/s": "velocity",
    "N m": "effort",
    "N": "effort",
    "A": "effort",
}
_ABSENT = -1  # no column: NaN


class Image:
    """CDR bytes under construction: little-endian, numbers aligned to their size after the first 4 bytes."""

    def __init__(self) -> None:
        self.data = bytearray(b"\x00\x01\x00\x00")
        self.names: list[str] = []
        self.formats: list[Any] = []
        self.offsets: list[int] = []

    def header(self, frame: str, suffix: str = "") -> None:
        """A std_msgs/Header; its stamp is filled in as `sec` and `nanosec`, with a suffix where there are several."""
        self.align(4)
        self.names += [f"sec{suffix}", f"nanosec{suffix}"]
        self.formats += ["<i4", "<u4"]
        self.offsets += [len(self.data), len(self.data) + 4]
        self.data += bytes(8)
        self.string(frame)

    def align(self, size: int) -> None:
        self.data += bytes(-(len(self.data) - 4) % size)

    def count(self, value: int) -> None:
        self.align(4)
        self.data += struct.pack("<I", value)

    def string(self, text: str) -> None:
        encoded = text.encode() + b"\0"
        self.count(len(encoded))
        self.data += encoded

    def numbers(self, name: str, count: int) -> None:
        """Room for `count` doubles that each message fills in."""
        self.align(8)
        self.names.append(name)
        self.formats.append(("<f8", (count,)))
        self.offsets.append(len(self.data))
        self.data += bytes(8 * count)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(
            {
                "names": self.names,
                "formats": self.formats,
                "offsets": self.offsets,
                "itemsize": len(self.data),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """How a stream's samples are packed as standard messages.

    `fields` maps a field of the image to the stream's columns that fill it; `metadata` says the same to a
    reader of the file.
    """

    schema: str
    text: str
    image: bytes
    dtype: np.dtype[Any]
    fields: dict[str, NDArray[np.intp]]
    metadata: dict[str, str]

    def pack(self, utc_ns: NDArray[np.int64], si: NDArray[np.float64]) -> NDArray[np.uint8]:
        """N messages, one per row: shape (N, length of a message), from times (N,) and SI values (N, k)."""
        n = len(utc_ns)
        rows = np.frombuffer(bytearray(self.image) * n, self.dtype)
        rows["sec"], rows["nanosec"] = np.divmod(utc_ns, 1_000_000_000)
        with_absent = np.column_stack((si, np.full(n, np.nan)))  # the last column is what `_ABSENT` finds
        for name, columns in self.fields.items():
            rows[name] = with_absent[:, columns]
        return rows.view(np.uint8).reshape(n, len(self.image))


def standard(stream: Stream) -> Standard:
    """The standard messages of a stream."""
    axes = {(c.quantity, c.of): i for i, c in enumerate(stream.columns)}
    wrench = [axes.get((quantity, axis), _ABSENT) for quantity in ("force", "torque") for axis in "xyz"]
    if any(i != _ABSENT for i in wrench):
        return _wrench(stream, wrench)
    return _joint_state(stream)


def _wrench(stream: Stream, columns: Sequence[int]) -> Standard:
    image = Image()
    image.header(stream.frame or "")
    image.numbers("wrench", 6)
    return Standard(
        WRENCH,
        WRENCH_TEXT,
        bytes(image.data),
        image.dtype,
        {"wrench": np.array(columns, np.intp)},
        {"stream": stream.name, "force": "force [N]", "torque": "torque [N m]"},
    )


def _joint_state(stream: Stream) -> Standard:
    places: dict[str, dict[str, int]] = {"position": {}, "velocity": {}, "effort": {}}
    for i, column in enumerate(stream.columns):
        array = _ARRAY_OF_UNIT.get(column.unit)
        if array is not None:
            places[array].setdefault(column.of, i)
    placed = set().union(*places.values())
    names = list(dict.fromkeys(c.of for c in stream.columns if c.of in placed))
    if not names:
        names = [c.name for c in stream.columns]
        places["position"] = {name: i for i, name in enumerate(names)}
    image = Image()
    image.header(stream.frame or "")
    image.count(len(names))
    for name in names:
        image.string(name)
    fields = {}
    for array, place in places.items():
        image.count(len(names) if place else 0)
        if place:
            image.numbers(array, len(names))
            fields[array] = np.array([place.get(name, _ABSENT) for name in names], np.intp)
    metadata = {"stream": stream.name} | {
        array: _label([stream.columns[i] for i in place.values()]) for array, place in places.items() if place
    }
    return Standard(JOINT_STATE, JOINT_STATE_TEXT, bytes(image.data), image.dtype, fields, metadata)


def _label(columns: Sequence[Column]) -> str:
    """What an array holds: `current [A]`."""
    return ", ".join(dict.fromkeys(f"{c.quantity} [{c.unit}]" for c in columns))
