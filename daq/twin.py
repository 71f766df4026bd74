"""The simulated twin of a rig: the same robot, with each device replaced by its simulated counterpart.

What a device is and yields decides which counterpart it has: drives become `sim_drives`, grippers `sim_gripper`,
force/torque sensors `sim_wrench`, encoders `sim_encoders`. Rates are those of the device's streams; noise and delays
those that the rig's file knows: of an emulated device its emulator's, of any device those under `twin.devices` of the
rig's file. A simulated device is its own twin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from heft.daq.clock import SimulatedClock
from heft.daq.config.reader import explain
from heft.daq.config.rig import DeviceConfig, RigConfig
from heft.daq.config.session import SessionConfig
from heft.daq.config.steps import GripStep, Step
from heft.daq.errors import ConfigError
from heft.daq.motion.plan import Leg
from heft.daq.rig import Rig
from heft.drivers.driver import Actuator, Driver, Gripper
from heft.drivers.registry import KINDS, driver_options
from heft.drivers.stream import Role

__all__ = ["twin_of"]

#: Of a joint's torque limit: noise of drives whose file says none [N m].
TORQUE_NOISE = 0.01
#: Of the prior's spread: with half of it, 95 % of the draws are within one of its standard deviations.
WITHIN = 0.5
#: What a real gripper is told to take weighs something, and the file does not say what.
STAND_IN = {"mass": 0.5, "com": (0.0, 0.0, 0.1), "inertia": (5e-4, 5e-4, 5e-4, 0.0, 0.0, 0.0)}
#: Options that an emulator and the counterpart call alike and that are taken from elsewhere.
NOT_SHARED = ("brake", "rate_hz")
#: By which a delay exceeds half of the sample period, over which simulated sensors average [s].
OVER_S = 0.0003


def twin_of(session: SessionConfig, plan: Sequence[Leg]) -> SessionConfig:
    """The session on the twin of its rig, which begins where `plan` does.

    `ConfigError` where the robot has no model to simulate it by, or the file's `twin` is wrong.
    """
    rig = session.rig
    drivers = Rig(rig, SimulatedClock()).drivers
    devices: dict[str, DeviceConfig] = {}
    for name, device in rig.devices.items():
        kind = _counterpart(rig, device, drivers[name])
        if kind is not None:
            own = device.options if kind == device.kind else _options(session, name, kind, drivers[name])
            devices[name] = DeviceConfig(kind=kind, options=own, joints=device.joints)
    twin = rig.model_copy(
        update={
            "devices": devices,
            "simulation": _simulation(rig, plan),
            "emulation": None,
            "mqtt": None,
            "telemetry": None,
            "outside": {},
        }
    )
    return session.model_copy(
        update={"rig": twin, "steps": tuple(_step(rig, step) for step in session.steps)}
    )


def _counterpart(rig: RigConfig, device: DeviceConfig, driver: Driver) -> str | None:
    """The simulated kind that stands in for a device; None where the twin does without it."""
    if KINDS[device.kind].simulated:
        return device.kind
    if isinstance(driver, Actuator):
        return "sim_drives"
    if isinstance(driver, Gripper):
        return "sim_gripper"
    quantities = {column.quantity for stream in driver.streams for column in stream.columns}
    if "force" in quantities:
        return None if rig.robot.sensor is None else "sim_wrench"
    return "sim_encoders" if "position" in quantities else None


def _options(session: SessionConfig, name: str, kind: str, driver: Driver) -> BaseModel:
    """What is known of the device as options of its counterpart."""
    rig, model = session.rig, driver_options(kind)
    rate_hz = next(stream.rate_hz for stream in driver.streams if stream.role is Role.MEASURED)
    emulated = None if rig.emulation is None else rig.emulation.devices.get(name)
    known: dict[str, Any] = {"rate_hz": rate_hz}
    if emulated is not None:
        known |= {key: value for key, value in emulated if key in model.model_fields.keys() - NOT_SHARED}
    if kind == "sim_drives":
        known |= _drives(rig, name, driver, emulated, rate_hz)
    if kind == "sim_gripper":
        wanted = {step.grip: STAND_IN for step in session.steps if isinstance(step, GripStep) and step.grip}
        known["objects"] = wanted | known.get("objects", {})
    if kind == "sim_wrench":
        known["delay_s"] = max(known.get("delay_s", 0.0), 0.5 / rate_hz + OVER_S)
    given = rig.twin.devices.get(name, {})
    try:
        return model.model_validate(known | dict(given))
    except ValidationError as exc:
        raise ConfigError(explain(rig.path, exc, prefix=f"twin.devices.{name}")) from exc


def _drives(
    rig: RigConfig, name: str, driver: Driver, emulated: BaseModel | None, rate_hz: float
) -> Mapping[str, Any]:
    """Noise, delays and brakes of drives."""
    joints = [rig.robot.joints[joint] for joint in rig.joints_of(name)]
    if emulated is None:
        noise = TORQUE_NOISE * np.array([joint.torque for joint in joints])
    else:  # what an emulated drive tells is the mean over its window
        window_s, servo_hz = getattr(emulated, "window_s", 0.0), getattr(emulated, "servo_hz", 1000.0)
        noise = np.broadcast_to(np.asarray(getattr(emulated, "torque_noise", 0.0), dtype=float), len(joints))
        noise = noise / np.sqrt(max(1.0, window_s * servo_hz))
    known: dict[str, Any] = {
        "torque_noise": tuple(noise.tolist()),
        "current_delay_s": 0.5 / rate_hz + OVER_S,
        "watchdog_s": max(0.1, 4.0 / rate_hz),
    }
    axes = getattr(rig.devices[name].options, "axes", None)
    if axes is not None and isinstance(driver, Actuator):
        known["brake"] = tuple(axes[axis].brake for axis in driver.axes if axis in axes)
    return known


def _simulation(rig: RigConfig, plan: Sequence[Leg]) -> BaseModel:
    """The plant: as the file says; else the robot's file, perturbed within its spread, where the plan begins."""
    from heft.drivers.sim.truth import PerturbationOptions
    from heft.drivers.sim.world import WorldOptions

    given = rig.twin.simulation or rig.simulation
    if rig.robot.model is None and getattr(given, "model", None) is None:
        raise ConfigError(
            f"{rig.path}: twin.simulation.model: missing, and the robot's file has no model; the twin needs an MJCF or "
            "URDF file of the arm: name one that lies beside this file, or play the session --unrehearsed"
        )
    begin = next((leg.trajectory.start.position[0] for leg in plan if leg.trajectory is not None), None)
    posture = None if begin is None else tuple(begin.tolist())
    if given is not None:
        assert isinstance(given, WorldOptions)
        return given if given.posture is not None else given.model_copy(update={"posture": posture})
    spread = rig.robot.prior_spread
    return WorldOptions(
        posture=posture,
        perturbation=PerturbationOptions(
            inertia=WITHIN * spread.inertia,
            drive_inertia=WITHIN * spread.drive_inertia,
            friction=WITHIN * spread.friction,
        ),
    )


def _step(rig: RigConfig, step: Step) -> Step:
    """The same; where the robot's file names no hand that could hold something, a gripper closes on nothing."""
    if isinstance(step, GripStep) and (rig.robot.hand is None or rig.robot.flange is None):
        return step.model_copy(update={"grip": ""})
    return step
