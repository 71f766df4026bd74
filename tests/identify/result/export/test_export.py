"""Models that are written and read back: by Heft, by Pinocchio's own inverse dynamics, and by MuJoCo."""

import json
import os
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import yaml

from heft import identify
from heft.identify import Result, Robot
from heft.identify.errors import ExportError, ModelError
from heft.identify.result import Parameters
from heft.identify.result.export import export_model, objections, write_csv, write_yaml

ROOT = Path(__file__).parents[4]
CONFIGS = ROOT / "configs" / "robots"
#: Arms; what moves freely is in tests/identify/test_large_robots.py.
SHIPPED = sorted(
    path.stem
    for path in CONFIGS.glob("*.yaml")
    if (robot := Robot.load(path)).prior is not None and not robot.tree.free
)


def shared(name: str) -> Path:
    folder = Path(os.environ.get("HEFT_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / name).is_file():
        pytest.skip(f"no {name} in {folder}; set HEFT_DATA to the folder of the recordings")
    return folder / name


def rigid_torque(result: Result, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
    values = result.parameters.values.copy()
    values[10 * len(result.robot.links) :] = 0.0
    return result.robot.torque([q], [dq], [ddq], values)[0]


def states(n: int) -> np.ndarray:
    return np.random.default_rng(7).uniform(-1.2, 1.2, (3, n))


@pytest.mark.parametrize("format", ["urdf", "mjcf"])
@pytest.mark.parametrize("name", SHIPPED)
def test_round_trip_of_shipped_robots(name: str, format: str, made, tmp_path: Path) -> None:
    """`export_model` compares what Heft reads back; here Pinocchio alone reads the file and does the dynamics."""
    result = made(Robot.load(CONFIGS / f"{name}.yaml"))
    out = tmp_path / ("model.urdf" if format == "urdf" else "model.xml")
    export = export_model(result, out, format)
    assert export.difference < 1e-12
    build = pin.buildModelFromUrdf if format == "urdf" else pin.buildModelFromMJCF
    model = build(str(out))
    model.gravity.linear = result.robot.gravity
    model.armature = np.zeros(model.nv)
    q, dq, ddq = states(model.nv)
    torque = rigid_torque(result, q, dq, ddq)
    np.testing.assert_allclose(
        pin.rnea(model, model.createData(), q, dq, ddq), torque, rtol=0, atol=1e-9 * np.abs(torque).max()
    )
    held = {"viscous": model.damping, "coulomb": model.upperDryFrictionLimit}
    for term, values in held.items():
        if term in result.robot.terms:
            expected = [result.parameters[f"{joint}.{term}"] for joint in result.robot.joints]
            np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("name", SHIPPED)
def test_mujoco_simulates_the_identified_arm(name: str, made, tmp_path: Path) -> None:
    result = made(Robot.load(CONFIGS / f"{name}.yaml"))
    export_model(result, tmp_path / "model.xml", "mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))
    data = mujoco.MjData(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    terms = result.robot.terms
    if "drive_inertia" in terms:
        armature = [result.parameters[f"{joint}.drive_inertia"] for joint in result.robot.joints]
        np.testing.assert_allclose(model.dof_armature, armature, rtol=1e-15)
    if "coulomb" in terms:
        coulomb = [result.parameters[f"{joint}.coulomb"] for joint in result.robot.joints]
        np.testing.assert_allclose(model.dof_frictionloss, coulomb, rtol=1e-15)
    model.dof_armature[:] = 0
    model.dof_damping[:] = 0
    data.qpos, data.qvel, data.qacc = q, dq, ddq = states(model.nv)
    mujoco.mj_inverse(model, data)
    torque = rigid_torque(result, q, dq, ddq)
    np.testing.assert_allclose(data.qfrc_inverse, torque, rtol=0, atol=1e-8 * np.abs(torque).max())


def test_all_that_is_not_identified_stays_to_the_character(made, tmp_path: Path) -> None:
    source = CONFIGS / "wam7.xml"
    out = export_model(made(Robot.load(CONFIGS / "wam7.yaml")), tmp_path / "out.xml", "mjcf").path
    before, (said, *after) = source.read_text().splitlines(), out.read_text().splitlines()
    assert said.startswith(
        "<!-- Heft, verdict care: This model of wam7 can be used with care: it was not tried on"
    )
    assert len(before) == len(after)
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert len(changed) == 8 + 7  # eight bodies, seven joints
    for old, new in changed:
        assert old.split()[0] == new.split()[0] in ("<inertial", "<joint")
        assert len(old) - len(old.lstrip()) == len(new) - len(new.lstrip())
    assert 'range="-2.6 2.6"' in out.read_text()


def test_the_hand_keeps_its_share(made, tmp_path: Path) -> None:
    result = made(Robot.load(CONFIGS / "wam7.yaml"))
    export_model(result, tmp_path / "out.xml", "mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    both = model.body("hand").mass[0] + model.body("link7").mass[0]
    assert both == pytest.approx(result.parameters["link7"].mass, rel=1e-12)
    assert model.body("hand").mass[0] > 0.5


@pytest.mark.parametrize(
    ("file", "locked"),
    [
        ("staubli_tx40.urdf", ()),
        ("kinova_gen3_chiha.urdf", ()),
        ("tiago_arm.urdf", ("head_1_joint", "head_2_joint", "wheel_left_joint", "wheel_right_joint")),
    ],
)
def test_urdf_files_of_others(file: str, locked: tuple[str, ...], made, tmp_path: Path) -> None:
    """Fixed links, links behind locked joints, links without inertia, joints without <dynamics>."""
    result = made(Robot.from_urdf(shared(file), locked=locked))
    out = result.export_urdf(tmp_path / "out.urdf")
    again = Robot.from_urdf(out, locked=locked)
    n = 10 * len(again.links)
    np.testing.assert_allclose(again.prior[:n], result.parameters.values[:n], rtol=1e-9, atol=1e-12)
    visuals = shared(file).read_text().count("<visual"), shared(file).read_text().count("<!--")
    assert visuals == (out.read_text().count("<visual"), out.read_text().count("<!--") - 1)  # the verdict


def test_a_file_in_which_geoms_weigh(made, tmp_path: Path) -> None:
    """No <inertial>, inertia turned by a quaternion, a default class, a compiler that meddles, a locked finger."""
    source = tmp_path / "geoms.xml"
    source.write_text(
        """<mujoco model="geoms">
  <compiler angle="radian" inertiafromgeom="auto" balanceinertia="true" settotalmass="7"/>
  <default><joint damping="3" armature="1"/></default>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" pos="0 0 0.1"/> <!-- a joint away from its body's origin -->
      <geom type="box" size="0.1 0.1 0.3" mass="4"/>
      <body name="fore" pos="0 0 0.5">
        <inertial mass="2" pos="0 0 0.1" quat="0.9 0.1 0.2 0.3" diaginertia="0.03 0.02 0.02"/>
        <joint name="elbow" axis="1 0 0"/>
        <body name="finger" pos="0 0.05 0.2"><joint name="grip" type="slide" axis="0 1 0"/>
          <geom type="box" size="0.02 0.02 0.05" mass="0.3"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>"""
    )
    result = made(Robot.from_mjcf(source, locked=("grip",)))
    out = export_model(result, tmp_path / "out.xml", "mjcf").path
    text = out.read_text()
    assert "settotalmass" not in text
    assert "<!-- a joint away from its body's origin -->" in text
    spec = mujoco.MjSpec.from_file(str(out))
    spec.delete(spec.joint("grip"))
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    assert model.body("finger").mass[0] > 0.1
    model.dof_armature[:] = 0
    model.dof_damping[:] = 0
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.qacc = q, dq, ddq = states(2)
    mujoco.mj_inverse(model, data)
    torque = rigid_torque(result, q, dq, ddq)
    np.testing.assert_allclose(data.qfrc_inverse, torque, rtol=0, atol=1e-8 * np.abs(torque).max())
    mujoco.MjModel.from_xml_path(str(out))  # with its finger moving


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_a_robot_of_dh_rows_gets_plain_files(convention: str, made, tmp_path: Path) -> None:
    rows = [
        {"alpha": -1.2, "a": 0.1, "d": 0.3, "theta": 0.4},
        {"alpha": 0.3, "a": 0.4, "d": 0.0, "kind": "prismatic"},
        {"alpha": 1.1, "a": 0.05, "d": 0.1},
    ]
    plain = Robot.from_dh(rows, convention)
    prior = np.array([2, 0.1, 0.2, 0.3, 1, 0, 1, 0, 0, 1.0] * 3 + [0.1] * 12)
    result = made(replace(plain, prior=prior))
    for format, name in (("urdf", "out.urdf"), ("mjcf", "out.xml")):
        assert export_model(result, tmp_path / name, format).difference < 1e-13


def test_what_the_format_cannot_hold_is_in_the_sidecar(made, tmp_path: Path) -> None:
    result = made(Robot.load(CONFIGS / "tx40.yaml"))
    in_urdf = export_model(result, tmp_path / "out.urdf", "urdf")
    in_mjcf = export_model(result, tmp_path / "out.xml", "mjcf")
    sidecar = json.loads(in_urdf.sidecar.read_text())
    assert in_urdf.sidecar == tmp_path / "out.urdf.json"
    terms = {term["name"]: term for term in sidecar["terms"]}
    assert terms["joint1.offset"]["value"] == result.parameters["joint1.offset"]
    assert terms["joint1.drive_inertia"]["unit"] == "kg m2"
    assert "couple none" in terms["joint6_motor.viscous"]["why"]
    assert sidecar["coupling"][5] == [0, 0, 0, 0, 1, 1]
    assert sidecar["smoothing_velocity"]["joint1"] == 0.1
    assert not any(".viscous" in name or ".coulomb" in name for name in terms if "_motor" not in name)
    assert {term["name"] for term in in_mjcf.omissions.terms} == {
        name for name in terms if name.split(".")[0].endswith("_motor") or name.endswith("offset")
    }


def test_terms_that_were_not_identified_stay_as_in_the_file(made, tmp_path: Path) -> None:
    source = tmp_path / "panda.xml"
    source.write_text(
        (CONFIGS / "panda.xml").read_text().replace("<joint name", '<joint armature="0.1" name')
    )
    result = made(Robot.from_mjcf(source, joint_terms=("viscous",)))
    export = export_model(result, tmp_path / "out.xml", "mjcf")
    model = mujoco.MjModel.from_xml_path(str(export.path))
    np.testing.assert_array_equal(model.dof_armature, 0.1)
    assert "armature, frictionloss: not identified, as in the file before" in export.omissions.notes


def test_a_body_that_could_not_exist_is_refused(made, tmp_path: Path) -> None:
    result = made(Robot.load(CONFIGS / "wam7.yaml"))
    values = result.parameters.values.copy()
    values[result.layout.index("link3.zz")] = 5.0
    values[result.layout.index("joint2.viscous")] = -0.1
    wrong = replace(result, method="ols", parameters=Parameters(result.layout, values))
    assert len(objections(wrong)) == 2
    assert not objections(result)
    with pytest.raises(ExportError, match=r"link3 is not consistent at level full.*negative joint2.viscous"):
        wrong.export_urdf(tmp_path / "out.urdf")
    assert list(tmp_path.iterdir()) == []
    assert wrong.export_urdf(tmp_path / "out.urdf", force=True).is_file()


def test_another_file_of_the_same_robot(made, tmp_path: Path) -> None:
    """The user's own URDF gets what was identified with an MJCF."""
    result = made(Robot.load(CONFIGS / "panda.yaml"))
    mine = export_model(made(result.robot, seed=5), tmp_path / "mine.urdf", "urdf").path
    mine.write_text(mine.read_text().replace("<robot", "<!-- mine -->\n<robot"))
    out = export_model(result, tmp_path / "out.urdf", "urdf", into=mine).path
    assert "<!-- mine -->" in out.read_text()
    with pytest.raises(ExportError, match="a file of URDF cannot become MJCF"):
        export_model(result, tmp_path / "out.xml", "mjcf", into=mine)


def test_a_file_of_another_robot_is_refused(made, tmp_path: Path) -> None:
    result = made(Robot.load(CONFIGS / "panda.yaml"))
    with pytest.raises(ExportError, match=r"torques differ by .* the file has other lengths or axes"):
        export_model(result, tmp_path / "out.xml", "mjcf", into=CONFIGS / "wam7.xml")
    with pytest.raises(ExportError, match="no body link4; it has link1, link2, link3"):
        export_model(result, tmp_path / "out.xml", "mjcf", into=CONFIGS / "ddarm.xml")
    with pytest.raises(ModelError, match=r"nowhere.xml: no such file"):
        export_model(result, tmp_path / "out.xml", "mjcf", into=tmp_path / "nowhere.xml")
    assert list(tmp_path.iterdir()) == []


def test_a_result_carries_its_model_file(made, tmp_path: Path) -> None:
    result = made(Robot.load(CONFIGS / "wam7.yaml"))
    loaded = identify.load(result.save(tmp_path / "result.json"))
    assert loaded.robot.model == result.robot.model
    assert loaded.robot.model.text == (CONFIGS / "wam7.xml").read_text()
    assert (
        loaded.export_mjcf(tmp_path / "a.xml").read_text()
        == result.export_mjcf(tmp_path / "b.xml").read_text()
    )


@pytest.mark.parametrize("name", ["wam7", "tx40"])
def test_yaml_goes_into_the_robots_file(name: str, made, tmp_path: Path) -> None:
    result = made(Robot.load(CONFIGS / f"{name}.yaml"))
    config = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    found = yaml.safe_load(write_yaml(result, tmp_path / "identified.yaml").read_text())
    for part in ("joints", "links"):
        for key, values in found[part].items():
            config[part][key].update(values)
    (tmp_path / "wam7.xml").write_text((CONFIGS / "wam7.xml").read_text())
    (tmp_path / "robot.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    again = Robot.load(tmp_path / "robot.yaml")
    np.testing.assert_array_equal(again.prior, result.parameters.values)


def test_csv_has_a_row_per_parameter(made, tmp_path: Path) -> None:
    result = made(Robot.load(CONFIGS / "wam7.yaml"))
    head, *rows = [row.split(",") for row in write_csv(result, tmp_path / "p.csv").read_text().splitlines()]
    assert head == ["name", "value", "unit", "prior", "group"]
    assert len(rows) == 98
    assert [float(row[1]) for row in rows] == result.parameters.values.tolist()
    assert rows[0][2:5:2] == ["kg", "unidentifiable"]
    assert {row[4] for row in rows} == {"identifiable", "combined", "unidentifiable"}


@pytest.mark.parametrize("format", ["urdf", "mjcf"])
def test_a_tree_whose_branches_are_read_in_another_order(made, tmp_path: Path, format: str) -> None:
    """A URDF's branches are read in the order of their names: the humanoid's neck comes after its left arm."""
    robot = Robot.load(CONFIGS / "humanoid.yaml").measuring(("joints",))
    path = tmp_path / f"humanoid.{'urdf' if format == 'urdf' else 'xml'}"
    result = made(robot)
    (result.export_urdf if format == "urdf" else result.export_mjcf)(path, force=True)
    again = Robot.from_urdf(path, base="free") if format == "urdf" else Robot.from_mjcf(path)
    assert (again.joints == robot.joints) == (format == "mjcf")
    assert again.prior is not None
    read = {link: again.prior[10 * k] for k, link in enumerate(again.links)}
    assert read == pytest.approx({link.name: link.mass for link in result.parameters.links})
