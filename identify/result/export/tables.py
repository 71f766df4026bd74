"""Parameters as tables: CSV for spreadsheets, YAML for a robot's file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np

from heft.daq.whole_file import write_whole
from heft.identify.bodies.parameters import unit_of
from heft.identify.errors import ExportError
from heft.identify.result.identified_model import IdentifiedModel
from heft.identify.robot.base import base_parameters

__all__ = ["write_csv", "write_yaml"]

#: Joint terms that a robot's file has a key for; and those of a motor that turns with several joints.
_JOINT_KEYS = ("drive_inertia", "viscous", "coulomb", "offset")
_MOTOR_KEYS = {"drive_inertia": "motor_inertia", "viscous": "motor_viscous", "coulomb": "motor_coulomb"}


def write_csv(identified: IdentifiedModel, path: Path | str, *, overwrite: bool = True) -> Path:
    """One row per parameter: name, value, unit, prior, and whether torques tell it alone, combined or not at all."""
    groups = base_parameters(identified.robot).groups
    group_of = {name: group for group, names in groups.items() for name in names}
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["name", "value", "unit", "prior", "group"])
    for i, name in enumerate(identified.layout.names):
        prior = "" if identified.prior is None else repr(float(identified.prior[i]))
        rows.writerow(
            [name, repr(float(identified.parameters.values[i])), unit_of(name), prior, group_of[name]]
        )
    return _write(path, out.getvalue(), overwrite)


def write_yaml(identified: IdentifiedModel, path: Path | str, *, overwrite: bool = True) -> Path:
    """`joints` and `links` as a robot's file has them; what it has no key for is a comment."""
    joints: dict[str, dict[str, float]] = {name: {} for name in identified.robot.joints}
    without_key = []
    for joint in identified.parameters.joints:
        owner = joint.name.removesuffix("_motor")
        for term, value in joint.terms.items():
            if joint.name in joints and term in _JOINT_KEYS:
                joints[joint.name][term] = value
            elif owner in joints and joint.name not in joints:
                joints[owner][_MOTOR_KEYS[term]] = value
            else:
                without_key.append(
                    f"# {joint.name}.{term}: {float(value)!r} {unit_of(term)} (a robot's file has no key for it)"
                )
    lines = [
        f"# {identified.robot.name}, identified: method {identified.method}, level {identified.level}.",
        *(
            []
            if identified.verdict is None
            else [f"# Verdict {identified.verdict.grade}: {identified.verdict.headline}"]
        ),
        "# Goes into the robot's file. Joint terms at the joint [kg m2, N m s/rad, N m, N m]; prior of a link:",
        "# mass [kg], first moment (3) [kg m], inertia about its frame xx xy yy xz yz zz [kg m2].",
        "joints:",
        *(f"  {_name(name)}: {_flow(terms)}" for name, terms in joints.items()),
        "links:",
        *(f"  {_name(link.name)}: {{prior: {_list(link.ten)}}}" for link in identified.parameters.links),
        *without_key,
    ]
    return _write(path, "\n".join(lines) + "\n", overwrite)


def _name(name: str) -> str:
    """A key; in quotes where YAML could take it for something else."""
    return name if name.isidentifier() and name.lower() not in _WORDS else json.dumps(name)


_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def _flow(terms: dict[str, float]) -> str:
    return "{" + ", ".join(f"{key}: {_float(value)}" for key, value in terms.items()) + "}"


def _list(values: np.ndarray) -> str:
    return "[" + ", ".join(_float(float(value)) for value in values) + "]"


def _float(value: float) -> str:
    """As YAML 1.1 reads a number back: an exponent needs a point before it."""
    text = repr(float(value) + 0.0)
    mantissa, e, exponent = text.partition("e")
    return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"


def _write(path: Path | str, text: str, overwrite: bool) -> Path:
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, text.encode(), replace=overwrite)
    except OSError as exc:
        raise ExportError(f"{path}: cannot be written: {exc.strerror or exc}; choose another place") from exc
