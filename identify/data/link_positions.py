"""Encoders on the links of a recording, beside those on the motors: where the joints really are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heft.daq.recording import Recording
from heft.identify.bodies.arrays import Array
from heft.identify.data.deflection import Deflection, compare, follows
from heft.identify.data.joined_series import read_source
from heft.identify.data.measured_streams import link_source
from heft.identify.data.resampling import at_instants
from heft.identify.data.stream_series import Series
from heft.identify.errors import DataError
from heft.identify.robot import Robot

__all__ = ["LinkPositions", "link_positions"]

LINK_BRIDGED_S = 0.1  # over which the deflection of a joint is interpolated
FEWEST_LINKS = 200  # samples that a deflection is estimated from: 20 in each block of time
ZEROS_APART = 0.01  # [rad, m] between encoders of a joint that are worth a word


@dataclass(frozen=True)
class LinkPositions:
    """What encoders on the links add: positions of all joints (N, n) or None, where they are known (N,), a report."""

    positions: Array | None = None
    known: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    deflection: Deflection | None = None
    series: tuple[Series, ...] = ()
    notes: tuple[str, ...] = ()


def link_positions(
    recording: Recording,
    robot: Robot,
    t: Array,
    motor: Array,
    torque: Array,
    used: NDArray[np.bool_],
    motors: str,
) -> LinkPositions:
    """Positions of the links at the motors' instants t [s] (N,), from the motors' (N, n) and how far each joint bends.

    The deflection changes slowly, so it is what is interpolated; how old one kind of encoder is against the other is
    found in the data and taken out. Joints without an encoder on their link keep their motor's position.

    torque   of the joints [N m, N], shape (N, n)
    used     instants that are of use, shape (N,)
    motors   name of what measured the motors
    """
    source = link_source(recording.streams.values(), robot)
    if source is None or not used.any():
        return LinkPositions()
    try:
        link = read_source(recording, source, robot)
    except DataError as exc:
        return LinkPositions(notes=(f"{source.name} is not used: {exc}",))
    places, notes = list(source.joints), list[str]()
    within = (link.t >= t[used][0]) & (link.t <= t[used][-1])
    stamps, values = link.t[within], link.values[within]
    if len(stamps) < FEWEST_LINKS:
        return LinkPositions(
            notes=(f"{source.name} is not used: {len(stamps)} samples of it belong to this motion",)
        )
    driven, near = at_instants(stamps, t[used], np.concatenate([motor, torque], axis=1)[used])
    if near.sum() < FEWEST_LINKS:
        return LinkPositions(
            notes=(f"{source.name} is not used: {near.sum()} samples of it are beside the motors'",)
        )
    stamps, values, driven = stamps[near], values[near], driven[near]
    turned, acting = np.split(driven, 2, axis=1)
    good = follows(values, turned[:, places])
    if not good.all():
        strange = ", ".join(robot.joints[place] for place, fine in zip(places, good, strict=True) if not fine)
        notes.append(
            f"{source.name} does not follow the motor of {strange}, where it is not used; check its sign, its unit, "
            "its cable and which joint it is on"
        )
        if not good.any():
            return LinkPositions(notes=tuple(notes))
        places = [place for place, fine in zip(places, good, strict=True) if fine]
        values = values[:, good]
    report = compare(robot, places, stamps, values, turned, acting, stream=source.name, motors=motors)
    bent = values - turned[:, places] + report.delay_s * np.gradient(turned[:, places], stamps, axis=0)
    positions = motor.copy()
    for column, place in enumerate(places):
        positions[:, place] += np.interp(t, stamps, bent[:, column])
    after = np.clip(np.searchsorted(stamps, t), 1, len(stamps) - 1)
    gap = np.maximum(np.maximum(stamps[after] - t, t - stamps[after - 1]), 0.0)
    apart = zip(report.joints, report.offset, strict=True)
    if zeros := [f"{name} by {offset:.3g}" for name, offset in apart if abs(offset) > ZEROS_APART]:
        notes.append(
            f"zeros of {source.name} and of the motors differ: {', '.join(zeros)} rad; the links' are used"
        )
    return LinkPositions(positions, gap <= LINK_BRIDGED_S, report, link.parts, tuple(notes))
