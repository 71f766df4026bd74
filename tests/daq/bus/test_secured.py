"""The bus with keys: who is let in, for what, what a refused one hears, and what strangers cannot do."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import zmq

from heft.daq import topics
from heft.daq.bus import (
    ControlClient,
    ControlServer,
    Endpoint,
    Publisher,
    Reply,
    Request,
    StopListener,
    Subscriber,
    send_stop,
)
from heft.daq.bus import guard as guard_module
from heft.daq.bus.channel import Channel
from heft.daq.bus.keyring import Keyring, Role
from heft.daq.errors import BusError, NotAuthorised

HERE = "curve+tcp://127.0.0.1:0"


@pytest.fixture
def session(tmp_path: Path) -> Keyring:
    """Keys of whoever runs the session."""
    keyring = Keyring(tmp_path / "session" / "keys")
    keyring.new()
    return keyring


@pytest.fixture
def peer(tmp_path: Path, session: Keyring) -> Keyring:
    """Keys of somebody else, who trusts that session."""
    keyring = Keyring(tmp_path / "peer" / "keys")
    keyring.new()
    keyring.trust("127.0.0.1", session.own().public)
    return keyring


async def state(request: Request) -> Reply:
    return Reply({"state": "moving"})


async def within_a_second(attempt: Awaitable[object]) -> str:
    with pytest.raises(NotAuthorised, match="not authorised") as refused:
        async with asyncio.timeout(1.0):
            await attempt
    return str(refused.value)


async def test_telemetry_is_for_those_who_may_observe(session: Keyring, peer: Keyring) -> None:
    async with Publisher(HERE, keyring=session) as publisher:
        async with Subscriber(publisher.endpoint, keyring=peer) as stranger:
            words = await within_a_second(stranger.receive())
            assert f"`heft keys allow NAME '{peer.own().public}' --may observe`" in words
            assert peer.own().secret not in words
        session.allow("bench", peer.own().public, [Role.OBSERVE])
        async with Subscriber(publisher.endpoint, [topics.EVENT], keyring=peer) as subscriber:
            received = asyncio.create_task(subscriber.receive())
            while not received.done():
                publisher.publish_json(topics.EVENT, {"name": "x"})
                await asyncio.sleep(0.01)
            assert received.result().json == {"name": "x"}


async def test_control_and_stop_are_for_those_who_may(session: Keyring, peer: Keyring) -> None:
    session.allow("bench", peer.own().public, [Role.OBSERVE])
    async with (
        ControlServer(HERE, {"state": state}, keyring=session) as control,
        StopListener(HERE, keyring=session) as stop,
    ):
        async with ControlClient(control.endpoint, keyring=peer) as client:
            assert "--may control" in await within_a_second(client.request("state"))
        assert "--may stop" in await within_a_second(send_stop(stop.endpoint, "x", keyring=peer))
        session.allow("bench", peer.own().public, [Role.STOP])
        heard = asyncio.create_task(stop.wait())
        await send_stop(stop.endpoint, "smoke", keyring=peer)
        assert await heard == "bench: smoke"  # by name
        async with ControlClient(control.endpoint, keyring=peer) as client:
            await within_a_second(client.request("state"))
        session.allow("bench", peer.own().public, [Role.CONTROL])
        async with ControlClient(control.endpoint, keyring=peer) as client:
            assert (await client.request("state")).payload == {"state": "moving"}


async def test_who_is_revoked_is_not_let_in_again(session: Keyring, peer: Keyring) -> None:
    session.allow("bench", peer.own().public, [Role.CONTROL])
    async with ControlServer(HERE, {"state": state}, keyring=session) as control:
        async with ControlClient(control.endpoint, keyring=peer) as client:
            await client.request("state")
        session.revoke("bench")
        async with ControlClient(control.endpoint, keyring=peer) as client:
            await within_a_second(client.request("state"))


async def test_the_user_of_the_session_needs_no_leave(session: Keyring) -> None:
    async with (
        ControlServer(HERE, {"state": state}, keyring=session) as control,
        ControlClient(control.endpoint, keyring=session) as client,
    ):
        assert (await client.request("state")).payload == {"state": "moving"}


async def test_one_without_any_key_is_told_so(session: Keyring) -> None:
    async with ControlServer(HERE, {"state": state}, keyring=session) as control:
        plain = Endpoint.parse(control.endpoint.wire)
        async with ControlClient(plain) as client:
            assert "asks for keys; use curve+tcp://" in await within_a_second(client.request("state"))


async def test_an_impostor_gets_nothing(session: Keyring, peer: Keyring, tmp_path: Path) -> None:
    """One who answers in place of the session, with another key or with none, hears no command."""
    heard: list[str] = []

    async def note(request: Request) -> None:
        heard.append(request.name)

    impostor = Keyring(tmp_path / "impostor")
    impostor.new()
    impostor.allow("bench", peer.own().public, list(Role))
    for server in (
        ControlServer(HERE, {"play": note}, keyring=impostor),
        ControlServer("tcp://127.0.0.1:0", {"play": note}),
    ):
        async with server:
            believed = Endpoint.parse(f"curve+{server.endpoint.wire}")
            async with ControlClient(believed, keyring=peer) as client:
                assert "has not the key that is known as 127.0.0.1's" in await within_a_second(
                    client.request("play")
                )
    assert heard == []


async def served(control: ControlServer, keyring: Keyring) -> bool:
    async with ControlClient(control.endpoint, keyring=keyring, timeout_s=10.0) as client:
        return (await client.request("state")).payload == {"state": "moving"}


GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(100_000),
        GREETING,
        GREETING + b"\x06" + struct.pack(">Q", 1 << 62),  # a command of 4 EiB
        GREETING + b"\x06" + struct.pack(">Q", 1 << 30) + bytes(200_000),
        GREETING + b"\x04\xc8\x05HELLO" + bytes(194),
        GREETING.replace(b"CURVE", b"NULL\0"),
        b"\xff" * 5000,
    ],
)
async def test_whatever_a_stranger_says_others_are_served(session: Keyring, said: bytes) -> None:
    async with ControlServer(HERE, {"state": state}, keyring=session) as control:
        address = (control.endpoint.address, control.endpoint.port)
        with contextlib.ExitStack() as stack:
            for _ in range(5):
                stranger = stack.enter_context(socket.create_connection(address))
                with contextlib.suppress(OSError):
                    stranger.sendall(said)
            assert await served(control, session)


async def test_too_many_connections_close_the_port_for_a_while(
    session: Keyring, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guard_module, "MOST_CONNECTIONS", 10)
    async with (
        ControlServer(HERE, {"state": state}, keyring=session) as control,
        ControlClient(control.endpoint, keyring=session) as inside,
    ):
        await inside.request("state")
        address = (control.endpoint.address, control.endpoint.port)
        with contextlib.ExitStack() as stack:
            async with asyncio.timeout(20.0):
                while "too many connections" not in caplog.text:
                    with contextlib.suppress(OSError):
                        stack.enter_context(socket.create_connection(address, timeout=1.0))
                    await asyncio.sleep(0.005)
            async with asyncio.timeout(20.0):  # ZMQ closes it in a thread of its own
                refused = False
                while not refused:
                    try:
                        socket.create_connection(address, timeout=1.0).close()
                    except ConnectionRefusedError:
                        refused = True
                    await asyncio.sleep(0.001)
        async with asyncio.timeout(20.0):
            while True:
                with contextlib.suppress(BusError):  # it comes back by itself
                    await inside.request("state", timeout_s=0.5)
                    break


async def test_who_does_not_show_a_key_is_cut(session: Keyring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "HANDSHAKE_MS", 100)
    async with ControlServer(HERE, {"state": state}, keyring=session) as control:
        address = (control.endpoint.address, control.endpoint.port)
        reader, writer = await asyncio.open_connection(*address)
        async with asyncio.timeout(5.0):
            await reader.read(-1)  # to its end
        writer.close()


@pytest.mark.parametrize("size", [5000, 1 << 22])
async def test_a_peer_that_sends_too_much_is_disconnected(size: int) -> None:
    """Also where no keys are asked for."""
    async with StopListener("tcp://127.0.0.1:0") as stop:
        sender = Channel("test", zmq.DEALER)
        sender.connect(stop.endpoint)
        heard = asyncio.create_task(stop.wait())
        await sender.send([bytes(size)])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await sender.receive()
        sender.close()
        await send_stop(stop.endpoint, "now")
        assert await heard == "now"


async def test_a_stop_says_one_printable_line(make_stop: Callable[[bytes], Awaitable[str]]) -> None:
    assert await make_stop(b"a\x1b[2J\nb\x00\tc\xe2\x80\xaed") == "a [2J b c d"
    assert await make_stop(b"\x1b\n") == "no reason given"


@pytest.fixture
def make_stop() -> Callable[[bytes], Awaitable[str]]:
    async def make(said: bytes) -> str:
        async with StopListener("tcp://127.0.0.1:0") as stop:
            sender = Channel("test", zmq.DEALER)
            sender.connect(stop.endpoint)
            await sender.send([said])
            try:
                return await stop.wait()
            finally:
                sender.close()

    return make


async def test_a_flood_of_stops_is_acknowledged_and_not_recorded_for_ever() -> None:
    async with StopListener("tcp://127.0.0.1:0") as stop:
        reasons: list[str] = []

        async def listen() -> None:
            async for reason in stop:
                reasons.append(reason)

        task = asyncio.create_task(listen())
        sender = Channel("test", zmq.DEALER)
        sender.connect(stop.endpoint)
        for _ in range(300):
            await sender.send([b"again"])
            await sender.receive()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        sender.close()
    assert len(reasons) == 100
