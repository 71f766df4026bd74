"""Pick-ups by joint torques: beside a wrist sensor, or where there is none."""

from __future__ import annotations

from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.sample_chunks import CHUNK_S
from heft.identify.payload.kinematics.alignment import Aligner
from heft.identify.payload.kinematics.robot_frames import link_in_flange
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.pickups.pickup_follower import PickupFollower
from heft.identify.payload.pickups.scale_pickups import ScalePickups
from heft.identify.payload.scales.arm_model import ArmModel
from heft.identify.payload.scales.joint_scale import JointScale
from heft.identify.robot import Robot

__all__ = ["JointPickups"]


class JointPickups(ScalePickups):
    """Positions at `position_hz`, torques at `torque_hz` from `stream`, and signals in; pick-ups out."""

    def __init__(
        self,
        robot: Robot,
        arm: ArmModel,
        stream: str,
        *,
        position_hz: float,
        torque_hz: float,
        prior: ObjectPrior | None = None,
        publish_every_s: float = CHUNK_S,
    ) -> None:
        self._place = link_in_flange(robot)
        super().__init__(
            Aligner(robot, position_hz, delay_s=arm.delays.get(stream, 0.0), by_joints=True),
            PickupFollower(
                JointScale(robot, arm, rate_hz=torque_hz), prior=prior, publish_every_s=publish_every_s
            ),
        )

    def of(self, pickup: Pickup) -> PayloadEstimate | None:
        """What the joints say of a pick-up that was followed by another scale, in the flange's frame."""
        mine = (*self._follower.finished, *([self.current] if self.current is not None else []))
        for other in mine:
            if other.t_signal == pickup.t_signal and other.latest is not None:
                return other.latest.estimate.in_frame("flange", *self._place)
        return None
