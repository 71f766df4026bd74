"""The simulated twin of a rig: which device stands in for which, with what rates, noise and plant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heft.daq.config.rig import RigConfig
from heft.daq.config.session import load_session
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.daq.motion.plan import make_plan
from heft.daq.twin import twin_of

AXES = {f"joint{i}": {"node": i, "counts_per_turn": 4096, "rated_current": 4.0} for i in range(1, 8)}
GOAL = [0.4, -0.3, 0.2, 1.6, -1.6, 0.2, 0.2]


def twin(path: Path) -> RigConfig:
    config = load_session(path)
    return twin_of(config, make_plan(config)).rig


def written(
    folder: Path, devices: dict[str, Any], steps: list[dict[str, Any]] | None = None, **more: Any
) -> Path:
    """A session on a rig of real devices."""
    rig = {"name": "bay", "robot": str(CONFIGS / "robots/wam7.yaml"), "devices": devices, **more}
    steps = steps or [{"name": "reach", "move": {"to": GOAL}}, {"name": "back", "move": {"to": [0.0] * 7}}]
    for name, content in (("rig", rig), ("session", {"name": "s", "rig": "rig.yaml", "steps": steps})):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder / "session.yaml"


def test_every_emulated_device_has_a_counterpart_with_its_rate_and_noise() -> None:
    made = twin(CONFIGS / "sessions/emulated_wam7.yaml")
    assert {name: device.kind for name, device in made.devices.items()} == {
        "arm": "sim_drives",
        "wrist": "sim_wrench",
        "gripper": "sim_gripper",
    }
    assert made.simulated
    assert made.real == ()
    assert made.mqtt is None
    arm: Any = made.devices["arm"].options
    assert arm.rate_hz == 250.0
    assert arm.torque_noise[1] == pytest.approx(
        0.28 / np.sqrt(0.004 * 500)
    )  # the mean over a window of two servo loops
    wrist: Any = made.devices["wrist"].options
    assert (wrist.rate_hz, wrist.force_noise) == (1000.0, 0.05)
    assert made.simulation == load_session(CONFIGS / "sessions/emulated_wam7.yaml").rig.simulation


def test_a_simulated_rig_is_its_own_twin() -> None:
    own = load_session(CONFIGS / "sessions/panda_excitation.yaml").rig
    made = twin(CONFIGS / "sessions/panda_excitation.yaml")
    assert made.devices == own.devices
    assert made.simulation == own.simulation


def test_a_real_rig_gets_a_plant_within_the_robots_spread_where_the_plan_begins(tmp_path: Path) -> None:
    devices = {
        "arm": {"kind": "cia402", "channel": "can3", "axes": AXES, "rate_hz": 200},
        "gripper": {"kind": "robotiq_2f", "port": "/dev/ttyUSB7"},
        "wrist": {"kind": "bota_serial", "port": "/dev/ttyUSB8", "sinc": 128},
    }
    path = written(
        tmp_path,
        devices,
        [{"name": "shake", "fourier": {"seconds": 2, "seed": 1}}, {"name": "take", "grip": "mug"}],
    )
    config = load_session(path)
    plan = make_plan(config)
    made = twin_of(config, plan)
    simulation: Any = made.rig.simulation
    spread = config.rig.robot.prior_spread
    assert simulation.perturbation.inertia == 0.5 * spread.inertia
    assert plan[0].trajectory is not None
    assert simulation.posture == pytest.approx(plan[0].trajectory.start.position[0])
    arm: Any = made.rig.devices["arm"].options
    limits = [joint.torque for joint in config.rig.robot.joints.values()]
    assert arm.torque_noise == pytest.approx(0.01 * np.array(limits))
    gripper: Any = made.rig.devices["gripper"].options
    assert "mug" in gripper.objects  # something is in the hand, though nobody says what
    wrist: Any = made.rig.devices["wrist"].options
    assert wrist.rate_hz == 400.0


def test_the_file_may_say_what_is_known_of_noise_and_plant(tmp_path: Path) -> None:
    arm = {"kind": "cia402", "channel": "can3", "axes": AXES}
    known = {"simulation": {"perturbation": {"inertia": 0.01}}, "devices": {"arm": {"torque_noise": 0.2}}}
    made = twin(written(tmp_path, {"arm": arm}, twin=known))
    options: Any = made.devices["arm"].options
    simulation: Any = made.simulation
    assert options.torque_noise == 0.2
    assert simulation.perturbation.inertia == 0.01


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"devices": {"leg": {}}}, r"twin\.devices\.leg: there is no such device in this rig; one of arm"),
        ({"devices": {"arm": {"torque_nois": 1.0}}}, r"twin\.devices\.arm\.torque_nois"),
        ({"simulation": {"step": 1.0}}, r"twin\.simulation\.step"),
    ],
)
def test_a_mistake_in_it_is_named(tmp_path: Path, known: dict[str, Any], says: str) -> None:
    arm = {"kind": "cia402", "channel": "can3", "axes": AXES}
    with pytest.raises(ConfigError, match=says):
        twin(written(tmp_path, {"arm": arm}, twin=known))


def test_a_robot_without_a_model_has_no_twin(tmp_path: Path) -> None:
    arm = {
        "kind": "cia402",
        "channel": "can3",
        "axes": {f"{name}_motor": AXES[name] for name in list(AXES)[:6]},
    }
    path = written(
        tmp_path,
        {"arm": arm},
        [{"name": "reach", "move": {"to": [0.1] * 6}}],
        robot=str(CONFIGS / "robots/tx40.yaml"),
    )
    with pytest.raises(ConfigError, match=r"twin\.simulation\.model: missing.* --unrehearsed"):
        twin(path)
