"""Whether a value that came out of a file is of the types that its class declares."""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

__all__ = ["check_types"]

_HINTS: dict[type, dict[str, Any]] = {}  # of each class that was looked at


def check_types(value: Any) -> None:
    """TypeError, with the place, where a dataclass's fields, or what they hold, are not what is declared.

    Arrays are of the declared kind of numbers. Integers pass for floats; a bool is no number.
    """
    kind = type(value)
    hints = _HINTS.get(kind) or _HINTS.setdefault(kind, get_type_hints(kind))
    for field in fields(value):
        _check(getattr(value, field.name), hints[field.name], field.name)


def _check(value: Any, hint: Any, place: str) -> None:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, str):
        return
    if origin in (Union, types.UnionType):
        _any_of(value, inner, place)
    elif origin is Literal:
        _require(value in inner, value, place, " or ".join(map(repr, inner)))
    elif origin is np.ndarray:
        kind = np.dtype(get_args(inner[1])[0]).kind if get_args(inner[1]) else ""
        fits = isinstance(value, np.ndarray) and value.dtype.kind in (kind, "i" if kind == "f" else kind)
        _require(fits, value, place, "an array of numbers")
    elif origin is tuple:
        _require(isinstance(value, tuple), value, place, "a list")
        several = len(inner) == 2 and inner[1] is Ellipsis
        _require(several or len(value) == len(inner), value, place, f"{len(inner)} entries")
        for number, one in enumerate(value):
            _check(one, inner[0] if several else inner[number], f"{place}[{number}]")
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        _require(isinstance(value, Mapping), value, place, "a mapping")
        for key, one in value.items():
            _check(key, inner[0], place)
            _check(one, inner[1], f"{place}.{key}")
    elif isinstance(origin, type) and issubclass(origin, Collection):
        _require(isinstance(value, origin) and not isinstance(value, str), value, place, "a list")
        for number, one in enumerate(value):
            _check(one, inner[0], f"{place}[{number}]")
    elif hint is float:
        _require(_is_number(value), value, place, "a number")
    elif hint is int:
        _require(
            isinstance(value, int | np.integer) and not isinstance(value, bool), value, place, "an integer"
        )
    elif hint is None or hint is type(None):
        _require(value is None, value, place, "null")
    elif isinstance(hint, type):
        _require(isinstance(value, hint), value, place, hint.__name__)
        if is_dataclass(value):
            try:
                check_types(value)
            except TypeError as exc:
                raise TypeError(f"{place}.{exc}") from None


def _any_of(value: Any, hints: tuple[Any, ...], place: str) -> None:
    if value is None and type(None) in hints:
        return None
    problems = []
    for hint in hints:
        if hint is not type(None):
            try:
                return _check(value, hint, place)
            except TypeError as exc:
                problems.append(exc)
    raise problems[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)


def _require(holds: bool, value: Any, place: str, what: str) -> None:
    if not holds:
        shown = repr(value)
        raise TypeError(f"{place}: must be {what}, got {shown if len(shown) <= 60 else shown[:57] + '...'}")
