"""The simulated plant of a rig, and the emulators on it, made from the rig's file."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from heft.daq.config.rig import RigConfig
from heft.daq.errors import ConfigError
from heft.drivers import registry
from heft.drivers.clock import Clock
from heft.drivers.errors import OptionError
from heft.drivers.plant.part import PlantPart
from heft.drivers.registry import KINDS

if TYPE_CHECKING:
    from heft.drivers.emulators.base.emulator import Emulator
    from heft.drivers.sim.world import World

__all__ = ["emulators_of", "plant_of"]


def plant_of(config: RigConfig, clock: Clock, seed: int) -> World | None:
    """The simulated plant, where the rig has one."""
    if config.simulation is None:
        return None
    from heft.drivers.sim.robot import SimJoint, SimRobot
    from heft.drivers.sim.world import World, WorldOptions

    assert isinstance(config.simulation, WorldOptions)
    robot, given = config.robot, config.simulation.model
    if robot.model is None and given is None:
        raise ConfigError(
            f"{config.path}: simulation.model: missing, and the robot's file has no model; the simulated plant needs "
            "an MJCF file: name one that lies beside this file"
        )
    model = robot.model_file if given is None else config.path.parent / given
    if not model.is_file():
        raise ConfigError(f"{config.path}: simulation.model: no file {model}; correct the path")
    fields = {f.name for f in dataclasses.fields(SimJoint)}
    joints = tuple(SimJoint(name, **joint.model_dump(include=fields)) for name, joint in robot.joints.items())
    description = SimRobot(
        name=robot.name,
        model=model,
        joints=joints,
        gravity=robot.gravity,
        flange=robot.flange,
        sensor=robot.sensor,
        hand=robot.hand,
        locked=robot.locked,
        coupling=robot.motor_coupling,
        places={
            name: frame
            for name, device in config.devices.items()
            if KINDS[device.kind].simulated and (frame := config.place_of(name)) is not None
        },
        free=robot.base == "free",
    )
    try:
        return World(description, config.simulation, clock, seed)
    except OptionError as exc:
        raise ConfigError(f"{config.path}: {exc}") from exc


def emulators_of(config: RigConfig, world: World | None) -> list[Emulator[Any, Any]]:
    """Emulators of the devices that the rig's file names, on the simulated plant."""
    if config.emulation is None or world is None:
        return []
    for fault in config.emulation.faults:
        world.inject(cast(Any, fault))
    made = []
    for name, options in config.emulation.devices.items():
        try:
            joints = config.joints_of(name)
            places = [config.robot.axes.index(joint) for joint in joints]
            plant = world if joints == config.robot.axes else PlantPart(world, places)
            motors = [config.robot.motors[k] for k in places]
            options = _with_brakes(options, config.devices[name].options, motors)
            made.append(registry.create_emulator(config.devices[name].kind, name, cast(Any, options), plant))
        except OptionError as exc:
            raise ConfigError(f"{config.path}: emulation.devices.{exc}") from exc
    return made


def _with_brakes(emulated: BaseModel, device: BaseModel, motors: Sequence[str]) -> BaseModel:
    """Emulated axes have the brakes that the rig's file says the real ones have, unless it says otherwise."""
    axes = getattr(device, "axes", None)
    if axes is None or getattr(emulated, "brake", True) is not None:
        return emulated
    return emulated.model_copy(
        update={"brake": tuple(axes[motor].brake for motor in motors if motor in axes)}
    )
