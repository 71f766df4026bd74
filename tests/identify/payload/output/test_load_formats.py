"""Loads as makers' controllers are told them: 1000 random bodies to text and back, and the units of each."""

from __future__ import annotations

import importlib.util
from dataclasses import fields

import numpy as np
import pytest

from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia, inertia_about_com
from heft.identify.payload.output.load_formats import (
    FORMATS,
    AbbLoad,
    FanucLoad,
    KukaLoad,
    UrLoad,
    XarmLoad,
)

BODIES = 1000


def bodies():
    """From 10 g to 300 kg, of any shape and turn, some with equal moments, some with axes along the flange's."""
    rng = np.random.default_rng(17)
    for k in range(BODIES):
        mass = 10 ** rng.uniform(-2.0, 2.5)
        second = mass * 10 ** rng.uniform(-5.0, -1.5, 3)
        if k % 7 == 0:
            second[1] = second[0]
        turn = np.eye(3) if k % 5 == 0 else np.linalg.qr(rng.standard_normal((3, 3)))[0]
        sigma = (turn * second) @ turn.T
        inertia = np.trace(sigma) * np.eye(3) - sigma
        yield from_mass_com_inertia(mass, rng.uniform(-0.5, 0.5, 3), inertia)


@pytest.mark.parametrize("maker", FORMATS)
def test_a_thousand_bodies_go_to_text_and_back(maker):
    form = FORMATS[maker]
    for ten in bodies():
        load = form.of(ten)
        assert form.parse(load.text) == load
        back = form.parse(load.text).ten
        size = np.abs(ten[4:]).max()
        np.testing.assert_allclose(back[:4], ten[:4], rtol=1e-9, atol=1e-9 * ten[0])
        if form is XarmLoad:
            continue  # takes no inertia
        if form is FanucLoad:  # takes no products of inertia
            np.testing.assert_allclose(
                np.diag(inertia_about_com(back)),
                np.diag(inertia_about_com(ten)),
                rtol=1e-9,
                atol=1e-9 * size,
            )
        else:
            np.testing.assert_allclose(back[4:], ten[4:], rtol=1e-9, atol=1e-9 * size)


def test_units_and_signs_by_hand():
    """2 kg, 0.1 m along z, a box: numbers that the makers' manuals ask for."""
    inertia = np.diag([0.03, 0.02, 0.01])
    inertia[0, 1] = inertia[1, 0] = -0.002
    ten = from_mass_com_inertia(2.0, [0.0, 0.0, 0.1], inertia)
    assert UrLoad.of(ten).inertia == pytest.approx((0.03, 0.02, 0.01, -0.002, 0.0, 0.0))
    assert UrLoad.of(ten, inertia=False).text == "set_target_payload(2.0, [0.0, 0.0, 0.1])"
    assert FanucLoad.of(ten).centre == pytest.approx((0.0, 0.0, 10.0))  # cm
    assert FanucLoad.of(ten).inertia[0] == pytest.approx(0.03 / 9.80665 * 100.0)  # kgf cm s2
    assert XarmLoad.of(ten).text == "set_tcp_load(2.0, [0.0, 0.0, 100.0])"
    abb = AbbLoad.of(ten)
    assert np.linalg.norm(abb.aom) == pytest.approx(1.0)
    assert abb.cog == pytest.approx((0.0, 0.0, 100.0))
    assert pytest.approx(100.0) == KukaLoad.of(ten).Z


def test_who_includes_the_hand():
    assert {key for key, form in FORMATS.items() if form.INCLUDES_HAND} == {"ur", "kuka", "fanuc", "xarm"}


def test_the_makers_library_takes_what_is_said_of_an_xarm(missing):
    """Its `set_tcp_load` has these arguments, in this order."""
    if importlib.util.find_spec("xarm") is None:
        missing("xarm-python-sdk, the maker's library, is not installed")
    import inspect

    from xarm.wrapper import XArmAPI

    wanted = list(inspect.signature(XArmAPI.set_tcp_load).parameters)[1:3]
    assert wanted == ["weight", "center_of_gravity"]
    assert [field.name for field in fields(XarmLoad)] == wanted
