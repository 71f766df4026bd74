"""Units that columns may be in, and their factors to SI."""

from __future__ import annotations

import math
import re

from heft.daq.errors import ConfigError

__all__ = ["UNITS", "known_unit", "plain_unit", "to_si"]

#: By quantity and unit: factor, offset, SI unit.
_TURN = 2 * math.pi
UNITS: dict[str, dict[str, tuple[float, float, str]]] = {
    "time": {"s": (1.0, 0.0, "s"), "ms": (1e-3, 0.0, "s"), "us": (1e-6, 0.0, "s"), "ns": (1e-9, 0.0, "s")},
    "position": {
        "rad": (1.0, 0.0, "rad"),
        "mrad": (1e-3, 0.0, "rad"),
        "deg": (_TURN / 360, 0.0, "rad"),
        "rev": (_TURN, 0.0, "rad"),
        "m": (1.0, 0.0, "m"),
        "mm": (1e-3, 0.0, "m"),
    },
    "velocity": {
        "rad/s": (1.0, 0.0, "rad/s"),
        "mrad/s": (1e-3, 0.0, "rad/s"),
        "deg/s": (_TURN / 360, 0.0, "rad/s"),
        "rev/s": (_TURN, 0.0, "rad/s"),
        "rpm": (_TURN / 60, 0.0, "rad/s"),
        "m/s": (1.0, 0.0, "m/s"),
        "mm/s": (1e-3, 0.0, "m/s"),
    },
    "torque": {
        "N m": (1.0, 0.0, "N m"),
        "N mm": (1e-3, 0.0, "N m"),
        "mN m": (1e-3, 0.0, "N m"),
        "kN m": (1e3, 0.0, "N m"),
        "N": (1.0, 0.0, "N"),
        "kN": (1e3, 0.0, "N"),
        "A": (1.0, 0.0, "A"),
        "mA": (1e-3, 0.0, "A"),
        "%": (1e-2, 0.0, "rated"),
    },
    "temperature": {
        "degC": (1.0, 273.15, "K"),
        "K": (1.0, 0.0, "K"),
        "degF": (5 / 9, 273.15 - 32 * 5 / 9, "K"),
    },
    "acceleration": {"m/s2": (1.0, 0.0, "m/s2"), "g": (9.80665, 0.0, "m/s2")},
}
_COUNTS = re.compile(
    r"(?:counts?|ticks?)\s*/\s*([0-9.]+)|([0-9.]+)\s*(?:counts?|ticks?)\s*(?:per|/)\s*rev\w*"
)
_SPELLINGS = {
    "": "",
    "sec": "s",
    "second": "s",
    "seconds": "s",
    "secs": "s",
    "msec": "ms",
    "millis": "ms",
    "milliseconds": "ms",
    "usec": "us",
    "µs": "us",
    "micros": "us",
    "microseconds": "us",
    "nsec": "ns",
    "nanos": "ns",
    "nanosec": "ns",
    "nanoseconds": "ns",
    "°": "deg",
    "degree": "deg",
    "degrees": "deg",
    "grad": "deg",
    "radian": "rad",
    "radians": "rad",
    "turn": "rev",
    "turns": "rev",
    "revs": "rev",
    "rads": "rad/s",
    "rps": "rev/s",
    "rad/sec": "rad/s",
    "1/s": "rad/s",
    "degs": "deg/s",
    "dps": "deg/s",
    "°/s": "deg/s",
    "deg/sec": "deg/s",
    "1/min": "rpm",
    "u/min": "rpm",
    "nm": "N m",
    "n.m": "N m",
    "n·m": "N m",
    "n*m": "N m",
    "n-m": "N m",
    "n m": "N m",
    "newtonmeter": "N m",
    "nmm": "N mm",
    "n mm": "N mm",
    "mnm": "mN m",
    "knm": "kN m",
    "pct": "%",
    "percent": "%",
    "ampere": "A",
    "amp": "A",
    "amps": "A",
    "a": "A",
    "ma": "mA",
    "n": "N",
    "kn": "kN",
    "c": "degC",
    "°c": "degC",
    "celsius": "degC",
    "k": "K",
    "f": "degF",
    "m/s^2": "m/s2",
    "m/s²": "m/s2",
}


def plain_unit(text: str) -> str:
    """A unit as the tables here spell it; what is not known stays as it is."""
    text = text.strip()
    every = {unit for units in UNITS.values() for unit in units}
    if text in every:
        return text
    low = " ".join(text.lower().split())
    return _SPELLINGS.get(low, next((unit for unit in every if unit.lower() == low), text))


def known_unit(quantity: str, unit: str) -> bool:
    """Whether a quantity can be in this unit."""
    return plain_unit(unit) in UNITS[quantity] or (
        quantity == "position" and _COUNTS.fullmatch(unit.strip()) is not None
    )


def to_si(quantity: str, unit: str) -> tuple[float, float, str]:
    """Factor, offset and unit in SI; `ConfigError` names the units that are known."""
    match = _COUNTS.fullmatch(unit.strip()) if quantity == "position" else None
    if match is not None and float(match[1] or match[2]) > 0:
        return _TURN / float(match[1] or match[2]), 0.0, "rad"
    found = UNITS[quantity].get(plain_unit(unit))
    if found is None:
        more = ", 4096 counts per rev" if quantity == "position" else ""
        raise ConfigError(
            f"{quantity}.unit: {unit!r} is not known; use one of {', '.join(UNITS[quantity])}{more}"
        )
    return found
