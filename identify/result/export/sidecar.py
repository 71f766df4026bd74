"""The JSON file beside an exported model: what URDF or MJCF cannot hold of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heft.daq.whole_file import write_whole
from heft.identify.bodies.parameters import unit_of
from heft.identify.result.identified_model import IdentifiedModel
from heft.identify.robot.model_text import Format

__all__ = ["Omissions", "omissions"]

SCHEMA = "heft.Sidecar"
VERSION = 1
_WHY = {
    "offset": "no model file holds a constant torque",
    "coulomb_asymmetry": "model files have friction that is alike in both directions",
    "viscous_temperature": "model files have no temperature",
    "coulomb_temperature": "model files have no temperature",
    "stribeck": "model files have no friction that falls with speed",
    "load_friction": "model files have no friction that grows with the load",
}


@dataclass(frozen=True)
class Omissions:
    """What a model file cannot hold.

    terms   name, value, unit and reason of each parameter that the format has no attribute for
    notes   what a reader of the file should know
    """

    terms: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    def write(self, path: Path, identified: IdentifiedModel, model: Path, difference: float) -> Path:
        """Write the sidecar of `model`."""
        drives, joints = identified.robot.drives, identified.robot.joints
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "version": VERSION,
            "model": model.name,
            "robot": identified.robot.name,
            "method": identified.method,
            "level": identified.level,
            "verdict": None if identified.verdict is None else identified.verdict.to_dict(),
            "gravity": identified.robot.gravity.tolist(),
            "terms": list(self.terms),
            "smoothing_velocity": _by_joint(joints, drives.smoothing_velocity.tolist()),
            "notes": list(self.notes),
            "rigid_body_torque_difference": difference,
        }
        if "stribeck" in drives.terms:
            content["stribeck_velocity"] = _by_joint(joints, drives.stribeck_velocity.tolist())
        if drives.coupled:
            content["coupling"] = drives.coupling.tolist()
        return write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


def omissions(identified: IdentifiedModel, format: Format, held: Mapping[str, str]) -> Omissions:
    """What a format leaves out that holds the joint terms `held`: term to attribute."""
    terms = []
    for joint in identified.parameters.joints:
        for term, value in joint.terms.items():
            name = f"{joint.name}.{term}"
            if joint.name.rpartition(".")[0] in identified.robot.sensors:
                why = "the bias of a sensor: no part of a model"
            elif joint.name not in identified.robot.joints:
                why = "a motor that turns with several joints: model files couple none"
            elif term in held:
                continue
            else:
                why = _WHY.get(term, f"{format.upper()} has no attribute for it")
            terms.append({"name": name, "value": value, "unit": unit_of(name), "why": why})
    notes = []
    if "coulomb" in identified.robot.terms:
        notes.append(
            "Coulomb friction was identified as coulomb tanh(v / smoothing_velocity); "
            f"{held['coulomb']} is read as sign(v), or as a soft constraint"
        )
    if format == "urdf":
        gravity = ", ".join(f"{value:g}" for value in identified.robot.gravity)
        notes.append(f"URDF says nothing of gravity: it is ({gravity}) m/s2 in the base frame")
    missing = [attribute for term, attribute in held.items() if term not in identified.robot.terms]
    if missing:
        notes.append(f"{', '.join(missing)}: not identified, as in the file before")
    return Omissions(tuple(terms), tuple(notes))


def _by_joint(joints: tuple[str, ...], values: list[float]) -> dict[str, float]:
    return dict(zip(joints, values, strict=True))
