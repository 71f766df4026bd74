"""What is sent to a controller: programs as text, input recipes byte by byte, and loads that come back as they went."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heft.drivers.codecs import ur_rtde as codec
from heft.drivers.codecs import ur_script
from heft.drivers.codecs.ur_rtde import Package, Recipe, Type, mode_name
from heft.drivers.codecs.ur_script import INPUTS, ServoProgram, load_call, load_program
from heft.drivers.emulators.protocols.urscript import Machine, parse
from heft.drivers.errors import ProtocolError
from heft.drivers.flange_load import FlangeLoad

TYPES = b"INT32,INT32," + b",".join([b"DOUBLE"] * 12)


def test_inputs_byte_by_byte():
    recipe = Recipe.decode(Package(Type.SETUP_INPUTS, b"\x02" + TYPES), INPUTS)
    package = recipe.pack(7, ur_script.FOLLOW, *range(6), *[0.5] * 6)
    assert package.encode() == struct.pack(">HBBii12d", 108, ord("U"), 2, 7, 1, *range(6), *[0.5] * 6)
    assert package.encode()[:12] == bytes.fromhex("006c 55 02 00000007 00000001")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"\x00" + TYPES, "refused"),
        (b"\x00" + TYPES.replace(b"INT32", b"IN_USE", 1), "input_int_register_24 is IN_USE"),
        (b"\x01" + TYPES.replace(b"DOUBLE", b"NOT_FOUND", 1), "input_double_register_24 is NOT_FOUND"),
    ],
)
def test_inputs_that_are_refused(answer, says):
    with pytest.raises(ProtocolError, match=says):
        Recipe.decode(Package(Type.SETUP_INPUTS, answer), INPUTS)


def test_registers_are_those_of_external_clients():
    """0 to 23 are the fieldbuses'."""
    numbers = {int(name.rsplit("_", 1)[1]) for name in (*INPUTS, ur_script.STATE)}
    assert min(numbers) >= 24
    assert max(numbers) <= 47


def test_the_program_as_it_is_sent():
    text = ServoProgram(42, watchdog_s=0.2, step_s=0.002, lookahead_s=0.05, gain=400.0).text
    assert text.startswith("def heft_servo():\n")
    assert text.endswith("\nend\n")
    assert 'rtde_set_watchdog("input_int_register_24", 2.5, "stop")' in text
    assert "servoj(target, t=step, lookahead_time=0.05, gain=400)" in text
    assert "if missed > 100:" in text
    assert text.count("read_input_float_register") == 12
    (program,), rest = parse(text)
    assert (program.main.name, program.secondary, rest) == ("heft_servo", False, "")
    with pytest.raises(ProtocolError, match="program number 0"):
        _ = ServoProgram(0, watchdog_s=0.2, step_s=0.002).text


numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: x + 0.0)


@given(st.floats(0.0, 100.0), st.tuples(*[numbers] * 3), st.none() | st.tuples(*[numbers] * 6))
def test_a_load_comes_back_as_it_went(mass, com, inertia):
    held = []
    (program,), _ = parse(load_program(FlangeLoad(mass, com, inertia)))
    assert program.secondary
    machine = Machine(program, {"set_target_payload": lambda *given: held.append(given)})
    machine.step()
    assert machine.over
    wanted = (mass, list(com)) if inertia is None else (mass, list(com), list(inertia))
    assert held == [wanted]


def test_a_load_without_inertia_says_nothing_of_it():
    assert load_call(FlangeLoad(1.5, (0.0, 0.0, 0.1))) == "set_target_payload(1.5, [0.0, 0.0, 0.1])"


def test_modes_have_names():
    assert mode_name(codec.SafetyMode, 3) == "protective stop (3)"
    assert mode_name(codec.RobotMode, 99) == "unknown (99)"
