"""The session in the Foxglove app: what a client that speaks its protocol is sent."""

from __future__ import annotations

import asyncio
import json
import socket

import numpy as np
import pytest
from websockets.asyncio.client import connect

from heft.daq.bus.message import Message
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream
from heft.identify.bodies.arrays import Array
from heft.service.web.foxglove_live import _quaternion, _turned, serve_foxglove
from heft.service.web.hub import Hub

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
    view = serve_foxglove(port, Hub("", list), "127.0.0.1", lambda: SCENE)
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
