"""A real broker with TLS: certificates and passwords, right and wrong; what the broker's page says is what is tried."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from heft.daq.config.broker import BrokerConfig
from heft.daq.errors import ConfigError
from heft.daq.mqtt import topics
from heft.daq.mqtt.link import Link

PAGE = Path(__file__).parents[3] / "docs" / "mqtt.md"
PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
CELL = "cell3"


def openssl(*arguments: str, folder: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_ca(folder: Path, name: str) -> None:
    openssl(
        *(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "30",
        ),
        *("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem"),
        folder=folder,
    )


def make_certificate(folder: Path, name: str, ca: str) -> None:
    openssl(
        *(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            f"/CN={name}",
        ),
        *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
        folder=folder,
    )
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1")
    openssl(
        *("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial"),
        *("-days", "30", "-extfile", "san", "-out", f"{name}.pem"),
        folder=folder,
    )
    (folder / f"{name}.key").chmod(0o600)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_ca(folder, "ca")
    make_ca(folder, "other-ca")
    for name in ("broker", "heft-cell3", "gripper-cell3", "dashboard"):
        make_certificate(folder, name, "ca")
    make_certificate(folder, "impostor", "other-ca")
    return folder


def block(kind: str) -> str:
    found = re.search(rf"^```{re.escape(kind)}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@contextmanager
def running(certificates: Path, folder: Path, settings: str) -> Iterator[int]:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    settings = settings.replace("listener 8883", f"listener {port} 127.0.0.1")
    settings = settings.replace("/etc/mosquitto/heft.acl", f"{folder}/heft.acl")
    settings = settings.replace("/etc/mosquitto/", f"{certificates}/").replace(
        "/var/lib/mosquitto/", f"{folder}/"
    )
    user = "user root\n" if os.geteuid() == 0 else ""
    (folder / "mosquitto.conf").write_text(f"{user}{settings}\nlog_dest none\n")
    (folder / "heft.acl").write_text(block("heft.acl"))
    (folder / "heft.acl").chmod(0o600)
    process = subprocess.Popen(
        [str(PROGRAM), "-c", str(folder / "mosquitto.conf")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(500):
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def port(certificates: Path, tmp_path: Path, missing: Callable[[str], NoReturn]) -> Iterator[int]:
    if PROGRAM is None:
        missing("no mosquitto to talk to: apt-get install mosquitto")
    with running(certificates, tmp_path, block("mosquitto.conf")) as port:
        yield port


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Link, "FIRST_WAIT_NS", 50_000_000)
    monkeypatch.setattr(Link, "LONGEST_WAIT_NS", 200_000_000)


def config(port: int, name: str | None, ca: str = "ca", **others: Any) -> BrokerConfig:
    tls: dict[str, Any] = {"ca": f"{ca}.pem"}
    if name is not None:
        tls |= {"certificate": f"{name}.pem", "key": f"{name}.key"}
    return BrokerConfig(host="127.0.0.1", port=port, tls=tls, keepalive_s=2, **others)


async def until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - it cannot tell
            await asyncio.sleep(0.01)


async def test_right_certificates_and_the_acl(port: int, certificates: Path) -> None:
    heard: list[Any] = []
    heft = Link(config(port, "heft-cell3"), CELL, "payload", folder=certificates)
    heft.hear(topics.gripper_event(CELL), heard.append)
    gripper = Link(config(port, "gripper-cell3"), CELL, "gripper", folder=certificates)
    dashboard = Link(config(port, "dashboard"), CELL, "dashboard", folder=certificates)
    async with heft:
        await until(lambda: heft.connected)
        async with dashboard, gripper:
            await until(lambda: dashboard.connected and gripper.connected)
            dashboard.event(
                topics.gripper_event(CELL), {"event": "picked", "by": "dashboard"}
            )  # may only read
            await until(lambda: not dashboard._events)
            gripper.event(topics.gripper_event(CELL), {"event": "picked", "by": "gripper"})
            await until(lambda: heard)
    assert [event.facts["by"] for event in heard] == ["gripper"]


@pytest.mark.parametrize(
    ("name", "ca"),
    [("impostor", "ca"), (None, "ca"), ("heft-cell3", "other-ca")],
    ids=["client", "none", "broker"],
)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # paho leaves its socket to the collector
async def test_wrong_certificates_are_refused_in_words(
    port: int, certificates: Path, name: str | None, ca: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with Link(config(port, name, ca), CELL, "session", folder=certificates) as link:
        await until(lambda: "check host, ca, certificate and key of mqtt.tls" in caplog.text)
        assert not link.connected
    assert "PRIVATE" not in caplog.text


async def test_a_password_over_tls(
    certificates: Path,
    tmp_path: Path,
    missing: Callable[[str], NoReturn],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    tool = shutil.which("mosquitto_passwd") or shutil.which("mosquitto_passwd", path="/usr/sbin")
    if PROGRAM is None or tool is None:
        missing("no mosquitto to talk to: apt-get install mosquitto")
    words = tmp_path / "passwords"
    subprocess.run(  # noqa: ASYNC221 - nothing else is to happen meanwhile
        [str(tool), "-b", "-c", str(words), "heft-cell3", "rosebud"], check=True, capture_output=True
    )
    settings = block("mosquitto.conf").replace(
        "require_certificate true\nuse_identity_as_username true\n", ""
    )
    with running(certificates, tmp_path, f"{settings}password_file {words}\n") as port:
        monkeypatch.setenv("HEFT_MQTT", "rosebud")
        named = {"username": "heft-cell3", "password_env": "HEFT_MQTT"}
        async with Link(config(port, None, **named), CELL, "session", folder=certificates) as link:
            await until(lambda: link.connected)
        monkeypatch.setenv("HEFT_MQTT", "wrongbud")
        async with Link(config(port, None, **named), CELL, "session", folder=certificates) as link:
            await until(lambda: "trying again" in caplog.text)
            assert not link.connected
    assert "bud" not in caplog.text


def test_secrets_that_others_can_read_or_that_are_not_there(
    certificates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(match: str, **options: Any) -> None:
        with pytest.raises(ConfigError, match=match):
            Link(BrokerConfig(host="h", **options), CELL, "session", folder=tmp_path)

    monkeypatch.delenv("HEFT_MQTT", raising=False)
    refused("environment variable HEFT_MQTT is not set", password_env="HEFT_MQTT")
    (tmp_path / "word").write_text("rosebud\n")
    (tmp_path / "word").chmod(0o644)
    refused("mode 0644: others can read it; chmod 600", password_file="word")
    refused("tls.ca cannot be used", tls={"ca": "word"})
    refused("tls.key cannot be read", tls={"certificate": "word", "key": "nowhere"})
    (tmp_path / "word").chmod(0o600)
    refused("give a certificate and its key", tls={"certificate": "word", "key": "word"})
    assert BrokerConfig(host="h", tls={}).port == 8883
    assert BrokerConfig(host="h", tls={}, port=1).port == 1
    for wrong in ({"password_env": "A", "password_file": "b"}, {"tls": {"key": "k"}}):
        with pytest.raises(ValueError, match="give"):
            BrokerConfig(host="h", **wrong)


@pytest.mark.parametrize("line", ["password: rosebud", "host: heft:rosebud@broker", "passwrd_token: rosebud"])
def test_a_secret_in_a_rigs_file_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    """The file travels inside recordings."""
    from heft.daq.config.rig import load_rig

    host = "" if line.startswith("host") else "  host: broker\n"
    rig = tmp_path / "rig.yaml"
    rig.write_text(f"name: x\nrobot: x.yaml\ndevices: {{a: {{kind: sim_arm}}}}\nmqtt:\n{host}  {line}\n")
    with pytest.raises(ConfigError, match="mqtt") as refused:
        load_rig(rig)
    assert "rosebud" not in str(refused.value)
