"""The rule that gives samples their stamps: the same for a whole recording and for blocks as they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from heft.daq.recording import NO_TIME, Columns
from heft.daq.session.ledger import Ledger
from heft.daq.stamps import ClockFit, LiveStamps, Stamps, StreamClock, stamps_of
from heft.drivers.block import Block, Validity
from heft.drivers.stream import Column, Stream

Int64s = NDArray[np.int64]
TICK_HZ = 1e6
HOST_NS = 1_700_000_000_000_000_000
LEAST_NS = 500_000  # of latency
LIVE_NS = 600_000  # half a second by a first line that may be off by the largest skew, 1e-3
STREAM = Stream(
    "wrist.wrench",
    (Column("x", "force", "N"), Column("y", "force", "N")),
    1000.0,
    tick_hz=TICK_HZ,
    tick_bits=24,
)


class Device:
    """Samples of a device whose clock is 20 ppm fast, 6 s of them: `taken_ns` is when, `columns` what is recorded."""

    def __init__(self, count: int = 6000, stream: Stream = STREAM, step: int = 20) -> None:
        self.stream, self.step = stream, step
        k = np.arange(count)
        self.taken_ns = HOST_NS + np.rint(k * 1e6 * (1 - 20e-6)).astype(np.int64)
        latency = np.random.default_rng(7).exponential(2e5, count).astype(np.int64)
        self.host_ns = np.maximum.accumulate(self.taken_ns + LEAST_NS + latency)
        self.request_ns = self.taken_ns - 1000
        self.ticks = (123_456 + 1000 * k) % 2**24
        self.validity = np.zeros((count, 2), np.uint8)
        self.without_ticks: set[int] = set()  # numbers of blocks
        self.requests = False

    def blocks(self) -> list[Block]:
        blocks = []
        for number, i in enumerate(range(0, len(self.ticks), self.step)):
            part = slice(i, i + self.step)
            blocks.append(
                Block(
                    self.stream,
                    i,
                    self.host_ns[part].copy(),
                    np.zeros((len(self.ticks[part]), 2)),
                    self.validity[part].copy(),
                    self.request_ns[part].copy() if self.requests else None,
                    None if number in self.without_ticks else self.ticks[part].copy(),
                )
            )
        return blocks

    def whole(self) -> Stamps:
        return stamps_of(Columns.of(self.stream, self.blocks()))

    def live(self) -> Stamps:
        clock = LiveStamps(self.stream)
        parts = [clock.of(block) for block in self.blocks()]
        return Stamps(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("ns", "good")))

    def ledger_fit(self) -> ClockFit:
        ledger = Ledger()
        ledger.expect(self.stream)
        for block in self.blocks():
            ledger.enter(block)
        return ledger.clock_fits()[self.stream.device]

    def check(self, rows: NDArray[np.bool_]) -> None:
        """`rows` and no others have a stamp, near the truth, in both forms; live, as far as the clock is known."""
        for stamps, near_ns in ((self.whole(), 5_000), (self.live(), LIVE_NS)):
            np.testing.assert_array_equal(stamps.good, rows)
            off = np.abs(stamps.ns - self.taken_ns - LEAST_NS)
            assert off[rows].max() < near_ns
            assert off[1100:][rows[1100:]].max() < 50_000  # by the third fit


@pytest.fixture
def device() -> Device:
    return Device()


def every_row_but(device: Device, *out: int | slice) -> NDArray[np.bool_]:
    rows = np.ones(len(device.ticks), dtype=np.bool_)
    for one in out:
        rows[one] = False
    return rows


def test_every_sample_has_the_time_at_which_it_was_taken(device: Device) -> None:
    device.check(every_row_but(device))


def test_whole_and_live_are_one_rule_when_all_is_known(device: Device) -> None:
    """What the clock has seen at the end maps every tick to the same time."""
    clock = StreamClock(STREAM)
    timed = [clock.follow(Columns.of(STREAM, [block])) for block in device.blocks()]
    fit = clock.fit()
    after = np.concatenate([one.stamps(fit).ns for one in timed])
    np.testing.assert_array_equal(after, device.whole().ns)


def test_the_ledger_follows_the_same_clock(device: Device) -> None:
    whole = device.whole().fit
    assert whole is not None
    fit = device.ledger_fit()
    assert (fit.skew, fit.main.anchor_ns, fit.n) == (whole.skew, whole.main.anchor_ns, whole.n)


def test_a_missing_tick_costs_its_own_rows_only(device: Device) -> None:
    device.without_ticks = {100}
    columns = Columns.of(STREAM, device.blocks())
    assert columns.ticks is not None
    assert (columns.ticks == NO_TIME).sum() == 20
    device.check(every_row_but(device, slice(2000, 2020)))


def test_one_row_without_a_tick_in_a_recording(device: Device) -> None:
    columns = Columns.of(STREAM, device.blocks())
    assert columns.ticks is not None
    ticks = columns.ticks.copy()
    ticks[3000] = NO_TIME
    stamps = stamps_of(replace(columns, ticks=ticks))
    np.testing.assert_array_equal(stamps.good, every_row_but(device, 3000))
    assert np.abs(stamps.ns - device.taken_ns - LEAST_NS)[stamps.good].max() < 5_000


def test_a_device_that_shows_no_tick_at_all_is_stamped_by_the_host(device: Device) -> None:
    device.without_ticks = set(range(300))
    for stamps in (device.whole(), device.live()):
        assert stamps.good.all()
        np.testing.assert_array_equal(stamps.ns, device.host_ns)
    with pytest.raises(ValueError, match=r"wrist.wrench: block 0 has no device ticks"):
        device.ledger_fit()  # a driver that forgets them is told at once


def stale(device: Device, rows: slice) -> None:
    """The device repeats its last sample: values, and the counter with them."""
    device.validity[rows] = Validity.STALE
    device.ticks[rows] = device.ticks[rows.start - 1]


def corrupt(device: Device, rows: slice) -> None:
    device.validity[rows, 1] = Validity.CORRUPT  # one of two columns is enough
    device.ticks[rows] = 5
    device.host_ns[rows] -= 10**9


def duplicate(device: Device, rows: slice) -> None:
    device.validity[rows] = Validity.DUPLICATE
    device.ticks[rows] = device.ticks[rows.start - 5]


@pytest.mark.parametrize("spoil", [stale, corrupt, duplicate])
def test_rows_that_may_carry_another_time_are_left_out(
    device: Device, spoil: Callable[[Device, slice], None]
) -> None:
    """Neither they nor their ticks are used: the clock of the others does not jump."""
    rows = slice(2503, 2531)
    spoil(device, rows)
    device.check(every_row_but(device, rows))
    fit = device.whole().fit
    assert fit is not None
    assert len(fit.pieces) == 1
    assert fit.n == len(device.ticks) - 28
    ledger = device.ledger_fit()
    assert (ledger.skew, ledger.main.anchor_ns, ledger.n) == (fit.skew, fit.main.anchor_ns, fit.n)


def test_a_value_that_is_only_saturated_or_flagged_has_its_stamp(device: Device) -> None:
    device.validity[2503, 0], device.validity[2504, 1] = Validity.SATURATED, Validity.FAULT
    device.check(every_row_but(device))


def test_a_jump_of_the_counter_begins_a_line_of_its_own(device: Device) -> None:
    """The device restarts: live, its stamps count again when the new line has settled."""
    device.ticks[3000:] = 17 + 1000 * np.arange(3000)
    whole, live = device.whole(), device.live()
    assert whole.fit is not None
    assert len(whole.fit.pieces) == 2
    assert whole.good.all()
    assert np.abs(whole.ns - device.taken_ns - LEAST_NS).max() < 10_000
    again = int(np.flatnonzero(~live.good)[-1]) + 1
    np.testing.assert_array_equal(live.good, every_row_but(device, slice(3000, again)))
    assert 4000 <= again <= 4540  # a second, and half of one until the next fit
    assert np.abs(live.ns - device.taken_ns - LEAST_NS)[live.good].max() < LIVE_NS


def test_a_part_that_is_too_short_between_two_jumps_is_left_out(device: Device) -> None:
    device.ticks[3000:3800] = 17 + 1000 * np.arange(800)
    device.ticks[3800:] = 99 + 1000 * np.arange(2200)
    whole = device.whole()
    np.testing.assert_array_equal(whole.good, every_row_but(device, slice(3000, 3800)))
    assert np.abs(whole.ns - device.taken_ns - LEAST_NS)[whole.good].max() < 10_000
    assert not (device.live().good & ~whole.good).any()


def test_a_stuck_counter_does_not_stop_the_rule(device: Device) -> None:
    device.ticks[3000:3500] = device.ticks[3000]
    fit = device.whole().fit
    assert fit is not None
    assert len(fit.pieces) == 2  # before and after; nothing is made of what was stuck
    clock = StreamClock(STREAM)
    clock.follow(Columns.of(STREAM, device.blocks()))
    assert clock.n_jumps == 500


def test_what_is_sampled_when_asked_has_the_time_of_the_request() -> None:
    """Without a counter the request is the stamp; with one, the clock is fitted to requests, in the ledger too."""
    plain = Device(stream=replace(STREAM, tick_hz=None, tick_bits=None, at_request=True))
    plain.requests, plain.without_ticks = True, set(range(300))
    for stamps in (plain.whole(), plain.live()):
        assert stamps.good.all()
        np.testing.assert_array_equal(stamps.ns, plain.request_ns)
    ticking = Device(stream=replace(STREAM, at_request=True))
    ticking.requests = True
    whole = ticking.whole()
    assert np.abs(whole.ns - ticking.request_ns).max() < 2_000
    assert whole.fit is not None
    assert ticking.ledger_fit().main.anchor_ns == whole.fit.main.anchor_ns


def test_a_sample_nobody_knows_the_request_of_was_taken_before_it_arrived() -> None:
    device = Device(stream=replace(STREAM, tick_hz=None, tick_bits=None, at_request=True))
    device.requests, device.without_ticks = True, set(range(300))
    columns = Columns.of(device.stream, device.blocks())
    assert columns.request_ns is not None
    request_ns = columns.request_ns.copy()
    request_ns[10] = NO_TIME
    stamps = stamps_of(replace(columns, request_ns=request_ns))
    assert stamps.ns[10] == device.host_ns[10]
    assert stamps.good.all()


def test_rows_come_in_the_order_of_time_and_once(device: Device) -> None:
    blocks = device.blocks()
    blocks[7], blocks[8] = blocks[8], blocks[7]  # overtaken on the way
    blocks.insert(20, blocks[19])  # and one came twice
    stamps = stamps_of(Columns.of(STREAM, blocks))
    rows = stamps.rows()
    assert len(rows) == len(device.ticks)
    assert np.all(np.diff(stamps.ns[rows]) > 0)
    assert np.all(np.diff(stamps.seconds(rows)) > 0)
    valid = np.ones(len(stamps.ns), dtype=np.bool_)
    valid[0] = False
    assert 0 not in stamps.rows(valid)


def test_a_single_sample_has_the_time_it_arrived_at() -> None:
    stamps = Device(count=1).whole()
    assert stamps.good.all()
    assert stamps.ns[0] == Device(count=1).host_ns[0]
    assert len(stamps_of(Columns.of(STREAM, [])).rows()) == 0


def test_counters_go_round_and_blocks_are_lost() -> None:
    """24 bits at 1 MHz go round every 16.8 s."""
    device = Device(count=40_000)
    blocks = [block for block in device.blocks() if not 5000 <= block.sequence < 5400]
    clock = StreamClock(STREAM)
    for block in blocks:
        clock.follow(Columns.of(STREAM, [block]))
    fit = clock.fit()
    assert fit is not None
    assert clock.n_jumps == 0
    assert fit.n == len(device.ticks) - 400
    assert fit.skew_ppm == pytest.approx(-20.0, abs=0.02)
