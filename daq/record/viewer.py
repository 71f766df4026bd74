"""What a recording holds for viewers beside the truth: copies of its streams, the robot, where its links are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.record.standard import Image
from heft.daq.record.transforms import LinkFrames

__all__ = ["NO_ROBOT", "Thinning", "Viewer", "string_message"]


@dataclass(frozen=True, eq=False)
class Viewer:
    """What is written for viewers.

    copies       each stream also as JointState or WrenchStamped messages; two thirds of a recording are these
    most_hz      of copies of a stream, at most; None: every sample
    description  the robot as URDF, for `/robot_description`; None: none
    frames       its links, for `/tf`; None: none
    """

    copies: bool = True
    most_hz: float | None = None
    description: str | None = None
    frames: LinkFrames | None = None


#: Copies of all samples, and nothing of the robot.
NO_ROBOT = Viewer()


class Thinning:
    """Chooses samples of one stream, at most so many a second."""

    def __init__(self, most_hz: float) -> None:
        self._step_ns = int(1e9 / most_hz)
        self._latest = -(1 << 62)  # which step of time the latest sample was in

    def chosen(self, host_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the next samples (N,), in order of time."""
        cells = np.empty(len(host_ns) + 1, np.int64)
        cells[0] = self._latest
        np.floor_divide(host_ns, self._step_ns, out=cells[1:])
        latest = np.maximum.accumulate(cells)
        self._latest = int(latest[-1])
        return np.asarray(latest[1:] > latest[:-1])


def string_message(text: str) -> bytes:
    """A std_msgs/String in CDR."""
    image = Image()
    image.string(text)
    return bytes(image.data)
