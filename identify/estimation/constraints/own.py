"""A user's function of constraints: what it returns, sorted into linear equalities, other constraints and penalties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.errors import ProblemError
from heft.identify.estimation.constraints.equalities import Equalities
from heft.identify.estimation.constraints.expressions import ParameterExpressions

__all__ = ["ConstraintFunction", "OwnConstraints", "own_constraints"]

ConstraintFunction = Callable[[ParameterExpressions], Any]

MOST_NAME = 100  # characters of a constraint that is named after itself


@dataclass(frozen=True, eq=False)
class OwnConstraints:
    """What a user demands of the parameters.

    equalities    the linear ones, as rows
    constraints   the others: cvxpy constraints by name
    penalties     convex cvxpy expressions by name, in squared standard deviations: added to the objective
    leaves        the variables that they are made of, with their rows over the parameters (k, p)
    """

    equalities: Equalities
    constraints: Mapping[str, Any]
    penalties: Mapping[str, Any]
    leaves: tuple[tuple[Any, Array], ...]

    @property
    def linear(self) -> bool:
        """Whether the equalities are all of it."""
        return not self.constraints and not self.penalties

    @property
    def penalty(self) -> float:
        """Of the parameters that a solver found last."""
        return float(sum(np.sum(one.value) for one in self.penalties.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """Of everything that is demanded."""
        return (*self.equalities.distinct, *self.constraints, *self.penalties)

    def only(self, name: str) -> OwnConstraints:
        """With one of the constraints, without penalties."""
        kept = {own: one for own, one in self.constraints.items() if own == name}
        return OwnConstraints(self.equalities.only(name), kept, {}, self.leaves)


def own_constraints(layout: Layout, function: ConstraintFunction) -> OwnConstraints:
    """What `function` returns for the parameters of a layout: a constraint, a penalty, or any list or dict of them."""
    import cvxpy as cp

    parameters = ParameterExpressions(layout)
    equalities, constraints, penalties = Equalities.none(len(layout)), dict[str, Any](), dict[str, Any]()
    for name, item in _items(function(parameters)):
        if isinstance(item, cp.constraints.constraint.Constraint):
            name = _unused(name or str(item), (*equalities.names, *constraints))
            if not item.is_dcp():
                raise ProblemError(
                    f"constraint {name}: not convex as it is written (cvxpy's DCP rules); state it with linear "
                    "expressions, as first_moment instead of a centre of mass"
                )
            rows = _rows(item, parameters, name)
            if rows is None:
                constraints[name] = item
            else:
                equalities = equalities.and_also(rows)
        elif isinstance(item, cp.Expression):
            name = _unused(name or str(item), penalties)
            if item.size != 1 or not item.is_convex():
                raise ProblemError(
                    f"penalty {name}: must be one convex number; it is {item.curvature}, {item.shape}"
                )
            penalties[name] = item
        else:
            raise ProblemError(
                f"constraints returned {item!r} ({type(item).__name__}); return cvxpy constraints, as "
                "p.total_mass == 18.2, and convex expressions"
            )
    return OwnConstraints(equalities, constraints, penalties, tuple(parameters.leaves.values()))


def _items(returned: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Constraints and penalties with the names they were given, empty where they were given none."""
    if returned is None:
        return
    if isinstance(returned, Mapping):
        for key, item in returned.items():
            yield from _items(item, str(key))
    elif isinstance(returned, list | tuple | set):
        for item in returned:
            yield from _items(item, name)
    else:
        yield name, returned


def _unused(name: str, used: Any) -> str:
    name = " ".join(name.split())
    name = name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 3]}..."
    number, own = 1, name
    while own in used:
        number += 1
        own = f"{name} ({number})"
    return own


def _rows(constraint: Any, parameters: ParameterExpressions, name: str) -> Equalities | None:
    """A linear equality of parameters alone as rows; None for every other constraint."""
    import cvxpy as cp

    if not isinstance(constraint, cp.constraints.Equality | cp.constraints.Zero):
        return None
    expression = constraint.expr
    inside = {variable.id for variable in expression.variables()}  # `in` would build constraints
    leaves = [leaf for leaf in parameters.leaves.values() if leaf[0].id in inside]
    if len(leaves) < len(inside):
        return None  # variables of the user's own
    for variable, _ in leaves:
        variable.value = np.zeros(variable.shape)
    rows = np.zeros((expression.size, len(parameters.names)))
    slopes = expression.grad
    for variable, over in leaves:
        slope = slopes[variable]
        slope = slope.toarray() if hasattr(slope, "toarray") else np.asarray(slope, dtype=np.float64)
        rows += slope.reshape(variable.size, expression.size).T @ over
    constant = np.asarray(expression.value, dtype=np.float64).reshape(-1, order="F")
    if not rows.any():
        raise ProblemError(f"constraint {name}: no parameter in it; leave it out")
    return Equalities(rows, -constant, np.zeros(len(rows)), (name,) * len(rows))
