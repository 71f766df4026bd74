"""How a text file of numbers is written: separator, decimal mark, comments, header, units. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heft.daq.importing.readers.clock_texts import is_clock_text

__all__ = ["NUMBER", "Dialect", "dialect_of", "is_comment", "is_whole"]

COMMENTS = ("#", "%", "//", "!")
SEPARATORS = (";", "\t", "|", ",", " ")
LOOKED_AT = 60  # lines that a separator is judged by
NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
MISSING = ("", "nan", "na", "n/a", "null", "none", "inf", "-inf", "+inf", "-nan", "-")
_NUMBER = re.compile(NUMBER)
_COMMA_NUMBER = re.compile(NUMBER.replace(r"\.", ","))


@dataclass(frozen=True)
class Dialect:
    """What a reader needs to know.

    separator    one character; a blank stands for any number of blanks and tabs
    decimal      `.` or `,`
    skip         lines before the first row of numbers
    names        of the columns
    units        of the columns as a line of the file states them, or ""
    comments     lines of free text before the numbers
    texts        by place of the columns that hold no numbers: what the first of their cells is that is none
    times        places of columns that hold dates or times of day
    named        whether the file names its columns
    same         in the order of the file, of columns with the same text in every row, this text
    """

    separator: str
    decimal: str
    skip: int
    names: tuple[str, ...]
    units: tuple[str, ...]
    comments: tuple[str, ...]
    texts: Mapping[int, str]
    times: frozenset[int]
    named: bool
    same: tuple[str, ...] = ()


def dialect_of(text: str) -> Dialect | None:
    """The dialect of a file that begins with `text` (whole lines); None: there are no rows of numbers."""
    lines = text.splitlines()
    plain = [(number, line) for number, line in enumerate(lines) if line.strip() and not is_comment(line)]
    best: tuple[tuple[float, int], str, str, int] | None = None
    for rank, separator in enumerate(SEPARATORS):
        for decimal in (".", ","):
            if decimal == separator:
                continue
            found = _judge(plain[:: max(1, len(plain) // LOOKED_AT)], separator, decimal)
            if found is None:
                continue
            share, width = found
            key = (round(share, 2) + 0.001 * min(width, 50) - 0.01 * (decimal == ","), -rank)
            if best is None or key > best[0]:
                best = key, separator, decimal, width
    if best is None:
        return None
    _, separator, decimal, width = best
    first = next((number for number, line in plain if _is_row(_cells(line, separator), width, decimal)), None)
    if first is None:
        return None
    counted = first < plain[-1][0] and _is_count(_cells(lines[first], separator))
    names, units, named = _names([] if counted else lines[:first], separator, width)
    first += counted
    rows = [_cells(line, separator) for number, line in plain if number >= first][:LOOKED_AT]
    rows = [row for row in rows if len(row) == width]
    texts: dict[int, str] = {}
    times = set()
    for k in range(width):
        cells = [row[k] for row in rows]
        words = [cell for cell in cells if not _is_number(cell, decimal)]
        if sum(map(is_clock_text, cells)) > len(cells) / 2:
            times.add(k)
        elif len(words) >= len(cells) / 2:
            texts[k] = words[0]
    return Dialect(
        separator,
        decimal,
        first,
        names,
        units,
        tuple(line.strip() for line in lines[:first]),
        texts,
        frozenset(times),
        named,
        tuple(text for k, text in texts.items() if all(row[k] == text for row in rows)),
    )


def _is_count(cells: Sequence[str]) -> bool:
    """Whether a first row is 0, 1, 2, ...: what columns without names are called, not what was measured."""
    numbers = [cell for cell in cells if cell]
    return len(numbers) > 2 and any(
        numbers == [str(k) for k in range(start, start + len(numbers))] for start in (0, 1)
    )


def is_whole(line: str, before: Sequence[str], dialect: Dialect) -> bool:
    """Whether a last line without its end is a whole row: as many cells as the others, all of them what they should be.

    Of a number that was cut off, what is left is a number, too: the last one must not be shorter than all of those in
    the lines `before`, signs aside.
    """
    width = len(dialect.names)
    cells = _cells(line, dialect.separator)
    ends = [row[-1] for row in (_cells(one, dialect.separator) for one in before) if len(row) == width]
    return (
        len(cells) == width
        and all(_is_number(cell, dialect.decimal) for k, cell in enumerate(cells) if k not in dialect.texts)
        and len(cells[-1].lstrip("+-")) >= min((len(end.lstrip("+-")) for end in ends), default=0)
    )


def is_comment(line: str) -> bool:
    """Whether a line is free text."""
    return line.lstrip(' "').startswith(COMMENTS)


def _cells(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    if '"' in line:
        import csv

        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
    return [cell.strip() for cell in line.split(separator)]


def _is_number(cell: str, decimal: str) -> bool:
    cell = cell.strip().strip('"')
    pattern = _COMMA_NUMBER if decimal == "," else _NUMBER
    return pattern.fullmatch(cell) is not None or cell.lower() in MISSING or is_clock_text(cell)


def _is_row(cells: Sequence[str], width: int, decimal: str) -> bool:
    """A row of numbers: as many cells as the others, most of them numbers, some not empty."""
    good = sum(_is_number(cell, decimal) for cell in cells)
    return (
        len(cells) == width
        and any(cells)
        and good >= max(1, 0.6 * width)
        and any(
            _NUMBER.match(cell) or _COMMA_NUMBER.match(cell) or is_clock_text(cell) for cell in cells if cell
        )
    )


def _judge(lines: Sequence[tuple[int, str]], separator: str, decimal: str) -> tuple[float, int] | None:
    """Share of lines that are rows of numbers of the usual width, and this width; None: none is."""
    rows = [_cells(line, separator) for _, line in lines]
    widths = Counter(len(row) for row in rows if _is_row(row, len(row), decimal))
    if not widths:
        return None
    width, good = widths.most_common(1)[0]
    return good / len(rows), width


def _names(
    before: Sequence[str], separator: str, width: int
) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Names and units of the columns from the lines before the first row, the nearest of the right width first."""
    found: list[list[str]] = []
    for line in reversed(before):
        bare = (
            line.strip().lstrip("".join({mark[0] for mark in COMMENTS})).strip() if is_comment(line) else line
        )
        options = [_cells(bare, one) for one in dict.fromkeys((separator, ",", ";", "\t", " "))]
        cells = next((one for one in options if len(one) == width), None)
        if cells is None and len(options[0]) == width - 1:  # a separator at the end of each row
            cells = [*options[0], ""]
        if cells is not None and not all(_is_number(cell, ".") for cell in cells):
            found.append(cells)
        if len(found) == 2 or (found and line.strip() and cells is None):
            break
    units = [""] * width
    if len(found) == 2 and _all_units(found[0]):
        units, found = [cell.strip("[]() ") for cell in found[0]], found[1:]
    named = bool(found)
    names = found[0] if found else [""] * width
    names = [name.strip().strip('"').strip() or f"column{k + 1}" for k, name in enumerate(names)]
    return _told_apart(names), tuple(units), named


def _told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Names that are all different: those that several columns have are numbered, `q#1`, `q#2`."""
    alike, seen, unique = Counter(names), Counter[str](), list[str]()
    for name in names:
        seen[name] += 1
        unique.append(name if alike[name] == 1 else f"{name}#{seen[name]}")
    return tuple(unique)


def _all_units(cells: Sequence[str]) -> bool:
    known = {
        "s",
        "ms",
        "us",
        "ns",
        "rad",
        "deg",
        "°",
        "rad/s",
        "deg/s",
        "°/s",
        "rpm",
        "nm",
        "n m",
        "n*m",
        "n·m",
    }
    known |= {"a", "ma", "n", "m", "mm", "m/s", "mm/s", "-", "1", "", "degc", "°c", "c", "nmm", "n mm", "rev"}
    return all(cell.strip("[]() ").lower() in known for cell in cells)
