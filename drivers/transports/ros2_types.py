"""Messages of ROS 2 as types of DDS, by which Cyclone DDS knows the topics that carry them.

Topics and types have other names on DDS than in ROS: `/joint_states` is `rt/joint_states`, and
`sensor_msgs/msg/JointState` is `sensor_msgs::msg::dds_::JointState_`. Cyclone DDS reads the annotations, so they are
not postponed. Import this only where a line is opened: it needs `cyclonedds` (the extra `ros2`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, sequence, uint32

__all__ = [
    "TYPES",
    "Clock",
    "Duration",
    "Float64MultiArray",
    "Header",
    "JointState",
    "JointTrajectory",
    "JointTrajectoryPoint",
    "MultiArrayLayout",
    "Time",
    "Vector3",
    "Wrench",
    "WrenchStamped",
    "dds_topic",
]


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    """Since the epoch of the clock [s], [ns]."""

    sec: int32
    nanosec: uint32


@dataclass
class Duration(IdlStruct, typename="builtin_interfaces::msg::dds_::Duration_"):
    """[s], [ns]."""

    sec: int32
    nanosec: uint32


@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    """When and in which frame."""

    stamp: Time
    frame_id: str


@dataclass
class JointState(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):
    """Positions, velocities and efforts by name; each of the three may be empty."""

    header: Header
    name: sequence[str]
    position: sequence[float64]
    velocity: sequence[float64]
    effort: sequence[float64]


@dataclass
class Vector3(IdlStruct, typename="geometry_msgs::msg::dds_::Vector3_"):
    """Three numbers."""

    x: float64
    y: float64
    z: float64


@dataclass
class Wrench(IdlStruct, typename="geometry_msgs::msg::dds_::Wrench_"):
    """Force [N] and torque [N m]."""

    force: Vector3
    torque: Vector3


@dataclass
class WrenchStamped(IdlStruct, typename="geometry_msgs::msg::dds_::WrenchStamped_"):
    """A wrench at an instant, in a frame."""

    header: Header
    wrench: Wrench


@dataclass
class JointTrajectoryPoint(IdlStruct, typename="trajectory_msgs::msg::dds_::JointTrajectoryPoint_"):
    """Where the joints are to be, so long after the header's stamp."""

    positions: sequence[float64]
    velocities: sequence[float64]
    accelerations: sequence[float64]
    effort: sequence[float64]
    time_from_start: Duration


@dataclass
class JointTrajectory(IdlStruct, typename="trajectory_msgs::msg::dds_::JointTrajectory_"):
    """What a joint_trajectory_controller plays."""

    header: Header
    joint_names: sequence[str]
    points: sequence[JointTrajectoryPoint]


@dataclass
class MultiArrayDimension(IdlStruct, typename="std_msgs::msg::dds_::MultiArrayDimension_"):
    """One dimension of an array."""

    label: str
    size: uint32
    stride: uint32


@dataclass
class MultiArrayLayout(IdlStruct, typename="std_msgs::msg::dds_::MultiArrayLayout_"):
    """Its dimensions; none where it is a plain list."""

    dim: sequence[MultiArrayDimension]
    data_offset: uint32


@dataclass
class Float64MultiArray(IdlStruct, typename="std_msgs::msg::dds_::Float64MultiArray_"):
    """What a forward_command_controller takes: a number for each of its joints, in its own order."""

    layout: MultiArrayLayout
    data: sequence[float64]


@dataclass
class Clock(IdlStruct, typename="rosgraph_msgs::msg::dds_::Clock_"):
    """Simulated time."""

    clock: Time


#: By the name that ROS has for them.
TYPES: Mapping[str, Any] = {
    "sensor_msgs/msg/JointState": JointState,
    "geometry_msgs/msg/WrenchStamped": WrenchStamped,
    "trajectory_msgs/msg/JointTrajectory": JointTrajectory,
    "std_msgs/msg/Float64MultiArray": Float64MultiArray,
    "rosgraph_msgs/msg/Clock": Clock,
}


def dds_topic(topic: str) -> str:
    """The name on DDS of a topic of ROS."""
    return f"rt/{topic.removeprefix('/')}"
