"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["whole_file", "write_whole"]


@contextmanager
def whole_file(path: Path, *, suffix: str = "", replace: bool = True) -> Iterator[Path]:
    """A draft beside `path` to write to, which takes its place when the block ends well, and is gone otherwise.

    suffix    of the draft's name, for readers that go by it
    replace   a file that is there already is replaced; otherwise `FileExistsError`, and it stays as it is
    """
    draft = path.with_name(f".{path.name}.draft{suffix}")
    try:
        if not replace and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        yield draft
        if not replace:
            with suppress(PermissionError):  # a file system without links
                os.link(draft, path)  # fails where somebody was faster
                return
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes, *, replace: bool = True) -> Path:
    """Write a file; see `whole_file`."""
    with whole_file(path, replace=replace) as draft:
        draft.write_bytes(data)
    return path
