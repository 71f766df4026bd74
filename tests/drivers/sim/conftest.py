"""The WAM on a simulated clock, and what its devices yield."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from daq.clock import SimulatedClock
from daq.config.robot import RobotConfig, load_robot
from drivers import registry
from drivers.block import Block
from drivers.driver import Context, Driver
from drivers.setpoints import Setpoints
from drivers.sim.robot import SimJoint, SimRobot
from drivers.sim.world import World, WorldOptions

ROBOTS = Path(__file__).parents[3] / "configs" / "robots"


def sim_robot(config: RobotConfig) -> SimRobot:
    """What the simulated rig is told of a robot's file."""
    keys = [field.name for field in fields(SimJoint) if field.name != "name"]
    return SimRobot(
        name=config.name,
        model=config.model_file,
        joints=tuple(SimJoint(name, **{k: getattr(j, k) for k in keys}) for name, j in config.joints.items()),
        gravity=config.gravity,
        flange=config.flange,
        sensor=config.sensor,
        hand=config.hand,
        locked=config.locked,
    )


@pytest.fixture(scope="session")
def wam() -> SimRobot:
    return sim_robot(load_robot(ROBOTS / "wam7.yaml"))
