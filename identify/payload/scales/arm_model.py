"""The arm as it was identified: what its joints do by themselves, without a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.errors import ModelError
from heft.identify.robot import Robot

if TYPE_CHECKING:
    from heft.identify.result import Result

__all__ = ["ArmModel"]


@dataclass(frozen=True)
class ArmModel:
    """Parameters of the arm (p,) in the order of `robot.parameter_names`, and where they come from.

    `delays` [s], by stream: how late currents are against positions.
    """

    parameters: Array
    source: str
    delays: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Result, source: str) -> ArmModel:
        """As it was identified."""
        delays = {stream: delay.value_s for stream, delay in result.delays.items()}
        return cls(np.asarray(result.parameters.values), source, delays)

    @classmethod
    def of_file(cls, path: Path, robot: Robot) -> ArmModel:
        """As `result.json` of `heft identify` says."""
        from heft.identify.result import load

        result = load(path)
        if result.layout.names != robot.parameter_names:
            raise ModelError(
                f"{path}: parameters of {result.robot.name}, but the robot here is {robot.name} with others; "
                "give the result of the same robot"
            )
        return cls.of(result, str(path))
