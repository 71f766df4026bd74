"""The `canopen` library, which owes nothing to this project, drives the emulated CiA 402 drives."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import canopen
import pytest
from canopen.objectdictionary import ODRecord, ODVariable, datatypes
from canopen.profiles.p402 import BaseNode402

from heft.daq.clock import RealClock
from heft.drivers.emulators.cia402 import Cia402, Cia402Options
from heft.drivers.plant.bench import Bench
from heft.drivers.transports.can_bus import CanSettings, open_bus

TYPES = {
    "b": datatypes.INTEGER8,
    "B": datatypes.UNSIGNED8,
    "H": datatypes.UNSIGNED16,
    "i": datatypes.INTEGER32,
    "I": datatypes.UNSIGNED32,
}


def variable(name: str, code: str, index: int, sub: int = 0) -> ODVariable:
    made = ODVariable(name, index, sub)
    made.data_type = TYPES[code]
    return made


def dictionary() -> canopen.ObjectDictionary:
    """What the library has to know of a drive to use its PDOs."""
    od = canopen.ObjectDictionary()
    for name, code, index in (
        ("Device type", "I", 0x1000),
        ("Producer heartbeat time", "H", 0x1017),
        ("Controlword", "H", 0x6040),
        ("Statusword", "H", 0x6041),
        ("Modes of operation", "b", 0x6060),
        ("Modes of operation display", "b", 0x6061),
        ("Position actual value", "i", 0x6064),
        ("Target position", "i", 0x607A),
        ("Supported drive modes", "I", 0x6502),
    ):
        od.add_object(variable(name, code, index))
    for first in (0x1400, 0x1800):
        for index in range(first, first + 4):
            record = ODRecord(f"PDO communication {index:x}", index)
            for name, code, sub in (
                ("Number", "B", 0),
                ("COB-ID", "I", 1),
                ("Type", "B", 2),
                ("Inhibit", "H", 3),
                ("Timer", "H", 5),
            ):
                record.add_member(variable(name, code, index, sub))
            od.add_object(record)
            mapping = ODRecord(f"PDO mapping {index:x}", index + 0x200)
            mapping.add_member(variable("Number", "B", index + 0x200, 0))
            for sub in range(1, 9):
                mapping.add_member(variable(f"Object {sub}", "I", index + 0x200, sub))
            od.add_object(mapping)
    return od


@pytest.fixture(params=["virtual", "udp_multicast"])
def interface(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def with_library(
    interface: str, work: Callable[[Any], None], *, axes: tuple[str, ...] = ("joint1",)
) -> Cia402:
    """Run `work(network)` in a thread, against emulated drives on this loop."""
    plant = Bench(RealClock(), axes=axes)
    async with Cia402("arm", Cia402Options(interface=interface), plant) as arm:
        end = arm.endpoint
        settings = CanSettings(
            str(end["interface"]),
            str(end["channel"]),
            options={"hop_limit": 0} if interface == "udp_multicast" else {},
        )

        def run() -> None:
            network = canopen.Network(open_bus("peer", settings))
            network.NOTIFIER_CYCLE = 0.05
            network.connect()
            try:
                work(network)
            finally:
                network.disconnect()

        await asyncio.to_thread(run)
    return arm


async def test_the_library_switches_a_drive_on_and_moves_it(interface: str) -> None:
    moved: list[int] = []

    def work(network: Any) -> None:
        node = BaseNode402(1, dictionary())
        network.add_node(node)
        node.nmt.state = "PRE-OPERATIONAL"
        node.sdo[0x1017].raw = 100  # the library wants to see a heartbeat
        node.nmt.wait_for_heartbeat(2)
        node.setup_402_state_machine()
        node.nmt.state = "OPERATIONAL"
        node.op_mode = "CYCLIC SYNCHRONOUS POSITION"
        node.state = "OPERATION ENABLED"
        assert node.state == "OPERATION ENABLED"
        start = node.sdo[0x6064].raw
        for step in range(1, 51):
            node.sdo[0x607A].raw = start + 100 * step
            network.sync.transmit()
        moved.append(node.sdo[0x6064].raw - start)
        node.state = "SWITCH ON DISABLED"
        assert node.state == "SWITCH ON DISABLED"

    await with_library(interface, work)
    assert moved[0] > 1000


async def test_the_library_maps_and_reads_pdos(interface: str) -> None:
    seen: list[float] = []

    def work(network: Any) -> None:
        node = canopen.RemoteNode(1, dictionary())
        network.add_node(node)
        node.nmt.state = "PRE-OPERATIONAL"
        node.tpdo.read()
        node.tpdo[1].clear()
        node.tpdo[1].add_variable(0x6041)
        node.tpdo[1].add_variable(0x6064)
        node.tpdo[1].trans_type = 1
        node.tpdo[1].enabled = True
        node.tpdo[1].save()
        node.nmt.state = "OPERATIONAL"
        came = threading.Event()
        node.tpdo[1].add_callback(lambda _: came.set())
        network.sync.transmit()
        assert came.wait(2)
        seen.append(node.tpdo[1][0x6041].raw)
        seen.append(node.tpdo[1][0x6064].raw)
        with pytest.raises(canopen.SdoAbortedError) as refused:
            node.sdo.download(0x1000, 0, b"1234")
        assert refused.value.code == 0x06010002
        assert node.sdo.upload(0x1008, 0) == b"Emulated CiA 402 drive"
        with pytest.raises(canopen.SdoAbortedError):
            node.sdo.upload(0x5FFF, 0)

    await with_library(interface, work)
    assert seen == [0x240, 0]
