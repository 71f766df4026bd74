"""ROS 2 message definitions that viewers know, as the text of MCAP schemas with encoding `ros2msg`."""

from __future__ import annotations

__all__ = ["JOINT_STATE", "JOINT_STATE_TEXT", "WRENCH", "WRENCH_TEXT"]

_RULE = "=" * 80

_HEADER = f"""\
{_RULE}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{_RULE}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""

JOINT_STATE = "sensor_msgs/msg/JointState"
JOINT_STATE_TEXT = f"""\
std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{_HEADER}"""

WRENCH = "geometry_msgs/msg/WrenchStamped"
WRENCH_TEXT = f"""\
std_msgs/Header header
geometry_msgs/Wrench wrench
{_HEADER}{_RULE}
MSG: geometry_msgs/Wrench
geometry_msgs/Vector3 force
geometry_msgs/Vector3 torque
{_RULE}
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
"""
