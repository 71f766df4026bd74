"""The transports that the suite is run with; only what stands here differs between them."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from heft.daq.clock import RealClock
from heft.drivers.clock import Clock
from heft.drivers.transports.can_bus import CanSettings
from heft.drivers.transports.can_frame import CanFrame
from heft.drivers.transports.can_link import CanLink
from heft.drivers.transports.pty_port import PtyPort
from heft.drivers.transports.serial_port import SerialPort
from heft.drivers.transports.transport import Transport
from heft.drivers.transports.udp import UdpLink

Ends = tuple[Transport[Any, Any], Transport[Any, Any]]
_serial_numbers = itertools.count()


@dataclass(frozen=True)
class Line:
    """One kind of transport.

    make        opens the device's end and gives it with ours, which the test opens
    item        the n-th thing to send
    whole       items arrive as they were sent (not so on a byte stream)
    notices     a peer that is gone is noticed: at once, at the next exchange, or never by the line itself
    bad         an end of ours that cannot be opened, and what its error says
    """

    make: Callable[[Clock], AbstractAsyncContextManager[Ends]]
    item: Callable[[int], Any]
    whole: bool
    notices: str
    bad: Callable[[Clock], Transport[Any, Any]]
    says: str


def text(n: int) -> bytes:
    return b"<%06d>" % n


def frame(n: int) -> CanFrame:
    return CanFrame(0x100 + n % 0x100, n.to_bytes(8, "little"))


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@asynccontextmanager
async def serial(clock: Clock) -> AsyncIterator[Ends]:
    async with PtyPort("emulator", clock) as far:
        yield SerialPort("wrist", clock, port=far.path, baudrate=460_800), far


@asynccontextmanager
async def udp(clock: Clock) -> AsyncIterator[Ends]:
    here, there = ("127.0.0.1", free_port()), ("127.0.0.1", free_port())
    async with UdpLink("emulator", clock, remote=here, local=there) as far:
        yield UdpLink("wrist", clock, remote=there, local=here), far


@asynccontextmanager
async def can(clock: Clock, settings: CanSettings) -> AsyncIterator[Ends]:
    async with CanLink("emulator", clock, settings) as far:
        yield CanLink("wrist", clock, settings), far


def can_virtual(clock: Clock) -> AbstractAsyncContextManager[Ends]:
    return can(clock, CanSettings("virtual", f"conformance-{next(_serial_numbers)}"))


def can_multicast(clock: Clock) -> AbstractAsyncContextManager[Ends]:
    options = {"port": free_port(), "hop_limit": 0}
    return can(clock, CanSettings("udp_multicast", "239.74.163.2", options=options))


LINES = {
    "serial": Line(
        serial,
        text,
        whole=False,
        notices="at once",
        bad=lambda clock: SerialPort("wrist", clock, port="/dev/ttyNONE0", baudrate=115_200),
        says=r"wrist: cannot open /dev/ttyNONE0 at 115200 baud: no such port; check the cable",
    ),
    "udp": Line(
        udp,
        text,
        whole=True,
        notices="at the next exchange",
        bad=lambda clock: UdpLink("wrist", clock, remote=("127.0.0.1", 9), local=("198.51.100.1", 0)),
        says=r"wrist: cannot open udp 127.0.0.1:9: 198.51.100.1 is not an address of this host",
    ),
    "can_virtual": Line(
        can_virtual,
        frame,
        whole=True,
        notices="never",
        bad=lambda clock: CanLink("wrist", clock, CanSettings("socketcan", "nocan7")),
        says=r"wrist: cannot open CAN socketcan nocan7: .*bring it up with `ip link set nocan7 up type can",
    ),
    "can_multicast": Line(
        can_multicast,
        frame,
        whole=True,
        notices="never",
        bad=lambda clock: CanLink("wrist", clock, CanSettings("udp_multicast", "192.0.2.1")),
        says=r"wrist: cannot open CAN udp_multicast 192.0.2.1: .*must be an IPv4 multicast address",
    ),
}


@pytest.fixture(params=LINES)
def line(request: pytest.FixtureRequest) -> Line:
    return LINES[request.param]


@pytest.fixture
def clock() -> Clock:
    return RealClock()


@dataclass(frozen=True)
class Held:
    """What a process holds: open files, threads, tasks."""

    files: frozenset[str]
    threads: frozenset[int | None]
    tasks: frozenset[asyncio.Task[Any]]

    @classmethod
    def now(cls) -> Held:
        files = set()
        for fd in os.listdir("/proc/self/fd"):
            try:
                files.add(f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}")
            except OSError:  # the one that listed the folder
                continue
        threads = frozenset(thread.ident for thread in threading.enumerate())
        return cls(frozenset(files), threads, frozenset(asyncio.all_tasks()))


@pytest.fixture
def held() -> Callable[[], Held]:
    return Held.now
