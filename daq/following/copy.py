"""A follower's own copy of a recording, byte for byte, which grows with it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from heft.daq.errors import RecordingError
from heft.daq.following.client import FollowClient
from heft.daq.record.file import MAGIC
from heft.daq.recording.growing import GrowingRecording

__all__ = ["RecordingCopy"]

#: Bytes at the end of an earlier copy that must agree with the recording.
TAIL_BYTES = 1 << 16


class RecordingCopy:
    """`FOLDER/NAME.mcap`, with `.partial` until all of a finished recording is here.

    What an earlier process has left is kept as far as it is whole, its CRCs checked; `agree` compares its end with the
    recording. `growing` reads what is here.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._final = folder / f"{name}.mcap"
        self._partial = self._final.with_name(self._final.name + ".partial")
        folder.mkdir(parents=True, exist_ok=True)
        if self._final.exists():
            self._final.replace(self._partial)
        self._raw = self._partial.open("ab+", buffering=0)
        self.growing = GrowingRecording(self._partial)
        with suppress(RecordingError):  # not even laid out like a recording: nothing of it is kept
            self.growing.advance()
        self.size = self.growing.size  # bytes that are here
        self._raw.truncate(self.size)

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._final if self._final.exists() else self._partial

    async def agree(self, client: FollowClient, session: str) -> int:
        """Bytes to keep: none where the session's recording does not hold the last ones at the same place."""
        start = max(0, self.size - TAIL_BYTES)
        self._raw.seek(start)
        here = self._raw.read(self.size - start)
        if (await client.read(session, start, len(here))).data != here:
            self._raw.truncate(0)
            self.size = 0
            self.growing = GrowingRecording(self._partial)
        return self.size

    def append(self, data: bytes) -> None:
        """The bytes that follow; in the kernel's hands at once, so that they outlive this process."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._raw.write(rest) or 0 :]
        self.size += len(data)

    def finish(self) -> None:
        """All is here: give the file its name, where its recorder has finished it."""
        self._raw.seek(max(0, self.size - len(MAGIC)))
        finished = self.size > len(MAGIC) and self._raw.read(len(MAGIC)) == MAGIC
        self.close()
        if finished:
            self._partial.rename(self._final)

    def close(self) -> None:
        """Leave it as it is; may be called twice."""
        self._raw.close()
