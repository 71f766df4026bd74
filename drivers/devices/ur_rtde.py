"""Universal Robots arms: read over RTDE, moved by a program that Heft sends and feeds through RTDE's input registers.

The arm is read without any claim on it. Arming sends a program (`heft.drivers.codecs.ur_script`) that follows setpoints
by `servoj` at the controller's rate and stops the arm by itself where no more come; disarming ends it, and the
controller holds the arm. See docs/devices/ur_rtde.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

from heft.drivers.codecs import ur_rtde as codec
from heft.drivers.codecs.ur_rtde import (
    MOVABLE,
    Package,
    Recipe,
    RobotMode,
    RuntimeState,
    SafetyMode,
    Type,
    mode_name,
)
from heft.drivers.codecs.ur_script import END, EXPIRED, FOLLOW, STATE, ServoProgram, load_program
from heft.drivers.devices.base.wrench_stream import wrench_stream
from heft.drivers.devices.bus.following_drives import AxisOptions, FollowingDrives
from heft.drivers.devices.ur_rtde_client import ANSWER_S, ProgramLine, RtdeClient, ask_dashboard
from heft.drivers.devices.ur_rtde_options import E_SERIES_HZ, UrOptions
from heft.drivers.devices.ur_rtde_rows import PackageRows, Part
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import (
    CommandError,
    ConnectError,
    DeviceFault,
    DriverError,
    OptionError,
    ProtocolError,
)
from heft.drivers.flange_load import FlangeLoad
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.tcp import TcpLine
from heft.drivers.transports.transport import Address, Chunk, Transport

__all__ = ["UrOptions", "UrRtde"]

_JOINTS = 6
_CB3_HZ = 125.0
_TEMPERATURE_HZ = 20.0
_SWITCH_S = 2.0  # in which a program begins, or ends
_FULL_SPEED = 0.999  # below it the controller follows later than it is told
_NAMES = (
    "timestamp",
    "actual_q",
    "actual_qd",
    "actual_current",
    "joint_temperatures",
    "robot_mode",
    "safety_mode",
    "runtime_state",
    "speed_scaling",
    "target_speed_fraction",
    STATE,
)
# Places of a package's values.
_POSITIONS, _VELOCITIES, _CURRENTS, _HEAT = slice(1, 7), slice(7, 13), slice(13, 19), slice(19, 25)
_MODES, _WRENCH = slice(25, 31), slice(31, 37)
_LOAD = ("payload", "payload_cog", "payload_inertia")


class UrRtde(FollowingDrives[UrOptions, Chunk, bytes]):
    """Yields `NAME.motion` (6 positions, 6 velocities), `.current`, `.wrench`, `.temperature` and `.played`."""

    Options: ClassVar[type[UrOptions]] = UrOptions
    CHECK = "check its power, its address, and that RTDE is allowed in its settings (Services)"

    def __init__(self, name: str, options: UrOptions, context: Context) -> None:
        if len(context.axes) != _JOINTS:
            raise OptionError(
                f"{name}: the robot has {len(context.axes)} joints, this arm has {_JOINTS}; is it the right file?"
            )
        self._names = (*_NAMES, "ft_raw_wrench") if options.wrench else _NAMES
        super().__init__(name, options, context, [AxisOptions(deceleration=options.deceleration)] * _JOINTS)
        self._parser = codec.Parser()
        self._recipe: Recipe | None = None
        self._answers: list[Package] = []  # to what was asked last
        self._asked: int | None = None
        self._streaming = False
        self._version = 0
        self._modes: tuple[float, ...] = (0, 0, 0, 0.0, 0.0, 0)  # as last told, in the order of `_MODES`
        self._program: ProgramLine | None = None
        self._number = 0  # of the program that is to run; 0: none
        self._command = END
        self._arming = False

    def _make_assembler(self) -> PackageRows:
        o, axes = self.options, self.names
        timed: dict[str, Any] = {"tick_hz": float(codec.TICK_HZ), "tick_bits": codec.TICK_BITS}
        motion = [Column(axis, "position", "rad") for axis in axes]
        motion += [Column(axis, "velocity", "rad/s") for axis in axes]
        currents = tuple(Column(axis, "current", "A") for axis in axes)
        every = max(1, round(o.rate_hz / _TEMPERATURE_HZ))
        celsius = tuple(Column(axis, "temperature", "K", offset=273.15, raw_unit="deg C") for axis in axes)
        heat = Stream(f"{self.name}.temperature", celsius, o.rate_hz / every, **timed)
        parts = [
            Part(Stream(f"{self.name}.motion", tuple(motion), o.rate_hz, **timed), slice(1, 13)),
            Part(Stream(f"{self.name}.current", currents, o.rate_hz, **timed), _CURRENTS),
            Part(heat, _HEAT, every),
        ]
        if o.wrench:
            wrench = wrench_stream(
                self.name,
                rate_hz=o.rate_hz,
                scale=(1.0, 1.0),
                dtype="<f8",
                frame=o.frame,
                reaction=o.reaction,
                raw_units=("N", "N m"),
                tick_hz=codec.TICK_HZ,
                tick_bits=codec.TICK_BITS,
            )
            parts.insert(2, Part(wrench, _WRENCH))
        return PackageRows(parts, o.rate_hz, self._block, self._publish)

    def _make_link(self) -> Transport[Chunk, bytes]:
        return TcpLine(self.name, self.clock, remote=self._address(self.options.port))

    def _address(self, port: int) -> Address:
        return (self.options.host, port)

    # -- set-up -------------------------------------------------------------------------------------------------------

    async def _connect(self) -> Identity:
        self._parser.reset()
        self._answers, self._asked, self._streaming, self._recipe = [], None, False, None
        self._number, self._command = 0, END
        return Identity("Universal Robots", "RTDE controller")

    async def _start(self) -> None:
        o, where = self.options, self._link.where
        if not (await self._ask(codec.version_request())).accepted:
            raise ConnectError(
                self.name, f"{where}: refuses RTDE version {codec.VERSION}; update its software"
            )
        version = (await self._ask(Package(Type.CONTROLLER_VERSION))).numbers("4I")
        self._version = version[0]
        fastest = E_SERIES_HZ if version[0] >= 5 else _CB3_HZ
        if o.rate_hz > fastest:
            raise ConnectError(
                self.name,
                f"{where}: rate_hz is {o.rate_hz:g}, a controller of version {version[0]} sends at most "
                f"{fastest:g} Hz",
            )
        answer = await self._ask(codec.setup_outputs(self._names, o.rate_hz))
        try:
            self._recipe = Recipe.decode(answer, self._names)
        except ProtocolError as exc:
            raise ConnectError(
                self.name, f"{where}: {exc}; an arm without a sensor in its flange wants `wrench: false`"
            ) from exc
        self._parser.data_bytes = self._recipe.size
        self._streaming = True
        self._assembler.skip(0)
        if not (await self._ask(Package(Type.START))).accepted:
            raise ConnectError(self.name, f"{where}: refuses to start; {self.CHECK}")
        firmware = ".".join(map(str, version))
        self._identity = Identity("Universal Robots", "RTDE controller", firmware=firmware)
        await super()._start()

    async def _ask(self, package: Package) -> Package:
        """The answer to a package; messages and data that come in between are left out."""
        self._answers.clear()
        self._asked = package.type
        await self._link.send(package.encode())
        answered = await self._until(lambda: bool(self._answers), ANSWER_S)
        self._asked = None
        if not answered:
            if isinstance(self._failure, DriverError):
                raise self._failure
            raise ConnectError(
                self.name,
                f"{self._link.where}: no answer to RTDE package {package.type:#04x} within {ANSWER_S:g} s; "
                f"{self.CHECK}",
            )
        return self._answers[0]

    async def _shut_down(self) -> None:
        await self._link.send(Package(Type.PAUSE).encode())

    async def _release(self) -> None:
        self._hang_up()
        self._streaming = False
        await super()._release()

    def _relative(self, axis: int) -> str | None:
        return None  # absolute encoders at the joints

    # -- what comes in ------------------------------------------------------------------------------------------------

    def _on_received(self, item: Chunk) -> None:
        skipped = self._parser.skipped
        for package in self._parser.feed(item.data):
            if package.type != Type.DATA:
                if package.type == self._asked:  # what it says unasked, day and night, is not kept
                    self._answers.append(package)
            elif self._recipe is not None and self._streaming:
                try:
                    values = self._recipe.unpack(package)
                except ProtocolError:
                    self.counters.corrupt += 1
                    continue
                self._on_values(values, item.host_ns)
        self.counters.corrupt += self._parser.skipped > skipped

    def _on_values(self, values: Sequence[Any], host_ns: int) -> None:
        assert isinstance(self._assembler, PackageRows)
        self._raw_position = list(values[_POSITIONS])
        self._raw_velocity = list(values[_VELOCITIES])
        self._modes = tuple(values[_MODES])
        if self._assembler.put(values, host_ns):
            self._missed = [0] * _JOINTS
            self._heard_ns = [host_ns] * _JOINTS
            self._reported.update(range(_JOINTS))
        if self._number and not self._arming and self._failure is None:
            doubt = self._doubt()
            if doubt is not None:
                self._report_fault(DeviceFault(self.name, doubt))

    def _doubt(self) -> str | None:
        """Why the program does not move the arm as it should, or None."""
        *_, state = self._modes
        doubt = self._unmovable()
        if doubt is not None:
            return doubt
        if state == EXPIRED:
            return (
                f"the watchdog of its program has stopped the arm: no setpoint came for {self.options.watchdog_s:g} s "
                "(watchdog_s); look for what blocks this host or the network, then arm again"
            )
        if state != self._number or self._modes[2] != RuntimeState.PLAYING:
            told = mode_name(RuntimeState, int(self._modes[2]))
            return (
                f"its program has ended (runtime state {told}): stopped at the pendant, by another program, or by the "
                "controller's own watchdog; see its log, then arm again"
            )
        return None

    def _unmovable(self) -> str | None:
        """Why the arm may not move, or None."""
        robot, safety, _, scaling, slider, _ = self._modes
        if robot != RobotMode.RUNNING:
            return f"the arm is not running: robot mode {mode_name(RobotMode, int(robot))}; switch it on at the pendant"
        if safety not in MOVABLE:
            return (
                f"safety mode {mode_name(SafetyMode, int(safety))}: the arm may not move; clear the cause at the "
                "pendant, then arm again"
            )
        if min(slider, scaling) < _FULL_SPEED:
            return (
                f"speed slider at {slider:.0%}, speed scaled to {scaling:.0%}: the arm would follow later than it is "
                "told; set it to 100 % (setpoints are checked against the robot's file)"
            )
        return None

    # -- the cycle ----------------------------------------------------------------------------------------------------

    async def _exchange(self, due_ns: int) -> None:
        if self._streaming:
            self._missed = [missed + 1 for missed in self._missed]
            self._check_silence()
        reference = self._follow(due_ns)
        if self._program is not None:
            await self._feed()
        self._played.add(self._cycle, reference.tolist(), self.clock.now_ns())
        self._cycle += 1

    @property
    def _cycle_hz(self) -> float:
        return self.options.command_hz or self.options.rate_hz

    async def _feed(self) -> None:
        program, reference = self._program, self._follower.reference.tolist()
        if program is None:
            return
        with suppress(DriverError):  # told below, or by the silence of the other line
            await program.feed(reference[:_JOINTS], reference[_JOINTS : 2 * _JOINTS], self._command)
        if program.lost and self._number and self._failure is None:
            self._report_fault(
                DeviceFault(self.name, f"the line that feeds its program is gone; {self.CHECK}")
            )

    # -- on and off ---------------------------------------------------------------------------------------------------

    async def _enable(self) -> None:
        doubt = self._unmovable()
        if doubt is not None:
            raise CommandError(self.name, doubt)
        if self._modes[2] != RuntimeState.STOPPED:
            raise CommandError(
                self.name,
                f"a program is there (runtime state {mode_name(RuntimeState, int(self._modes[2]))}), and Heft's would "
                "end it; stop it at the pendant",
            )
        await self._require_remote()
        o = self.options
        program = self._program_line()
        try:
            await program.open()
            self._number = 1 + self.clock.now_ns() // 1_000_000 % 2_000_000_000
            self._command, self._arming, self._program = FOLLOW, True, program
            await self._feed()  # where the arm is, before the program looks
            own_hz = E_SERIES_HZ if self._version >= 5 else _CB3_HZ
            text = ServoProgram(
                self._number,
                watchdog_s=o.watchdog_s,
                step_s=1.0 / own_hz,
                bridged=round(o.catch_up * own_hz / self._cycle_hz),
                lookahead_s=o.lookahead_s,
                gain=o.gain,
                deceleration=float(self.deceleration.min()),
            ).text
            await program.start(text)
            await self._until(lambda: self._doubt() is None or self._failure is not None, _SWITCH_S)
        except BaseException:
            program.close()
            self._number = 0
            raise
        finally:
            self._arming = False
        if isinstance(self._failure, DriverError):
            raise self._failure
        self._require_bus()
        doubt = self._doubt()
        if doubt is not None:
            raise DeviceFault(
                self.name,
                f"{self._link.where}: its program does not run {_SWITCH_S:g} s after it was sent ({doubt}); is the "
                "controller in remote control, and is its script port open?",
            )

    def _program_line(self) -> ProgramLine:
        o = self.options
        return ProgramLine(self.name, self.clock, self._address(o.port), self._address(o.script_port))

    async def _require_remote(self) -> None:
        """CommandError unless remote control is chosen; a CB3 has no such choice, PolyScope X no dashboard to ask."""
        port = self.options.dashboard_port
        if port is None or not 5 <= self._version < 10:
            return
        said = await ask_dashboard(self.name, self.clock, self._address(port), "is in remote control")
        if said.lower() != "true":
            raise CommandError(
                self.name,
                f"the controller is not in remote control (its dashboard says {said!r}): it takes no program; choose "
                "remote control at the pendant",
            )

    async def _disable(self) -> None:
        self._number, self._command = 0, END
        ended = await self._until(lambda: self._modes[2] != RuntimeState.PLAYING, _SWITCH_S)
        self._hang_up()  # without beats its watchdog ends it in any case
        if not ended:
            self._require_bus()
            raise DeviceFault(
                self.name,
                f"its program still runs {_SWITCH_S:g} s after it was told to end; stop it at the pendant",
            )

    def _hang_up(self) -> None:
        program, self._program = self._program, None
        self._number = 0
        if program is not None:
            program.close()

    def _powered(self) -> bool:
        return bool(self._number) and self._doubt() is None

    def _holds_alone(self) -> bool:
        return True  # with or without a program

    # -- the load -----------------------------------------------------------------------------------------------------

    async def load(self) -> FlangeLoad:
        """The load that the controller reckons with, without its inertia where it does not tell it."""
        for names in (_LOAD, _LOAD[:2]):
            async with RtdeClient(self.name, self.clock, self._address(self.options.port)) as client:
                try:
                    mass, *rest = await client.read(names)
                except ProtocolError as exc:
                    if len(names) == 2:
                        raise CommandError(self.name, f"does not tell its load: {exc}") from exc
                    continue
                com, inertia = tuple(rest[:3]), tuple(rest[3:])
                return FlangeLoad(mass, com, inertia if len(inertia) == 6 else None)
        raise CommandError(self.name, "does not tell its load")

    async def set_load(self, load: FlangeLoad) -> None:
        """By a secondary program, which leaves the one that moves the arm alone; then read it back."""
        await self._require_remote()
        async with TcpLine(self.name, self.clock, remote=self._address(self.options.script_port)) as line:
            await line.send(load_program(load).encode("ascii"))
            give_up_ns = self.clock.now_ns() + round(ANSWER_S * 1e9)
            while not _same(held := await self.load(), load):
                if self.clock.now_ns() > give_up_ns:
                    raise CommandError(
                        self.name,
                        f"{line.where}: the controller holds {held.mass:.4f} kg at {held.com}, not {load.mass:.4f} kg "
                        f"at {load.com}, {ANSWER_S:g} s after it was told; is it in remote control?",
                    )


def _same(held: FlangeLoad, load: FlangeLoad) -> bool:
    pairs = [(held.mass, load.mass), *zip(held.com, load.com, strict=True)]
    if held.inertia is not None and load.inertia is not None:
        pairs += zip(held.inertia, load.inertia, strict=True)
    return all(abs(a - b) < 1e-6 for a, b in pairs)
