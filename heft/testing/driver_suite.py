"""One suite for all drivers: each is run against its emulator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, ClassVar, cast

import numpy as np
import pytest

from heft.daq.stamps.ticks import Unwrapper
from heft.drivers.block import Block, Validity
from heft.drivers.devices.bus.following_drives import FollowingDrives
from heft.drivers.driver import Actuator, Driver
from heft.drivers.emulators.wires.can_wire import CanWire
from heft.drivers.emulators.wires.wire_faults import BusOff, Status, Truncate
from heft.drivers.errors import ConnectError, DeviceLost
from heft.drivers.plant.faults import Burst, Corrupt, Drop, Duplicate, Late, Saturate, Silence, Stuck
from heft.drivers.stream import Role
from heft.testing.cancellation import Interrupted
from heft.testing.case import Case
from heft.testing.stand import Held, Stand, stand, take

__all__ = ["DriverSuite"]


def numbers(blocks: list[Block]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.arange(b.sequence, b.next_sequence) for b in blocks])


def stacked(blocks: list[Block], what: str) -> np.ndarray[Any, Any]:
    return np.concatenate([getattr(b, what) for b in blocks])


def assert_nothing_twice(blocks: list[Block]) -> None:
    """Numbers and times only go on; a counter never repeats."""
    assert (np.diff(numbers(blocks)) > 0).all()
    assert (np.diff(stacked(blocks, "host_ns")) >= 0).all()
    if blocks[0].ticks is not None:
        assert (np.diff(stacked(blocks, "ticks")) != 0).all()


async def work(make: Callable[[], Driver]) -> None:
    async with make() as driver, aclosing(cast(AsyncGenerator[Block], driver.__aiter__())) as blocks:
        async for block in blocks:
            if block.next_sequence > 1:
                break


class DriverSuite:
    """The tests; a subclass names a kind and its case, and pytest does the rest.

    kind   as in the rig's file: one of ours, or of an installed package
    case   what differs from other kinds
    """

    kind: ClassVar[str]
    case: ClassVar[Case]
    pytestmark: ClassVar[list[pytest.MarkDecorator]] = [pytest.mark.asyncio]

    def stand(self, **options: Any) -> AbstractAsyncContextManager[Stand]:
        """Put its emulator on the bench; options besides those of the case."""
        return stand(self.kind, self.case, **options)

    async def test_connects_identifies_and_streams_in_si_units(self) -> None:
        async with self.stand() as bench, bench.driver() as driver:
            identity = driver.identity
            assert identity.vendor
            assert identity.model
            taken = await take(driver, self.case.samples)
            for stream in driver.streams:
                blocks = taken[stream.name]
                assert blocks, stream.name
                assert all(b.stream is stream for b in blocks)
                gaps = int((np.diff(numbers(blocks)) - 1).sum())
                accounted = (
                    driver.counters.lost + driver.counters.skipped
                )  # a busy host may be too late for some
                assert gaps <= accounted, "a gap without a loss"
                assert_nothing_twice(blocks)
                assert (stacked(blocks, "validity") == Validity.OK).all()
            first = taken[driver.streams[0].name]
            for block in first:
                error = np.abs(block.si - self.case.truth(bench.plant, block))
                assert (error <= np.array(self.case.within)).all(), error.max(axis=0)
            counters = driver.counters
            counted = [blocks for stream, blocks in taken.items() if stream not in self.case.derived]
            assert counters.received == sum(len(block) for blocks in counted for block in blocks)
            assert counters.lost <= counters.skipped
            assert (counters.corrupt, counters.duplicate) == (0, 0)
            assert counters.late == 0

    async def test_what_moves_tells_the_setpoints_in_force_of_every_axis(self) -> None:
        async with self.stand() as bench:
            driver = bench.elsewhere()
            if isinstance(driver, Actuator):
                [played] = [stream for stream in driver.streams if stream.role is Role.PLAYED]
                assert [played.columns[i].of for i in played.indices("position")] == list(driver.axes)

    async def test_a_second_stream_shows_nothing_of_the_first(self) -> None:
        async with self.stand() as bench, bench.driver() as driver:
            first = (await take(driver, 5))[driver.streams[0].name]
            stopped_ns = bench.clock.now_ns()
            await driver.stop()  # twice is no harm
            await bench.sleep(0.05)
            second = (await take(driver, 5))[driver.streams[0].name]
            assert (stacked(second, "host_ns") > stopped_ns + 20_000_000).all(), "an old value came again"
            assert_nothing_twice(first + second)

    async def test_clock_is_unwrapped_through_its_wrap(self) -> None:
        if self.case.wrap is None:
            pytest.skip("has no clock")
        async with self.stand(counter=self.case.wrap) as bench, bench.driver() as driver:
            stream = driver.streams[0]
            blocks = (await take(driver, self.case.samples))[stream.name]
        ticks = stacked(blocks, "ticks")
        assert (np.diff(ticks) < 0).sum() == 1, "the counter did not wrap"
        out = Unwrapper.of(stream).unwrap(numbers(blocks), ticks)
        assert not out.jumps
        assert stream.tick_bits is not None
        assert out.ticks[-1] >= 1 << stream.tick_bits
        rate = (out.ticks[-1] - out.ticks[0]) / (len(ticks) - 1) * stream.rate_hz
        assert rate == pytest.approx(stream.tick_hz, rel=1e-3)

    async def test_what_is_lost_on_the_wire_is_a_gap_and_counted(self) -> None:
        async with self.stand() as bench, bench.driver(**self.case.patient) as driver:
            stream, counters, whole = driver.streams[0].name, driver.counters, []
            for fault in (Drop, Burst, Corrupt, Truncate):
                lost, corrupt = counters.lost, counters.corrupt
                bench.inject(fault, rate=0.35, **({"length": 3} if fault is Burst else {}))
                blocks = (await take(driver, self.case.samples // 4 + 4))[stream]
                bench.heal()
                missing = np.diff(numbers(blocks)) - 1
                assert counters.lost - lost >= missing.sum() > 0, f"{fault.__name__}: no gap, or not counted"
                assert counters.corrupt > corrupt or fault is not Corrupt or not self.case.checks
                whole += blocks
        assert_nothing_twice(whole)

    async def test_cycles_that_are_left_out_are_a_gap_in_what_they_would_have_told(self) -> None:
        """In setpoints always; in measurements where these are asked for, and only then they are counted as lost."""
        async with self.stand() as bench, bench.driver(**self.case.patient) as driver:
            if not isinstance(driver, FollowingDrives):
                pytest.skip("has no cycle of its own")
            [played] = [stream.name for stream in driver.streams if stream.role is Role.PLAYED]
            measured = driver.streams[0].name
            before: dict[str, list[Block]] = {played: [], measured: []}
            after: dict[str, list[Block]] = {played: [], measured: []}
            async for block in driver:
                taken = after if driver.counters.skipped >= 1000 else before
                if block.stream.name in taken:
                    taken[block.stream.name].append(block)
                if taken is before and all(len(blocks) >= 3 for blocks in before.values()):
                    driver._leave_out(1000)  # no host is so late by itself
                elif all(len(blocks) >= 30 for blocks in after.values()):  # with those that were told ahead
                    await driver.stop()
            gap = {name: int(np.diff(numbers(before[name] + after[name])).max()) - 1 for name in before}
            assert gap[played] >= 1000
            assert (gap[measured] >= 1000) == (driver.counters.lost >= 1000)

    async def test_what_comes_twice_or_late_is_not_yielded_again(self) -> None:
        async with self.stand() as bench, bench.driver() as driver:
            bench.inject(Duplicate, rate=0.3)
            blocks = (await take(driver, self.case.samples // 2))[driver.streams[0].name]
            assert_nothing_twice(blocks)
            if self.case.counts:
                assert driver.counters.duplicate > 0
                assert driver.counters.lost <= driver.counters.skipped
            bench.inject(Late, delay_s=0.02, duration_s=0.05)
            blocks += (await take(driver, 10))[driver.streams[0].name]
            assert_nothing_twice(blocks)

    async def test_a_device_that_has_stopped_measuring_yields_nothing_as_new(self) -> None:
        """Its counter stands still: what it repeats is flagged, or left out and counted until it counts as lost."""
        if self.case.wrap is None:
            pytest.skip("has no clock")
        async with self.stand() as bench, bench.driver(timeout_s=0.2) as driver:
            blocks: list[Block] = []

            async def read() -> None:
                async for block in driver:
                    if block.stream is not driver.streams[0]:
                        continue
                    blocks.append(block)
                    if len(blocks) == 3:
                        bench.inject(Stuck)
                    if (block.validity == Validity.STALE).all():
                        await driver.stop()

            try:
                await read()
            except DeviceLost:
                assert driver.counters.duplicate > 0
            good = (stacked(blocks, "validity") == Validity.OK).all(axis=1)
            assert (np.diff(stacked(blocks, "ticks")[good]) != 0).all(), "an old value came as a new one"

    async def test_silence_is_a_lost_device_that_can_be_entered_anew(self) -> None:
        async with self.stand() as bench:
            driver = bench.driver(timeout_s=0.1)
            async with driver:
                before: list[Block] = []

                async def read() -> None:
                    async for block in driver:
                        if block.stream is driver.streams[0]:
                            before.append(block)
                        if len(before) == 3:
                            bench.inject(Silence, duration_s=0.4)

                with pytest.raises(DeviceLost, match=r"^device: .* silent for more than 0.1 s .*check"):
                    await read()
            await bench.sleep(0.4)
            async with driver:
                after = (await take(driver, 3))[driver.streams[0].name]
            assert_nothing_twice(before + after)

    async def test_reconnects_when_asked_to(self) -> None:
        async with self.stand() as bench, bench.driver(timeout_s=0.1, reconnect_s=5.0) as driver:
            stream = driver.streams[0].name
            blocks: list[Block] = []
            async for block in driver:
                if block.stream.name != stream:
                    continue
                blocks.append(block)
                if len(blocks) == 3:
                    bench.inject(Silence, duration_s=0.3)
                seen = (np.diff(numbers(blocks)) > 1).any()  # on a busy host, after what had come before
                if (len(blocks) >= 6 and seen) or len(blocks) == 300:
                    await driver.stop()
            assert_nothing_twice(blocks)
            gap = np.diff(numbers(blocks)).max() - 1
            assert gap > 0, "the time of silence is no gap"
            assert driver.counters.lost >= gap

    async def test_a_pulled_cable_is_a_lost_device(self) -> None:
        async with self.stand() as bench, bench.driver() as driver:

            async def read() -> None:
                async for _ in driver:
                    bench.emulator.wire.unplug()

            with pytest.raises(DeviceLost, match=r"^device: "):
                await read()

    async def test_bus_off_is_a_lost_device(self) -> None:
        async with self.stand() as bench:
            if not isinstance(bench.emulator.wire, CanWire):
                pytest.skip("is on no bus")
            async with bench.driver() as driver:

                async def read() -> None:
                    async for _ in driver:
                        if not bench.plant.faults("device"):
                            bench.inject(BusOff)

                with pytest.raises(DeviceLost, match=r"^device: .*the controller is bus-off; check wiring"):
                    await read()

    async def test_nobody_there_says_what_was_tried_and_what_to_check(self) -> None:
        options, says = self.case.nowhere
        async with self.stand() as bench:
            before = Held.now()
            with pytest.raises(ConnectError, match=f"^device: .*{says}") as caught:
                await bench.elsewhere(**options).__aenter__()
            assert "check" in str(caught.value)
            await Held.settles_to(before)

    async def test_the_wrong_device_is_refused(self) -> None:
        if not self.case.wrong:
            pytest.skip("tells nothing about itself")
        for options, says in self.case.wrong:
            async with self.stand(**options) as bench:
                before = Held.now()
                with pytest.raises(ConnectError, match=f"^device: .*{says}"):
                    await bench.driver().__aenter__()
                await Held.settles_to(before)

    async def test_trouble_that_the_device_tells_flags_its_values(self) -> None:
        async with self.stand() as bench, bench.driver() as driver:
            stream = driver.streams[0].name
            if self.case.bits is not None:
                bench.inject(Status, bits=self.case.bits, duration_s=0.15)
                blocks = (await take(driver, 3))[stream]
                assert (blocks[-1].validity != Validity.OK).all()
                assert np.isnan(blocks[-1].si).all()
                await bench.sleep(0.15)
            if self.case.saturates:
                bench.inject(Saturate, column=2)
                blocks = (await take(driver, 3))[stream]
                assert blocks[-1].validity[-1, 2] == Validity.SATURATED

    async def test_cancellation_at_every_await_leaves_no_task_and_no_open_port(self) -> None:
        async with self.stand() as bench:
            await work(bench.driver)
            await asyncio.sleep(0.05)  # the emulator may need a moment to hang up
            before = Held.now()
            for n in (*range(16), *range(16, 200, 7)):
                attempt = Interrupted(work(bench.driver), n)
                task = asyncio.create_task(attempt.run(), name=f"attempt {n}")
                await asyncio.wait([task])
                assert task.cancelled() == attempt.happened
                if not task.cancelled():
                    task.result()
                await Held.settles_to(before, f"cancelled at await {n}")
                if not attempt.happened:
                    return
            raise AssertionError("more awaits than expected")
