"""Provenance of a result: data, configuration, software versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from heft.identify.data import Dataset, KnownLoad

if TYPE_CHECKING:
    from heft.daq.recording import Recording
    from heft.identify.information.fit_data import FitData

__all__ = ["DataOrigin", "Provenance", "RecordingOrigin", "versions"]

PACKAGES = ("heft", "numpy", "scipy", "numba", "pin", "clarabel")


@dataclass(frozen=True)
class DataOrigin:
    """One dataset: where it came from, the hash of its numbers, its size, and what became of samples and rows.

    removed   samples left out on the way, by reason; `sent` what each stream had
    rows      of the regression, all joints together: on the grid, used, left out by reason
    """

    source: str
    hash: str
    samples: int
    duration_s: float
    removed: Mapping[str, int] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Dataset, rows: Mapping[str, int]) -> Self:
        """Of a dataset, and what became of its rows."""
        removed, sent = dict(data.removed), dict(data.sent)
        return cls(data.source, data.fingerprint, len(data), data.duration_s, removed, sent, dict(rows))


@dataclass(frozen=True)
class RecordingOrigin:
    """One recording: its file's name, the digest of its samples, what it was used for, and its known load.

    load   mass, centre, xx, xy, yy, xz, yz, zz about it (`KnownLoad.numbers`), or None
    """

    name: str
    digest: str
    use: str
    load: tuple[float, ...] | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """As JSON has it."""
        load = data.get("load")
        return cls(**{**data, "load": tuple(load) if isinstance(load, list) else load})

    @classmethod
    def of(cls, recording: Recording, use: str, load: KnownLoad | None = None) -> Self:
        """Of a recording."""
        return cls(recording.path.name, recording.digest, use, None if load is None else load.numbers)


@dataclass(frozen=True)
class Provenance:
    """All that it takes to find the same numbers again. No clock time: equal inputs give equal files."""

    data: tuple[DataOrigin, ...]
    configuration: Mapping[str, Any]
    versions: Mapping[str, str]
    recordings: tuple[RecordingOrigin, ...] = ()

    @classmethod
    def of(cls, source: FitData, configuration: Mapping[str, Any]) -> Self:
        """Of a fit's data, with this software."""
        pairs = zip(source.datasets, source.accounts, strict=True)
        return cls(tuple(DataOrigin.of(data, rows) for data, rows in pairs), dict(configuration), versions())

    def load_of(self, recording: Recording) -> KnownLoad | None:
        """The known load on the flange in one of the recordings."""
        load = next((one.load for one in self.recordings if one.digest == recording.digest), None)
        return None if load is None else KnownLoad.from_numbers(load)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "data": [asdict(one) for one in self.data],
            "configuration": dict(self.configuration),
            "versions": dict(self.versions),
            "recordings": [asdict(one) for one in self.recordings],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        origins = tuple(DataOrigin(**one) for one in data["data"])
        recordings = tuple(RecordingOrigin.from_dict(one) for one in data["recordings"])
        return cls(origins, data["configuration"], data["versions"], recordings)


@cache
def versions() -> Mapping[str, str]:
    """Of Python and of the packages that a result depends on."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            installed[package] = "unknown"
    return MappingProxyType(installed)
