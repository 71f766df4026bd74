"""Bags of ROS 2, in MCAP or sqlite3, compressed or not, with and without `metadata.yaml`: one table per topic."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from heft.daq.errors import ImportFileError
from heft.daq.importing.readers.unpacking import BOMB_RATIO, most_unpacked
from heft.daq.importing.stated_length import StatedLength
from heft.daq.importing.table import Batch, Column, Source, Table
from heft.daq.temporary import temporary_folder

__all__ = ["BagSource"]

ZSTD = b"\x28\xb5\x2f\xfd"  # a message that begins so is compressed; none of CDR does
MOST_MESSAGE = 1 << 20  # unpacked [bytes]: numbers of joints and wrenches take a thousandth
PIECE = 1 << 20  # bytes that are unpacked at a time
BATCH_ROWS = 4096
HEAD_MESSAGES = 20_000  # of a topic that is looked at: decoding them takes a second
MOST_NUMBERS = 256  # in one message: what has more is a picture or a cloud, not a signal
MOST_SETS = 8  # of joint names on one topic
JOINT_STATE = "sensor_msgs/msg/JointState"
_ARRAYS = ("position", "velocity", "effort")


@dataclass
class _Layout:
    """How a topic's messages become rows: arrays by name, each a function of the message."""

    table: str
    columns: tuple[Column, ...]
    row: Callable[[Any], Mapping[str, Any]]
    rows: int = 0
    pending: list[tuple[Mapping[str, Any], int, int]] = field(default_factory=list)

    def batch(self) -> Batch:
        """What has come, taken."""
        taken, self.pending = self.pending, []
        arrays = {name: np.array([one[0][name] for one in taken], np.float64) for name in taken[0][0]}
        received = np.array([one[1] for one in taken], np.int64)
        stamped = np.array([one[2] for one in taken], np.int64)
        rows = np.arange(self.rows, self.rows + len(taken))
        self.rows += len(taken)
        return Batch(self.table, "", arrays, rows, received, stamped if stamped.any() else None)


class BagSource(Source):
    """`path` is a .mcap or .db3 file, either of them compressed (.zstd), or a folder with metadata.yaml."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._bag = path
        self._store = get_typestore(Stores.LATEST)
        self._known: set[str] = set()
        try:
            if path.suffix == ".zstd":
                stack = ExitStack()
                weakref.finalize(self, stack.close)
                self._bag = stack.enter_context(temporary_folder()) / path.stem
                _unpack(path, self._bag)
            self.tables = tuple(self._survey())
        except ImportFileError:
            raise
        except KeyError as exc:
            raise ImportFileError(
                f"{path}: its messages are defined as {exc}, not as ROS 2 does; export it as CSV from where it is from"
            ) from exc
        except Exception as exc:  # whatever a damaged bag makes its reader do
            if "Profile is not ros2" in str(exc):
                raise ImportFileError(
                    f"{path}: an MCAP file, but not of ROS 2 (its header names another profile, or none); export it as "
                    "CSV from where it is from"
                ) from exc
            raise ImportFileError(f"{path}: not a whole bag of ROS 2: {_told(exc)}; {_remedy(path)}") from exc
        if not self.tables:
            told = "; ".join(self.oddities[:5]) or "it has no messages"
            raise ImportFileError(f"{path}: no topic with numbers in it: {told}")

    def batches(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[Batch]:
        try:
            with Reader(self._bag) as reader:
                topics = {name.partition("#")[0] for name in wanted}
                connections = [c for c in reader.connections if c.topic in topics]
                self.stated = StatedLength(rows=sum(c.msgcount for c in connections))
                yield from self._read(reader, connections, None)
        except ImportFileError:
            raise
        except Exception as exc:  # whatever a damaged bag makes its reader do
            raise ImportFileError(
                f"{self.path}: cut off or damaged: {_told(exc)}; {_remedy(self.path)}"
            ) from exc

    def _survey(self) -> Iterator[Table]:
        with Reader(self._bag) as reader:
            connections = list(reader.connections)
            if not connections:
                raise ImportFileError(f"{self.path}: a bag without topics; record it anew")
            for connection in connections:
                if not self._learn(connection):
                    continue
                self._layouts: dict[str, _Layout] = {}
                parts: dict[str, list[Batch]] = {}
                for batch in self._read(reader, [connection], HEAD_MESSAGES):
                    parts.setdefault(batch.table, []).append(batch)
                for name, batches in parts.items():
                    yield Table(name, self._layouts[name].columns, _joined(batches), stamped=True)
        self.dropped, self.n_dropped = [], 0

    def _learn(self, connection: Connection) -> bool:
        """Whether messages of a topic can be decoded; their definition is taken from the bag where it has it."""
        kind, text = connection.msgtype, connection.msgdef
        if kind not in self._store.fielddefs and text.format == MessageDefinitionFormat.MSG:
            known = get_types_from_msg(text.data, kind)
            self._store.register({k: v for k, v in known.items() if k not in self._store.fielddefs})
        if kind in self._store.fielddefs:
            return True
        self.oddities.append(f"{connection.topic}: messages of type {kind}, which the bag does not define")
        return False

    def _read(self, reader: Reader, connections: list[Connection], most: int | None) -> Iterator[Batch]:
        """Batches of some topics, in the order of arrival."""
        self._layouts = {}
        by_names: dict[tuple[str, tuple[str, ...]], _Layout] = {}
        count = 0
        if not connections:
            return
        for number, (connection, received_ns, data) in enumerate(
            reader.messages(connections=connections), start=1
        ):
            if most is not None and number > most:
                break
            count = number
            try:
                if data[:4] == ZSTD:  # where there is no metadata.yaml, nothing else tells it
                    with pa.input_stream(pa.BufferReader(data), compression="zstd") as packed:
                        data = packed.read(MOST_MESSAGE)
                message: Any = self._store.deserialize_cdr(data, connection.msgtype)
            except Exception as exc:  # of one broken message
                self.drop(number, f"{connection.topic}: {_told(exc)}")
                continue
            names = tuple(message.name) if connection.msgtype == JOINT_STATE else ()
            key = (connection.topic, tuple(sorted(names)))
            layout = by_names.get(key)
            if layout is None:
                layout = self._layout(connection, message, sum(k[0] == connection.topic for k in by_names))
                if layout is None:
                    return
                by_names[key] = self._layouts[layout.table] = layout
            try:
                row = layout.row(message)
            except (ValueError, IndexError, KeyError, TypeError, AttributeError) as exc:
                self.drop(number, f"{connection.topic}: {_told(exc)}")
                continue
            stamp = getattr(getattr(message, "header", None), "stamp", None)
            stamped_ns = 0 if stamp is None else stamp.sec * 1_000_000_000 + stamp.nanosec
            layout.pending.append((row, received_ns, stamped_ns))
            if len(layout.pending) >= BATCH_ROWS:
                yield layout.batch()
        for layout in by_names.values():
            if layout.pending:
                yield layout.batch()
        if count and not by_names:
            raise ImportFileError(
                f"{self.path}: none of {count} messages can be decoded; {self.dropped[0].why}"
            )

    def _layout(self, connection: Connection, message: Any, before: int) -> _Layout | None:
        """For the messages of a topic, as the first of them is; None: they hold no signal."""
        if before >= MOST_SETS:
            raise ImportFileError(
                f"{self.path}: {connection.topic} has more than {MOST_SETS} sets of joint names"
            )
        name = connection.topic if not before else f"{connection.topic}#{before + 1}"
        if connection.msgtype == JOINT_STATE:
            return _joint_layout(name, message)
        numbers = dict(_flat(message, ""))
        if not 0 < len(numbers) <= MOST_NUMBERS:
            self.oddities.append(
                f"{connection.topic}: {connection.msgtype} holds {len(numbers) or 'no'} numbers"
            )
            return None

        def row(message: Any) -> Mapping[str, Any]:
            found = dict(_flat(message, ""))
            if found.keys() != numbers.keys():
                raise ValueError(f"{len(found)} numbers, not {len(numbers)}")
            return found

        return _Layout(name, tuple(Column(key, key) for key in numbers), row)


def _joint_layout(table: str, first: Any) -> _Layout:
    """Positions, velocities and efforts by the joints' names, whatever their order in a message."""
    names = tuple(first.name)
    arrays = tuple(key for key in _ARRAYS if len(getattr(first, key)) == len(names))
    columns = tuple(Column(f"{key}.{name}", key, k, name) for key in arrays for k, name in enumerate(names))

    def row(message: Any) -> Mapping[str, NDArray[np.float64]]:
        order = None if tuple(message.name) == names else [message.name.index(name) for name in names]
        found = {}
        for key in arrays:
            values = getattr(message, key)
            if len(values) != len(names):
                raise ValueError(f"{key} of {len(values)} joints, not {len(names)}")
            found[key] = values if order is None else values[order]
        return found

    return _Layout(table, columns, row)


def _flat(message: Any, prefix: str) -> Iterator[tuple[str, float]]:
    """The numbers of a message by their places (`wrench.force.x`), without stamps and covariances."""
    for key in message.__dataclass_fields__:
        if key.startswith("__") or key in ("header", "stamp", "layout") or key.endswith("covariance"):
            continue
        value, place = getattr(message, key), f"{prefix}{key}"
        if isinstance(value, bool | int | float | np.integer | np.floating):
            yield place, float(value)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            yield from ((f"{place}[{k}]", float(one)) for k, one in enumerate(value[: MOST_NUMBERS + 1]))
        elif hasattr(value, "__dataclass_fields__"):
            yield from _flat(value, f"{place}.")


def _joined(batches: list[Batch]) -> Batch:
    first = batches[0]
    stamped = None
    if all(batch.stamped_ns is not None for batch in batches):
        stamped = np.concatenate([batch.stamped_ns for batch in batches if batch.stamped_ns is not None])
    return Batch(
        first.table,
        "",
        {name: np.concatenate([batch.arrays[name] for batch in batches]) for name in first.arrays},
        np.concatenate([batch.rows for batch in batches]),
        np.concatenate([batch.received_ns for batch in batches if batch.received_ns is not None]),
        stamped,
    )


def _remedy(path: Path) -> str:
    """What to do about a bag that is not whole."""
    if path.suffix == ".mcap":
        return f"`mcap recover {path.name} -o whole.mcap` keeps what is whole, import that; or record it anew"
    if path.suffix == ".db3":
        return f"copy it anew, with {path.name}-wal where there is one; or record it anew"
    return "copy its folder anew with all its files, or record it anew"


def _told(exc: Exception) -> str:
    return (str(exc).splitlines() or [type(exc).__name__])[0] or type(exc).__name__


def _unpack(path: Path, target: Path) -> None:
    """Write what a .zstd file holds; `ImportFileError` where that is more than measured numbers can be."""
    most, written = most_unpacked(path.stat().st_size), 0
    with pa.input_stream(str(path), compression="zstd") as packed, target.open("wb") as file:
        while piece := packed.read(PIECE):
            written += file.write(piece)
            if written > most:
                raise ImportFileError(
                    f"{path}: unpacks to more than {most / 1e9:.2g} GB, {BOMB_RATIO} times what it takes: no measured "
                    "numbers do that"
                )
