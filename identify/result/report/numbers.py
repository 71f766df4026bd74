"""Numbers as people read them: as many digits as mean something, a true minus sign, units with their signs."""

from __future__ import annotations

from math import floor, isfinite, log10

__all__ = ["count", "fixed", "percent", "plain", "spread", "times", "unit"]

MINUS, NARROW = "\u2212", "\u202f"


def plain(value: float, digits: int = 4) -> str:
    """`digits` significant digits; powers of ten for what would have many zeros."""
    if not isfinite(value):
        return "unknown" if value != value else ("\u221e" if value > 0 else f"{MINUS}\u221e")
    if value == 0:
        return "0"
    size = floor(log10(abs(float(f"{value:.{digits - 1}e}"))))
    if not -5 < size < 6:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return _signed(f"{mantissa}\u00b710{_superscript(int(exponent))}")
    return _signed(f"{value:.{max(digits - 1 - size, 0)}f}")


def fixed(value: float, places: int) -> str:
    """So many places behind the point."""
    shown = f"{value:.{places}f}"
    return _signed(shown if float(shown) else shown.lstrip("-"))


def spread(value: float, half: float) -> tuple[str, str]:
    """A value and half its interval, both to the place where the interval has two digits."""
    if not isfinite(half):
        return plain(value), "\u221e"
    if half <= 0:
        return plain(value, 6), "0"
    place = 1 - floor(log10(half))
    if not 0 <= place <= 9:
        return plain(value, 5), plain(half, 2)
    return _signed(f"{value:.{place}f}"), f"{half:.{place}f}"


def percent(share: float) -> str:
    """0.0175 as 1.75 %."""
    if not isfinite(share):
        return "unknown"
    value = 100 * share
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}{NARROW}%"


def times(ratio: float) -> str:
    """How many times as much, in words' precision."""
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def count(number: int) -> str:
    """60 760: thousands apart."""
    return f"{number:,}".replace(",", NARROW)


def unit(text: str) -> str:
    """`kg m2` as kg\u00b7m\u00b2."""
    for plain_text, nice in (("m2", "m\u00b2"), ("s2", "s\u00b2"), (" ", "\u00b7")):
        text = text.replace(plain_text, nice)
    return "" if text == "-" else text


def _signed(text: str) -> str:
    return text.replace("-", MINUS)


def _superscript(number: int) -> str:
    return str(number).translate(
        str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
    )
