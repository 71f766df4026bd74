"""A robot's file against its model: limits that look like another unit, and limits beyond the model's own."""

from __future__ import annotations

import numpy as np

from heft.daq.config.robot import RobotConfig
from heft.daq.errors import ConfigError
from heft.identify.robot.model_file import ModelFile, read_model

__all__ = ["check_limits"]

#: So many times the model's limit is another unit, not another opinion: a degree is 57 times a radian.
UNIT_FACTOR = 10.0
#: Beyond the model's limit by this share of it, or by this much [rad, m], is still the same limit.
SHARE, MARGIN = 0.01, 0.01
#: More turns to one side than any cable bears; for joints of which the model says nothing.
TURNS = 10
UNITS = "angles are in radians (rad/s), lengths in metres"


def check_limits(config: RobotConfig) -> list[str]:
    """What is doubtful about the limits, in a line each; `ConfigError` where they must be of another unit."""
    file = None if config.model is None else read_model(config.model_file, config.locked, config.gravity)
    doubts: list[str] = []
    for name, joint in config.joints.items():
        low, high, velocity = _said(file, name)
        widest = max(abs(low), abs(high))
        for what, value, bound, unit in (
            ("position", joint.position[0], low, widest),
            ("position", joint.position[1], high, widest),
            ("velocity", joint.velocity, velocity, velocity),
        ):
            key = f"{config.path}: joints.{name}.{what}"
            if abs(value) > UNIT_FACTOR * max(unit, MARGIN):
                raise ConfigError(f"{key}: {value:g}, but {config.model} says {bound:.4g}; {UNITS}")
            if what == "position" and not _slides(file, config, name) and abs(value) > TURNS * 2 * np.pi:
                raise ConfigError(
                    f"{key}: {value:g} rad are {abs(value) / (2 * np.pi):.0f} turns, at most {TURNS} are believed; "
                    f"{UNITS}"
                )
            beyond = bound - value if bound == low else value - bound
            if np.isfinite(bound) and beyond > SHARE * abs(bound) + MARGIN:
                doubts.append(
                    f"{key}: {value:g} is beyond the {bound:.4g} of {config.model}; correct the one that is wrong"
                )
    return doubts


def _said(file: ModelFile | None, joint: str) -> tuple[float, float, float]:
    """Lowest and highest position and velocity of a joint in the model; infinite where it says nothing."""
    if file is None or joint not in file.joints:
        return -np.inf, np.inf, np.inf
    i = file.joints.index(joint)
    low, high = (float(value) for value in file.position_limits[i])
    velocity = float(file.velocity_limits[i])
    if not low < high:
        low, high = -np.inf, np.inf
    return low, high, velocity if velocity > 0 else np.inf


def _slides(file: ModelFile | None, config: RobotConfig, joint: str) -> bool:
    if file is not None:
        return joint in file.joints and bool(file.tree.prismatic[file.joints.index(joint)])
    assert config.dh is not None
    return config.dh[config.axes.index(joint)].kind == "prismatic"
