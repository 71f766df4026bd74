"""The channel for followers: what one gets, who is waited for, and that nothing else can be done there."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
import zmq

from heft.daq import topics
from heft.daq.bus import Endpoint, Subscriber
from heft.daq.bus.requests import RequestClient
from heft.daq.errors import BusError, RemoteError
from heft.daq.following import server as server_module
from heft.daq.following.client import FollowClient
from heft.daq.following.messages import Ending, RecordedBytes, SessionInfo
from heft.daq.following.source import Source

if TYPE_CHECKING:
    from tests.daq.following.conftest import Growing


def id_of(source: Source) -> str:
    return source.server.info.session


def test_messages_survive_the_way() -> None:
    info = SessionInfo("id", "short", True, 5)
    assert SessionInfo.decode(info.encode()) == info
    for piece in (RecordedBytes(b"xyz", 7, Ending("done", "why")), RecordedBytes(b"", 0)):
        assert RecordedBytes.decode(*piece.encode()) == piece
    with pytest.raises(BusError, match="another version"):
        SessionInfo.decode({})
    with pytest.raises(BusError, match="another version"):
        RecordedBytes.decode({"size": 3}, ())


@pytest.mark.parametrize("name", ["", "..", "../x", "/etc/x", "a/b", "x\0"])
def test_names_that_leave_a_followers_folder_are_refused(name: str) -> None:
    for info in (SessionInfo("id", name, False, 0), SessionInfo(name, "short", False, 0)):
        with pytest.raises(BusError, match="no name of a file"):
            SessionInfo.decode(info.encode())


async def test_a_follower_gets_the_recording_as_it_grows(
    source: Source, client: FollowClient, growing: Growing
) -> None:
    with pytest.raises(RemoteError, match="just beginning; ask again"):
        await client.describe()
    source.begin(growing.path)
    info = await client.describe()
    assert info == SessionInfo(source.publisher.session, "short", False, 77)
    data = growing.write(3)
    piece = await client.read(info.session, 0)
    assert piece == RecordedBytes(data, len(data))
    assert (await client.read(info.session, 5, 10)).data == data[5:15]
    more = growing.write(2)
    assert (await client.read(info.session, len(data))).data == more[len(data) :]
    whole = growing.finish()  # and renamed
    source.server.end(Ending("aborted", "a hand"))
    last = await client.read(info.session, len(more))
    assert last == RecordedBytes(whole[len(more) :], len(whole), Ending("aborted", "a hand"))
    assert (await client.read(info.session, len(whole) + 5)).data == b""


async def test_an_answer_is_bounded(
    source: Source, client: FollowClient, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "READ_BYTES", 500)
    source.begin(growing.path)
    data = growing.write(50)
    assert len(data) > 600
    assert await client.read(id_of(source), 10, 2**60) == RecordedBytes(data[10:510], len(data))


async def test_a_follower_with_many_requests_is_told_to_wait(
    source: Source, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.begin(growing.path)
    growing.write(1)
    gate, read = threading.Event(), server_module._read

    def held(*arguments: Any) -> tuple[bytes, int]:
        gate.wait(5.0)
        return read(*arguments)

    monkeypatch.setattr(server_module, "_read", held)
    clients = [FollowClient(source.server.endpoint, "greedy") for _ in range(3)]
    for client in clients:
        await client.__aenter__()
    reads = [asyncio.create_task(client.read(id_of(source), 0)) for client in clients]
    done, _ = await asyncio.wait(reads, return_when=asyncio.FIRST_COMPLETED)
    assert "wait for them" in str(done.pop().exception())
    gate.set()
    assert (
        sum(isinstance(one, RecordedBytes) for one in await asyncio.gather(*reads, return_exceptions=True))
        == 2
    )
    for client in clients:
        await client.__aexit__()


async def test_one_who_sends_too_much_is_disconnected_and_the_others_are_served(
    source: Source, client: FollowClient, growing: Growing
) -> None:
    source.begin(growing.path)
    data = growing.write(1)
    async with RequestClient("following", source.server.endpoint, timeout_s=0.5) as rude:
        with pytest.raises(BusError, match="did not answer"):
            await rude.request("describe", buffers=[bytes(server_module.REQUEST_BYTES + 1)])
    assert (await client.read(id_of(source), 0)).data == data


async def test_only_so_many_may_follow(
    source: Source, client: FollowClient, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "MOST_FOLLOWERS", 1)
    source.begin(growing.path)
    await client.read(id_of(source), 0)
    async with FollowClient(source.server.endpoint, "other") as other:
        with pytest.raises(RemoteError, match="come back later"):
            await other.read(id_of(source), 0)
        await client.leave(id_of(source))
        await other.read(id_of(source), 0)


async def test_what_a_follower_says_is_on_the_bus(
    source: Source, client: FollowClient, growing: Growing
) -> None:
    source.begin(growing.path)
    async with Subscriber(source.publisher.endpoint, [topics.WORKERS]) as telemetry:
        heard = asyncio.create_task(telemetry.receive())
        while not heard.done():
            await client.tell(id_of(source), "progress", {"rank": 3})
            await asyncio.sleep(0.01)
    message = heard.result()
    assert (message.topic, message.json) == ("worker/worker/progress", {"rank": 3})


async def test_requests_that_make_no_sense_are_refused(
    source: Source, client: FollowClient, growing: Growing
) -> None:
    source.begin(growing.path)
    with pytest.raises(RemoteError, match="not another"):
        await client.read("another", 0)
    for offset, length in ((-1, 5), (0, -5), ("x", 5), (0, 1.5), (2**63, 1), (True, 1)):
        with pytest.raises(RemoteError, match="read: give offset and length"):
            await client.read(id_of(source), offset, length)  # type: ignore[arg-type]
    with pytest.raises(RemoteError, match="small letters"):
        await client.tell(id_of(source), "../state", {})
    async with FollowClient(source.server.endpoint, "a/b") as rude:
        with pytest.raises(RemoteError, match="letters, digits"):
            await rude.leave(id_of(source))
    async with RequestClient("following", source.server.endpoint) as arm:
        with pytest.raises(RemoteError, match="no command 'play'; there are describe, leave, read, tell"):
            await arm.request("play")


async def test_the_end_waits_until_a_follower_has_everything(
    source: Source, client: FollowClient, growing: Growing
) -> None:
    source.begin(growing.path)
    size = len(growing.write(1))
    await client.read(id_of(source), 0)
    ending = asyncio.create_task(source.end("done", "", {}))
    await asyncio.sleep(0.05)
    assert not ending.done()
    await client.read(id_of(source), size)
    await asyncio.wait_for(ending, 2.0)


async def test_a_follower_that_is_expected_is_waited_for_until_it_leaves_or_dies(
    source: Source, client: FollowClient, growing: Growing
) -> None:
    source.begin(growing.path)
    ending = asyncio.create_task(source.end("done", "", {"worker": lambda: True}))
    await client.read(id_of(source), 0)
    await asyncio.sleep(0.05)
    assert not ending.done()
    await client.leave(id_of(source))
    await asyncio.wait_for(ending, 2.0)
    await asyncio.wait_for(source.end("done", "", {"other": lambda: False}), 2.0)


async def test_nobody_waits_for_one_who_fell_silent(
    source: Source, client: FollowClient, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "SILENT_S", 0.05)
    source.begin(growing.path)
    await client.read(id_of(source), 0)
    growing.write(1)
    await asyncio.wait_for(source.end("done", "", {"worker": lambda: True}), 5.0)


async def test_nobody_waits_for_one_who_gets_no_further(
    source: Source, client: FollowClient, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "SILENT_S", 0.3)
    source.begin(growing.path)
    growing.write(1)
    await client.read(id_of(source), 0)
    ending = asyncio.create_task(source.end("done", "", {}))
    while not ending.done():  # it is heard all the time
        await client.read(id_of(source), 0)
        await asyncio.sleep(0.01)


async def test_nobody_waits_for_ever_for_one_who_never_came(
    source: Source, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that stalled before its first word is alive all the same."""
    monkeypatch.setattr(server_module, "LOADING_S", 0.05)
    source.begin(growing.path)
    await asyncio.wait_for(source.end("done", "", {"worker": lambda: True}), 5.0)


async def test_waiting_can_be_given_up(source: Source, growing: Growing) -> None:
    source.begin(growing.path)
    ending = asyncio.create_task(source.end("done", "", {"worker": lambda: True}))
    await asyncio.sleep(0.01)
    source.server.release()
    await asyncio.wait_for(ending, 2.0)


@pytest.mark.parametrize(
    ("telemetry", "following"),
    [
        ("tcp://192.0.2.7:5570", "tcp://192.0.2.7:5571"),
        ("tcp://*:5570", "tcp://*:5571"),
        ("tcp://127.0.0.1:*", "tcp://127.0.0.1:*"),
        ("ipc:///run/heft/t", "ipc:///run/heft/t.following"),
        ("inproc://x", "inproc://x.following"),
    ],
)
def test_where_followers_are_served(telemetry: str, following: str) -> None:
    assert str(Endpoint.parse(telemetry).following) == following


def test_there_is_no_port_behind_the_last_one() -> None:
    with pytest.raises(BusError, match="65536 is above 65535"):
        _ = Endpoint.parse("tcp://127.0.0.1:65535").following


def ask_plainly(endpoint: str, *parts: bytes) -> list[bytes] | None:
    """A request by ZMQ alone; None where no answer comes."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(endpoint)
        socket.send_multipart([b"1", *parts])
        return socket.recv_multipart() if socket.poll(5000) else None


async def test_followers_do_not_depend_on_the_sessions_loop_nor_it_on_them(
    source: Source, growing: Growing
) -> None:
    """They are answered while it stands still: what they cost is another thread's."""
    source.begin(growing.path)
    answers: list[list[bytes] | None] = []
    asking = threading.Thread(
        target=lambda: answers.append(ask_plainly(str(source.server.endpoint), b"describe", b"{}"))
    )
    asking.start()
    asking.join()  # and the loop with it
    assert answers[0] is not None
    assert answers[0][1] == b"ok"


@pytest.mark.parametrize(
    "payload",
    [
        b"[" + b"0," * 40_000 + b"0]",
        b"[" * 50_000,
        b'{"a":' * 40 + b"1" + b"}" * 40,
        b"NaN",
        b"1" * 5000,
        b"\xff",
    ],
)
async def test_json_without_bounds_is_refused(
    source: Source, client: FollowClient, growing: Growing, payload: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    source.begin(growing.path)
    answer = await asyncio.to_thread(ask_plainly, str(source.server.endpoint), b"describe", payload)
    assert answer is not None
    assert answer[1] == b"error"
    assert b"cannot be read" in answer[2]
    assert "Traceback" not in caplog.text
    assert await client.describe()


async def test_requests_of_one_connection_are_bounded(
    source: Source, client: FollowClient, growing: Growing
) -> None:
    """Who asks without reading is refused, and may lose answers beyond the high-water mark; others are served."""
    source.begin(growing.path)
    text = json.dumps({"session": id_of(source), "follower": "greedy", "what": "progress"}).encode()

    def flood() -> list[bytes]:
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.setsockopt(zmq.LINGER, 0)
            socket.connect(str(source.server.endpoint))
            for number in range(200):
                socket.send_multipart([b"%d" % number, b"tell", text, b"{}"])
            answers = []
            while len(answers) < 200 and socket.poll(2000):
                answers.append(socket.recv_multipart()[1])
            return answers

    answers = await asyncio.to_thread(flood)
    assert answers.count(b"error") > 100
    assert await client.describe()


async def test_nobody_waits_for_one_who_gets_on_byte_by_byte(
    source: Source, client: FollowClient, growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger that polls does not keep a session from ending, whatever he calls himself."""
    monkeypatch.setattr(server_module, "SILENT_S", 0.5)
    source.begin(growing.path)
    growing.write(3)
    ending = asyncio.create_task(source.end("done", "", {}))
    async with asyncio.timeout(30.0):
        for offset in itertools.count():
            if ending.done():
                break
            await client.read(id_of(source), offset)
            async with FollowClient(source.server.endpoint, f"stranger{offset}") as stranger:
                await stranger.read(id_of(source), 0, 1)
