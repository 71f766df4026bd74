"""The robot for viewers: `/robot_description` and `/tf`, from samples as they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.record.transforms import TF, TF_TEXT, TransformPacker
from heft.daq.record.viewer import Thinning, Viewer, string_message
from heft.drivers.block import Block
from heft.drivers.stream import Role, Stream

__all__ = ["RobotMessages"]

TF_TOPIC = "/tf"
TF_HZ = 50.0  # enough for eyes
DESCRIPTION_TOPIC = "/robot_description"
STRING = "std_msgs/msg/String"
STRING_TEXT = "string data\n"
#: What `ros2 bag` writes for a topic that late subscribers get, too.
LATCHED = {"offered_qos_profiles": "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 1\n"}


class RobotMessages:
    """Its description once, and the poses of its links by the first stream that knows all joints."""

    def __init__(self, viewer: Viewer, channel: Callable[[str, str, str, Mapping[str, str]], int]) -> None:
        self._viewer = viewer
        self._stream: str | None = None
        self._columns: list[int] = []
        self._thinning = Thinning(TF_HZ)
        self._told = viewer.description is None
        self._packer = None if viewer.frames is None else TransformPacker(viewer.frames)
        if viewer.description is not None:
            self._description = channel(DESCRIPTION_TOPIC, STRING, STRING_TEXT, LATCHED)
        if viewer.frames is not None:
            self._tf = channel(TF_TOPIC, TF, TF_TEXT, {})

    def describe(self, stream: Stream) -> None:
        """A stream that will come."""
        frames = self._viewer.frames
        if frames is None or self._stream is not None or stream.role is not Role.MEASURED:
            return
        columns = frames.columns(stream)
        if columns is not None:
            self._stream, self._columns = stream.name, columns

    def follows(self, stream: Stream) -> bool:
        """Whether samples of a stream are needed."""
        return stream.name == self._stream or not self._told

    def messages(
        self,
        stream: Stream,
        utc_ns: NDArray[np.int64],
        values: NDArray[Any],
        validity: NDArray[np.uint8],
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.uint8]]]:
        """Channel, times (M,) and messages (M, length) that these samples give."""
        if not self._told:
            self._told = True
            data = string_message(self._viewer.description or "")
            yield self._description, utc_ns[:1], np.frombuffer(data, np.uint8)[None, :]
        if self._packer is not None and stream.name == self._stream:
            rows = np.flatnonzero(self._thinning.chosen(utc_ns))
            q = Block(stream, 0, utc_ns[rows], values[rows], validity[rows]).si[:, self._columns]
            good = np.isfinite(q).all(axis=1)
            if good.any():
                yield self._tf, utc_ns[rows][good], self._packer.pack(utc_ns[rows][good], q[good])
