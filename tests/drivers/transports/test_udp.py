"""UDP: stamps of the kernel, its losses, and who is heard."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from heft.daq.clock import RealClock
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.transports.throttle import Throttle
from heft.drivers.transports.transport import Datagram
from heft.drivers.transports.udp import UdpLink

HERE = ("127.0.0.1", 0)


async def test_an_emulator_answers_whoever_asks(clock: RealClock) -> None:
    async with UdpLink("emulator", clock, remote=None, local=HERE) as box:
        for _ in range(2):
            async with UdpLink("wrist", clock, remote=box.address) as link:
                await link.send(b"?")
                (question,) = await box.receive()
                assert question.peer == ("127.0.0.1", link.address[1])
                await box.reply(b"!", question.peer)
                (answer,) = await link.receive()
                assert (answer.data, answer.peer) == (b"!", box.address)
        with pytest.raises(ValueError, match=r"has no remote; use reply\(data, peer\)"):
            await box.send(b"to whom?")


async def test_only_the_device_is_heard(clock: RealClock) -> None:
    async with (
        UdpLink("emulator", clock, remote=None, local=HERE) as box,
        UdpLink("stranger", clock, remote=None, local=HERE) as stranger,
        UdpLink("wrist", clock, remote=box.address, local=HERE) as link,
    ):
        await stranger.reply(b"noise", link.address)
        await box.reply(b"data", link.address)
        assert [datagram.data for datagram in await link.receive()] == [b"data"]


async def test_a_fixed_local_port(clock: RealClock) -> None:
    async with UdpLink("emulator", clock, remote=None, local=HERE) as box:
        async with UdpLink("wrist", clock, remote=box.address, local=HERE) as link:
            taken = link.address
            again = UdpLink("wrist", clock, remote=box.address, local=taken)
            with pytest.raises(
                ConnectError, match=f"local port {taken[1]} is in use; close the other program or"
            ):
                await again.__aenter__()
        async with again:
            assert again.address == taken


async def test_the_stamp_is_the_kernels_not_the_loops(clock: RealClock) -> None:
    """The loop is kept busy after a datagram has arrived; its stamp does not show that."""
    async with (
        UdpLink("emulator", clock, remote=None, local=HERE) as box,
        UdpLink("wrist", clock, remote=box.address, local=HERE) as link,
    ):
        left_ns = await box.reply(b"x", link.address)
        arrived_ns = clock.now_ns()
        time.sleep(0.2)  # noqa: ASYNC251 - a blocking call on the loop is the point
        (datagram,) = await link.receive()
        assert left_ns - 1_000_000 <= datagram.host_ns
        assert datagram.host_ns - arrived_ns < 100_000_000


async def test_what_the_kernel_drops_is_counted(clock: RealClock) -> None:
    async with (
        UdpLink("emulator", clock, remote=None, local=HERE) as box,
        UdpLink("wrist", clock, remote=box.address, local=HERE, receive_buffer=4096) as link,
    ):
        for n in range(500):
            await box.reply(b"%06d" % n, link.address)  # the loop has no turn to read
        got: list[Datagram] = await link.receive()
        await box.reply(b"last", link.address)
        while got[-1].data != b"last":
            got += await link.receive()
        assert link.dropped > 0
        assert len(got) + link.dropped == 501
        assert [datagram.data for datagram in got] == sorted(datagram.data for datagram in got)


async def test_a_wide_buffer_takes_a_burst(clock: RealClock) -> None:
    async with (
        UdpLink("emulator", clock, remote=None, local=HERE) as box,
        UdpLink("wrist", clock, remote=box.address, local=HERE, receive_buffer=1 << 20) as link,
    ):
        if link.receive_buffer < 1 << 20:
            pytest.skip(f"this system grants only {link.receive_buffer} bytes")
        for n in range(1000):
            await box.reply(b"%06d" % n, link.address)
        got: list[Datagram] = []
        while len(got) < 1000:
            got += await link.receive()
        assert link.dropped == 0


async def test_a_name_is_resolved_and_an_unknown_one_named(
    clock: RealClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with UdpLink("wrist", clock, remote=("localhost", 9)):
        pass

    async def unknown(*arguments: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    with pytest.raises(
        ConnectError, match=r"udp netft.invalid:49152: the host's name is not known; check it"
    ):
        await UdpLink("wrist", clock, remote=("netft.invalid", 49152)).__aenter__()


async def test_a_refusal_is_the_loss_of_the_device(clock: RealClock) -> None:
    async with UdpLink("emulator", clock, remote=None, local=HERE) as box:
        nobody = box.address
    async with UdpLink("wrist", clock, remote=nobody) as link:
        await link.send(b"?")
        with pytest.raises(
            DeviceLost, match=r"wrist: udp .* refused: nobody listens on that port; check that"
        ):
            await link.receive()


async def test_more_than_a_datagram_holds(clock: RealClock) -> None:
    async with UdpLink("wrist", clock, remote=("127.0.0.1", 9)) as link:
        with pytest.raises(ValueError, match="wrist: 70000 bytes do not fit a datagram"):
            await link.send(bytes(70_000))


async def test_a_flood_of_long_datagrams_is_refused_and_the_loop_goes_on() -> None:
    """Size, number at one wake-up and rate are bounded; what is the device's comes through."""
    clock = RealClock()
    async with UdpLink("wrist", clock, remote=None, local=("127.0.0.1", 0)) as link:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(50):
                stranger.sendto(bytes(60_000), link.address)
            stranger.sendto(b"word", link.address)
            arrived = await link.receive()
            assert [d.data for d in arrived] == [b"word"]
        assert link.refused > 0


async def test_more_than_a_device_can_send_is_left_to_the_kernel() -> None:
    clock = ManualClock()
    throttle = Throttle(clock, 100.0)
    assert throttle.room(64) == 25  # a quarter of a second's worth
    throttle.take(25)
    assert throttle.room(64) == 0
    assert throttle.throttled == 1
    clock.now += 100_000_000
    assert throttle.room(64) == 10


class ManualClock:
    """Time that stands."""

    now = 0

    def now_ns(self) -> int:
        return self.now
