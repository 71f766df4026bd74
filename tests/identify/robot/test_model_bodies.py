"""An identified link shared out among the bodies that it is made of."""

from pathlib import Path

import numpy as np
import pytest

from heft.identify.bodies import from_mass_com_inertia, transform
from heft.identify.bodies.consistency import consistency
from heft.identify.robot.model_bodies import Body, read_bodies, share
from heft.identify.robot.model_text import ModelText

CONFIGS = Path(__file__).parents[3] / "configs" / "robots"


def in_link(bodies: list[Body], tens: dict[str, np.ndarray]) -> np.ndarray:
    return sum(transform(tens[b.name], b.pose[:3, :3], b.pose[:3, 3]) for b in bodies)


@pytest.fixture(scope="module")
def hand() -> list[Body]:
    """Link 7 of the WAM and the hand that is fixed to it."""
    bodies = read_bodies(ModelText.read(CONFIGS / "wam7.xml"))
    return [body for body in bodies if body.link == "link7"]


def test_bodies_are_those_of_the_file(hand: list[Body]) -> None:
    link, held = hand
    assert (link.name, held.name) == ("link7", "hand")
    assert held.ten[0] == 0.78
    np.testing.assert_allclose(held.ten[1:4] / 0.78, [0.002, -0.001, 0.052], atol=1e-15)
    np.testing.assert_allclose(held.pose[:3, 3], [0, 0, 0.08], atol=1e-15)
    assert link.ten[0] == pytest.approx(0.06864753, abs=1e-15)


def test_a_link_that_is_as_before_leaves_its_bodies_as_they_are(hand: list[Body]) -> None:
    before = {body.name: body.ten for body in hand}
    after = share(hand, in_link(hand, before))
    for name in before:
        np.testing.assert_allclose(after[name], before[name], atol=1e-12)


def test_bodies_sum_up_and_each_could_exist(hand: list[Body]) -> None:
    wanted = from_mass_com_inertia(0.9, [0.01, -0.02, 0.137], np.diag([4e-4, 3e-4, 6.99e-4]))
    tens = share(hand, wanted)
    np.testing.assert_allclose(in_link(hand, tens), wanted, atol=1e-15)
    assert all(consistency(ten).ok for ten in tens.values())
    assert tens["hand"][0] > tens["link7"][0] > 0


def test_bodies_without_mass_get_none(hand: list[Body]) -> None:
    link, held = hand
    light = [link, Body(held.name, held.link, held.pose, np.zeros(10))]
    wanted = from_mass_com_inertia(0.9, [0.01, -0.02, 0.137], np.diag([4e-4, 3e-4, 6.99e-4]))
    tens = share(light, wanted)
    assert not tens["hand"].any()
    np.testing.assert_allclose(tens["link7"], wanted, atol=1e-15)


def test_bodies_that_could_not_exist_are_given_their_share_of_mass(hand: list[Body]) -> None:
    points = [
        Body(b.name, b.link, b.pose, np.array([m, *np.zeros(9)]))
        for b, m in zip(hand, (1.0, 3.0), strict=True)
    ]
    wanted = from_mass_com_inertia(0.8, [0.0, 0.0, 0.1], np.diag([4e-4, 3e-4, 6e-4]))
    tens = share(points, wanted)
    assert tens["hand"][0] == pytest.approx(0.6)
    np.testing.assert_allclose(in_link(points, tens), wanted, atol=1e-15)


def test_locked_joints_belong_to_the_link_before_them(tmp_path: Path) -> None:
    path = tmp_path / "gripper.xml"
    path.write_text(
        """<mujoco><worldbody><body name="arm"><inertial mass="2" pos="0 0 1" diaginertia="1 1 1"/>
        <joint name="turn" axis="0 0 1"/>
        <body name="palm" pos="0 0 2"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
          <body name="finger" pos="0 1 0"><inertial mass="0.5" pos="0 0 0" diaginertia="1 1 1"/>
            <joint name="slide" type="slide" axis="0 1 0"/>
            <body name="tip" pos="0 0 1"><inertial mass="0.25" pos="0 0 0" diaginertia="1 1 1"/></body>
        </body></body></body></worldbody></mujoco>"""
    )
    bodies = read_bodies(ModelText.read(path, ("slide",)))
    assert {body.name: body.link for body in bodies} == dict.fromkeys(("arm", "palm", "finger", "tip"), "arm")
    assert {body.name: body.ten[0] for body in bodies} == {"arm": 2, "palm": 1, "finger": 0.5, "tip": 0.25}
    np.testing.assert_allclose(bodies[-1].pose[:3, 3], [0, 1, 3])
