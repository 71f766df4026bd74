"""CSV and its relatives: any separator, comment lines, a header or none, decimal commas, broken rows."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from heft.daq.errors import ImportFileError
from heft.daq.importing.readers.clock_texts import nanoseconds_of
from heft.daq.importing.readers.csv_dialect import MISSING, NUMBER, Dialect, dialect_of, is_comment, is_whole
from heft.daq.importing.stated_length import StatedLength
from heft.daq.importing.table import HEAD_ROWS, NO_TIME, Batch, Column, Source, Table

__all__ = ["CsvSource"]

SNIFFED = 1 << 16  # bytes that the dialect is told from
PIECE = 1 << 22  # bytes that are parsed at once
LONGEST_LINE = 1 << 20  # bytes; a longer line is no row of numbers
MOST_BROKEN = 0.5  # share of rows
_MISSING = sorted({form for word in MISSING for form in (word, word.upper(), word.capitalize(), "NaN")})
_LIST_CELL = re.compile(r"""[\[(]\s*[-+0-9.eE]+[,;\s]\s*[-+0-9.eE]+""")  # [0.1, 0.2
_MARKS = (b"#", b"%", b"//")
_ASCII = bytes(byte if byte < 128 else ord("?") for byte in range(256))  # no number has other characters


class CsvSource(Source):
    """Parsed in pieces of some megabytes. Rows with another number of cells, or with words in them, are dropped."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            with path.open("rb") as file:
                head = file.read(SNIFFED)
        except OSError as exc:
            raise ImportFileError(f"{path}: cannot be read: {exc.strerror}; check the path") from exc
        if not head.strip():
            raise ImportFileError(f"{path}: the file is empty; give a file with rows of numbers")
        self._dialect = self._sniff(head)
        d = self._dialect
        self.comments = d.comments
        self.stated = StatedLength.of_texts(d.comments)
        self.bounded(len(d.names))
        self.oddities += [f"{d.names[k]} holds {cell[:30]!r}, not numbers" for k, cell in d.texts.items()]
        columns = tuple(
            Column(name, name, unit="ns" if k in d.times else d.units[k])
            for k, name in enumerate(d.names)
            if k not in d.texts
        )
        texts = {"texts": np.array(d.same)} if d.same else {}
        self.tables = (Table("", columns, self._head([column.name for column in columns]), constants=texts),)

    @property
    def named(self) -> bool:
        """Whether the file names its columns."""
        return self._dialect.named

    def batches(self, wanted: Mapping[str, Sequence[str]]) -> Iterator[Batch]:
        self.dropped, self.n_dropped = [], 0
        used = 0
        for batch in self._parsed(list(wanted.get("", ()))):
            used += len(batch)
            yield batch
        if self.n_dropped > MOST_BROKEN * (used + self.n_dropped):
            first = self.dropped[0]
            raise ImportFileError(
                f"{self.path}: {self.n_dropped} of {used + self.n_dropped} rows are broken, at most "
                f"{100 * MOST_BROKEN:.0f} % may be; the first is line {first.row}: {first.why}"
            )

    def _sniff(self, head: bytes) -> Dialect:
        self._wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if self._wide:
            head = head.decode("utf-16", "replace").encode()
        if b"\0" in head:
            raise ImportFileError(
                f"{self.path}: binary data, no table of numbers as text; is its name right?"
            )
        cut = len(head) >= SNIFFED // 2
        head = head.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        whole = head[: head.rfind(b"\n") + 1] if cut else head
        if not whole:
            raise ImportFileError(
                f"{self.path}: a line of more than {SNIFFED} bytes; is it a table of samples?"
            )
        try:
            text = whole.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = whole.decode("latin-1")
        dialect = dialect_of(text)
        if dialect is None and (listed := _LIST_CELL.search(text)):
            raise ImportFileError(
                f"{self.path}: a cell holds several numbers ({listed[0]}...); write each into a column of its own, or "
                "the table as Parquet, where a cell may hold a list"
            )
        if dialect is None:
            raise ImportFileError(
                f"{self.path}: no rows of numbers in its first {len(whole)} bytes; give a table with one row per sample"
            )
        return dialect

    def _head(self, names: list[str]) -> Batch:
        parts: list[Batch] = []
        for batch in self._parsed(names):
            parts.append(batch)
            if sum(map(len, parts)) >= HEAD_ROWS:
                break
        self.dropped, self.n_dropped = [], 0
        if not sum(map(len, parts)):
            raise ImportFileError(
                f"{self.path}: not one whole row of numbers; give a table with one row per sample"
            )
        arrays = {name: np.concatenate([part.arrays[name] for part in parts])[:HEAD_ROWS] for name in names}
        return Batch("", "", arrays, np.concatenate([part.rows for part in parts])[:HEAD_ROWS])

    # -- parsing ------------------------------------------------------------------------------------------------------

    def _parsed(self, names: list[str]) -> Iterator[Batch]:
        line = self._dialect.skip + 1  # number of the next line in the file
        row = 0
        before = b""
        for piece in self._pieces():
            lines = piece.count(b"\n")
            if not lines:
                last = piece.decode("latin-1")
                if is_comment(last):
                    return
                if not is_whole(last, before[-SNIFFED:].decode("latin-1").split("\n"), self._dialect):
                    self.drop(line, "the file ends in it, without an end of line: was it cut off?")
                    return
                piece += b"\n"
            before = piece
            batch, broken = self._parse(piece, names, line, row)
            if len(batch):
                yield batch
            row += len(batch) + broken
            line += lines

    def _pieces(self) -> Iterator[bytes]:
        """Whole lines, some megabytes at a time, without those before the first row; last what ends in mid-line."""
        rest, skip = b"", self._dialect.skip
        for data in self._decoded():
            data = rest + data
            end = data.rfind(b"\n") + 1
            if not end and len(data) > LONGEST_LINE:
                raise ImportFileError(
                    f"{self.path}: a line of more than {LONGEST_LINE} bytes; is it a table of samples?"
                )
            rest, start = data[end:], 0
            while skip and start < end:
                start, skip = data.index(b"\n", start) + 1, skip - 1
            if start < end:
                yield data[start:end]
        if rest.strip():
            yield rest

    def _decoded(self) -> Iterator[bytes]:
        """The file in pieces, its lines ended by `\\n`; UTF-16 as UTF-8."""
        wide = codecs.getincrementaldecoder("utf-16")("replace") if self._wide else None
        held = b""  # an end of line that may go on in the next piece
        with self.path.open("rb") as file:
            if not self._wide and file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                file.seek(0)
            while data := file.read(PIECE):
                if wide is not None:
                    data = wide.decode(data).encode()
                data, held = held + data, b""
                if b"\r" in data:
                    if data.endswith(b"\r"):
                        data, held = data[:-1], b"\r"
                    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
                yield data
        if held:
            yield b"\n"

    def _parse(self, piece: bytes, names: list[str], line: int, row: int) -> tuple[Batch, int]:
        """The rows of a piece, and how many of it are broken."""
        d = self._dialect
        bad: list[tuple[int, str]] = []  # number of the row in the piece, why
        clean = _without_comments(piece)
        if not clean.isascii():
            clean = clean.translate(_ASCII)
        if d.separator == " ":
            clean = re.sub(rb"[ \t]+", b" ", clean)
            clean = re.sub(rb"(?m)^ | $", b"", clean)

        def broken(found: Any) -> str:
            bad.append((found.number or 0, f"{found.actual_columns} cells, not {found.expected_columns}"))
            return "skip"

        texts = False
        try:
            table = self._read(clean, names, broken, texts=False)
        except pa.ArrowInvalid:
            bad.clear()
            texts = True
            try:
                table = self._read(clean, names, broken, texts=True)
            except pa.ArrowInvalid as exc:
                if "Empty CSV" in str(exc):
                    return Batch("", "", {name: np.zeros(0) for name in names}, np.zeros(0, np.int64)), 0
                raise ImportFileError(f"{self.path}: line {line} and after: {exc}") from exc
        total = table.num_rows + len(bad)
        numbers = np.ones(total, bool)
        numbers[[n - 1 for n, _ in bad if 0 < n <= total]] = False
        places = np.flatnonzero(numbers)[: table.num_rows]
        for number, why in bad:
            self.drop(line + number - 1, why)
        if texts:
            arrays, wrong = self._from_texts(table, names)
            good = np.ones(table.num_rows, bool)
            good[list(wrong)] = False
            for k, cell in sorted(wrong.items()):
                self.drop(line + int(places[k]), f"words where numbers should be: {cell[:30]!r}")
            arrays = {name: array[good] for name, array in arrays.items()}
            places = places[good]
        else:
            arrays = {name: self._numbers(table.column(name)) for name in names}
        return Batch("", "", arrays, row + places), total - len(places)

    def _read(self, data: bytes, names: list[str], broken: Any, *, texts: bool) -> Any:
        d = self._dialect
        times = {d.names[k] for k in d.times}
        kinds = {name: pa.string() if texts or name in times else pa.float64() for name in names}
        return csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=list(d.names), use_threads=False, block_size=max(len(data), 1)),
            csv.ParseOptions(delimiter=d.separator, invalid_row_handler=broken),
            csv.ConvertOptions(
                column_types=kinds,
                include_columns=names,
                decimal_point=d.decimal,
                null_values=_MISSING,
                strings_can_be_null=True,
                check_utf8=False,
            ),
        )

    def _from_texts(self, table: Any, names: list[str]) -> tuple[dict[str, NDArray[Any]], dict[int, str]]:
        """Numbers cell by cell; and by row what is none where one should be."""
        d = self._dialect
        times = {d.names[k] for k in d.times}
        wrong: dict[int, str] = {}
        arrays = {}
        for name in names:
            column = pc.utf8_trim_whitespace(
                table.column(name).cast(pa.binary()).cast(pa.string(), safe=False)
            )
            if name not in times:
                cells = column
                if d.decimal == ",":
                    column = pc.replace_substring(column, ",", ".")
                fits = pc.match_substring_regex(column, f"^{NUMBER}$")
                parsed = pc.if_else(fits, column, pa.scalar(None, pa.string())).cast(pa.float64())
                bad = pc.and_(pc.is_valid(column), pc.is_null(parsed))
                for k in np.flatnonzero(bad.to_numpy(zero_copy_only=False)).tolist():
                    wrong.setdefault(k, cells[k].as_py())
                column = parsed
            arrays[name] = self._numbers(column)
        return arrays, wrong

    @staticmethod
    def _numbers(column: Any) -> NDArray[Any]:
        """Floats, NaN where missing; times as whole nanoseconds, `NO_TIME` where there is none."""
        if pa.types.is_string(column.type):
            ns, good = nanoseconds_of(column)
            return np.where(good, ns, NO_TIME)
        return np.asarray(column.to_numpy(), np.float64)


def _without_comments(data: bytes) -> bytes:
    """Comment lines as empty ones, which the parser leaves out."""
    # One byte is found ten times as fast as several, and most files have none of them.
    if not any(mark[:1] in data and (data.startswith(mark) or b"\n" + mark in data) for mark in _MARKS):
        return data
    return re.sub(rb"(?m)^(#|%|//).*$", b"", data)
