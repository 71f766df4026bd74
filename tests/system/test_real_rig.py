"""A rig of real devices, as its drivers see it: no `emulation` in its file, and whoever answers is another process.

Seven CiA 402 drives on a CAN bus between processes, an ATI box on UDP, a gripper on a serial line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording

pytestmark = [pytest.mark.slow, pytest.mark.alone]

KINDS = ("cia402", "ati_rdt", "robotiq_2f")
WAY = [0.3, -0.3, 0.2, 0.4, -0.2, 0.2, 0.2]


@pytest.fixture(scope="module")
def endpoints() -> Iterator[dict[str, dict[str, Any]]]:
    """Where the devices are, by kind, as each process says when it is ready."""
    processes = {
        kind: subprocess.Popen(
            [sys.executable, "-m", "heft.main", "devices", "emulate", kind], stdout=subprocess.PIPE, text=True
        )
        for kind in KINDS
    }
    try:
        found = {}
        for kind, process in processes.items():
            assert process.stdout is not None
            found[kind] = json.loads(process.stdout.readline())
            assert found[kind].pop("kind") == kind
        yield found
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.communicate(timeout=20)


@pytest.fixture
def session(tmp_path: Path, endpoints: dict[str, dict[str, Any]]) -> Path:
    ati, gripper = endpoints["ati_rdt"], endpoints["robotiq_2f"]
    axes = {f"joint{i}": {"node": i, "counts_per_turn": 524288, "rated_current": 10.0} for i in range(1, 8)}
    patient = {"timeout_s": 1.0}
    rig = {
        "name": "bay",
        "robot": str(CONFIGS / "robots/wam7.yaml"),
        "devices": {
            "arm": {
                "kind": "cia402",
                **endpoints["cia402"],
                **patient,
                "axes": axes,
                "rate_hz": 50,  # four processes share this machine with others
                "watchdog_s": 1.0,
                "catch_up": 10,
                "referenced": "emulated drives count from the joints' zero",
            },
            "wrist": {"kind": "ati_rdt", **ati, **patient},
            "gripper": {"kind": "robotiq_2f", "port": gripper["pty"], "answer_s": 0.5, **patient},
        },
    }
    steps = [
        {"name": "there", "use": "identification", "move": {"to": WAY, "fraction": 0.2}},
        {"name": "take", "grip": "anything"},
        {"name": "let go", "release": True},
        {"name": "back", "move": {"to": [0.0] * 7, "fraction": 0.2}},
    ]
    watch = {"stream_age_s": 1.0, "tracking_error": 0.3, "velocity_margin": 1.5}
    content = {"name": "short", "rig": "rig.yaml", "rate_hz": 500, "watch": watch, "steps": steps}
    for name, what in (("rig", rig), ("session", content)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(what), encoding="utf-8")
    return tmp_path / "session.yaml"


class Operator:
    """`heft run` at a terminal, and somebody in front of it."""

    def __init__(self, session: Path, *more: str) -> None:
        self.out = session.parent / "out"
        self._master, slave = os.openpty()
        command = [sys.executable, "-m", "heft.main", "run", str(session), "--out", str(self.out)]
        self.popen = subprocess.Popen(
            [*command, "--no-identify", "--unrehearsed", "--json", *more],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        os.close(slave)
        self.seen = ""

    def __enter__(self) -> Operator:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.communicate()
        os.close(self._master)

    def wait_for_the_question(self) -> None:
        assert self.popen.stderr is not None
        while not self.seen.endswith("at rest: "):
            letter = self.popen.stderr.read(1)
            assert letter, self.seen
            self.seen += letter

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> Any:
        """What it says on standard output when it has ended."""
        out, err = self.popen.communicate(timeout=60)
        self.seen += err
        return json.loads(out)

    @property
    def recording(self) -> Recording:
        return Recording.open(self.out / "short.mcap")

    def moved(self) -> float:
        """The way of the joint that moved most, as the drives saw it [rad]."""
        position = self.recording.columns("arm.motion").quantity("position")
        return float(np.ptp(position, axis=0).max())


def test_a_session_that_the_operator_arms(session: Path) -> None:
    with Operator(session) as operator:
        operator.wait_for_the_question()
        assert "This moves a real robot: wam7, rig bay" in operator.seen
        assert "this plan has NOT been rehearsed" in operator.seen
        operator.type("wam7\n")
        report = operator.end()
        assert operator.popen.returncode == 0, operator.seen
        assert report["state"] == "done"
        assert operator.recording.metadata["rehearsal"]["state"] == "unrehearsed"
        reached = np.abs(operator.recording.columns("arm.motion").quantity("position")).max(axis=0)
        assert reached == pytest.approx(np.abs(WAY), abs=0.02)
        opening = operator.recording.columns("gripper.state").quantity("opening")
        assert np.ptp(opening) > 0.02
        assert not np.isnan(operator.recording.columns("wrist.wrench").si).any()
        # What a bus without arbitration between busy processes may lose, and cycles that a busy host leaves out, are
        # counted, and few.
        motion = report["streams"]["arm.motion"]
        assert motion["lost"] <= 0.1 * motion["expected"]


def test_a_session_that_a_script_arms(session: Path) -> None:
    content = yaml.safe_load(session.read_text(encoding="utf-8"))
    session.write_text(yaml.safe_dump(content | {"steps": content["steps"][:1]}), encoding="utf-8")
    with Operator(session, "--arm", "wam7") as operator:
        report = operator.end()
        assert operator.popen.returncode == 0, operator.seen
        assert report["state"] == "done"
        assert "armed by --arm wam7" in operator.seen
        assert operator.recording.columns("arm.motion").quantity("position")[-1] == pytest.approx(
            WAY, abs=0.02
        )


@pytest.mark.parametrize("answer", ["no\n", None])
def test_a_session_that_is_not_armed_moves_nothing(session: Path, answer: str | None) -> None:
    with Operator(session) as operator:
        operator.wait_for_the_question()
        if answer is None:
            operator.popen.send_signal(signal.SIGINT)  # Ctrl-C
        else:
            operator.type(answer)
        report = operator.end()
        assert operator.popen.returncode == 3, operator.seen
        assert report["state"] == "aborted"
        assert ("not armed" if answer else "SIGINT received") in report["reason"]
        assert "armed" not in [e.facts.get("state") for e in operator.recording.events]
        assert operator.moved() < 1e-3


def test_a_probe_of_the_same_rig(session: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "heft.main",
        "devices",
        "probe",
        str(session.parent / "rig.yaml"),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = {device["device"]: device for device in json.loads(done.stdout)["devices"]}
    assert set(found) == {"arm", "wrist", "gripper"}
    assert all(
        stream["value"] is not None for d in found.values() for stream in d["streams"] if stream["rate_hz"]
    )
