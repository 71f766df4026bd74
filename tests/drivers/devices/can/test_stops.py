"""A stop is over when the arm stands, and drives go off when it does: with brakes and without."""

from __future__ import annotations

import numpy as np
import pytest

from heft.drivers.errors import CommandError, RestError
from heft.drivers.plant.faults import DriveFault

BALANCED = "the arm rests on its stand"


def with_axes(words, **more):
    """The axes of a kind, with more keys."""
    return {name: {**axis, **more} for name, axis in words.driver["axes"].items()}


async def moving(bench) -> None:
    await bench.arm.arm()
    await bench.send(5.0, 2.0)
    await bench.until(lambda: bench.speed() > 0.5)


async def test_a_slow_stop_is_waited_for(stand, words):
    """At 0.8 rad/s2 it takes a second from 0.5 rad/s."""
    async with stand(axes=with_axes(words, deceleration=0.8)) as bench:
        await moving(bench)
        await bench.arm.hold()
        assert bench.arm.holding
        assert bench.speed() < 0.1
        assert bench.on.all()
        await bench.arm.disarm()
        assert not bench.on.any()
        assert not bench.arm.holding
    assert bench.error is None


async def test_it_is_said_when_the_arm_does_not_come_to_rest(stand, monkeypatch):
    """... and the drives stay on, until their own means have been tried; then the brakes take over."""
    async with stand() as bench:
        await bench.arm.arm()
        position, _ = bench.arm._measured()
        monkeypatch.setattr(bench.arm, "_measured", lambda: (position, np.array([0.0, 1.0])))
        with pytest.raises(RestError, match=r"not at rest 1\.\d+ s after the stop began: joint2 moves at"):
            await bench.arm.hold()
        assert not bench.arm.holding
        assert bench.on.all()
        with pytest.raises(RestError, match="switched off, and the brakes stop it"):
            await bench.arm.disarm()
        assert not bench.on.any()


async def test_without_a_brake_the_drives_stay_on_where_rest_is_not_reached(kind, stand, words, monkeypatch):
    options = {"axes": with_axes(words, brake=False), "off_without_brake": BALANCED}
    stays = {"quick_stop_option": 6} if kind == "cia402" else {}
    async with stand({"brake": False, **stays}, **options) as b:
        await b.arm.arm()
        with monkeypatch.context() as patched:
            patched.setattr(b.arm, "_moving", lambda: np.array([True, False]))
            with pytest.raises(RestError, match="it has no brake, so the drives stay on"):
                await b.arm.disarm()
        assert b.on.all()
        assert b.speed() < 0.1


async def test_an_arm_that_would_fall_is_not_armed(kind, stand, words):
    """CiA 402 drives hold by themselves after a quick stop; the others need a word from the operator."""
    async with stand({"brake": False}, axes=with_axes(words, brake=False), weight=2.0) as bench:
        if kind != "cia402":
            with pytest.raises(CommandError, match=r"joint1.*has no brake.*Arming is refused; say under"):
                await bench.arm.arm()
            assert not bench.on.any()
            return
        await bench.arm.arm()
        await bench.arm.hold()
        before = bench.truth()
        await bench.arm.disarm()
        assert bench.arm.holding  # in quick stop, without this host
        await bench.sleep(0.3)
        np.testing.assert_allclose(bench.truth(), before, atol=0.02)
        await bench.arm.arm()  # and it is taken over from there, not by way of off
        await bench.sleep(0.1)
        np.testing.assert_allclose(bench.truth(), before, atol=0.02)


async def test_the_operator_may_let_it_fall(stand, words):
    options = {"axes": with_axes(words, brake=False), "off_without_brake": BALANCED}
    async with stand({"brake": False}, weight=2.0, **options) as bench:
        await bench.arm.arm()
        await bench.arm.hold()
        await bench.arm.disarm()
        await bench.until(lambda: bench.speed() > 0.3)
        with pytest.raises(CommandError, match="cannot arm while"):
            await bench.arm.arm()


async def test_a_drive_that_failed_does_not_hold(stand):
    """... whatever the others do."""
    async with stand() as bench:
        await bench.arm.arm()
        assert bench.arm.holding
        bench.inject(DriveFault, joint="joint2")
        await bench.until(lambda: bench.error is not None)
        await bench.arm.hold()
        assert not bench.arm.holding
        assert bench.on[0]  # the other one goes on holding, until it is switched off
        await bench.arm.disarm()
        assert not bench.on.any()
