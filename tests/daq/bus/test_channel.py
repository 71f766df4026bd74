"""The socket under every channel: opening, its errors, missed wake-ups, closing."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import zmq
import zmq.asyncio

from heft.daq.bus import (
    ControlClient,
    ControlServer,
    Endpoint,
    Endpoints,
    Publisher,
    StopListener,
    Subscriber,
    private_endpoints,
)
from heft.daq.bus.channel import Channel
from heft.daq.bus.keyring import Keyring
from heft.daq.errors import BusError


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


async def test_a_free_port_becomes_a_number() -> None:
    async with Publisher("tcp://127.0.0.1:*") as publisher:
        assert publisher.endpoint.port


async def test_bind_errors_say_what_to_do(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path / "keys")
    keyring.new()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            BusError, match=f"telemetry cannot bind tcp://127.0.0.1:{port}: it is in use; end"
        ):
            await Publisher(f"tcp://127.0.0.1:{port}").__aenter__()
    with pytest.raises(BusError, match="is not an address of this host; give"):
        await Publisher("tcp://198.51.100.1:5555", keyring=keyring).__aenter__()
    with pytest.raises(BusError, match=r"there is no folder .*none; create it"):
        await Publisher(f"ipc://{tmp_path}/none/telemetry").__aenter__()
    with pytest.raises(BusError, match=r"cannot connect to tcp://\*:5555: name one host and one port"):
        await Subscriber("tcp://*:5555").__aenter__()
    with pytest.raises(BusError, match="inproc needs a context"):
        await Publisher("inproc://telemetry").__aenter__()


async def test_a_listening_session_keeps_its_path_and_a_stale_file_is_taken_over(tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/control"
    async with ControlServer(endpoint, {}):
        with pytest.raises(BusError, match="another session listens there; give another path"):
            await ControlServer(endpoint, {}).__aenter__()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "control"))
    async with ControlServer(endpoint, {}):
        pass


async def test_only_this_user_may_control_and_stop(endpoints: Endpoints) -> None:
    async with ControlServer(endpoints.control, {}), StopListener(endpoints.stop):
        assert stat.S_IMODE(os.stat(endpoints.control.address).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(endpoints.stop.address).st_mode) == 0o600


async def test_used_outside_its_block(endpoints: Endpoints) -> None:
    with pytest.raises(BusError, match="telemetry is not open; use it inside `async with`"):
        Publisher(endpoints.telemetry).publish_json("state", {})
    async with Publisher(endpoints.telemetry) as publisher:
        with pytest.raises(BusError, match="already open"):
            await publisher.__aenter__()


async def test_nothing_is_left_open(endpoints: Endpoints) -> None:
    before, threads = open_files(), threading.active_count()
    for _ in range(3):
        async with (
            Publisher(endpoints.telemetry) as publisher,
            Subscriber(endpoints.telemetry),
            ControlServer(endpoints.control, {}),
            ControlClient(endpoints.control),
            StopListener(endpoints.stop),
        ):
            publisher.publish_json("state", {})
    assert open_files() == before
    assert threading.active_count() == threads
    assert not os.path.exists(endpoints.control.address)  # noqa: ASYNC240


async def test_many_sessions_in_one_process() -> None:
    async with AsyncExitStack() as stack:
        servers = []
        for _ in range(8):
            folder = stack.enter_context(private_endpoints())
            servers.append(await stack.enter_async_context(ControlServer(folder.control, {})))
            await stack.enter_async_context(Publisher(folder.telemetry))
        assert len({str(server.endpoint) for server in servers}) == 8


async def test_one_context_for_all_channels_of_a_session(endpoints: Endpoints) -> None:
    context = zmq.asyncio.Context()
    try:
        async with (
            Publisher("inproc://telemetry", context=context) as publisher,
            Subscriber("inproc://telemetry", context=context) as subscriber,
        ):
            received = asyncio.create_task(subscriber.receive())
            while not received.done():
                publisher.publish_json("state", {"state": "armed"})
                await asyncio.sleep(0)
            assert received.result().json == {"state": "armed"}
        assert not context.closed
    finally:
        context.term()


@pytest.mark.parametrize("ready", ["before the wait", "during the wait"])
async def test_a_missed_wake_up_is_found_by_the_guard(endpoints: Endpoints, ready: str) -> None:
    """The descriptor never tells: the loop is not allowed to watch it (pyzmq issue 2173)."""
    sender, receiver = Channel("test", zmq.PUSH), Channel("test", zmq.PULL, guard_s=0.01)
    try:
        receiver.bind(endpoints.control)
        sender.connect(endpoints.control)
        assert receiver._socket is not None
        descriptor = receiver._socket.getsockopt(zmq.FD)
        waiting = asyncio.create_task(receiver.receive())
        await asyncio.sleep(0)  # it waits now, and watches its descriptor
        assert asyncio.get_running_loop().remove_reader(descriptor)
        if ready == "before the wait":
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await sender.send([b"late"])
            waiting = asyncio.create_task(receiver.receive())
        else:
            await sender.send([b"late"])
        assert await waiting == [b"late"]
    finally:
        waiting.cancel()
        sender.close()
        receiver.close()


async def test_a_flood_lets_other_tasks_run(endpoints: Endpoints) -> None:
    sender, receiver = Channel("test", zmq.PUSH), Channel("test", zmq.PULL)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    try:
        receiver.bind(endpoints.control)
        sender.connect(endpoints.control)
        for _ in range(1000):
            await sender.send([b"x"])
        task = asyncio.create_task(other())
        for _ in range(1000):
            await receiver.receive()
        assert turns >= 5
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    finally:
        sender.close()
        receiver.close()


async def test_a_cancelled_receive_loses_nothing(endpoints: Endpoints) -> None:
    sender, receiver = Channel("test", zmq.PUSH), Channel("test", zmq.PULL)
    got: list[bytes] = []

    async def read() -> None:
        while True:
            got.append((await receiver.receive())[0])

    try:
        receiver.bind(Endpoint.parse(endpoints.control))
        sender.connect(endpoints.control)
        for number in range(50):
            task = asyncio.create_task(read())
            for _ in range(number % 4):
                await asyncio.sleep(0)
            await sender.send([b"%d" % number])
            for _ in range(number % 7):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        while len(got) < 50:
            got.append((await receiver.receive())[0])
        assert got == [b"%d" % number for number in range(50)]
    finally:
        sender.close()
        receiver.close()
