"""Units of positions and velocities, by what names state, by limits, and by how one integrates to the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.daq.importing.guessing.agreement import Agreement
from heft.daq.importing.guessing.names import NameHints
from heft.daq.importing.units import known_unit, to_si

__all__ = ["angle_unit", "velocity_unit"]

TURN = 2 * np.pi
MARGIN = 1.1  # beyond a limit that is still this unit
NEAR = 0.1  # of a ratio of units: degrees and rpm are further apart


def angle_unit(
    values: NDArray[np.float64], hints: NameHints, limits: NDArray[np.float64], prismatic: Sequence[bool]
) -> tuple[str | list[str], str]:
    """Unit of positions (N, n), one for all or one each where some joints slide, and why."""
    slides = np.array(prismatic, bool)
    turning = ~slides if len(slides) == values.shape[1] else np.ones(values.shape[1], bool)
    if hints.unit and known_unit("position", hints.unit):
        unit, why = hints.unit, f"named in {hints.unit}"
    elif not turning.any():
        unit, why = "m", "its joints slide"
    else:
        unit, why = _angle(values[:, turning], limits[turning] if len(limits) == len(turning) else None)
    if not turning.all() and turning.any() and to_si("position", unit)[2] == "rad":
        return ["m" if not one else unit for one in turning], f"{why}; m where a joint slides"
    return unit, why


def _angle(values: NDArray[np.float64], limits: NDArray[np.float64] | None) -> tuple[str, str]:
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if limits is not None and np.isfinite(limits).all():
        reach = float(np.abs(limits).max())
        if largest > MARGIN * reach and np.degrees(reach) * MARGIN >= largest:
            return "deg", f"up to {largest:.4g}, the limits are {reach:.3g} rad = {np.degrees(reach):.4g} deg"
        if largest <= MARGIN * reach:
            return "rad", f"up to {largest:.3g}, within the limits of {reach:.3g} rad"
    if largest <= MARGIN * TURN:
        return "rad", f"up to {largest:.3g}: less than a turn in rad"
    if largest <= MARGIN * 720:
        return "deg", f"up to {largest:.4g}: {largest / TURN:.0f} turns in rad, {largest / 360:.1f} in deg"
    return "rad", f"up to {largest:.4g}: neither rad nor deg of a joint; state its unit"


def velocity_unit(
    found: Agreement, hints: NameHints, prismatic: Sequence[bool]
) -> tuple[str | list[str], str]:
    """Unit of velocities, from how their integral compares with increments of positions in SI, and why."""
    slides = np.array(prismatic, bool)
    ratio = found.ratio
    seen = (
        f"integrates to the positions (ratio {ratio:.4g})"
        if np.isfinite(ratio)
        else "does not integrate to the positions"
    )
    if hints.unit and known_unit("velocity", hints.unit):
        unit, why = hints.unit, f"named in {hints.unit}"
        if np.isfinite(ratio):
            agreeing = abs(ratio * to_si("velocity", unit)[0] - 1) < NEAR
            why += ", and it integrates to the positions" if agreeing else f", but {seen}: check it"
    else:
        unit, why = "rad/s", seen
        for other in ("rad/s", "deg/s", "rpm", "rev/s", "mrad/s"):
            if np.isfinite(ratio) and abs(abs(ratio) * to_si("velocity", other)[0] - 1) < NEAR:
                unit, why = other, f"{seen}: {other}"
                break
        else:
            why += "; taken to be in rad/s: check it"
    if slides.any() and to_si("velocity", unit)[2] == "rad/s":
        units = ["m/s" if one else unit for one in slides]
        return ("m/s" if slides.all() else units), why
    return unit, why
