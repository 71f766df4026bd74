"""What a stream is: its columns, their units and scales, its rate and its device's clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heft.drivers.typed import check_types

__all__ = ["Column", "Role", "Stream"]


class Role(StrEnum):
    """Where a stream's values come from."""

    MEASURED = "measured"
    SENT = "sent"  # setpoints as the session sent them
    PLAYED = "played"  # setpoints as the drive took them up


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a stream: SI value = scale * (device's number) + offset.

    `of` is the joint, axis or part it belongs to (`joint3`, `x`), `quantity` what it is (`position`,
    `velocity`, `acceleration`, `current`, `torque`, `force`, `temperature`, ...), `unit` the SI unit after scaling
    (`rad`, `rad/s`, `A`, `N m`, `N`, `K`, `1`) and `raw_unit` the unit of the device's own number (`count`, `mA`).
    """

    of: str
    quantity: str
    unit: str
    scale: float = 1.0
    offset: float = 0.0
    raw_unit: str = ""

    @property
    def name(self) -> str:
        return f"{self.of}.{self.quantity}"


@dataclass(frozen=True, slots=True)
class Stream:
    """Values of one device that are defined at one instant, in the device's own numbers.

    `name` is `device.what` (`arm.motion`, `arm.current`, `wrist.wrench`). `rate_hz` is nominal. `tick_hz` and
    `tick_bits` describe the raw device counter that comes with each sample (None: the device has no clock).
    `hold_s` is the length of the interval a value stands for [s]; the value belongs to the interval's middle.
    `at_request`: the device samples when it is asked, so `request_ns` is the sample's time and not `host_ns`.
    `frame` names the frame of a wrench. `dtype` is the numpy type of the device's own numbers.
    """

    name: str
    columns: tuple[Column, ...]
    rate_hz: float
    dtype: str = "<f8"
    role: Role = Role.MEASURED
    tick_hz: float | None = None
    tick_bits: int | None = None
    hold_s: float = 0.0
    at_request: bool = False
    frame: str | None = None

    @property
    def device(self) -> str:
        return self.name.split(".", 1)[0]

    @property
    def width(self) -> int:
        """Number of columns k."""
        return len(self.columns)

    @property
    def scale(self) -> NDArray[np.float64]:
        """Scale to SI per column, shape (k,)."""
        return np.array([c.scale for c in self.columns])

    @property
    def offset(self) -> NDArray[np.float64]:
        """Offset in SI per column, shape (k,)."""
        return np.array([c.offset for c in self.columns])

    def indices(self, quantity: str) -> NDArray[np.intp]:
        """Column indices of one quantity, in column order."""
        return np.array([i for i, c in enumerate(self.columns) if c.quantity == quantity], dtype=np.intp)

    def places(self, names: Iterable[str]) -> list[int]:
        """Indices of columns by their names, in the order of the names."""
        columns = [column.name for column in self.columns]
        return [columns.index(name) for name in names]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`; TypeError, ValueError or KeyError where `data` are no stream."""
        columns = tuple(Column(**c) for c in data["columns"])
        stream = cls(**{**data, "columns": columns, "role": Role(data["role"])})
        check_types(stream)
        np.dtype(stream.dtype)  # raises TypeError
        return stream
