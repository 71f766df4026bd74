"""Keys of the rig's file for an arm that ROS 2 controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heft.drivers.devices.bus.following_drives import AxisOptions, FollowingOptions
from heft.drivers.options import Options, Positive, RateHz
from heft.drivers.transports.dds import DdsTopic

__all__ = ["Ros2AxisOptions", "Ros2Options", "Ros2WrenchOptions"]

Topic = Annotated[str, Field(pattern=r"^/[A-Za-z0-9_/]+$")]
_TRAJECTORY = "/joint_trajectory_controller/joint_trajectory"
_POSITIONS = "/forward_position_controller/commands"


class Ros2AxisOptions(AxisOptions):
    """One joint."""

    #: What ROS calls it; left out: as the robot's file does.
    name: str | None = None


class Ros2WrenchOptions(Options):
    """A topic of geometry_msgs/WrenchStamped."""

    topic: Topic
    #: Messages per second that its publisher is set to.
    rate_hz: RateHz
    #: Name of the sensor's frame in the robot's model.
    frame: str = "sensor"
    #: The topic tells what the load does to the sensor: all six signs are turned. Not verified of any publisher.
    reaction: bool = False
    reliability: Literal["reliable", "best_effort"] = "reliable"


class Ros2Options(FollowingOptions):
    """One arm: where its topics are, and what is on them."""

    #: ROS_DOMAIN_ID of the arm's nodes.
    domain: Annotated[int, Field(ge=0, le=232)] = 0
    #: Network interface, by name or address; left out: as CYCLONEDDS_URI says, or what Cyclone DDS finds.
    interface: str | None = None
    #: Hosts to look for where multicast does not reach them.
    peers: tuple[str, ...] = ()
    #: How long to look for publishers [s]: discovery takes a while, on some networks long.
    discovery_s: Positive = 5.0
    #: sensor_msgs/JointState of the arm, and its messages per second: `update_rate` of the controller manager, or
    #: what a `publish_rate` says.
    joint_states: Topic = "/joint_states"
    state_hz: RateHz
    #: `best_effort` where the publisher offers no more: a reliable reader hears nothing of it.
    reliability: Literal["reliable", "best_effort"] = "reliable"
    #: What `effort` is, which no message tells: `torque` at the joint [N m], `current` of the motor [A], `none`. Many
    #: drivers publish a torque from which gravity was taken off by a model: that is no measurement, and refused here.
    effort: Literal["torque", "current", "none", "compensated"]
    #: Stamps are of simulated time (`use_sim_time`): somebody publishes /clock.
    sim_time: bool = False
    #: How it is moved: `trajectory` to a joint_trajectory_controller, or `positions` to a forward_command_controller.
    command: Literal["trajectory", "positions"] = "trajectory"
    #: Left out: /joint_trajectory_controller/joint_trajectory or /forward_position_controller/commands.
    command_topic: Topic | None = None
    #: Commands per second. A trajectory has all setpoints of the next `ahead_s`; positions are steps, so as many as
    #: the controller takes.
    rate_hz: RateHz = 100.0
    #: How far ahead of time trajectories reach [s], before they come to rest: what may be late, and what the arm
    #: still moves when this host dies.
    ahead_s: Annotated[float, Field(ge=0.02, le=0.25)] = 0.1
    #: With `positions`: after how long without a command the controller stops the arm by itself [s]; left out: never.
    command_timeout_s: Positive | None = None
    #: Joints whose name or deceleration has to be given.
    axes: dict[str, Ros2AxisOptions] = Field(default_factory=dict)
    #: A wrench that the same machine publishes.
    wrench: Ros2WrenchOptions | None = None

    @model_validator(mode="after")
    def _measured(self) -> Self:
        if self.effort == "compensated":
            raise ValueError(
                "effort: a torque from which a model's gravity was taken off is no measurement: masses cannot be "
                "identified from it; let the driver publish measured torques or currents, or say `none`"
            )
        if self.command == "trajectory" and self.command_timeout_s is not None:
            raise ValueError("command_timeout_s: of `command: positions` only; trajectories end at rest")
        return self

    @property
    def commands(self) -> DdsTopic:
        """The topic that moves the arm."""
        if self.command == "trajectory":
            return DdsTopic(self.command_topic or _TRAJECTORY, "trajectory_msgs/msg/JointTrajectory")
        return DdsTopic(self.command_topic or _POSITIONS, "std_msgs/msg/Float64MultiArray")

    @property
    def subscribed(self) -> Sequence[DdsTopic]:
        """What is listened to."""
        topics = [
            DdsTopic(self.joint_states, "sensor_msgs/msg/JointState", self.reliability == "reliable"),
            DdsTopic("/clock", "rosgraph_msgs/msg/Clock", False),
        ]
        if self.wrench is not None:
            reliable = self.wrench.reliability == "reliable"
            topics.append(DdsTopic(self.wrench.topic, "geometry_msgs/msg/WrenchStamped", reliable))
        return topics
