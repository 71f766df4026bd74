"""The wrist sensor as a six-axis sensor inside the arm, with the bare hand as the one body that lies beyond it.

Its rows are those of any such sensor (`heft.identify.robot.regressor.cut`), six at an instant (004, Eq. 8):

    wrench = A(q, q', q'') phi + bias + drift t

with phi the ten numbers of the hand in the sensor's frame.
"""

from __future__ import annotations

from dataclasses import replace

from heft.identify.data import Survey
from heft.identify.data.survey import unknown_wrenches
from heft.identify.payload.kinematics.robot_frames import frame_on_link
from heft.identify.robot import Robot
from heft.identify.robot.constraints import RobotConstraints
from heft.identify.robot.regressor import Part
from heft.identify.robot.wrench_sensor import WrenchSensor

__all__ = ["hand_alone", "wrenches_alone"]

WRIST = "wrist sensor"
HAND = "bare hand"


def hand_alone(robot: Robot) -> Robot:
    """The robot with rows of its wrist sensor alone; the hand is the last of its links, in the sensor's frame."""
    link, place = frame_on_link(robot, "sensor")
    at = robot.links.index(link)
    assert robot.sensor is not None
    return replace(
        robot.measuring(()),
        links=(*robot.links, HAND),
        parts=(*robot.parts, Part(at, place)),
        sensors={WRIST: WrenchSensor(robot.sensor, at, place, beyond=(len(robot.links),))},
        sources=(WRIST,),
        prior=None,
        constraints=RobotConstraints(),
    )


def wrenches_alone(surveyed: Survey) -> Survey:
    """A survey of the same data, with the wrist's wrenches as those of `hand_alone`'s sensor and nothing else."""
    data = replace(
        surveyed.data,
        wrench=None,
        wrenches=surveyed.data.wrench,
        wrench_names=(WRIST,),
        has_torque=False,
        load=None,
    )
    return replace(surveyed, data=data, unknown=unknown_wrenches(data))
