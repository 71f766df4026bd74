"""Names and types of what an emulated Universal Robots controller sends and takes over RTDE, by the maker's guide."""

from __future__ import annotations

__all__ = ["CODES", "INPUTS", "OUTPUTS", "WIDTHS"]

#: struct codes of the types.
CODES = {
    "BOOL": "?",
    "UINT8": "B",
    "UINT32": "I",
    "UINT64": "Q",
    "INT32": "i",
    "DOUBLE": "d",
    "VECTOR3D": "3d",
    "VECTOR6D": "6d",
    "VECTOR6INT32": "6i",
}

#: By name.
OUTPUTS = {
    **dict.fromkeys(
        [
            "target_q",
            "target_qd",
            "target_qdd",
            "target_current",
            "target_moment",
            "actual_q",
            "actual_qd",
            "actual_current",
            "actual_current_window",
            "joint_control_output",
            "actual_TCP_pose",
            "actual_TCP_speed",
            "actual_TCP_force",
            "target_TCP_pose",
            "target_TCP_speed",
            "joint_temperatures",
            "actual_joint_voltage",
            "ft_raw_wrench",
            "payload_inertia",
        ],
        "VECTOR6D",
    ),
    **dict.fromkeys(
        ["actual_tool_accelerometer", "elbow_position", "elbow_velocity", "payload_cog"], "VECTOR3D"
    ),
    **dict.fromkeys(
        [
            "timestamp",
            "actual_execution_time",
            "speed_scaling",
            "target_speed_fraction",
            "actual_momentum",
            "actual_main_voltage",
            "actual_robot_voltage",
            "actual_robot_current",
            "standard_analog_input0",
            "standard_analog_input1",
            "standard_analog_output0",
            "standard_analog_output1",
            "io_current",
            "tcp_force_scalar",
            "payload",
        ],
        "DOUBLE",
    ),
    **dict.fromkeys(["actual_digital_input_bits", "actual_digital_output_bits"], "UINT64"),
    **dict.fromkeys(
        [
            "robot_status_bits",
            "safety_status_bits",
            "runtime_state",
            "input_bit_registers0_to_31",
            "input_bit_registers32_to_63",
            "output_bit_registers0_to_31",
            "output_bit_registers32_to_63",
        ],
        "UINT32",
    ),
    **dict.fromkeys(["robot_mode", "safety_mode", "safety_status"], "INT32"),
    "joint_mode": "VECTOR6INT32",
    **{f"output_int_register_{i}": "INT32" for i in range(48)},
    **{f"output_double_register_{i}": "DOUBLE" for i in range(48)},
    **{f"input_int_register_{i}": "INT32" for i in range(48)},
    **{f"input_double_register_{i}": "DOUBLE" for i in range(48)},
}
INPUTS = {
    **dict.fromkeys(
        ["speed_slider_mask", "input_bit_registers0_to_31", "input_bit_registers32_to_63"], "UINT32"
    ),
    **dict.fromkeys(
        [
            "standard_digital_output_mask",
            "standard_digital_output",
            "configurable_digital_output_mask",
            "configurable_digital_output",
            "tool_digital_output_mask",
            "tool_digital_output",
            "standard_analog_output_mask",
            "standard_analog_output_type",
        ],
        "UINT8",
    ),
    **dict.fromkeys(
        ["speed_slider_fraction", "standard_analog_output_0", "standard_analog_output_1"], "DOUBLE"
    ),
    "external_force_torque": "VECTOR6D",
    **{f"input_bit_register_{i}": "BOOL" for i in range(64, 128)},
    **{f"input_int_register_{i}": "INT32" for i in range(48)},
    **{f"input_double_register_{i}": "DOUBLE" for i in range(48)},
}
#: Numbers of a value; one where a type is not here.
WIDTHS = {"VECTOR6D": 6, "VECTOR6INT32": 6, "VECTOR3D": 3}
