"""Trajectories: sampled motions, the ways to make them, and the checks they pass before anything moves."""

from __future__ import annotations

from heft.daq.trajectory.checks import Check, limit_checks, run_checks
from heft.daq.trajectory.fourier import FourierSeries, fourier
from heft.daq.trajectory.limits import Brake, Limits
from heft.daq.trajectory.minimum_jerk import minimum_jerk
from heft.daq.trajectory.random_fourier import random_fourier
from heft.daq.trajectory.trajectory import Motion, Trajectory

__all__ = [
    "Brake",
    "Check",
    "FourierSeries",
    "Limits",
    "Motion",
    "Trajectory",
    "fourier",
    "limit_checks",
    "minimum_jerk",
    "random_fourier",
    "run_checks",
]
