"""Parameter values by link and joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.pseudo_inertia import inertia_about_com, inertia_about_frame
from heft.identify.errors import ParameterError

__all__ = ["JointParameters", "LinkParameters", "Parameters"]


@dataclass(frozen=True)
class LinkParameters:
    """One link, in its own frame; `ten` are its numbers m, mx my mz, xx xy yy xz yz zz."""

    name: str
    ten: Array

    @property
    def mass(self) -> float:
        """[kg]"""
        return float(self.ten[0])

    @property
    def com(self) -> Array:
        """Centre of mass [m], shape (3,); NaN without mass."""
        return self.ten[1:4] / self.mass if self.mass != 0 else np.full(3, np.nan)

    @property
    def inertia(self) -> Array:
        """About the origin of the link's frame [kg m2], shape (3, 3)."""
        return inertia_about_frame(self.ten)

    @property
    def inertia_com(self) -> Array:
        """About the centre of mass, axes of the link's frame [kg m2], shape (3, 3)."""
        return inertia_about_com(self.ten)

    @property
    def principal_moments(self) -> Array:
        """Eigenvalues of `inertia_com`, increasing [kg m2], shape (3,)."""
        return np.asarray(np.linalg.eigvalsh(self.inertia_com), dtype=np.float64)


@dataclass(frozen=True)
class JointParameters:
    """One joint's drive inertia and friction: each term of `terms` is an attribute, too, as `joint.viscous`."""

    name: str
    terms: Mapping[str, float]

    def __getattr__(self, term: str) -> float:
        terms = self.__dict__.get("terms", {})
        if term in terms:
            return float(terms[term])
        raise AttributeError(f"{self.__dict__.get('name')} has no term {term!r}; it has {', '.join(terms)}")


@dataclass(frozen=True)
class Parameters:
    """All parameters of a robot: `values` in the order of `layout.names`, shape (p,).

    `parameters["link3"]` is a link, `parameters["joint3"]` a joint, `parameters["link3.mx"]` a number.
    """

    layout: Layout
    values: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.layout.checked(self.values)))

    @property
    def links(self) -> tuple[LinkParameters, ...]:
        """The links in order."""
        return tuple(LinkParameters(name, self.values[self.layout.link(name)]) for name in self.layout.links)

    @property
    def joints(self) -> tuple[JointParameters, ...]:
        """The joints in order, then motors that turn with several joints."""
        return tuple(
            JointParameters(
                name, MappingProxyType({term: float(self.values[i]) for term, i in terms.items()})
            )
            for name, terms in self.layout.joint_terms.items()
        )

    def __getitem__(self, name: str) -> Any:
        for link in self.links:
            if link.name == name:
                return link
        for joint in self.joints:
            if joint.name == name:
                return joint
        if name in self.layout.names:
            return float(self.values[self.layout.index(name)])
        raise ParameterError(
            f"no {name!r}; there are {', '.join((*self.layout.links, *self.layout.joints))} and their terms"
        )

    @property
    def total_mass(self) -> float:
        """Of all links [kg]."""
        return float(sum(link.mass for link in self.links))
