"""The configuration page of an ATI box, `netftapi2.xml`: scales, units, rate and identity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self
from xml.etree import ElementTree

from heft.drivers.errors import ProtocolError

__all__ = ["FORCE_UNITS", "TORQUE_UNITS", "Page"]

_LIMIT = 256 * 1024

#: Force units of the page in [N], torque units in [N m].
FORCE_UNITS = {"N": 1.0, "kN": 1e3, "lbf": 4.4482216152605, "klbf": 4448.2216152605, "kgf": 9.80665}
TORQUE_UNITS = {
    "N-m": 1.0,
    "Nm": 1.0,
    "N-mm": 1e-3,
    "Nmm": 1e-3,
    "kN-m": 1e3,
    "kNm": 1e3,
    "lbf-in": 0.1129848290276167,
    "lbf-ft": 1.3558179483314004,
    "kgf-cm": 0.0980665,
    "kg-cm": 0.0980665,
    "kgf-m": 9.80665,
}


@dataclass(frozen=True, slots=True)
class Page:
    """What the box says about itself.

    force_scale   [N] per count; torque_scale [N m] per count
    product, firmware   as printed, "" where the page does not say
    serials       numbers that name it: of the transducer's calibration, of the digital board
    rate_hz       the box's RDT output rate; None where the page does not say
    internal_hz   rate of the samples inside, which ft_sequence counts; None where the page does not say
    transform     of the tool, in the page's units; None where the page does not say
    filter        number of the low-pass filter, 0: none; None where the page does not say
    streams       whether RDT is switched on
    """

    force_scale: float
    torque_scale: float
    product: str = ""
    serials: tuple[str, ...] = ()
    firmware: str = ""
    rate_hz: float | None = None
    internal_hz: float | None = None
    transform: tuple[float, ...] | None = None
    filter: int | None = None
    streams: bool = True

    @classmethod
    def decode(cls, xml: bytes) -> Self:
        """Read the page: `cfgcpf` and `cfgcpt` counts per unit, `scfgfu` and `scfgtu` the units.

        Names differ: the Net Box has its rates as `comrdtrate` and `runrate`, the Axia as `commrdtrate` and `setrate`.
        """
        if len(xml) > _LIMIT:
            raise ProtocolError(f"netftapi2.xml: {len(xml)} bytes, at most {_LIMIT} expected")
        if b"<!" in xml.replace(b"<!--", b""):
            raise ProtocolError("netftapi2.xml: has a document type or entity declaration, refused")
        try:
            root = ElementTree.fromstring(xml)
        except (ElementTree.ParseError, ValueError, LookupError) as exc:
            raise ProtocolError(f"netftapi2.xml: not XML ({exc}); is this an ATI box?") from exc
        texts = {
            e.tag.rpartition("}")[2]: (e.text or "").strip() for e in root.iter() if isinstance(e.tag, str)
        }
        force, torque = texts.get("scfgfu", ""), texts.get("scfgtu", "")
        if force not in FORCE_UNITS or torque not in TORQUE_UNITS:
            raise ProtocolError(
                f"netftapi2.xml: units {force!r} and {torque!r}; known are {', '.join(FORCE_UNITS)} "
                f"and {', '.join(TORQUE_UNITS)}"
            )
        serials = tuple(filter(None, (texts.get(key) for key in ("cfgcalsn", "mfgdigsn", "setserial"))))
        return cls(
            force_scale=FORCE_UNITS[force] / _positive(texts, "cfgcpf"),
            torque_scale=TORQUE_UNITS[torque] / _positive(texts, "cfgcpt"),
            product=texts.get("prodname", ""),
            serials=serials,
            firmware=texts.get("mfgdigver") or texts.get("setfwver", ""),
            rate_hz=_first_positive(texts, "comrdtrate", "commrdtrate"),
            internal_hz=_first_positive(texts, "runrate", "setrate"),
            transform=_numbers(texts, "cfgtfx"),
            filter=_whole(texts, "setuserfilter"),
            streams=texts.get("comrdte", "Enabled") not in ("Disabled", "0"),
        )


def _first_positive(texts: dict[str, str], *keys: str) -> float | None:
    """Of the first of these that the page has."""
    return next((_positive(texts, key) for key in keys if texts.get(key)), None)


def _numbers(texts: dict[str, str], key: str) -> tuple[float, ...] | None:
    try:
        return tuple(float(text) for text in texts[key].split(";")) if texts.get(key) else None
    except ValueError:
        raise ProtocolError(f"netftapi2.xml: {key} is {texts[key]!r}, expected numbers") from None


def _whole(texts: dict[str, str], key: str) -> int | None:
    numbers = _numbers(texts, key)
    return None if numbers is None else int(numbers[0]) if math.isfinite(numbers[0]) else None


def _positive(texts: dict[str, str], key: str) -> float:
    try:
        value = float(texts[key])
    except (KeyError, ValueError):
        raise ProtocolError(f"netftapi2.xml: {key} is {texts.get(key)!r}, expected a number") from None
    if not (value > 0 and math.isfinite(value)):
        raise ProtocolError(f"netftapi2.xml: {key} is {value}, expected a positive number")
    return value
