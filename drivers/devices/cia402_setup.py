"""Setting up a CiA 402 drive: is it the right one, and does it do what the cycle relies on?"""

from __future__ import annotations

from dataclasses import dataclass

from heft.drivers.codecs.canopen import Function, NmtCommand, consumer_heartbeat
from heft.drivers.codecs.cia402 import RPDO1, Mode, QuickStop, interpolation_period
from heft.drivers.devices.bus.canopen_setup import CanopenSetup
from heft.drivers.devices.cia402_options import Cia402Axis, Cia402Options
from heft.drivers.driver import Identity
from heft.drivers.errors import ConnectError, ProtocolError

__all__ = ["Facts", "set_up"]

PROFILE = 402
_HEARTBEAT_MS = 100  # of the drive's own heartbeat
_CSP_SUPPORTED = 1 << (Mode.CYCLIC_POSITION - 1)  # in object 6502


@dataclass(frozen=True, slots=True)
class Facts:
    """What set-up found: who answered, and which axes have no watchdog.

    `dropped` have no brake, and a drive that does not hold them after a quick stop.
    """

    identity: Identity
    unwatched: tuple[str, ...]
    dropped: tuple[str, ...]


def set_up(setup: CanopenSetup, options: Cia402Options) -> Facts:
    """All drives, in pre-operational state; ConnectError says which one is not as the rig's file says."""
    setup.command(NmtCommand.PRE_OPERATIONAL)
    setup.present()
    unwatched, dropped, serials = [], [], []
    for name, axis in options.axes.items():
        setup.profile(axis.node, PROFILE)
        serials.append(setup.serial(axis.node, axis.serial))
        _compare_units(setup, axis, options)
        _choose_mode(setup, axis.node, options)
        setup.announce_sync(axis.node, options.rate_hz)
        _map(setup, axis.node, options)
        if not _watch(setup, axis.node, options):
            unwatched.append(name)
        if not axis.brake and not _stay(setup, axis.node, options):
            dropped.append(name)
    node = next(iter(options.axes.values())).node
    identity = Identity(
        vendor=f"CANopen vendor {setup.number(node, 0x1018, 1) or 0:#x}",
        model=setup.text(node, 0x1008) or "CiA 402 drive",
        serial=", ".join(str(serial) for serial in serials if serial is not None),
        firmware=setup.text(node, 0x100A),
    )
    return Facts(identity, tuple(unwatched), tuple(dropped))


def _compare_units(setup: CanopenSetup, axis: Cia402Axis, options: Cia402Options) -> None:
    """Rated values, and the position unit where the drive reports it, are those of the rig's file."""
    for index, key, unit in ((0x6075, "rated_current", "A"), (0x6076, "rated_torque", "N m")):
        given = getattr(axis, key)
        actual = setup.number(axis.node, index) if given is not None else None
        # The profile counts thousandths; some drives (EPOS4) are said to count millionths of the torque.
        steps = (1e3, 1e6) if key == "rated_torque" else (1e3,)
        if actual is not None and all(abs(actual / step - given) > 0.01 * given for step in steps):
            raise _differs(setup, axis.node, key, given, actual / 1000, unit, f"{index:04X}")
    units = _units_per_turn(setup, axis.node) if options.verify_scale else None
    if units is not None and abs(units - abs(axis.counts_per_turn)) > 1e-6 * units:
        raise _differs(
            setup, axis.node, "counts_per_turn", axis.counts_per_turn, units, "units", "608F, 6091, 6092"
        )


def _units_per_turn(setup: CanopenSetup, node: int) -> float | None:
    """Position units for one turn of the driven shaft: the feed constant 6092, or encoder 608F times gear 6091."""
    feed = _ratio(setup, node, 0x6092)
    if feed is not None:
        return feed
    encoder, gear = _ratio(setup, node, 0x608F), _ratio(setup, node, 0x6091)
    return None if encoder is None or gear is None else encoder * gear


def _ratio(setup: CanopenSetup, node: int, index: int) -> float | None:
    above, below = setup.number(node, index, 1), setup.number(node, index, 2)
    return above / below if above and below else None


def _choose_mode(setup: CanopenSetup, node: int, options: Cia402Options) -> None:
    """Cyclic synchronous position, interpolated over one cycle."""
    supported = setup.number(node, 0x6502)
    if supported is not None and not supported & _CSP_SUPPORTED:
        raise ConnectError(
            setup.device,
            f"{setup.who(node)} has no cyclic synchronous position mode (6502 is {supported:#x}, bit 7 is not set)",
        )
    setup.require(node, 0x6060, 0, Mode.CYCLIC_POSITION, 1, "choose cyclic synchronous position mode")
    try:
        value, exponent = interpolation_period(round(1e6 / options.rate_hz))
    except ProtocolError as exc:
        raise ConnectError(setup.device, f"rate_hz {options.rate_hz:g}: {exc}; choose another rate") from exc
    if setup.write(node, 0x60C2, 1, value, 1):  # a drive without this object follows SYNC
        setup.require(node, 0x60C2, 2, exponent, 1, "set the interpolation period")


def _map(setup: CanopenSetup, node: int, options: Cia402Options) -> None:
    first, second = options.transmitted
    for function, pdo in ((Function.TPDO1, first), (Function.TPDO2, second), (Function.RPDO1, RPDO1)):
        setup.map_pdo(node, function, pdo)
    for function in (Function.TPDO3, Function.TPDO4):
        setup.silence(node, function)


def _watch(setup: CanopenSetup, node: int, options: Cia402Options) -> bool:
    """Let the drive watch this host's heartbeat; does it?"""
    setup.write(node, 0x1017, 0, _HEARTBEAT_MS, 2)
    wanted = consumer_heartbeat(options.host_node, round(options.watchdog_s * 1000))
    return (
        setup.write(node, 0x6007, 0, options.abort, 2)
        and setup.number(node, 0x6007, signed=True) == options.abort
        and setup.write(node, 0x1016, 1, wanted, 4)
        and setup.number(node, 0x1016, 1) == wanted
    )


def _stay(setup: CanopenSetup, node: int, options: Cia402Options) -> bool:
    """Let the drive hold its axis after a quick stop, also one of its watchdog's; does it?"""
    return (
        options.on_silence == "quick_stop"
        and setup.write(node, 0x605A, 0, QuickStop.STAY, 2)
        and setup.number(node, 0x605A, signed=True) == QuickStop.STAY
    )


def _differs(
    setup: CanopenSetup, node: int, key: str, given: float, actual: float, unit: str, source: str
) -> ConnectError:
    return ConnectError(
        setup.device,
        f"{setup.who(node)}: {key} is {given:g} {unit} in the rig's file, but the drive says {actual:g} {unit} "
        f"({source}); a wrong one is silently a wrong unit: correct the file or the drive",
    )
