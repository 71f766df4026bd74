"""What differs between the boxes that speak RDT: status words, scales, how to set bias, filter and rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Validity
from heft.drivers.codecs.ati_rdt import Command, Request
from heft.drivers.errors import ProtocolError

__all__ = [
    "ATI",
    "AXIA",
    "ONROBOT",
    "ONROBOT_FILTERS_HZ",
    "Dialect",
    "onrobot_filter",
    "onrobot_rate",
]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of box.

    bits            what each bit of the status word says
    saturation      the bits that say the transducer or its converter is at its limit
    warnings        status words that leave the values usable; with any other that is not 0 they are not
    scale           force [N] and torque [N m] per count where it is fixed; None: read from the box, see `ati_page`
    bias_on, bias_off  argument of the bias command; None: it cannot be switched off over RDT
    """

    name: str
    bits: Mapping[int, str]
    saturation: int
    warnings: frozenset[int] = field(default_factory=frozenset)
    scale: tuple[float, float] | None = None
    bias_on: int = 0
    bias_off: int | None = None

    def describe(self, status: int) -> str:
        """The bits that are set, in words."""
        names = [self.bits.get(b, f"bit {b}") for b in range(31, -1, -1) if status >> b & 1]
        return ", ".join(names) or "healthy"

    def validity(self, status: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """`Validity` of the samples with these status words, shape (N,)."""
        good = status == 0
        for word in self.warnings:
            good |= status == word
        saturated = (status & np.uint32(self.saturation)) != 0
        bad = np.where(saturated, Validity.SATURATED, Validity.FAULT)
        return np.where(good, Validity.OK, bad).astype(np.uint8)

    def bias(self, on: bool = True) -> Request:
        """Make the present load read zero, or take that back."""
        if on:
            return Request(Command.BIAS, self.bias_on)
        if self.bias_off is None:
            raise ProtocolError(
                f"{self.name}: the bias cannot be switched off over RDT; use the box's web page"
            )
        return Request(Command.BIAS, self.bias_off)


#: Net F/T (manual 9620-05, section 18.2).
ATI = Dialect(
    "ati",
    bits={
        31: "error",
        30: "CPU or RAM",
        29: "digital board",
        28: "analog board",
        27: "serial link",
        26: "program memory",
        25: "halted by configuration",
        24: "settings",
        23: "configuration and calibration do not match",
        22: "network",
        21: "CAN",
        20: "RDT",
        19: "EtherNet/IP",
        18: "DeviceNet",
        17: "transducer saturated or converter error",
        16: "monitor condition latched",
        14: "watchdog",
        13: "stack",
        12: "EEPROM",
        11: "flash",
        10: "analog watchdog",
        9: "excitation current high",
        8: "excitation current low",
        7: "analog ground",
        6: "supply high",
        5: "supply low",
        4: "serial link data unavailable",
        3: "reference voltage",
        2: "temperature",
        1: "HTTP",
    },
    saturation=1 << 17,
    warnings=frozenset({0x8001_0000}),
)

#: Ethernet Axia (manual 9610-05, tables 4.7 and 4.9): the same records, another status word.
AXIA = Dialect(
    "axia",
    bits={
        31: "error",
        30: "force or torque out of range",
        29: "calibration checksum",
        28: "simulated error",
        27: "gauge out of range",
        16: "monitor condition latched",
        7: "calibration not accessible",
        5: "other error",
        3: "busy",
        2: "broken gauge",
        1: "supply voltage",
        0: "temperature",
    },
    saturation=1 << 30 | 1 << 27,
    warnings=frozenset({0x0001_0000, 0x1000_0000, 0x1001_0000}),
)

#: OnRobot HEX and OptoForce compute boxes. Their status bits are not documented: only with 0 the values are used.
ONROBOT = Dialect("onrobot", bits={}, saturation=0, scale=(1e-4, 1e-5), bias_on=0xFF, bias_off=0x00)

#: Cut-off frequencies [Hz] by the index that the FILTER command takes; None: no filter.
ONROBOT_FILTERS_HZ: tuple[float | None, ...] = (None, 500.0, 150.0, 50.0, 15.0, 5.0, 1.5)


def onrobot_filter(cutoff_hz: float | None) -> Request:
    """Set the OnRobot box's low-pass filter."""
    if cutoff_hz not in ONROBOT_FILTERS_HZ:
        raise ProtocolError(f"onrobot: filter {cutoff_hz} Hz; the box has {ONROBOT_FILTERS_HZ}")
    return Request(Command.FILTER, ONROBOT_FILTERS_HZ.index(cutoff_hz))


def onrobot_rate(rate_hz: float) -> Request:
    """Set the OnRobot box's output rate, which it takes as a whole number of milliseconds."""
    period_ms = 1000.0 / rate_hz if rate_hz > 0 else 0.0
    if not (1 <= period_ms <= 254 and period_ms == round(period_ms)):
        raise ProtocolError(
            f"onrobot: {rate_hz} Hz is a period of {period_ms:g} ms; the box takes whole numbers, 1 to 254"
        )
    return Request(Command.PERIOD, round(period_ms))
