"""What a cell's broker is told of a session: its state, and every stream's health once a second."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from heft.daq.config.rig import load_rig
from heft.daq.config.shipped import CONFIGS
from heft.daq.mqtt import topics
from heft.daq.mqtt.link import Link
from heft.daq.mqtt.session_report import SessionReport

CELL = "bench"
STREAM = "arm.motion"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Link, "FIRST_WAIT_NS", 50_000_000)
    monkeypatch.setattr(Link, "LONGEST_WAIT_NS", 200_000_000)


def reporter(folder: Path, broker: Any) -> SessionReport:
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    rig |= {"cell": CELL, "robot": str(CONFIGS / "robots" / "wam7.yaml")}
    rig["mqtt"] = {"host": "127.0.0.1", "port": broker.config.port, "keepalive_s": 2}
    path = folder / "rig.yaml"
    path.write_text(yaml.safe_dump(rig), encoding="utf-8")
    return SessionReport(load_rig(path), "morning")


def snapshot(seconds: float, received: int) -> dict[str, Any]:
    return {"t_ns": round(seconds * 1e9), "streams": {STREAM: {"received": received, "lost": 0}}}


async def kept(broker: Any, topic: str) -> dict[str, Any]:
    """What someone who comes later is told."""
    async with broker.client() as late:
        await late.subscribe(topic, qos=1)
        async with asyncio.timeout(5):
            message = await anext(aiter(late.messages))
    return dict(json.loads(message.payload))


async def said(broker: Any, topic: str, **facts: Any) -> None:
    async with asyncio.timeout(10):
        while not facts.items() <= (await kept(broker, topic)).items():  # noqa: ASYNC110 - another program
            await asyncio.sleep(0.02)


async def test_state_and_health_once_a_second(broker, tmp_path) -> None:
    told: list[int] = []
    async with broker.client() as listener:
        await listener.subscribe(topics.health(CELL, STREAM), qos=1)

        async def listen() -> None:
            async for message in listener.messages:
                told.append(json.loads(message.payload)["received"])

        listening = asyncio.create_task(listen())
        async with reporter(tmp_path, broker) as report:
            report.state("moving", "")
            for tenth in range(25):
                report.progress(snapshot(1.0 + tenth / 10, tenth))
                await asyncio.sleep(0.02)  # so that each could be said
            await said(broker, topics.session(CELL), state="moving", session="morning")
            await said(broker, topics.health(CELL, STREAM), received=20)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    assert told[-1] == 20
    assert set(told) <= {0, 10, 20}
    assert (await kept(broker, topics.online(CELL, "session")))["online"] is False


async def test_a_broker_that_restarts_is_told_again_and_the_log_says_it_once(
    broker, tmp_path, caplog
) -> None:
    caplog.set_level(logging.INFO, "heft.mqtt")
    async with reporter(tmp_path, broker) as report:
        report.state("connected", "")
        await said(broker, topics.session(CELL), state="connected")
        broker.stop()
        await asyncio.sleep(0.5)  # several attempts
        report.state("moving", "")
        broker.start()
        await said(broker, topics.session(CELL), state="moving")
        await said(broker, topics.online(CELL, "session"), online=True)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
