"""A result as JSON and back. What is infinite (a standard deviation where data say nothing) is written as null."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from identify.alignment.delay import Delay
from identify.arrays import Array
from identify.cutoff.tradeoff import Tradeoff
from identify.dataset import Processing
from identify.errors import HeftError, ResultError
from identify.intervals.interval import Interval
from identify.parameters import Layout
from identify.result.base_values import BaseValues
from identify.result.parameters import Parameters
from identify.result.provenance import Provenance
from identify.result.relative_error import RelativeError
from identify.result.result import Result
from identify.robot import Robot

__all__ = ["from_dict", "load", "to_dict", "write"]

SCHEMA = "heft.Result"
VERSION = 1


def to_dict(result: Result) -> dict[str, Any]:
    """Plain JSON values; the first keys are for people, `parameters` and `base` for programs."""
    found = result.consistency()
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "method": result.method,
        "level": result.level,
        "consistent": found.ok,
        "margin": found.margin,
        "relative_error": {
            "fit": result.fit.total,
            "validation": None if result.validation is None else result.validation.total,
        },
        "rank": result.rank,
        "condition_number": _number(result.condition_number),
        "total_mass": result.total_mass,
        "warnings": list(result.warnings),
        "parameters": result.layout.unpack(result.parameters.values),
        "prior": None if result.prior is None else result.layout.unpack(result.prior),
        "base": {
            "names": list(result.base.names),
            "values": result.base.values.tolist(),
            "std": _numbers(result.base.std),
            "covariance": [_numbers(row) for row in result.base.covariance],
            "matrix": result.base.matrix.tolist(),
            "essential": list(result.base.essential),
            "degrees": _number(result.base.degrees),
        },
        "certainty": result.certainty,
        "intervals": {name: interval.to_dict() for name, interval in result.intervals.items()},
        "delays": {stream: delay.to_dict() for stream, delay in result.delays.items()},
        "fit": _error_to_dict(result.fit),
        "validation": None if result.validation is None else _error_to_dict(result.validation),
        "weights": result.weights.tolist(),
        "feasible": result.feasible,
        "facts": dict(result.facts),
        "processing": result.processing.to_dict(),
        "tradeoff": None if result.tradeoff is None else result.tradeoff.to_dict(),
        "provenance": result.provenance.to_dict(),
        "robot": result.robot.to_dict(),
    }


def from_dict(data: dict[str, Any]) -> Result:
    """Inverse of `to_dict`."""
    if data.get("schema") != SCHEMA or data.get("version") != VERSION:
        raise ResultError(
            f"schema {data.get('schema')!r} version {data.get('version')!r}, must be {SCHEMA!r} version {VERSION}; "
            "identify anew with this version of Heft"
        )
    try:
        layout = Layout(tuple(data["parameters"]))
        base = data["base"]
        return Result(
            robot=Robot.from_dict(data["robot"]),
            method=data["method"],
            level=data["level"],
            parameters=Parameters(layout, np.array(list(data["parameters"].values()))),
            base=BaseValues(
                tuple(base["names"]),
                np.array(base["values"]),
                np.array(
                    [[np.inf if value is None else value for value in row] for row in base["covariance"]]
                ),
                np.array(base["matrix"]),
                tuple(base["essential"]),
                np.inf if base.get("degrees") is None else base["degrees"],  # not known to earlier files
            ),
            rank=data["rank"],
            condition_number=np.inf if data["condition_number"] is None else data["condition_number"],
            fit=_error_from_dict(data["fit"]),
            weights=np.array(data["weights"]),
            processing=Processing.from_dict(data["processing"]),
            provenance=Provenance.from_dict(data["provenance"]),
            tradeoff=Tradeoff.from_dict(data["tradeoff"]) if data.get("tradeoff") else None,
            intervals={name: Interval.from_dict(one) for name, one in data["intervals"].items()},
            delays={stream: Delay.from_dict(delay) for stream, delay in data["delays"].items()},
            prior=None if data["prior"] is None else layout.pack(data["prior"]),
            validation=None if data["validation"] is None else _error_from_dict(data["validation"]),
            feasible=data["feasible"],
            facts=data["facts"],
            warnings=tuple(data["warnings"]),
        )
    except (KeyError, TypeError, ValueError, IndexError) as exc:
        if isinstance(exc, HeftError):
            raise
        raise ResultError(f"a result with parts missing or changed ({exc!r}); identify anew") from exc


def write(result: Result, path: Path) -> Path:
    """Write a file of one line per key, whole or not at all."""
    lines = (
        f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in to_dict(result).items()
    )
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return draft.replace(path)
    except OSError as exc:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise ResultError(f"{path}: cannot be written: {exc.strerror}; choose another place") from exc


def load(path: Path | str) -> Result:
    """Read a result that `save` wrote."""
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResultError(f"{path}: no such file; give the path of a result.json") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as exc:
        raise ResultError(f"{path}: not a result ({exc}); give the path of a result.json") from exc
    if not isinstance(data, dict):
        raise ResultError(
            f"{path}: holds a {type(data).__name__}, not a result; give the path of a result.json"
        )
    try:
        return from_dict(data)
    except ResultError as exc:
        raise ResultError(f"{path}: {exc}") from exc


def _error_to_dict(error: RelativeError) -> dict[str, Any]:
    return {
        "total": error.total,
        "per_joint": _numbers(error.per_joint),
        "rms": error.rms.tolist(),
        "rows": error.rows.tolist(),
        "mixed": error.mixed,
    }


def _error_from_dict(data: dict[str, Any]) -> RelativeError:
    per_joint = np.array([np.inf if value is None else value for value in data["per_joint"]])
    return RelativeError(
        data["total"], per_joint, np.array(data["rms"]), np.array(data["rows"], dtype=np.int64), data["mixed"]
    )


def _numbers(values: Array) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
