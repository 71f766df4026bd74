"""A real mosquitto on a free port of the loopback, for one test."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import aiomqtt
import pytest

from heft.daq.config.broker import BrokerConfig

PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


class Broker:
    """A mosquitto that can be stopped and started again; what it keeps, it keeps in `folder`."""

    def __init__(self, folder: Path, port: int) -> None:
        self.config = BrokerConfig(host="127.0.0.1", port=port, keepalive_s=2)
        self._file = folder / "mosquitto.conf"
        user = "user root\n" if os.geteuid() == 0 else ""  # else it becomes one who may not enter `folder`
        self._file.write_text(
            f"{user}listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
            f"persistence_location {folder}/\nautosave_interval 1\nlog_dest none\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when it takes connections."""
        self._process = subprocess.Popen(
            [PROGRAM, "-c", str(self._file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(200):
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", self.config.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("mosquitto does not take connections")

    def stop(self) -> None:
        """As an orderly shutdown does it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def freeze(self) -> None:
        """It takes what it is sent, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        """Without a chance to write anything down."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)
        self._process = None

    def client(self, name: str | None = None) -> aiomqtt.Client:
        """Another program."""
        clean = None if name is None else False
        return aiomqtt.Client("127.0.0.1", self.config.port, identifier=name, clean_session=clean)


@pytest.fixture(scope="session")
def schema_faults() -> Callable[[Any], list[str]]:
    """Everything in which a message breaks payload.schema.json."""
    spec = importlib.util.spec_from_file_location(
        "payload_schema", Path(__file__).with_name("payload_schema.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda message: list(module.faults(message))


@pytest.fixture
def port() -> int:
    """A free port of the loopback."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def broker(tmp_path: Path, port: int, missing: Callable[[str], NoReturn]) -> Iterator[Broker]:
    if PROGRAM is None:
        missing("no mosquitto to talk to: apt-get install mosquitto")
    folder = tmp_path / "broker"
    folder.mkdir()
    broker = Broker(folder, port)
    broker.start()
    yield broker
    broker.stop()
