"""Where a result comes from: data, configuration, software."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any, Self

from identify.dataset import Dataset

__all__ = ["DataOrigin", "Provenance", "versions"]

PACKAGES = ("heft", "numpy", "scipy", "numba", "pin", "clarabel")


@dataclass(frozen=True)
class DataOrigin:
    """One dataset: where it came from, the hash of its numbers, its size."""

    source: str
    hash: str
    samples: int
    duration_s: float

    @classmethod
    def of(cls, data: Dataset) -> Self:
        """Of a dataset."""
        return cls(data.source, data.fingerprint, len(data), data.duration_s)


@dataclass(frozen=True)
class Provenance:
    """All that it takes to find the same numbers again. No clock time: equal inputs give equal files."""

    data: tuple[DataOrigin, ...]
    configuration: Mapping[str, Any]
    versions: Mapping[str, str]

    @classmethod
    def of(cls, data: Sequence[Dataset], configuration: Mapping[str, Any]) -> Self:
        """Of datasets, with this software."""
        return cls(tuple(DataOrigin.of(one) for one in data), dict(configuration), versions())

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "data": [asdict(one) for one in self.data],
            "configuration": dict(self.configuration),
            "versions": dict(self.versions),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        origins = tuple(DataOrigin(**one) for one in data["data"])
        return cls(origins, data["configuration"], data["versions"])


@cache
def versions() -> Mapping[str, str]:
    """Of Python and of the packages that a result depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return MappingProxyType(found)
