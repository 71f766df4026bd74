"""A design from its options to its files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from heft import __version__
from heft.daq.config.design_file import load_design
from heft.daq.config.reader import Model, read
from heft.daq.config.rig import RigConfig
from heft.daq.config.robot import RobotConfig
from heft.daq.config.scene import SceneConfig
from heft.daq.config.shipped import locate
from heft.daq.errors import ConfigError
from heft.daq.recording import Recording
from heft.daq.temporary import temporary_folder
from heft.daq.trajectory.fourier import FourierSeries
from heft.daq.trajectory.limits import Brake, Limits
from heft.daq.whole_file import write_whole
from heft.drivers.registry import moves_axes
from heft.identify.excitation.design import Design, design
from heft.identify.excitation.design_text import design_text
from heft.identify.excitation.given import given_information
from heft.identify.excitation.page import design_page
from heft.identify.excitation.request import NOISE, DesignRequest
from heft.identify.excitation.search import Candidate
from heft.identify.excitation.wrench_noise import imu_noise, wrench_noise
from heft.identify.result import Result, load

__all__ = ["design_request", "designed_files", "earlier_motions", "robot_limits", "search_motion", "told"]


#: Searches, where nobody says how many: for a payload the hand waits, and those of a free base's many joints are long.
STARTS = {"links": 12, "payload": 1}
STARTS_FREE = 2


class _Obstacles(Model):
    """A file with a scene alone."""

    path: Path
    scene: SceneConfig


def design_request(
    arguments: argparse.Namespace, config: RobotConfig, rig: RigConfig | None
) -> DesignRequest:
    """What the options ask for."""
    scene = config.scene if rig is None else rig.scene
    if arguments.obstacles is not None:
        scene = scene.extended(read(locate(arguments.obstacles), _Obstacles).scene)
    posture = arguments.posture
    if posture is not None and len(posture) != len(config.joints):
        raise ConfigError(f"--posture: {len(posture)} numbers, the robot has {len(config.joints)} joints")
    limits, fraction = robot_limits(config) if rig is None else rig.limits, arguments.fraction
    request = DesignRequest(
        config,
        scene,
        replace(limits, velocity=fraction * limits.velocity, acceleration=fraction * limits.acceleration),
        seconds=arguments.seconds,
        harmonics=arguments.harmonics,
        criterion=arguments.criterion,
        target=arguments.target,
        noise=None if rig is None or config.base == "free" else _rig_noise(rig),
        rate_hz=arguments.rate_hz,
        posture=None if posture is None else np.array(posture),
        seed=arguments.seed,
        starts=arguments.starts or (STARTS_FREE if config.base == "free" else STARTS[arguments.target]),
        budget_s=arguments.budget,
        measured=None if rig is None or config.base == "fixed" else _measured(rig),
    )
    if rig is not None and request.whole.tree.free and request.robot.sources:
        request = replace(request, noise=_free_noise(rig, request))
    if not arguments.given:
        return request
    request = given_information(request, arguments.given, _earlier)
    return replace(request, earlier=earlier_motions(arguments.given, config.axes))


def earlier_motions(given: Sequence[Path], axes: tuple[str, ...]) -> tuple[FourierSeries, ...]:
    """The designed motions in recordings, or in those that results were made of, where they lie beside these."""
    found: dict[bytes, FourierSeries] = {}
    for path in given:
        if path.suffix == ".mcap":
            recordings = [path]
        else:
            sources = dict.fromkeys(origin.source for origin in load(path).provenance.data)
            places = [place for name in sources for place in (path.parent / name, Path(name))]
            recordings = [place for place in places if place.suffix == ".mcap" and place.is_file()]
        for place in recordings:
            recording = Recording.open(place)
            for name in recording.attachments:
                if name.startswith("configuration/") and name.endswith((".yaml", ".yml")):
                    text = recording.attachment(name)
                    series = _series(text, axes)
                    if series is not None:
                        found.setdefault(text, series)
    return tuple(found.values())


def _series(text: bytes, axes: tuple[str, ...]) -> FourierSeries | None:
    """Of the file of a designed trajectory of these joints; None where it is anything else."""
    with temporary_folder() as folder:
        path = folder / "design.yaml"
        path.write_bytes(text)
        try:
            made = load_design(path)
        except ConfigError:
            return None
    given = made.fourier
    if given is None or made.joints != axes:
        return None
    return FourierSeries(np.array(given.a), np.array(given.b), np.array(given.q0), given.period_s)


def _earlier(path: Path) -> Result:
    """Of a result's file, or of a recording as `heft identify` would identify it."""
    if path.suffix != ".mcap":
        return load(path)
    from heft.identify.fit import identify_recordings  # takes long to load

    return identify_recordings([Recording.open(path)])


def robot_limits(config: RobotConfig) -> Limits:
    """The joints' limits; drives brake as hard as joints may accelerate, as one device."""
    joints = list(config.joints.values())
    acceleration = np.array([joint.acceleration for joint in joints])
    coupling = None if config.coupling is None else np.array(config.coupling)
    return Limits(
        config.axes,
        np.array([joint.position[0] for joint in joints]),
        np.array([joint.position[1] for joint in joints]),
        np.array([joint.velocity for joint in joints]),
        acceleration,
        (Brake(np.arange(len(joints)), acceleration, coupling),),
    )


def _rig_noise(rig: RigConfig) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Of simulated drives, whose file says it [N m] (n,)."""
    for device in rig.devices.values():
        noise: Sequence[float] | float | None = getattr(device.options, "torque_noise", None)
        if device.kind == "sim_drives" and noise is not None:
            return np.broadcast_to(np.asarray(noise, dtype=np.float64), (len(rig.robot.joints),)).copy()
    return None


def _measured(rig: RigConfig) -> tuple[str, ...]:
    """What a rig's devices measure of a robot with a free base: wrenches, and torques where its drives tell current."""
    drives = [one for one in rig.devices.values() if moves_axes(one.kind)]
    torques = any(getattr(one.options, "reports_current", True) for one in drives)
    return (
        *(("joints",) if torques else ()),
        *(name for name in rig.robot.wrench_sensors if name in rig.devices),
    )


def _free_noise(rig: RigConfig, request: DesignRequest) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Of every measured row, as much at the design's rate as simulated devices say that they have at their own."""

    def at_rate(name: str, key: str) -> float | None:
        options: Any = rig.devices[name].options
        value = getattr(options, key, None)
        return None if value is None else float(value) * float(np.sqrt(request.rate_hz / options.rate_hz))

    robot = request.robot
    torques = _rig_noise(rig)
    sensors: dict[str, tuple[float, float]] = {}
    for name in robot.sources or ():
        if name in rig.devices:
            force, torque = at_rate(name, "force_noise"), at_rate(name, "torque_noise")
            if force is not None and torque is not None:
                sensors[name] = force, torque
    wrenches = wrench_noise(robot, sensors)
    for name in robot.imus:
        if name in rig.devices:
            gyro, accelerometer = at_rate(name, "gyro_noise"), at_rate(name, "accelerometer_noise")
            if gyro is not None and accelerometer is not None:
                middle = 0.5 * (request.limits.lower + request.limits.upper)
                wrenches = np.hypot(wrenches, imu_noise(robot, middle, name, gyro, accelerometer))
    if torques is None:
        torques = NOISE * np.array([joint.torque for joint in rig.robot.joints.values()])
    return np.concatenate([torques, wrenches])[robot.measured_rows]


def search_motion(request: DesignRequest, family: str) -> Design:
    """The best motion, with a line of progress on standard error."""
    best = np.inf

    def tell(candidate: Candidate) -> None:
        nonlocal best
        if candidate.value < best:
            best = candidate.value
            what = "proved" if candidate.proved else "so far"
            sys.stderr.write(
                f"start {candidate.start}, iteration {candidate.iterations}: {_shown(request, best)} {what}\n"
            )
            sys.stderr.flush()

    if family != "fourier":
        from heft.identify.excitation.chain import design_chain

        return design_chain(request, dwell=family == "poses", tell=tell)
    return design(request, tell)


def _shown(request: DesignRequest, value: float) -> str:
    if request.criterion == "condition":
        return f"condition number {np.exp(value):.1f}"
    if request.criterion == "worst":
        return f"worst relative deviation per sample {np.exp(value):.3g}"
    return f"criterion {value:.3f}"


def designed_files(made: Design, out: Path, page: Path) -> None:
    """Write the trajectory and its page, whole or not at all."""
    for path, text in ((out, design_text(made, __version__)), (page, design_page(made))):
        write_whole(path, text.encode())


def told(made: Design) -> dict[str, Any]:
    """The design as JSON values."""
    worst, request = made.worst_limit, made.request
    hardest = int(np.nanargmax(made.telling.relative))
    return {
        "robot": request.config.name,
        "criterion": request.criterion,
        "for": request.target,
        "seconds": request.seconds,
        "condition_number": made.condition_number,
        "wall_seconds": made.wall_seconds,
        "limits_ok": made.limits_ok,
        "worst_limit": {
            "joint": worst.joint,
            "quantity": worst.quantity,
            "value": worst.value,
            "bound": worst.bound,
            "share": worst.share,
        },
        "closest_approach": {"between": str(made.closest), "distance_m": made.closest.distance}
        if request.config.excitation.collisions and np.isfinite(made.closest.distance)
        else None,
        **_base(made),
        "condition_comes_from": {
            "parameters": made.telling.weakest.parameters,
            "without_them": made.telling.weakest.without,
            "columns_of_equal_length": made.telling.weakest.balanced,
            "why": made.telling.weakest.why(made.condition_number),
        },
        "hardest": {"name": made.telling.names[hardest], "std": float(made.telling.std[hardest])},
        "expected_std": dict(zip(made.telling.names, made.telling.std.tolist(), strict=True)),
        "random": {
            "condition_number": made.before.condition_number,
            "median_std_ratio": float(np.median(made.before.std / made.telling.std)),
        },
    }


def _base(made: Design) -> dict[str, Any]:
    """What holds a free base, and how far its centre of pressure stays inside its soles [m]; of a fixed one nothing."""
    support, balance = made.request.support, made.request.balance
    if support is None:
        return {}
    room = None if balance is None else float(balance.room(*made.motion).min())
    return {"base": {"rests_on": list(support.feet), "balance_m": room}}
