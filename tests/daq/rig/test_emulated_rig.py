"""A rig whose devices are emulated: its file, its life, and what the command line makes of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heft.daq.clock import RealClock
from heft.daq.config import load_rig
from heft.daq.errors import ConfigError
from heft.daq.probe import probe
from heft.daq.rig import Rig
from heft.drivers.errors import ConnectError
from heft.exit_codes import ExitCode
from heft.main import main

ROBOT = Path(__file__).parents[3] / "configs" / "robots" / "wam7.yaml"
RIG = f"""
name: bench
robot: {ROBOT}
simulation:
  posture: [0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0]
devices:
  wrist: {{kind: ati_rdt, measure_s: 0.05, host: 192.0.2.1}}
  encoder: {{kind: amt21, port: /dev/ttyUSB0, rate_hz: 100, encoders: {{joint4: {{}}}}}}
  gripper: {{kind: robotiq_2f, port: /dev/ttyUSB1}}
emulation:
  devices:
    wrist: {{force_noise: 0.0}}
    encoder: {{encoders: {{joint4: {{}}}}}}
    gripper:
"""


@pytest.fixture
def rig_file(tmp_path: Path) -> Callable[..., Path]:
    """The rig above as a file, with pieces of it replaced."""

    def write(*changes: tuple[str, str]) -> Path:
        text = RIG
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "rig.yaml"
        path.write_text(text)
        return path

    return write


async def test_real_drivers_read_the_simulated_plant(rig_file):
    config = load_rig(rig_file())
    assert not config.simulated
    assert config.real == ()
    async with Rig(config, RealClock()) as rig:
        findings = {finding.device: finding for finding in await probe(rig, 0.3)}
    assert set(rig.truth["clocks"]) == {"wrist", "encoder", "gripper"}
    assert findings["encoder"].streams[0].last.si[-1, 0] == pytest.approx(1.8, abs=1e-3)
    assert findings["wrist"].streams[0].rate_hz == pytest.approx(1000.0, rel=0.05)
    assert findings["wrist"].streams[0].clock == "its own, 7000 Hz, 32 bit"
    assert findings["encoder"].streams[0].clock == "host, at the request"
    assert findings["gripper"].identity.vendor == "Robotiq"


async def test_faults_on_the_wire_come_from_the_file(rig_file):
    path = rig_file(
        ("    gripper:\n", "    gripper:\n  faults:\n    - {kind: drop, device: wrist, rate: 0.2}\n")
    )
    async with Rig(load_rig(path), RealClock()) as rig:
        findings = {finding.device: finding for finding in await probe(rig, 0.3)}
    wrist = findings["wrist"].counters
    assert wrist.lost > 0.1 * (wrist.lost + wrist.received)
    assert findings["encoder"].counters.received  # how many depends on how busy the host is


async def test_a_cancelled_rig_leaves_nothing(rig_file):
    async def live() -> None:
        async with Rig(load_rig(rig_file()), RealClock()) as rig:
            await probe(rig, 60.0)

    before = asyncio.all_tasks()
    task = asyncio.create_task(live())
    for _ in range(3):
        await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ("    gripper:\n", "    hand: {}\n"),
            r"emulation.devices.hand: there is no such device in this rig",
        ),
        (("force_noise: 0.0", "noise: 1"), r"rig.yaml:\d+: emulation.devices.wrist.noise: unknown key"),
        (
            ("emulation:", "emulation:\n  faults: [{kind: drop, device: elbow}]"),
            r"emulation.faults.0.device: there is no 'elbow' in this rig",
        ),
        (
            ("emulation:", "emulation:\n  faults: [{kind: flood, device: wrist}]"),
            r"emulation.faults.0: Input tag 'flood'",
        ),
        (
            ("simulation:\n  posture: [0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0]\n", ""),
            r"simulation: missing, but the rig has emulated devices; add this key",
        ),
        (
            ("{kind: robotiq_2f, port: /dev/ttyUSB1}", "{kind: sim_gripper}"),
            r"emulation.devices.gripper: kind: 'sim_gripper' has no emulator",
        ),
        (
            ("{kind: robotiq_2f, port: /dev/ttyUSB1}", "{kind: robotiq_2f, port: /dev/ttyUSB0}"),
            r"devices.gripper: serial /dev/ttyUSB0 is already used by `encoder`",
        ),
        (
            ("emulation:\n", "  arm: {kind: sim_drives}\nemulation:\n"),
            r"devices.arm: simulated, but the rig has emulated devices",
        ),
        (
            (
                "emulation:\n  devices:\n",
                "  arm: {kind: moteus, axes: {}}\nemulation:\n  devices:\n    arm: {interface: virtual}\n",
            ),
            r"emulation.devices.arm.interface: virtual is a bus inside one process",
        ),
    ],
)
def test_mistakes_in_the_file_are_named(rig_file, change, says):
    with pytest.raises(ConfigError, match=says):
        load_rig(rig_file(change))


def test_an_encoder_on_a_joint_that_is_not_there(rig_file):
    config = load_rig(rig_file(("    encoder: {encoders: {joint4", "    encoder: {encoders: {elbow")))
    with pytest.raises(ConfigError, match=r"emulation.devices.encoder.encoders.elbow: no such joint"):
        Rig(config, RealClock())


# -- the command line --------------------------------------------------------------------------------------------------


def test_probe_prints_one_table(rig_file, capsys):
    assert main(["devices", "probe", str(rig_file()), "--seconds", "0.3"]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["device", "wrist", "encoder", "gripper"]
    assert "Emulated Net F/T FT00001" in lines[1]


def test_probe_as_json(rig_file, capsys):
    assert main(["devices", "probe", str(rig_file()), "--seconds", "0.3", "--json"]) == ExitCode.DONE
    (wrist, encoder, _) = json.loads(capsys.readouterr().out)["devices"]
    assert wrist["identity"]["serial"] == "FT00001"
    assert encoder["streams"][0]["value"] == [pytest.approx(1.8, abs=1e-3)]


def test_probe_names_every_device_that_fails(rig_file, capsys):
    path = rig_file(("    encoder: {encoders: {joint4: {}}}\n    gripper:\n", ""))
    assert main(["devices", "probe", str(path)]) == ExitCode.FAILED
    text = capsys.readouterr().err
    assert "2 of 3 devices did not connect:\n  wrist: connected\n  encoder: cannot open /dev/ttyUSB0" in text
    assert "gripper: cannot open /dev/ttyUSB1 at 115200 baud: no such port; check the cable" in text


def test_a_device_that_is_lost_while_it_is_probed(rig_file, capsys):
    fault = "    gripper:\n  faults:\n    - {kind: silence, device: wrist, at_s: 0.6}\n"
    assert main(["devices", "probe", str(rig_file(("    gripper:\n", fault)))]) == ExitCode.FAILED
    text = capsys.readouterr().err
    assert "1 of 3 devices failed while they were read:\n  wrist: udp 127.0.0.1:" in text
    assert "encoder: read\n" in text


def test_emulated_devices_run_at_speed_1_only(rig_file, tmp_path, capsys):
    session = tmp_path / "session.yaml"
    session.write_text(f"name: s\nrig: {rig_file()}\nsteps: [{{name: wait, wait: 1}}]\n")
    for speed in ("max", "2"):
        assert main(["run", str(session), "--speed", speed]) == ExitCode.USAGE
        assert "real and emulated devices run at speed 1 only" in capsys.readouterr().err


def emulate(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "heft.main", "devices", "emulate", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # also from a job in a shell's background
    )


def test_emulate_is_a_process_of_its_own():
    with emulate(
        "onrobot_hex", "--set", "rate_hz=100", "--fault", '{"kind": "status", "bits": 4}'
    ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["kind"] == "onrobot_hex"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(5)
            client.sendto(bytes.fromhex("1234000200000002"), (told["host"], told["port"]))
            record = struct.unpack(">III6i", client.recv(100))
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert record[0] == 1
    assert record[2] == 4


def test_emulate_tells_a_serial_port():
    with emulate("amt21") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["pty"].startswith("/dev/")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    "arguments",
    [("--set", "rate_hz=-1"), ("--set", "rate_hz"), ("--fault", "{"), ("--fault", '{"kind": "x"}')],
)
def test_emulate_with_wrong_options(arguments, capsys):
    assert main(["devices", "emulate", "ati_rdt", *arguments]) == ExitCode.USAGE
    assert capsys.readouterr().err


def test_devices_lists_kinds(capsys):
    assert main(["devices", "list"]) == ExitCode.DONE
    table = capsys.readouterr().out
    for kind in ("ati_rdt", "onrobot_hex", "bota_serial", "robotiq_ft300", "amt21", "robotiq_2f"):
        assert kind in table


async def test_nothing_is_left_open_when_a_device_fails(rig_file):
    path = rig_file(
        ("    gripper:\n", ""), ("/dev/ttyUSB1", "/dev/ttyUSB2")
    )  # locked: other tests have other ports
    with pytest.raises(ConnectError, match=r"1 of 3 devices did not connect"):
        await Rig(load_rig(path), RealClock()).__aenter__()
