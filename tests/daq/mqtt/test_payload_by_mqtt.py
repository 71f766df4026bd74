"""Pick-ups that a controller tells of by MQTT, through a real broker, on a rig that is armed: none of it moves the arm.

On a rig whose gripper says nothing they are all there is; where its own stream tells of them, the wrist moves.
"""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import SimulatedClock
from heft.daq.config.rig import load_rig
from heft.daq.config.shipped import CONFIGS
from heft.daq.motion.state import State
from heft.daq.mqtt import topics
from heft.daq.mqtt.link import Link
from heft.daq.recording import Recording
from heft.daq.session.sink import Sink
from heft.daq.session.standby import Standby
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.wrist_sensor import WristSensor
from heft.identify.payload.kinematics.robot_frames import sensor_in_flange
from heft.identify.payload.output.document import Reporter
from heft.identify.robot import Robot
from heft.live_payload import PayloadService
from heft.main import main
from heft.payload_motion import WristMotions
from heft.payload_process import PayloadProcess

CELL = "bench"
EVENTS = topics.gripper_event(CELL)


class States(Sink):
    """Every state that the rig was in."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def state(self, state: str, reason: str) -> None:
        self.seen.append(state)


def rig_file(folder: Path, *, detects: bool) -> Path:
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    rig |= {"cell": CELL, "robot": str(CONFIGS / "robots" / "wam7.yaml")}
    rig["devices"]["gripper"]["detects"] = detects
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
        self.world = standby.rig.world
        self.heard = 0

    async def wait(self, seconds: float) -> None:
        await self.clock.sleep_until(self.clock.now_ns() + round(seconds * 1e9))

    def put(self, name: str | None, moved: float = 0.0) -> None:
        """Something is in the hand from now on, or nothing, whatever the fingers do; `moved` [m] from where it was."""
        if name is None:
            self.world.schedule(self.world.now(), self.world.drop)
        else:
            thing = self.gripper._gripper.objects[name]
            body = thing.model_copy(update={"com": (thing.com[0] + moved, *thing.com[1:])}).body
            self.world.schedule(self.world.now(), lambda: self.world.pick(name, body))

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


async def serve(
    folder: Path, broker: Any, work: Any, *, detects: bool = False
) -> tuple[PayloadService, Link, States]:
    """A rig that stands by, armed, with the service beside it, while `work(cell)` goes on."""
    config = load_rig(rig_file(folder, detects=detects))
    robot = Robot.from_config(config.robot)
    states, clock = States(), SimulatedClock()
    said: list[str] = []  # why there is no motion
    async with PayloadProcess(robot) as process:
        with private_endpoints() as endpoints:
            standby = Standby(config, clock=clock, endpoints=endpoints, armed=True, sinks=[states])
            streams = {stream.name: stream for stream in standby.streams}
            await process.begin(streams, true_hand(standby.rig.world.truth()), None)
            utc_s = lambda: (clock.now_ns() + clock.utc_offset_ns) * 1e-9  # noqa: E731 - the cell's own time
            link = Link(broker.config, CELL, "payload", utc_s=utc_s)
            motions = (
                WristMotions(standby, process, streams["gripper.state"], said.append) if detects else None
            )
            service = PayloadService(
                process,
                Reporter(sensor_in_flange(robot), by="wrist sensor", origin=clock.now_ns() * 1e-9),
                streams,
                clock=clock,
                cell=CELL,
                out=folder,
                link=link,
                on_update=(lambda pickup: None) if motions is None else motions.update,
            )
            cell = Cell(clock, standby, link, broker)
            obey = link._handlers[EVENTS]

            def hear(event: Any) -> None:
                cell.heard += 1
                obey(event)

            link.hear(EVENTS, hear)
            standby.add_sink(service)
            if motions is not None:
                standby.add_sink(motions)

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
                service.end()
                await thinking
                await driving
    assert said == []
    return service, link, states


@pytest.mark.slow
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


@pytest.mark.slow
async def test_the_wrist_moves_where_the_gripper_itself_tells_of_a_pickup_until_that_ends(
    broker, tmp_path, schema_faults, monkeypatch
) -> None:
    """Everything that can become of a pick-up, and what is said of it, all through."""
    monkeypatch.setattr(WristMotions, "SECONDS", 2.5)
    told: list[dict[str, Any]] = []
    moving: dict[str, bool] = {}

    async def work(cell: Cell) -> None:
        async def wait_and_look(seconds: float, when: str) -> None:
            await cell.wait(seconds)
            moving[when] = cell.standby.state is State.MOVING

        gripper = cell.gripper
        await cell.wait(0.6)
        cell.put("bottle")
        await cell.tell("picked", "by the broker alone")
        await wait_and_look(0.4, "with a weight that only MQTT tells of")
        await cell.tell("released", "by the broker alone, too")
        cell.put(None)
        await cell.wait(0.4)
        await gripper.grip("hammer")
        await wait_and_look(1.0, "with the hammer")
        await wait_and_look(2.5, "with the hammer, later")
        await gripper.release()
        await cell.wait(0.2)
        await gripper.grip("block")
        await wait_and_look(1.0, "with the block")
        cell.put(None)
        await wait_and_look(0.6, "when the block had been dropped")
        await gripper.release()
        await cell.wait(0.3)
        await gripper.grip("block")
        await wait_and_look(1.0, "with the block again")
        cell.put("block", moved=0.03)
        await wait_and_look(0.6, "when the block had slipped")
        await gripper.release()
        await cell.wait(0.3)
        await gripper.grip()
        await cell.wait(0.3)
        await gripper.release()
        await gripper.grip("bottle")
        await wait_and_look(1.0, "at the end")

    async with broker.client() as listener:
        await listener.subscribe(topics.payload(CELL), qos=1)
        await listener.subscribe(topics.payload_event(CELL), qos=1)

        async def listen() -> None:
            async for message in listener.messages:
                told.append(json.loads(message.payload))

        listening = asyncio.create_task(listen())
        service, _, states = await serve(tmp_path, broker, work, detects=True)
        async with asyncio.timeout(5):
            while told[-1]["state"] != "unfinished":  # noqa: ASYNC110 - another program passes it on
                await asyncio.sleep(0.01)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    assert moving == {
        "with a weight that only MQTT tells of": False,
        "with the hammer": True,
        "with the hammer, later": False,
        "with the block": True,
        "when the block had been dropped": False,
        "with the block again": True,
        "when the block had slipped": False,
        "at the end": True,
    }
    assert states.seen == ["connected", "armed", *["moving", "armed"] * 3, "moving", "aborted"]
    last = service.tally.payloads
    ends = ["released", "released", "dropped", "slipped", "nothing", "unfinished"]
    assert [facts["state"] for facts in last.values()] == ends
    assert [facts["source"] for facts in last.values()] == ["mqtt", *["gripper.state"] * 5]
    hammer = [facts for facts in told if facts.get("number") == 2 and "event" not in facts]
    assert "inertia" in hammer[0]["prior_dominated"]
    assert hammer[-1]["prior_dominated"] == []
    assert hammer[-1]["std"]["mass"] < 0.1 * hammer[0]["std"]["mass"]
    truth = yaml.safe_load((tmp_path / "rig.yaml").read_text())["devices"]["gripper"]["objects"]["hammer"]
    xx, yy, zz, xy, xz, yz = truth["inertia"]
    largest = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])[-1]
    assert hammer[-1]["mass"] == pytest.approx(truth["mass"], rel=0.005)
    assert hammer[-1]["principal"]["moments"][0] == pytest.approx(largest, rel=0.05)
    with_motion = Recording.open(tmp_path / "pickup-002.mcap")
    assert len(with_motion.columns("arm.sent")) == 2501
    assert np.all(np.ptp(with_motion.columns("encoders.position").si, axis=0)[4:] > 0.1)
    assert told[0]["state"] == "waiting"
    assert {facts["state"] for facts in told} == {"waiting", "carried", *ends}
    assert [facts["event"] for facts in told if "event" in facts] == [
        *("picked", "released", "picked", "released", "picked", "dropped", "picked", "slipped"),
        *("nothing", "picked", "unfinished"),
    ]
    for facts in told:
        assert schema_faults(facts) == []


@pytest.mark.slow
async def test_an_event_moves_nothing_with_a_weight_or_without_and_a_weight_that_goes_is_a_drop(
    broker, tmp_path
) -> None:
    """The rig is armed, and the wrist would move if the gripper itself told of it."""

    async def work(cell: Cell) -> None:
        await cell.wait(0.6)
        await cell.tell("picked", "of nothing")
        await cell.wait(0.4)
        await cell.tell("released", "of nothing, too")
        await cell.wait(0.3)
        cell.put("block")
        await cell.tell("picked", "of something")
        await cell.wait(0.6)
        cell.put(None)  # nobody tells of it
        await cell.wait(0.6)

    service, _, states = await serve(tmp_path, broker, work, detects=True)
    nothing, dropped = (service.tally.payloads[number] for number in (1, 2))
    assert nothing["state"] == "nothing"
    assert "mass" not in nothing
    assert dropped["state"] == "dropped"
    assert dropped["mass"] == pytest.approx(1.6, rel=0.02)
    assert states.seen == ["connected", "armed", "done"]
