"""What is true of one device, for the truth file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["DeviceTruth"]


@dataclass(frozen=True, slots=True)
class DeviceTruth:
    """Its clock, and by stream the total delay [s] and the sensor's errors."""

    clock: dict[str, Any]
    delays: dict[str, float]
    sensors: dict[str, dict[str, Any]]
