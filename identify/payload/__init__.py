"""Loads: what the gripper has picked up, from a wrist sensor or from joint torques.

fit_wrench, fit_wrench_integral, fit_joint_torque    one recorded motion at once
PayloadEstimator, JointTorqueEstimator               while it is carried, sample by sample
in_frames, principal_inertia, as_json                results in the flange's and the object's own frame
ur_payload, franka_load, kuka_load, ros_inertia, urdf_inertial    as controllers want to hear it
recognise                                            which known object it is, and whether it is held right
"""

from __future__ import annotations

from identify.payload.estimate import PayloadEstimate, Spread
from identify.payload.fit import fit_wrench, fit_wrench_integral
from identify.payload.formats import (
    FrankaLoad,
    KukaLoad,
    franka_load,
    kuka_load,
    ros_inertia,
    ur_payload,
    urdf_inertial,
)
from identify.payload.frames import PayloadFrames, PrincipalInertia, as_json, in_frames, principal_inertia
from identify.payload.joint_torque import JointTorqueEstimator, fit_joint_torque
from identify.payload.prior import ObjectPrior
from identify.payload.recognition import Candidate, GraspCheck, Recognition, recognise
from identify.payload.recursive import PayloadEstimator, WristSensor
from identify.payload.wrench import WrenchTerms, differential_terms, integral_terms, static_terms

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
    "Spread",
    "WrenchTerms",
    "WristSensor",
    "as_json",
    "differential_terms",
    "fit_joint_torque",
    "fit_wrench",
    "fit_wrench_integral",
    "franka_load",
    "in_frames",
    "integral_terms",
    "kuka_load",
    "principal_inertia",
    "recognise",
    "ros_inertia",
    "static_terms",
    "ur_payload",
    "urdf_inertial",
]
