"""JSON that somebody else has written: read within bounds, and never with more than a ValueError."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["MOST_DEPTH", "bounded_json", "bounded_text"]

#: Levels of lists and objects inside each other that are read.
MOST_DEPTH = 32
#: Of an integer: times in nanoseconds have 19.
MOST_DIGITS = 20


def bounded_json(data: bytes | str, *, most: int, most_depth: int = MOST_DEPTH) -> Any:
    """The value that `data` says, of at most `most` bytes and `most_depth` levels; ValueError for anything else.

    NaN and infinity, which JSON does not know, are refused as well, and so are numbers that a double cannot hold and
    integers of more than 20 digits.
    """
    if len(data) > most:
        raise ValueError(f"{len(data)} bytes of JSON, at most {most} are read")
    try:
        value = json.loads(data, parse_constant=_refuse, parse_float=_finite, parse_int=_integer)
    except RecursionError:
        raise ValueError(f"JSON of more than {most_depth} levels") from None
    level, depth = [value], 0
    while level:
        level = [
            item
            for part in level
            if isinstance(part, dict | list)
            for item in (part.values() if isinstance(part, dict) else part)
        ]
        depth += 1
        if level and depth > most_depth:
            raise ValueError(f"JSON of more than {most_depth} levels")
    return value


def bounded_text(text: str, most: int) -> str:
    """What a stranger has written, fit to be shown: one line of at most `most` characters, all of them printable."""
    shown = "".join(c if c.isprintable() else " " for c in text[: 4 * most])
    return " ".join(shown.split())[:most]


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text[:40])


def _integer(text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > MOST_DIGITS:
        raise ValueError(f"an integer of {digits} digits, at most {MOST_DIGITS} are read")
    return int(text)
