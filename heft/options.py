"""Values of options that several commands understand."""

from __future__ import annotations

import argparse

__all__ = ["seed", "speed"]


def speed(text: str) -> float:
    """Times real time; infinite for `max`."""
    try:
        factor = float("inf") if text == "max" else float(text)
    except ValueError:
        factor = 0.0
    if not factor > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed; give 1, a positive factor, or max")
    return factor


def seed(text: str) -> int:
    """A whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; give a whole number from 0 on")
    return int(text)
