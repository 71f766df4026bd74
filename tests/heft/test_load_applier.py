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
from heft.load_applier import LoadApplier, LoadRules, LoadTimes
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
    """Holds a load, and remembers all that it was told; may refuse, be slow, or take a load and not say so."""

    name = "arm"

    def __init__(self):
        self.held, self.told, self.refuses, self.mute = OLD, [], False, False
        self.free = asyncio.Event()  # what it takes to answer
        self.free.set()

    async def load(self):
        return self.held

    async def set_load(self, load):
        await self.free.wait()
        if self.refuses:
            raise CommandError("arm", "is not in remote control")
        self.held = load
        self.told.append(load)
        if self.mute:
            raise TimeoutError


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

    def make(hand=HAND, rules=None, leave_s=10.0):
        tell = lambda facts, words: said.append((facts["event"], words))  # noqa: E731
        times = LoadTimes(retry_s=0.0, leave_s=leave_s)
        return LoadApplier(controller, lambda: hand, PLACE, tell, lambda: 0, rules, times)

    return controller, said, make


def pickup(held, **more):
    return Pickup(1, 0.0, "gripper.state", t_pick=0.1, latest=Estimated(1.0, held), **more)


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


async def hold(applier):
    """An object is picked up, and told."""
    held = pickup(estimate())
    applier.update(held)
    await settle()
    return held


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


async def test_a_restore_that_fails_is_told_and_tried_again(stand):
    controller, said, make = stand
    async with make() as applier:
        held = await hold(applier)
        controller.refuses = True
        applier.update(replace(held, end=End.DROPPED))
        await settle()
        applier.update(held)  # an estimate that comes late takes the restore's place not
        await settle()
        assert controller.held != OLD
        controller.refuses = False
        await settle()
        assert controller.held == OLD
    assert [event for event, _ in said] == [
        "applied",
        "failed",
        "restored",
    ]  # told once, however often it is tried
    assert "is not restored yet, and is tried again: arm: is not in remote control" in said[1][1]


async def test_a_load_that_was_taken_without_a_word_is_taken_back(stand):
    """The controller took it, and its answer was late: a time-out is told, and a drop restores the old load."""
    controller, said, make = stand
    async with make() as applier:
        controller.mute = True
        held = await hold(applier)
        assert controller.held != OLD
        controller.mute = False
        applier.update(replace(held, end=End.DROPPED))
        await settle()
    assert controller.held == OLD
    assert [event for event, _ in said] == ["failed", "restored"]
    assert "no answer within" in said[0][1]


async def test_leaving_waits_for_a_restore_that_is_under_way(stand):
    controller, said, make = stand
    async with make() as applier:
        held = await hold(applier)
        controller.free.clear()
        applier.update(replace(held, end=End.RELEASED))
        asyncio.get_running_loop().call_later(0.01, controller.free.set)
    assert controller.held == OLD
    assert [event for event, _ in said] == ["applied", "restored"]


async def test_what_cannot_be_restored_is_told_when_leaving(stand):
    controller, said, make = stand
    async with make(leave_s=0.05) as applier:
        held = await hold(applier)
        controller.refuses = True
        applier.update(replace(held, end=End.DROPPED))
    assert [event for event, _ in said] == ["applied", "failed", "not restored"]
    assert "LOAD NOT RESTORED: arm may hold an object that is gone; set 0.9250 kg" in said[-1][1]


async def test_an_object_that_is_held_at_the_end_stays_told(stand):
    controller, said, make = stand
    async with make() as applier:
        held = await hold(applier)
        applier.update(replace(held, end=End.UNFINISHED))
    assert controller.held.mass == pytest.approx(2.4, rel=0.005)
    assert [event for event, _ in said] == ["applied"]


async def test_an_object_told_in_place_of_a_failed_restore_is_restored_to_the_first(stand):
    controller, said, make = stand
    async with make() as applier:
        held = await hold(applier)
        controller.refuses = True
        applier.update(replace(held, end=End.DROPPED))
        await settle()
        second = Pickup(2, 1.0, "gripper.state", t_pick=1.1, latest=Estimated(2.0, estimate(0.8)))
        applier.update(second)
        controller.refuses = False
        await settle()
        assert controller.held.mass == pytest.approx(1.7, rel=0.01)
        applier.update(replace(second, end=End.RELEASED))
        await settle()
    assert controller.held == OLD
    assert [event for event, _ in said] == ["applied", "failed", "applied", "restored"]


def test_apply_wants_an_armed_rig_and_a_device_that_takes_a_load(capsys, tmp_path):
    assert main(["payload", "--apply", str(tmp_path / "x.mcap")]) == 2
    assert "give --live RIG.yaml" in capsys.readouterr().err
    assert main(["payload", "--live", "configs/rigs/emulated_ur10e.yaml", "--apply"]) == 2
    assert "say --arm ur10e" in capsys.readouterr().err
