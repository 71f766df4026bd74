"""Drift of a fleet, told to a real broker; and what becomes of the command where there is none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.mqtt import topics
from heft.exit_codes import ExitCode
from heft.fleet.actions import drift
from heft.fleet.results import FolderResults
from heft.fleet.store import write_table
from heft.identify.fleet.simulated.events import PlantedEvent
from heft.identify.fleet.simulated.months import Months, Reference
from heft.main import main

FLEET = "cellar"
TOPICS = (topics.drift_event(FLEET), topics.drift(FLEET))


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms; the gearbox of the second was replaced."""
    names = ("joint1.friction", "joint1.offset")
    values = np.array([2.0, 0.1])
    reference = Reference("robot", ("joint1",), names, ("N m",) * 2, values, 0.002 * values)
    events = (PlantedEvent("arm001", "gearbox-replaced", 0, 60, 0.2),)
    folder = tmp_path_factory.mktemp("months")
    write_table(FolderResults(folder), Months(reference, arms=2, nights=90, seed=2, events=events).rows())
    return folder


def told(broker: Any, months: Path) -> int:
    where = f"127.0.0.1:{broker.config.port}"
    return main(["fleet", "drift", str(months), "--json", "--fleet", FLEET, "--mqtt", where])


async def listened(broker: Any, count: int) -> dict[str, dict[str, Any]]:
    """Subscribe, as a program that the broker keeps messages for; and so many of those that it has kept."""
    found: dict[str, dict[str, Any]] = {}
    async with asyncio.timeout(20.0), broker.client("pager") as listener:
        for topic in TOPICS:
            await listener.subscribe(topic, qos=1)
        while len(found) < count:
            message = await anext(aiter(listener.messages))
            found[str(message.topic)] = json.loads(message.payload) | {"retained": message.retain}
    return found


def test_a_broker_has_the_event_and_keeps_the_summary(
    broker: Any, months: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(listened(broker, 0))
    assert told(broker, months) == ExitCode.NO == 1
    (event,) = json.loads(capsys.readouterr().out)["events"]
    said = asyncio.run(listened(broker, 2))
    heard = said[TOPICS[0]]
    assert {name: heard[name] for name in event} == event
    assert (heard["schema"], heard["arm"], heard["retained"]) == ("heft.drift", "arm001", False)
    assert heard["event_id"]
    assert heard["causes"][0]["id"] == "gearbox-replaced"
    assert (said[TOPICS[1]]["events"], said[TOPICS[1]]["arms"]) == (1, ["arm001"])


@pytest.mark.parametrize("how", ["stop", "freeze"])
def test_without_a_broker_that_answers_it_is_exit_code_4(
    broker: Any,
    months: Path,
    how: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drift, "TOLD_S", 0.3)
    getattr(broker, how)()
    try:
        assert told(broker, months) == ExitCode.FAILED == 4
    finally:
        broker.kill() if how == "freeze" else broker.stop()
    said = capsys.readouterr()
    assert "has not taken all events" in said.err
    facts = json.loads(said.out)
    assert (facts["mqtt"], len(facts["events"])) == (False, 1)
