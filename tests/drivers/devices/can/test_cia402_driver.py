"""What only CiA 402 drives do."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from heft.drivers.block import Validity
from heft.drivers.emulators.wires.wire_faults import Status
from heft.drivers.errors import ConnectError, DeviceFault, DeviceLost, OptionError
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink


@pytest.fixture
def kind():
    return "cia402"


async def test_samples_are_taken_at_sync(stand):
    async with stand() as bench:
        await bench.arm.arm()
        await bench.send(1.0, 0.5)
        await bench.sleep(1.2)
    for name in ("arm.motion", "arm.current"):
        assert all(block.stream.at_request for block in bench.blocks[name])
        assert all(block.request_ns is not None for block in bench.blocks[name])
    position = np.concatenate([b.si for b in bench.blocks["arm.motion"]])[:, :2]
    asked = np.concatenate([b.request_ns for b in bench.blocks["arm.motion"]])
    error = np.abs(position - bench.plant.motor((asked - bench.plant.start_ns) * 1e-9).q)
    assert np.median(error) < 4e-5  # one unit of the drive: the instant is right
    assert error.max() < 5e-3  # this host may sleep between its stamp and its frame


async def test_torque_instead_of_current(stand, words):
    axes = {
        joint: {**axis, "rated_torque": 2.0, "gear": 10.0} for joint, axis in words.driver["axes"].items()
    }
    nodes = tuple({**node, "rated_torque": 2.0, "gear": 10.0} for node in words.emulator["nodes"])
    async with stand({"nodes": nodes}, axes=axes, effort="torque") as bench:
        await bench.arm.arm()
        await bench.send(0.6, 0.6)
        await bench.sleep(0.8)
    torque = bench.si("torque")[:, 0]
    t = np.concatenate([b.request_ns for b in bench.blocks["arm.torque"]]) * 1e-9
    fastest = 0.5 * 0.6 * np.pi / 0.6
    pushed = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(torque[1:] * np.diff(t))])).max()
    assert pushed == pytest.approx(0.5 * fastest + 0.5 * 0.3, rel=0.5)  # inertia 0.5, viscous friction 0.5
    (stream,) = [s for s in bench.arm.streams if s.name == "arm.torque"]
    assert stream.columns[0].unit == "N m"


async def test_an_emergency_stops_the_motion_and_is_named(stand):
    async with stand() as bench:
        await bench.arm.arm()
        await bench.send(3.0, 1.5)
        await bench.until(lambda: bench.speed() > 0.3)
        await bench.emulator.wire.send(CanFrame(0x082, bytes.fromhex("10 23 03 01 02 03 04 05")))
        await bench.until(lambda: bench.error is not None)
        assert isinstance(bench.error, DeviceFault)
        assert r"node 2 (joint2) reports emergency 0x2310 (current), register 0x03, 01 02 03 04 05" in str(
            bench.error
        )
        await bench.until(lambda: bench.speed() < 0.05)


async def test_a_drive_at_its_limit_flags_its_current(stand):
    async with stand() as bench:
        bench.inject(Status, bits=1 << 11)
        await bench.until(lambda: any(b.validity.any() for b in bench.blocks["arm.current"]))
    flagged = bench.blocks["arm.current"][-1]
    assert (flagged.validity == Validity.SATURATED).all()
    assert not any(b.validity.any() for b in bench.blocks["arm.motion"])


async def test_a_node_that_restarts_is_lost(stand):
    async with stand() as bench:
        await bench.until(lambda: bool(bench.blocks["arm.motion"]))
        await bench.emulator.wire.send(CanFrame(0x701, b"\0"))
        await bench.until(lambda: bench.error is not None)
        assert isinstance(bench.error, DeviceLost)
        assert "node 1 (joint1) has restarted by itself" in str(bench.error)


async def test_a_fault_is_reset_when_arming(stand):
    async with stand() as bench:
        bench.emulator.drives[0].fail(0x3210, bench.plant.now())
        await bench.sleep(0.2)
        await bench.arm.arm()
        assert bench.on.all()
        await bench.arm.disarm()


async def test_a_drive_without_the_mode_is_refused(stand):
    with pytest.raises(ConnectError, match=r"node 1 \(joint1\) refuses 0x8 in object 6060:0"):
        async with stand({"without": (0x6060,)}):
            pass


def as_torque(words):
    """Options of driver and emulator for identification from torque, with a drive that has no 6075, 6078, 608F,
    6091.
    """
    axes = {
        joint: {**{k: v for k, v in axis.items() if k != "rated_current"}, "rated_torque": 2.0, "gear": 10.0}
        for joint, axis in words.driver["axes"].items()
    }
    nodes = tuple({**node, "rated_torque": 2.0, "gear": 10.0} for node in words.emulator["nodes"])
    return axes, nodes


@pytest.mark.parametrize("steps", [1000, 1_000_000])
async def test_a_drive_without_current_objects_is_read_by_its_torque(stand, words, steps):
    """As an EPOS4: no 6075, 6078, 608F, 6091, 6092. In which steps its 6076 counts is not settled: both are taken."""
    axes, nodes = as_torque(words)
    emulator = {"nodes": nodes, "without": (0x6075, 0x6078, 0x608F, 0x6091), "torque_steps": steps}
    async with stand(emulator, axes=axes, effort="torque") as bench:
        await bench.until(lambda: bool(bench.blocks["arm.torque"]))


async def test_bit_30_stays_set_where_the_drive_demands_it(stand):
    async with stand({"without_remote": True}) as bench:
        await bench.until(lambda: bool(bench.blocks["arm.motion"]))


async def test_mappings_that_cannot_be_written_may_be_right(stand, words):
    axes, nodes = as_torque(words)
    async with stand({"nodes": nodes, "fixed_pdos": True}, axes=axes, effort="torque") as bench:
        await bench.until(lambda: bool(bench.blocks["arm.torque"]))
    with pytest.raises(ConnectError, match=r"needed to map TPDO1"):
        async with stand({"fixed_pdos": True}):
            pass


@pytest.mark.parametrize("homed", [True, False])
async def test_a_bit_of_the_statusword_may_tell_that_it_is_homed(stand, homed):
    async with stand({"referenced_bit": 15, "referenced": homed}, referenced_bit=15) as bench:
        assert (bench.arm.unreferenced == {}) == homed
        assert all("bit 15" in why for why in bench.arm.unreferenced.values())


async def test_the_scale_need_not_be_verified(stand, words):
    axes = {**words.driver["axes"], "joint1": {**words.driver["axes"]["joint1"], "counts_per_turn": 1000}}
    async with stand(axes=axes, verify_scale=False) as bench:
        assert (await bench.arm.position())[0] == pytest.approx(524.288 * 0.3, rel=1e-3)


async def test_options_that_cannot_be(make_driver, words):
    axes = words.driver["axes"]
    for change, says in (
        ({"joint2": {**axes["joint2"], "node": 1}}, "node 1 is used twice"),
        ({"joint2": {**axes["joint2"], "node": 127}}, "node 127 is used twice"),
        ({"joint2": {"node": 2, "counts_per_turn": 5}}, "axes.joint2.rated_current: missing"),
        ({"joint2": {**axes["joint2"], "counts_per_turn": 0}}, "0 units for a turn"),
    ):
        with pytest.raises(ValueError, match=says):
            make_driver(axes={**axes, **change})
    with pytest.raises(OptionError, match="joint3 is no joint of the robot"):
        make_driver(axes={**axes, "joint3": {**axes["joint1"], "node": 3}})


async def test_sync_heartbeat_and_setpoints_on_the_bus(stand):
    """What a bystander hears: SYNC first, then a setpoint for every node; the heartbeat four times per watchdog."""
    async with stand() as bench:
        await bench.arm.arm()
        heard: list[CanFrame] = []
        async with CanLink("bystander", bench.clock, bench.emulator.wire.settings) as link:
            async with asyncio.timeout(10):
                while sum(frame.id == 0x77F for frame in heard) < 3:
                    heard += await link.receive()
        await bench.arm.disarm()
    ids = [frame.id for frame in heard if frame.id in (0x080, 0x201, 0x202)]
    first = ids.index(0x080)
    cycle = ids[first : first + 3]
    assert cycle == [0x080, 0x201, 0x202]
    setpoint = next(frame for frame in heard if frame.id == 0x201)
    assert setpoint.data[:2] == b"\x0f\x00"  # enabled
    assert setpoint.data[6] == 8  # cyclic synchronous position
    beats = [frame.host_ns for frame in heard if frame.id == 0x77F]
    assert max(np.diff(beats)) < 0.5e9


async def test_nodes_are_told_the_period_of_sync(stand):
    async with stand() as bench:
        period_us = round(1e6 / bench.arm.options.rate_hz)
        assert [drive.node.objects[0x1006, 0] for drive in bench.emulator.drives] == [period_us] * 2
