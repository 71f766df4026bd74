"""A rig's file: one robot and the devices around it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import (
    BaseModel,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from heft.daq.bus.endpoint import Endpoint
from heft.daq.config.broker import BrokerConfig
from heft.daq.config.reader import Label, Model, Name, explain, read
from heft.daq.config.robot import RobotConfig, load_robot
from heft.daq.config.scene import SceneConfig
from heft.daq.config.shipped import locate
from heft.daq.errors import BusError, ConfigError
from heft.daq.trajectory.limits import Brake, Limits
from heft.drivers.errors import OptionError
from heft.drivers.registry import KINDS, Transport, driver_options, emulator_options, moves_axes

__all__ = ["DeviceConfig", "EmulationConfig", "RigConfig", "TwinConfig", "load_rig"]

MOST_DEVICES = 100


class DeviceConfig(Model):
    """One device: its kind, the options that its driver understands, and the joints that it measures or moves.

    `joints` None: all of the robot's.
    """

    kind: str
    options: BaseModel
    joints: tuple[str, ...] | None = None

    @property
    def port(self) -> tuple[str, ...] | None:
        """What the device claims for itself alone, None where nothing is exclusive."""
        keys = KINDS[self.kind].port
        return (
            (KINDS[self.kind].transport, *(str(getattr(self.options, key)) for key in keys)) if keys else None
        )

    @property
    def address(self) -> tuple[str, ...] | None:
        """The wire that it is on, as every process of this host names it; None where there is none."""
        if KINDS[self.kind].simulated or getattr(self.options, "interface", "") == "virtual":
            return None
        if self.port is not None:
            transport, *where = self.port
            return (transport, *(os.path.realpath(part) if part.startswith("/") else part for part in where))
        keys = ("interface", "channel", "multicast_port")
        found = (getattr(self.options, key, None) for key in keys)
        return (Transport.CAN.value, *(str(part) for part in found if part is not None))


class EmulationConfig(Model):
    """Devices that an emulator stands in for: the emulators' options by device, and faults on their wires."""

    devices: dict[str, BaseModel]
    faults: tuple[BaseModel, ...] = ()


class _EmulationFile(Model):
    """The section as written; options are still plain mappings."""

    devices: dict[str, dict[str, Any] | None] = Field(min_length=1)
    faults: tuple[dict[str, Any], ...] = ()


class TwinConfig(Model):
    """What a rehearsal should know of the rig beside its devices' own options (`heft.daq.twin`).

    simulation   the plant, as of a simulated rig; None: the robot's file, perturbed within its `prior_spread`
    devices      options of simulated counterparts, by device: noise, delays
    """

    simulation: BaseModel | None = None
    devices: dict[str, dict[str, Any]] = Field(default_factory=dict)


class _TwinFile(Model):
    """The section as written."""

    simulation: dict[str, Any] | None = None
    devices: dict[str, dict[str, Any]] = Field(default_factory=dict)


class _RigFile(Model):
    """The file as written; devices are still plain mappings."""

    path: Path
    name: Label
    robot: Path
    devices: dict[Name, dict[str, Any]] = Field(min_length=1, max_length=MOST_DEVICES)
    simulation: dict[str, Any] | None = None
    emulation: _EmulationFile | None = None
    twin: _TwinFile = _TwinFile()  # what a rehearsal should know beside it
    cell: Annotated[Label, Field(pattern=r"^[^+#]*$")] = "cell"  # names this rig to the world outside
    # What leaves this machine, for peers with keys (docs/keys.md); on the loopback telemetry needs none.
    telemetry: str | None = None  # endpoint for observers, as tcp://*:5560; None: a private ipc one
    stop: str | None = None  # endpoint for those who may stop, beside the private one
    control: str | None = None  # endpoint for those who may send setpoints, beside the private one
    #: Why another master may speak to the drives of a CAN bus too. Only where there is nothing better.
    other_master: Annotated[str, Field(min_length=10)] | None = None
    mqtt: BrokerConfig | None = None  # where state and events of the cell are told, if anywhere
    scene: SceneConfig = SceneConfig()  # what stands around the arm here, beside what its own file says

    @field_validator("telemetry", "stop", "control")
    @classmethod
    def _an_endpoint(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        try:
            endpoint = Endpoint.parse(value)
        except BusError as exc:
            raise ValueError(str(exc)) from exc
        if info.field_name != "telemetry" and not endpoint.secured:
            raise ValueError(
                "who reaches it can move or stop the arm; give tcp://*:PORT or curve+tcp://HOST:PORT"
            )
        return str(endpoint)

    @model_validator(mode="after")
    def _kinds(self) -> Self:
        for name, device in self.devices.items():
            if "." in name:
                raise ValueError(f"devices.{name}: a device's name has no dot; rename it")
            if not isinstance(device.get("kind"), str):
                raise ValueError(f"devices.{name}: `kind` is missing; one of {', '.join(sorted(KINDS))}")
        return self


class RigConfig(Model):
    """A rig: the robot, its devices by name with validated options, and the simulated plant's options if it has one.

    `emulation` tells which devices are emulated on that plant: their real drivers then speak to emulators.
    """

    path: Path
    name: str
    cell: str
    telemetry: str | None
    outside: dict[str, str | None]  # further endpoints for peers with keys: `stop`, `control`
    mqtt: BrokerConfig | None
    robot: RobotConfig
    devices: dict[str, DeviceConfig]
    simulation: BaseModel | None = None
    emulation: EmulationConfig | None = None
    twin: TwinConfig = TwinConfig()
    other_master: str | None = None
    scene: SceneConfig = SceneConfig()  # the robot's, and what the rig adds

    def joints_of(self, device: str) -> tuple[str, ...]:
        """The joints that a device measures or moves, in the robot's order."""
        own = self.devices[device].joints
        return self.robot.axes if own is None else tuple(j for j in self.robot.axes if j in own)

    def place_of(self, device: str) -> str | None:
        """The frame in which a device measures: as the rig's file says, or the robot's by the device's name."""
        known = {name: place.frame for name, place in self.robot.wrench_sensors.items()}
        known |= {name: place.frame for name, place in self.robot.imu.items()}
        return getattr(self.devices[device].options, "frame", None) or known.get(device)

    @property
    def limits(self) -> Limits:
        """The joints' limits as arrays, and how the devices that move them brake."""
        joints = list(self.robot.joints.values())
        movers = [name for name, device in self.devices.items() if moves_axes(device.kind)]
        return Limits(
            axes=self.robot.axes,
            lower=np.array([j.position[0] for j in joints]),
            upper=np.array([j.position[1] for j in joints]),
            velocity=np.array([j.velocity for j in joints]),
            acceleration=np.array([j.acceleration for j in joints]),
            brakes=tuple(self._brake(name) for name in movers),
        )

    def _brake(self, device: str) -> Brake:
        """Of one device: the deceleration in its options, or that of the joints where it knows no other."""
        robot = self.robot
        places = [robot.axes.index(joint) for joint in self.joints_of(device)]
        axes = getattr(self.devices[device].options, "axes", None)
        coupling = None if robot.motor_coupling is None else robot.motor_coupling.part(places)
        deceleration = [
            (axes[robot.motors[k]].deceleration if axes and robot.motors[k] in axes else None)
            or list(robot.joints.values())[k].acceleration
            for k in places
        ]
        return Brake(np.array(places), np.array(deceleration), None if coupling is None else coupling.matrix)

    @property
    def simulated(self) -> bool:
        """Is every device simulated? Then time may be, too."""
        return all(KINDS[device.kind].simulated for device in self.devices.values())

    @property
    def real(self) -> tuple[str, ...]:
        """Devices that are neither simulated nor emulated: what they do, they do to the world."""
        emulated = {} if self.emulation is None else self.emulation.devices
        return tuple(
            name
            for name, device in self.devices.items()
            if not KINDS[device.kind].simulated and name not in emulated
        )


def load_rig(path: Path | str) -> RigConfig:
    """Read a rig's file, its robot's file and every device's options."""
    path = locate(path)
    raw = read(path, _RigFile)
    devices = {name: _device(path, name, dict(options)) for name, options in raw.devices.items()}
    _no_shared_ports(path, devices)
    robot = load_robot(locate(raw.robot, path.parent))
    _check_joints(path, devices, robot)
    simulation = None
    if raw.simulation is not None:
        from heft.drivers.sim.world import WorldOptions

        simulation = _options(path, "simulation", WorldOptions, raw.simulation)
    for number, fault in enumerate(getattr(simulation, "faults", ())):
        _target(f"{path}: simulation.faults.{number}", fault, devices, robot)
    if simulation is None and any(KINDS[d.kind].simulated for d in devices.values()):
        raise ConfigError(f"{path}: simulation: missing, but the rig has simulated devices; add this key")
    if simulation is None and raw.emulation is not None:
        raise ConfigError(f"{path}: simulation: missing, but the rig has emulated devices; add this key")
    emulation = None if raw.emulation is None else _emulation(path, raw.emulation, devices, robot)
    simulated = [name for name, device in devices.items() if KINDS[device.kind].simulated]
    if emulation is not None and simulated:
        raise ConfigError(
            f"{path}: devices.{simulated[0]}: simulated, but the rig has emulated devices, whose plant is in a process "
            "of their own; simulate all or none"
        )
    return RigConfig(
        path=path,
        name=raw.name,
        cell=raw.cell,
        telemetry=raw.telemetry,
        outside={"stop": raw.stop, "control": raw.control},
        mqtt=raw.mqtt,
        robot=robot,
        devices=devices,
        simulation=simulation,
        twin=_twin(path, raw.twin, devices),
        other_master=raw.other_master,
        scene=robot.scene.extended(raw.scene),
        emulation=emulation,
    )


def _twin(path: Path, raw: _TwinFile, devices: dict[str, DeviceConfig]) -> TwinConfig:
    for name in raw.devices:
        if name not in devices:
            raise ConfigError(
                f"{path}: twin.devices.{name}: there is no such device in this rig; one of {', '.join(devices)}"
            )
    simulation = None
    if raw.simulation is not None:
        from heft.drivers.sim.world import WorldOptions

        simulation = _options(path, "twin.simulation", WorldOptions, raw.simulation)
    return TwinConfig(simulation=simulation, devices=raw.devices)


def _device(path: Path, name: str, options: dict[str, Any]) -> DeviceConfig:
    kind, joints = options.pop("kind"), options.pop("joints", None)
    if joints is not None and not (isinstance(joints, list) and joints):
        raise ConfigError(
            f"{path}: devices.{name}.joints: give a list of the robot's joints, or leave it out"
        )
    try:
        model = driver_options(kind)
    except OptionError as exc:
        raise ConfigError(f"{path}: devices.{name}.{exc}") from exc
    checked = _options(path, f"devices.{name}", model, options)
    return DeviceConfig(kind=kind, options=checked, joints=None if joints is None else tuple(joints))


def _emulation(
    path: Path, raw: _EmulationFile, devices: dict[str, DeviceConfig], robot: RobotConfig
) -> EmulationConfig:
    """The emulators' options, each by the kind of its device."""
    from heft.drivers.emulators.wires.wire_faults import WireFault

    chosen: dict[str, BaseModel] = {}
    for name, options in raw.devices.items():
        if name not in devices:
            raise ConfigError(
                f"{path}: emulation.devices.{name}: there is no such device in this rig; one of {', '.join(devices)}"
            )
        try:
            model = emulator_options(devices[name].kind)
        except OptionError as exc:
            raise ConfigError(f"{path}: emulation.devices.{name}: {exc}") from exc
        chosen[name] = _options(path, f"emulation.devices.{name}", model, options or {})
        if getattr(chosen[name], "interface", "") == "virtual":
            raise ConfigError(
                f"{path}: emulation.devices.{name}.interface: virtual is a bus inside one process, and emulated "
                "devices have one of their own; leave it out"
            )
    faults: list[BaseModel] = []
    adapter: TypeAdapter[BaseModel] = TypeAdapter(WireFault)
    for number, fault in enumerate(raw.faults):
        try:
            faults.append(adapter.validate_python(fault))
        except ValidationError as exc:
            raise ConfigError(explain(path, exc, prefix=f"emulation.faults.{number}")) from exc
        _target(f"{path}: emulation.faults.{number}", faults[-1], devices, robot)
    return EmulationConfig(devices=chosen, faults=tuple(faults))


def _options(path: Path, key: str, model: type[BaseModel], options: dict[str, Any]) -> BaseModel:
    try:
        return model.model_validate(options)
    except ValidationError as exc:
        raise ConfigError(explain(path, exc, prefix=key)) from exc


def _target(where: str, fault: Any, devices: dict[str, DeviceConfig], robot: RobotConfig) -> None:
    """A fault that would happen to nobody is a mistake."""
    for key, known in (("device", devices), ("joint", robot.joints)):
        name = getattr(fault, key, None)
        if name is not None and name not in known:
            raise ConfigError(f"{where}.{key}: there is no {name!r} in this rig; one of {', '.join(known)}")
    own, joint = devices[fault.device].joints, getattr(fault, "joint", None)
    if own is not None and joint is not None and joint not in own:
        raise ConfigError(
            f"{where}.joint: {joint} is none of {fault.device}'s joints; one of {', '.join(own)}"
        )


def _check_joints(path: Path, devices: dict[str, DeviceConfig], robot: RobotConfig) -> None:
    """Devices name joints that there are; where there are drives, each joint has one, with all that its motor moves."""
    movers: dict[str, str] = {}
    for name, device in devices.items():
        where, joints = f"{path}: devices.{name}", device.joints or robot.axes
        for joint in joints:
            if joint not in robot.axes or joints.count(joint) > 1:
                what = "no joint of the robot" if joint not in robot.axes else "there twice"
                raise ConfigError(
                    f"{where}.joints: {joint} is {what}; name some of {', '.join(robot.axes)}, once each"
                )
        if not moves_axes(device.kind):
            continue
        for joint in joints:
            if joint in movers:
                raise ConfigError(
                    f"{where}: {joint} is moved by {movers[joint]} already; give each device its own `joints`"
                )
            movers[joint] = name
        coupling = robot.motor_coupling
        if coupling is not None and coupling.crosses([robot.axes.index(joint) for joint in joints]):
            raise ConfigError(
                f"{where}.joints: the robot's `coupling` ties a motor of these joints to others; "
                "joints that share a motor belong to one device"
            )
    if movers and (missing := [joint for joint in robot.axes if joint not in movers]):
        raise ConfigError(
            f"{path}: devices: nothing moves {', '.join(missing)}; add them to the `joints` of a device"
        )


def _no_shared_ports(path: Path, devices: dict[str, DeviceConfig]) -> None:
    owners: dict[tuple[str, ...], str] = {}
    for name, device in devices.items():
        if device.port is None:
            continue
        if device.port in owners:
            raise ConfigError(
                f"{path}: devices.{name}: {' '.join(device.port)} is already used by `{owners[device.port]}`; "
                "give each device its own port"
            )
        owners[device.port] = name
