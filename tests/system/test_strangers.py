"""Strangers at the ports of a host (`benchmarks/wires.py`, smaller): nothing is lost, let in, stopped or played."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from heft.daq.bus.keyring import Keyring

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "wires.py"


def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("wires_benchmark", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    wires = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "wires_benchmark", wires)
    spec.loader.exec_module(wires)
    return wires


@pytest.mark.slow
@pytest.mark.alone
async def test_strangers_at_the_ports_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wires = program(monkeypatch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    Keyring.of_user().new()
    found = await wires.siege(tmp_path, 300, 200_000_000)
    assert found.thrown >= 200_000_000
    assert found.lost == 0
    assert found.stops == []
    assert found.played == []
    assert set(found.told_s) == {"telemetry", "following", "stop", "control"}
    assert max(found.told_s.values()) < float("inf")  # each was told
    assert set(found.attacked_s) == set(found.told_s)  # and nobody was let in while it went on


def test_strangers_try_every_word_at_every_port(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """When the connections are used up, too; and only bytes that were handed over count."""
    wires = program(monkeypatch)
    heard: dict[tuple[int, bytes], int] = {}

    class Stranger:
        def __init__(self, port: int) -> None:
            self.port = port

        def settimeout(self, seconds: float) -> None: ...

        def sendall(self, word: bytes) -> None:
            if (self.port, word) in heard:
                raise ConnectionResetError
            heard[self.port, word] = len(word)

        def close(self) -> None: ...

    def connected(address: tuple[str, int], timeout: float) -> Stranger:
        calls.append(address[1])
        if len(calls) % 2 == 0:
            raise ConnectionRefusedError
        return Stranger(address[1])

    calls: list[int] = []
    monkeypatch.setattr(wires.socket, "create_connection", connected)
    monkeypatch.setattr(wires.os, "nice", lambda _: 0)
    monkeypatch.setattr(wires.time, "sleep", lambda _: None)
    monkeypatch.setattr(wires, "_WORDS", (b"a" * 10, b"b" * 20, b"c" * 30))
    wires.attack([1, 2, 3], 2, 120)
    assert {port for port, _ in heard} == {1, 2, 3}
    assert {word[:1] for _, word in heard} == {b"a", b"b", b"c"}
    assert int(capsys.readouterr().out) == sum(heard.values()) >= 120
