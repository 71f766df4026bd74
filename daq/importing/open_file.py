"""A file of another tool, opened by what it is: by its first bytes, then by its name."""

from __future__ import annotations

import struct
from pathlib import Path

from heft.daq.errors import ImportFileError
from heft.daq.importing.table import Source
from heft.daq.record.file import MAGIC

__all__ = ["is_foreign", "is_recording", "open_file"]

KINDS = "CSV, NPZ, Parquet, or bags of ROS 2 (.mcap, .db3, these with .zstd, or their folder)"


def open_file(path: Path) -> Source:
    """The source of a file or folder; `ImportFileError` where it is nothing that is known, or damaged."""
    if path.is_dir():
        from heft.daq.importing.readers.parquet import ParquetSource, data_set_files

        if data_set_files(path):
            return ParquetSource(path)
        if (path / "metadata.yaml").is_file():
            from heft.daq.importing.readers.bag import BagSource

            return BagSource(path)
        if any(path.glob("*.npy")):
            from heft.daq.importing.readers.npz import NpzSource

            return NpzSource(path)
        raise ImportFileError(
            f"{path}: a folder that is neither a bag, a data set of LeRobot, nor of NPY files; give {KINDS}"
        )
    begin = _first_bytes(path)
    if not begin:
        raise ImportFileError(f"{path}: the file is empty; give {KINDS}")
    if begin.startswith(b"PK"):
        from heft.daq.importing.readers.npz import NpzSource

        return NpzSource(path)
    if begin.startswith(b"PAR1"):
        from heft.daq.importing.readers.parquet import ParquetSource

        return ParquetSource(path)
    if begin.startswith((MAGIC, b"SQLite format 3\0")):
        from heft.daq.importing.readers.bag import BagSource

        return BagSource(path)
    if path.suffix == ".zstd":
        from heft.daq.importing.readers.bag import BagSource

        return BagSource(path)
    known = {
        ".npz": "an NPZ file",
        ".parquet": "a Parquet file",
        ".mcap": "an MCAP file",
        ".db3": "a bag in sqlite3",
    }
    if path.suffix in known:
        raise ImportFileError(
            f"{path}: not {known[path.suffix]}: it begins with {begin[:8]!r}; is it damaged?"
        )
    from heft.daq.importing.readers.csv_text import CsvSource

    return CsvSource(path)


def is_foreign(path: Path) -> bool:
    """Whether a file must be imported before it is a recording of Heft: everything else, MCAP of others too."""
    if path.is_dir():
        return True
    try:
        begin = _first_bytes(path)
    except ImportFileError:
        return False
    if begin.startswith(MAGIC):
        return not is_recording(path)
    return path.suffix not in (".mcap", ".partial")


def is_recording(path: Path) -> bool:
    """Whether Heft wrote a file, whatever has become of it since."""
    begin = _first_bytes(path)
    return begin.startswith(MAGIC) and _library(begin).startswith("heft/")


def _library(begin: bytes) -> str:
    """Who wrote an MCAP file, by the header that it begins with: a record of two texts."""
    at, text = len(MAGIC) + 9, b""
    for _ in range(2):
        (size,) = struct.unpack_from("<I", begin.ljust(at + 4, b"\0"), at)
        text = begin[at + 4 : at + 4 + size]
        at += 4 + min(size, len(begin))
    return text.decode("utf-8", "replace")


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(256)
    except OSError as exc:
        raise ImportFileError(f"{path}: cannot be read: {exc.strerror}; check the path") from exc
