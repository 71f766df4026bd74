"""The parameters of a robot: their order, names, units and signs. No other module knows them.

For each link, in the robot's order (Pinocchio's ten numbers, all in the link's frame):

    m                        mass                                             [kg]
    mx my mz                 first moment, mass times centre of mass          [kg m]
    xx xy yy xz yz zz        inertia about the origin of the link's frame     [kg m2]

then, for each joint in order, its own terms (of `JOINT_TERMS`), then those of six-axis sensors (`offset`, and
`SENSOR_TERMS`). A name is `owner.term`: `link3.mx`, `joint3.viscous`, `crane.fx.drift`. Everything else asks by name,
through a `Layout`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ParameterError

__all__ = [
    "FORCE_COLUMNS",
    "JOINT_TERMS",
    "LINK_TERMS",
    "SENSOR_TERMS",
    "JointTerm",
    "Layout",
    "parameter_names",
    "unit_of",
]

LINK_TERMS = ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
#: The first of these, mass and first moment, are all that a force depends on.
FORCE_COLUMNS = 4


@dataclass(frozen=True)
class JointTerm:
    """What one joint term is: its unit on a revolute joint, and whether nature allows it below zero."""

    name: str
    unit: str
    non_negative: bool


JOINT_TERMS: Mapping[str, JointTerm] = {
    term.name: term
    for term in (
        JointTerm("drive_inertia", "kg m2", True),
        JointTerm("viscous", "N m s/rad", True),
        JointTerm("coulomb", "N m", True),
        JointTerm("offset", "N m", False),
        JointTerm("coulomb_asymmetry", "N m", False),
        JointTerm("stribeck", "N m", True),
        JointTerm("load_friction", "-", True),
        JointTerm("viscous_temperature", "N m s/(rad K)", False),
        JointTerm("coulomb_temperature", "N m/K", False),
    )
}
#: What a number of a six-axis sensor has beside its `offset`.
SENSOR_TERMS: Mapping[str, JointTerm] = {"drift": JointTerm("drift", "N m/s", False)}


def parameter_names(links: Iterable[str], joint_terms: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Names of all parameters in order: ten per link, then the terms of each joint."""
    return tuple(
        [f"{link}.{term}" for link in links for term in LINK_TERMS]
        + [f"{joint}.{term}" for joint, terms in joint_terms.items() for term in terms]
    )


def unit_of(name: str) -> str:
    """The unit of a parameter by its name (on a prismatic joint read m for rad and N for N m)."""
    owner, _, term = name.rpartition(".")
    others = {**JOINT_TERMS, **SENSOR_TERMS}
    if term in LINK_TERMS:
        return "kg" if term == "m" else "kg m" if term.startswith("m") else "kg m2"
    if term in others:
        unit = others[term].unit
        return unit.replace("N m", "N") if owner.endswith((".fx", ".fy", ".fz")) else unit
    raise ParameterError(f"no parameter ends in {name!r}; terms are {', '.join((*LINK_TERMS, *others))}")


@dataclass(frozen=True)
class Layout:
    """Where each parameter stands in a vector, shape (p,), read from its name.

    An owner with the ten link terms is a link; every other owner is a joint (or a motor). The index is the
    parameter's place in `names`.
    """

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        if len(set(self.names)) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ParameterError(f"parameter {twice} is named twice; give every link and joint its own name")
        for name in self.names:
            owner, dot, term = name.rpartition(".")
            if not (owner and dot and term):
                raise ParameterError(f"parameter {name!r} is not `owner.term`, as link3.mx or joint3.viscous")
        for link in self.links:
            start = self._index[f"{link}.m"]
            if self.names[start : start + 10] != tuple(f"{link}.{term}" for term in LINK_TERMS):
                raise ParameterError(
                    f"{link}: its ten parameters are not in the order {' '.join(LINK_TERMS)}"
                )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Link names in order."""
        return tuple(
            name[:-2] for name in self.names if name.endswith(".m") and name[:-1] + "xx" in self._index
        )

    @cached_property
    def joint_terms(self) -> dict[str, dict[str, int]]:
        """For each joint in order: its terms, and each term's index."""
        links, terms = set(self.links), {}  # type: set[str], dict[str, dict[str, int]]
        for i, name in enumerate(self.names):
            owner, _, term = name.rpartition(".")
            if owner not in links:
                terms.setdefault(owner, {})[term] = i
        return terms

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that have terms, in order."""
        return tuple(self.joint_terms)

    def index(self, name: str) -> int:
        """Index of one parameter."""
        try:
            return self._index[name]
        except KeyError:
            raise ParameterError(f"no parameter {name}; there are {self._some()}") from None

    def link(self, name: str) -> slice:
        """The ten numbers of a link."""
        if f"{name}.m" not in self._index:
            raise ParameterError(f"no link {name}; there are {', '.join(self.links)}")
        start = self._index[f"{name}.m"]
        return slice(start, start + 10)

    @cached_property
    def link_indices(self) -> slice:
        """All link parameters: links come first and are contiguous."""
        return slice(0, 10 * len(self.links))

    @cached_property
    def non_negative(self) -> tuple[int, ...]:
        """Indices of the joint terms that cannot be negative (003, Eq. 28)."""
        return tuple(
            i
            for terms in self.joint_terms.values()
            for term, i in terms.items()
            if term in JOINT_TERMS and JOINT_TERMS[term].non_negative
        )

    def pack(self, values: Mapping[str, float | Sequence[float]]) -> Array:
        """A vector from values by name: `link3` (ten numbers) or `joint3.viscous` (one); the rest is zero."""
        vector = np.zeros(len(self))
        for name, value in values.items():
            if f"{name}.m" in self._index:
                vector[self.link(name)] = value
            else:
                vector[self.index(name)] = value
        return vector

    def unpack(self, vector: ArrayLike) -> dict[str, float]:
        """Values by parameter name."""
        return dict(zip(self.names, self.checked(vector).tolist(), strict=True))

    def checked(self, vector: ArrayLike) -> Array:
        """`vector` as doubles, after looking at its shape."""
        array = np.asarray(vector, dtype=np.float64)
        if array.shape != (len(self),):
            raise ParameterError(
                f"{array.shape} values for {len(self)} parameters; give one per name: {self._some()}"
            )
        return array

    def _some(self) -> str:
        shown = ", ".join(self.names[:3])
        return (
            f"{shown}, ... {self.names[-1]} ({len(self)} in all)" if len(self) > 4 else ", ".join(self.names)
        )
