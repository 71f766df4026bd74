"""Names and places of the parameters."""

import numpy as np
import pytest

from heft.identify.bodies.parameters import JOINT_TERMS, LINK_TERMS, Layout, parameter_names
from heft.identify.errors import ParameterError

TERMS = ("viscous", "offset")
NAMES = parameter_names(("arm", "hand"), {"shoulder": TERMS, "wrist": TERMS})


def test_links_come_first_then_joints() -> None:
    assert NAMES[:11] == (*(f"arm.{term}" for term in LINK_TERMS), "hand.m")
    assert NAMES[20:] == ("shoulder.viscous", "shoulder.offset", "wrist.viscous", "wrist.offset")


def test_a_layout_is_read_from_names() -> None:
    layout = Layout(NAMES)
    assert layout.links == ("arm", "hand")
    assert layout.joints == ("shoulder", "wrist")
    assert layout.link("hand") == slice(10, 20)
    assert layout.link_indices == slice(0, 20)
    assert layout.index("hand.my") == 12
    assert layout.joint_terms["wrist"] == {"viscous": 22, "offset": 23}


def test_motors_that_turn_with_several_joints_are_owners_too() -> None:
    layout = Layout((*NAMES, "wrist_motor.viscous", "wrist_motor.coulomb"))
    assert layout.joints == ("shoulder", "wrist", "wrist_motor")
    assert layout.non_negative == (20, 22, 24, 25)


def test_pack_and_unpack_are_inverse() -> None:
    layout = Layout(NAMES)
    vector = layout.pack({"hand": np.arange(10.0), "wrist.offset": -1.5})
    assert layout.unpack(vector)["hand.zz"] == 9.0
    assert layout.unpack(vector)["wrist.offset"] == -1.5
    assert np.array_equal(layout.pack(layout.unpack(vector)), vector)


def test_signs_of_joint_terms() -> None:
    positive = {name for name, term in JOINT_TERMS.items() if term.non_negative}
    assert positive == {"drive_inertia", "viscous", "coulomb", "stribeck", "load_friction"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("arm.m", "arm.m"), "named twice"),
        (("mass",), "owner.term"),
        (("arm.m", "arm.xx"), "in the order m mx my mz"),
    ],
)
def test_names_that_cannot_be(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Layout(names)


def test_asking_for_what_is_not_there() -> None:
    layout = Layout(NAMES)
    with pytest.raises(ParameterError, match=r"no parameter leg\.m; there are arm\.m"):
        layout.index("leg.m")
    with pytest.raises(ParameterError, match="no link leg; there are arm, hand"):
        layout.link("leg")
    with pytest.raises(ParameterError, match="24 parameters"):
        layout.checked(np.zeros(23))
