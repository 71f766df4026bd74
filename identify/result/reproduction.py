"""A result made once more from its recordings, and what is different."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from heft.daq.recording import Recording
from heft.identify.certainty.bootstrap import Bootstrap
from heft.identify.data import KnownLoad
from heft.identify.data.from_recording import IDENTIFICATION, VALIDATION
from heft.identify.errors import DataError, ResultError
from heft.identify.estimation.estimators import Method
from heft.identify.result import Result, load
from heft.identify.result.provenance import RecordingOrigin
from heft.identify.robot.regressor import Drives

__all__ = ["Difference", "Reproduction", "differences", "reproduce"]

#: Said beside the answer, not part of it.
VERSIONS = "provenance.versions."


@dataclass(frozen=True, slots=True)
class Difference:
    """A place in a result, and what stands there in both."""

    place: str
    before: Any
    now: Any

    def __str__(self) -> str:
        more = f" (relative {self.relative:.1e})" if math.isfinite(self.relative) else ""
        return f"{self.place}: {self.before!r}, now {self.now!r}{more}"

    @property
    def relative(self) -> float:
        """Of two numbers to the larger one; infinite where these are no numbers."""
        if not isinstance(self.before, float) or not isinstance(self.now, float):
            return math.inf
        return abs(self.before - self.now) / max(abs(self.before), abs(self.now))


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result made anew; `differences` from the one before, `versions` of the software apart."""

    result: Result
    differences: tuple[Difference, ...]
    versions: tuple[Difference, ...]

    @property
    def identical(self) -> bool:
        """To the last bit of every number."""
        return not self.differences

    @property
    def largest(self) -> float:
        """Of all relative differences; infinite where anything but numbers differs."""
        return max((one.relative for one in self.differences), default=0.0)


def reproduce(
    path: Path,
    identify: Callable[..., Result],
    recordings: Sequence[Recording] = (),
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Identify again, as `path` says that it was done: its robot, its method, its recordings.

    identify   `heft.identify.fit.identify_recordings`

    Recordings are looked for by their samples among `recordings`, then by their names beside the result.
    """
    before = load(path)
    origins = before.provenance.recordings
    if not origins:
        raise ResultError(f"{path}: made from arrays, not from recordings; reproduce it where the arrays are")
    opened = cache(Recording.open)
    same = [_find(origin, recordings, path.parent, opened) for origin in origins]
    uses = [origin.use for origin in origins]
    configuration = before.provenance.configuration
    if own := configuration.get("own_constraints"):
        raise ResultError(
            f"{path}: made with constraints of one's own ({'; '.join(own)}); reproduce it where their function is"
        )
    try:
        arguments = _arguments(before, same)
    except (LookupError, TypeError, ValueError, AttributeError) as exc:
        raise ResultError(f"{path}: how it was made is missing or changed ({exc}); identify anew") from exc
    result = identify(
        [one for one, use in zip(same, uses, strict=True) if use == IDENTIFICATION],
        validate=[one for one, use in zip(same, uses, strict=True) if use == VALIDATION],
        progress=progress,
        **arguments,
    )
    names = {one.path.name: origin.name for one, origin in zip(same, origins, strict=True)}
    document = json.loads(json.dumps(result.to_dict()))
    _rename(document, names)
    every = tuple(differences(json.loads(path.read_text(encoding="utf-8")), document))
    return Reproduction(
        result,
        tuple(one for one in every if not one.place.startswith(VERSIONS)),
        tuple(one for one in every if one.place.startswith(VERSIONS)),
    )


def _arguments(before: Result, recordings: Sequence[Recording]) -> dict[str, Any]:
    """How a result was made, as arguments of `identify_recordings`."""
    configuration = before.provenance.configuration
    replicates = configuration.get("bootstrap", 0)
    drives = configuration.get("drives")  # before friction was chosen
    given = replace(before.robot, unmeasured=tuple(configuration.get("unmeasured", ())))
    pairs = zip(recordings, before.provenance.recordings, strict=True)
    return {
        "robot": given if drives is None else given.with_drives(Drives.from_dict(drives)),
        "method": Method(before.method, configuration["options"], _weighting(configuration["weighting"])),
        "level": before.level,
        "settings": configuration.get("settings", {}),
        "common": configuration.get("common", ()),
        "loads": {
            one: KnownLoad.from_numbers(origin.load) for one, origin in pairs if origin.load is not None
        },
        "bootstrap": Bootstrap(replicates) if replicates else None,
    }


def _weighting(said: str | list[float]) -> Any:
    return said if isinstance(said, str) else np.array(said)


def differences(before: Any, now: Any, place: str = "") -> Iterator[Difference]:
    """Where two JSON values differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in before | now:
            yield from differences(before.get(key), now.get(key), f"{place}.{key}" if place else key)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{place}[{index}]")
    elif before != now:
        yield Difference(place, before, now)


def _find(
    origin: RecordingOrigin,
    recordings: Sequence[Recording],
    folder: Path,
    opened: Callable[[Path], Recording],
) -> Recording:
    """The recording: by its samples, else by its name, else the only one given; with none given, in `folder`."""
    if not recordings:
        if origin.name != Path(origin.name).name:
            raise ResultError(
                f"its recording is called {origin.name!r}: no name of a file; name the recording"
            )
        if not (folder / origin.name).exists():
            raise DataError(
                f"{folder / origin.name}: no such file; name the recording that the result is from"
            )
        return opened(folder / origin.name)
    for is_it in (
        lambda one: one.digest == origin.digest,
        lambda one: one.path.name == origin.name,
        lambda one: len(recordings) == 1,
    ):
        for one in recordings:
            if is_it(one):
                return one
    given = ", ".join(str(one.path) for one in recordings)
    raise DataError(f"{origin.name} is not among {given}; name it too")


def _rename(document: dict[str, Any], names: dict[str, str]) -> None:
    """Call recordings as they were called before: a file may be renamed."""
    for one in document["provenance"]["recordings"]:
        one["name"] = names[one["name"]]
    for one in [*document["provenance"]["data"], *document["recordings"]]:
        one["source"] = names[one["source"]]
