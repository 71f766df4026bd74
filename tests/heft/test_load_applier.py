"""What a controller is told of a pick-up: hand and object, refused where it is not known, restored on a drop."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from heft.drivers.errors import CommandError
from heft.drivers.flange_load import FlangeLoad
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.wrist_sensor import WristSensor, fit_wrench
from heft.identify.payload.pickups.pickup import End, Estimated, Pickup
from heft.identify.payload.pickups.signals import MQTT
from heft.load_applier import LoadApplier, LoadRules
from heft.main import main

PLACE = (np.eye(3), np.zeros(3))
HAND = Hand(
    from_mass_com_inertia(0.9, [0.0, 0.0, 0.05], np.diag([2e-3, 2e-3, 1e-3])),
    np.zeros((10, 10)),
    0.0,
    0.0,
    WristSensor(0.05, 0.002),
)
OLD = FlangeLoad(0.925, (0.0, 0.0, 0.058), (0.0,) * 6)


class Controller:
    """Holds a load, and remembers all that it was told; may refuse."""

    name = "arm"

    def __init__(self):
        self.held, self.told, self.refuses = OLD, [], False

    async def load(self):
        return self.held

    async def set_load(self, load):
        if self.refuses:
            raise CommandError("arm", "is not in remote control")
        self.held = load
        self.told.append(load)


def estimate(mass=1.5, turns=True):
    """An object at (0, 0, 0.1) m, weighed in many directions, or in one only."""
    rng = np.random.default_rng(3)
    rotation = np.linalg.qr(rng.standard_normal((400, 3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))[:, None, None]
    if not turns:
        rotation = np.broadcast_to(np.eye(3), (400, 3, 3))
    up = np.einsum("tji,j->ti", rotation, [0.0, 0.0, 9.81])
    force = mass * up
    wrench = np.hstack([force, np.cross([0.0, 0.0, 0.1], force)]) + 0.01 * rng.standard_normal((400, 6))
    return fit_wrench(rotation, wrench)


@pytest.fixture
def stand():
    controller, said = Controller(), []

    def make(hand=HAND, rules=None):
        tell = lambda facts, words: said.append((facts["event"], words))  # noqa: E731
        return LoadApplier(controller, lambda: hand, PLACE, tell, lambda: 0, rules)

    return controller, said, make


def pickup(held, **more):
    return Pickup(1, 0.0, "gripper.state", t_pick=0.1, latest=Estimated(1.0, held), **more)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_hand_and_object_together_and_the_old_load_after_a_drop(stand):
    controller, said, make = stand
    async with make() as applier:
        held = pickup(estimate())
        applier.update(held)
        await settle()
        applier.update(held)  # the same again changes nothing
        await settle()
        (load,) = controller.told
        assert load.mass == pytest.approx(2.4, rel=0.005)
        assert load.com == pytest.approx((0.0, 0.0, (1.5 * 0.1 + 0.9 * 0.05) / 2.4), abs=1e-3)
        assert load.inertia is None, "an inertia that was not measured was told"
        held.end = End.DROPPED
        applier.update(held)
        await settle()
        assert controller.held == OLD
        applier.update(replace(held, end=None))  # an estimate that comes late
        await settle()
        assert controller.held == OLD
    assert [event for event, _ in said] == ["applied", "restored"]


@pytest.mark.parametrize(
    ("held", "hand", "more", "says"),
    [
        (lambda: estimate(turns=False), HAND, {}, "com prior-dominated"),
        (estimate, None, {}, "the bare hand is not known"),
    ],
)
async def test_what_is_not_known_is_not_told(stand, held, hand, more, says):
    controller, said, make = stand
    async with make(hand) as applier:
        for _ in range(2):
            applier.update(pickup(held(), **more))
        await settle()
    assert controller.told == []
    ((event, words),) = said  # once
    assert event == "refused"
    assert says in words


async def test_what_is_too_wide_is_not_told(stand):
    controller, said, make = stand
    async with make(rules=LoadRules(mass=1e-7)) as applier:
        applier.update(pickup(estimate()))
        await settle()
    assert controller.told == []
    assert "mass too wide" in said[0][1]


async def test_mqtt_alone_tells_no_controller(stand):
    controller, said, make = stand
    async with make() as applier:
        applier.update(replace(pickup(estimate()), source=MQTT))
        await settle()
    assert controller.told == []
    assert "only MQTT tells" in said[0][1]


async def test_a_controller_that_refuses_stops_nothing(stand):
    controller, said, make = stand
    controller.refuses = True
    async with make() as applier:
        applier.update(pickup(estimate()))
        await settle()
        controller.refuses = False
        applier.update(pickup(estimate()))
        await settle()
    assert [event for event, _ in said] == ["failed", "applied"]


def test_apply_wants_an_armed_rig_and_a_device_that_takes_a_load(capsys, tmp_path):
    assert main(["payload", "--apply", str(tmp_path / "x.mcap")]) == 2
    assert "give --live RIG.yaml" in capsys.readouterr().err
    assert main(["payload", "--live", "configs/rigs/emulated_ur10e.yaml", "--apply"]) == 2
    assert "say --arm ur10e" in capsys.readouterr().err
