"""Values of options that several commands understand."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heft.daq.bus.endpoint import Endpoint
from heft.daq.errors import BusError, ConfigError

__all__ = [
    "add_log_options",
    "add_settings",
    "endpoint",
    "gain_spread",
    "name",
    "positive",
    "prepared",
    "seed",
    "settings",
    "speed",
    "target",
]


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
            f"{text!r} is no spread of gains; give 0 or more and below 1: 0.1 is 10 % (a standard deviation)"
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


class _Set(argparse.Action):
    """Collects KEY=VALUE; `help` prints all of them and ends."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        if values == "help":
            from heft.identify.settings import described

            sys.stdout.write(f"settings of an identification, as --set KEY=VALUE:\n{described()}\n")
            parser.exit()
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), str(values)])


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """The options --robot and --map of a command that takes recordings, or imports logs of other tools."""
    parser.add_argument(
        "--robot",
        type=Path,
        help="robot's file: YAML, URDF or MJCF (default: the one inside the recording); it travels inside what is "
        "imported",
    )
    parser.add_argument(
        "--map",
        type=Path,
        metavar="MAP.yaml",
        help="what the columns of imported files are, all or some (default: guessed)",
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The option --set of a command that identifies."""
    parser.add_argument(
        "--set",
        action=_Set,
        default=[],
        metavar="KEY=VALUE",
        help="a setting, as cutoff_hz=8, bounds.total_mass=15:20 or method.margin=1e-4; may be repeated; "
        "--set help lists them all",
    )


def settings(given: Sequence[str]) -> dict[str, Any]:
    """The settings KEY=VALUE of a command line by key, checked; `ConfigError` lists the known ones."""
    if not given:
        return {}  # and the libraries of an identification are not loaded before an arm moves
    from heft.identify.settings import Settings

    return Settings.parse(given).to_dict()


def prepared(out: Path) -> Path:
    """The folder for results, made before anything is computed; ConfigError where nothing can be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            return out
    except OSError as exc:
        raise ConfigError(f"--out {out}: cannot be written: {exc.strerror}; choose another folder") from exc
