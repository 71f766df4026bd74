"""What was measured of each row of the regression: joint torques, and wrenches of six-axis sensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.data.dataset import Dataset
from heft.identify.data.sampling import Piece, read_late
from heft.identify.data.white_noise import MOST_SAMPLES, white_noise
from heft.identify.errors import DataError

if TYPE_CHECKING:
    from heft.identify.robot import Robot

__all__ = ["JOINTS", "measured_rows", "row_noise", "sources_of"]

BASE = "base"
JOINTS = "joints"


def sources_of(robot: Robot, datasets: Sequence[Dataset]) -> tuple[str, ...] | None:
    """What all these datasets measure, as `Robot.measuring` takes it; None: joint torques alone, of a fixed base.

    `DataError` where something was measured that has no place in the robot's file, or where a contact acts on the
    robot whose wrench is not known.
    """
    names = {name for one in datasets for name in one.wrench_names}
    known = (BASE, *robot.sensors)
    if unknown := sorted(names - set(known)):
        raise DataError(
            f"wrench {unknown[0]} has no place in {robot.name}: its file names no sensor of this name "
            f"({', '.join(robot.sensors) or 'none at all'}); add it under `wrench_sensors` with its frame"
        )
    uneven = [name for name in names for one in datasets if name not in one.wrench_names]
    if uneven:
        raise DataError(
            f"{uneven[0]} is in some of the data and not in others; give it in all, or leave it out"
        )
    contacts = [name for name, one in robot.sensors.items() if one.contact]
    if BASE in names and names & set(contacts):
        raise DataError(
            f"wrenches base and {min(names & set(contacts))}: base is the sum of all contacts; give one of the two"
        )
    torques = {one.has_torque for one in datasets}
    if len(torques) > 1:
        raise DataError("some of the data have torques and others have none; fit them apart")
    if not names and not robot.tree.free:
        if torques == {False}:
            raise DataError(
                f"neither torques nor wrenches: nothing is measured that {robot.name}'s parameters could explain; "
                "give tau, or the wrench of a sensor"
            )
        return None
    inside = [name for name in contacts if robot.sensors[name].link >= 0 or robot.tree.free]
    missing = [name for name in inside if name not in names]
    if missing and BASE not in names and (torques == {True} or names & set(contacts)):
        raise DataError(
            f"contact {missing[0]} acts on {robot.name}, and the data have no wrench of it; record it, or take it out "
            "of the robot's file where nothing touches the robot there"
        )
    if not names and torques == {False}:
        raise DataError("neither torques nor wrenches are measured; give tau, or wrenches")
    used = [name for name in known if name in names]
    return (*(("joints",) if torques == {True} else ()), *used)


def measured_rows(
    robot: Robot,
    data: Dataset,
    piece: Piece,
    step_s: float,
    start: int,
    stop: int,
    lag: int = 0,
    sources: tuple[str, ...] | None = None,
) -> Array:
    """Of each row at samples start .. stop - 1 of a piece's grid, shape (rows, stop - start).

    lag       how many samples later torques and wrenches are read
    sources   what these alone add: names of sensors, or `joints`; None: all of it

    What is not known is zero; those rows are left out.
    """
    layout = robot.regressor.layout
    if not layout.cuts and not layout.contacts:
        return data.torque(piece, step_s, start + lag, stop + lag)
    needed = [cut.name for cut in layout.cuts if not cut.summed] + [one.name for one in layout.contacts]
    if missing := [name for name in needed if name not in data.wrench_names]:
        raise DataError(
            f"{data.source}: no wrench of {missing[0]}, which the model was made for; give data with it, or identify "
            "without it"
        )
    wrenches = {}
    for name in data.wrench_names:
        sensor = robot.sensors.get(name)
        late = lag + (0.0 if sensor is None else (sensor.delay_s or 0.0) / step_s)
        if sources is not None and name not in sources:
            wrenches[name] = np.zeros((6, stop - start))
            continue
        values = read_late(partial(data.wrench_of, name, piece, step_s), piece, start, stop, late)
        wrenches[name] = -values if sensor is not None and sensor.reaction else values
    q, _ = data.motion(piece, step_s, start, stop)
    counted = data.has_torque and (sources is None or JOINTS in sources)
    torque = data.torque(piece, step_s, start + lag, stop + lag) if counted else None
    return layout.measured(torque, wrenches, q)


def row_noise(robot: Robot, data: Dataset, most: int = MOST_SAMPLES) -> Array:
    """Standard deviation of white noise on what was measured of each row [N m, N], shape (rows,).

    By the first `most` samples. That of a sum of wrenches is the root of its parts' squares.
    """
    torque = white_noise(data.t[:most], data.tau[:most])
    layout = robot.regressor.layout
    if data.wrenches is None or not layout.cuts:
        return np.concatenate([torque, np.zeros(layout.count - len(torque))])
    wrenches = np.asarray(data.wrenches[:most], dtype=np.float64)
    known = np.isfinite(wrenches).all(axis=1)
    noise = white_noise(data.t[:most][known], wrenches[known]).reshape(-1, 6)
    rows = [torque]
    for cut in layout.cuts:
        single = cut.name in data.wrench_names
        rows.append(noise[data.wrench_names.index(cut.name)] if single else np.linalg.norm(noise, axis=0))
    return np.concatenate(rows)
