"""Bad configuration: one clear message with file, key, value and remedy; exit code 2, nothing moves or is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, ConfigDict

from heft.daq.config import rig as rig_module
from heft.drivers import registry
from heft.drivers.registry import Kind, Transport
from heft.main import main

if TYPE_CHECKING:
    from tests.system.conftest import Bench, Run


def check_refused(run: Run, message: str) -> None:
    """`message` is a pattern for all that is printed."""
    assert run.code == 2, run.err
    assert re.fullmatch(f"heft run: {message}\n", run.err, re.DOTALL), run.err
    assert run.json == {"error": run.err.removeprefix("heft run: ").removesuffix("\n")}
    assert "Traceback" not in run.err
    assert run.files == set()
    assert not run.folder.exists()


@pytest.fixture(autouse=True)
def nothing_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused configuration does not get as far as a device."""
    from heft.drivers.sim.device import SimDevice

    async def fail(self: Any) -> None:
        raise AssertionError("a device was opened")

    monkeypatch.setattr(SimDevice, "__aenter__", fail)


def test_an_unknown_key_in_the_session(bench: Bench) -> None:
    bench.session["colour"] = "red"
    check_refused(
        bench.run(), r".*/session\.yaml:\d+: colour: unknown key; remove it or correct its spelling"
    )


def test_an_unknown_key_in_the_rig(bench: Bench) -> None:
    bench.rig["robots"] = "x"
    check_refused(bench.run(), r".*/rig\.yaml:\d+: robots: unknown key; remove it or correct its spelling")


def test_an_unknown_option_of_a_device(bench: Bench) -> None:
    bench.rig["devices"]["wrist"]["rat_hz"] = 500
    check_refused(
        bench.run(), r".*/rig\.yaml:\d+: devices\.wrist\.rat_hz: unknown key; remove it or correct.*"
    )


def test_an_unknown_option_of_the_plant(bench: Bench) -> None:
    bench.rig["simulation"]["gravity"] = 3
    check_refused(bench.run(), r".*/rig\.yaml:\d+: simulation\.gravity: unknown key; remove it.*")


def test_a_limit_the_wrong_way_round(bench: Bench) -> None:
    bench.robot["joints"]["joint2"]["position"] = [1.5, -1.5]
    pattern = (
        r".*/robot\.yaml:\d+: joints\.joint2\.position: .* must be below .*; swap them, got \[1\.5, -1\.5\]"
    )
    check_refused(bench.run(), pattern)


def test_a_missing_model_file(bench: Bench) -> None:
    bench.robot["model"] = "gone.xml"
    check_refused(
        bench.run(),
        r".*/robot\.yaml:\d+: model: no file .*/gone\.xml; put it beside robot\.yaml, got 'gone\.xml'",
    )


def test_a_model_that_is_none(bench: Bench) -> None:
    (bench.folder / "wam7.xml").write_text("<mujoco><body>", encoding="utf-8")
    check_refused(bench.run(), r".*/robot\.yaml:2: model: wam7\.xml: not XML: .*; correct the file.*")


def test_a_missing_rig(bench: Bench) -> None:
    bench.session["rig"] = "gone.yaml"
    check_refused(bench.run(), r".*/gone\.yaml: no such file; give the path of a YAML file")


def test_a_missing_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path / "gone.yaml"), "--out", str(tmp_path / "out")]) == 2
    assert (
        capsys.readouterr().err
        == f"heft run: {tmp_path}/gone.yaml: no such file; give the path of a YAML file\n"
    )


class PortOptions(BaseModel):
    """Of a device with a serial port."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    port: str


class PortDevice:
    """Stands for a device with a port of its own; it is never made."""

    Options = PortOptions


def test_two_devices_on_one_port(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: Mapping[str, Kind] = {
        **registry.KINDS,
        "probe": Kind(f"{__name__}:PortDevice", Transport.SERIAL, "nothing", port=("port",)),
    }
    monkeypatch.setattr(registry, "KINDS", kinds)
    monkeypatch.setattr(rig_module, "KINDS", kinds)
    monkeypatch.setattr(registry, "_driver_class", _class_or(PortDevice, registry._driver_class))
    bench.rig["devices"]["left"] = {"kind": "probe", "port": "/dev/ttyUSB0"}
    bench.rig["devices"]["right"] = {"kind": "probe", "port": "/dev/ttyUSB0"}
    pattern = (
        r".*/rig\.yaml: devices\.right: serial /dev/ttyUSB0 is already used by `left`; "
        r"give each device its own port"
    )
    check_refused(bench.run(), pattern)


def _class_or(special: type, otherwise: Any) -> Any:
    return lambda kind: special if kind == "probe" else otherwise(kind)


def test_an_unknown_kind_of_device(bench: Bench) -> None:
    bench.rig["devices"]["wrist"]["kind"] = "sim_wrist"
    check_refused(
        bench.run(), r".*/rig\.yaml: devices\.wrist\.kind: 'sim_wrist' is not a known device; known: .*"
    )


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            {"kind": "silence", "device": "foot"},
            r"device: there is no 'foot' in this rig; one of arm, encoders, .*",
        ),
        (
            {"kind": "drive_fault", "device": "arm", "joint": "elbow"},
            r"joint: there is no 'elbow' in this rig; one of joint1, .*",
        ),
    ],
)
def test_a_fault_that_would_happen_to_nobody(bench: Bench, fault: dict[str, Any], message: str) -> None:
    bench.faults({"kind": "drop", "device": "arm"}, fault)
    check_refused(bench.run(), rf".*/rig\.yaml: simulation\.faults\.1\.{message}")


def test_a_posture_of_another_robot(bench: Bench) -> None:
    bench.rig["simulation"]["posture"] = [0.0, 1.0]
    check_refused(bench.run(), r".*/rig\.yaml: simulation\.posture: 2 numbers, but \w+ has 7 joints.*")


def test_a_posture_outside_the_limits(bench: Bench) -> None:
    bench.rig["simulation"]["posture"] = [0.0, 9.0, 0.0, 1.8, -1.8, 0.0, 0.0]
    check_refused(
        bench.run(), r".*/rig\.yaml: simulation\.posture: 9\.0 rad for joint2 is outside \[.*\] rad; .*"
    )


def test_an_option_that_its_driver_refuses(bench: Bench) -> None:
    bench.rig["devices"]["arm"]["watchdog_s"] = 0.001
    check_refused(bench.run(), r".*/rig\.yaml: devices\.arm.*watchdog_s.* 0\.001 s.*raise it.*")


def test_telemetry_that_is_no_endpoint(bench: Bench) -> None:
    bench.rig["telemetry"] = "127.0.0.1:5000"
    check_refused(
        bench.run(), r".*/rig\.yaml:\d+: telemetry: endpoint '127\.0\.0\.1:5000' is not an address.*"
    )


def test_a_move_outside_the_limits(bench: Bench) -> None:
    bench.session["steps"][0]["move"]["to"][1] = 5.0
    pattern = (
        r".*/session\.yaml: steps\.sway may not be played:\n"
        r"  joint2: position 5 rad at \d+\.\d{3} s, bound [\d.]+ rad; move the centre.*"
    )
    check_refused(bench.run(), pattern)


def test_a_series_outside_the_limits_names_every_bound(bench: Bench) -> None:
    a = [[0.0] for _ in range(7)]
    a[0], a[3] = [40.0], [-40.0]
    series = {"seconds": 1.0, "period_s": 2.0, "a": a, "b": [[0.0]] * 7, "q0": [0, 0, 0, 1.5, 0, 0, 0]}
    bench.session["steps"] = [{"name": "wild", "fourier": series}]
    run = bench.run()
    check_refused(run, r".*/session\.yaml: steps\.wild may not be played:\n  .*")
    for joint in ("joint1", "joint4"):
        for quantity in ("position", "velocity", "acceleration"):
            assert re.search(
                rf"^  {joint}: {quantity} -?[\d.]+ rad\S* at .* s, bound .*; \w+", run.err, re.MULTILINE
            )
    assert not re.search(r"joint2: (position|velocity|acceleration)", run.err)


def test_a_move_with_too_few_joints(bench: Bench) -> None:
    bench.session["steps"][0]["move"]["to"] = [0.0, 0.1]
    pattern = r".*/session\.yaml: steps\.sway\.move\.to: 2 entries, but the robot has 7 joints; give one per joint.*"
    check_refused(bench.run(), pattern)


def test_real_devices_do_not_run_faster(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_driver_class", _class_or(PortDevice, registry._driver_class))
    kinds = {
        **registry.KINDS,
        "probe": Kind("nowhere:PortDevice", Transport.SERIAL, "nothing", port=("port",)),
    }
    monkeypatch.setattr(rig_module, "KINDS", kinds)
    bench.rig["devices"] = {"left": {"kind": "probe", "port": "/dev/ttyUSB0"}}
    del bench.rig["simulation"]
    check_refused(bench.run(speed="2"), r".*/rig\.yaml: --speed 2: real .*devices run at speed 1 only")


# -- where the results go -------------------------------------------------------


def test_a_recording_is_never_overwritten(bench: Bench) -> None:
    out = bench.folder / "out1"
    out.mkdir()
    for name in ("short.mcap", "short.mcap.partial"):
        (out / name).write_text("precious", encoding="utf-8")
        bench._runs = 0
        run = bench.run()
        assert run.code == 2
        assert re.fullmatch(
            rf"heft run: --out .*/out1: {re.escape(name)} exists; move it away, or give another folder\n",
            run.err,
        )
        assert set(run.json) == {"error"}
        assert run.files == {name}
        assert (out / name).read_text(encoding="utf-8") == "precious"
        (out / name).unlink()


def test_a_folder_that_cannot_be_written(bench: Bench) -> None:
    (bench.folder / "out1").write_text("a file, not a folder", encoding="utf-8")
    arguments, _ = bench.command()
    run = bench.run_arguments(arguments, bench.folder / "out1" / "deeper")
    assert run.code == 2
    assert re.fullmatch(r"heft run: --out .*/out1: a file; give a folder\n", run.err), run.err
