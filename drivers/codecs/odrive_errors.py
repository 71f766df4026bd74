"""Error bits of ODrive axes, which differ between firmware 0.5 and 0.6."""

from __future__ import annotations

from drivers.codecs.odrive_can import Firmware

__all__ = ["ESTOP", "WATCHDOG", "describe"]

_BITS: dict[Firmware, dict[int, str]] = {
    Firmware.V05: {
        0x0000_0001: "invalid state",
        0x0000_0040: "motor failed",
        0x0000_0080: "sensorless estimator failed",
        0x0000_0100: "encoder failed",
        0x0000_0200: "controller failed",
        0x0000_0800: "watchdog expired",
        0x0000_1000: "lower end stop",
        0x0000_2000: "upper end stop",
        0x0000_4000: "emergency stop requested",
        0x0002_0000: "homing without end stop",
        0x0004_0000: "over-temperature",
        0x0008_0000: "unknown position",
    },
    Firmware.V06: {
        0x0000_0001: "initialising",
        0x0000_0002: "system level",
        0x0000_0004: "timing",
        0x0000_0008: "missing estimate",
        0x0000_0010: "bad configuration",
        0x0000_0020: "gate driver fault",
        0x0000_0040: "missing input",
        0x0000_0100: "supply over-voltage",
        0x0000_0200: "supply under-voltage",
        0x0000_0400: "supply over-current",
        0x0000_0800: "supply regeneration over-current",
        0x0000_1000: "current limit violated",
        0x0000_2000: "motor over-temperature",
        0x0000_4000: "inverter over-temperature",
        0x0000_8000: "velocity limit violated",
        0x0001_0000: "position limit violated",
        0x0100_0000: "watchdog expired",
        0x0200_0000: "emergency stop requested",
        0x0400_0000: "spin-out detected",
        0x0800_0000: "brake resistor disarmed",
        0x1000_0000: "thermistor disconnected",
        0x4000_0000: "calibration",
    },
}
WATCHDOG = {Firmware.V05: 0x0000_0800, Firmware.V06: 0x0100_0000}
ESTOP = {Firmware.V05: 0x0000_4000, Firmware.V06: 0x0200_0000}


def describe(error: int, firmware: Firmware) -> str:
    """The bits that are set, in words."""
    names = _BITS[firmware]
    words = [names.get(1 << b, f"bit {b}") for b in range(32) if error >> b & 1]
    return ", ".join(words) or "no error"
