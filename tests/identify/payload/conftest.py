"""The simulator of loads, and a dozen pick-ups followed to their end."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.identify.bodies.consistency import consistency
from heft.identify.payload import PayloadEstimate, PayloadEstimator, WristSensor

_PATH = Path(__file__).parent / "simulator.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("payload_simulator", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_SIMULATOR = _load()


@pytest.fixture(scope="session")
def simulator() -> ModuleType:
    return _SIMULATOR


@dataclass(frozen=True)
class Followed:
    """A pick-up, its estimates half a second after lifting and at the end, and whether all of them could exist."""

    pick_up: Any
    still: PayloadEstimate
    moved: PayloadEstimate
    consistent: bool


def follow(pick_up: Any, sensor: WristSensor | None = None, **options: Any) -> Followed:
    """Estimates every quarter of a second from the pick-up to the end."""
    estimator = PayloadEstimator(
        sensor or WristSensor(delay_std=1e-4), gripper=pick_up.gripper.ten, **options
    )
    start, end = pick_up.time[pick_up.picked], pick_up.time[-1] + 1e-3
    estimator.update(**pick_up.samples(0.0, start))
    estimator.grasped()
    estimates = []
    for at in np.arange(start, end - 1e-6, 0.25):
        estimator.update(**pick_up.samples(at, at + 0.25))
        estimates.append(estimator.estimate())
    consistent = all(consistency(one.ten, "full").ok for one in estimates)
    return Followed(pick_up, estimates[1], estimates[-1], consistent)


@pytest.fixture(scope="session")
def followed() -> list[Followed]:
    """A dozen pick-ups: 0.05 N, 2 mN m, bias with drift, 3 ms of delay known to 0.1 ms (one sigma)."""
    return [follow(_SIMULATOR.pick_up(seed)) for seed in range(12)]
