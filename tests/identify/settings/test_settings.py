"""Settings by name: from text and from YAML, merged, applied to a robot, and how mistakes read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.errors import ConfigError
from heft.identify.robot import Robot
from heft.identify.settings import SETTINGS, Settings, described
from heft.identify.settings.choices import Choices

CONFIGS = Path(__file__).parents[3] / "configs" / "robots"

# Every setting once: as on a command line, and what it becomes.
EVERY = {
    "method": ("irls", "irls"),
    "method.most_rounds": ("7", "7"),
    "level": ("inertia", "inertia"),
    "weighting": ("1,2,3", [1.0, 2.0, 3.0]),
    "cutoff_hz": ("8", 8.0),
    "delay_s": ("-0.002", -0.002),
    "filter.window": ("butterworth", "butterworth"),
    "filter.derivative": ("fourier", "fourier"),
    "filter.order": ("6", 6),
    "filter.period_s": ("10", 10.0),
    "filter.trim_s": ("0.5:1", [0.5, 1.0]),
    "filter.leave_rest": ("no", False),
    "terms": ("viscous,coulomb", ["viscous", "coulomb"]),
    "friction": ("viscous, coulomb, stribeck", ["viscous", "coulomb", "stribeck"]),
    "common": ("offsets,delay", ["offsets", "delay"]),
    "unmeasured": ("joint2, joint3", ["joint2", "joint3"]),
    "smoothing_velocity": ("0.05", 0.05),
    "prior": ("file", "file"),
    "prior.link2.m": ("30", 30.0),
    "spread.inertia": ("0.2", 0.2),
    "spread.drive_inertia": ("0.4", 0.4),
    "spread.friction": ("2", 2.0),
    "bounds.total_mass": ("15:200", [15.0, 200.0]),
    "bounds.mass.link3": ("1:30", [1.0, 30.0]),
    "bounds.com_in_box": ("false", False),
    "bounds.signs": ("off", False),
    "constraints.total_mass": ("120:0.5", [120.0, 0.5]),
    "constraints.pinned": ("link3", ["link3"]),
    "constraints.equal": ("link1=link2", [["link1", "link2"]]),
}
CHECKED_ELSEWHERE = {"spread.gain"}  # spreads follow the fields of `PriorSpread`


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(CONFIGS / "ddarm.yaml")


def test_every_setting_from_text_and_back() -> None:
    covered = {
        next(one.key for one in SETTINGS if one.names(key)) if key != "prior" else key for key in EVERY
    }
    assert {one.key for one in SETTINGS} - covered - CHECKED_ELSEWHERE <= {
        "method",
        "method.OPTION",
        "prior.NAME",
    }
    parsed = Settings.parse([f"{key}={text}" for key, (text, _) in EVERY.items()])
    assert parsed.to_dict() == {key: value for key, (_, value) in EVERY.items()}
    assert Settings.of(json.loads(json.dumps(parsed.to_dict()))) == parsed


def test_applied(robot: Robot) -> None:
    chosen = Settings.parse([f"{key}={text}" for key, (text, _) in EVERY.items()]).applied(Choices(robot))
    assert (chosen.method.name, chosen.method.options, chosen.level) == (
        "irls",
        {"most_rounds": 7},
        "inertia",
    )
    np.testing.assert_array_equal(chosen.method.weighting, [1, 2, 3])
    assert (chosen.cutoff_hz, chosen.delay_s, chosen.prior) == (8.0, -0.002, {"link2.m": 30.0})
    assert chosen.robot.unmeasured == ("joint2", "joint3")
    assert dict(chosen.filter) == {
        "window": "butterworth",
        "derivative": "fourier",
        "order": 6,
        "period_s": 10.0,
        "trim_s": (0.5, 1.0),
        "leave_rest": False,
    }
    bounds = chosen.bounds_of()
    assert bounds is not None
    assert (dict(bounds.mass), bounds.total_mass) == ({"link3": (1.0, 30.0)}, (15.0, 200.0))
    assert not bounds.signs
    assert not bounds.com_in_box
    assert chosen.robot.terms == ("viscous", "coulomb")
    assert chosen.friction == ["viscous", "coulomb", "stribeck"]
    assert chosen.common == ("offsets", "delay")
    assert chosen.robot.drives.fixed == set(chosen.robot.joints)
    np.testing.assert_array_equal(chosen.robot.drives.smoothing_velocity, 0.05)
    assert (chosen.robot.spread.inertia, chosen.robot.spread.friction) == (0.2, 2.0)
    assert chosen.robot.constraints.total_mass == (120.0, 0.5)
    assert chosen.robot.constraints.pinned == ("link3",)
    assert chosen.robot.constraints.equal == (("link1", "link2"),)


def test_nothing_set_is_nothing_changed(robot: Robot) -> None:
    chosen = Settings().applied(Choices(robot))
    assert chosen.robot is robot
    assert chosen.bounds_of() is None
    assert not Settings()


def test_sections_of_yaml() -> None:
    section: dict[str, Any] = {
        "method": {"name": "sdp", "margin": "1e-4"},
        "bounds": {"total_mass": [15, 20], "mass": {"link3": [1, 2]}},
        "filter.window": "butterworth",
    }
    assert Settings.of(section).to_dict() == {
        "method": "sdp",
        "method.margin": "1e-4",
        "bounds.total_mass": [15.0, 20.0],
        "bounds.mass.link3": [1.0, 2.0],
        "filter.window": "butterworth",
    }


def test_one_over_another() -> None:
    below = Settings.of({"method": "irls", "method.settled": 1e-3, "cutoff_hz": 5})
    assert Settings.of({"cutoff_hz": 8}).over(below).to_dict() == {**below.to_dict(), "cutoff_hz": 8.0}
    assert Settings.of({"method": "wls"}).over(below).to_dict() == {"cutoff_hz": 5.0, "method": "wls"}
    assert below.without("method").to_dict() == {"cutoff_hz": 5.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cutof=3", r"no setting 'cutof'; there are method, method.OPTION, .*cutoff_hz, .*constraints.equal"),
        ("cutoff_hz", "no value; give KEY=VALUE"),
        ("cutoff_hz=-2", "cutoff_hz: '-2' given, must be a number above 0"),
        ("level=none", "must be one of mass, inertia, full, shape"),
        ("bounds.total_mass=20", "must be two numbers, as 15:20"),
        ("bounds.total_mass=20:10", "0 <= low <= high"),
        ("bounds.mass.hand=1:2", "no link hand; there are link1"),
        ("method.foo=1", "sdp has no option 'foo'; it has .*margin"),
        ("method.margin=small", "'small' given, must be a number"),
        ("prior.link3=1,2", "2 numbers, must be ten"),
        ("prior.link9.m=2", "no parameter link9.m"),
        ("terms=rust", "must be one of drive_inertia"),
        ("weighting=1,2", "2 numbers for 3 joints"),
        ("filter.derivative=fourier", "needs period_s"),
        ("constraints.pinned=hand", "constraints name hand, which is none of"),
        ("constraints.equal=link1", "must be links that are equal"),
        ("bounds.signs=maybe", "must be true or false"),
    ],
)
def test_mistakes(robot: Robot, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Settings.parse([text]).applied(Choices(robot))


def test_the_help_has_every_setting_and_option() -> None:
    text = described()
    for one in SETTINGS:
        assert one.key in text
        assert one.summary in text
    assert "method.margin=1e-05" in text
    assert "method.per_axis=3" in text
