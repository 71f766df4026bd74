"""A bus is listened to before anything is sent: where another master speaks, this one does not."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from heft.daq import rig_lock
from heft.daq.clock import RealClock
from heft.daq.config.rig import RigConfig, load_rig
from heft.daq.rig import Rig
from heft.drivers.codecs.can_masters import master_word
from heft.drivers.errors import ConnectError
from heft.drivers.transports.can_bus import CanSettings
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink

RIGS = Path(__file__).parents[3] / "configs/rigs"
GROUP = "239.74.163.77"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rig_lock, "_FOLDERS", (tmp_path,))
    return tmp_path


@pytest.fixture
def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def rig(folder: Path, port: int, more: str = "") -> RigConfig:
    text = (RIGS / "example_cia402.yaml").read_text(encoding="utf-8")
    text = text.replace("../robots", str(RIGS.parent / "robots"))
    text = text.replace("interface: socketcan ", "interface: udp_multicast ")
    text = text.replace("channel: can0 ", f"channel: {GROUP} ")
    path = folder / "rig.yaml"
    path.write_text(
        text.replace("multicast_port: null ", f"multicast_port: {port} ") + more, encoding="utf-8"
    )
    return load_rig(path)


@pytest.mark.parametrize(
    ("frame", "word"),
    [
        (CanFrame(0x000, bytes([0x80, 0])), "NMT command"),
        (CanFrame(0x603, bytes(8)), "SDO request to node 3"),
        (CanFrame(0x703, bytes([5])), None),  # a drive that is alive
    ],
)
async def test_a_master_is_heard_before_anything_is_sent(
    folder: Path, frame: CanFrame, word: str | None, free_port: int
) -> None:
    settings = CanSettings("udp_multicast", GROUP, options={"port": free_port, "hop_limit": 0})
    heard: list[CanFrame] = []
    async with CanLink("other", RealClock(), settings) as other:

        async def speak() -> None:
            while True:
                await other.send(frame)
                await asyncio.sleep(0.02)

        async def hear() -> None:
            while True:
                heard.extend(await other.receive())

        tasks = [asyncio.create_task(speak()), asyncio.create_task(hear())]
        try:
            # With no drive on the bus it fails in any case: what counts is how, and what was sent until then.
            with pytest.raises(ConnectError) as info:
                async with asyncio.timeout(60), Rig(rig(folder, free_port), RealClock()):
                    pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    own = [one for one in heard if (one.id, one.data) != (frame.id, frame.data)]
    if word is None:
        assert "another master" not in str(info.value)
        assert own
    else:
        assert f"another master speaks on CAN udp_multicast {GROUP} ({word})" in str(info.value)
        assert own == []


def test_the_override_has_a_reason(folder: Path) -> None:
    assert (
        rig(folder, 43211, "\nother_master: the controller of the cell sends SYNC\n").other_master is not None
    )


@pytest.mark.parametrize(
    ("kind", "frame", "master"),
    [
        ("cia402", CanFrame(0x080), True),
        ("cia402", CanFrame(0x203, bytes(8)), True),
        ("cia402", CanFrame(0x183, bytes(8)), False),  # where it is
        ("cia402", CanFrame(0x650, bytes(8)), False),  # another's node
        ("cia402", CanFrame(0x080, error=True), False),
        ("odrive_can", CanFrame(3 << 5 | 0x0C, bytes(8)), True),
        ("odrive_can", CanFrame(3 << 5 | 0x09, remote=True), True),
        ("odrive_can", CanFrame(3 << 5 | 0x01, bytes(8)), False),  # heartbeat
        ("odrive_can", CanFrame(3 << 5 | 0x09, bytes(8)), False),  # estimates
        ("moteus", CanFrame(0x8003, bytes(8), extended=True, fd=True), True),
        ("moteus", CanFrame(0x0300, bytes(8), fd=True), False),  # the answer
        ("mit_can", CanFrame(0x003, bytes(8)), True),
        ("mit_can", CanFrame(0x000, bytes(8)), False),
    ],
)
def test_the_word_of_a_master(kind: str, frame: CanFrame, master: bool) -> None:
    assert (master_word(kind, frame, {3}) is not None) == master
