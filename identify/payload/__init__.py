"""Payloads: what the gripper has picked up, from a wrist sensor or from joint torques.

weigh                                     what an identified arm carries, from the joint torques of a whole motion
fit_wrench, fit_wrench_integral, fit_joint_torque    one recorded motion at once
PayloadEstimator, JointTorqueEstimator    while it is carried, sample by sample
in_frames, principal_inertia              results in the flange's frame; principal moments and axes
ur_payload, franka_load, kuka_load, ros_inertia    as controllers ask for it
recognise                                 which known object it is, and whether it is held right
"""

from __future__ import annotations

from heft.identify.payload.estimation.estimate import PayloadEstimate, StandardDeviations
from heft.identify.payload.estimation.joint_torque import JointTorqueEstimator, fit_joint_torque
from heft.identify.payload.estimation.object_prior import ObjectPrior
from heft.identify.payload.estimation.wrist_sensor import (
    PayloadEstimator,
    WristSensor,
    fit_wrench,
    fit_wrench_integral,
)
from heft.identify.payload.output.controllers import (
    franka_load,
    kuka_load,
    ros_inertia,
    ur_payload,
)
from heft.identify.payload.output.grasp_check import GraspCheck
from heft.identify.payload.output.load_formats import FrankaLoad, KukaLoad
from heft.identify.payload.output.payload_frames import (
    PayloadFrames,
    PrincipalInertia,
    in_frames,
    principal_inertia,
)
from heft.identify.payload.output.recognition import Candidate, Recognition, recognise
from heft.identify.payload.weighing.weigh import weigh

__all__ = [
    "Candidate",
    "FrankaLoad",
    "GraspCheck",
    "JointTorqueEstimator",
    "KukaLoad",
    "ObjectPrior",
    "PayloadEstimate",
    "PayloadEstimator",
    "PayloadFrames",
    "PrincipalInertia",
    "Recognition",
    "StandardDeviations",
    "WristSensor",
    "fit_joint_torque",
    "fit_wrench",
    "fit_wrench_integral",
    "franka_load",
    "in_frames",
    "kuka_load",
    "principal_inertia",
    "recognise",
    "ros_inertia",
    "ur_payload",
    "weigh",
]
