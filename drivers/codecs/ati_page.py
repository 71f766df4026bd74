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
    "kgf-m": 9.80665,
}


@dataclass(frozen=True, slots=True)
class Page:
    """What the box says about itself.

    force_scale   [N] per count; torque_scale [N m] per count
    product, serial, firmware   as printed, "" where the page does not say
    rate_hz       the box's RDT output rate; None where the page does not say
    """

    force_scale: float
    torque_scale: float
    product: str = ""
    serial: str = ""
    firmware: str = ""
    rate_hz: float | None = None

    @classmethod
    def decode(cls, xml: bytes) -> Self:
        """Read the page: `cfgcpf` and `cfgcpt` counts per unit, `scfgfu` and `scfgtu` the units."""
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
        rate = texts.get("comrdtrate")
        return cls(
            force_scale=FORCE_UNITS[force] / _positive(texts, "cfgcpf"),
            torque_scale=TORQUE_UNITS[torque] / _positive(texts, "cfgcpt"),
            product=texts.get("prodname", ""),
            serial=texts.get("setserial", ""),
            firmware=texts.get("setfwver", ""),
            rate_hz=_positive(texts, "comrdtrate") if rate else None,
        )


def _positive(texts: dict[str, str], key: str) -> float:
    try:
        value = float(texts[key])
    except (KeyError, ValueError):
        raise ProtocolError(f"netftapi2.xml: {key} is {texts.get(key)!r}, expected a number") from None
    if not (value > 0 and math.isfinite(value)):
        raise ProtocolError(f"netftapi2.xml: {key} is {value}, expected a positive number")
    return value
