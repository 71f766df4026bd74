"""Keys on the wires: what encryption costs, and what a stranger at the ports of a session can do.

A host publishes, records, serves followers and plays setpoints at 1 kHz x (7 joints + F/T); strangers connect to its
ports and throw bytes at them. Run:
`python benchmarks/wires.py [--seconds 10] [--connections 10000] [--megabytes 10000]`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import resource
import socket
import struct
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from heft.daq import topics
from heft.daq.bus import (
    ControlClient,
    ControlServer,
    Endpoint,
    Request,
    StopListener,
    Subscriber,
    private_endpoints,
    send_stop,
    setpoint_codec,
)
from heft.daq.bus.keyring import Keyring
from heft.daq.clock import RealClock
from heft.daq.errors import BusError, NotAuthorised
from heft.daq.following.client import FollowClient
from heft.daq.following.source import Source
from heft.daq.priority import ahead_of_others
from heft.daq.record import Recorder
from heft.daq.recording import Recording
from heft.drivers import Block, Column, Setpoints, Stream

JOINTS = tuple(Column(f"joint{j}", q, "rad") for q in ("position", "velocity") for j in range(1, 8))
AXES = tuple(Column("wrist", f"{q}.{a}", "N") for q in ("force", "torque") for a in "xyz")
STREAMS = (
    Stream("arm.motion", JOINTS, rate_hz=1000.0, tick_hz=1e6, tick_bits=32),
    Stream("wrist.wrench", AXES, rate_hz=1000.0, tick_hz=1e6, tick_bits=32),
)
SAMPLES = 10  # of a block, as devices give them
MOST_COST = 0.05  # of a core, by encryption
MOST_P99_S = 0.020
MOST_TOLD_S = 1.0
AT_A_TIME = 500  # connections of strangers
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"CURVE".ljust(20, b"\0") + bytes(32)
#: What strangers say: nothing that is known, half a handshake, frames without end, and whatever comes.
_WORDS = (
    b"GET / HTTP/1.1\r\n\r\n" * 3600,
    _GREETING + b"\x04\xc8\x05HELLO" + bytes(65_000),
    _GREETING + b"\x06" + struct.pack(">Q", 1 << 40) + bytes(65_000),
    os.urandom(65_536),
)


def make_block(stream: Stream, sequence: int) -> Block:
    """Samples of now."""
    host_ns = np.full(SAMPLES, time.monotonic_ns(), np.int64)
    return Block(
        stream,
        sequence,
        host_ns,
        np.zeros((SAMPLES, stream.width)),
        np.zeros((SAMPLES, stream.width), np.uint8),
        ticks=host_ns,
    )


@dataclass
class Host:
    """What a session does with its bus, without devices: blocks are recorded and published, setpoints played."""

    source: Source
    recorder: Recorder
    control: ControlClient
    outside: dict[str, Endpoint]
    played_s: list[float] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)  # requests that came from outside
    blocks: int = 0

    async def run(self, over: Callable[[], bool]) -> None:
        """1 kHz until it is over."""
        zeros = np.zeros((100, 7))
        chunk = Setpoints(0, np.arange(100) * 1_000_000, zeros, zeros, zeros)
        start = time.monotonic()
        while not over():
            await asyncio.sleep(max(0.0, start + self.blocks * SAMPLES / 1000 - time.monotonic()))
            for stream in STREAMS:
                block = make_block(stream, self.blocks * SAMPLES)
                self.recorder.block(block)
                self.source.publisher.publish(block)
            self.blocks += 1
            if self.blocks % 2 == 0:
                begin = time.perf_counter()
                await self.control.request("play", *setpoint_codec.encode(chunk))
                self.played_s.append(time.perf_counter() - begin)


@asynccontextmanager
async def hosting(folder: Path, keyring: Keyring, endpoint: str) -> AsyncIterator[Host]:
    """A host at a port of the loopback, with keys where the endpoint asks for them."""

    async def play(request: Request) -> None:
        setpoint_codec.decode(request.payload, request.buffers)

    async def strange(request: Request) -> None:
        host.strange.append(request.name)

    async def listen(stop: StopListener) -> None:
        async for reason in stop:
            host.stops.append(reason)

    there = "curve+tcp://127.0.0.1:0"
    recorder = Recorder(folder / "wires.mcap", RealClock())
    with private_endpoints() as private:
        async with (
            recorder,
            Source(Endpoint.parse(endpoint), "wires", 0) as source,
            StopListener(there, keyring=keyring) as stop,
            ControlServer(there, {"play": strange}, keyring=keyring) as control,
            ControlServer(private.control, {"play": play}),
            ControlClient(private.control) as client,
        ):
            for stream in STREAMS:
                recorder.describe(stream)
            source.begin(recorder.path)
            outside = {
                "telemetry": source.publisher.endpoint,
                "following": source.server.endpoint,
                "stop": stop.endpoint,
                "control": control.endpoint,
            }
            host = Host(source, recorder, client, outside)
            listening = asyncio.create_task(listen(stop))
            try:
                yield host
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)


def lost_in(path: Path, blocks: int) -> int:
    """Samples of the host that are not in its recording."""
    recording = Recording.open(path)
    found = sum(len(block) for stream in STREAMS for block in recording.blocks(stream.name))
    return blocks * SAMPLES * len(STREAMS) - found


async def cost(folder: Path, keyring: Keyring, endpoint: str, seconds: float) -> tuple[float, float]:
    """Share of a core that a host takes while another process reads its telemetry; p99 of its setpoints [s]."""
    async with hosting(folder, keyring, endpoint) as host:
        reader = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "--reader", str(host.outside["telemetry"])),
            stdout=asyncio.subprocess.PIPE,
        )
        assert reader.stdout is not None
        joined = asyncio.create_task(reader.stdout.readline())
        while not joined.done():
            host.source.publisher.publish_json(topics.STATE, "join")
            await asyncio.sleep(0.01)
        before, begin = _processor_s(), time.monotonic()
        await host.run(lambda: time.monotonic() - begin > seconds)
        share = (_processor_s() - before) / (time.monotonic() - begin)
        reader.kill()
        await reader.wait()
    return share, float(np.percentile(host.played_s, 99))


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def read(endpoint: str) -> None:
    """The other process."""
    async with Subscriber(endpoint) as subscriber:
        await subscriber.receive()
        sys.stdout.write("joined\n")
        sys.stdout.flush()
        async for _ in subscriber:
            pass


def attack(ports: list[int], connections: int, most_bytes: int) -> None:
    """The strangers, a process of their own: so many connections, some hundred at a time, and so many bytes."""
    os.nice(10)  # they have processors of their own, elsewhere
    said, tried = 0, 0
    while tried < connections or said < most_bytes:
        strangers: list[tuple[int, socket.socket]] = []
        # connections are used up, bytes are not
        for _ in range(min(AT_A_TIME, connections - tried) if tried < connections else 1):
            with contextlib.suppress(OSError):
                stranger = socket.create_connection(("127.0.0.1", ports[tried % len(ports)]), timeout=2.0)
                stranger.settimeout(0.2)
                strangers.append((tried // len(ports), stranger))  # every word at every port
            tried += 1
        said += _throw(strangers, most_bytes - said)
        if not strangers:
            time.sleep(0.01)  # the port is closed for a while
    sys.stdout.write(f"{said}\n")


def _throw(strangers: list[tuple[int, socket.socket]], most: int) -> int:
    """Bytes that were handed over to be sent, each with what is refused of it; every stranger has a word of his own."""
    said = 0
    for number, stranger in strangers:
        word = _WORDS[number % len(_WORDS)]
        with contextlib.suppress(OSError):
            while said < most:
                stranger.sendall(word)
                said += len(word)
        stranger.close()
    return said


@dataclass(frozen=True)
class Siege:
    """What strangers have achieved; how long each channel took to say no [s], before the attack and in it.

    In it a port that is flooded may be closed, and a stranger hears nothing until it is open again: infinite.
    """

    lost: int
    p50_s: float
    p99_s: float
    thrown: int
    seconds: float
    told_s: dict[str, float]
    attacked_s: dict[str, float]
    stops: list[str]
    played: list[str]


async def siege(folder: Path, connections: int, most_bytes: int) -> Siege:
    """A host under attack, and a stranger with a key of his own who asks politely meanwhile."""
    session, stranger = Keyring.of_user(), Keyring(folder / "stranger" / "keys")
    stranger.new()
    stranger.trust("127.0.0.1", session.own().public)
    async with hosting(folder, session, "curve+tcp://127.0.0.1:0") as host:
        ports = [str(endpoint.port) for endpoint in host.outside.values()]
        told_s = {name: await _told(name, at, stranger) for name, at in host.outside.items()}
        begin = time.monotonic()
        attacker = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "--attack", ",".join(ports), str(connections), str(most_bytes)),
            stdout=asyncio.subprocess.PIPE,
        )
        attacking = asyncio.create_task(attacker.communicate())
        asking = [asyncio.create_task(_told(name, at, stranger)) for name, at in host.outside.items()]
        try:
            with ahead_of_others():  # as `heft run` does
                await host.run(attacking.done)
            attacked_s = dict(zip(host.outside, await asyncio.gather(*asking), strict=True))
        finally:
            for one in asking:
                one.cancel()
            if attacker.returncode is None:
                attacker.kill()
            said, _ = await attacking
        seconds = time.monotonic() - begin
    p50, p99 = np.percentile(host.played_s, [50, 99])
    return Siege(
        lost_in(folder / "wires.mcap", host.blocks),
        float(p50),
        float(p99),
        int(said),
        seconds,
        told_s,
        attacked_s,
        host.stops,
        host.strange,
    )


async def _told(name: str, endpoint: Endpoint, keyring: Keyring) -> float:
    """Seconds until a stranger knows that he is not let in; infinite where he does not hear of it."""
    begin = time.monotonic()
    try:
        async with asyncio.timeout(10.0):
            await _try(name, endpoint, keyring)
    except NotAuthorised:
        return time.monotonic() - begin
    except (TimeoutError, BusError):
        return float("inf")
    raise AssertionError(f"{name}: a stranger was let in")


async def _try(name: str, endpoint: Endpoint, keyring: Keyring) -> None:
    match name:
        case "telemetry":
            async with Subscriber(endpoint, keyring=keyring) as subscriber:
                await subscriber.receive()
        case "following":
            async with FollowClient(endpoint, "stranger", keyring=keyring) as follower:
                await follower.describe()
        case "stop":
            await send_stop(endpoint, "a stranger", keyring=keyring)
        case _:
            async with ControlClient(endpoint, keyring=keyring) as client:
                await client.request("play")


async def main(arguments: argparse.Namespace) -> int:
    """Print what was measured; 1 where a bound is missed."""
    say = sys.stdout.write
    with tempfile.TemporaryDirectory(prefix="heft-") as name:
        os.environ["XDG_CONFIG_HOME"] = name
        keyring = Keyring.of_user()
        keyring.new()
        shares: dict[str, list[float]] = {"tcp": [], "curve+tcp": []}
        quiet_s: list[float] = []
        for turn in range(3):
            for scheme, found in shares.items():
                place = Path(tempfile.mkdtemp(prefix=f"{scheme}{turn}-", dir=name))
                share, p99_s = await cost(place, keyring, f"{scheme}://127.0.0.1:0", arguments.seconds)
                found.append(share)
                quiet_s.append(p99_s)
        plain, curve = (float(np.median(found)) for found in shares.values())
        say(
            f"host at 1 kHz x (7 joints + F/T), one subscriber: {plain:.1%} of a core plain, {curve:.1%} with CURVE: "
        )
        say(f"{curve - plain:+.1%} (at most {MOST_COST:.0%})\n")
        place = Path(name) / "siege"
        place.mkdir()
        found = await siege(place, arguments.connections, arguments.megabytes * 1_000_000)
    for channel, told_s in found.told_s.items():
        say(f"stranger at {channel}: refused in words after {told_s * 1e3:.0f} ms, ")
        say(f"under attack after {found.attacked_s[channel] * 1e3:.0f} ms\n")
    thrown = f"{arguments.connections} connections and {found.thrown / 1e9:.2f} GB"
    say(f"{thrown} thrown at four ports in {found.seconds:.0f} s: ")
    say(
        f"lost {found.lost} samples, setpoints p50 {found.p50_s * 1e3:.2f} ms p99 {found.p99_s * 1e3:.2f} ms, "
    )
    say(f"{len(found.stops)} stops, {len(found.played)} requests let in\n")
    failed = curve - plain > MOST_COST or max(found.told_s.values()) > MOST_TOLD_S
    failed |= bool(found.lost or found.stops or found.played) or found.p99_s > MOST_P99_S
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--reader"]:
        asyncio.run(read(sys.argv[2]))
    elif sys.argv[1:2] == ["--attack"]:
        attack([int(port) for port in sys.argv[2].split(",")], int(sys.argv[3]), int(sys.argv[4]))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--seconds", type=float, default=10.0, help="of each turn of the comparison")
        parser.add_argument("--connections", type=int, default=10_000)
        parser.add_argument("--megabytes", type=int, default=10_000)
        sys.exit(asyncio.run(main(parser.parse_args())))
