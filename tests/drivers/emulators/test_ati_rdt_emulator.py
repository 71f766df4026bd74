"""The emulated Net Box: bytes by the facts, one client, and an independent client that reads it."""

from __future__ import annotations

import asyncio
import socket
import struct
import urllib.error
import urllib.request
from typing import Any

import numpy as np
import pynetft
import pytest

START = bytes.fromhex("1234000200000000")
STOP = bytes.fromhex("1234000000000000")
BIAS = bytes.fromhex("1234004200000000")


class Client:
    """A plain socket and a decoder of its own."""

    def __init__(self, endpoint: dict[str, Any]) -> None:
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.setblocking(False)
        self._sock.connect((endpoint["host"], endpoint["port"]))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self._sock.close()

    def send(self, data: bytes) -> None:
        self._sock.send(data)

    async def records(self, n: int, timeout_s: float = 1.0) -> list[tuple[int, ...]]:
        """So many records, fewer if no more come."""
        loop, found = asyncio.get_running_loop(), []
        try:
            async with asyncio.timeout(timeout_s):
                while len(found) < n:
                    data = await loop.sock_recv(self._sock, 65536)
                    assert len(data) % 36 == 0
                    for k in range(0, len(data), 36):
                        words = [int.from_bytes(data[k + i : k + i + 4], "big") for i in range(0, 36, 4)]
                        found.append((*words[:3], *(w - (1 << 32) if w >> 31 else w for w in words[3:])))
        except TimeoutError:
            pass
        return found


async def test_records_count_on_and_carry_the_plants_wrench(emulated, bench, quiet):
    async with emulated("ati_rdt", **quiet) as box:
        with Client(box.endpoint) as client:
            client.send(START)
            records = await client.records(50)
            client.send(STOP)
    records = np.array(records[:50])
    assert (records[:, 0] == np.arange(1, 51)).all()
    assert (np.diff(records[:, 1]) == 7).all(), "7000 Hz inside, 1000 Hz outside"
    assert (records[:, 2] == 0).all()
    truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
    assert records[-1, 3:] / 1e6 == pytest.approx(truth, abs=0.1)


async def test_the_record_of_the_facts(emulated, bench, quiet, monkeypatch):
    golden = "000000010000006400000000000f4240ffe17b8001c9c380000003e8fffffc18000001f4"
    wrench = [1.0, -2.0, 30.0, 0.001, -0.001, 0.0005]
    monkeypatch.setattr(bench, "wrench", lambda t, window: np.tile(wrench, (len(t), 1)))
    async with emulated("ati_rdt", **quiet) as box:
        with Client(box.endpoint) as client:
            client.send(START)
            (first, *_) = await client.records(1)
    assert struct.pack(">III6i", first[0], 100, *first[2:]).hex() == golden  # ft_sequence is any


async def test_the_last_one_to_ask_has_the_stream(emulated):
    async with emulated("ati_rdt") as box:
        with Client(box.endpoint) as first, Client(box.endpoint) as second:
            first.send(START)
            assert await first.records(5)
            second.send(START)
            assert (await second.records(5))[0][0] == 1
            await first.records(1000, 0.05)
            assert not await first.records(1, 0.1), "two clients have the stream"


async def test_a_number_of_samples_buffered_mode_and_bias(emulated, quiet):
    async with emulated("ati_rdt", **quiet) as box:
        with Client(box.endpoint) as client:
            client.send(struct.pack(">HHI", 0x1234, 2, 3))
            assert len(await client.records(10, 0.1)) == 3
            client.send(struct.pack(">HHI", 0x1234, 3, 40))
            assert len(await client.records(100, 0.3)) == 40
            client.send(BIAS)
            client.send(START)
            records = np.array(await client.records(5))
            assert np.abs(records[:, 3:] / 1e6).max() < 1.0, "the load does not read zero"


@pytest.mark.parametrize(
    "junk", [b"", b"\x12\x34", b"\x12\x35\0\2\0\0\0\0", b"\x12\x34\x7f\x7f\0\0\0\0", bytes(500)]
)
async def test_junk_is_not_obeyed(emulated, junk):
    async with emulated("ati_rdt") as box:
        with Client(box.endpoint) as client:
            client.send(junk)
            assert not await client.records(1, 0.05)
            client.send(START)
            assert await client.records(1)


async def test_the_page_tells_scales_and_units(emulated):
    async with emulated("ati_rdt", serial="FT12345", force_unit="lbf") as box:
        url = f"http://127.0.0.1:{box.endpoint['http_port']}"

        def get(path: str) -> bytes:
            with urllib.request.urlopen(url + path, timeout=2) as page:
                body: bytes = page.read()
                return body

        text = (await asyncio.to_thread(get, "/netftapi2.xml")).decode()
        for piece in ("<cfgcpf>1000000</cfgcpf>", "<scfgfu>lbf</scfgfu>", "<cfgcalsn>FT12345</cfgcalsn>"):
            assert piece in text
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            await asyncio.to_thread(get, "/other")
        refused.value.close()


async def test_an_independent_client_reads_it(emulated, bench, quiet):
    """pynetft: written by others, native code."""
    async with emulated("ati_rdt", **quiet) as box:
        config = pynetft.Config(
            sensor_host="127.0.0.1",
            rdt_port=box.endpoint["port"],
            http_port=box.endpoint["http_port"],
            receive_timeout=1.0,
            recovery_policy=pynetft.RecoveryPolicy.FAIL_STOP,
        )

        def read() -> tuple[list[pynetft.Sample], pynetft.Health]:
            with pynetft.Client(config, queue_size=1000) as client:
                samples = [s for s, _ in zip(client.samples(timeout=2.0), range(200), strict=False)]
                return samples, client.health()

        samples, health = await asyncio.to_thread(read)
        truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
    assert len(samples) >= 199
    assert samples[-1].wrench == pytest.approx(truth, abs=0.1)
    assert samples[0].force_unit is pynetft.ForceUnit.NEWTON
    assert (health.lost_count, health.duplicate_count, health.malformed_count) == (0, 0, 0)
    assert health.ft_stall_count == health.ft_backward_count == health.device_error_count == 0
