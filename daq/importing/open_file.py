"""A file of another tool, opened by what it is: by its first bytes, then by its name."""

from __future__ import annotations

import stat
import struct
from pathlib import Path

from heft.daq.errors import ImportFileError
from heft.daq.importing.table import Source
from heft.daq.record.file import MAGIC

__all__ = ["is_foreign", "is_recording", "open_file"]

KINDS = "CSV, NPZ, Parquet, or bags of ROS 2 (.mcap, .db3, these with .zstd, or their folder)"
NPY = b"\x93NUMPY"
#: What other files begin with: what they are, and how they become one that is read.
OTHERS = (
    (b"\x1f\x8b", "packed by gzip; unpack it with `gunzip`"),
    (b"BZh", "packed by bzip2; unpack it with `bunzip2`"),
    (b"\xfd7zXZ", "packed by xz; unpack it with `unxz`"),
    (
        b"MATLAB 5.0 MAT-file",
        "a MAT-file; write its arrays as CSV (`writetable`, `writematrix`), or by scipy as NPZ",
    ),
    (b"\x89HDF\r\n", "an HDF5 file (MAT-files of version 7.3 are some); write its arrays as NPZ or CSV"),
    (b"#ROSBAG V", "a bag of ROS 1; `rosbags-convert` makes one of ROS 2 of it"),
    (b"\x80\x03", "a pickle, which is not read: it could do anything; write its arrays as NPZ"),
    (b"\x80\x04", "a pickle, which is not read: it could do anything; write its arrays as NPZ"),
    (b"\x80\x05", "a pickle, which is not read: it could do anything; write its arrays as NPZ"),
    (b"{", "JSON; `pandas.read_json(..., lines=True).to_parquet(...)` makes Parquet of lines of it"),
    (b"[{", "JSON; `pandas.read_json(...).to_parquet(...)` makes Parquet of it"),
)


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
        if bags := sorted(one.name for one in path.iterdir() if one.suffix in (".db3", ".mcap")):
            raise ImportFileError(
                f"{path}: a bag without metadata.yaml; `ros2 bag reindex` writes it, or give its files one by one: "
                f"{' '.join(bags[:3])}"
            )
        raise ImportFileError(
            f"{path}: a folder that is neither a bag, a data set of LeRobot, nor of NPY files; give {KINDS}"
        )
    begin = _first_bytes(path)
    if not begin:
        raise ImportFileError(f"{path}: the file is empty; give {KINDS}")
    for mark, told in OTHERS:
        if begin.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(mark):
            raise ImportFileError(f"{path}: {told}")
    if begin.startswith((b"PK", NPY)):
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
    """What a file begins with; of pipes and devices nothing is read, for nobody knows when they end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ImportFileError(f"{path}: a pipe or a device, not a file; write what comes from it to one")
        with path.open("rb") as file:
            return file.read(256)
    except OSError as exc:
        raise ImportFileError(f"{path}: cannot be read: {exc.strerror}; check the path") from exc
