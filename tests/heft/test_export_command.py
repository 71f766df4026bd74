"""`heft export`: what is written, what is said, and the exit codes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.exit_codes import ExitCode
from heft.identify import Processing, Result, Robot
from heft.identify.bodies.parameters import Layout
from heft.identify.result import BaseValues, Parameters, Provenance, RelativeError
from heft.identify.robot.base import base_parameters
from heft.main import main

CONFIGS = Path(__file__).parents[2] / "configs" / "robots"


@pytest.fixture
def result() -> Result:
    """The Panda as its file has it."""
    robot = Robot.load(CONFIGS / "panda.yaml")
    base, n = base_parameters(robot), len(robot.joints)
    return Result(
        robot=robot,
        method="sdp",
        level="full",
        parameters=Parameters(Layout(robot.parameter_names), robot.prior),
        base=BaseValues(base.names, base.matrix @ robot.prior, np.eye(base.rank), base.matrix),
        rank=base.rank,
        condition_number=80.0,
        fit=RelativeError(0.01, np.full(n, 0.01), np.full(n, 0.1), np.full(n, 100)),
        weights=np.ones(n),
        processing=Processing(5.0),
        provenance=Provenance((), {}, {}),
        prior=robot.prior,
    )


def test_everything_at_once(result: Result, tmp_path: Path, capsys) -> None:
    path = result.save(tmp_path / "result.json")
    outs = {kind: tmp_path / "out" / f"panda.{kind}" for kind in ("urdf", "mjcf", "csv", "yaml")}
    options = [text for kind, out in outs.items() for text in (f"--{kind}", str(out))]
    assert main(["export", str(path), *options]) == ExitCode.DONE
    out = capsys.readouterr().out
    assert all(file.is_file() and str(file) in out for file in outs.values())
    assert "left out  joint1.offset ... joint7.offset (7): no model file holds a constant torque" in out
    assert f"sidecar   {outs['urdf']}.json" in out


def test_json(result: Result, tmp_path: Path, capsys) -> None:
    path = result.save(tmp_path / "result.json")
    assert main(["export", str(path), "--mjcf", str(tmp_path / "out.xml"), "--json"]) == ExitCode.DONE
    said = json.loads(capsys.readouterr().out)
    assert said["objections"] == []
    assert said["mjcf"]["rigid_body_torque_difference"] < 1e-9
    assert said["mjcf"]["left_out"][0] == "joint1.offset"


def test_a_model_that_could_not_exist(result: Result, tmp_path: Path, capsys) -> None:
    values = result.parameters.values.copy()
    values[4] = -1.0
    wrong = replace(result, parameters=Parameters(result.layout, values)).save(tmp_path / "result.json")
    out = tmp_path / "out.xml"
    assert main(["export", str(wrong), "--mjcf", str(out)]) == ExitCode.NO
    assert "link1 is not consistent at level full" in capsys.readouterr().err
    assert not out.exists()
    assert main(["export", str(wrong), "--csv", str(tmp_path / "p.csv")]) == ExitCode.DONE
    assert main(["export", str(wrong), "--mjcf", str(out), "--force"]) == ExitCode.DONE
    assert out.is_file()


def test_a_model_that_is_not_fit_for_use_is_refused_and_says_so_where_it_is_forced(
    result: Result, tmp_path: Path, capsys
) -> None:
    missed = replace(result.fit, per_joint=np.full(len(result.fit.rows), 0.69))
    path = replace(result, fit=missed).save(tmp_path / "result.json")
    outs = {kind: tmp_path / f"out.{kind}" for kind in ("urdf", "mjcf", "yaml")}
    for kind, out in outs.items():
        assert main(["export", str(path), f"--{kind}", str(out)]) == ExitCode.NO
        assert "it misses 69.0 % of joint" in capsys.readouterr().err
        assert not out.exists()
        assert main(["export", str(path), f"--{kind}", str(out), "--force", "--json"]) == ExitCode.DONE
        said = json.loads(capsys.readouterr().out)
        assert said["verdict"]["grade"] == "unfit"
        assert said["verdict"]["headline"] in out.read_text()
    sidecar = json.loads((tmp_path / "out.urdf.json").read_text())
    assert sidecar["verdict"] == said["verdict"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "say what to write: --urdf, --mjcf, --csv or --yaml"),
        (["--csv", "x", "--into", "y"], "--into goes with one of --urdf and --mjcf"),
    ],
)
def test_usage(options: list[str], message: str, capsys) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["export", "result.json", *options])
    assert exit_.value.code == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_no_result(tmp_path: Path, capsys) -> None:
    assert main(["export", str(tmp_path / "none.json"), "--csv", "x"]) == ExitCode.FAILED
    assert "none.json: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["urdf", "mjcf", "csv", "yaml"])
def test_nothing_is_overwritten_in_silence(kind: str, result: Result, tmp_path: Path, capsys) -> None:
    path = result.save(tmp_path / "result.json")
    taken = tmp_path / "precious.xml"
    taken.write_text("a year of work")
    with pytest.raises(SystemExit) as caught:
        main(["export", str(path), f"--{kind}", str(taken)])
    assert caught.value.code == ExitCode.USAGE
    assert (
        "precious.xml: is there already; choose another name, or say --overwrite" in capsys.readouterr().err
    )
    assert taken.read_text() == "a year of work"
    assert main(["export", str(path), f"--{kind}", str(taken), "--overwrite"]) == ExitCode.DONE
    assert taken.read_text() != "a year of work"
    assert not [file for file in tmp_path.iterdir() if "draft" in file.name]


def test_a_sidecar_is_not_overwritten_either(result: Result, tmp_path: Path, capsys) -> None:
    path = result.save(tmp_path / "result.json")
    (tmp_path / "arm.urdf.json").write_text("{}")
    with pytest.raises(SystemExit):
        main(["export", str(path), "--urdf", str(tmp_path / "arm.urdf")])
    assert (tmp_path / "arm.urdf.json").read_text() == "{}"
    assert not (tmp_path / "arm.urdf").exists()


def test_the_name_of_a_model_is_not_a_path(result: Result, tmp_path: Path, capsys) -> None:
    """The file that was written used to be the one that the result names, with the text that it gives."""
    path = result.save(tmp_path / "result.json")
    document = json.loads(path.read_text())
    target = tmp_path / "elsewhere.xml"
    document["robot"]["model"]["name"] = str(target)
    path.write_text(json.dumps(document))
    assert main(["export", str(path), "--mjcf", str(tmp_path / "out.xml")]) == ExitCode.FAILED
    assert "a name without a folder is needed" in capsys.readouterr().err
    assert not target.exists()
    assert not (tmp_path / "out.xml").exists()
