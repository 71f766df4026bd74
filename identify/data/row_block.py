"""Rows of the regression: filtered regressor and torque of all joints at consecutive instants."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.robot.regressor import RowLayout

__all__ = ["RowBlock"]


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows, low-passed and decimated: the joints' rows of B instants side by side (see `RowLayout`).

    index   running number of the instants in the dataset, shape (B,)
    time    [s], shape (B,)
    table   shape (B, C)
    keep    False where a joint stood still, shape (B, n)
    rates   first and second derivative of the filtered torque [N m/s, N m/s2], shape (B, n, 2)
    dataset   number of the dataset, among several, that they are from
    """

    layout: RowLayout
    index: NDArray[np.int64]
    time: Array
    table: Array
    keep: NDArray[np.bool_]
    rates: Array
    dataset: int = 0

    @property
    def torque(self) -> Array:
        """Filtered torque [N m, N], shape (B, n)."""
        return self.table[:, self.layout.torques]

    def aligned(self, delay_s: float) -> RowBlock:
        """The same rows with torques that are `delay_s` old taken from so much later (Taylor, second order)."""
        if delay_s == 0.0:
            return self
        first, second = self.rates[:, :, 0], self.rates[:, :, 1]
        table = self.table.copy()
        table[:, self.layout.torques] += delay_s * first + 0.5 * delay_s**2 * second
        return replace(self, table=table, rates=np.stack([first + delay_s * second, second], axis=2))

    def moved(self, table: Array, rates: Array) -> RowBlock:
        """The same instants with other numbers: `table` (B, C) and `rates` (B, n, 2)."""
        return replace(self, table=table, rates=rates)

    def relieved(self, load: Array) -> RowBlock:
        """The same rows with the torque of a known load taken off, whose parameters are `load` (p,)."""
        table = self.table.copy()
        table[:, self.layout.torques] -= self.predict(load)
        return replace(self, table=table)

    def predict(self, parameters: Array) -> Array:
        """Filtered torque of a model with these parameters (p,) [N m, N], shape (B, n)."""
        full = np.append(parameters, 0.0)[self.layout.parameters]
        return np.add.reduceat(self.table * full, self.layout.row_starts[:-1], axis=1)
