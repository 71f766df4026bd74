"""What happens to frames between an emulated device and its host."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from heft.daq.clock import ManualClock
from heft.drivers.emulators.wires.can_wire import BusBudget, CanWire
from heft.drivers.emulators.wires.udp_wire import UdpWire
from heft.drivers.emulators.wires.wire import BACKLOG_NS, Wire
from heft.drivers.emulators.wires.wire_faults import BusOff, Status, Truncate, WireFaults, active
from heft.drivers.errors import DeviceLost
from heft.drivers.plant.bench import Bench
from heft.drivers.plant.faults import Burst, Corrupt, Drop, Duplicate, Fault, Late, Silence
from heft.drivers.transports.can_bus import CanSettings
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink
from heft.drivers.transports.transport import Chunk, Transport
from heft.drivers.transports.udp import UdpLink


class MemoryLine(Transport[Chunk, bytes]):
    """The device's end of a line in memory: what is sent is kept with its time."""

    where = "memory"

    def __init__(self, clock: ManualClock) -> None:
        super().__init__("line", clock)
        self.sent: list[tuple[bytes, int]] = []

    async def send(self, item: bytes) -> int:
        self.sent.append((item, self.clock.now_ns()))
        return self.clock.now_ns()

    async def _acquire(self) -> None:
        pass

    def _release(self) -> None:
        pass


class Slow(Wire[Chunk, bytes]):
    """A line in memory that takes 1 ms per byte."""

    @property
    def endpoint(self):
        return {}

    def _duration_ns(self, item: bytes) -> int:
        return 1_000_000 * len(item)


def fates(faults: Sequence[Fault], n: int = 2000, *, checked: bool = False) -> list[Sequence[object]]:
    line: WireFaults[bytes] = WireFaults(1, checked=checked)
    return [line.pass_on(b"0123456789", 0.5, 1000, faults) for _ in range(n)]


def test_faults_have_their_rates_and_add_up():
    assert all(f[0].item == b"0123456789" for f in fates([]))
    dropped = sum(not f for f in fates([Drop(device="d", rate=0.2), Drop(device="d", rate=0.1)]))
    assert dropped == pytest.approx(2000 * 0.28, rel=0.1)
    lost = [not f for f in fates([Burst(device="d", rate=0.2, length=5)])]
    assert sum(lost) == pytest.approx(400, rel=0.35)
    runs = sum(a and not b for a, b in pairwise(lost))
    assert sum(lost) / runs == pytest.approx(5, rel=0.35)
    assert sum(len(f) == 2 for f in fates([Duplicate(device="d", rate=0.5)])) == pytest.approx(1000, rel=0.1)
    flipped = [f[0].item for f in fates([Corrupt(device="d", rate=1)])]
    assert all(len(x) == 10 and x != b"0123456789" for x in flipped)
    assert all(len(f[0].item) < 10 for f in fates([Truncate(device="d", rate=1)]))
    assert all(f[0].due_ns == 50_001_000 for f in fates([Late(device="d", delay_s=0.05)]))
    assert not any(fates([Silence(device="d")]))
    assert not any(fates([Corrupt(device="d", rate=1)], checked=True)), "a checksum of the line drops them"


def test_faults_act_in_their_time():
    faults = [Silence(device="d", at_s=1.0, duration_s=1.0), Status(device="d", bits=4, at_s=0.2)]
    assert fates(faults)[0]
    assert not active(faults, Status, 0.1)
    assert active(faults, Status, 0.3)[0].bits == 4
    assert active(faults, Silence, 1.5)
    assert not active(faults, Silence, 2.5)


async def test_a_line_carries_one_frame_at_a_time_and_loses_what_it_cannot():
    clock = ManualClock()
    plant = Bench(clock)
    line = MemoryLine(clock)
    async with Slow("device", plant, line) as wire:
        sent_ns = clock.now_ns()
        for n in range(20):
            await wire.send(b"%05d" % n)
        assert wire.overrun == 20 - BACKLOG_NS // 5_000_000
        for _ in range(100):
            await clock.advance(1_000_000)
    assert [data for data, _ in line.sent] == [b"%05d" % n for n in range(10)]
    for n, (_, host_ns) in enumerate(line.sent):
        assert host_ns - sent_ns == pytest.approx((n + 1) * 5_000_000, abs=1_000_001)


async def test_a_pulled_cable_leaves_the_device_alone():
    plant = Bench(ManualClock())
    async with Slow("device", plant, MemoryLine(plant.clock)) as wire:
        wire.unplug()
        await wire.send(b"")
        with pytest.raises(DeviceLost):
            await wire.receive()


async def test_udp_answers_whoever_asks(bench):
    async with UdpWire("device", bench) as wire:
        host, port = wire.endpoint["host"], wire.endpoint["port"]
        async with UdpLink("host", bench.clock, remote=(host, port)) as link:
            await link.send(b"hello")
            (datagram,) = await wire.receive()
            await wire.send(b"world", datagram.peer)
            assert (await link.receive())[0].data == b"world"


# -- CAN ---------------------------------------------------------------------------------------------------------------


def test_bits_of_a_frame():
    """An 8-byte frame takes 111 bit times and up to a fifth more; 1 Mbit/s carry 7400 to 9009 of them."""
    budget = BusBudget(CanSettings("virtual", "bits", bitrate=1_000_000))
    assert 111_000 <= budget.duration_ns(CanFrame(1, bytes(8))) <= 135_000
    assert budget.duration_ns(CanFrame(1, bytes(8), extended=True)) > budget.duration_ns(
        CanFrame(1, bytes(8))
    )
    fast = CanFrame(1, bytes(48), fd=True, bitrate_switch=True)
    assert budget.duration_ns(fast) < 150_000


async def test_a_bus_carries_no_more_than_its_bit_rate(bench):
    settings = CanSettings("virtual", "budget", bitrate=125_000)
    async with CanWire("device", bench, settings) as wire, CanLink("host", bench.clock, settings) as host:
        for n in range(100):  # 97 ms worth at once, into a buffer of 50 ms
            await wire.send(CanFrame(n, bytes(8)))
        assert 30 < wire.overrun < 60, "some 50 fit into the transmit buffer"
        arrived: list[CanFrame] = []
        while len(arrived) < 100 - wire.overrun:
            arrived += await host.receive()
        ids = [frame.id for frame in arrived]
        assert ids == sorted(set(ids))
        assert ids[:45] == list(range(45))  # after those, one passes whenever another has left


async def test_wires_on_one_channel_share_its_budget(bench):
    settings = CanSettings("virtual", "shared")
    async with CanWire("a", bench, settings) as a, CanWire("b", bench, settings) as b:
        assert a.budget is b.budget
        assert a.budget.owner is a
        await b.send(CanFrame(5, bytes(8)))
        await a.receive()
        assert a.budget.frames == 1, "the owner counts what it hears"
        await a.send(CanFrame(6, bytes(8)))
        assert a.budget.frames == 2


async def test_bus_off_ends_the_line(bench):
    settings = CanSettings("virtual", "off")
    async with CanWire("device", bench, settings) as wire, CanLink("host", bench.clock, settings) as host:
        await wire.send(CanFrame(1))
        assert (await host.receive())[0].id == 1
        bench.inject(BusOff(device="device", at_s=bench.now()))
        await wire.send(CanFrame(2))
        (frame,) = await host.receive()
        assert frame.bus_off
        with pytest.raises(DeviceLost, match="bus-off"):
            await host.receive()
