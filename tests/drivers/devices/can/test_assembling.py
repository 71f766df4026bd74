"""Rows from frames: what belongs together, what is missing, late or doubled; without a bus or a clock."""

from __future__ import annotations

import numpy as np
import pytest

from heft.drivers.block import Block, Validity
from heft.drivers.devices.base.sequence import ArrivalSequence
from heft.drivers.devices.bus.broadcast_assembler import BroadcastAssembler, BroadcastAssemblers
from heft.drivers.devices.bus.bus_load import BusLoad, Traffic
from heft.drivers.devices.bus.cycle_assembler import CycleAssembler, Place
from heft.drivers.devices.bus.row_assembler import age_columns
from heft.drivers.driver import Counters
from heft.drivers.errors import OptionError
from heft.drivers.stream import Column, Stream

T = 4_000_000  # of a cycle [ns]


def stream(name, *columns, rate_hz=250.0):
    return Stream(f"arm.{name}", tuple(Column(c, name, "1") for c in columns), rate_hz, dtype="<i4")


class Bus:
    """Two axes with two frames each: position; velocity and current."""

    def __init__(self, block=1):
        self.blocks: list[Block] = []
        self.ended: list[int] = []
        self.counters = Counters()
        motion, current = stream("motion", "p1", "p2", "v1", "v2"), stream("current", "c1", "c2")
        places = [[Place(0, 0)], [Place(0, 1)], [Place(0, 2), Place(1, 0)], [Place(0, 3), Place(1, 1)]]
        self.gatherer = CycleAssembler(
            (motion, current), places, block, self.blocks.append, self.ended.append
        )
        self.gatherer.count_in(self.counters)

    def put(self, frame, value, host_ns, flags=None):
        values = (value,) if frame < 2 else (value, 10 * value)
        self.gatherer.put(frame, values, host_ns, flags)

    def cycle(self, number, *frames):
        """SYNC, and these frames after it."""
        self.gatherer.begin(number * T)
        for i, frame in enumerate(frames):
            self.put(frame, 100 * number + frame, number * T + 1000 * (i + 1))

    def numbers(self, name):
        found = [
            np.arange(b.sequence, b.next_sequence) for b in self.blocks if b.stream.name == f"arm.{name}"
        ]
        return np.concatenate(found).tolist() if found else []


def test_a_row_has_the_time_of_its_request_and_of_its_last_frame():
    bus = Bus()
    bus.cycle(1, 0, 1, 2, 3)
    motion, current = bus.blocks
    assert motion.values.tolist() == [[100, 101, 102, 103]]
    assert current.values.tolist() == [[1020, 1030]]
    assert motion.request_ns.tolist() == [T]
    assert motion.host_ns.tolist() == [T + 4000]
    assert bus.ended == [0]


def test_a_missing_frame_is_a_gap_of_the_streams_that_need_it():
    bus = Bus()
    bus.cycle(0, 0, 1, 2, 3)
    bus.cycle(1, 0, 2, 3)  # the position of the second axis is lost
    bus.cycle(
        2, 0, 1, 2, 3
    )  # its frame of that axis might be the missing one: the next cycle shows that it is not
    bus.cycle(3, 0, 1, 2, 3)
    assert bus.numbers("motion") == [0, 2, 3]
    assert bus.numbers("current") == [0, 1, 2, 3]
    assert bus.counters.lost == 1
    assert bus.ended == [0, 0b0010, 0, 0]


def test_frames_that_wait_unread_belong_to_the_cycle_they_came_in():
    """A host that stalled sends SYNC before it has read the answers to the last one."""
    bus = Bus()
    bus.gatherer.begin(0)
    bus.gatherer.begin(T)
    for frame in range(4):
        bus.put(frame, frame, 1000 + frame)
    for frame in range(4):
        bus.put(frame, 100 + frame, T + 1000 + frame)
    assert bus.numbers("motion") == [0, 1]
    assert bus.blocks[0].values.tolist() == [[0, 1, 2, 3]]
    assert bus.counters == Counters()


def test_what_comes_twice_is_not_yielded_again():
    bus = Bus()
    bus.cycle(0, 0, 0, 1, 2, 3, 3)
    bus.cycle(1, 0, 1, 2, 3)
    assert bus.numbers("motion") == [0, 1]
    assert bus.counters.duplicate == 2


def test_a_late_frame_is_not_taken_for_the_next_one():
    bus = Bus()
    bus.cycle(0, 0, 2, 3)
    bus.gatherer.begin(T)
    bus.put(1, 999, T + 500)  # the answer to the last SYNC
    bus.put(0, 100, T + 1000)
    bus.put(1, 101, T + 1100)  # the answer to this one
    bus.put(2, 102, T + 1200)
    bus.put(3, 103, T + 1300)
    bus.cycle(2, 0, 1, 2, 3)
    assert bus.counters.late == 1
    rows = [b.values.tolist() for b in bus.blocks if b.stream.name == "arm.motion"]
    assert rows[0] == [[100, 101, 102, 103]]
    assert bus.numbers("motion") == [1, 2]


def test_flags_go_with_their_column():
    bus = Bus()
    bus.gatherer.begin(0)
    bus.put(3, 3, 1000, {1: Validity.SATURATED})
    for frame in range(3):
        bus.put(frame, frame, 2000 + frame)
    motion, current = bus.blocks
    assert not motion.validity.any()
    assert current.validity.tolist() == [[0, Validity.SATURATED]]


def test_blocks_are_cut_at_gaps_and_by_length():
    bus = Bus(block=3)
    for number in (0, 1, 2, 3):
        bus.cycle(number, 0, 1, 2, 3)
    bus.cycle(4, 0)
    for number in (5, 6):
        bus.cycle(number, 0, 1, 2, 3)
    bus.gatherer.flush()
    assert [(b.sequence, len(b)) for b in bus.blocks if b.stream.name == "arm.motion"] == [
        (0, 3),
        (3, 1),
        (5, 2),
    ]


def test_after_a_restart_nothing_old_comes():
    bus = Bus(block=10)
    bus.cycle(0, 0, 1, 2, 3)
    bus.gatherer.restart(2 * T)
    bus.cycle(1, 0, 1, 2, 3)
    bus.cycle(2, 0, 1, 2, 3)
    bus.gatherer.flush()
    assert bus.numbers("motion") == [2]
    bus.gatherer.skip(5)
    bus.gatherer.begin(9 * T)
    assert bus.gatherer.number == 9


def test_ages_are_measured_from_the_last_frame():
    described = Stream(
        "arm.motion", (Column("j1", "position", "rad"), *age_columns(("j1", "j2"))), 250.0, dtype="<i4"
    )
    blocks: list[Block] = []
    gatherer = CycleAssembler(
        (described,),
        [[Place(0, 0)], []],
        1,
        blocks.append,
        lambda missing: None,
        ages=[[Place(0, 1)], [Place(0, 2)]],
    )
    gatherer.begin(0)
    gatherer.put(0, (7,), 1_000_000)
    gatherer.put(1, (), 1_250_000)
    assert blocks[0].values.tolist() == [[7, 250, 0]]
    assert blocks[0].si[0, 1] == pytest.approx(250e-6)


class Talk:
    """Two axes that tell their position by themselves, every 10 ms."""

    def __init__(self, block=1):
        self.blocks: list[Block] = []
        self.counters = Counters()
        columns = (
            Column("j1", "position", "rad"),
            Column("j2", "position", "rad"),
            *age_columns(("j1", "j2")),
        )
        described = Stream("arm.motion", columns, 100.0, dtype="<f4")
        self.collector = BroadcastAssembler(described, [(0,), (1,)], block, self.blocks.append)
        self.collector.count_in(self.counters)
        self.collector.restart(0)

    def put(self, axis, value, ms):
        self.collector.put(axis, (value,), round(ms * 1e6))

    @property
    def numbers(self):
        found = [np.arange(b.sequence, b.next_sequence) for b in self.blocks]
        return np.concatenate(found).tolist() if found else []


def test_a_row_is_there_when_every_axis_has_told_something_new():
    talk = Talk()
    for k in range(5):
        talk.put(0, k, 10 * k)
        talk.put(1, -k, 10 * k + 4)
    assert talk.numbers == [0, 1, 2, 3, 4]
    last = talk.blocks[-1]
    assert last.values.tolist() == [[4, -4, 4000, 0]]
    assert last.host_ns.tolist() == [44_000_000]


def test_of_a_faster_axis_the_newest_counts():
    talk = Talk()
    talk.put(0, 1, 0)
    talk.put(0, 2, 9.9)
    talk.put(1, 5, 10)
    assert talk.blocks[0].values[0, :2].tolist() == [2, 5]


def test_a_lost_message_is_a_gap_by_time():
    talk = Talk()
    for k in range(8):
        talk.put(0, k, 10 * k)
        if k != 4:
            talk.put(1, k, 10 * k + 4)
    talk.collector.flush()
    assert talk.numbers == [0, 1, 2, 3, 5, 6, 7]
    assert talk.counters.lost == 1


def test_what_a_stalled_host_finds_at_once_is_not_lost():
    talk = Talk()
    for k in range(8):
        late = 71 + 0.1 * k if 3 <= k <= 6 else 10 * k
        talk.put(0, k, late)
        talk.put(1, k, late + 0.05)
    talk.collector.flush()
    assert talk.numbers == list(range(8))
    assert talk.counters.lost == 0


def test_late_rows_are_not_lost_and_lost_ones_are():
    """A busy host: every row late by up to 3 periods, in order; one in fifty lost; a clock that is 200 ppm slow."""
    rng = np.random.default_rng(3)
    due = 10.0 * np.arange(4000) * 1.0002
    kept = rng.random(4000) > 0.02
    kept[:10] = True
    late = rng.exponential(1.0, 4000) + np.where(rng.random(4000) < 0.05, rng.uniform(0.0, 30.0, 4000), 0.0)
    came = np.maximum.accumulate(due + late)
    counters, numbers, waiting = Counters(), [], []
    pace = ArrivalSequence(100.0, counters)
    for t in came[kept]:
        waiting.append(round(t * 1e6))
        placed = pace.place(waiting)
        numbers += placed
        del waiting[: len(placed)]
    numbers += pace.place(waiting, last=True)
    truth = np.flatnonzero(kept)
    assert len(numbers) == len(truth)
    wrong = np.abs(np.array(numbers) - truth)
    assert wrong.max() <= 1
    assert abs(counters.lost - np.count_nonzero(~kept)) <= 2


def test_a_stall_of_a_third_of_a_second_loses_nothing():
    counters = Counters()
    pace = ArrivalSequence(100.0, counters)
    times = [10 * k for k in range(20)] + [540 + 0.2 * k for k in range(35)] + [10 * k for k in range(55, 70)]
    assert pace.place([round(t * 1e6) for t in times], last=True) == list(range(70))
    assert counters.lost == 0


def test_several_streams_of_the_same_axes():
    one, two = Talk(), Talk()
    both = BroadcastAssemblers(one.collector, two.collector)
    assert len(both.streams) == 2
    one.put(0, 1, 5)
    one.put(1, 1, 6)
    assert both.number == 1
    both.skip(4)
    assert both.number == 5
    both.restart(100_000_000)
    one.put(0, 1, 90)
    one.put(1, 1, 91)
    both.flush()
    assert one.numbers == [0]


def test_the_load_of_a_bus_as_computed_by_hand():
    """7 joints, two TPDOs and an RPDO of 8 bytes, and SYNC at 250 Hz: 61 to 74 %; at 500 Hz it does not fit."""
    frames = [Traffic("SYNC", 250, 0), Traffic("PDOs", 21 * 250, 8)]
    load = BusLoad(frames, 1_000_000)
    assert load.share(stuffed=False) == pytest.approx(0.594, abs=0.003)
    assert load.share() == pytest.approx(0.722, abs=0.003)
    load.check("arm")
    assert 1 / Traffic("", 1, 8).seconds(1_000_000, 1, stuffed=True) == pytest.approx(7407, abs=1)
    assert 1 / Traffic("", 1, 8).seconds(1_000_000, 1, stuffed=False) == pytest.approx(9009, abs=1)
    twice = [Traffic(t.what, 2 * t.per_second, t.length) for t in frames]
    with pytest.raises(
        OptionError, match=r"arm: 11000 frames/s take 119 to 144 % of a bus of 1000000 bit/s, bound 80 %"
    ):
        BusLoad(twice, 1_000_000).check("arm")


def test_fd_frames_are_short_on_the_bus():
    classic = Traffic("", 1, 8).seconds(1_000_000, 5_000_000, stuffed=False)
    fd = Traffic("", 1, 64, fd=True).seconds(1_000_000, 5_000_000, stuffed=False)
    assert fd < 1.5 * classic
    assert Traffic("", 1, 64, fd=True, extended=True).seconds(1_000_000, 5_000_000, stuffed=False) > fd
