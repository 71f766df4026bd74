"""Dynamixels of the X and P series as data: which number means which model, and what its registers count.

Registers of the RAM stand 448 higher on the P series; those of the EEPROM, and all distances between registers, are
equal. Sources: ROBOTIS' e-Manual, page by page, and the list of model numbers of its `dynamixel_hardware_interface`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag

__all__ = ["MODELS", "EepromRegister", "HardwareError", "Mode", "Model", "RamRegister"]


class EepromRegister(IntEnum):
    """Addresses that all models share; written only while torque is off."""

    MODEL_NUMBER = 0  # 2 bytes
    FIRMWARE = 6
    RETURN_DELAY = 9  # 2 us
    DRIVE_MODE = 10
    OPERATING_MODE = 11
    HOMING_OFFSET = 20  # 4 bytes
    MAX_POSITION = 48  # 4 bytes
    MIN_POSITION = 52  # 4 bytes


class RamRegister(IntEnum):
    """Addresses of the X series; add `Model.ram` for others."""

    TORQUE_ENABLE = 64
    STATUS_RETURN = 68  # then, byte by byte, registered instruction and hardware error
    HARDWARE_ERROR = 70
    BUS_WATCHDOG = 98  # 20 ms; 0 off, 255 (-1) it has fired
    PROFILE_ACCELERATION = 108  # 4 bytes
    PROFILE_VELOCITY = 112  # 4 bytes
    GOAL_POSITION = 116  # 4 bytes
    REALTIME_TICK = 120  # 2 bytes, 1 ms, 0 to 32767
    PRESENT_CURRENT = 126  # 2 bytes; present load on models without a current sensor
    PRESENT_VELOCITY = 128  # 4 bytes
    PRESENT_POSITION = 132  # 4 bytes


class Mode(IntEnum):
    """Operating modes in which a servo follows positions."""

    POSITION = 3
    EXTENDED_POSITION = 4
    CURRENT_BASED_POSITION = 5


class HardwareError(IntFlag):
    """Bits of Hardware Error Status."""

    INPUT_VOLTAGE = 1
    OVERHEATING = 4
    ENCODER = 8
    ELECTRICAL_SHOCK = 16
    OVERLOAD = 32


@dataclass(frozen=True, slots=True)
class Model:
    """What one model counts.

    number      in register 0
    turn        positions per turn of the output
    rpm         of one unit of velocity [1/min]
    ampere      of one unit of current [A]; None: there is no current sensor, and the register tells a load
    ram         how much higher than on the X series the registers of the RAM stand
    centre      position at the middle of the first turn
    watchdog    whether the bus watchdog stops the servo: not on those of the 330 size (docs/devices/dynamixel.md)
    """

    number: int
    turn: int = 4096
    rpm: float = 0.229
    ampere: float | None = 2.69e-3
    ram: int = 0
    centre: int = 2048
    watchdog: bool = True


def _x(number: int, ampere: float | None = 2.69e-3, *, watchdog: bool = True) -> Model:
    return Model(number, ampere=ampere, watchdog=watchdog)


def _p(number: int, half_turn: int) -> Model:
    return Model(number, turn=2 * half_turn, rpm=0.01, ampere=1e-3, ram=448, centre=0)


MODELS: Mapping[str, Model] = {
    "XL430-W250": _x(1060, None),
    "2XL430-W250": _x(1090, None),
    "XC430-W150": _x(1070, None),
    "XC430-W240": _x(1080, None),
    "2XC430-W250": _x(1160, None),
    "XL330-M077": _x(1190, 1e-3, watchdog=False),
    "XL330-M288": _x(1200, 1e-3, watchdog=False),
    "XC330-T181": _x(1210, 1e-3, watchdog=False),
    "XC330-T288": _x(1220, 1e-3, watchdog=False),
    "XC330-M181": _x(1230, 1e-3, watchdog=False),
    "XC330-M288": _x(1240, 1e-3, watchdog=False),
    "XM430-W350": _x(1020),
    "XM430-W210": _x(1030),
    "XM540-W270": _x(1120),
    "XM540-W150": _x(1130),
    "XH430-W350": _x(1000),
    "XH430-W210": _x(1010),
    "XH430-V350": _x(1040, 1.34e-3),
    "XH430-V210": _x(1050, 1.34e-3),
    "XD430-T350": _x(1001),
    "XD430-T210": _x(1011),
    "XH540-W270": _x(1100),
    "XH540-W150": _x(1110),
    "XH540-V270": _x(1140),
    "XH540-V150": _x(1150),
    "XD540-T270": _x(1101),
    "XD540-T150": _x(1111),
    "XW540-T260": _x(1170),
    "XW540-T140": _x(1180),
    "PH42-020-S300": _p(2000, 303_750),
    "PH54-100-S500": _p(2010, 501_923),
    "PH54-200-S500": _p(2020, 501_923),
    "PM42-010-S260": _p(2100, 263_187),
    "PM54-040-S250": _p(2110, 251_417),
    "PM54-060-S250": _p(2120, 251_417),
}
