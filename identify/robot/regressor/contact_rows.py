"""What wrenches at contacts add to the rows of the regression.

A wrench w at a contact acts on the whole robot, X w in the base's frame, and on every joint between the base and the
contact's link, s' X w with s the joint's screw in the base's frame (linear part against force). What a sensor there
measures is w + b with its bias b: its levers times w are on the measured side, its levers times b on the modelled one,
and its levers times the time where b drifts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.robot.regressor.cut import Contact, wrench_transform
from heft.identify.robot.regressor.tree import Tree

__all__ = ["ContactRows"]


@dataclass(frozen=True, eq=False)
class ContactRows:
    """Six levers of each contact in each row that it acts on.

    base   first of the six rows of the wrench on the whole robot, which is the sum of the contacts; None: no such rows
    """

    tree: Tree
    contacts: tuple[Contact, ...]
    base: int | None

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(row, contact) in the order of the levers."""
        found: list[tuple[int, int]] = []
        for k, one in enumerate(self.contacts):
            found += [] if self.base is None else [(self.base + r, k) for r in range(6)]
            found += [(joint, k) for joint in self.tree.support(one.link)]
        return tuple(found)

    def biases(self, row: int, first: int) -> tuple[tuple[str, int], ...]:
        """The biases in a row, each with its signal: levers are signals from `first` on, then levers times time."""
        columns: list[tuple[str, int]] = []
        for slot, (where, k) in enumerate(self.places):
            if where == row:
                forces = (
                    self.base is not None and self.base <= row < self.base + 3
                )  # no torque is a part of them
                for term, names in enumerate(self.contacts[k].biases):
                    start = first + 6 * (slot + term * len(self.places))
                    columns += [(name, start + c) for c, name in enumerate(names[: 3 if forces else 6])]
        return tuple(columns)

    def at_base(self, contact: Contact, q: Array) -> Array:
        """X at positions q (n, T): a wrench at the contact as one in the base's frame, shape (T, 6, 6)."""
        rotation, position = self.tree.link_pose(contact.link, q)
        position = position + rotation @ contact.place[:3, 3]
        return wrench_transform(rotation @ contact.place[:3, :3], position)

    def levers(self, q: Array) -> Array:
        """At positions q (n, T), shape (6 places, T)."""
        signals: list[Array] = []
        for one in self.contacts:
            X = self.at_base(one, q)
            if self.base is not None:
                signals.append(X.reshape(len(X), 36).T)
            for joint in self.tree.support(one.link):
                turn, origin = self.tree.link_pose(joint, q)
                angular, linear = turn @ self.tree.screws[joint, :3], turn @ self.tree.screws[joint, 3:]
                screw = np.concatenate([linear + np.cross(origin, angular), angular], axis=1)
                signals.append(np.einsum("tr,trc->ct", screw, X))
        return np.concatenate(signals) if signals else np.zeros((0, q.shape[1]))

    def add(self, wrenches: dict[str, Array], levers: Array, out: Array) -> None:
        """Add what wrenches (6, T) by name do to the rows `out` (rows, T)."""
        for slot, (row, k) in enumerate(self.places):
            out[row] += (levers[6 * slot : 6 * slot + 6] * wrenches[self.contacts[k].name]).sum(axis=0)
