"""Emulators: devices that are not there, speaking their real protocols on a real wire.

An emulator is a device model on a shared plant, a wire and faults on command:

    plant = Bench(clock)                     # or drivers.sim.World: the same arm that simulated drivers live in
    async with create("ati_rdt", "wrist", options, plant) as wrist:
        wrist.endpoint                       # {"host": "127.0.0.1", "port": 40123, "http_port": 40125}
        plant.inject(Silence(device="wrist", at_s=plant.now(), duration_s=0.3))

Nothing here imports `drivers.codecs`: bytes that both sides agree on were written down twice, from the same
published facts. Emulators run in real time only.

    plant         what a device sees of the world: the seam that `drivers.sim.World` and `Bench` share
    bench         a small plant of its own, for an emulator that runs alone
    axes          how emulated drives move the plant's joints
    emulator      base of every emulator: life, clock, faults
    wire          the device's end of a line: pace, faults, delivery; with `serial_wire`, `udp_wire`, `can_wire`
    wire_faults   what can go wrong on the wire
    sampling      a device's own clock and the instants of its samples
    checksums     the checksums that devices put into their frames
    modbus_slave  the answering side of Modbus RTU
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from drivers.errors import OptionError

if TYPE_CHECKING:
    from drivers.emulators.emulator import Emulator, EmulatorOptions
    from drivers.emulators.plant import Plant

__all__ = ["KINDS", "create", "options_model"]

#: Where the emulator of each kind of device lives: `module:Class`; the class has an attribute `Options`.
KINDS: Mapping[str, str] = {
    "ati_rdt": "drivers.emulators.ati_rdt:AtiRdt",
    "onrobot_hex": "drivers.emulators.ati_rdt:OnRobotHex",
    "bota_serial": "drivers.emulators.bota_serial:BotaSerial",
    "robotiq_ft300": "drivers.emulators.robotiq_ft300:RobotiqFt300",
    "robotiq_ft300_registers": "drivers.emulators.robotiq_ft300:RobotiqFt300",
    "amt21": "drivers.emulators.amt21:Amt21",
    "robotiq_2f": "drivers.emulators.robotiq_2f:Robotiq2f",
    "cia402": "drivers.emulators.cia402:Cia402",
    "cia406": "drivers.emulators.cia406:Cia406",
    "odrive_can": "drivers.emulators.odrive_can:OdriveCan",
    "mit_can": "drivers.emulators.mit_can:MitCan",
    "moteus": "drivers.emulators.moteus:Moteus",
}


def _emulator_class(kind: str) -> Any:
    try:
        module, _, name = KINDS[kind].partition(":")
    except KeyError:
        raise OptionError(f"kind: {kind!r} has no emulator; known: {', '.join(sorted(KINDS))}") from None
    return getattr(import_module(module), name)


def options_model(kind: str) -> type[EmulatorOptions]:
    """The pydantic model of an emulator's options."""
    model: type[EmulatorOptions] = _emulator_class(kind).Options
    return model


def create(kind: str, name: str, options: EmulatorOptions, plant: Plant) -> Emulator[Any, Any]:
    """An emulator, not yet on its wire."""
    emulator: Emulator[Any, Any] = _emulator_class(kind)(name, options, plant)
    return emulator
