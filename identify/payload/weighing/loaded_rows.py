"""Rows of a robot that carries a load, beside what the bare one would need (004, Eq. 17).

    kappa_j torque_j = Y_j b(kappa) + K_j phi,   b(kappa) = sum_k beta_k kappa_k

with b the base parameters that were identified with the same drives, and so with the same gains kappa
(`bodies.drive_gain`): what a wrong gain does to them (`certainty.drive_gains`) and to the torque of the load comes
from one number. phi are the load's ten numbers in the frame of the link that it hangs on. Rows are those of the
regression that are measured: joints, and six of every wrench, whose gains are 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import Layout
from heft.identify.certainty.drive_gains import DriveGains
from heft.identify.data import Dataset, RowBlock, filtered_rows, survey
from heft.identify.errors import DataError
from heft.identify.payload.kinematics.robot_frames import load_link
from heft.identify.robot.base import base_parameters

if TYPE_CHECKING:
    from heft.identify.result import Result

__all__ = ["LoadedRows"]

UNKNOWN_DELAY_STD_S = 0.01  # of torques from a stream that the arm was not identified with


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """T instants of n rows, filtered as the bare arm's data were.

    torque     measured [N m, N], shape (T, n)
    rate       of it [N m/s, N/s], shape (T, n)
    arm        what the bare arm needs for this motion, as identified [N m, N], shape (T, n)
    base       its rows over base parameters, shape (T, n, n_base)
    load       K: rows over the ten numbers of a load on its link, shape (T, n, 10)
    keep       False where a joint stood still, and friction can be anything, shape (T, n)
    dataset    number of the dataset that each instant is of, shape (T,)
    delay_std  how far the torques' delay may be from the identified one [s], of each dataset
    """

    torque: Array
    rate: Array
    arm: Array
    base: Array
    load: Array
    keep: NDArray[np.bool_]
    dataset: NDArray[np.int64]
    delay_std: tuple[float, ...]

    @classmethod
    def of(cls, result: Result, datasets: Sequence[Dataset]) -> LoadedRows:
        """Rows of all datasets; `DataError` where no joint moves."""
        robot, processing = result.robot, result.processing
        if processing.derivative == "fourier":  # the load's motion need not be periodic
            processing = replace(processing, derivative="central", period_s=None, order=None)
        independent = base_parameters(robot).independent
        carrier = Layout(robot.parameter_names).link(load_link(robot)[0])
        carried = list(range(carrier.start, carrier.stop))
        parts, delays = [], []
        bare = result.parameters.values.copy()
        bare[[name.endswith(".drift") for name in robot.parameter_names]] = 0.0  # each recording's own
        for number, data in enumerate(datasets):
            if data.joints != len(robot.joints):
                raise DataError(
                    f"{data.joints} joints in the data, and {len(robot.joints)} of {robot.name}; give data of "
                    f"that robot"
                )
            surveyed = survey(robot, data, processing)
            delays.append(_delay_std(result, data, surveyed.sampling.step_s))
            for block in filtered_rows(robot, data, processing, surveyed, result.delay_of(data)):
                parts.append(
                    (
                        block.torque,
                        block.rates[:, :, 0],
                        block.predict(bare),
                        _columns(block, independent),
                        _columns(block, carried),
                        block.keep,
                        np.full(len(block.table), number),
                    )
                )
        torque, rate, arm, base, load, keep, of = (np.concatenate(part) for part in zip(*parts, strict=True))
        seen = robot.measured_rows
        torque, rate, arm, base, load, keep = (one[:, seen] for one in (torque, rate, arm, base, load, keep))
        moving = keep.any(axis=1)
        if not moving.any():
            raise DataError(
                "no joint moves long enough for a single row; give data in which the arm moves its load"
            )
        return cls(
            torque[moving],
            rate[moving],
            arm[moving],
            base[moving],
            load[moving],
            keep[moving],
            of[moving],
            tuple(delays),
        )

    def scaled(self, factors: Array) -> LoadedRows:
        """The same with measured torques times factors (n,)."""
        return replace(self, torque=self.torque * factors, rate=self.rate * factors)

    def by_gain(self, gains: DriveGains | None, logs: Array, ten: Array) -> tuple[Array, Array]:
        """Torque of the bare arm at log gains (n,), as the drives report it (T, n), and the derivative of all torque by
        the log gains, shape (T, n, n), `ten` being the load.

        Where nothing is known of how gains moved the base parameters, each joint's rows are taken to follow its own.
        """
        one, kappa = np.eye(len(logs)), np.exp(logs)
        parts = self.arm[:, :, None] * one if gains is None else self.base @ gains.sensitivity
        parts = parts * kappa / kappa[:, None]
        arm = parts.sum(axis=2)
        total = arm + self.load @ ten / kappa
        return arm, parts - total[:, :, None] * one


def _delay_std(result: Result, data: Dataset, step_s: float) -> float:
    """Stamps of another recording of the same device may be a sample off."""
    known = result.delays.get(data.torque_stream)
    return UNKNOWN_DELAY_STD_S if known is None else float(np.hypot(known.std_s, step_s))


def _columns(block: RowBlock, parameters: Sequence[int]) -> Array:
    """The rows' columns of some parameters (k), shape (B, n, k); zero where a joint's row does not have it."""
    layout = block.layout
    place = {parameter: k for k, parameter in enumerate(parameters)}
    columns = np.zeros((len(block.table), layout.count, len(parameters)))
    for j in range(layout.count):
        part = layout.row(j)
        for column, parameter in enumerate(layout.parameters[part].tolist(), part.start):
            if parameter in place:
                columns[:, j, place[parameter]] = block.table[:, column]
    return columns
