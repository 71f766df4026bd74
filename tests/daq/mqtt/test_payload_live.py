"""The payload service on the simulated rig, with a real broker beside it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heft.daq.config.shipped import CONFIGS
from heft.daq.mqtt import topics
from heft.daq.recording import Recording
from heft.main import main

CELL = "bench"


def rig_file(folder: Path, broker: Any) -> Path:
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    rig |= {
        "cell": CELL,
        "robot": str(CONFIGS / "robots" / "wam7.yaml"),
        "mqtt": {"host": "127.0.0.1", "port": broker.config.port},
    }
    path = folder / "rig.yaml"
    path.write_text(yaml.safe_dump(rig), encoding="utf-8")
    return path


def session_file(folder: Path, broker: Any) -> Path:
    """The shipped session, shortened: the bare hand, then the block."""
    steps = yaml.safe_load((CONFIGS / "sessions" / "pick_and_weigh.yaml").read_text(encoding="utf-8"))[
        "steps"
    ]
    wrist = steps[0]["fourier"] | {"seconds": 2.5}
    rest = steps[1]["move"] | {"fraction": 0.6}
    session = {
        "name": "short",
        "rig": str(rig_file(folder, broker)),
        "approach_fraction": 0.6,
        "steps": [
            {"name": "bare", "fourier": wrist},
            {"name": "to rest", "move": rest},
            {"name": "still", "wait": 0.4},
            {"name": "take", "grip": "block"},
            {"name": "hold", "wait": 0.5},
            {"name": "weigh", "use": "payload", "fourier": wrist},
            {"name": "let go", "release": True},
            {"name": "empty", "wait": 0.5},
        ],
    }
    path = folder / "session.yaml"
    path.write_text(yaml.safe_dump(session), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.alone
async def test_a_pickup_is_told_on_stdout_by_mqtt_and_in_a_recording_of_its_own(
    broker, tmp_path, schema_faults, capsys
) -> None:
    session = session_file(tmp_path, broker)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "heft.main", "payload", "--live", str(session)),
        *("--speed", "max", "--json", "--out", str(tmp_path / "out")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    events: list[Any] = []
    async with broker.client() as listener:
        await listener.subscribe(topics.payload_event(CELL), qos=1)

        async def listen() -> None:
            async for message in listener.messages:
                events.append(json.loads(message.payload))

        listening = asyncio.create_task(listen())
        out, err = await process.communicate()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    assert process.returncode == 0, err.decode()
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[0]["latency_s"] < 0.1
    assert lines[-1]["state"] == "released"
    assert lines[-1]["mass"] == pytest.approx(1.6, rel=0.005)
    assert [e["event"] for e in events] == ["picked", "released"]
    async with broker.client() as late:  # what is left for those who come later
        kept = {}
        for topic in (topics.payload(CELL), topics.session(CELL), topics.online(CELL, "payload")):
            await late.subscribe(topic)
            async with asyncio.timeout(5):
                kept[topic] = json.loads((await anext(aiter(late.messages))).payload)
    assert kept[topics.payload(CELL)]["state"] == "released"
    assert kept[topics.session(CELL)]["state"] == "done"
    assert kept[topics.online(CELL, "payload")]["online"] is False
    recording = Recording.open(tmp_path / "out" / "pickup-001.mcap")
    assert recording.recovery.complete
    assert main(["payload", str(recording.path), "--json"]) == 0  # it can be weighed again, by itself
    (again,) = json.loads(capsys.readouterr().out)["payloads"]
    assert again["mass"] == pytest.approx(lines[-1]["mass"], abs=lines[-1]["std"]["mass"])
    assert np.all(np.abs(np.subtract(again["com"], lines[-1]["com"])) < lines[-1]["std"]["com"])
    for message in (*lines, *events, kept[topics.payload(CELL)], again):
        assert schema_faults(message) == []


def test_a_session_without_its_broker_goes_on(broker, tmp_path, caplog) -> None:
    rig = rig_file(tmp_path, broker)
    broker.stop()
    session = tmp_path / "session.yaml"
    steps = [{"name": "wait", "wait": 0.5}]
    session.write_text(yaml.safe_dump({"name": "calm", "rig": str(rig), "steps": steps}), encoding="utf-8")
    arguments = ["run", str(session), "--speed", "max", "--no-identify", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert sum("going on without it" in record.message for record in caplog.records) == 1
