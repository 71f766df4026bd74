"""Torque of the drives, linear in their parameters: inertia of rotor and gear, friction, offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.parameters import JOINT_TERMS
from heft.identify.errors import ModelError

__all__ = ["DEFAULT_TERMS", "MOTOR_TERMS", "REFERENCE_K", "TEMPERATURE_TERMS", "Column", "Drives"]

DEFAULT_TERMS = ("drive_inertia", "viscous", "coulomb", "offset")
MOTOR_TERMS = ("drive_inertia", "viscous", "coulomb")  # of a motor that turns with several joints

REFERENCE_K = 298.15  # friction's other terms are those at this temperature
TEMPERATURE_TERMS = ("viscous_temperature", "coulomb_temperature")

_SIGNALS = {
    "viscous": 0,
    "coulomb": 1,
    "load_friction": 1,
    "coulomb_asymmetry": 2,
    "stribeck": 3,
    "drive_inertia": 4,
}


@dataclass(frozen=True)
class Column:
    """One column of one joint's row: `weight` times signal `signal`, or the load friction of that joint."""

    parameter: str
    signal: int
    weight: float = 1.0
    by_load: bool = False


@dataclass(frozen=True, eq=False)
class Drives:
    """The drives of n joints. Motor coordinates, on the joint's side of the gear: theta = C q (002, Eq. 34).

    torque of joint j = rigid-body torque
        + drive_inertia_j q''_j + viscous_j v + coulomb_j tanh(v / v_s) + offset_j
        + coulomb_asymmetry_j |tanh(v / v_s)|
        + stribeck_j tanh(v / v_s) exp(-(v / v_stribeck)^2)
        + load_friction_j |rigid-body torque of the prior| tanh(v / v_s)
        + (T - T_0) (viscous_temperature_j v + coulomb_temperature_j tanh(v / v_s))
        + sum_k C_kj (drive_inertia_m theta''_k + viscous_m theta'_k + coulomb_m tanh(theta'_k / v_s))

    with v the joint's velocity [rad/s, m/s], T its temperature and T_0 = `REFERENCE_K`, which T is where nothing
    measured it; only the terms that the joint has, and the last line only for
    motors k that turn with several joints.

    joint_terms         terms of each joint, n tuples
    coupling            C, shape (n, n); the unit matrix where each motor moves one joint
    smoothing_velocity  v_s [rad/s, m/s], shape (n,)
    stribeck_velocity   v_stribeck [rad/s, m/s], shape (n,)
    fixed               joints whose friction is as said here, and not to be chosen from data
    """

    joints: tuple[str, ...]
    joint_terms: tuple[tuple[str, ...], ...]
    coupling: Array
    smoothing_velocity: Array
    stribeck_velocity: Array
    fixed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        n = len(self.joints)
        if len(self.joint_terms) != n:
            raise ModelError(
                f"terms of {len(self.joint_terms)} joints, there are {n}: {', '.join(self.joints)}"
            )
        if unknown := self.fixed - set(self.joints):
            raise ModelError(f"no joint {min(unknown)} to fix; there are {', '.join(self.joints)}")
        for term in self.terms:
            if term not in JOINT_TERMS:
                raise ModelError(f"joint term {term!r} is unknown; choose from {', '.join(JOINT_TERMS)}")
        for name, shape in (("coupling", (n, n)), ("smoothing_velocity", (n,)), ("stribeck_velocity", (n,))):
            value = frozen(getattr(self, name))
            if value.shape != shape:
                raise ModelError(f"{name} has shape {value.shape}, the {n} joints need {shape}")
            object.__setattr__(self, name, value)
        for name in ("smoothing_velocity", "stribeck_velocity"):
            if np.any(getattr(self, name) <= 0):
                raise ModelError(f"{name} {getattr(self, name).tolist()} must be above zero")
        if abs(np.linalg.det(self.coupling)) < 1e-9:
            raise ModelError(
                f"coupling {self.coupling.tolist()} cannot be inverted; motors must reach every joint"
            )

    @classmethod
    def plain(cls, joints: Sequence[str], terms: Sequence[str]) -> Self:
        """One motor per joint, and the usual velocities: slow motion, yet above what encoders resolve."""
        n = len(joints)
        return cls(tuple(joints), (tuple(terms),) * n, np.eye(n), np.full(n, 0.02), np.full(n, 0.1))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Terms that any joint has."""
        return tuple(dict.fromkeys(term for own in self.joint_terms for term in own))

    @cached_property
    def coupled(self) -> tuple[int, ...]:
        """Motors that turn with several joints."""
        return tuple(k for k, row in enumerate(self.coupling) if np.count_nonzero(row) > 1)

    @cached_property
    def motor_parameters(self) -> tuple[str, ...]:
        """Terms of the coupled motors, beside those of the joints (Fvm6, Fsm6 of 002, Table II)."""
        terms = [term for term in MOTOR_TERMS if term in self.terms]
        return tuple(f"{self.joints[k]}_motor.{term}" for k in self.coupled for term in terms)

    @property
    def uses_load(self) -> bool:
        """True when a column depends on the prior's rigid-body torque."""
        return "load_friction" in self.terms

    @property
    def uses_temperature(self) -> bool:
        """True when a column depends on the joints' temperature."""
        return bool(set(TEMPERATURE_TERMS) & set(self.terms))

    @property
    def signal_count(self) -> int:
        """Rows of `signals`."""
        n = len(self.joints)
        return 1 + 5 * n + 3 * len(self.coupled) + (2 * n if self.uses_temperature else 0)

    def signals(self, dq: Array, ddq: Array, warmth: Array | None = None) -> Array:
        """What the columns are made of, from velocity and acceleration (n, T): shape (1 + 5 n + 3 k, T).

        A row of ones, then for all joints v, tanh(v / v_s), |tanh|, the Stribeck shape and q'', then per
        coupled motor theta'', theta' and its tanh. Rows that no term asks for stay zero. Where a term asks for the
        temperature, v and tanh times `warmth`, T - T_0 [K] (n, T), follow: 2 n rows more, zero where it is None.
        """
        from heft.identify.robot.regressor.elementary import tanh_of_ratio

        n, length = dq.shape
        plain = 1 + 5 * n + 3 * len(self.coupled)
        signals = np.zeros((self.signal_count, length))
        signals[0] = 1.0
        signals[1 : 1 + n] = dq
        tanh = signals[1 + n : 1 + 2 * n]
        if set(self.terms) - {"drive_inertia", "viscous", "offset", "viscous_temperature"}:
            tanh_of_ratio(dq, self.smoothing_velocity, tanh)
        if "coulomb_asymmetry" in self.terms:
            np.abs(tanh, out=signals[1 + 2 * n : 1 + 3 * n])
        if "stribeck" in self.terms:
            signals[1 + 3 * n : 1 + 4 * n] = tanh * np.exp(-((dq / self.stribeck_velocity[:, None]) ** 2))
        signals[1 + 4 * n : 1 + 5 * n] = ddq
        for slot, k in enumerate(self.coupled):
            first, speed = 1 + 5 * n + 3 * slot, self.coupling[k] @ dq
            signals[first] = self.coupling[k] @ ddq
            signals[first + 1] = speed
            signals[first + 2] = np.tanh(speed / self.smoothing_velocity[k])
        if self.uses_temperature and warmth is not None:
            signals[plain : plain + n] = warmth * dq
            signals[plain + n :] = warmth * tanh
        return signals

    def columns(self, joint: int) -> tuple[Column, ...]:
        """The drive columns in one joint's row, in the order of the parameters."""
        n, columns = len(self.joints), []
        for term in self.joint_terms[joint]:
            if term in TEMPERATURE_TERMS:
                signal = 1 + 5 * n + 3 * len(self.coupled) + TEMPERATURE_TERMS.index(term) * n + joint
            else:
                signal = 0 if term == "offset" else 1 + _SIGNALS[term] * n + joint
            columns.append(Column(f"{self.joints[joint]}.{term}", signal, by_load=term == "load_friction"))
        for slot, k in enumerate(self.coupled):
            for kind, term in enumerate(MOTOR_TERMS):
                weight = float(self.coupling[k, joint])
                if weight and term in self.terms:
                    columns.append(
                        Column(f"{self.joints[k]}_motor.{term}", 1 + 5 * n + 3 * slot + kind, weight)
                    )
        return tuple(columns)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; `terms` is one list where all joints have the same, else one per joint by name."""
        alike = len(set(self.joint_terms)) <= 1
        own = {joint: list(terms) for joint, terms in zip(self.joints, self.joint_terms, strict=True)}
        arrays = ("coupling", "smoothing_velocity", "stribeck_velocity")
        return (
            {"joints": list(self.joints), "terms": list(self.terms) if alike else own}
            | {name: getattr(self, name).tolist() for name in arrays}
            | ({"fixed": sorted(self.fixed)} if self.fixed else {})
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        joints, terms = tuple(data["joints"]), data["terms"]
        own = tuple(tuple(terms[joint] if isinstance(terms, dict) else terms) for joint in joints)
        rest = {name: value for name, value in data.items() if name not in ("joints", "terms", "fixed")}
        return cls(joints, own, **rest, fixed=frozenset(data.get("fixed", ())))
