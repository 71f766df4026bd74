"""Short pick-ups on the simulated WAM, recorded once and looked at by many tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from heft.attachments import attachments_of
from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import SimulatedClock
from heft.daq.config.session import load_session
from heft.daq.config.shipped import CONFIGS
from heft.daq.session.session import Session

PICK_AND_WEIGH = CONFIGS / "sessions" / "pick_and_weigh.yaml"


@dataclass(frozen=True)
class Recorded:
    """A session's recording and what really happened."""

    file: Path

    @property
    def truth(self) -> Any:
        return json.loads(self.file.with_suffix(".truth.json").read_text(encoding="utf-8"))


def steps_for(target: str, *, bare: bool = True, seconds: float = 3.0) -> list[dict[str, Any]]:
    """Steps of the shipped session for one object, shortened."""
    steps = yaml.safe_load(PICK_AND_WEIGH.read_text(encoding="utf-8"))["steps"]
    wrist = deepcopy(steps[0]["fourier"]) | {"seconds": seconds}
    rest = steps[1]["move"] | {"fraction": 0.6}
    empty = [{"name": "bare", "use": "payload", "fourier": wrist}, {"name": "to rest", "move": rest}]
    return [
        *(empty if bare else []),
        {"name": "still", "wait": 0.5},
        {"name": "take", "grip": target},
        {"name": "hold", "wait": 0.6},
        {"name": "weigh", "use": "payload", "fourier": wrist},
        {"name": "back", "move": rest},
        {"name": "let go", "release": True},
        {"name": "empty", "wait": 0.4},
    ]


def record(
    folder: Path,
    steps: list[dict[str, Any]],
    seed: int = 0,
    meddle: Callable[[Any], None] | None = None,
    rig: str = str(CONFIGS / "rigs" / "sim_wam7.yaml"),
) -> Recorded:
    """Run steps on the simulated WAM as fast as it goes; `meddle` may schedule mishaps in its world."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "session.yaml"
    path.write_text(
        yaml.safe_dump({"name": "picked", "rig": rig, "approach_fraction": 0.6, "steps": steps}),
        encoding="utf-8",
    )
    config = load_session(path)

    async def run() -> None:
        with private_endpoints() as endpoints:
            session = Session(
                config,
                clock=SimulatedClock(),
                out=folder,
                endpoints=endpoints,
                seed=seed,
                attachments=attachments_of(config),
            )
            if meddle is not None:
                meddle(session.rig.world)
            outcome = await session.run()
            assert str(outcome.state) == "done", outcome.reason

    asyncio.run(run())
    return Recorded(folder / "picked.mcap")


@pytest.fixture(scope="session")
def hammer(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The bare hand, then a hammer, carried and let go."""
    return record(tmp_path_factory.mktemp("hammer"), steps_for("hammer"))


@pytest.fixture(scope="session")
def bench() -> SimpleNamespace:
    """Functions to make recordings with."""
    return SimpleNamespace(record=record, steps_for=steps_for)
