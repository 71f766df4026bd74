"""What the conformance suite has to know of one kind of device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Block
from heft.drivers.plant.bench import Bench

__all__ = ["Case", "Truth"]

#: What is true for the samples of a block, in SI units, shape (N, k).
Truth = Callable[[Bench, Block], NDArray[np.float64]]


@dataclass(frozen=True)
class Case:
    """One kind of device against its emulator.

    driver, emulator   options; the driver's need not say where the emulator is
    samples            of its first stream that a test waits for
    truth              what is true for the samples of a block, in SI units (N, k)
    within             how far from it the values may be, shape (k,)
    wrap               where its counter starts, so that it wraps within the samples; None: it has no counter
    counts             can tell a frame that comes twice, or late: it has a counter in every frame
    checks             its frames have a checksum that the driver sees
    nowhere            options that lead to no device, and what the error says then
    wrong              options of an emulator that is not the device of the driver's options, and what the error says
    saturates          flags its own overload
    patient            options with which it stands many losses in a row
    derived            streams that are made from samples of another one
    bits               status bits that mean trouble, which flag the values; None: there are none
    """

    driver: Mapping[str, Any]
    emulator: Mapping[str, Any]
    truth: Truth
    within: tuple[float, ...]
    nowhere: tuple[Mapping[str, Any], str]
    samples: int = 100
    wrap: int | None = None
    counts: bool = False
    checks: bool = False
    wrong: tuple[tuple[Mapping[str, Any], str], ...] = ()
    saturates: bool = False
    bits: int | None = None
    derived: tuple[str, ...] = ()
    patient: Mapping[str, Any] = field(default_factory=lambda: {"timeout_s": 1.0})
    axes: tuple[str, ...] = ("joint1", "joint2")
    posture: tuple[float, ...] = (0.3, -1.2)
