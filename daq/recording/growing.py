"""A recording that is still being written or copied: each look goes on where the last one stopped."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from mcap.exceptions import McapError

from heft.daq.errors import RecordingError
from heft.daq.recording.contents import Contents
from heft.daq.recording.recording import Recording
from heft.daq.recording.scan import scan_on

__all__ = ["GrowingRecording"]


class GrowingRecording:
    """What is whole of a file that grows at its end; for one thread at a time.

    size       bytes from the file's beginning that are whole records, every CRC checked
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._contents = Contents(complete=False, surveyed=True)

    def advance(self) -> bool:
        """Take in the records that have been completed since; whether there were any.

        It stops for good where a record is damaged: what follows is left to `Recording.open`.
        """
        before = self.size
        if self._contents.damaged or self._contents.notes:
            return False
        try:
            with self.path.open("rb") as file:
                self.size = scan_on(self._contents, file, before, os.fstat(file.fileno()).st_size)
        except OSError as exc:
            raise RecordingError(
                f"{self.path}: cannot be read: {exc.strerror or exc}; check the path"
            ) from exc
        except (McapError, struct.error) as exc:
            raise RecordingError(f"{self.path}: its records are not laid out as MCAP says: {exc}") from exc
        return self.size > before

    @property
    def recording(self) -> Recording:
        """The recording as far as it is whole; good until the next `advance`."""
        return Recording(self.path, self._contents)

    @property
    def spans_ns(self) -> dict[str, tuple[int, int]]:
        """Host times [ns] of the first and the last sample of each stream that has any."""
        return {name: (e.first_ns, e.last_ns) for name, e in self._contents.extents.items() if e.blocks}
