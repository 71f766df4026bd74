"""The stop channel: heard at once, acknowledged, from anywhere on this host."""

from __future__ import annotations

import asyncio
import sys

import pytest
import zmq

from heft.daq.bus import ControlClient, ControlServer, Endpoints, Request, StopListener, send_stop
from heft.daq.bus.channel import Channel
from heft.daq.errors import BusError


async def test_a_stop_is_acknowledged_and_gives_its_reason(endpoints: Endpoints) -> None:
    async with StopListener(endpoints.stop) as listener:
        heard = asyncio.create_task(listener.wait())
        await send_stop(endpoints.stop, "smoke")
        assert await heard == "smoke"


async def test_every_stop_is_heard(endpoints: Endpoints) -> None:
    reasons: list[str] = []

    async def listen(listener: StopListener) -> None:
        async for reason in listener:
            reasons.append(reason)

    async with StopListener(endpoints.stop) as listener:
        task = asyncio.create_task(listen(listener))
        await asyncio.gather(*(send_stop(endpoints.stop, f"reason {n}") for n in range(10)))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert sorted(reasons) == sorted(f"reason {n}" for n in range(10))


async def test_a_stop_does_not_wait_behind_control(endpoints: Endpoints) -> None:
    async def endless(request: Request) -> None:
        await asyncio.Event().wait()

    async with (
        ControlServer(endpoints.control, {"endless": endless}),
        ControlClient(endpoints.control) as client,
        StopListener(endpoints.stop) as listener,
    ):
        request = asyncio.create_task(client.request("endless"))
        heard = asyncio.create_task(listener.wait())
        await send_stop(endpoints.stop, "now")
        assert await heard == "now"
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)


async def test_another_process_may_stop(endpoints: Endpoints) -> None:
    program = (
        "import asyncio, sys; from heft.daq.bus import send_stop; "
        "asyncio.run(send_stop(sys.argv[1], 'from outside'))"
    )
    async with StopListener(endpoints.stop) as listener:
        sender = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(endpoints.stop))
        assert await listener.wait() == "from outside"
        assert await sender.wait() == 0


async def test_nobody_there_is_an_error_that_says_what_to_do(endpoints: Endpoints) -> None:
    with pytest.raises(
        BusError, match=r"did not acknowledge within 0.05 s; use the emergency stop of the arm"
    ):
        await send_stop(endpoints.stop, "help", timeout_s=0.05)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [([b""], "no reason given"), ([b"\xff"], "\N{REPLACEMENT CHARACTER}"), ([b"a", b"x" * 900], "x" * 500)],
)
async def test_whatever_comes_is_a_stop(endpoints: Endpoints, parts: list[bytes], reason: str) -> None:
    sender = Channel("test", zmq.DEALER)
    async with StopListener(endpoints.stop) as listener:
        try:
            sender.connect(endpoints.stop)
            await sender.send(parts)
            assert await listener.wait() == reason
            assert await sender.receive() == [b"acknowledged"]
        finally:
            sender.close()
