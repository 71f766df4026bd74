"""The session in the Foxglove app: what a client that speaks its protocol is sent."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from heft.daq.bus.control import ControlServer, Reply, Request
from heft.daq.bus.message import Message
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream
from heft.identify.bodies.arrays import Array
from heft.service.web.foxglove_live import _quaternion, _turned, serve_foxglove
from heft.service.web.hub import Hub
from heft.service.web_process import Played, Showing

pytest.importorskip("foxglove")

STREAM = Stream(
    "arm.motion", (Column("joint1", "position", "rad"), Column("joint1", "velocity", "rad/s")), 100.0
)
SCENE = {
    "joints": [
        {"name": "joint1", "link": "link1", "parent": -1, "place": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0.3],
         "axis": [0, 0, 1], "prismatic": False}
    ]
}  # fmt: skip


def rotation(x: float, y: float, z: float, w: float) -> Array:
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


@pytest.mark.parametrize("angle", [0.0, 0.3, -2.0, np.pi, 3.0])
def test_a_quaternion_is_the_rotation_it_was_made_of(angle: float) -> None:
    axis = np.array([0.6, 0.0, 0.8])
    np.testing.assert_allclose(rotation(*_quaternion(_turned(axis, angle))), _turned(axis, angle), atol=1e-12)


async def test_joint_states_and_transforms_are_advertised_and_sent() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    view = serve_foxglove(Showing("title", foxglove=port), Hub("", list), lambda: SCENE)
    try:
        async with connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"]) as client:  # type: ignore[list-item]
            topics: dict[str, int] = {}
            while "/joint_states" not in topics or "/tf" not in topics:
                told = json.loads(await asyncio.wait_for(client.recv(), 5))
                topics |= {one["topic"]: one["id"] for one in told.get("channels", [])}
            wanted = [{"id": k, "channelId": topics[t]} for k, t in enumerate(("/joint_states", "/tf"))]
            await client.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
            await asyncio.sleep(0.2)
            times = np.array([5_000_000_000], dtype=np.int64)
            block = Block(STREAM, 0, times, np.array([[0.5, 0.1]]), np.zeros((1, 2), dtype=np.uint8))
            view.hear(Message("block/arm.motion", "session", 0, False, block=block))
            got = {(await asyncio.wait_for(client.recv(), 5))[1:5] for _ in range(2)}
            assert len(got) == 2
    finally:
        view.close()


async def test_it_listens_at_the_loopback_wherever_the_page_does() -> None:
    """Its server asks for no token, and speaks no TLS."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    view = serve_foxglove(Showing("title", host="0.0.0.0", foxglove=port), Hub("", list), lambda: SCENE)
    try:
        with socket.socket() as sock, pytest.raises(ConnectionRefusedError):
            sock.connect(("127.0.0.2", port))
    finally:
        view.close()


@pytest.mark.parametrize(
    ("origin", "taken"),
    [
        (None, True),
        ("file://", True),
        ("https://app.foxglove.dev", True),
        ("http://localhost:8080", True),
        ("http://app.foxglove.dev", False),
        ("https://evil.example", False),
        ("https://foxglove.dev.evil.example", False),
        ("https://evilfoxglove.dev", False),
        ("null", False),
    ],
)
async def test_no_web_site_but_foxgloves_own_may_connect(origin: str | None, taken: bool) -> None:
    """A websocket of any page in a browser of this host reaches the loopback."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    view = serve_foxglove(Showing("title", foxglove=port), Hub("", list), lambda: SCENE)
    where: Any = {"uri": f"ws://127.0.0.1:{port}", "subprotocols": ["foxglove.sdk.v1"], "origin": origin}
    try:
        if taken:
            async with connect(**where) as client:
                assert json.loads(await asyncio.wait_for(client.recv(), 5))["op"] == "serverInfo"
        else:
            with pytest.raises(InvalidStatus) as refused:
                await connect(**where)
            assert refused.value.response.status_code == 403
            assert b"a web site may not connect" in refused.value.response.body
    finally:
        view.close()


async def test_the_player_of_a_replay_pauses_and_seeks() -> None:
    """What the app's player sends, by the protocol; the replay's own control channel is asked, and answers are told."""
    asked: list[tuple[str, dict[str, float]]] = []

    def handler(name: str) -> Any:
        async def handle(request: Request) -> Reply:
            asked.append((name, dict(request.payload)))
            return Reply({})

        return handle

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    async with ControlServer(
        "ipc://@heft-test-playback", {name: handler(name) for name in ("pause", "resume", "seek")}
    ) as control:
        played = Played(1_000_000_000, 61_000_000_000, 2.0)
        showing = Showing("replay", control=str(control.endpoint), foxglove=port, played=played)
        view = serve_foxglove(showing, Hub("", list), lambda: SCENE)
        try:
            async with connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"]) as client:  # type: ignore[list-item]
                told = json.loads(await asyncio.wait_for(client.recv(), 5))
                assert "playbackControl" in told["capabilities"]
                request = struct.pack("<BBfBQI", 3, 1, 1.0, 1, 31_000_000_000, 2) + b"r1"
                await client.send(request)
                while True:
                    answer = await asyncio.wait_for(client.recv(), 5)
                    if isinstance(answer, bytes) and b"r1" in answer:
                        break
                assert asked == [("seek", {"seconds": 30.0}), ("pause", {})]
                assert struct.pack("<Q", 31_000_000_000) in answer
                progress = {"seconds_done": 60.0, "seconds_total": 60.0, "state": "replay"}
                view.hear(Message("progress", "session", 0, True, json=progress))
                end = struct.pack("<Q", played.end_ns)
                while (
                    not isinstance(told := await asyncio.wait_for(client.recv(), 5), bytes) or end not in told
                ):
                    pass
        finally:
            view.close()


async def test_estimates_are_parameters_that_nobody_sets() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    view = serve_foxglove(Showing("title", foxglove=port), Hub("", list), lambda: SCENE)

    def hear(topic: str, facts: dict[str, Any]) -> None:
        view.hear(Message(topic, "session", 0, False, json=facts))

    async def parameters(client: Any) -> dict[str, Any]:
        while True:
            told = await asyncio.wait_for(client.recv(), 5)
            if isinstance(told, str) and (facts := json.loads(told))["op"] == "parameterValues":
                return {one["name"]: one.get("value") for one in facts["parameters"]}

    try:
        async with connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"]) as client:  # type: ignore[list-item]
            assert "parameters" in json.loads(await asyncio.wait_for(client.recv(), 5))["capabilities"]
            names = ["session/rank", "base/link2.m", "payload/mass"]
            await client.send(json.dumps({"op": "subscribeParameterUpdates", "parameterNames": names}))
            await asyncio.sleep(0.2)
            progress = {
                "of": 50,
                "rank": 40,
                "total_mass": 25.0,
                "base": {"link2.m": [2.0, 0.5], "link3.m": [1.0, None]},
            }
            hear("worker/worker/progress", progress)
            assert await parameters(client) == {"session/rank": [40, 50], "base/link2.m": [2.0, 0.98]}
            hear("worker/worker/progress", {**progress, "base": {"link2.m": [2.1, 0.25]}})
            assert await parameters(client) == {"base/link2.m": [2.1, 0.49]}  # what has changed
            payload = {
                "number": 1,
                "mass": 0.5,
                "std": {"mass": 0.01},
                "com": [0.0, 0.0, 0.1],
                "recognition": None,
            }
            hear("payload", payload)
            assert await parameters(client) == {"payload/mass": [0.5, 0.0196]}
            wrong = [{"name": "base/link2.m", "value": [9.0, 0.0]}]
            await client.send(json.dumps({"op": "setParameters", "parameters": wrong, "id": "s"}))
            assert await parameters(client) == {"base/link2.m": [2.1, 0.49]}
            await client.send(json.dumps({"op": "getParameters", "parameterNames": [], "id": "g"}))
            while "session/total_mass" not in (told := await parameters(client)):
                pass  # what was set is told to those who follow it, too
            assert set(told) >= {"payload/com", "base/link2.m"}
            assert "base/link3.m" not in told  # the motion has not told it
    finally:
        view.close()
