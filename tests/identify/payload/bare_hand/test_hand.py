"""The bare hand from its motion: heavy or weightless, on a table or on a wall."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from heft.identify.bodies.wrench import wrench_terms
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.bare_hand.learned_hand import fit_hand
from heft.identify.payload.estimation.wrist_sensor import WristSensor
from heft.identify.payload.kinematics.alignment import Samples
from heft.identify.payload.kinematics.wrist_motion import WristMotion

DOWN = np.array([0.0, 0.0, -9.81])
SIDEWAYS = np.array([0.0, 9.81, 0.0])
HEAVY = np.array([0.8, 0.002, -0.001, 0.04, 0.003, 0.0, 0.003, 0.0, 0.0, 0.001])
RATES = (100.0, 1000.0)


def turning(
    ten: np.ndarray, gravity: np.ndarray, rate_hz: float = 1000.0, size: float = 1.0, noisy: float = 1.0
) -> Samples:
    """Five seconds of a wrist that turns about all axes with this in it, as a noisy sensor with a bias shows it."""
    t = np.arange(round(5 * rate_hz)) / rate_hz
    w = 2 * np.pi * np.array([0.4, 0.6, 0.8])
    angles = size * np.sin(np.outer(t, w))
    rotation = Rotation.from_euler("zyx", angles)
    step = 1e-4
    before, after = (Rotation.from_euler("zyx", size * np.sin(np.outer(t + d, w))) for d in (-step, step))
    velocity = (before.inv() * after).as_rotvec() / (2 * step)
    acceleration = np.gradient(velocity, 1 / rate_hz, axis=0)
    zero = np.zeros_like(velocity)
    R = rotation.as_matrix()
    rows = wrench_terms(R, velocity, acceleration, zero).regressor(gravity)
    noise = noisy * np.random.default_rng(1).standard_normal((len(t), 6)) * ([0.05] * 3 + [0.002] * 3)
    wrench = rows @ ten + np.array([1.0, -2.0, 0.5, 0.1, 0.0, -0.05]) + noise
    none = np.zeros((len(t), 7))
    return Samples(t, wrench, WristMotion(R, velocity, acceleration, zero), none, none, none)


def fitted(samples: Samples, gravity: np.ndarray | None) -> Hand | None:
    return fit_hand(lambda delay: samples, gravity)


@pytest.mark.parametrize("rate_hz", RATES)
@pytest.mark.parametrize("gravity", [DOWN, None])
def test_its_weight_is_found(rate_hz: float, gravity: np.ndarray | None) -> None:
    hand = fitted(turning(HEAVY, DOWN, rate_hz), gravity)
    assert hand is not None
    assert hand.mass == pytest.approx(0.8, rel=0.01)
    assert (hand.gravity is None) == (gravity is not None)


def test_gravity_that_its_motion_contradicts_is_not_believed() -> None:
    hand = fitted(turning(HEAVY, SIDEWAYS), DOWN)
    assert hand is not None
    assert hand.gravity == pytest.approx(SIDEWAYS, abs=0.02)
    assert hand.mass == pytest.approx(0.8, rel=0.01)
    assert Hand.from_dict(hand.to_dict()).gravity == pytest.approx(SIDEWAYS, abs=0.02)


def test_a_hand_that_weighs_nothing_is_known_too() -> None:
    """Its centre of mass is not, and need not be; and gravity does not show."""
    hand = fitted(turning(np.zeros(10), DOWN), DOWN)
    assert hand is not None
    assert hand.mass < 0.01
    assert hand.gravity is None
    assert fitted(turning(np.zeros(10), DOWN), None) is None


@pytest.mark.parametrize("ten", [HEAVY, np.zeros(10)])
def test_without_motion_nothing_is_known(ten: np.ndarray) -> None:
    assert fitted(turning(ten, DOWN, size=0.0), DOWN) is None


def test_a_noisy_sensor_is_not_believed_to_stay() -> None:
    """Its bias is seen late: believed to stay, it would take the weight with it wherever it goes."""
    good, noisy = (fitted(turning(HEAVY, DOWN, noisy=size), DOWN) for size in (1.0, 4.0))
    assert good is not None
    assert noisy is not None
    assert good.sensor.force_drift == pytest.approx(WristSensor().force_drift, rel=0.05)
    assert noisy.sensor.force_drift == pytest.approx(4 * WristSensor().force_drift, rel=0.05)
    assert noisy.sensor.torque_drift == pytest.approx(4 * WristSensor().torque_drift, rel=0.05)
