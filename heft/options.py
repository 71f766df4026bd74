"""Values of options that several commands understand."""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from heft.daq.bus.endpoint import Endpoint
from heft.daq.errors import BusError, ConfigError

__all__ = ["endpoint", "gain_spread", "name", "positive", "prepared", "seed", "speed", "target"]


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


def positive(text: str) -> float:
    """A number above 0 that has an end."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def gain_spread(text: str) -> float:
    """A relative standard deviation of the drives' gains."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no spread of gains; give 0 or more and below 1: 0.1 is 10 %"
        )
    return value


def name(text: str) -> str:
    """A name on the bus: a part of a topic."""
    if not re.fullmatch(r"[\w.-]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name; give letters, digits, dots, - and _ only")
    return text


def endpoint(text: str) -> Endpoint:
    """An address of the bus."""
    try:
        return Endpoint.parse(text)
    except BusError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc


def target(text: str) -> Endpoint:
    """An address of the bus that can be connected to."""
    try:
        return endpoint(text).require_target("it")
    except BusError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc


def prepared(out: Path) -> Path:
    """The folder for results, made before anything is computed; ConfigError where nothing can be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            return out
    except OSError as exc:
        raise ConfigError(f"--out {out}: cannot be written: {exc.strerror}; choose another folder") from exc
