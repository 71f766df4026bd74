"""A robot as identification sees it: links, joints, drives, what is known beforehand, and its regressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.drive_gain import gain_spreads
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.errors import ModelError
from heft.identify.robot.constraints import RobotConstraints
from heft.identify.robot.extents import link_extents
from heft.identify.robot.limits import Limits
from heft.identify.robot.model_text import MODEL_SUFFIXES, ModelText
from heft.identify.robot.regressor import (
    AXES,
    BASE,
    DEFAULT_TERMS,
    Drives,
    Part,
    Regressor,
    Tree,
)
from heft.identify.robot.wrench_sensor import WrenchSensor, cuts_of

if TYPE_CHECKING:
    from heft.daq.config.robot import RobotConfig
    from heft.identify.robot.description import Description
    from heft.identify.robot.model_file import Base

__all__ = ["Robot"]


@dataclass(frozen=True, eq=False)
class Robot:
    """n joints and the links they move. Made by `load`, `from_urdf`, `from_mjcf` or `from_dh`.

    After the n links that joints move come a root that moves freely (`tree.free`), and `parts`: bodies that are fixed
    to a link, beyond a sensor that splits it.

    prior                 parameters known beforehand (p,), or None where nothing is
    gear                  motor speed over joint speed (n,)
    torque_constant       motor torque per current [N m/A] (n,); 1 where the drive reports torque
    gain                  what reported torques are multiplied by (n,), and how sure that is, relative: `gain_std` (n,),
                          NaN where `spread` says it
    boxes                 for some links the box around it, lowest and highest corner in its frame [m], (2, 3)
    shapes                for some links the box around the shapes that its model file draws, (2, 3)
    total_mass            bounds on the sum of all links [kg], or None
    frames                named sites and bodies: the link each belongs to, and its pose in that link (4, 4)
    flange, sensor, hand  names in `frames`: where payloads are reported, the wrist sensor, what holds them
    spread                how far the true robot may be from `prior`
    model                 the URDF or MJCF file that it was read from, or None
    constraints           what is known exactly of its links, beside all this
    sensors               six-axis force/torque sensors by name
    imus                  inertial sensors by name: the link each is on (-1: the root), and its pose there (4, 4)
    imu_delays            how old their readings are against joint positions [s], where that is known
    sources               what is measured, and so has rows in the regression: `joints`, names of sensors, and `base`,
                          the sum of all that acts on the robot. None: joints, and the base where it moves freely
    unmeasured            joints whose torque is not measured, or not believed: their rows are left out
    """

    name: str
    links: tuple[str, ...]
    tree: Tree
    drives: Drives
    prior: Array | None = None
    limits: Limits | None = None
    gear: Array = field(default_factory=lambda: np.ones(0))
    torque_constant: Array = field(default_factory=lambda: np.ones(0))
    gain: Array = field(default_factory=lambda: np.ones(0))
    gain_std: Array = field(default_factory=lambda: np.zeros(0))
    boxes: Mapping[str, Array] = field(default_factory=dict)
    shapes: Mapping[str, Array] = field(default_factory=dict)
    total_mass: tuple[float, float] | None = None
    frames: Mapping[str, tuple[str, Array]] = field(default_factory=dict)
    flange: str | None = None
    sensor: str | None = None
    hand: str | None = None
    spread: PriorSpread = field(default_factory=PriorSpread)
    model: ModelText | None = None
    constraints: RobotConstraints = field(default_factory=RobotConstraints)
    parts: tuple[Part, ...] = ()
    sensors: Mapping[str, WrenchSensor] = field(default_factory=dict)
    imus: Mapping[str, tuple[int, Array]] = field(default_factory=dict)
    imu_delays: Mapping[str, float] = field(default_factory=dict)
    sources: tuple[str, ...] | None = None
    unmeasured: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.tree)
        if len(self.links) != n + self.tree.free + len(self.parts) or len(self.joints) != n:
            raise ModelError(f"{len(self.links)} link and {len(self.joints)} joint names for {n} joints")
        Layout(self.parameter_names)  # refuses names that are used twice
        for name in ("gear", "torque_constant", "gain"):
            value = getattr(self, name)
            object.__setattr__(self, name, frozen(np.ones(n) if len(value) == 0 else value))
        known = self.gain_std if len(self.gain_std) else np.full(n, np.nan)
        object.__setattr__(self, "gain_std", frozen(known))
        if self.prior is not None:
            object.__setattr__(self, "prior", frozen(Layout(self.parameter_names).checked(self.prior)))
        if self.limits is None:
            object.__setattr__(self, "limits", Limits.none(n))
        if unknown := set(self.boxes) - set(self.links):
            raise ModelError(
                f"{self.name}: a box for {min(unknown)}, which is none of {', '.join(self.links)}"
            )
        for name in ("boxes", "shapes"):
            object.__setattr__(self, name, {link: frozen(box) for link, box in getattr(self, name).items()})
        self.constraints.checked(self.name, self.links)
        if unknown := set(self.unmeasured) - set(self.joints):
            raise ModelError(f"{self.name} has no joint {min(unknown)}; it has {', '.join(self.joints)}")
        if self.drives.uses_load and self.prior is None:
            raise ModelError(
                "load_friction takes the load from a prior, and there is none; give the links' masses"
            )

    @classmethod
    def load(cls, path: Path | str, *, locked: Sequence[str] = ()) -> Robot:
        """From a robot's YAML file (`configs/robots/NAME.yaml`), or from a URDF or MJCF file as it stands.

        `locked` joints of a model file are held at zero; a YAML file says so itself.
        """
        from heft.daq.config.robot import load_robot

        if Path(path).suffix in MODEL_SUFFIXES:
            return cls.from_urdf(path, locked=locked)
        return cls.from_config(load_robot(path))

    @classmethod
    def from_config(cls, config: RobotConfig) -> Robot:
        """From a robot's configuration that has been read already."""
        from heft.identify.robot import description

        delays = {name: one.delay_s for name, one in config.imu.items() if one.delay_s is not None}
        robot = cls._checked(description.from_config(config))
        return replace(robot, imu_delays=delays) if delays else robot

    @classmethod
    def from_urdf(
        cls,
        path: Path | str,
        *,
        locked: Sequence[str] = (),
        joint_terms: Sequence[str] = DEFAULT_TERMS,
        gravity: Sequence[float] | None = None,
        base: Base | None = None,
        wrench_sensors: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        imu: Mapping[str, str] = MappingProxyType({}),
    ) -> Robot:
        """From a URDF file; link frames are the URDF's. `locked` joints are held at zero.

        With `base="free"` the root link moves freely. `wrench_sensors` as in a robot's file (docs/large-robots.md), by
        name; `imu`: frames of inertial sensors by name.
        """
        from heft.identify.robot import description

        return cls._checked(
            description.from_file(Path(path), locked, joint_terms, gravity, base, wrench_sensors, imu)
        )

    @classmethod
    def from_mjcf(
        cls,
        path: Path | str,
        *,
        locked: Sequence[str] = (),
        joint_terms: Sequence[str] = DEFAULT_TERMS,
        gravity: Sequence[float] | None = None,
        base: Base | None = None,
        wrench_sensors: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        imu: Mapping[str, str] = MappingProxyType({}),
    ) -> Robot:
        """From an MJCF file; link frames are its bodies'. `gravity` and `base` None: as the file says.

        Other arguments as of `from_urdf`.
        """
        from heft.identify.robot import description

        return cls._checked(
            description.from_file(Path(path), locked, joint_terms, gravity, base, wrench_sensors, imu)
        )

    @classmethod
    def from_dh(
        cls,
        rows: Sequence[Mapping[str, float | str]],
        convention: str = "standard",
        joint_terms: Sequence[str] = DEFAULT_TERMS,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
    ) -> Robot:
        """From a Denavit-Hartenberg table [rad, m]; link1, link2, ... have the frames of the convention."""
        from heft.identify.robot import description

        return cls._checked(description.from_dh(rows, convention, joint_terms, gravity))

    @classmethod
    def _checked(cls, parts: Description) -> Robot:
        """The robot of these parts; `ModelError` where its regressor disagrees with Pinocchio."""
        from heft.identify.robot.regressor_check import check_against  # Pinocchio takes long to import

        robot = cls(**parts.fields)
        check_against(parts.reference, robot.regressor, parts.inertias)
        return robot

    @property
    def joints(self) -> tuple[str, ...]:
        """Joint names in order; n of them."""
        return self.drives.joints

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows of the regression: the joints, then six for each wrench (`left_ankle.fx`)."""
        return self.regressor.layout.row_names

    @property
    def measured_rows(self) -> NDArray[np.bool_]:
        """Rows that are measured, shape (rows,)."""
        measured = np.ones(len(self.rows), dtype=bool)
        measured[: len(self.joints)] = self.sources is None or "joints" in self.sources
        measured[[self.joints.index(joint) for joint in self.unmeasured]] = False
        return measured

    def link_poses(self, q: ArrayLike) -> Array:
        """Pose of every link in the base's frame at positions q [rad, m] (n,): shape (links, 4, 4)."""
        moved = self.tree.poses(q)
        root = [np.eye(4)] if self.tree.free else []
        fixed = [(moved[one.link] if one.link >= 0 else np.eye(4)) @ one.place for one in self.parts]
        return np.array([*moved, *root, *fixed])

    @property
    def force_rows(self) -> NDArray[np.bool_]:
        """Rows that are forces [N] and no torques, shape (rows,)."""
        forces = [name.rpartition(".")[2] in AXES[:3] for name in self.rows[len(self.joints) :]]
        return np.concatenate([self.tree.prismatic, np.array(forces, dtype=bool)])

    @property
    def terms(self) -> tuple[str, ...]:
        """Terms that any joint has."""
        return self.drives.terms

    @property
    def gravity(self) -> Array:
        """[m/s2] in the base frame, shape (3,)."""
        return self.tree.gravity

    @property
    def gain_spreads(self) -> Array:
        """Relative standard deviations of the gains, shape (n,): as calibrated, or as `spread` has them."""
        return gain_spreads(
            np.where(np.isnan(self.gain_std), self.spread.gain, self.gain_std), len(self.joints)
        )

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the p parameters in order: links, joints, then motors that turn with several joints."""
        return self.regressor.names

    @cached_property
    def regressor(self) -> Regressor:
        """Torque as rows that are linear in the parameters."""
        return self._regressor(self.drives, self.sources, self.prior)

    def _regressor(
        self, drives: Drives, sources: tuple[str, ...] | None, prior: Array | None = None
    ) -> Regressor:
        """Rows of other drives or sources: where wrenches are measured, and where they act from outside."""
        default = ("joints", BASE) if self.tree.free else ("joints",)
        used = default if sources is None else sources
        sensors = {name: one for name, one in self.sensors.items() if name in used}
        cuts, contacts = cuts_of(sensors, len(self.links), self.tree.free, BASE in used)
        return Regressor(self.links, self.tree, drives, prior, cuts, contacts, self.parts, "joints" in used)

    @cached_property
    def extents(self) -> Mapping[str, Array]:
        """The box that each link fits in, in its frame [m], (2, 3): as stated, as drawn, or as kinematics allow."""
        n = len(self.links)
        inertias = np.zeros((n, 10)) if self.prior is None else self.prior[: 10 * n].reshape(n, 10)
        return link_extents(self.links, self.tree, inertias, self.shapes, self.boxes)

    def torque(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        parameters: ArrayLike,
        base: ArrayLike | None = None,
    ) -> Array:
        """Inverse dynamics and drives [N m, N], shape (T, n), from motion (T, n) and parameters (p,).

        `base` (T, 9) is the motion of a free root (`Regressor`); None: it rests upright.
        """
        values = np.asarray(parameters, dtype=np.float64)
        regressor = self.regressor
        if not regressor.torques_measured:  # its drives are not known: what the links ask for
            regressor = Regressor(self.links, self.tree, self.drives, None, parts=self.parts)
            values = values[: len(regressor.names)]
        return regressor.torque(q, dq, ddq, values, base)[:, : len(self.joints)]

    def torque_from_current(self, current: ArrayLike) -> Array:
        """Joint torque [N m, N] from motor currents [A], both (T, n): C' (gain gear torque_constant current)."""
        motor = np.asarray(current, dtype=np.float64) * (self.gain * self.gear * self.torque_constant)
        return motor @ self.drives.coupling

    def position_from_motors(self, angle: ArrayLike) -> Array:
        """Joint positions [rad, m] from angles of motors before their gears [rad], both (T, n): C^-1 (angle / gear)."""
        theta = np.asarray(angle, dtype=np.float64) / self.gear
        return theta @ np.linalg.inv(self.drives.coupling).T

    def with_terms(self, terms: Sequence[str]) -> Robot:
        """The same robot with other terms, the same for all joints; what the prior says of terms that stay is kept."""
        return self.with_drives(replace(self.drives, joint_terms=(tuple(terms),) * len(self.joints)))

    def with_drives(self, drives: Drives) -> Robot:
        """The same robot with other drives; what the prior says of terms that stay is kept."""
        return self._changed(drives, self.sources)

    def measuring(self, sources: Sequence[str]) -> Robot:
        """The same robot with rows for these `sources`; drives have no parameters where joints are not measured."""
        known = ("joints", BASE, *self.sensors)
        if unknown := [name for name in sources if name not in known]:
            raise ModelError(f"{self.name} has no sensor {unknown[0]}; it has {', '.join(known)}")
        drives = self.drives
        if "joints" not in sources:
            n = len(self.joints)
            drives = replace(
                drives, joint_terms=((),) * n, coupling=np.eye(n), fixed=frozenset(drives.joints)
            )
        return self._changed(drives, tuple(sources))

    def _changed(self, drives: Drives, sources: tuple[str, ...] | None) -> Robot:
        """The same robot with these; what the prior says of parameters that stay is kept."""
        if self.prior is None:
            return replace(self, drives=drives, sources=sources)
        known = dict(zip(self.parameter_names, self.prior, strict=True))
        names = self._regressor(drives, sources).names
        prior = np.array([known.get(name, 0.0) for name in names])
        return replace(self, drives=drives, sources=sources, prior=prior)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values: all that is needed to predict torques, without any file."""
        assert self.limits is not None
        return {
            "name": self.name,
            "links": list(self.links),
            "tree": self.tree.to_dict(),
            "drives": self.drives.to_dict(),
            "prior": None if self.prior is None else self.prior.tolist(),
            "limits": self.limits.to_dict(),
            "gear": self.gear.tolist(),
            "torque_constant": self.torque_constant.tolist(),
            "gain": self.gain.tolist(),
            "gain_std": [None if np.isnan(std) else std for std in self.gain_std.tolist()],
            "boxes": {link: box.tolist() for link, box in self.boxes.items()},
            "shapes": {link: box.tolist() for link, box in self.shapes.items()},
            "total_mass": None if self.total_mass is None else list(self.total_mass),
            "frames": {name: [link, place.tolist()] for name, (link, place) in self.frames.items()},
            "flange": self.flange,
            "sensor": self.sensor,
            "hand": self.hand,
            "spread": asdict(self.spread),
            "model": None if self.model is None else self.model.to_dict(),
            **({"constraints": self.constraints.to_dict()} if self.constraints else {}),
            **self._places(),
        }

    def _places(self) -> dict[str, Any]:
        """Sensors and parts as plain JSON values, where there are any."""
        places = {
            "parts": [[part.link, part.place.tolist()] for part in self.parts],
            "sensors": {name: one.to_dict() for name, one in self.sensors.items()},
            "imus": {name: [link, place.tolist()] for name, (link, place) in self.imus.items()},
            "imu_delays": dict(self.imu_delays),
            "sources": None if self.sources is None else list(self.sources),
            "unmeasured": list(self.unmeasured),
        }
        return {name: value for name, value in places.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Robot:
        """Inverse of `to_dict`."""
        mass, model = data["total_mass"], data.get("model")
        return cls(
            **{
                **data,
                "links": tuple(data["links"]),
                "tree": Tree.from_dict(data["tree"]),
                "drives": Drives.from_dict(data["drives"]),
                "limits": Limits.from_dict(data["limits"]),
                "gain_std": np.array(data.get("gain_std", ()), dtype=np.float64),  # None: NaN
                "total_mass": None if mass is None else (float(mass[0]), float(mass[1])),
                "frames": {name: (link, frozen(place)) for name, (link, place) in data["frames"].items()},
                "spread": PriorSpread(**data["spread"]),
                "model": None if model is None else ModelText.from_dict(model),
                "constraints": RobotConstraints.from_dict(data["constraints"])
                if "constraints" in data
                else RobotConstraints(),
                "parts": tuple(Part(link, frozen(place)) for link, place in data.get("parts", ())),
                "sensors": {
                    name: WrenchSensor.from_dict(one) for name, one in data.get("sensors", {}).items()
                },
                "imus": {name: (link, frozen(place)) for name, (link, place) in data.get("imus", {}).items()},
                "sources": tuple(data["sources"]) if data.get("sources") else None,
                "unmeasured": tuple(data.get("unmeasured", ())),
            }
        )
