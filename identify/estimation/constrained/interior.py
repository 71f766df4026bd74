"""Bodies strictly inside the bounds on masses and centres: where a search from the inside can begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.mass_distribution import MassDistribution
from heft.identify.errors import ProblemError
from heft.identify.estimation.constrained.feasible_set import LEAST_MASS
from heft.identify.estimation.problem import Problem

__all__ = ["moved_inside"]

ROOM = 0.01  # of the way between two bounds, kept from each of them


def moved_inside(problem: Problem, bodies: Sequence[MassDistribution]) -> tuple[MassDistribution, ...]:
    """The bodies of the problem's links, with masses and centres changed no more than bounds ask for."""
    masses = _masses(problem, np.array([body.mass for body in bodies]))
    found = []
    for link, body, mass in zip(problem.layout.links, bodies, masses, strict=True):
        com = body.com
        if problem.bounds.com_in_box and link in problem.boxes:
            low, high = (np.asarray(corner) for corner in problem.boxes[link])
            com = np.clip(com, low + ROOM * (high - low), high - ROOM * (high - low))
        found.append(replace(body, mass=mass, com=com, moments=body.moments * (mass / body.mass)))
    return tuple(found)


def _masses(problem: Problem, masses: Array) -> Array:
    """Masses [kg] between their bounds, their sum between its own."""
    pairs = [
        _between(*problem.bounds.mass.get(link, (0.0, np.inf)), problem.masses[link], f"the mass of {link}")
        for link in problem.layout.links
    ]
    low, high = np.transpose(pairs)
    inner = np.clip(masses, low, high)
    if problem.bounds.total_mass is None:
        return inner
    least, most = _between(*problem.bounds.total_mass, sum(problem.masses.values()), "the total mass")
    wanted = float(np.clip(inner.sum(), least, most))
    end = low if wanted < inner.sum() else np.where(np.isfinite(high), high, inner + wanted)
    way = float(end.sum() - inner.sum())
    share = 0.0 if way == 0 else (wanted - float(inner.sum())) / way
    if share > 1:
        raise ProblemError(
            f"bounds contradict each other: links of {low.sum():.3g} to {high.sum():.3g} kg together, "
            f"and a total of {least:.3g} to {most:.3g} kg; widen one of them"
        )
    return np.asarray(inner + share * (end - inner))


def _between(low: float, high: float, usual: float, what: str) -> tuple[float, float]:
    """Bounds a little further in [kg]; `usual` says how large the mass is."""
    if high - low <= LEAST_MASS * ROOM * usual:
        raise ProblemError(
            f"manifold needs room between bounds, and {what} is between {low:g} and {high:g} kg; use sdp"
        )
    low = max(low, min(LEAST_MASS * usual, high / 2))
    if not np.isfinite(high):
        return low + ROOM * usual, np.inf
    return low + ROOM * (high - low), high - ROOM * (high - low)
