"""When a frame in a byte stream had arrived."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.transports.transport import Chunk

__all__ = ["ByteTimes"]

_BITS_PER_BYTE = 10  # 8N1


class ByteTimes:
    """Host times of frames in a serial stream: bytes of one read came one after the other, the last one at its stamp.

    baud   of the line [bit/s]
    """

    def __init__(self, baud: int) -> None:
        self._byte_ns = _BITS_PER_BYTE * 1e9 / baud
        self._last_ns = 0

    def of(self, chunks: Sequence[Chunk], ends: NDArray[np.int64], fed: int) -> NDArray[np.int64]:
        """When frames ended [ns], shape (N,): `ends` are their last bytes' places in the stream, `fed` its length
        once all of `chunks` were fed. Never decreasing.
        """
        if not len(ends):
            return np.empty(0, dtype=np.int64)
        lengths = [len(chunk.data) for chunk in chunks]
        places = fed - sum(lengths) + np.cumsum(lengths)
        stamps = np.array([chunk.host_ns for chunk in chunks], dtype=np.int64)
        chunk = np.searchsorted(places, ends)
        behind_ns = np.rint((places[chunk] - ends) * self._byte_ns).astype(np.int64)
        times = np.maximum.accumulate(np.maximum(stamps[chunk] - behind_ns, self._last_ns))
        self._last_ns = int(times[-1])
        return times
