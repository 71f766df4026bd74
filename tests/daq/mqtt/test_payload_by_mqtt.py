"""Pick-ups on a rig whose gripper says nothing: a controller tells them by MQTT, through a real broker."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from daq.bus.endpoint import Endpoints
from daq.clock import SimulatedClock
from daq.config.rig import load_rig
from daq.mqtt import topics
from daq.mqtt.link import Link
from daq.session.observer import Observer
from daq.session.standby import Standby
from heft.configs import CONFIGS
from heft.live_payload import PayloadService
from heft.main import main
from heft.thinker import Thinker
from identify.payload.hand import Hand
from identify.payload.recursive import WristSensor
from identify.payload.report import Reporter
from identify.payload.wrist import sensor_in_flange
from identify.robot import Robot

CELL = "bench"
EVENTS = topics.gripper_event(CELL)


class States(Observer):
    """Every state that the rig was in."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def state(self, state: str, reason: str) -> None:
        self.seen.append(state)


def silent_rig(folder: Path) -> Path:
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    rig |= {"cell": CELL, "robot": str(CONFIGS / "robots" / "wam7.yaml")}
    rig["devices"]["gripper"]["detects"] = False
    path = folder / "rig.yaml"
    path.write_text(yaml.safe_dump(rig), encoding="utf-8")
    return path


def true_hand(truth: dict[str, Any]) -> Hand:
    """As a bare motion would have shown it."""
    hand = truth["hand"]
    inertia = np.array(hand["inertia"])
    six = inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    ten = np.array([hand["mass"], *(hand["mass"] * np.array(hand["com"])), *six])
    spread = np.diag([1e-4] + [1e-5] * 3 + [1e-5] * 6) ** 2
    return Hand(ten, spread, 0.003, 2e-5, WristSensor(delay_std=2e-5))


class Cell:
    """The rig, the service, and the controller that moves the gripper and tells the broker of it."""

    def __init__(self, clock: SimulatedClock, standby: Standby, link: Link, broker: Any) -> None:
        self.clock, self.standby, self.link, self.broker = clock, standby, link, broker
        (self.gripper,) = standby.rig.grippers
        self.heard = 0

    async def wait(self, seconds: float) -> None:
        await self.clock.sleep_until(self.clock.now_ns() + round(seconds * 1e9))

    async def tell(self, event: str, name: str, *, age_s: float = 0.0) -> None:
        """Simulated time stands still while a message is on its way."""
        ts = (self.clock.now_ns() + self.clock.utc_offset_ns) * 1e-9 - age_s
        said = json.dumps({"event": event, "event_id": name, "ts": ts})
        with self.clock.hold():
            before = self._messages()
            async with self.broker.client() as controller:
                await controller.publish(EVENTS, said, qos=1)
            async with asyncio.timeout(10):
                while self._messages() == before:  # noqa: ASYNC110 - another program passes it on
                    await asyncio.sleep(0.005)

    def _messages(self) -> int:
        return self.heard + sum(self.link.refused.values())


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Link, "FIRST_WAIT_NS", 50_000_000)
    monkeypatch.setattr(Link, "LONGEST_WAIT_NS", 200_000_000)


async def serve(folder: Path, broker: Any, work: Any) -> tuple[PayloadService, Link, States]:
    """A rig that stands by, armed, with the service beside it, while `work(cell)` goes on."""
    config = load_rig(silent_rig(folder))
    robot = Robot.from_config(config.robot)
    states, clock = States(), SimulatedClock()
    async with Thinker(robot) as thinker:
        with Endpoints.private() as endpoints:
            standby = Standby(
                config, clock=clock, telemetry=endpoints.telemetry, armed=True, observers=[states]
            )
            streams = {stream.name: stream for stream in standby.streams}
            await thinker.begin(streams, true_hand(standby.rig.world.truth()), None)
            link = Link(broker.config, CELL, "payload")
            service = PayloadService(
                thinker,
                Reporter(sensor_in_flange(robot), by="wrist sensor", origin=clock.now_ns() * 1e-9),
                streams,
                clock=clock,
                cell=CELL,
                out=folder,
                link=link,
            )
            cell = Cell(clock, standby, link, broker)
            obey = link._handlers[EVENTS]

            def hear(event: Any) -> None:
                cell.heard += 1
                obey(event)

            link.hear(EVENTS, hear)
            standby.watch_too(service)

            async def drive() -> None:
                with clock.participant("controller"):
                    try:
                        await work(cell)
                    finally:
                        standby.stop("enough")

            async with link:
                thinking = asyncio.create_task(service.run())
                driving = asyncio.create_task(drive())
                await standby.run()
                thinking.cancel()
                await asyncio.gather(thinking, return_exceptions=True)
                await driving
    return service, link, states


async def test_picked_and_released_by_events_through_a_broker_that_restarts(broker, tmp_path, capsys) -> None:
    async def work(cell: Cell) -> None:
        gripper = cell.gripper
        await cell.wait(0.6)
        await gripper.grip("block")
        await cell.tell("picked", "first")
        await cell.wait(0.5)
        await cell.tell("picked", "first")  # delivered twice
        await cell.tell("picked", "first, told again")
        await cell.tell("released", "of yesterday", age_s=100.0)
        await cell.wait(0.2)
        await cell.tell("released", "second")
        await gripper.release()
        await cell.wait(0.4)
        with cell.clock.hold():
            cell.broker.stop()
            cell.broker.start()
        await gripper.grip("bottle")
        await cell.tell("picked", "third")  # the link may not be back yet: the broker keeps it
        await cell.wait(0.4)
        await cell.tell("released", "fourth")
        await gripper.release()
        await cell.wait(0.4)

    async with broker.client() as careless:
        kept = {"event": "picked", "event_id": "kept by mistake", "ts": time.time()}
        await careless.publish(EVENTS, json.dumps(kept), qos=1, retain=True)
    service, link, states = await serve(tmp_path, broker, work)
    block, bottle = (service.tally.payloads[number] for number in (1, 2))
    assert block["source"] == "mqtt"
    assert block["state"] == "released"
    assert block["mass"] == pytest.approx(1.6, rel=0.02)
    assert block["repeated_events"] == 1
    assert bottle["state"] == "released"
    assert bottle["mass"] == pytest.approx(0.53, rel=0.02)
    assert len(service.tally.payloads) == 2
    # The retained one is met at the first subscription, and at the one after the restart.
    assert link.refused == {"repeated": 1, "old": 1, "retained": 2}
    assert "moving" not in states.seen
    robot = str(CONFIGS / "robots" / "wam7.yaml")
    assert main(["payload", str(tmp_path / "pickup-001.mcap"), "--robot", robot, "--json"]) == 0
    (again,) = json.loads(capsys.readouterr().out)["payloads"]
    assert again["mass"] == pytest.approx(block["mass"], abs=2 * block["std"]["mass"])


async def test_an_event_without_a_weight_is_nothing_and_a_weight_that_goes_is_a_drop(
    broker, tmp_path
) -> None:
    async def work(cell: Cell) -> None:
        gripper = cell.gripper
        await cell.wait(0.6)
        await cell.tell("picked", "of nothing")
        await cell.wait(0.4)
        await cell.tell("released", "of nothing, too")
        await cell.wait(0.3)
        await gripper.grip("block")
        await cell.tell("picked", "of something")
        await cell.wait(0.6)
        await gripper.release()  # nobody tells of it
        await cell.wait(0.6)

    service, _, _ = await serve(tmp_path, broker, work)
    nothing, dropped = (service.tally.payloads[number] for number in (1, 2))
    assert nothing["state"] == "nothing"
    assert "mass" not in nothing
    assert dropped["state"] == "dropped"
    assert dropped["mass"] == pytest.approx(1.6, rel=0.02)
