"""`--load` of a fleet: known loads on the flange, by session or by a pattern of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from heft.daq.errors import ConfigError
from heft.fleet.sources import Source
from heft.identify.data.known_load import NUMBERS, KnownLoad
from heft.identify.errors import DataError

__all__ = ["loaded"]


def loaded(sources: Sequence[Source], texts: Sequence[str]) -> list[Source]:
    """The recordings with their loads, from texts like `arm0/*=mass,cx,cy,cz`; `ConfigError` where one fits none."""
    loads: dict[str, tuple[float, ...]] = {}
    for text in texts:
        pattern, _, numbers = text.rpartition("=")
        load = _numbers(text, numbers)
        fitting = [one.session for one in sources if fnmatchcase(one.session, pattern or "*")]
        if not fitting:
            raise ConfigError(f"--load {text}: no session is called {pattern}; there is {sources[0].session}")
        for session in fitting:
            if session in loads:
                raise ConfigError(f"--load {text}: {session} has a load already; give one for each session")
            loads[session] = load
    return [replace(one, load=loads.get(one.session, ())) for one in sources]


def _numbers(text: str, numbers: str) -> tuple[float, ...]:
    try:
        load = tuple(float(number) for number in numbers.split(","))
        KnownLoad.from_numbers(load)
    except ValueError as exc:
        why = str(exc) if isinstance(exc, DataError) else f"{numbers!r} are no numbers"
        raise ConfigError(f"--load {text}: {why}; give {NUMBERS} [kg, m, kg m2]") from exc
    return load
