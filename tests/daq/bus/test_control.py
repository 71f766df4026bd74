"""Requests, their answers, and what happens without one."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import zmq

from heft.daq.bus import ControlClient, ControlServer, Endpoints, Reply, Request, setpoint_codec
from heft.daq.bus.channel import Channel
from heft.daq.clock import SimulatedClock
from heft.daq.errors import BusError, RemoteError
from heft.drivers import Setpoints
from heft.drivers.errors import CommandError


def chunk(sequence: int = 0, n: int = 5) -> Setpoints:
    values = np.random.default_rng(sequence).normal(size=(n, 7))
    return Setpoints(sequence, np.arange(1, n + 1) * 1_000_000, values, values + 1, values + 2, last=True)


async def test_setpoints_arrive_as_they_were_and_in_order(endpoints: Endpoints) -> None:
    played: list[Setpoints] = []

    async def play(request: Request) -> Reply:
        played.append(setpoint_codec.decode(request.payload, request.buffers))
        return Reply({"queued": len(played)}, (played[-1].host_ns.data,))

    async with ControlServer(endpoints.control, {"play": play}), ControlClient(endpoints.control) as client:
        for index in range(20):
            reply = await client.request("play", *setpoint_codec.encode(chunk(5 * index)))
            assert reply.payload == {"queued": index + 1}
            assert reply.buffers == (chunk().host_ns.tobytes(),)
    assert [c.sequence for c in played] == list(range(0, 100, 5))
    assert played[3].position.tobytes() == chunk(15).position.tobytes()
    assert played[3].last


async def test_a_chunk_in_flight_keeps_simulated_time_still(endpoints: Endpoints) -> None:
    clock = SimulatedClock()
    seen: list[tuple[int, int]] = []

    async def play(request: Request) -> None:
        before = clock.now_ns()
        for _ in range(20):
            await asyncio.sleep(0.001)
        seen.append((before, clock.now_ns()))

    async def drive() -> None:
        with clock.participant("drive"):
            for tick in range(1, 101):
                await clock.sleep_until(1_000_000_000 + tick * 1_000_000)

    async with ControlServer(endpoints.control, {"play": play}), ControlClient(endpoints.control) as client:
        with clock.hold():
            drive_task = asyncio.create_task(drive())
        for _ in range(3):
            with clock.hold():
                await client.request("play")
        await drive_task
    assert all(before == after for before, after in seen)


async def test_errors_come_back_in_the_words_of_the_handler(
    endpoints: Endpoints, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(request: Request) -> None:
        raise CommandError("arm", "setpoint 4 was due 3 ms ago; send further ahead")

    async def break_down(request: Request) -> None:
        raise ZeroDivisionError("division by zero")

    handlers = {"refuse": refuse, "break_down": break_down}
    async with ControlServer(endpoints.control, handlers), ControlClient(endpoints.control) as client:
        with pytest.raises(RemoteError, match=r"^refuse: arm: setpoint 4 was due 3 ms ago") as error:
            await client.request("refuse")
        assert error.value.kind == "CommandError"
        assert error.value.text == "arm: setpoint 4 was due 3 ms ago; send further ahead"
        with pytest.raises(RemoteError, match="internal error: ZeroDivisionError: division by zero"):
            await client.request("break_down")
        assert "ZeroDivisionError" in caplog.text
        with pytest.raises(RemoteError, match="no command 'dance'; there are break_down, refuse"):
            await client.request("dance")


async def test_requests_beside_each_other(endpoints: Endpoints) -> None:
    """A long command does not keep another client's short one waiting."""
    release = asyncio.Event()

    async def long(request: Request) -> None:
        await release.wait()

    async def short(request: Request) -> None:
        release.set()

    async with (
        ControlServer(endpoints.control, {"long": long, "short": short}),
        ControlClient(endpoints.control) as one,
        ControlClient(endpoints.control) as other,
    ):
        waiting = asyncio.create_task(one.request("long"))
        await other.request("short")
        await waiting


async def test_one_client_takes_turns(endpoints: Endpoints) -> None:
    async def echo(request: Request) -> Reply:
        await asyncio.sleep(0)
        return Reply(request.payload)

    async with ControlServer(endpoints.control, {"echo": echo}), ControlClient(endpoints.control) as client:
        replies = await asyncio.gather(*(client.request("echo", {"n": n}) for n in range(20)))
    assert [reply.payload["n"] for reply in replies] == list(range(20))


async def test_no_session_is_an_error_and_the_request_is_never_carried_out(endpoints: Endpoints) -> None:
    carried_out = []

    async def move(request: Request) -> None:
        carried_out.append(request.payload["n"])

    async with ControlClient(endpoints.control, timeout_s=0.05) as client:
        with pytest.raises(
            BusError, match=r"move: the session at ipc://.* cannot be reached within 0.05 s; check"
        ):
            await client.request("move", {"n": 1})
        async with ControlServer(endpoints.control, {"move": move}):
            await client.request("move", {"n": 2}, timeout_s=10.0)
    assert carried_out == [2]


async def test_a_late_answer_is_not_taken_for_the_next(endpoints: Endpoints) -> None:
    release = asyncio.Event()

    async def slow(request: Request) -> Reply:
        await release.wait()
        return Reply({"from": "slow"})

    async def quick(request: Request) -> Reply:
        release.set()
        await asyncio.sleep(0.01)
        return Reply({"from": "quick"})

    handlers = {"slow": slow, "quick": quick}
    async with ControlServer(endpoints.control, handlers), ControlClient(endpoints.control) as client:
        with pytest.raises(
            BusError, match=r"did not answer within 0.05 s; the command may still be carried out"
        ):
            await client.request("slow", timeout_s=0.05)
        assert (await client.request("quick")).payload == {"from": "quick"}


async def test_a_cancelled_request_leaves_the_client_usable(endpoints: Endpoints) -> None:
    started = asyncio.Event()

    async def wait(request: Request) -> None:
        started.set()
        await asyncio.Event().wait()

    async def echo(request: Request) -> Reply:
        return Reply(request.payload)

    handlers = {"wait": wait, "echo": echo}
    async with ControlServer(endpoints.control, handlers), ControlClient(endpoints.control) as client:
        request = asyncio.create_task(client.request("wait"))
        await started.wait()
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        assert (await client.request("echo", {"n": 1})).payload == {"n": 1}


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([b"1", b"echo", b"{"], "cannot be read"),
        ([b"1", b"\xff", b"{}"], "cannot be read"),
        ([b"1", b"echo", b"[]"], "the payload is list, expected a JSON object"),
    ],
)
async def test_malformed_requests_are_answered(endpoints: Endpoints, parts: list[bytes], says: str) -> None:
    client = Channel("test", zmq.DEALER)
    async with ControlServer(endpoints.control, {}):
        try:
            client.connect(endpoints.control)
            await client.send([b"too short"])
            await client.send(parts)
            number, status, answer = await client.receive()
        finally:
            client.close()
    assert (number, status) == (b"1", b"error")
    assert says in answer.decode()


async def test_leaving_the_server_ends_its_handlers(endpoints: Endpoints) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def wait(request: Request) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with ControlClient(endpoints.control, timeout_s=10) as client:
        async with ControlServer(endpoints.control, {"wait": wait}):
            request = asyncio.create_task(client.request("wait"))
            await started.wait()
        assert ended.is_set()
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)


async def test_an_error_in_the_body_comes_out_as_it_is(endpoints: Endpoints) -> None:
    with pytest.raises(ValueError, match="mine"):
        async with ControlServer(endpoints.control, {}):
            raise ValueError("mine")
