"""The page about adding things, done in a copy of the tree: the files that it names are all that it takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")

SWAY = '''
"""All axes swing to one side and back, once."""
import numpy as np
from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.trajectory import Trajectory

def sway(limits: Limits, seconds: float, rate_hz: float) -> Trajectory:
    s = np.arange(round(seconds * rate_hz) + 1)[:, None] / (seconds * rate_hz)
    middle = 0.5 * (limits.lower + limits.upper)[None, :]
    p, v, a = 64 * s**3 * (1 - s)**3, 192 * (s * (1 - s))**2 * (1 - 2 * s), 384 * s * (1 - s) * (1 - 5 * s + 5 * s**2)
    reach = 0.1 * np.ones_like(middle)
    return Trajectory(limits.axes, rate_hz, middle + p * reach, v * reach / seconds, a * reach / seconds**2)
'''
SWAY_STEP = '''
class SwayConfig(Model):
    """A swing to one side and back."""

    seconds: Seconds = 4.0


class SwayStep(Step):
    """One swing."""

    begins_anywhere = True
    sway: SwayConfig

    def trajectory(self, limits: Limits, rate_hz: float, here: NDArray[np.float64] | None) -> Motion:
        return sway(limits, self.sway.seconds, rate_hz)


'''
PLAN = """
import sys
from pathlib import Path
from heft.daq.config.session import load_session
from heft.daq.motion.plan import make_plan
Path("s.yaml").write_text("name: s\\nrig: configs/rigs/sim_wam7.yaml\\nsteps: [{name: swing, sway: {seconds: 3}}]\\n")
print([leg.seconds for leg in make_plan(load_session("s.yaml"))])
"""
TWICE = '''
"""Twice the ordinary least squares."""
from heft.identify.estimation.estimate import Estimate
from heft.identify.estimation.estimators.ols import ols
from heft.identify.estimation.problem import Problem

def twice(problem: Problem, factor: float = 2.0) -> Estimate:
    weights = ols(problem).weights
    return Estimate.of(problem, "twice", factor * ols(problem).parameters, weights)
'''
GREETING = '''
"""A greeting."""
from heft.identify.result import Result
from heft.identify.result.report.evidence import Evidence

def greeting_section(result: Result, evidence: Evidence) -> str:
    return f"<section id='greeting'>Good morning, {result.robot.name}</section>"
'''
FIT = """
import numpy as np
from heft import Dataset, Robot, fit
from heft.identify.estimation.estimators import Method
from heft.identify.result.report import Evidence
from heft.identify.result.report.page import render
robot = Robot.load("configs/robots/ddarm.yaml")
t = np.arange(4000) * 5e-3
rates = np.array([2.1, 2.9, 3.7])
phase = np.multiply.outer(t, rates)
q, dq, ddq = np.sin(phase), np.cos(phase) * rates, -np.sin(phase) * rates**2
data = Dataset.from_arrays(t, q, robot.torque(q, dq, ddq, robot.prior))
one = fit(robot, data, method="ols", cutoff_hz=5.0)
two = fit(robot, data, method=Method("twice", {"factor": 2.0}), cutoff_hz=5.0)
assert np.allclose(two.base.values, 2 * one.base.values)
print(">Greeting</a>" in render(two, Evidence()), "Good morning, ddarm" in render(two, Evidence()))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages, with links and compiled kernels as they are."""
    for name in ("drivers", "daq", "identify", "heft", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
    return tmp_path


def files_to_touch(section: str) -> list[str]:
    """Of a section of the page, in the order of its table."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([\w/.]+)` \|", text, re.M)


def insert(path: Path, *changes: tuple[str, str]) -> None:
    """Put text before a place that is there once."""
    text = path.read_text(encoding="utf-8")
    for place, new in changes:
        assert text.count(place) == 1, place
        text = text.replace(place, new + place)
    path.write_text(text, encoding="utf-8")


def run(tree: Path, program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_excitation_family(tree: Path) -> None:
    trajectory, steps, page = files_to_touch("An excitation family")
    (tree / trajectory.replace("NAME", "sway")).write_text(SWAY, encoding="utf-8")
    insert(
        tree / steps,
        ("from heft.daq.trajectory.random_fourier import", "from heft.daq.trajectory.sway import sway\n"),
        ("#: Every kind of step", SWAY_STEP),
        ("    ReleaseStep,\n", "    SwayStep,\n"),
    )
    assert page == "docs/sessions.md"
    assert run(tree, PLAN) == "[3.0]"


def test_an_estimator_and_a_report_section(tree: Path) -> None:
    estimator, registry = files_to_touch("An estimator")
    (tree / estimator.replace("NAME", "twice")).write_text(TWICE, encoding="utf-8")
    insert(tree / registry, ('    "ols": Estimator(', '    "twice": Estimator("least squares, twice"),\n'))
    section, page = files_to_touch("A report section")
    (tree / section.replace("NAME", "greeting")).write_text(GREETING, encoding="utf-8")
    insert(
        tree / page,
        (
            "from heft.identify.result.report.markup import",
            "from heft.identify.result.report.greeting import greeting_section\n",
        ),
        ('    "notes": (', '    "greeting": ("Greeting", greeting_section),\n'),
    )
    assert run(tree, FIT) == "True True"
