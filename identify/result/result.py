"""The answer of an identification: parameters with their intervals and errors, as a value and as a JSON file.

What is infinite (a standard deviation where data say nothing) is null in the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.bounded_json import bounded_json
from heft.daq.whole_file import write_whole
from heft.drivers.typed import check_types
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.certainty.drive_gains import DriveGains
from heft.identify.certainty.interval import Interval
from heft.identify.certainty.reason import Reason
from heft.identify.certainty.recording_terms import RecordingTerms
from heft.identify.data import Dataset, Processing, filtered_rows
from heft.identify.data.deflection import Deflection
from heft.identify.errors import ResultError
from heft.identify.estimation.alignment.delay import Delay
from heft.identify.estimation.cutoff.tradeoff import Tradeoff
from heft.identify.estimation.friction import FrictionChoice
from heft.identify.information.reduction import Information, reduce
from heft.identify.result.base_values import BaseValues
from heft.identify.result.identified_model import IdentifiedModel
from heft.identify.result.interval_summary import interval_summary
from heft.identify.result.parameter_values import Parameters
from heft.identify.result.provenance import Provenance
from heft.identify.result.relative_error import RelativeError
from heft.identify.result.verdict import Verdict, judge
from heft.identify.robot import Robot
from heft.identify.robot.identifiability import Identifiability

__all__ = ["Prediction", "Result", "load"]

SCHEMA = "heft.Result"
VERSION = 1
MOST_BYTES = 64 * 1024 * 1024  # an arm of 32 joints has some 10 MB


@dataclass(frozen=True)
class Prediction:
    """Filtered torques at the instants of a dataset's rows.

    time                 [s], shape (K,)
    predicted, measured  [N m, N], shape (K, n)
    std                  of the predicted torque, from what is unsure of the parameters [N m, N], shape (K, n); infinite
                         where it depends on something that the data say nothing of
    moving               False where a joint stood still and friction can be anything, shape (K, n)
    """

    time: Array
    predicted: Array
    measured: Array
    std: Array
    moving: NDArray[np.bool_]

    @property
    def residual(self) -> Array:
        """measured - predicted [N m, N], shape (K, n)."""
        return np.asarray(self.measured - self.predicted)


@dataclass(frozen=True, kw_only=True)
class Result(IdentifiedModel):
    """Identified parameters of a robot.

    base               what the data determine, with standard deviations
    rank               base parameters that the data determine, of len(base.names)
    condition_number   of the base columns, unweighted
    fit                error on the data they were found from
    validation         error on data they were not found from, or None
    weights            on the squared residuals of each joint, shape (n,)
    processing         filter and derivatives: other data are treated alike
    tradeoff           what other cut-offs would have cost; None where the data were too short for an estimate of it
    friction           terms and velocities of each joint's friction, and what they are worth; None in older files
    delays             taken out before the fit, by stream: other data are treated alike; where several recordings have
                       their own, the mean
    recordings         what each of several recordings has of its own: torque offsets, delay, known load
    intervals          95 % intervals of masses, centres of mass, principal moments and joint terms, by name; with the
                       prior where the data leave them open
    deflections        how far encoders on the links differ from those on the motors, for each dataset that has both
    feasible           whether plain least squares was consistent by itself, where the method tests it
    gains              what the data say of the drives' gains, and what those do to the base parameters; None: not known
    facts              numbers about the fit, by name
    warnings           what to know before the parameters are used, with numbers and remedies
    findings           reasons against the answer that were found with the data; `verdict` weighs them
    sources            what each source of data can tell of the links, where not only joint torques were measured
    """

    base: BaseValues
    rank: int
    condition_number: float
    fit: RelativeError
    weights: Array
    processing: Processing
    provenance: Provenance
    tradeoff: Tradeoff | None = None
    friction: FrictionChoice | None = None
    delays: Mapping[str, Delay] = field(default_factory=dict)
    recordings: tuple[RecordingTerms, ...] = ()
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    deflections: tuple[Deflection, ...] = ()
    validation: RelativeError | None = None
    feasible: bool | None = None
    gains: DriveGains | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    findings: tuple[Reason, ...] = ()
    sources: tuple[Identifiability, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Whether to use it, and why not: see `docs/verdict.md`."""
        return self._verdict

    @cached_property
    def _verdict(self) -> Verdict:
        return judge(self)

    @property
    def certainty(self) -> str:
        """The widths of the intervals in one sentence."""
        unknown = len(self.base.names) - self.rank
        return interval_summary(self.robot.links, self.intervals, self.delays.values(), unknown)

    @property
    def essential(self) -> tuple[str, ...]:
        """Base parameters that the data know well (002, section III)."""
        return self.base.essential

    def predict(self, data: Dataset) -> Prediction:
        """Torques of the model for the motion of `data`, beside the measured ones, both with the result's filter.

        Of a recording of the fit with its own offsets and delay; a known load is part of both torques.
        """
        blocks = list(filtered_rows(self.robot, data, self.processing, delay_s=self.delay_of(data)))
        parameters, load = self.parameters_of(data), np.zeros(len(self.layout))
        if data.load is not None:
            load = data.load.parameters(self.robot)
        return Prediction(
            time=np.concatenate([block.time for block in blocks]),
            predicted=np.concatenate([block.predict(parameters + load) for block in blocks]),
            std=np.concatenate([self.base.torque_std(block) for block in blocks]),
            measured=np.concatenate([block.torque + block.predict(load) for block in blocks]),
            moving=np.concatenate([block.keep for block in blocks]),
        )

    def relative_error(self, other: Dataset | Sequence[Dataset]) -> RelativeError:
        """Error on other data, processed with the result's own filter.

        With each recording's own offsets and delay where it had part in the fit (its validation segments too), with
        their means where not.
        """
        several = [other] if isinstance(other, Dataset) else list(other)
        information = self._reduced(several[0])
        for one in several[1:]:
            information = information.merge(self._reduced(one))
        return RelativeError.of(
            information, self.parameters.values, self.robot.force_rows, len(self.robot.joints)
        )

    def delay_of(self, data: Dataset) -> float:
        """Delay of the torques of `data` against positions [s]: as estimated for that stream, 0 for another."""
        if (own := self._terms_of(data)) is not None:
            return own.delay.value_s
        return self.delays[data.torque_stream].value_s if data.torque_stream in self.delays else 0.0

    def parameters_of(self, data: Dataset) -> Array:
        """Parameters with the biases of the recording that `data` are of, where it has its own, shape (p,)."""
        own = self._terms_of(data)
        if own is None:
            return self.parameters.values
        biases = own.biases
        return np.array(
            [
                biases.get(name, value)
                for name, value in zip(self.layout.names, self.parameters.values, strict=True)
            ]
        )

    def _terms_of(self, data: Dataset) -> RecordingTerms | None:
        """What the recording that `data` are of had of its own in the fit; None where it had no part in it."""
        return next((one for one in self.recordings if one.of(data)), None)

    def _reduced(self, data: Dataset) -> Information:
        """With what its recording's own torque offsets differ by from the parameters' taken off."""
        own = self.parameters_of(data) - self.parameters.values
        return reduce(self.robot, data, self.processing, delay_s=self.delay_of(data), known=own)

    def export_urdf(self, path: Path | str, *, force: bool = False) -> Path:
        """Write the model as URDF; see `heft.identify.result.export.export_model`."""
        from heft.identify.result.export import export_model  # Pinocchio takes long to import

        return export_model(self, path, "urdf", force=force).path

    def export_mjcf(self, path: Path | str, *, force: bool = False) -> Path:
        """Write the model as MJCF; see `heft.identify.result.export.export_model`."""
        from heft.identify.result.export import export_model  # Pinocchio takes long to import

        return export_model(self, path, "mjcf", force=force).path

    def save(self, path: Path | str) -> Path:
        """Write a JSON file of one line per key, whole or not at all; `load` reads it."""
        lines = (
            f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
            for key, value in self.to_dict().items()
        )
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        try:
            return write_whole(Path(path), text.encode())
        except OSError as exc:
            raise ResultError(f"{path}: cannot be written: {exc.strerror}; choose another place") from exc

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; the first keys are for people, `parameters` and `base` for programs."""
        at_level = self.consistency()
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "method": self.method,
            "level": self.level,
            "consistent": at_level.ok,
            "margin": at_level.margin,
            "relative_error": {
                "fit": self.fit.total,
                "validation": None if self.validation is None else self.validation.total,
            },
            "rank": self.rank,
            "condition_number": self.condition_number if np.isfinite(self.condition_number) else None,
            "total_mass": self.total_mass,
            "verdict": self.verdict.to_dict(),
            "warnings": list(self.warnings),
            "findings": [one.to_dict() for one in self.findings],
            "sources": [one.to_dict() for one in self.sources],
            "parameters": self.layout.unpack(self.parameters.values),
            "prior": None if self.prior is None else self.layout.unpack(self.prior),
            "base": self.base.to_dict(),
            "certainty": self.certainty,
            "intervals": {name: interval.to_dict() for name, interval in self.intervals.items()},
            "delays": {stream: delay.to_dict() for stream, delay in self.delays.items()},
            "recordings": [one.to_dict() for one in self.recordings],
            "deflections": [one.to_dict() for one in self.deflections],
            "fit": self.fit.to_dict(),
            "validation": None if self.validation is None else self.validation.to_dict(),
            "weights": self.weights.tolist(),
            "feasible": self.feasible,
            "gains": None if self.gains is None else self.gains.to_dict(),
            "facts": dict(self.facts),
            "processing": self.processing.to_dict(),
            "tradeoff": None if self.tradeoff is None else self.tradeoff.to_dict(),
            "friction": None if self.friction is None else self.friction.to_dict(),
            "provenance": self.provenance.to_dict(),
            "robot": self.robot.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Result:
        """Inverse of `to_dict`; `ResultError` where `data` are no result."""
        if data.get("schema") != SCHEMA or data.get("version") != VERSION:
            raise ResultError(
                f"schema {data.get('schema')!r} version {data.get('version')!r}, must be {SCHEMA!r} version "
                f"{VERSION}; identify anew with this version of Heft"
            )
        try:
            layout = Layout(tuple(data["parameters"]))
            result = cls(
                robot=Robot.from_dict(data["robot"]),
                method=data["method"],
                level=data["level"],
                parameters=Parameters(layout, np.array(list(data["parameters"].values()))),
                base=BaseValues.from_dict(data["base"]),
                rank=data["rank"],
                condition_number=np.inf if data["condition_number"] is None else data["condition_number"],
                fit=RelativeError.from_dict(data["fit"]),
                weights=np.array(data["weights"]),
                processing=Processing.from_dict(data["processing"]),
                provenance=Provenance.from_dict(data["provenance"]),
                tradeoff=Tradeoff.from_dict(data["tradeoff"]) if data.get("tradeoff") else None,
                friction=FrictionChoice.from_dict(data["friction"]) if data.get("friction") else None,
                intervals={name: Interval.from_dict(one) for name, one in data["intervals"].items()},
                delays={stream: Delay.from_dict(delay) for stream, delay in data["delays"].items()},
                recordings=tuple(RecordingTerms.from_dict(one) for one in data.get("recordings", ())),
                deflections=tuple(Deflection.from_dict(one) for one in data.get("deflections", ())),
                prior=None if data["prior"] is None else layout.pack(data["prior"]),
                validation=None
                if data["validation"] is None
                else RelativeError.from_dict(data["validation"]),
                feasible=data["feasible"],
                gains=DriveGains.from_dict(data["gains"]) if data.get("gains") else None,
                facts=data["facts"],
                warnings=tuple(data["warnings"]),
                findings=tuple(Reason.from_dict(one) for one in data.get("findings", ())),
                sources=tuple(Identifiability.from_dict(one) for one in data.get("sources", ())),
            )
            check_types(result)
            result._check_shapes()
            result.to_dict()  # what it says of itself can be worked out from it
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, MemoryError) as exc:
            if isinstance(exc, ResultError):
                raise
            raise ResultError(f"a result with parts missing or changed ({exc}); identify anew") from exc
        return result

    def _check_shapes(self) -> None:
        """ValueError where arrays do not have the sizes that robot and parameters give them."""
        n, p, bases = len(self.robot.joints), len(self.layout), len(self.base.names)
        rows = len(self.robot.rows)
        if self.layout.names != self.robot.parameter_names:
            raise ValueError("the parameters are not those of its robot")
        limits = self.robot.limits
        assert limits is not None
        sizes: dict[str, tuple[Array | NDArray[np.int64] | None, tuple[int, ...]]] = {
            "prior": (self.prior, (p,)),
            "weights": (self.weights, (rows,)),
            "base.values": (self.base.values, (bases,)),
            "base.matrix": (self.base.matrix, (bases, p)),
            "base.covariance": (self.base.covariance, (bases, bases)),
            "robot.gear": (self.robot.gear, (n,)),
            "robot.torque_constant": (self.robot.torque_constant, (n,)),
            "robot.gain": (self.robot.gain, (n,)),
            "robot.gain_std": (self.robot.gain_std, (n,)),
            "robot.gravity": (self.robot.gravity, (3,)),
            "robot.limits.position": (limits.position, (n, 2)),
            "robot.limits.velocity": (limits.velocity, (n,)),
            "robot.limits.acceleration": (limits.acceleration, (n,)),
            "robot.limits.torque": (limits.torque, (n,)),
            **{f"robot.boxes.{link}": (box, (2, 3)) for link, box in self.robot.boxes.items()},
            **{f"robot.shapes.{link}": (box, (2, 3)) for link, box in self.robot.shapes.items()},
            **{f"robot.frames.{name}": (place, (4, 4)) for name, (_, place) in self.robot.frames.items()},
        }
        for name, error in (("fit", self.fit), ("validation", self.validation)):
            if error is not None:
                sizes |= {
                    f"{name}.{key}": (getattr(error, key), (rows,)) for key in ("per_joint", "rms", "rows")
                }
        for name, (array, shape) in sizes.items():
            if array is not None and array.shape != shape:
                raise ValueError(f"{name}: {array.shape} numbers, must be {shape}")
        if not 0 <= self.rank <= bases:
            raise ValueError(f"rank {self.rank}, must be 0 to {bases}")
        if unknown := {link for link, _ in self.robot.frames.values()} - {*self.robot.links, ""}:
            raise ValueError(f"a frame on {min(unknown)}, which is no link")


def load(path: Path | str) -> Result:
    """Read a result that `Result.save` wrote."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        data = bounded_json(text, most=MOST_BYTES)
    except FileNotFoundError:
        raise ResultError(f"{path}: no such file; give the path of a result.json") from None
    except (OSError, ValueError) as exc:
        raise ResultError(f"{path}: not a result ({exc}); give the path of a result.json") from exc
    if not isinstance(data, dict):
        raise ResultError(
            f"{path}: holds a {type(data).__name__}, not a result; give the path of a result.json"
        )
    try:
        return Result.from_dict(data)
    except ResultError as exc:
        raise ResultError(f"{path}: {exc}") from exc
