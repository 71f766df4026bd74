"""What a robot is made of, read from a model file, from a robot's YAML or from Denavit-Hartenberg rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pinocchio as pin
from pydantic import ValidationError

from heft.daq.config.constraints import ConstraintsConfig
from heft.daq.config.robot import JointConfig, RobotConfig, WrenchSensorConfig
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import LINK_TERMS
from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.errors import ModelError
from heft.identify.robot.constraints import RobotConstraints
from heft.identify.robot.dh import dh_tree
from heft.identify.robot.limits import Limits
from heft.identify.robot.model_file import Base, ModelFile, read_mjcf_gravity, read_model
from heft.identify.robot.model_text import ModelText
from heft.identify.robot.regressor import Drives, Regressor, Tree
from heft.identify.robot.regressor_check import reference_model
from heft.identify.robot.sensor_places import place_sensors

__all__ = ["Description", "from_config", "from_dh", "from_file"]


@dataclass(frozen=True, eq=False)
class Description:
    """The parts of a robot, and a second opinion on its dynamics.

    fields      arguments of `heft.identify.robot.Robot`
    reference   Pinocchio's model of the same robot, for the check of its regressor
    inertias    of the reference's links, each in its frame, shape (n, 10); None: they weigh nothing
    """

    fields: Mapping[str, Any]
    reference: pin.Model
    inertias: Array | None


def from_file(
    path: Path,
    locked: Sequence[str],
    terms: Sequence[str],
    gravity: Sequence[float] | None,
    base: Base | None = None,
    sensors: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    imus: Mapping[str, str] = MappingProxyType({}),
) -> Description:
    """A URDF or MJCF file as it stands; armature, damping and dry friction of joints are priors of drives.

    `sensors` as under `wrench_sensors` in a robot's file, `imus` by their frames.
    """
    file = read_model(path, locked, gravity, base)
    text = ModelText.read(path, tuple(locked))
    places = place_sensors(file, text, {name: _sensor(name, one) for name, one in sensors.items()}, imus)
    drives = Drives.plain(file.joints, terms)
    fields = {
        "name": file.name,
        **places.fields,
        "tree": file.tree,
        "drives": drives,
        "prior": _prior(places.links, file.tree, drives, places.inertias, _file_drives(file)),
        "limits": Limits(
            file.position_limits, file.velocity_limits, np.full(len(file.joints), np.inf), file.torque_limits
        ),
        "frames": file.frames,
        "shapes": file.shapes,
        "model": text,
    }
    return Description(fields, file.pinocchio, file.inertias)


def from_dh(
    rows: Sequence[Mapping[str, float | str]],
    convention: str,
    terms: Sequence[str],
    gravity: Sequence[float],
) -> Description:
    """Denavit-Hartenberg rows: link1, link2, ... and joint1, joint2, ..., of which nothing else is known."""
    tree = dh_tree(rows, convention, gravity)
    joints = tuple(f"joint{i + 1}" for i in range(len(tree)))
    fields = {
        "name": f"{len(tree)} DH rows",
        "links": _dh_links(tree),
        "tree": tree,
        "drives": Drives.plain(joints, terms),
    }
    return Description(fields, reference_model(tree, joints), None)


def from_config(config: RobotConfig) -> Description:
    """A robot's YAML: its model file or DH rows, and what it adds. The YAML goes before the model file."""
    axes, joints = config.axes, tuple(config.joints.values())
    file = None if config.dh is not None else _model_file(config)
    if file is None:
        assert config.dh is not None
        tree = dh_tree([row.model_dump() for row in config.dh], config.dh_convention, config.gravity)
        links = _dh_links(tree)
        inertias, values = np.zeros((len(tree), 10)), dict[str, float]()
        places: dict[str, Any] = {"links": links}
    else:
        text = ModelText.read(config.model_file, config.locked)
        placed = place_sensors(
            file, text, config.wrench_sensors, {name: one.frame for name, one in config.imu.items()}
        )
        tree, links, inertias, values = file.tree, placed.links, placed.inertias.copy(), _file_drives(file)
        places = placed.fields
    if len(axes) != len(tree):
        raise ModelError(
            f"{config.path}: {len(axes)} joints, but {len(tree)} DH rows; give one joint per row"
        )
    if unknown := set(config.links) - set(links):
        raise ModelError(f"{config.path}: links.{min(unknown)} is none of the links {', '.join(links)}")
    for link, known in config.links.items():
        if known.prior is not None:
            inertias[links.index(link)] = known.prior
    for name, joint in config.joints.items():
        for term in ("drive_inertia", "viscous", "coulomb", "offset"):
            if file is None or term in joint.model_fields_set:
                values[f"{name}.{term}"] = getattr(joint, term)
        values[f"{name}_motor.drive_inertia"] = joint.motor_inertia
        values[f"{name}_motor.viscous"] = joint.motor_viscous
        values[f"{name}_motor.coulomb"] = joint.motor_coulomb
    drives = Drives(
        joints=axes,
        joint_terms=tuple(config.terms if joint.terms is None else joint.terms for joint in joints),
        coupling=np.eye(len(tree)) if config.coupling is None else np.array(config.coupling),
        smoothing_velocity=_each(joints, "smoothing_velocity"),
        stribeck_velocity=_each(joints, "stribeck_velocity"),
        fixed=frozenset(
            name
            for name, joint in config.joints.items()
            if config.friction == "file" or joint.terms is not None
        ),
    )
    fields = {
        "name": config.name,
        **places,
        "tree": tree,
        "drives": drives,
        "prior": _prior(links, tree, drives, inertias, values),
        "limits": Limits(
            _each(joints, "position"),
            _each(joints, "velocity"),
            _each(joints, "acceleration"),
            _each(joints, "torque"),
        ),
        "gear": _each(joints, "gear"),
        "torque_constant": _each(joints, "torque_constant"),
        "gain": _each(joints, "gain"),
        "gain_std": _each(joints, "gain_std"),  # None: NaN
        "boxes": {link: np.array(known.box) for link, known in config.links.items() if known.box is not None},
        "total_mass": config.total_mass,
        "frames": {} if file is None else file.frames,
        "shapes": {} if file is None else file.shapes,
        **{role: _frame(config, file, role) for role in ("flange", "sensor", "hand")},
        "spread": PriorSpread(**config.prior_spread.model_dump()),
        "constraints": _constraints(config.constraints),
        "model": None if file is None else text,
    }
    if file is None:
        return Description(fields, reference_model(tree, axes), None)
    return Description(fields, file.pinocchio, file.inertias)


def _model_file(config: RobotConfig) -> ModelFile:
    file = read_model(config.model_file, config.locked, config.gravity, config.base)
    if file.joints != config.axes:
        raise ModelError(
            f"{config.path}: joints {', '.join(config.axes)}, but {config.model_file.name} has "
            f"{', '.join(file.joints)}; name the same joints in the same order, others (fingers) under `locked`"
        )
    said = read_mjcf_gravity(config.model_file) if config.model_file.suffix != ".urdf" else None
    if said is not None and not np.allclose(said, config.gravity, atol=1e-9):
        raise ModelError(
            f"{config.path}: gravity {config.gravity}, but {config.model_file.name} says {said}; "
            "make them equal"
        )
    return file


def _file_drives(file: ModelFile) -> dict[str, float]:
    drive = {"drive_inertia": file.armature, "viscous": file.damping, "coulomb": file.dry_friction}
    return {
        f"{joint}.{term}": float(v[i]) for i, joint in enumerate(file.joints) for term, v in drive.items()
    }


def _prior(
    links: tuple[str, ...], tree: Tree, drives: Drives, inertias: Array, values: Mapping[str, float]
) -> Array | None:
    """Prior parameters (p,) from links' ten numbers (n, 10) and drive terms by name; None if no link has a mass."""
    if not np.any(inertias[:, 0] > 0):
        return None
    known = {**values} | {
        f"{link}.{term}": value
        for link, ten in zip(links, inertias, strict=True)
        for term, value in zip(LINK_TERMS, ten.tolist(), strict=True)
    }
    return np.array([known.get(name, 0.0) for name in Regressor(links, tree, drives).names])


def _sensor(name: str, values: Mapping[str, Any]) -> WrenchSensorConfig:
    if not isinstance(values, Mapping):
        raise ModelError(
            f"wrench_sensors.{name}: {values!r}; give its keys, as {{'frame': 'SITE', 'contact': True}}"
        )
    try:
        return WrenchSensorConfig(**values)
    except ValidationError as exc:
        wrong = exc.errors()[0]
        raise ModelError(
            f"wrench_sensors.{name}: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}; see docs/large-robots.md"
        ) from exc


def _constraints(config: ConstraintsConfig) -> RobotConstraints:
    weighed = config.total_mass
    return RobotConstraints(
        total_mass=None if weighed is None else (weighed.value, weighed.std),
        equal=config.equal,
        pinned=config.pinned,
        mirrored=tuple((*pair.links, pair.normal) for pair in config.mirrored),
        com_on_line={link: (line.point, line.direction) for link, line in config.com_on_line.items()},
    )


def _dh_links(tree: Tree) -> tuple[str, ...]:
    return tuple(f"link{i + 1}" for i in range(len(tree)))


def _each(joints: Sequence[JointConfig], name: str) -> Array:
    return np.array([getattr(joint, name) for joint in joints], dtype=np.float64)


def _frame(config: RobotConfig, file: ModelFile | None, role: str) -> str | None:
    name: str | None = getattr(config, role)
    moved = set() if file is None else {frame for frame, (link, _) in file.frames.items() if link}
    if name is not None and name not in moved:
        known = "a model with frames" if file is None else ", ".join(sorted(moved))
        raise ModelError(f"{config.path}: {role} {name} is not in the model; it must be one of {known}")
    return name
