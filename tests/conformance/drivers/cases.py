"""The kinds of device that the suite is run with; only what stands here differs between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Block
from heft.drivers.plant.bench import Bench
from heft.testing import Case

__all__ = ["CASES"]

QUIET = dict.fromkeys(
    ("force_noise", "torque_noise", "force_bias", "torque_bias", "force_bias_drift", "torque_bias_drift"), 0.0
)
WRENCH_WITHIN = (0.15, 0.15, 0.15, 0.01, 0.01, 0.01)
NO_PORT = {"port": "/dev/ttyNONE0"}


def wrench(plant: Bench, block: Block) -> NDArray[np.float64]:
    """The bench's wrench when the samples arrived; it changes slowly."""
    return plant.wrench((block.host_ns - plant.start_ns) * 1e-9, 0.0)


def position(plant: Bench, block: Block) -> NDArray[np.float64]:
    t = (block.host_ns - plant.start_ns) * 1e-9
    axis = plant.axes.index(block.stream.columns[0].of)
    return plant.joint_positions(t)[:, [axis]]


def gripper(plant: Bench, block: Block) -> NDArray[np.float64]:
    """Open, and nothing held."""
    return np.tile([0.085, 0.0, 0.0], (len(block), 1))


def motion(plant: Bench, block: Block) -> NDArray[np.float64]:
    """Positions, velocities: the joints stand still."""
    t = (block.host_ns - plant.start_ns) * 1e-9
    return np.hstack([plant.motor(t).q, plant.motor(t).v])


def aged_motion(plant: Bench, block: Block) -> NDArray[np.float64]:
    """As above; the ages of the axes are at most a cycle and what a busy host adds."""
    return np.hstack([motion(plant, block), np.zeros((len(block), len(plant.axes)))])


def positions(plant: Bench, block: Block) -> NDArray[np.float64]:
    """Of all joints."""
    return plant.joint_positions((block.host_ns - plant.start_ns) * 1e-9)


ENCODERS = {
    "joint1": {"node": 11, "counts_per_turn": 1 << 18, "range": 1 << 18},
    "joint2": {"node": 12, "counts_per_turn": 36000, "range": 360_000, "ratio": -3.0, "zero": 0.1},
}

#: Two drives: the second counts the other way, and not from zero.
CIA402_NODES = (
    {"node": 1, "serial": 1001, "rated_current": 8.0},
    {"node": 2, "serial": 1002, "rated_current": 4.0, "counts_per_turn": -200_000, "zero": 5000},
)

#: An X and a P on one line: the second turns the other way, twice as far, and not from zero.
DYNAMIXELS = (
    {"id": 1, "model": "XM430-W350"},
    {"id": 7, "model": "PH54-200-S500", "gear": -2.0, "zero": 500.0},
)

#: Two STS3215; the second turns the other way.
FEETECHS = ({"id": 1}, {"id": 6, "gear": -1.0, "zero": 1500.0})

CASES = {
    "ati_rdt": Case(
        driver={"host": "192.0.2.1", "measure_s": 0.05},
        emulator=QUIET,
        truth=wrench,
        within=WRENCH_WITHIN,
        samples=600,
        wrap=(1 << 32) - 2800,
        counts=True,
        nowhere=({"host": "127.0.0.1", "port": 9, "http_port": 9}, "http://127.0.0.1:9/netftapi2.xml"),
        wrong=(
            (
                {"counts_per_force": 1e5, "torque_unit": "N-mm"},
                r"force_scale is 1e-05 N per count on the box, 1e-06",
            ),
            ({"rate_hz": 500.0}, r"rate_hz is 500 Hz on the box, 1000 in the rig's file"),
        ),
        saturates=True,
        bits=1 << 28,
    ),
    "onrobot_hex": Case(
        driver={"host": "192.0.2.1", "rate_hz": 500.0, "tick_hz": 1000.0},
        emulator=QUIET,
        truth=wrench,
        within=WRENCH_WITHIN,
        samples=150,
        wrap=(1 << 32) - 100,
        counts=True,
        nowhere=({"host": "127.0.0.1", "port": 9}, "udp 127.0.0.1:9 refused"),
        saturates=False,
        bits=1 << 3,
    ),
    "bota_serial": Case(
        driver={"port": "/dev/ttyUSB0", "sinc": 64, "configure_wait_s": 0.05, "boot_s": 0.4},
        emulator={**QUIET, "boot_s": 0.05},
        truth=wrench,
        within=WRENCH_WITHIN,
        samples=200,
        wrap=(1 << 32) - 300_000,
        counts=True,
        checks=True,
        nowhere=(NO_PORT, "cannot open /dev/ttyNONE0 at 460800 baud: no such port"),
        wrong=(({"baud": 115200}, r"bytes within 1 s, but 0 frames; is the baud rate the sensor's"),),
        saturates=True,
        bits=1 << 2,
        derived=("device.temperature",),
    ),
    "robotiq_ft300": Case(
        driver={"port": "/dev/ttyUSB0", "stop_s": 0.03, "answer_s": 0.1, "timeout_s": 0.25},
        emulator={**QUIET, "streaming": True},
        truth=wrench,
        within=WRENCH_WITHIN,
        samples=30,
        checks=True,
        nowhere=(NO_PORT, "cannot open /dev/ttyNONE0 at 19200 baud: no such port"),
        wrong=(({"unit": 10}, r"asked 5 times for registers 510 to 513: unit 9 does not answer"),),
        saturates=True,
    ),
    "robotiq_ft300_registers": Case(
        driver={"port": "/dev/ttyUSB0", "stop_s": 0.03, "answer_s": 0.1, "timeout_s": 0.25},
        emulator=QUIET,
        truth=wrench,
        within=WRENCH_WITHIN,
        samples=12,
        patient={"timeout_s": 1.0, "answer_s": 0.04},
        checks=True,
        nowhere=(NO_PORT, "cannot open /dev/ttyNONE0 at 19200 baud: no such port"),
        wrong=(({"unit": 10}, r"unit 9 does not answer"),),
        saturates=True,
    ),
    "amt21": Case(
        driver={
            "port": "/dev/ttyUSB0",
            "rate_hz": 200.0,
            "max_speed": 3.0,
            "answer_s": 0.1,
            "encoders": {"joint1": {"address": 0x54}, "joint2": {"address": 0x58, "ratio": -2.0}},
        },
        emulator={"encoders": {"joint1": {"address": 0x54}, "joint2": {"address": 0x58, "ratio": -2.0}}},
        truth=position,
        patient={"timeout_s": 1.0, "max_speed": 1.0, "answer_s": 0.005},
        within=(2e-4,),
        samples=40,
        checks=True,
        nowhere=(NO_PORT, "cannot open /dev/ttyNONE0 at 2000000 baud: no such port"),
        wrong=(
            (
                {"encoders": {"joint1": {"address": 0x54}, "joint2": {"address": 0x5C}}},
                r"encoder 0x58 on joint2, asked 3 times: no answer",
            ),
        ),
    ),
    "robotiq_2f": Case(
        driver={"port": "/dev/ttyUSB0", "rate_hz": 60.0},
        emulator={},
        truth=gripper,
        patient={"timeout_s": 1.0, "answer_s": 0.03},
        within=(1e-3, 0.02, 0.1),
        samples=20,
        checks=True,
        nowhere=(NO_PORT, "cannot open /dev/ttyNONE0 at 115200 baud: no such port"),
        wrong=(({"unit": 10}, r"asked 3 times for its status: unit 9 does not answer"),),
        bits=0x0E,
    ),
    "dynamixel": Case(
        driver={
            "port": "/dev/ttyUSB0",
            "axes": {
                "joint1": {"id": 1, "model": "XM430-W350"},
                "joint2": {"id": 7, "model": "PH54-200-S500", "gear": -2.0, "zero": 500.0},
            },
            "rate_hz": 50.0,
            "answer_s": 0.1,
        },
        emulator={"servos": DYNAMIXELS},
        truth=motion,
        within=(8e-4, 4e-6, 0.013, 6e-4),
        derived=("device.current", "device.clock", "device.played"),
        samples=30,
        checks=True,
        patient={"timeout_s": 2.0},
        nowhere=(NO_PORT, "cannot open /dev/ttyNONE0 at 1000000 baud: no such port"),
        wrong=(
            ({"servos": (DYNAMIXELS[0], {**DYNAMIXELS[1], "id": 8})}, r"no answer from servo 7 \(joint2\)"),
            (
                {"servos": ({**DYNAMIXELS[0], "model": "XM540-W270"}, DYNAMIXELS[1])},
                r"servo 1 \(joint1\) has model number 1120 \(XM540-W270\), the rig's file says XM430-W350",
            ),
            (
                {"servos": ({**DYNAMIXELS[0], "mode": 1}, DYNAMIXELS[1])},
                r"servo 1 \(joint1\) is in operating mode 1, which follows no positions",
            ),
        ),
    ),
    "feetech": Case(
        driver={
            "port": "/dev/ttyUSB0",
            "axes": {"joint1": {"id": 1, "model": 777}, "joint2": {"id": 6, "gear": -1.0, "zero": 1500.0}},
            "rate_hz": 50.0,
            "answer_s": 0.1,
        },
        emulator={"servos": FEETECHS},
        truth=motion,
        within=(8e-4, 8e-4, 1e-3, 1e-3),
        derived=("device.current", "device.played"),
        samples=30,
        checks=True,
        patient={"timeout_s": 2.0},
        nowhere=(NO_PORT, "cannot open /dev/ttyNONE0 at 1000000 baud: no such port"),
        wrong=(
            ({"servos": (FEETECHS[0], {**FEETECHS[1], "id": 5})}, r"no answer from servo 6 \(joint2\)"),
            (
                {"servos": ({**FEETECHS[0], "model": 2825}, FEETECHS[1])},
                r"servo 1 \(joint1\) has model number 2825, the rig's file says 777",
            ),
            ({"servos": ({**FEETECHS[0], "mode": 1}, FEETECHS[1])}, r"is in mode 1, expected 0"),
            (
                {"servos": (FEETECHS[0], {**FEETECHS[1], "phase": 8})},
                r"servo 6 \(joint2\) counts velocity in 50 count/s, speed_steps is 1",
            ),
        ),
    ),
    "ur_rtde": Case(
        driver={"host": "192.0.2.1"},
        emulator={
            **QUIET,
            "port": 0,
            "script_port": 0,
            "realtime_port": None,
            "dashboard_port": 0,
            "gripper_port": None,
        },
        truth=motion,
        within=(1e-9,) * 12,
        samples=100,
        counts=True,
        nowhere=({"host": "127.0.0.1", "port": 9}, r"tcp 127.0.0.1:9: .*; check that it is on"),
        wrong=(
            ({"version": (3, 15, 0, 0)}, r"rate_hz is 500, a controller of version 3 sends at most 125 Hz"),
        ),
        derived=("device.current", "device.wrench", "device.temperature", "device.played"),
        axes=tuple(f"joint{i}" for i in range(1, 7)),
        posture=(0.3, -1.2, 0.5, 0.1, -0.2, 0.7),
    ),
    "ros2": Case(
        driver={
            "state_hz": 500.0,
            "effort": "torque",
            "axes": {"joint2": {"name": "elbow"}},
            "discovery_s": 1.0,
        },
        emulator={"state_hz": 500.0, "names": ("joint1", "elbow")},
        truth=motion,
        within=(1e-9,) * 4,
        derived=("device.torque", "device.played"),
        samples=240,
        counts=True,
        nowhere=(
            {"domain": 231, "interface": "lo", "discovery_s": 0.3},
            r"ROS domain 231 through lo: nobody publishes /joint_states within 0.3 s",
        ),
        wrong=(
            (
                {"names": ("joint1", "joint2")},
                r"/joint_states tells nothing of elbow; it has finger_joint1, ",
            ),
            ({"effort": False}, r"/joint_states tells no effort, but `effort: torque` is set"),
            (
                {"state_hz": 250.0},
                r"state_hz is 500 in the rig's file, but the stamps of /joint_states are 4 ms apart",
            ),
            ({"reliable": False}, r"/joint_states is published with another quality of service"),
            ({"sim_time": True}, r"somebody publishes /clock, so that stamps are of simulated time"),
        ),
    ),
    "robotiq_urcap": Case(
        driver={"host": "192.0.2.1", "rate_hz": 60.0},
        emulator={"port": 0},
        truth=gripper,
        patient={"timeout_s": 2.0, "answer_s": 0.03},
        within=(1e-3, 0.02, 0.1),
        samples=20,
        nowhere=({"host": "127.0.0.1", "port": 9}, r"tcp 127.0.0.1:9: .*; check that it is on"),
        bits=0x0E,
    ),
    "cia402": Case(
        driver={
            "axes": {
                "joint1": {"node": 1, "counts_per_turn": 524288, "rated_current": 8.0, "serial": 1001},
                "joint2": {"node": 2, "counts_per_turn": -200_000, "zero": 5000, "rated_current": 4.0},
            },
        },
        emulator={"interface": "virtual", "nodes": CIA402_NODES},
        truth=motion,
        within=(1.3e-5, 3.2e-5, 2e-5, 4e-5),
        derived=("device.current", "device.played"),
        samples=40,
        nowhere=(
            {"interface": "virtual", "channel": "nobody"},
            r"no answer to SDO from node 1 \(joint1\), node 2 \(joint2\)",
        ),
        wrong=(
            ({"nodes": (CIA402_NODES[0], {"node": 3})}, r"no answer to SDO from node 2 \(joint2\)"),
            (
                {"nodes": ({**CIA402_NODES[0], "serial": 7}, CIA402_NODES[1])},
                r"node 1 \(joint1\) has serial number 7, the rig's file says 1001",
            ),
            (
                {"nodes": ({**CIA402_NODES[0], "rated_current": 9.0}, CIA402_NODES[1])},
                r"rated_current is 8 A in the rig's file, but the drive says 9 A",
            ),
            (
                {"nodes": ({**CIA402_NODES[0], "counts_per_turn": 65536}, CIA402_NODES[1])},
                r"counts_per_turn is 524288 units in the rig's file, but the drive says 65536",
            ),
            ({"nodes": CIA402_NODES, "profile": 406}, r"node 1 \(joint1\) follows CiA 406, not CiA 402"),
        ),
    ),
    "cia406": Case(
        driver={"encoders": ENCODERS, "rate_hz": 200.0},
        emulator={"interface": "virtual", "encoders": ENCODERS},
        truth=positions,
        within=(1.3e-5, 3e-5),
        samples=40,
        nowhere=(
            {"interface": "virtual", "channel": "nobody"},
            r"no answer to SDO from node 11 \(joint1\), node 12 \(joint2\)",
        ),
        wrong=(
            (
                {"encoders": {**ENCODERS, "joint1": {"node": 11, "counts_per_turn": 4096}}},
                r"counts_per_turn is 262144 in the rig's file, but the encoder says 4096 \(6001\)",
            ),
            (
                {"encoders": {**ENCODERS, "joint2": {**ENCODERS["joint2"], "range": 36000}}},
                r"range is 360000 in the rig's file, but the encoder says 36000 \(6002\)",
            ),
            ({"profile": 402}, r"node 11 \(joint1\) follows CiA 402, not CiA 406"),
        ),
        bits=1,
    ),
    "odrive_can": Case(
        driver={
            "axes": {"joint1": {"node": 3, "gear": 8.0}, "joint2": {"node": 5, "gear": -6.0, "zero": 1.25}},
            "rate_hz": 100.0,
        },
        emulator={
            "interface": "virtual",
            "nodes": ({"node": 3, "gear": 8.0}, {"node": 5, "gear": -6.0, "zero": 1.25}),
        },
        truth=aged_motion,
        within=(1e-6, 1e-6, 1e-6, 1e-6, 0.05, 0.05),
        derived=("device.current", "device.played"),
        samples=40,
        nowhere=(
            {"interface": "virtual", "channel": "nobody"},
            r"CAN virtual nobody: every axis is silent for more than",
        ),
        wrong=(
            ({"nodes": ({"node": 3}, {"node": 6})}, r"node 5 \(joint2\) is silent for more than"),
            ({"firmware": "0.5"}, r"does not tell its version within 0.5 s; is it firmware 0.5\?"),
        ),
    ),
    "mit_can": Case(
        driver={
            "axes": {
                "joint1": {"model": "AK80-9", "motor": 1, "kp": 100, "kd": 2},
                "joint2": {
                    "model": "DM8009",
                    "motor": 2,
                    "reply": 0x12,
                    "direction": -1,
                    "zero": 0.5,
                    "kp": 50,
                    "kd": 1,
                    "serial": 77,
                },
            },
            "rate_hz": 200.0,
        },
        emulator={
            "interface": "virtual",
            "motors": (
                {"model": "AK80-9", "motor": 1},
                {"model": "DM8009", "motor": 2, "direction": -1, "zero": 0.5, "serial": 77},
            ),
        },
        truth=aged_motion,
        within=(4e-4, 4e-4, 0.025, 0.023, 0.05, 0.05),
        derived=("device.torque", "device.played"),
        samples=40,
        nowhere=(
            {"interface": "virtual", "channel": "nobody"},
            r"motor 2 \(joint2\) does not tell register 21, asked 3 times",
        ),
        wrong=(
            (
                {
                    "motors": (
                        {"model": "AK80-9", "motor": 1},
                        {"model": "DM8009", "motor": 2, "serial": 77, "limits": (12.5, 45.0, 40.0)},
                    )
                },
                r"the range of torque is 54 N m in the rig's file, but the motor says 40 N m",
            ),
            (
                {"motors": ({"model": "AK80-9", "motor": 1}, {"model": "DM8009", "motor": 2, "serial": 5})},
                r"motor 2 \(joint2\) has serial number 5, the rig's file says 77",
            ),
            ({"control_mode": 2}, r"motor 2 \(joint2\) is in control mode 2, expected 1"),
        ),
    ),
    "moteus": Case(
        driver={
            "axes": {
                "joint1": {"number": 1, "serial": "00000001-01000001-02000001"},
                "joint2": {"number": 9, "gear": -2.0, "zero": 0.25},
            },
            "rate_hz": 200.0,
        },
        emulator={
            "interface": "virtual",
            "controllers": ({"number": 1}, {"number": 9, "gear": -2.0, "zero": 0.25}),
        },
        truth=aged_motion,
        within=(1e-6, 1e-6, 1e-6, 1e-6, 0.05, 0.05),
        derived=("device.current", "device.played"),
        samples=40,
        nowhere=(
            {"interface": "virtual", "channel": "nobody"},
            r"no answer from controller 1 \(joint1\), controller 9 \(joint2\) within 0.5 s",
        ),
        wrong=(
            ({"controllers": ({"number": 1}, {"number": 8})}, r"no answer from controller 9 \(joint2\)"),
            (
                {"controllers": ({"number": 1, "serial": 5}, {"number": 9})},
                r"controller 1 \(joint1\) has serial number 00000005-01000005-02000005, the rig's file says",
            ),
        ),
    ),
}
