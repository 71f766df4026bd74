"""The stop: hold, drives off, sensors off, in this order, whatever becomes of each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from heft.daq.clock import at_once
from heft.daq.motion.watch import Watch
from heft.daq.rig import Rig
from heft.drivers.clock import Clock
from heft.drivers.driver import Actuator, Driver
from heft.drivers.errors import DeviceLost

__all__ = ["halt"]

#: After the drives are off the recording goes on for so long, so that it shows the arm at rest ...
_AFTERMATH_NS = 100_000_000
#: ... and at most for so long, where this host still has to catch up with its devices.
_CATCH_UP_NS = 500_000_000
_LOOK_NS = 20_000_000
#: Of real time [s], besides what a stop takes: a device that does not come back from a command does not keep the
#: others from stopping.
_HANG_S = 5.0

Tell = Callable[[str, str], None]
Blame = Callable[[Exception], None]


async def halt(rig: Rig, clock: Clock, watch: Watch, tell: Tell, blame: Blame) -> None:
    """Bring every arm of the rig to rest and switch all off.

    Each step is tried whatever became of the one before. `tell(event, device)` hears of what is so: `hold` where the
    drives hold the arm at rest, `drives_off`, or `drives_holding` where they are left on, `sensor_off`. `blame` hears
    of a step that failed.
    """

    async def attempt(driver: Driver, what: str, action: Coroutine[Any, Any, None], seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await action
        except TimeoutError:
            message = f"{what}: no answer within {seconds:.1f} s; use the emergency stop"
            blame(DeviceLost(driver.name, message))
        except Exception as exc:
            blame(exc)
        else:
            return True
        return False

    async def hold(arm: Actuator) -> None:
        if await attempt(arm, "hold", arm.hold(), _HANG_S + arm.rest_bound_s) and arm.holding:
            tell("hold", arm.name)

    async def switch_off(arm: Actuator) -> None:
        done = await attempt(arm, "drives_off", arm.disarm(), _HANG_S + arm.rest_bound_s)
        if arm.holding:
            tell("drives_holding", arm.name)
        elif done:
            tell("drives_off", arm.name)

    if rig.actuators:
        await at_once(clock, [hold(arm) for arm in rig.actuators])
    for arm in rig.actuators:
        await switch_off(arm)
    await _see_it_rest(clock, watch)
    for driver in rig:
        watch.forget(driver.streams)  # one may take its time to stop, while the others are silent already
        if await attempt(driver, "sensor_off", driver.stop(), _HANG_S):
            tell("sensor_off", driver.name)


async def _see_it_rest(clock: Clock, watch: Watch) -> None:
    off_ns = clock.now_ns()
    await clock.sleep_until(off_ns + _AFTERMATH_NS)
    while watch.oldest_ns < off_ns + _AFTERMATH_NS // 2 and clock.now_ns() < off_ns + _CATCH_UP_NS:
        await clock.sleep_until(clock.now_ns() + _LOOK_NS)
