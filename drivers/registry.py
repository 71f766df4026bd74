"""Which kinds of device there are, each in one entry: its driver, its emulator, its transport and what it yields.

Drivers and emulators are imported when one of their kind is first asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from heft.drivers.driver import Actuator, Context, Driver, Gripper
from heft.drivers.errors import OptionError

if TYPE_CHECKING:
    from heft.drivers.emulators.base.emulator import Emulator, EmulatorOptions
    from heft.drivers.plant.plant import Plant

__all__ = [
    "KINDS",
    "Kind",
    "Transport",
    "create_driver",
    "create_emulator",
    "driver_options",
    "emulator_options",
    "moves",
    "moves_axes",
]


class Transport(StrEnum):
    """What a device is connected by."""

    SIMULATED = "simulated"  # nothing: the device is part of the simulated plant
    UDP = "UDP"
    TCP = "TCP"
    SERIAL = "serial"
    CAN = "CAN"
    CAN_FD = "CAN FD"
    DDS = "DDS"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of device.

    `driver` and `emulator` are `module:Class`; both classes have an attribute `Options`, a pydantic model that forbids
    unknown keys. `yields` is for `heft devices list`. `port` names the options that together claim a physical port
    (two devices on one port are an error).
    """

    driver: str
    transport: Transport
    yields: str
    port: tuple[str, ...] = ()
    emulator: str | None = None

    @property
    def simulated(self) -> bool:
        """Whether the device is part of the simulated plant, without a line to a device or an emulator."""
        return self.transport is Transport.SIMULATED


#: Entry points by which packages of others add kinds.
GROUP = "heft.devices"

_log = logging.getLogger("heft.devices")
_WRENCH = "force [N], torque [N m]"

_OWN: Mapping[str, Kind] = {
    "sim_drives": Kind(
        driver="heft.drivers.sim.drives:SimDrives",
        transport=Transport.SIMULATED,
        yields="motion [rad, rad/s], current [A], played setpoints",
    ),
    "sim_encoders": Kind(
        driver="heft.drivers.sim.encoders:SimEncoders",
        transport=Transport.SIMULATED,
        yields="position [rad]",
    ),
    "sim_wrench": Kind(
        driver="heft.drivers.sim.wrench:SimWrench",
        transport=Transport.SIMULATED,
        yields=_WRENCH,
    ),
    "sim_imu": Kind(
        driver="heft.drivers.sim.imu:SimImu",
        transport=Transport.SIMULATED,
        yields="angular velocity [rad/s], specific force [m/s2], orientation [1]",
    ),
    "sim_gripper": Kind(
        driver="heft.drivers.sim.gripper:SimGripper",
        transport=Transport.SIMULATED,
        yields="opening [m], current [A], object detected",
    ),
    "ati_rdt": Kind(
        driver="heft.drivers.devices.ati_rdt:AtiRdt",
        emulator="heft.drivers.emulators.ati_rdt:AtiRdt",
        transport=Transport.UDP,
        yields=_WRENCH,
        port=("host", "port"),
    ),
    "onrobot_hex": Kind(
        driver="heft.drivers.devices.ati_rdt:OnRobotHex",
        emulator="heft.drivers.emulators.ati_rdt:OnRobotHex",
        transport=Transport.UDP,
        yields=_WRENCH,
        port=("host", "port"),
    ),
    "bota_serial": Kind(
        driver="heft.drivers.devices.bota_serial:BotaSerial",
        emulator="heft.drivers.emulators.bota_serial:BotaSerial",
        transport=Transport.SERIAL,
        yields=f"{_WRENCH}, temperature [K]",
        port=("port",),
    ),
    "robotiq_ft300": Kind(
        driver="heft.drivers.devices.robotiq_ft300:RobotiqFt300",
        emulator="heft.drivers.emulators.robotiq_ft300:RobotiqFt300",
        transport=Transport.SERIAL,
        yields=_WRENCH,
        port=("port",),
    ),
    "robotiq_ft300_registers": Kind(
        driver="heft.drivers.devices.robotiq_ft300:RobotiqFt300Registers",
        emulator="heft.drivers.emulators.robotiq_ft300:RobotiqFt300",
        transport=Transport.SERIAL,
        yields=_WRENCH,
        port=("port",),
    ),
    "amt21": Kind(
        driver="heft.drivers.devices.amt21:Amt21",
        emulator="heft.drivers.emulators.amt21:Amt21",
        transport=Transport.SERIAL,
        yields="position [rad]",
        port=("port",),
    ),
    "robotiq_2f": Kind(
        driver="heft.drivers.devices.robotiq_2f:Robotiq2f",
        emulator="heft.drivers.emulators.robotiq_2f:Robotiq2f",
        transport=Transport.SERIAL,
        yields="opening [m], current [A], object detected",
        port=("port",),
    ),
    "dynamixel": Kind(
        driver="heft.drivers.devices.dynamixel:Dynamixel",
        emulator="heft.drivers.emulators.dynamixel:Dynamixel",
        transport=Transport.SERIAL,
        yields="motion [rad, rad/s], current [A] or load [1], clock [s], played setpoints",
        port=("port",),
    ),
    "feetech": Kind(
        driver="heft.drivers.devices.feetech:Feetech",
        emulator="heft.drivers.emulators.feetech:Feetech",
        transport=Transport.SERIAL,
        yields="motion [rad, rad/s], current [A] or load [1] (a duty cycle, no torque), played setpoints",
        port=("port",),
    ),
    "ur_rtde": Kind(
        driver="heft.drivers.devices.ur_rtde:UrRtde",
        emulator="heft.drivers.emulators.ur_rtde:UrRtde",
        transport=Transport.TCP,
        yields=f"motion [rad, rad/s], current [A], {_WRENCH}, temperature [K], played setpoints",
        port=("host", "port"),
    ),
    "robotiq_urcap": Kind(
        driver="heft.drivers.devices.robotiq_urcap:RobotiqUrcap",
        emulator="heft.drivers.emulators.robotiq_urcap:RobotiqUrcap",
        transport=Transport.TCP,
        yields="opening [m], current [A], object detected",
        port=("host", "port"),
    ),
    "ros2": Kind(
        driver="heft.drivers.devices.ros2:Ros2",
        emulator="heft.drivers.emulators.ros2:Ros2",
        transport=Transport.DDS,
        yields=f"motion [rad, rad/s], torque [N m] or current [A], {_WRENCH}, played setpoints",
        port=("domain", "joint_states"),
    ),
    "cia402": Kind(
        driver="heft.drivers.devices.cia402:Cia402",
        emulator="heft.drivers.emulators.cia402:Cia402",
        transport=Transport.CAN,
        yields="motion [rad, rad/s], current [A] or torque [N m], played setpoints",
    ),
    "cia406": Kind(
        driver="heft.drivers.devices.cia406:Cia406",
        emulator="heft.drivers.emulators.cia406:Cia406",
        transport=Transport.CAN,
        yields="position [rad]",
    ),
    "odrive_can": Kind(
        driver="heft.drivers.devices.odrive_can:OdriveCan",
        emulator="heft.drivers.emulators.odrive_can:OdriveCan",
        transport=Transport.CAN,
        yields="motion [rad, rad/s], current [A], ages [s], played setpoints",
    ),
    "mit_can": Kind(
        driver="heft.drivers.devices.mit_can:MitCan",
        emulator="heft.drivers.emulators.mit_can:MitCan",
        transport=Transport.CAN,
        yields="motion [rad, rad/s], torque [N m], ages [s], played setpoints",
    ),
    "moteus": Kind(
        driver="heft.drivers.devices.moteus:Moteus",
        emulator="heft.drivers.emulators.moteus:Moteus",
        transport=Transport.CAN_FD,
        yields="motion [rad, rad/s], current [A] or torque [N m], ages [s], played setpoints",
    ),
}


def _others() -> dict[str, Kind]:
    """Kinds that installed packages of others add: entry points of the group `heft.devices`, each a `Kind`.

    One that cannot be loaded, or has the name of a kind of ours, is left out with a warning: it stops nobody else.
    """
    found: dict[str, Kind] = {}
    for entry in entry_points(group=GROUP):
        if entry.name in _OWN or entry.name in found:
            _log.warning("%s: kind %r of %s is left out: the name is taken", GROUP, entry.name, entry.value)
            continue
        try:
            kind = entry.load()
        except Exception as exc:  # whatever a stranger's module does
            _log.warning("%s: kind %r of %s is left out: %s", GROUP, entry.name, entry.value, exc)
            continue
        if isinstance(kind, Kind):
            found[entry.name] = kind
        else:
            _log.warning(
                "%s: kind %r of %s is left out: it is no heft.drivers.registry.Kind",
                GROUP,
                entry.name,
                entry.value,
            )
    return found


#: Ours, then those of installed packages.
KINDS: Mapping[str, Kind] = {**_OWN, **_others()}


def _load(location: str) -> Any:
    module, _, name = location.partition(":")
    return getattr(import_module(module), name)


def _driver_class(kind: str) -> Any:
    if kind not in KINDS:
        raise OptionError(f"kind: {kind!r} is not a known device; known: {', '.join(sorted(KINDS))}")
    return _load(KINDS[kind].driver)


def _emulator_class(kind: str) -> Any:
    location = KINDS[kind].emulator if kind in KINDS else None
    if location is None:
        known = sorted(name for name, entry in KINDS.items() if entry.emulator)
        raise OptionError(f"kind: {kind!r} has no emulator; known: {', '.join(known)}")
    return _load(location)


def driver_options(kind: str) -> type[BaseModel]:
    """The pydantic model of the options of this kind's driver."""
    model: type[BaseModel] = _driver_class(kind).Options
    return model


def emulator_options(kind: str) -> type[EmulatorOptions]:
    """The pydantic model of the options of this kind's emulator."""
    model: type[EmulatorOptions] = _emulator_class(kind).Options
    return model


def moves(kind: str) -> bool:
    """Whether a device of this kind is an Actuator or a Gripper."""
    return issubclass(_driver_class(kind), Actuator | Gripper)


def moves_axes(kind: str) -> bool:
    """Whether a device of this kind is an Actuator."""
    return issubclass(_driver_class(kind), Actuator)


def create_driver(kind: str, name: str, options: BaseModel, context: Context) -> Driver:
    """A driver, not yet connected."""
    driver: Driver = _driver_class(kind)(name, options, context)
    return driver


def create_emulator(kind: str, name: str, options: EmulatorOptions, plant: Plant) -> Emulator[Any, Any]:
    """An emulator, not yet on its wire."""
    emulator: Emulator[Any, Any] = _emulator_class(kind)(name, options, plant)
    return emulator
