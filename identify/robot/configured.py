"""Robots from model files, alone or with what a robot's YAML adds: drives, limits, boxes, priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from daq.config.robot import JointConfig, RobotConfig
from identify.arrays import Array
from identify.errors import ModelError
from identify.parameters import LINK_TERMS
from identify.regressor import Drives
from identify.robot.check import check_against, reference_model
from identify.robot.dh import dh_tree
from identify.robot.limits import Limits
from identify.robot.model_file import ModelFile, read_mjcf_gravity, read_model
from identify.robot.model_text import ModelText
from identify.robot.prior_spread import PriorSpread
from identify.robot.robot import Robot

__all__ = ["robot_from_config", "robot_from_file"]


def robot_from_file(
    path: Path, locked: Sequence[str], terms: Sequence[str], gravity: Sequence[float] | None
) -> Robot:
    """A URDF or MJCF file as it stands; armature, damping and dry friction of joints are priors of drives."""
    file = read_model(path, locked, gravity)
    robot = Robot(
        name=file.name,
        links=file.links,
        tree=file.tree,
        drives=Drives.plain(file.joints, terms),
        limits=Limits(
            file.position_limits, file.velocity_limits, np.full(len(file.joints), np.inf), file.torque_limits
        ),
        frames=file.frames,
        model=ModelText.read(path, tuple(locked)),
    )
    robot = _with_prior(robot, file.inertias, _file_drives(file))
    check_against(file.pinocchio, robot.regressor, file.inertias)
    return robot


def robot_from_config(config: RobotConfig) -> Robot:
    """A robot's YAML: its model file or DH rows, and what it adds. The YAML goes before the model file."""
    axes, joints = config.axes, tuple(config.joints.values())
    file = None if config.dh is not None else _model_file(config)
    if file is None:
        assert config.dh is not None
        tree = dh_tree([row.model_dump() for row in config.dh], config.dh_convention, config.gravity)
        links = tuple(f"link{i + 1}" for i in range(len(tree)))
        inertias, values = np.zeros((len(tree), 10)), dict[str, float]()
    else:
        tree, links, inertias, values = file.tree, file.links, file.inertias.copy(), _file_drives(file)
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
    robot = Robot(
        name=config.name,
        links=links,
        tree=tree,
        drives=Drives(
            joints=axes,
            terms=(),
            coupling=np.eye(len(tree)) if config.coupling is None else np.array(config.coupling),
            smoothing_velocity=_each(joints, "smoothing_velocity"),
            stribeck_velocity=_each(joints, "stribeck_velocity"),
        ),
        limits=Limits(
            _each(joints, "position"),
            _each(joints, "velocity"),
            _each(joints, "acceleration"),
            _each(joints, "torque"),
        ),
        gear=_each(joints, "gear"),
        torque_constant=_each(joints, "torque_constant"),
        boxes={link: np.array(known.box) for link, known in config.links.items() if known.box is not None},
        total_mass=config.total_mass,
        frames={} if file is None else file.frames,
        flange=_frame(config, file, "flange"),
        sensor=_frame(config, file, "sensor"),
        hand=_frame(config, file, "hand"),
        spread=PriorSpread(**config.prior_spread.model_dump()),
        model=None if file is None else ModelText.read(config.model_file, config.locked),
    )
    robot = _with_prior(robot, inertias, values, config.terms)
    if file is None:
        check_against(reference_model(tree, axes), robot.regressor, None)
    else:
        check_against(file.pinocchio, robot.regressor, file.inertias)
    return robot


def _model_file(config: RobotConfig) -> ModelFile:
    file = read_model(config.model_file, config.locked, config.gravity)
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


def _with_prior(
    robot: Robot, inertias: Array, values: dict[str, float], terms: Sequence[str] | None = None
) -> Robot:
    """`robot` with its prior; a model in which nothing weighs anything has none."""
    if not np.any(inertias[:, 0] > 0):
        return robot if terms is None else robot.with_terms(terms)
    known = values | {
        f"{link}.{term}": value
        for link, ten in zip(robot.links, inertias, strict=True)
        for term, value in zip(LINK_TERMS, ten.tolist(), strict=True)
    }
    names = robot.parameter_names if terms is None else robot.with_terms(terms).parameter_names
    drives = robot.drives if terms is None else replace(robot.drives, terms=tuple(terms))
    return replace(robot, drives=drives, prior=np.array([known.get(name, 0.0) for name in names]))


def _each(joints: Sequence[JointConfig], name: str) -> Array:
    return np.array([getattr(joint, name) for joint in joints], dtype=np.float64)


def _frame(config: RobotConfig, file: ModelFile | None, role: str) -> str | None:
    name: str | None = getattr(config, role)
    if name is not None and (file is None or name not in file.frames):
        known = "a model with frames" if file is None else ", ".join(file.frames)
        raise ModelError(f"{config.path}: {role} {name} is not in the model; it must be one of {known}")
    return name
