"""Triangles that are kept of a recording: enough for a new estimate, a thousandth of its size.

Of every joint the square-root information factor (`heft.identify.information.reduction`) of the rows as the session's
own fit had them: with its filter, its forms of friction and its delay. Another method, level, prior or bound, or a fit
of many sessions together, needs no more. What needs the rows themselves (other filters, weights of single samples)
needs the recording.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heft.daq.bounded_json import bounded_json
from heft.identify.bodies.arrays import Array
from heft.identify.data import Processing
from heft.identify.errors import DataError
from heft.identify.estimation.alignment import Alignment
from heft.identify.information.reduction import Information, Reduction
from heft.identify.robot import Robot

__all__ = ["KeptTriangles", "distinct_sources", "kept_of"]

SCHEMA, VERSION = "heft.Triangles", 1
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class KeptTriangles:
    """Of one recording, or of several as one fit had them.

    robot         with the friction terms that the fit chose
    information   torques corrected for `delay_s`; each recording's own offset is still in the rows
    delay_s       of torques against positions [s]
    inflation     variance of what rows tell over that of independent ones (`heft.identify.certainty.scatter`)
    temperature   mean of each joint [K], shape (n,); NaN where nothing measured it
    digest        of the recording's samples (`Recording.digest`)
    facts         about the session, as plain JSON values; numbers that are not known are written as null
    """

    robot: Robot
    processing: Processing
    information: Information
    delay_s: float = 0.0
    inflation: float = 1.0
    temperature: Array = field(default_factory=lambda: np.zeros(0))
    source: str = ""
    digest: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """As an NPZ file: arrays and one JSON text, nothing that is executed when it is read."""
        header = {
            "schema": SCHEMA,
            "version": VERSION,
            "processing": self.processing.to_dict(),
            "delay_s": self.delay_s,
            "inflation": self.inflation,
            "source": self.source,
            "digest": self.digest,
            "facts": {
                name: None if isinstance(fact, float) and not math.isfinite(fact) else fact
                for name, fact in self.facts.items()
            },
        }
        file = io.BytesIO()
        np.savez_compressed(
            file,
            header=np.frombuffer(json.dumps(header, allow_nan=False).encode(), dtype=np.uint8),
            robot=np.frombuffer(json.dumps(self.robot.to_dict()).encode(), dtype=np.uint8),
            rows=self.information.rows,
            triangles=self.information.extended.reshape(-1)[_places(self.robot)],
            temperature=np.asarray(self.temperature, dtype=np.float64),
        )
        return file.getvalue()

    @classmethod
    def decoded(cls, data: bytes, source: str = "triangles") -> Self:
        """Inverse of `encoded`; `DataError` where these are no triangles."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                parts: dict[str, NDArray[Any]] = {name: file[name] for name in file.files}
            header = bounded_json(parts["header"].tobytes(), most=MOST_BYTES)
            if header.get("schema") != SCHEMA or header.get("version") != VERSION:
                raise DataError(
                    f"{source}: schema {header.get('schema')!r} version {header.get('version')!r}, must be {SCHEMA!r} "
                    f"version {VERSION}; identify the recording anew"
                )
            robot = _robot(parts["robot"].tobytes())
            processing = Processing.from_dict(header["processing"])
            information = _unpacked(robot, parts["triangles"], parts["rows"])
        except (LookupError, ValueError, TypeError, AttributeError, OSError, zipfile.BadZipFile) as exc:
            if isinstance(exc, DataError):
                raise
            raise DataError(f"{source}: no triangles ({exc}); identify the recording anew") from exc
        return cls(
            robot,
            processing,
            information,
            header["delay_s"],
            header["inflation"],
            parts["temperature"],
            header["source"],
            header["digest"],
            header["facts"],
        )


def kept_of(alignment: Alignment, facts: Mapping[str, Any]) -> tuple[KeptTriangles, ...]:
    """The triangles of each recording of a fit, in order."""
    data, layout = alignment.data, alignment.data.robot.regressor.layout
    reductions = [Reduction(layout) for _ in range(data.recording_count)]
    for block in data.plain_blocks():
        weights = block.keep.astype(np.float64)
        reductions[data.recordings[block.dataset]].add(block.table, weights, block.rates)
    kept = []
    for number, reduction in enumerate(reductions):
        parts = [i for i, of in enumerate(data.recordings) if of == number]
        first = data.datasets[parts[0]]
        measured = [one.temperature for i in parts if (one := data.datasets[i]).temperature is not None]
        kelvin = [one.kelvin.mean(axis=0) for one in measured if one is not None]
        kept.append(
            KeptTriangles(
                data.robot,
                data.processing,
                reduction.finish(),
                data.delays_s[data.delay_group(parts[0])],
                alignment.problem.inflation,
                np.mean(kelvin, axis=0) if kelvin else np.full(len(data.robot.joints), np.nan),
                first.source,
                first.part_of,
                facts,
            )
        )
    return tuple(kept)


def _columns(parameters: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Places of a joint's columns in an extended triangle: its parameters, torque, and torque's two derivatives."""
    return np.append(parameters, [count + 1, count + 2])


def _unpacked(robot: Robot, packed: Array, rows: NDArray[np.int64]) -> Information:
    """Information from the joints' triangles, one after the other."""
    layout = robot.regressor.layout
    names, count = layout.names, len(layout.tree)
    extended, places = np.zeros((count, len(names) + 3, len(names) + 3)), _places(robot)
    if len(places) != len(packed):
        raise ValueError(f"{len(packed)} numbers, must be {len(places)}")
    extended.reshape(-1)[places] = packed
    return Information.of(extended, rows, names)


@lru_cache(16)
def _places(robot: Robot) -> NDArray[np.int64]:
    """Where the joints' triangles, one after the other, stand in the extended ones."""
    layout = robot.regressor.layout
    size = len(layout.names) + 3
    places = []
    for j in range(len(layout.tree)):
        columns = _columns(layout.parameters[layout.row(j)], len(layout.names))
        first, second = np.triu_indices(len(columns))
        places.append((j * size + columns[first]) * size + columns[second])
    return np.concatenate(places)


@lru_cache(16)  # sessions of one arm have one robot
def _robot(text: bytes) -> Robot:
    return Robot.from_dict(bounded_json(text, most=MOST_BYTES))


def distinct_sources(kept: Sequence[KeptTriangles]) -> None:
    """`DataError` where two are of the same recording: they would count twice."""
    seen: dict[str, str] = {}
    for one in kept:
        if one.digest and one.digest in seen:
            raise DataError(f"{one.source} holds the same data as {seen[one.digest]}: give it once")
        seen[one.digest] = one.source
