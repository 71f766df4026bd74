"""A robot's parameters as cvxpy expressions, for constraints of one's own.

Every quantity that is asked for is a cvxpy variable with a readable name, and known here as rows over the parameters:
a linear constraint on such variables becomes rows over the parameters again, and in every other program the variable is
tied to the parameters it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.bodies.pseudo_inertia import PSEUDO_BASIS, SPATIAL_BASIS, skew
from heft.identify.errors import ParameterError

__all__ = ["JointExpressions", "LinkExpressions", "ParameterExpressions"]


class LinkExpressions:
    """One link: `mass` [kg], `first_moment` (3,) [kg m], `inertia` (3, 3) [kg m2], and more, in its frame.

    A centre of mass is not linear in the parameters, mass times centre of mass is: that is the `first_moment`, known as
    `com_times_mass` too.
    """

    def __init__(self, name: str, leaf: Callable[..., Any], ten: Array) -> None:
        self._name, self._leaf, self._ten = name, leaf, ten

    @property
    def mass(self) -> Any:
        """[kg]."""
        return self._leaf(f"{self._name}.mass", self._ten[:1], ())

    @property
    def first_moment(self) -> Any:
        """Mass times centre of mass [kg m], shape (3,)."""
        return self._leaf(f"{self._name}.first_moment", self._ten[1:4], (3,))

    @property
    def com_times_mass(self) -> Any:
        """The first moment by another name."""
        return self.first_moment

    @property
    def inertia(self) -> Any:
        """About the origin of the link's frame [kg m2], shape (3, 3)."""
        rows = SPATIAL_BASIS[:, :3, :3].reshape(10, 9).T @ self._ten
        return self._leaf(f"{self._name}.inertia", rows, (3, 3))

    @property
    def pseudo_inertia(self) -> Any:
        """[[second moment, first moment], [., mass]], shape (4, 4): positive definite for every body that can exist."""
        rows = PSEUDO_BASIS.reshape(10, 16).T @ self._ten
        return self._leaf(f"{self._name}.pseudo_inertia", rows, (4, 4))

    @property
    def vector(self) -> Any:
        """All ten numbers, in Pinocchio's order, shape (10,)."""
        return self._leaf(f"{self._name}.vector", self._ten, (10,))

    def com_on_line(self, point: Any, direction: Any) -> Any:
        """The constraint, named, that the centre of mass lies on a line of the frame: a point [m], a direction."""
        along = np.asarray(direction, dtype=np.float64)
        if not along.any():
            raise ParameterError(
                f"{self._name}: a line without direction; give a vector that points along it"
            )
        across = skew(along / np.linalg.norm(along))
        off = self.first_moment - np.asarray(point, dtype=np.float64) * self.mass
        return {f"{self._name}.com on its line": across @ off == 0}


class JointExpressions:
    """One joint: its terms by name, as `viscous`."""

    def __init__(self, name: str, leaf: Callable[..., Any], terms: Mapping[str, Array]) -> None:
        self._name, self._leaf, self._terms = name, leaf, terms

    def __getattr__(self, term: str) -> Any:
        if term.startswith("_"):
            raise AttributeError(term)
        if term not in self._terms:
            raise ParameterError(f"{self._name} has no term {term!r}; it has {', '.join(self._terms)}")
        return self._leaf(f"{self._name}.{term}", self._terms[term], ())


class _Named(dict[str, Any]):
    """Links or joints by name; one that is missing is told with those that are there."""

    def __missing__(self, name: str) -> Any:
        raise ParameterError(f"no {name!r} among {', '.join(self)}; correct its name")


class ParameterExpressions:
    """What a function of constraints gets: `link` and `joint` by name, `total_mass` [kg], and `vector` (p,) of all.

    leaves   by name, the cvxpy variables that were asked for, and the rows (k, p) over the parameters of their elements
    """

    def __init__(self, layout: Layout) -> None:
        self.leaves: dict[str, tuple[Any, Array]] = {}
        self._layout = layout
        unit = np.eye(len(layout))
        self.link: Mapping[str, LinkExpressions] = _Named(
            {name: LinkExpressions(name, self._leaf, unit[layout.link(name)]) for name in layout.links}
        )
        self.joint: Mapping[str, JointExpressions] = _Named(
            {
                name: JointExpressions(name, self._leaf, {term: unit[i : i + 1] for term, i in terms.items()})
                for name, terms in layout.joint_terms.items()
            }
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters in `vector`."""
        return self._layout.names

    @property
    def vector(self) -> Any:
        """All parameters in order, shape (p,)."""
        return self._leaf("vector", np.eye(len(self._layout)), (len(self._layout),))

    @property
    def total_mass(self) -> Any:
        """Of all links [kg]: those that move, without the base."""
        first = [self._layout.link(link).start for link in self._layout.links]
        return self._leaf("total_mass", np.eye(len(self._layout))[first].sum(axis=0, keepdims=True), ())

    def _leaf(self, name: str, rows: Array, shape: tuple[int, ...]) -> Any:
        """The variable of that name. Matrices are symmetric: their elements have one order by row and by column."""
        import cvxpy as cp

        if name not in self.leaves:
            variable = cp.Variable(shape, name=name, symmetric=len(shape) == 2)
            self.leaves[name] = (variable, np.asarray(rows))
        return self.leaves[name][0]
