"""The state machine follows the diagram and nothing else."""

from __future__ import annotations

import pytest

from heft.daq.motion.state import State, StateMachine


def test_the_way_of_a_good_session_is_told_step_by_step() -> None:
    told: list[tuple[State, str]] = []
    machine = StateMachine(lambda state, reason: told.append((state, reason)))
    way = [State.CONNECTED, State.ARMED, State.MOVING, State.ARMED, State.MOVING, State.STOPPING, State.DONE]
    for state in way:
        machine.enter(state)
    assert [state for state, _ in told] == way
    assert machine.state.final


@pytest.mark.parametrize("target", [State.ARMED, State.MOVING, State.DONE])
def test_a_step_that_the_diagram_does_not_have_is_refused(target: State) -> None:
    machine = StateMachine(lambda state, reason: None)
    with pytest.raises(RuntimeError, match=f"from idle to {target}"):
        machine.enter(target)


@pytest.mark.parametrize("state", [State.DONE, State.ABORTED, State.FAILED])
def test_it_ends_from_rest_only(state: State) -> None:
    machine = StateMachine(lambda state, reason: None)
    machine.finish(state, "before anything was connected")
    assert machine.state is state
    machine = StateMachine(lambda state, reason: None)
    machine.enter(State.CONNECTED)
    with pytest.raises(RuntimeError, match=f"as {state} when it is connected"):
        machine.finish(state, "")
    machine.enter(State.STOPPING)
    machine.finish(state, "")
    assert machine.state is state


def test_a_final_state_is_final() -> None:
    machine = StateMachine(lambda state, reason: None)
    machine.enter(State.FAILED, "no cable")
    with pytest.raises(RuntimeError, match="from failed"):
        machine.enter(State.CONNECTED)
