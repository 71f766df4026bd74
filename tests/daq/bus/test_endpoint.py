"""Endpoints: what is accepted, what is refused, and what the refusal says."""

from __future__ import annotations

import pytest

from heft.daq.bus import ControlClient, ControlServer, Endpoint, Endpoints, Publisher, StopListener, send_stop
from heft.daq.errors import BusError, ConfigError

LOCAL = [
    "ipc:///run/heft/x",
    "ipc://@heft",
    "inproc://x",
    "tcp://127.0.0.1:5555",
    "tcp://[::1]:1",
    "tcp://127.9.0.1:0",
]
REMOTE = ["tcp://*:5555", "tcp://0.0.0.0:5555", "tcp://192.0.2.7:5555", "tcp://[::]:5555", "tcp://eth0:5555"]


@pytest.mark.parametrize("text", [*LOCAL[:-1], *REMOTE])
def test_text_round_trip(text: str) -> None:
    assert str(Endpoint.parse(text)) == text


def test_localhost_is_its_address_and_any_port_is_zero() -> None:
    assert Endpoint.parse("tcp://localhost:*") == Endpoint("tcp", "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not an address"),
        ("127.0.0.1:5555", "is not an address"),
        ("udp://127.0.0.1:5555", "is not an address"),
        ("ipc://", "is not an address"),
        ("tcp://127.0.0.1", "no host or no port"),
        ("tcp://:5555", "no host or no port"),
        ("tcp://host:port", "no host or no port"),
        ("tcp://host:²", "no host or no port"),
        ("tcp://host:65536", "65536 is above 65535"),
        ("ipc://" + "x" * 108, "at most 107"),
    ],
)
def test_malformed_is_refused_with_value_and_remedy(text: str, says: str) -> None:
    with pytest.raises(BusError, match=says) as refused:
        Endpoint.parse(text)
    assert repr(text) in str(refused.value)
    assert "give" in str(refused.value) or "choose" in str(refused.value)


@pytest.mark.parametrize("text", LOCAL)
def test_local(text: str) -> None:
    assert Endpoint.parse(text).require_local("control").is_local


@pytest.mark.parametrize("text", REMOTE)
async def test_control_and_stop_refuse_what_others_can_reach(text: str) -> None:
    """Without keys, before any socket exists; a session's own channels are for its host in any case."""
    wanting = r"may not use tcp://.* without keys: .*make one with `heft keys new`"
    with pytest.raises(ConfigError, match=f"control {wanting}"):
        await ControlServer(text, {}).__aenter__()
    with pytest.raises(ConfigError, match=f"stop {wanting}"):
        await StopListener(text).__aenter__()
    with pytest.raises(ConfigError, match=f"telemetry {wanting}"):
        await Publisher(text).__aenter__()
    if "*" not in text:
        with pytest.raises(ConfigError, match=f"control {wanting}"):
            await ControlClient(text).__aenter__()
        with pytest.raises(ConfigError, match=f"stop {wanting}"):
            await send_stop(text, "no")
    local = Endpoint.parse("ipc://@x")
    with pytest.raises(BusError, match="control may not use"):
        Endpoints(telemetry=local, control=Endpoint.parse(text), stop=local)
    assert Endpoints(telemetry=Endpoint.parse(text), control=local, stop=local).telemetry == Endpoint.parse(
        text
    )
