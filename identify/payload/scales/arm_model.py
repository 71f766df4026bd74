"""The arm as it was identified: what its joints do by themselves, without a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.drive_gain import gain_covariance, gain_spreads
from heft.identify.errors import DataError
from heft.identify.robot import Robot
from heft.identify.robot.base import base_parameters

if TYPE_CHECKING:
    from heft.identify.result import Result

__all__ = ["ArmModel", "UnsureGains", "require_gains"]


@dataclass(frozen=True)
class UnsureGains:
    """Gains of n drives that are not sure (`bodies.drive_gain`).

    values       by the bare arm's data and the spread, shape (n,): torques are these times the reported ones
    covariance   of their logarithms, shape (n, n)
    parts        of the arm's parameters that follow each joint's gain, shape (p, n)
    """

    values: Array
    covariance: Array
    parts: Array


@dataclass(frozen=True)
class ArmModel:
    """Parameters of the arm (p,) in the order of `robot.parameter_names`, and where they come from.

    `delays` [s], by stream: how late currents are against positions. `gains` of its drives; None: exact.
    """

    parameters: Array
    source: str
    delays: Mapping[str, float] = field(default_factory=dict)
    gains: UnsureGains | None = None

    @classmethod
    def of(cls, result: Result, source: str, gain_spread: ArrayLike | None = None) -> ArmModel:
        """As it was identified; `gain_spread` as in `weigh`. `DataError` where torques of joints had no part in it."""
        if result.robot.unmeasured:
            raise DataError(
                f"{source}: identified without the torque of {', '.join(result.robot.unmeasured)}, and pick-ups are "
                "weighed by the torques of all joints; weigh by a wrist sensor, or give what those joints measure and "
                "identify anew"
            )
        delays = {stream: delay.value_s for stream, delay in result.delays.items()}
        parameters, n = np.asarray(result.parameters.values), len(result.robot.joints)
        spreads = result.robot.gain_spreads if gain_spread is None else gain_spreads(gain_spread, n)
        if not spreads.any() or result.gains is None:
            return cls(parameters, source, delays)
        logs, covariance = result.gains.posterior(gain_covariance(spreads))
        parts = np.zeros((len(parameters), n))
        parts[list(base_parameters(result.robot).independent)] = result.gains.sensitivity
        values = np.exp(logs)
        gains = UnsureGains(values, covariance, parts * values)
        return cls(parameters + parts @ (values - 1.0), source, delays, gains)

    @classmethod
    def of_file(cls, path: Path, robot: Robot, gain_spread: ArrayLike | None = None) -> ArmModel:
        """As `result.json` of `heft identify` says."""
        from heft.identify.result import load

        result = load(path)
        if result.layout.names != robot.parameter_names:
            raise DataError(
                f"{path}: parameters of {result.robot.name}, but the robot here is {robot.name} with others; "
                "give the result of the same robot"
            )
        require_gains(path, result, robot)
        return cls.of(result, str(path), gain_spread)


def require_gains(path: Path, result: Result, robot: Robot) -> None:
    """`DataError` where the arm was identified with other gains than the robot has here."""
    if not np.allclose(result.robot.gain, robot.gain, rtol=1e-6):
        raise DataError(
            f"{path}: identified with gains {result.robot.gain.tolist()}, but the robot here has "
            f"{robot.gain.tolist()}; identify the bare arm anew"
        )
