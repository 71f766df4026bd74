"""`--load`: known loads on the flange, by recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heft.daq.errors import ConfigError
from heft.identify.data.known_load import NUMBERS, KnownLoad
from heft.identify.errors import DataError

__all__ = ["known_loads"]


def known_loads(texts: Sequence[str], files: Sequence[Path]) -> dict[Path, KnownLoad]:
    """Loads by file, from texts like `FILE=mass,cx,cy,cz`; without `FILE=` it is that of the only file.

    FILE is one of `files`, as it was given or by its name alone. `ConfigError` where it is none of them.
    """
    loads: dict[Path, KnownLoad] = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        file = _file(name, text, files)
        if file in loads:
            raise ConfigError(f"--load {text}: {file} has a load already; give one for each recording")
        try:
            loads[file] = KnownLoad.from_numbers([float(number) for number in numbers.split(",")])
        except ValueError as exc:
            why = str(exc) if isinstance(exc, DataError) else f"{numbers!r} are no numbers"
            raise ConfigError(f"--load {text}: {why}; give {NUMBERS} [kg, m, kg m2]") from exc
    return loads


def _file(name: str, text: str, files: Sequence[Path]) -> Path:
    """The file that a load is of."""
    distinct = list(dict.fromkeys(files))
    given = ", ".join(str(file) for file in distinct)
    if not name:
        if len(distinct) != 1:
            raise ConfigError(f"--load {text}: of which of {given}? Give --load FILE={text}")
        return distinct[0]
    as_given = [file for file in distinct if file == Path(name)]
    by_name = [file for file in distinct if file.name == name]
    for found in (as_given, by_name):
        if len(found) == 1:
            return found[0]
    raise ConfigError(f"--load {text}: {name} is none of {given}, or several of them; name it as there")
