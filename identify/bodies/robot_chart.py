"""Free coordinates for everything that a robot could be, about a prior in which they are standard normal.

A link's pseudo-inertia is J = L exp(X) L', with L L' the prior's: positive definite for every symmetric X, so every
point is consistent. |X|^2 is the squared distance on the cone of such matrices, which depends on no frame and no unit.
Ten coordinates per link, in an orthonormal basis of X; positive joint terms by their logarithms, others plainly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import JOINT_TERMS, Layout
from heft.identify.bodies.prior_spread import PriorSpread
from heft.identify.bodies.pseudo_inertia import from_pseudo_inertia, pseudo_inertia

__all__ = ["Chart", "LinkChart", "tangent"]

LOOSE = 1e3  # scales: a prior that says nothing
THIN = 1e-4  # of mass size^2: a prior's second moments count as this much larger, lest it allow no other
_PAIRS = [(i, j) for i in range(4) for j in range(i, 4)]
_BASIS = np.zeros((10, 4, 4))
for _k, (_i, _j) in enumerate(_PAIRS):
    _BASIS[_k, _i, _j] = _BASIS[_k, _j, _i] = 1.0 if _i == _j else np.sqrt(0.5)


@dataclass(frozen=True)
class LinkChart:
    """One link: J = root exp(sum_k spread x_k basis_k) root', with x standard normal beforehand, shape (10,)."""

    root: Array
    spread: float

    @classmethod
    def about(cls, ten: Array, inertia: float) -> LinkChart | None:
        """About a body; None if it could not exist."""
        try:
            return cls(np.asarray(np.linalg.cholesky(pseudo_inertia(ten)), dtype=np.float64), 2 * inertia)
        except np.linalg.LinAlgError:
            return None

    def ten(self, x: Array) -> Array:
        """Its ten numbers."""
        values, vectors = np.linalg.eigh(self.spread * np.tensordot(x, _BASIS, axes=1))
        turned = self.root @ vectors
        return from_pseudo_inertia((turned * np.exp(values)) @ turned.T)

    def body(self, x: Array) -> tuple[Array, Array]:
        """Its ten numbers, and their derivative (10, 10)."""
        values, vectors = np.linalg.eigh(self.spread * np.tensordot(x, _BASIS, axes=1))
        grown = np.exp(values)
        gap = values[:, None] - values[None, :]
        near = np.abs(gap) < 1e-6
        mean = np.exp((values[:, None] + values[None, :]) / 2)
        slope = np.where(near, mean, (grown[:, None] - grown[None, :]) / np.where(near, 1.0, gap))
        turned = self.root @ vectors
        inner = slope * (vectors.T @ _BASIS @ vectors)
        moved = turned @ inner @ turned.T
        derivative = self.spread * np.array([from_pseudo_inertia(one) for one in moved]).T
        return from_pseudo_inertia((turned * grown) @ turned.T), derivative


def tangent(ten: Array, inertia: float, size: float, mass: float | None = None) -> Array | None:
    """Derivative of a body's ten numbers by its coordinates, at the body itself, (10, 10); None if it cannot exist.

    `size` [m] and `mass` [kg] (default: its own) say how thin a body may be taken for.
    """
    thick = from_pseudo_inertia(np.diag([THIN * (ten[0] if mass is None else mass) * size**2] * 3 + [0.0]))
    chart = LinkChart.about(ten + thick, inertia)
    return None if chart is None else chart.body(np.zeros(10))[1]


@dataclass(frozen=True)
class Chart:
    """All parameters of a robot: `links` by name, then joint terms by `centre`, `size` and `logarithmic` (p_joint,).

    `hand` is a body beside the chart of the link that it is part of: ten more coordinates and parameters, at the end.
    """

    layout: Layout
    links: Mapping[str, LinkChart]
    centre: Array
    size: Array
    logarithmic: Array
    hand: tuple[str, LinkChart] | None = None

    @classmethod
    def about(
        cls, layout: Layout, prior: Array, fallback: Array, scales: Array, spread: PriorSpread
    ) -> Chart | None:
        """About a prior (p,), or about `fallback` for a link that the prior makes impossible."""
        links = {}
        for link in layout.links:
            block = layout.link(link)
            chart = LinkChart.about(prior[block], spread.inertia) or LinkChart.about(
                fallback[block], spread.inertia
            )
            if chart is None:
                return None
            links[link] = chart
        first = layout.link_indices.stop
        centre, size = prior[first:].copy(), np.zeros(len(layout) - first)
        logarithmic = np.zeros(len(size), dtype=bool)
        for terms in layout.joint_terms.values():
            coulomb = float(prior[terms["coulomb"]]) if "coulomb" in terms else 0.0
            for term, i in terms.items():
                k = i - first
                positive = term in JOINT_TERMS and JOINT_TERMS[term].non_negative and prior[i] > 0
                logarithmic[k] = positive
                if positive:
                    size[k] = spread.drive_inertia if term == "drive_inertia" else spread.friction
                elif term == "offset" and coulomb > 0:
                    size[k] = spread.friction * coulomb
                else:
                    size[k] = LOOSE * scales[i]
        return cls(layout, links, centre, size, logarithmic.astype(np.float64))

    def holding(self, link: str, hand: Array, inertia: float) -> Chart | None:
        """With a link that is made of a hand and the rest; None if one of them could not exist."""
        own, held = self.links[link], LinkChart.about(hand, inertia)
        whole = from_pseudo_inertia(own.root @ own.root.T)
        rest = LinkChart.about(whole - hand, own.spread / 2)
        if held is None or rest is None:
            return None
        return replace(self, links={**self.links, link: rest}, hand=(link, held))

    @property
    def count(self) -> int:
        """Coordinates, and as many parameters."""
        return len(self.layout) + (0 if self.hand is None else 10)

    def coordinates(self, link: str) -> list[int]:
        """Numbers of the coordinates that a link depends on."""
        block, p = self.layout.link(link), len(self.layout)
        own = list(range(block.start, block.stop))
        return [*own, *range(p, p + 10)] if self.hand is not None and self.hand[0] == link else own

    def body(self, link: str, x: Array) -> Array:
        """The ten numbers of a link at coordinates x (count,)."""
        ten = self.links[link].ten(x[self.layout.link(link)])
        if self.hand is not None and self.hand[0] == link:
            ten = ten + self.hand[1].ten(x[len(self.layout) :])
        return ten

    def at(self, x: Array) -> tuple[Array, Array]:
        """Parameters (count,) at coordinates x (count,), and their derivative (count, count)."""
        first, p = self.layout.link_indices.stop, len(self.layout)
        values, derivative = np.zeros(self.count), np.zeros((self.count, self.count))
        for link, chart in self.links.items():
            block = self.layout.link(link)
            values[block], derivative[block, block] = chart.body(x[block])
        rest = np.arange(first, p)
        grown = self.centre * np.exp(np.where(self.logarithmic > 0, self.size * x[first:p], 0.0))
        values[first:p] = np.where(self.logarithmic > 0, grown, self.centre + self.size * x[first:p])
        derivative[rest, rest] = np.where(self.logarithmic > 0, grown * self.size, self.size)
        if self.hand is not None:
            link, chart = self.hand
            values[p:], derivative[p:, p:] = chart.body(x[p:])
            values[self.layout.link(link)] += values[p:]
            derivative[self.layout.link(link), p:] = derivative[p:, p:]
        return values, derivative
