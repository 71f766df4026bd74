"""Clocks: what is woken, when, and in which order."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from heft.daq.clock import HostClock, ManualClock, PacedClock, RealClock, SimulatedClock

MS = 1_000_000
Log = list[tuple[int, str]]


def simulated(body: Callable[[SimulatedClock], Awaitable[None]]) -> None:
    """Run `body` on a fresh simulated clock; a test that stops time fails by the time limit of the loop."""

    async def main() -> None:
        clock = SimulatedClock()
        async with asyncio.timeout(20):
            await body(clock)

    asyncio.run(main())


async def tick(
    clock: HostClock, name: str, period_ns: int, n: int, log: Log, chaos: random.Random | None = None
) -> None:
    """A periodic participant that notes each of its wake-ups, yielding at random while it is awake."""
    with clock.participant(name):
        t_ns = clock.now_ns()
        for _ in range(n):
            t_ns += period_ns
            await clock.sleep_until(t_ns)
            woken_ns = clock.now_ns()
            if chaos is not None:
                for _ in range(chaos.randrange(4)):
                    await asyncio.sleep(0)
            assert clock.now_ns() == woken_ns, "time moved while a participant was awake"
            log.append((woken_ns, name))


async def start(clock: HostClock, *coroutines: Awaitable[None]) -> list[asyncio.Task[None]]:
    """Start participants in the order given, under a hold."""
    with clock.hold():
        tasks = [asyncio.ensure_future(c) for c in coroutines]
        await asyncio.sleep(0)
    return tasks


def test_participants_wake_in_order_of_time_then_joining() -> None:
    async def body(clock: SimulatedClock) -> None:
        log: Log = []
        await asyncio.gather(
            *await start(
                clock,
                tick(clock, "b", 2 * MS, 3, log),
                tick(clock, "a", 1 * MS, 6, log),
                tick(clock, "c", 3 * MS, 2, log),
            )
        )
        t0 = 1_000_000_000
        assert log == [
            (t0 + 1 * MS, "a"),
            (t0 + 2 * MS, "b"),
            (t0 + 2 * MS, "a"),
            (t0 + 3 * MS, "a"),
            (t0 + 3 * MS, "c"),
            (t0 + 4 * MS, "b"),
            (t0 + 4 * MS, "a"),
            (t0 + 5 * MS, "a"),
            (t0 + 6 * MS, "b"),
            (t0 + 6 * MS, "a"),
            (t0 + 6 * MS, "c"),
        ]

    simulated(body)


def test_order_does_not_depend_on_load() -> None:
    """The same log with and without tasks that burn turns, sleep on the clock and yield at random."""

    def run(seed: int | None) -> Log:
        log: Log = []

        async def body(clock: SimulatedClock) -> None:
            chaos = None if seed is None else random.Random(seed)

            async def noise() -> None:
                assert chaos is not None
                while True:
                    if chaos.random() < 0.3:
                        await clock.sleep_until(clock.now_ns() + chaos.randrange(3 * MS))
                    else:
                        await asyncio.sleep(0)

            noises = [asyncio.create_task(noise()) for _ in range(0 if seed is None else 5)]
            periods = {"plant": MS, "arm": 10 * MS, "wrist": 7 * MS, "player": 20 * MS}
            await asyncio.gather(
                *await start(
                    clock, *(tick(clock, k, p, 400 * MS // p, log, chaos) for k, p in periods.items())
                )
            )
            for task in noises:
                task.cancel()
            await asyncio.gather(*noises, return_exceptions=True)

        simulated(body)
        return log

    quiet = run(None)
    assert len(quiet) == 400 + 40 + 57 + 20
    assert all(run(seed) == quiet for seed in range(5))


def test_time_waits_for_a_participant_that_is_awake() -> None:
    async def body(clock: SimulatedClock) -> None:
        log: Log = []
        gate = asyncio.Event()

        async def slow() -> None:
            with clock.participant("slow"):
                await gate.wait()

        tasks = await start(clock, tick(clock, "fast", MS, 3, log), slow())
        for _ in range(50):
            await asyncio.sleep(0)
        assert log == []
        assert "awaited: slow" in clock.describe()
        assert "fast until 1.001000 s" in clock.describe()
        gate.set()
        await asyncio.gather(*tasks)
        assert len(log) == 3

    simulated(body)


def test_a_hold_stops_time_and_names_its_owner() -> None:
    async def body(clock: SimulatedClock) -> None:
        log: Log = []
        tasks = await start(clock, tick(clock, "p", MS, 100, log))
        await clock.sleep_until(clock.now_ns() + 5 * MS)
        with clock.hold(), clock.hold():
            asyncio.current_task().set_name("chunk")  # type: ignore[union-attr]
            with clock.hold():
                for _ in range(50):
                    await asyncio.sleep(0)
                held_ns, n = clock.now_ns(), len(log)
                assert "chunk" in clock.describe()
            for _ in range(50):
                await asyncio.sleep(0)
            assert (clock.now_ns(), len(log)) == (held_ns, n)
        await asyncio.gather(*tasks)
        assert len(log) == 100
        assert "held by: nobody" in clock.describe()

    simulated(body)


def test_answers_from_outside_the_loop_do_not_let_time_slip() -> None:
    """A request to a thread, under a hold, is answered at the simulated time it was made."""

    async def body(clock: SimulatedClock) -> None:
        log: Log = []
        loop = asyncio.get_running_loop()
        answers: list[int] = []

        async def client() -> None:
            for i in range(20):
                await clock.sleep_until(1_000_000_000 + (5 * i + 3) * MS)
                asked_ns = clock.now_ns()
                with clock.hold():
                    reply: asyncio.Future[None] = loop.create_future()
                    thread = threading.Thread(
                        target=lambda f: loop.call_soon_threadsafe(f.set_result, None), args=(reply,)
                    )
                    thread.start()
                    await reply
                    thread.join()
                    assert clock.now_ns() == asked_ns
                answers.append(asked_ns)

        tasks = await start(clock, tick(clock, "p", MS, 120, log), client())
        await asyncio.gather(*tasks)
        assert answers == [1_000_000_000 + (5 * i + 3) * MS for i in range(20)]
        assert log == [(1_000_000_000 + (i + 1) * MS, "p") for i in range(120)]

    simulated(body)


def test_timers_bound_the_advance_and_come_after_participants() -> None:
    async def body(clock: SimulatedClock) -> None:
        log: Log = []

        async def timer(name: str, period_ns: int, n: int) -> None:
            t_ns = clock.now_ns()
            for _ in range(n):
                t_ns += period_ns
                await clock.sleep_until(t_ns)
                log.append((clock.now_ns(), name))

        await asyncio.gather(
            *await start(
                clock, timer("timer", 2 * MS, 3), tick(clock, "p", 3 * MS, 2, log), timer("late", 6 * MS, 1)
            )
        )
        t0 = 1_000_000_000
        assert log == [
            (t0 + 2 * MS, "timer"),
            (t0 + 3 * MS, "p"),
            (t0 + 4 * MS, "timer"),
            (t0 + 6 * MS, "p"),
            (t0 + 6 * MS, "late"),
            (t0 + 6 * MS, "timer"),
        ]

    simulated(body)


def test_sleepers_without_any_participant() -> None:
    async def body(clock: SimulatedClock) -> None:
        order: list[int] = []

        async def sleeper(delay_ms: int) -> None:
            t_ns = 1_000_000_000 + delay_ms * MS
            await clock.sleep_until(t_ns)
            assert clock.now_ns() == t_ns
            order.append(delay_ms)

        await asyncio.gather(*(sleeper(d) for d in (30, 10, 20)))
        assert order == [10, 20, 30]
        await clock.sleep_until(5)  # the past is now
        assert clock.now_ns() == 1_000_000_000 + 30 * MS

    simulated(body)


def test_a_participant_whose_time_has_come_waits_for_its_turn() -> None:
    async def body(clock: SimulatedClock) -> None:
        order: list[str] = []

        async def impatient(name: str) -> None:
            with clock.participant(name):
                await clock.sleep_until(0)
                order.append(f"{name} in")
                await asyncio.sleep(0)
                order.append(f"{name} out")

        await asyncio.gather(*await start(clock, impatient("a"), impatient("b")))
        assert order == ["a in", "a out", "b in", "b out"]
        assert clock.now_ns() == 1_000_000_000

    simulated(body)


@pytest.mark.parametrize("at", ["asleep", "just woken", "just before its turn"])
def test_cancelled_participant_lets_time_go_on(at: str) -> None:
    async def body(clock: SimulatedClock) -> None:
        log: Log = []
        cleaned: list[int] = []

        async def victim() -> None:
            with clock.participant("victim"):
                try:
                    await clock.sleep_until(1_000_000_000 + 5 * MS)
                    await asyncio.Event().wait()
                finally:
                    for _ in range(5):
                        await asyncio.sleep(0)
                    cleaned.append(clock.now_ns())

        cancel_at_ms = {"asleep": 2, "just woken": 5, "just before its turn": 5}[at]

        async def killer() -> None:
            with clock.participant("killer"):
                await clock.sleep_until(1_000_000_000 + cancel_at_ms * MS)
                tasks[-1].cancel()

        parts = [tick(clock, "p", MS, 10, log), killer()]
        if at == "just woken":
            tasks = await start(clock, parts[0], victim())
            parts[1].close()
            for _ in range(100):
                await asyncio.sleep(0)
            tasks[-1].cancel()
        else:
            tasks = await start(clock, *parts, victim())
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(results[-1], asyncio.CancelledError)
        assert cleaned == [1_000_000_000 + cancel_at_ms * MS], "time moved before the cancelled task had left"
        assert [t for t, _ in log] == [1_000_000_000 + (i + 1) * MS for i in range(10)]

    simulated(body)


def test_cancelled_timer_does_not_hold_time_nor_memory() -> None:
    async def body(clock: SimulatedClock) -> None:
        log: Log = []
        tasks = await start(clock, tick(clock, "p", MS, 200, log))
        while not tasks[0].done():
            timer = asyncio.create_task(clock.sleep_until(clock.now_ns() + 3600 * 10**9))
            await asyncio.sleep(0)
            timer.cancel()
            await asyncio.gather(timer, return_exceptions=True)
        assert len(log) == 200
        assert clock.now_ns() == 1_000_000_000 + 200 * MS
        assert "0 other sleepers" in clock.describe()

    simulated(body)


def test_failing_participant_leaves() -> None:
    async def body(clock: SimulatedClock) -> None:
        log: Log = []

        async def fails() -> None:
            with clock.participant("fails"):
                await clock.sleep_until(1_000_000_000 + 3 * MS)
                raise OSError("unplugged")

        results = await asyncio.gather(
            *await start(clock, tick(clock, "p", MS, 10, log), fails()), return_exceptions=True
        )
        assert isinstance(results[1], OSError)
        assert len(log) == 10

    simulated(body)


def test_participants_may_nest_and_come_and_go() -> None:
    async def body(clock: SimulatedClock) -> None:
        log: Log = []

        async def nested() -> None:
            with clock.participant("outer"):
                with clock.participant("inner"):
                    await clock.sleep_until(1_000_000_000 + 2 * MS)
                assert "awaited: outer" in clock.describe()
                await clock.sleep_until(1_000_000_000 + 4 * MS)
            await asyncio.sleep(0)
            with clock.participant("again"):
                await clock.sleep_until(1_000_000_000 + 20 * MS)
            assert clock.now_ns() == 1_000_000_000 + 20 * MS

        await asyncio.gather(*await start(clock, nested(), tick(clock, "p", MS, 10, log)))
        assert len(log) == 10

    simulated(body)


def test_a_generator_closed_by_another_task_leaves_too() -> None:
    async def body(clock: SimulatedClock) -> None:
        async def blocks():  # type: ignore[no-untyped-def]
            with clock.participant("driver"):
                while True:
                    await clock.sleep_until(clock.now_ns() + MS)
                    yield clock.now_ns()

        generator = blocks()
        assert await asyncio.create_task(anext(generator)) == 1_000_000_000 + MS
        assert "awaited: driver" in clock.describe()
        await generator.aclose()
        assert "awaited: nobody" in clock.describe()
        await clock.sleep_until(1_000_000_000 + 10 * MS)

    simulated(body)


def test_outside_a_task_is_refused() -> None:
    with pytest.raises(RuntimeError):
        SimulatedClock().participant("p").__enter__()


def test_hundred_thousand_wake_ups_use_no_wall_time() -> None:
    """Simulated seconds cost microseconds per wake-up (7 us were measured), and nothing waits."""
    log: Log = []

    async def body(clock: SimulatedClock) -> None:
        names = [f"p{i}" for i in range(5)]
        await asyncio.gather(*await start(clock, *(tick(clock, n, MS, 20_000, log) for n in names)))

    simulated(body)
    assert len(log) == 100_000
    assert log == sorted(log)


async def test_manual_clock_wakes_in_order_and_only_as_far_as_moved() -> None:
    clock = ManualClock(start_ns=0)
    log: Log = []
    tasks = [
        asyncio.create_task(tick(clock, "a", 3 * MS, 4, log)),
        asyncio.create_task(tick(clock, "b", 2 * MS, 6, log)),
    ]
    with clock.hold(), clock.participant("nothing"):
        await clock.advance(6 * MS)
    assert clock.now_ns() == 6 * MS
    assert log == [(2 * MS, "b"), (3 * MS, "a"), (4 * MS, "b"), (6 * MS, "a"), (6 * MS, "b")]
    await clock.advance(MS)
    assert len(log) == 5
    tasks[1].cancel()
    await clock.advance(100 * MS)
    assert clock.now_ns() == 107 * MS
    assert log[5:] == [(9 * MS, "a"), (12 * MS, "a")]
    await asyncio.gather(*tasks, return_exceptions=True)
    with pytest.raises(ValueError, match="does not go back"):
        await clock.advance(-1)


async def test_real_clock_is_monotonic_time() -> None:
    clock = RealClock()
    low = time.monotonic_ns()
    t_ns = clock.now_ns()
    assert low <= t_ns <= time.monotonic_ns()
    with clock.participant("p"), clock.hold():
        await clock.sleep_until(t_ns + 3 * MS)
    assert clock.now_ns() >= t_ns + 3 * MS
    await clock.sleep_until(t_ns)  # the past: one turn of the loop


async def test_real_clock_runs_faster() -> None:
    clock = RealClock(speed=1000.0)
    start_ns, wall_ns = clock.now_ns(), time.monotonic_ns()
    await clock.sleep_until(start_ns + 10**9)
    assert clock.now_ns() >= start_ns + 10**9
    assert time.monotonic_ns() - wall_ns >= MS * 0.99
    for speed in (0.0, -1.0, float("inf")):
        with pytest.raises(ValueError, match="speed"):
            RealClock(speed)


@pytest.mark.parametrize("make", [RealClock, SimulatedClock])
def test_utc_offset_is_taken_once(make: Callable[[], HostClock]) -> None:
    before_ns = time.time_ns()
    clock = make()
    utc_ns = clock.now_ns() + clock.utc_offset_ns
    assert before_ns <= utc_ns <= time.time_ns() + MS
    assert clock.utc_offset_ns == clock.utc_offset_ns
    assert ManualClock(utc_offset_ns=7).utc_offset_ns == 7


class _Host:
    """Real time as the paced clock sees it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(
            "heft.daq.clock.time", SimpleNamespace(monotonic=lambda: self.now_s, time_ns=lambda: 0)
        )


async def test_a_paced_clock_goes_at_most_so_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    host = _Host(monkeypatch)
    clock = PacedClock(4.0)
    start_ns = clock.now_ns()

    async def work() -> None:
        with clock.participant("work"):
            for tick in range(1, 101):
                await clock.sleep_until(start_ns + tick * 10_000_000)

    task = asyncio.create_task(work())
    for _ in range(20):
        await asyncio.sleep(0)
    assert clock.now_ns() == start_ns  # real time stands still
    for _ in range(400):
        host.now_s += 0.001
        await asyncio.sleep(0.0015)
        gone_s = (clock.now_ns() - start_ns) * 1e-9
        assert gone_s <= 4.0 * (host.now_s - 100.0 + 0.001)
        if task.done():
            break
    await task


async def test_a_paced_clock_forgets_a_long_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a stall of a second it does not run a second's worth at once: those who watch would see nothing."""
    host = _Host(monkeypatch)
    clock = PacedClock(1.0)
    start_ns = clock.now_ns()
    ticks = []

    async def work() -> None:
        with clock.participant("work"):
            for tick in range(1, 101):
                await clock.sleep_until(start_ns + tick * 10_000_000)
                ticks.append(tick)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    host.now_s += 1.0
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert 1 <= len(ticks) <= 10
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
