"""CAN: echoes, bursts, FD, error frames, a full queue, and packets that are no frames."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import NoReturn

import can
import pytest
import pytest_asyncio

from heft.daq.clock import ManualClock, RealClock
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.transports import can_link
from heft.drivers.transports.can_bus import CanSettings, open_bus
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink

GROUP = "239.74.163.2"


@pytest.fixture(params=["virtual", "udp_multicast"])
def settings(request: pytest.FixtureRequest) -> CanSettings:
    return settings_of(request.param)


def settings_of(interface: str, fd: bool = False) -> CanSettings:
    if interface == "virtual":
        return CanSettings("virtual", f"test-{id(object())}", fd=fd)
    return CanSettings("udp_multicast", GROUP, fd=fd, options={"port": free_port(), "hop_limit": 0})


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("", 0))
        port: int = sock.getsockname()[1]
        return port


@pytest_asyncio.fixture
async def nodes(settings: CanSettings, clock: RealClock) -> AsyncIterator[list[CanLink]]:
    """Three nodes on one bus."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(CanLink(f"node{n}", clock, settings)) for n in range(3)]


async def take(link: CanLink, count: int) -> list[CanFrame]:
    frames: list[CanFrame] = []
    while len(frames) < count:
        frames += await link.receive()
    return frames


async def test_everyone_hears_a_frame_but_its_sender(nodes: list[CanLink]) -> None:
    same = CanFrame(0x181, b"same")
    for node in nodes:
        await node.send(same)  # equal frames: only the sender tells them apart
    for node in (nodes[1], nodes[0]):
        await node.send(CanFrame(0x700, b"end"))
    for node, count in zip(nodes, (3, 3, 4), strict=True):
        data = [frame.data for frame in await take(node, count)]
        assert sorted(data) == [b"end"] * (count - 2) + [b"same"] * 2


async def test_kinds_of_frames(nodes: list[CanLink]) -> None:
    frames = [
        CanFrame(0x7FF, bytes(range(8))),
        CanFrame(0x1FFFFFFF, b"", extended=True),
        CanFrame(0x029, remote=True),
        CanFrame(0x004, bytes(8), error=True),
    ]
    for frame in frames:
        await nodes[0].send(frame)
    got = await take(nodes[1], len(frames))
    assert [(f.id, f.data, f.extended, f.remote, f.error) for f in got] == [
        (f.id, f.data, f.extended, f.remote, f.error) for f in frames
    ]


async def test_a_burst_is_not_lost(nodes: list[CanLink]) -> None:
    """Reading one frame per turn of the loop lost nine of ten here."""
    sender, receiver, _ = nodes
    taking = asyncio.create_task(take(receiver, 5000))
    for n in range(5000):
        await sender.send(CanFrame(0x181, n.to_bytes(8, "little")))
        if n % 20 == 19:
            await asyncio.sleep(0)
    frames = await taking
    assert [int.from_bytes(frame.data, "little") for frame in frames] == list(range(5000))
    assert not receiver.dropped


@pytest.mark.parametrize("interface", ["virtual", "udp_multicast"])
async def test_fd_frames(interface: str, clock: RealClock) -> None:
    settings = settings_of(interface, fd=True)
    frame = CanFrame(0x8001, bytes(range(48)), extended=True, fd=True, bitrate_switch=True)
    async with CanLink("a", clock, settings) as a, CanLink("b", clock, settings) as b:
        await a.send(frame)
        (got,) = await b.receive()
        assert (got.id, got.data, got.fd, got.bitrate_switch) == (frame.id, frame.data, True, True)
        raw = await asyncio.to_thread(open_bus, "c", settings)
        try:
            raw.send(can.Message(data=bytes(9), is_fd=True))  # no such length
            raw.send(can.Message(data=bytes(12), is_fd=True))
        finally:
            raw.shutdown()
        assert [len(frame.data) for frame in await b.receive()] == [12]
        assert b.malformed == 1


async def test_an_fd_frame_on_a_classic_multicast_bus(clock: RealClock) -> None:
    settings = settings_of("udp_multicast")
    async with CanLink("a", clock, settings) as a:
        with pytest.raises(DeviceLost, match="an FD frame on a bus that was opened with fd=False"):
            await a.send(CanFrame(1, bytes(12), fd=True))


async def test_bus_off_ends_the_line(nodes: list[CanLink]) -> None:
    await nodes[0].send(CanFrame(0x181, b"last"))
    await nodes[0].send(CanFrame(0x040, bytes(8), error=True))
    frames = await take(nodes[1], 2)
    assert [frame.bus_off for frame in frames] == [False, True]  # both are still given
    with pytest.raises(DeviceLost, match=r"node1: CAN .*: the controller is bus-off; check wiring"):
        await nodes[1].receive()
    with pytest.raises(DeviceLost, match="bus-off"):
        await nodes[1].send(CanFrame(1))


async def test_stock_buses_of_the_group_understand_each_other(
    clock: RealClock, missing: Callable[[str], NoReturn]
) -> None:
    settings = settings_of("udp_multicast")
    try:
        stock = can.Bus(interface="udp_multicast", channel=GROUP, **settings.options)
    except can.CanInitializationError:
        missing("python-can's own udp_multicast needs a network; this host has none")
    try:
        async with CanLink("ours", clock, settings) as ours:
            await ours.send(CanFrame(0x123, b"ours"))
            message = stock.recv(5.0)
            assert message is not None
            assert (message.arbitration_id, bytes(message.data)) == (0x123, b"ours")
            stock.send(can.Message(arbitration_id=0x1ABCDE, data=b"theirs"))
            (frame,) = await ours.receive()
            assert (frame.id, frame.extended, frame.data) == (0x1ABCDE, True, b"theirs")
    finally:
        stock.shutdown()


async def test_a_packet_that_is_no_frame_is_counted(clock: RealClock) -> None:
    settings = settings_of("udp_multicast")
    async with CanLink("a", clock, settings) as a, CanLink("b", clock, settings) as b:
        assert a._bus is not None
        for junk in (b"", b"junk", b"\x81\xa1a\x01", bytes(2000)):
            a._bus._sender.send(junk)  # type: ignore[attr-defined]
        await a.send(CanFrame(1, b"good"))
        assert [frame.data for frame in await b.receive()] == [b"good"]
        assert b._bus is not None
        assert b._bus.malformed == 4  # type: ignore[attr-defined]


def test_a_raw_bus_for_a_blocking_library_has_no_echo() -> None:
    settings = settings_of("udp_multicast")
    one, other = open_bus("a", settings), open_bus("b", settings)
    try:
        one.send(can.Message(arbitration_id=5))
        received = other.recv(5.0)
        assert received is not None
        assert received.arbitration_id == 5
        assert one.recv(0.0) is None
        assert one.recv(0.01) is None
    finally:
        one.shutdown()
        other.shutdown()


class Full(can.BusABC):
    """A bus whose transmit queue takes a frame only at the n-th attempt."""

    def __init__(self, attempts: int, error: can.CanError) -> None:
        super().__init__("full")
        self.attempts, self.error, self.sent = attempts, error, 0

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        self.attempts -= 1
        if self.attempts > 0:
            raise self.error
        self.sent += 1

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        time.sleep(timeout or 0)
        return None, False


FULL = [can.CanOperationError("Transmit buffer full"), can.CanOperationError("no space", 105)]


@pytest.mark.parametrize("error", FULL)
async def test_a_full_queue_is_waited_for(
    error: can.CanError, manual: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = Full(5, error)
    monkeypatch.setattr(can_link, "open_bus", lambda device, settings: bus)
    async with CanLink("drive", manual, CanSettings("socketcan", "can0")) as link:
        sending = asyncio.create_task(link.send(CanFrame(1)))
        await manual.advance(10_000_000)
        assert await sending == manual.now_ns() - 10_000_000 + 4 * CanLink.RETRY_NS  # when it did leave
        assert bus.sent == 1


@pytest.mark.parametrize("error", FULL)
async def test_a_queue_that_stays_full_is_a_lost_bus(
    error: can.CanError, manual: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(can_link, "open_bus", lambda device, settings: Full(10**6, error))
    async with CanLink("drive", manual, CanSettings("socketcan", "can0")) as link:
        sending = asyncio.create_task(link.send(CanFrame(1)))
        await manual.advance(200_000_000)
        with pytest.raises(
            DeviceLost, match=r"drive: CAN socketcan can0: transmit queue full for 0.1 s: no node"
        ):
            await sending
        with pytest.raises(DeviceLost, match="transmit queue full"):
            await link.receive()


class Broken(Full):
    """A bus whose adapter has been pulled."""

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        raise can.CanOperationError("Network is down", 100)


async def test_a_pulled_adapter_is_a_lost_device(clock: RealClock, monkeypatch: pytest.MonkeyPatch) -> None:
    down = can.CanOperationError("Network is down", 100)
    monkeypatch.setattr(can_link, "open_bus", lambda device, settings: Broken(10, down))
    async with CanLink("drive", clock, CanSettings("socketcan", "can0")) as link:
        with pytest.raises(DeviceLost, match=r"drive: .*Network is down.*; check that the interface is up"):
            await link.receive()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (CanSettings("carrier_pigeon", "x"), "known interfaces: .*socketcan"),
        (CanSettings("udp_multicast", "not an address"), "IPv4 multicast address such as"),
        (CanSettings("udp_multicast", GROUP, options={"colour": "red"}), "colour"),
    ],
)
def test_settings_that_cannot_be(settings: CanSettings, says: str) -> None:
    with pytest.raises(ConnectError, match=f"drive: cannot open CAN {settings.interface} .*{says}"):
        open_bus("drive", settings)
