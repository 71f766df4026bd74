"""Which kinds of device there are. Nothing is imported before it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from drivers.driver import Actuator, Context, Driver, Gripper
from drivers.errors import OptionError

__all__ = ["KINDS", "Kind", "create", "moves", "options_model"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of device: where its driver and its options live, and a line for `heft devices list`.

    `location` is `module:DriverClass`; the class has an attribute `Options`, a pydantic model that forbids unknown
    keys. `port` names the options that together claim a physical port (two devices on one port are an error).
    """

    location: str
    transport: str
    yields: str
    port: tuple[str, ...] = ()


KINDS: Mapping[str, Kind] = {
    "sim_drives": Kind(
        "drivers.sim.drives:SimDrives", "simulated", "motion [rad, rad/s], current [A], played setpoints"
    ),
    "sim_encoders": Kind("drivers.sim.encoders:SimEncoders", "simulated", "position [rad]"),
    "sim_wrench": Kind("drivers.sim.wrench:SimWrench", "simulated", "force [N], torque [N m]"),
    "sim_gripper": Kind(
        "drivers.sim.gripper:SimGripper", "simulated", "opening [m], current [A], object detected"
    ),
    "ati_rdt": Kind(
        "drivers.devices.ati_rdt:AtiRdt", "UDP", "force [N], torque [N m]", port=("host", "port")
    ),
    "onrobot_hex": Kind(
        "drivers.devices.ati_rdt:OnRobotHex", "UDP", "force [N], torque [N m]", port=("host", "port")
    ),
    "bota_serial": Kind(
        "drivers.devices.bota_serial:BotaSerial",
        "serial",
        "force [N], torque [N m], temperature [K]",
        port=("port",),
    ),
    "robotiq_ft300": Kind(
        "drivers.devices.robotiq_ft300:RobotiqFt300", "serial", "force [N], torque [N m]", port=("port",)
    ),
    "robotiq_ft300_registers": Kind(
        "drivers.devices.robotiq_ft300:RobotiqFt300Registers",
        "serial",
        "force [N], torque [N m]",
        port=("port",),
    ),
    "amt21": Kind("drivers.devices.amt21:Amt21", "serial", "position [rad]", port=("port",)),
    "robotiq_2f": Kind(
        "drivers.devices.robotiq_2f:Robotiq2f",
        "serial",
        "opening [m], current [A], object detected",
        port=("port",),
    ),
    "cia402": Kind(
        "drivers.devices.cia402:Cia402",
        "CAN",
        "motion [rad, rad/s], current [A] or torque [N m], played setpoints",
    ),
    "cia406": Kind("drivers.devices.cia406:Cia406", "CAN", "position [rad]"),
    "odrive_can": Kind(
        "drivers.devices.odrive_can:OdriveCan",
        "CAN",
        "motion [rad, rad/s], current [A], ages [s], played setpoints",
    ),
    "mit_can": Kind(
        "drivers.devices.mit_can:MitCan",
        "CAN",
        "motion [rad, rad/s], torque [N m], ages [s], played setpoints",
    ),
    "moteus": Kind(
        "drivers.devices.moteus:Moteus",
        "CAN FD",
        "motion [rad, rad/s], current [A] or torque [N m], ages [s], played setpoints",
    ),
}


def _driver_class(kind: str) -> Any:
    try:
        module, _, name = KINDS[kind].location.partition(":")
    except KeyError:
        raise OptionError(
            f"kind: {kind!r} is not a known device; known: {', '.join(sorted(KINDS))}"
        ) from None
    return getattr(import_module(module), name)


def options_model(kind: str) -> type[BaseModel]:
    """The pydantic model of a kind's options."""
    model: type[BaseModel] = _driver_class(kind).Options
    return model


def moves(kind: str) -> bool:
    """Does a device of this kind move something?"""
    return issubclass(_driver_class(kind), Actuator | Gripper)


def create(kind: str, name: str, options: BaseModel, context: Context) -> Driver:
    """A driver, not yet connected."""
    driver: Driver = _driver_class(kind)(name, options, context)
    return driver
