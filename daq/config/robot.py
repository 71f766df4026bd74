"""A robot's file: its model, its joints' limits and drives, and the frames that matter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from heft.daq.config.constraints import ConstraintsConfig
from heft.daq.config.reader import Label, Model, Name, read
from heft.daq.config.scene import SceneConfig
from heft.daq.config.shipped import locate
from heft.drivers.coupling import Coupling, motor_names
from heft.drivers.model_xml import model_root, read_model_text

__all__ = [
    "DhRow",
    "ImuConfig",
    "JointConfig",
    "LinkConfig",
    "PriorSpreadConfig",
    "RobotConfig",
    "WrenchSensorConfig",
    "load_robot",
    "travel_path",
]

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Vector3 = tuple[float, float, float]
MOST_JOINTS = 100  # tables over pairs of joints stay small
JointTerm = Literal[
    "drive_inertia",
    "viscous",
    "coulomb",
    "offset",
    "coulomb_asymmetry",
    "stribeck",
    "load_friction",
    "viscous_temperature",
    "coulomb_temperature",
]


class JointConfig(Model):
    """One joint: limits [rad, rad/s, rad/s2, N m] (or m, N), its drive, and prior values of its joint terms.

    joint torque = gain * gear * torque_constant * current, or gain * reported torque. `drive_inertia` is seen at the
    joint [kg m2]. Friction: viscous v + coulomb tanh(v / smoothing_velocity) + offset [N m]. `motor_inertia`,
    `motor_viscous` and `motor_coulomb` are those of a motor that turns with several joints (see `coupling`).
    `terms` are this joint's own, instead of the robot's; with them its friction is not chosen from data.
    """

    position: tuple[float, float]
    velocity: Positive
    acceleration: Positive
    torque: Positive
    gear: float = 1.0
    torque_constant: float = 1.0  # [N m/A] at the motor; 1.0: the drive reports torque
    gain: Positive = 1.0  # times all of that: what `heft calibrate gains` found
    gain_std: Annotated[float, Field(ge=0, lt=1)] | None = None  # of it, relative; None: `prior_spread.gain`
    drive_inertia: NonNegative = 0.0
    viscous: NonNegative = 0.0
    coulomb: NonNegative = 0.0
    offset: float = 0.0
    motor_inertia: NonNegative = 0.0
    motor_viscous: NonNegative = 0.0
    motor_coulomb: NonNegative = 0.0
    smoothing_velocity: Positive = 0.02
    stribeck_velocity: Positive = 0.1
    terms: tuple[JointTerm, ...] | None = None

    @field_validator("position")
    @classmethod
    def _low_before_high(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not value[0] < value[1]:
            raise ValueError("the lower limit must be below the upper one; swap them")
        return value


class LinkConfig(Model):
    """What is known of a link beside its model, in its own frame: the box it fits in [m], and what it weighs.

    `prior`: mass [kg], first moment (3) [kg m], inertia about the frame xx xy yy xz yz zz [kg m2]; instead of
    what the model's file says.
    """

    box: tuple[Vector3, Vector3] | None = None
    prior: Annotated[tuple[float, ...], Field(min_length=10, max_length=10)] | None = None

    @field_validator("box")
    @classmethod
    def _low_before_high(cls, value: tuple[Vector3, Vector3] | None) -> tuple[Vector3, Vector3] | None:
        if value is not None and any(low >= high for low, high in zip(*value, strict=True)):
            raise ValueError("the box is [lowest corner, highest corner]; swap them")
        return value


class DhRow(Model):
    """One row of a Denavit-Hartenberg table [rad, m]."""

    alpha: float
    a: float
    d: float
    theta: float = 0.0
    kind: Literal["revolute", "prismatic"] = "revolute"


class PriorSpreadConfig(Model):
    """How far the true robot may be from this file, as standard deviations: see `heft.identify.robot.PriorSpread`."""

    inertia: Positive = (
        0.15  # masses by twice this, centres by 0.8 times this share of the link's half length
    )
    drive_inertia: Positive = 0.3  # as a share: data sheets of motors
    friction: Positive = 1.0  # as a share of it, or of the joint's torque: friction is hardly ever known
    gain: Annotated[float, Field(ge=0, lt=1)] = (
        0.0  # of torques, relative: 0.1 for torque constants of data sheets
    )


class WrenchSensorConfig(Model):
    """A six-axis force/torque sensor at a site or body of the model (docs/large-robots.md).

    `carries: beyond`: it sits between the body of its frame and the one that this is on, and measures what lies beyond;
    `base`, or `contact: true`: it carries or touches the robot from outside. `bias`: standard deviations of what it
    reads at no load [N, N m]; None: anything.
    """

    frame: str
    carries: Literal["beyond", "base"] = "beyond"
    contact: bool = False
    reaction: bool = False
    delay_s: float | None = None  # not given: from the data, where other sources are measured beside it
    bias: tuple[Positive, Positive] | None = None
    rest: bool = False  # a contact that stands still in the world: a foot on the ground


class ImuConfig(Model):
    """A gyroscope with accelerometer at a site or body of the model."""

    frame: str
    delay_s: float | None = None  # of its readings against joint positions; not given: from the data


class ExcitationConfig(Model):
    """What a designed motion may use of this robot, beside its limits.

    ranges      for some joints a narrower range [rad, m] than the limits, for the sake of cables
    least_use   how far some joints go at least [rad, m], from their lowest to their highest position
    keep_stop   a stop from every sample ends inside the position limits, as `heft run` asks for
    collisions  the arm keeps clear of itself and of its scene
    balance_margin  of a robot that stands: its centre of pressure stays so far inside its soles [m]
    """

    ranges: dict[Name, tuple[float, float]] = Field(default_factory=dict)
    least_use: dict[Name, Positive] = Field(default_factory=dict)
    keep_stop: bool = True
    collisions: bool = True
    balance_margin: NonNegative = 0.03


class RobotConfig(Model):
    """`model` (an MJCF or URDF file beside this one) or `dh`; joints in the order of the model, by its names.

    `hand` is the body that a grasped object becomes part of, `flange` the site or frame that payloads are reported
    in, `sensor` the site of the wrist F/T sensor; `locked` are joints that the identification model holds still
    (fingers). `terms` are the joint terms that are identified; with `friction: auto` further friction terms and the
    velocities of friction are chosen from the data where they predict better, with `file` all is as said here.
    `coupling` (n, n) maps joint to motor coordinates, both on the joint's side of the gear: theta = C q, joint
    torque = C' motor torque; a drive then moves and measures a motor, which is called after its joint
    (`joint6_motor`). `total_mass` [kg] is what a scale or the data sheet says, as bounds. `prior_spread` says how far
    all of this may be off, `constraints` what is known exactly, `scene` what stands around it, `excitation` what a
    designed motion may use. With `base: free` the root body moves freely. `wrench_sensors` and `imu` say, by the names
    of the devices, where six-axis sensors and inertial sensors sit.
    """

    path: Path
    name: Label
    model: Path | None = None
    dh: Annotated[tuple[DhRow, ...], Field(min_length=1, max_length=MOST_JOINTS)] | None = None
    dh_convention: Literal["standard", "modified"] = "standard"
    base: Literal["fixed", "free"] = "fixed"
    gravity: Vector3 = (0.0, 0.0, -9.81)
    joints: Annotated[dict[Name, JointConfig], Field(min_length=1, max_length=MOST_JOINTS)]
    links: dict[Name, LinkConfig] = Field(default_factory=dict)
    flange: str | None = None
    sensor: str | None = None
    wrench_sensors: dict[Name, WrenchSensorConfig] = Field(default_factory=dict)
    imu: dict[Name, ImuConfig] = Field(default_factory=dict)
    hand: str | None = None
    locked: tuple[str, ...] = ()
    terms: tuple[JointTerm, ...] = ("drive_inertia", "viscous", "coulomb", "offset")
    friction: Literal["auto", "file"] = "auto"
    coupling: tuple[tuple[float, ...], ...] | None = None
    total_mass: tuple[NonNegative, Positive] | None = None
    prior_spread: PriorSpreadConfig = PriorSpreadConfig()
    constraints: ConstraintsConfig = ConstraintsConfig()
    scene: SceneConfig = SceneConfig()
    excitation: ExcitationConfig = ExcitationConfig()

    @field_validator("model")
    @classmethod
    def _is_there(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        path: Path = info.data["path"]
        if value is not None and not (path.parent / value).is_file():
            raise ValueError(f"no file {path.parent / value}; put it beside {path.name}")
        if value is not None:
            model_root(read_model_text(path.parent / value), value.name)
        return value

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if (self.model is None) == (self.dh is None):
            raise ValueError("give either `model` (a file) or `dh` (rows)")
        return self

    @model_validator(mode="after")
    def _motors_reach_joints(self) -> Self:
        n = len(self.joints)
        if self.coupling is not None:
            if len(self.coupling) != n or any(len(row) != n for row in self.coupling):
                raise ValueError(f"coupling: give {n} rows of {n} numbers, one row per motor")
            if abs(np.linalg.det(np.array(self.coupling))) < 1e-9:
                raise ValueError("coupling: cannot be inverted; the motors must reach every joint")
        return self

    @model_validator(mode="after")
    def _ranges_inside_limits(self) -> Self:
        for name, (low, high) in self.excitation.ranges.items():
            if name not in self.joints:
                raise ValueError(
                    f"excitation.ranges.{name}: no such joint; there are {', '.join(self.joints)}"
                )
            if not self.joints[name].position[0] <= low < high <= self.joints[name].position[1]:
                raise ValueError(
                    f"excitation.ranges.{name}: {low:g} to {high:g} is no range inside its limits "
                    f"{self.joints[name].position[0]:g} to {self.joints[name].position[1]:g}"
                )
        return self

    @model_validator(mode="after")
    def _uses_inside_ranges(self) -> Self:
        for name, least in self.excitation.least_use.items():
            if name not in self.joints:
                raise ValueError(
                    f"excitation.least_use.{name}: no such joint; there are {', '.join(self.joints)}"
                )
            low, high = self.excitation.ranges.get(name, self.joints[name].position)
            if not least < high - low:
                raise ValueError(
                    f"excitation.least_use.{name}: {least:g} does not fit into its range {low:g} to {high:g}; "
                    "ask for less"
                )
        return self

    @model_validator(mode="after")
    def _places_in_a_model(self) -> Self:
        if self.model is None and (self.base == "free" or self.wrench_sensors or self.imu):
            raise ValueError(
                "base: free, wrench_sensors and imu ask for a `model` with frames, not `dh` rows"
            )
        if self.base == "fixed" and self.imu:
            raise ValueError(
                f"imu {next(iter(self.imu))}: the base is fixed and its motion known; take it out"
            )
        return self

    @property
    def motor_coupling(self) -> Coupling | None:
        """How motors move the joints; None where each moves its own."""
        return Coupling.of(self.coupling)

    @property
    def motors(self) -> tuple[str, ...]:
        """Names of the motors in order: the joints' own where each moves one."""
        return self.axes if self.motor_coupling is None else motor_names(self.axes)

    @property
    def model_file(self) -> Path:
        """Path of the MJCF or URDF file."""
        assert self.model is not None
        return self.path.parent / self.model

    @property
    def travel_model(self) -> Path:
        """Where the model's file stands beside the robot's inside a recording: as `model` says, below it."""
        assert self.model is not None
        return travel_path(self.model)

    @property
    def axes(self) -> tuple[str, ...]:
        """Joint names in order."""
        return tuple(self.joints)


def travel_path(model: Path | str) -> Path:
    """A path below a folder, whatever `model` says: parts that lead out of it are left out."""
    return Path(*(part for part in Path(model).parts if part not in ("..", ".", Path(model).anchor)))


def load_robot(path: Path | str) -> RobotConfig:
    """Read a robot's file."""
    return read(locate(path), RobotConfig)
