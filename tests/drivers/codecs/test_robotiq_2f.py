"""Robotiq grippers: the frames of the manuals, and the rule that tells a pick from a drop."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import modbus, robotiq_2f
from heft.drivers.codecs.robotiq_2f import Action, Activation, Fault, Object, Status
from heft.drivers.codecs.robotiq_grasp import Grasp, Rule
from heft.drivers.errors import ProtocolError

BYTE, NIBBLE = st.integers(0, 255), st.integers(0, 15)
STATUSES = st.builds(
    Status,
    st.booleans(),
    st.booleans(),
    st.sampled_from(Activation),
    st.sampled_from(Object),
    NIBBLE,
    NIBBLE,
    BYTE,
    BYTE,
    BYTE,
)


def read(text: str, function: int = 4) -> Status:
    registers = modbus.decode_read_response(bytes.fromhex(text), robotiq_2f.UNIT, 3, function=function)
    return Status.decode(registers)


GRIPPED = read("090406b90000ffbd005c9a")
OPEN = read("090406f90000000d0017aa")
OPENING = read("0904063900 0000bb107106")


def test_statuses_as_the_manuals_print_them():
    assert Status(True, True, Activation.ACTIVE, Object.CONTACT_CLOSING, 0, 0, 255, 189, 0) == GRIPPED
    assert Status(True, True, Activation.ACTIVE, Object.AT_POSITION, 0, 0, 0, 13, 0) == OPEN
    assert Status(True, True, Activation.ACTIVE, Object.MOVING, 0, 0, 0, 187, 16) == OPENING
    assert OPENING.current * robotiq_2f.CURRENT_SCALE == pytest.approx(0.160)
    closing = read("09030639 0000ff0e0af78b", function=3)
    assert (closing.object, closing.position, closing.current) == (Object.MOVING, 14, 10)
    assert read("090306f90000000d00564c", function=3) == OPEN
    assert read("090306b90000ffbd001d7c", function=3) == GRIPPED


def test_actions_as_the_manuals_print_them():
    first, count = robotiq_2f.ACTION
    activate = modbus.write_request(robotiq_2f.UNIT, first, Action(activate=True).encode())
    assert activate == bytes.fromhex("091003e800030601000000000072e1")
    close = Action(activate=True, go=True, position=255, speed=255, force=255)
    assert modbus.write_request(9, first, close.encode()) == bytes.fromhex("091003e80003060900 00ffffff4229")
    modbus.decode_write_response(bytes.fromhex("091003e800030130"), 9, first, count)
    assert modbus.read_request(9, *robotiq_2f.STATUS, function=4) == bytes.fromhex("090407d00003b1ce")


@given(status=STATUSES)
def test_status_round_trip(status):
    assert Status.decode(status.encode()) == status


@given(flags=st.tuples(*[st.booleans()] * 4), numbers=st.tuples(BYTE, BYTE, BYTE))
def test_action_round_trip(flags, numbers):
    action = Action(*flags, *numbers)
    assert Action.decode(action.encode()) == action


@given(registers=st.lists(st.integers(-5, 70_000), max_size=5))
def test_only_protocol_errors(registers):
    for kind in (Status, Action):
        try:
            kind.decode(registers)
        except ProtocolError:
            assert len(registers) != 3 or not all(0 <= r <= 0xFFFF for r in registers)


def test_action_that_does_not_fit():
    with pytest.raises(ProtocolError):
        Action(position=256).encode()


def test_fault_names():
    assert replace(OPEN, fault=8).fault_name == "over temperature"
    assert replace(OPEN, fault=3).fault_name == "unknown fault 0x3"
    assert OPEN.fault_name == "none"


# The rule.

CLOSED = replace(GRIPPED, object=Object.AT_POSITION, position=230)
CLOSING = replace(GRIPPED, object=Object.MOVING, position=100)


def run(rule: Rule, grasp: Grasp, *statuses: Status) -> tuple[Grasp, list[str]]:
    """The state after these polls, and how it changed on the way."""
    events = []
    for status in statuses:
        before, grasp = grasp.held, rule.step(grasp, status)
        events += [] if grasp.held == before else ["picked" if grasp.held else "lost"]
    return grasp, events


def held() -> Grasp:
    grasp, events = run(Rule(), Grasp().request(255), CLOSING, GRIPPED, GRIPPED, GRIPPED)
    assert events == ["picked"]
    assert grasp.held
    return grasp


def test_pick_needs_several_polls_in_a_row():
    grasp, events = run(Rule(), Grasp().request(255), GRIPPED, GRIPPED, CLOSING, GRIPPED, GRIPPED)
    assert (grasp.held, events) == (False, [])
    assert run(Rule(), grasp, GRIPPED)[1] == ["picked"]


def test_pick_is_said_once():
    assert run(Rule(), held(), *[GRIPPED] * 10)[1] == []


@pytest.mark.parametrize(
    "change",
    [
        {"requested": 200},  # the answer to an older request
        {"activation": Activation.ACTIVATING},
        {"going": False},  # the manual: gOBJ means nothing then
        {"fault": Fault.OVER_TEMPERATURE},
        {"object": Object.CONTACT_OPENING},
        {"object": Object.AT_POSITION},
        {"object": Object.MOVING},
    ],
)
def test_no_pick(change):
    assert run(Rule(), Grasp().request(255), *[replace(GRIPPED, **change)] * 10)[1] == []


def test_no_pick_before_anything_was_asked():
    assert run(Rule(), Grasp(), *[GRIPPED] * 10)[1] == []


def test_inside_grip_counts_where_it_is_allowed():
    status = replace(GRIPPED, object=Object.CONTACT_OPENING, requested=0)
    assert run(Rule(inside=True), Grasp().request(0), *[status] * 3)[1] == ["picked"]
    assert run(Rule(), Grasp().request(0), *[status] * 3)[1] == []


def test_drop_is_contact_lost_without_a_request():
    grasp, events = run(Rule(), held(), GRIPPED, CLOSED, CLOSED)
    assert (grasp.held, events) == (False, ["lost"])


def test_object_that_slips_and_is_caught_again_is_no_drop():
    grasp, events = run(Rule(), held(), CLOSING, GRIPPED, GRIPPED, GRIPPED)
    assert (grasp.held, events) == (True, [])


def test_object_that_slips_through_is_a_drop():
    assert run(Rule(), held(), CLOSING, CLOSING, CLOSED)[1] == ["lost"]


def test_letting_go():
    grasp, events = run(Rule(), held().request(0), GRIPPED, OPENING, OPENING, OPEN)
    assert (grasp.held, events) == (False, ["lost"])


def test_request_that_does_not_let_go():
    """Asked for more force, the fingers stay where they are."""
    grasp, events = run(Rule(), held().request(255), *[GRIPPED] * 5)
    assert (grasp.held, events) == (True, [])
    assert run(Rule(), grasp, CLOSED)[1] == ["lost"]


def test_automatic_release_is_a_drop():
    status = replace(GRIPPED, fault=Fault.RELEASING, activation=Activation.RESET)
    assert run(Rule(), held(), status)[1] == ["lost"]


def test_lost_line_is_no_drop():
    grasp, events = run(Rule(), held(), *[replace(CLOSED, fault=Fault.NO_COMMUNICATION)] * 5)
    assert (grasp.held, events) == (True, [])
