"""Values of settings, from a command line's text or from YAML, as plain JSON; `ValueError` says what they must be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

__all__ = [
    "Reader",
    "flag",
    "like",
    "not_negative",
    "number",
    "numbers",
    "one_of",
    "pair",
    "positive",
    "whole",
    "word",
    "words",
]

Reader = Callable[[Any], Any]

_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def number(value: Any) -> float:
    """A finite number."""
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise ValueError("a number")
    return found


def positive(value: Any) -> float:
    """A number above 0."""
    found = number(value)
    if found <= 0:
        raise ValueError("a number above 0")
    return found


def not_negative(value: Any) -> float:
    """A number that is not below 0."""
    found = number(value)
    if found < 0:
        raise ValueError("a number of 0 or more")
    return found


def whole(value: Any) -> int:
    """A whole number."""
    found = number(value)
    if found != int(found):
        raise ValueError("a whole number")
    return int(found)


def flag(value: Any) -> bool:
    """Yes or no."""
    if isinstance(value, bool):
        return value
    if str(value).lower() not in _FLAGS:
        raise ValueError("true or false")
    return _FLAGS[str(value).lower()]


def word(value: Any) -> str:
    """A name."""
    if not isinstance(value, str) or not value:
        raise ValueError("a name")
    return value


def words(value: Any) -> list[str]:
    """Names with commas between them, or a list."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not parts:
        raise ValueError("names with commas between them")
    return [word(part.strip() if isinstance(part, str) else part) for part in parts]


def numbers(value: Any) -> float | list[float]:
    """One number, or several with commas between them, or a list."""
    if isinstance(value, list | tuple) or (isinstance(value, str) and "," in value):
        parts = value.split(",") if isinstance(value, str) else value
        return [number(part) for part in parts]
    return number(value)


def pair(value: Any) -> list[float]:
    """Two numbers, as LOW:HIGH, or a list."""
    parts = value.split(":") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or len(parts) != 2:
        raise ValueError("two numbers, as 15:20")
    return [number(part) for part in parts]


def one_of(options: Iterable[str]) -> Reader:
    """One of several words."""
    known = tuple(options)

    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"one of {', '.join(known)}")
        return str(value)

    return read


def like(default: Any) -> Reader:
    """What a keyword with this default takes; of None: a number, or none."""
    if isinstance(default, bool):
        return flag
    if isinstance(default, int):
        return whole
    if isinstance(default, float):
        return number
    if isinstance(default, str):
        return word
    return lambda value: None if value is None or value == "none" else number(value)
