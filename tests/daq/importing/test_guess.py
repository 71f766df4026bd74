"""What columns are taken for, by their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heft.daq.errors import ConfigError
from heft.daq.importing.binding import bind
from heft.daq.importing.guessing.guess import guess
from heft.daq.importing.guessing.guessed import RobotFacts
from heft.daq.importing.import_map import ImportMap, merged
from heft.daq.importing.table import Batch, Column, Table


def table_of(columns: dict[str, Any], **options: Any) -> Table:
    n = len(next(iter(columns.values())))
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    return Table(
        "", tuple(Column(name, name) for name in columns), Batch("", "", arrays, np.arange(n)), **options
    )


def named(motion: Any, *patterns: str) -> dict[str, Any]:
    """Columns by patterns for time, positions, velocities and torques, with # or @ for the joint."""
    t, q, dq, tau = patterns
    columns: dict[str, Any] = {t: motion.t}
    for pattern, values in ((q, motion.q), (dq, motion.dq), (tau, motion.tau)):
        for k, joint in enumerate(("shoulder_pan", "wrist_1")):
            columns[pattern.replace("#", str(k + 1)).replace("@", joint)] = values[:, k]
    return columns


@pytest.mark.parametrize(
    "patterns",
    [
        ("t", "q#", "dq#", "tau#"),
        ("Time [s]", "Joint # Position [rad]", "Joint # Velocity [rad/s]", "Joint # Torque [Nm]"),
        ("timestamp", "actual_q_#", "actual_qd_#", "actual_torque_#"),
        ("time", "@_position", "@_velocity", "@_effort"),
        ("t [s]", "@.position [rad]", "@.velocity [rad/s]", "@.torque [N m]"),
        ("sec", "A#.pos", "A#.vel", "A#.trq"),
        ("Zeit", "Winkel_#", "Drehzahl_#", "Drehmoment_#"),
        ("t", "q_#_rad", "qd_#_rad_s", "tau_#_Nm"),
        ("time", "q(#)", "qd(#)", "tau(#)"),
        ("__time", "/joint_states/j#/position", "/joint_states/j#/velocity", "/joint_states/j#/effort"),
        ("Timestamp", "MsrJntPos_#", "MsrJntVel_#", "MsrJntTrq_#"),
        ("t_sec", "pos_#", "vel_#", "eff_#"),
    ],
)
def test_names(motion: Any, patterns: tuple[str, ...]) -> None:
    columns = named(motion, *patterns)
    found = guess([table_of(columns)]).map
    names = list(columns)
    assert found["time"]["column"] == names[0]
    assert found["position"]["columns"] == names[1:3]
    assert found["velocity"]["columns"] == names[3:5]
    assert found["torque"]["columns"] == names[5:7]
    ImportMap.of(found)


def test_commands_models_and_dead_columns_are_not_measurements(motion: Any) -> None:
    columns = named(motion, "t", "q#", "dq#", "tau_meas_#")
    for k in (1, 2):
        columns |= {
            f"q_cmd_{k}": motion.q[:, 0],
            f"tau_model_{k}": motion.tau[:, 0],
            f"tau_sensor_{k}": motion.t * 0,
        }
        columns |= {f"tau_J_d_{k}": motion.tau[:, 0], f"temp_{k}": 30 + 0.01 * motion.t}
    found = guess([table_of(columns)])
    assert found.map["torque"]["columns"] == ["tau_meas_1", "tau_meas_2"]
    assert found.map["temperature"]["columns"] == ["temp_1", "temp_2"]
    reasons = {one.column: one.reason for one in found.columns}
    assert "model" in reasons["tau_model_1"]
    assert "command" in reasons["q_cmd_1"]
    assert all(one.reason for one in found.columns)


def test_joints_by_name_in_any_order_and_some_more(motion: Any) -> None:
    columns = {"t": motion.t}
    for name, k in (("gripper", 0), ("elbow_joint", 1), ("shoulder_joint", 0)):
        columns |= {f"{name}_pos": motion.q[:, k], f"{name}_torque": motion.tau[:, k]}
    robot = RobotFacts(("shoulder_joint", "elbow_joint"), (False, False), np.array([[-3.0, 3.0]] * 2))
    found = guess([table_of(columns)], robot).map
    columns_of = dict(zip(found["joints"], found["position"]["columns"], strict=True))
    assert columns_of == {"shoulder_joint": "shoulder_joint_pos", "elbow_joint": "elbow_joint_pos"}


def test_arrays_without_names_are_in_the_order_of_those_that_have_some(motion: Any) -> None:
    """As LeRobot names the numbers of `observation.state` alone; the robot has a joint more, and the data a gripper."""
    arrays = {
        name: np.insert(a, 0, motion.t, axis=1) for name, a in (("state", motion.q), ("effort", motion.tau))
    }
    columns = [
        Column(f"{name}[{k}]", name, k, label if name == "state" else "")
        for name in arrays
        for k, label in enumerate(("gripper.pos", "elbow.pos", "shoulder.pos"))
    ]
    head = Batch("", "", arrays | {"t": motion.t}, np.arange(len(motion.t)))
    table = Table("", (Column("t", "t"), *columns), head)
    names = ("shoulder", "elbow", "wrist", "hand")
    robot = RobotFacts(names, (False,) * 4, np.array([[-3.0, 3.0]] * 4))
    found = guess([table], robot).map
    assert found["joints"] == ["elbow", "shoulder"]
    assert found["position"]["columns"] == ["state[1]", "state[2]"]
    assert found["torque"]["columns"] == ["effort[1]", "effort[2]"]


@pytest.mark.parametrize(
    ("factor", "rate", "units"),
    [(1.0, 1.0, ("rad", "rad/s")), (57.29578, 57.29578, ("deg", "deg/s")), (1.0, 9.549297, ("rad", "rpm"))],
)
def test_units_by_limits_and_by_integration(
    motion: Any, factor: float, rate: float, units: tuple[str, str]
) -> None:
    moved = type(motion)(motion.t, factor * motion.q, rate * motion.dq, motion.tau)
    robot = RobotFacts(("joint1", "joint2"), (False, False), np.array([[-3.0, 3.0]] * 2))
    found = guess([table_of(named(moved, "t", "q#", "dq#", "tau#"))], robot).map
    assert (found["position"]["unit"], found["velocity"]["unit"]) == units


@pytest.mark.parametrize(("factor", "unit"), [(1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns")])
@pytest.mark.parametrize("epoch", [0.0, 1.7e9])
def test_units_of_time(motion: Any, factor: float, unit: str, epoch: float) -> None:
    columns = named(motion, "stamp", "q#", "dq#", "tau#")
    stamps = (motion.t + epoch) * factor
    columns["stamp"] = stamps if factor == 1.0 else np.round(stamps).astype(int)
    assert guess([table_of(columns)]).map["time"]["unit"] == unit


@pytest.mark.parametrize(
    ("name", "factor", "unit"), [("millis", 1e3, "ms"), ("micros", 1e6, "us"), ("t_ns", 1e9, "ns")]
)
def test_units_of_time_by_name_where_stamps_repeat(motion: Any, name: str, factor: float, unit: str) -> None:
    columns = named(motion, name, "q#", "dq#", "tau#")
    columns[name] = np.floor(motion.t * factor / 7e-3 / factor).astype(int)
    time = guess([table_of(columns)]).map["time"]
    assert (time["column"], time["unit"]) == (name, unit)


@pytest.mark.parametrize(
    "names", [("secs", "nsecs"), ("header.stamp.sec", "header.stamp.nanosec"), ("t_s", "t_ns")]
)
def test_seconds_and_nanoseconds_are_one_time(motion: Any, names: tuple[str, str]) -> None:
    columns = named(motion, "t", "q#", "dq#", "tau#")
    del columns["t"]
    whole = np.floor(motion.t).astype(int)
    stamps = {names[0]: 1_700_000_000 + whole, names[1]: np.round((motion.t - whole) * 1e9).astype(int)}
    found = guess([table_of(stamps | columns)]).map
    assert found["time"] == {"column": names[0], "unit": "s", "nanoseconds": names[1]}
    assert found["velocity"]["unit"] == "rad/s"


def test_columns_without_a_name_of_their_own(motion: Any) -> None:
    """As MATLAB's `array2table` numbers them."""
    every = np.column_stack([motion.t, motion.q, motion.dq, motion.tau])
    found = guess([table_of({f"Var{k + 1}": column for k, column in enumerate(every.T)})]).map
    assert found["time"]["column"] == "Var1"
    assert found["position"]["columns"] == ["Var2", "Var3"]
    assert found["velocity"]["columns"] == ["Var4", "Var5"]
    assert found["torque"]["columns"] == ["Var6", "Var7"]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_accelerations_without_a_name_are_no_torques(
    motion: Any, known: bool, order: tuple[int, ...]
) -> None:
    moved = [motion.q, motion.dq, np.gradient(motion.dq, motion.t, axis=0)]
    every = np.column_stack([motion.t, *(moved[k] for k in order), motion.tau])
    robot = RobotFacts(("a", "b"), (False, False), np.array([[-3.0, 3.0]] * 2)) if known else RobotFacts()
    found = guess(
        [table_of({f"column{k}": column for k, column in enumerate(every.T)})], robot, named=False
    ).map
    first = 1 + 2 * order.index(0)
    assert found["position"]["columns"] == [f"column{first}", f"column{first + 1}"]
    assert found["torque"]["columns"] == ["column7", "column8"]


def test_currents_by_their_letter_and_a_number(motion: Any) -> None:
    found = guess([table_of(named(motion, "t", "q#", "qd#", "i#"))]).map
    assert (found["torque"]["columns"], found["torque"]["unit"]) == (["i1", "i2"], "A")


@pytest.mark.parametrize("pattern", ["{side}_joint#_{what}", "{what}_{side}_#"])
def test_of_two_arms_all_columns_are_of_one(motion: Any, pattern: str) -> None:
    columns = {"t": motion.t}
    for side, sign in (("left", 1), ("right", -1)):
        for what, values in (("position", motion.q), ("velocity", motion.dq), ("effort", motion.tau)):
            for k in range(2):
                name = pattern.format(side=side, what=what).replace("#", str(k + 1))
                columns[name] = sign * values[:, k]
                if name.startswith(("left_joint2_e", "effort_left_2")):
                    columns[name] = 0 * motion.t
    found = guess([table_of(columns)])
    for quantity in ("position", "velocity", "torque"):
        assert all("left" in name for name in found.map[quantity]["columns"])
    (why,) = {one.reason for one in found.columns if one.meaning == "position"}
    assert "rather than" in why
    assert "right" in why


def test_a_right_arm_is_no_reference(motion: Any) -> None:
    found = guess([table_of(named(motion, "t", "q_r_#", "dq_r_#", "tau_r_#"))]).map
    assert found["position"]["columns"] == ["q_r_1", "q_r_2"]
    assert found["torque"]["columns"] == ["tau_r_1", "tau_r_2"]
    both = named(motion, "t", "q_r_#", "dq_r_#", "tau_r_#") | named(motion, "t", "q_#", "dq_#", "tau_#")
    assert guess([table_of(both)]).map["position"]["columns"] == ["q_1", "q_2"]


def test_torques_in_percent_need_what_is_rated(motion: Any) -> None:
    table = table_of(named(motion, "t", "q#", "dq#", "tau_#_pct"))
    found = guess([table])
    assert found.map["torque"]["unit"] == "%"
    mapped = ImportMap.of(found.map)
    with pytest.raises(ConfigError, match="give the rated torques"):
        bind(mapped, [table], {"": 100.0})
    rated = merged(found.map, {"torque": {"constant": [50.0, 20.0]}})
    (bound,) = bind(ImportMap.of(rated), [table], {"": 100.0})
    assert [(one.unit, one.scale) for one in bound.stream.columns[-2:]] == [("N m", 0.5), ("N m", 0.2)]


def test_torques_of_fewer_joints_are_told(motion: Any) -> None:
    columns = named(motion, "t", "q#", "dq#", "tau#")
    del columns["tau2"]
    found = guess([table_of(columns)])
    assert "torque" not in found.map
    assert {one.column: one.reason for one in found.columns}["tau1"] == "not one column for each joint"


def test_fixes_are_laid_over_a_map() -> None:
    base = {"time": {"column": "t"}, "torque": {"columns": ["a", "b"], "unit": "N m"}}
    fix = {"torque": {"sign": [1, -1]}, "rate_hz": 200.0, "time": None}
    whole = merged(base, fix)
    assert whole == {"torque": {"columns": ["a", "b"], "unit": "N m", "sign": [1, -1]}, "rate_hz": 200.0}
    again = ImportMap.of(whole)
    assert ImportMap.of(again.to_dict()) == again
