"""What holds for every test: an asyncio task that a test leaves behind fails it; and a clock for busy machines."""

from __future__ import annotations

import asyncio
import inspect
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import NoReturn

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from heft.daq.clock import RealClock

pytest_plugins = ["pytester"]

# The same examples every time, and no judgement of how fast a busy machine makes them.
settings.register_profile(
    "heft",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("heft")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every asynchronous test the check (a plain one needs no event loop); long chains of tests begin first."""
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(inspect.unwrap(item.obj)):
            item.fixturenames.insert(0, "no_leftover_tasks")


@pytest.fixture(scope="session", autouse=True)
def runtime_folder() -> Iterator[None]:
    """Sessions of the tests are not found beside others of this user, and are not in this user's log.

    Not in `tmp_path`: sockets need short paths.
    """
    with tempfile.TemporaryDirectory(prefix="heft-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        patch.setenv("XDG_CONFIG_HOME", f"{folder}/config")  # nor are keys of this user used
        patch.setenv("XDG_STATE_HOME", f"{folder}/state")
        yield


@pytest_asyncio.fixture
async def no_leftover_tasks() -> AsyncIterator[None]:
    """Fail a test that ends with tasks still in its loop, and name them. Set up first, so torn down last."""
    yield
    leftover = asyncio.all_tasks() - {asyncio.current_task()}
    names = sorted(task.get_name() for task in leftover)
    for task in leftover:
        task.cancel()
    await asyncio.gather(*leftover, return_exceptions=True)
    if names:
        pytest.fail(f"{len(names)} asyncio tasks left behind: {', '.join(names)}; cancel and await them")


@pytest.fixture(scope="session")
def missing() -> Callable[[str], NoReturn]:
    """Ends a test that lacks a program or a peer: skips it, but fails it in CI, where all of them must be there."""
    return pytest.fail if os.environ.get("CI") == "true" else pytest.skip


class SteadyClock(RealClock):
    """Real time without the stalls of a busy machine: between two looks at it, no more than `MOST_NS` have passed.

    For devices and their emulators in one process: a machine that has no time for them is then no trouble of theirs.
    """

    MOST_NS = 4_000_000

    def __init__(self) -> None:
        super().__init__()
        self._seen_ns = self._steady_ns = time.monotonic_ns()

    def now_ns(self) -> int:
        seen_ns = time.monotonic_ns()
        self._steady_ns += min(seen_ns - self._seen_ns, self.MOST_NS)
        self._seen_ns = seen_ns
        return self._steady_ns

    async def sleep_until(self, t_ns: int) -> None:
        while True:
            wait_ns = min(t_ns - self.now_ns(), self.MOST_NS // 2)  # a sleeper looks, too
            await asyncio.sleep(max(0.0, wait_ns * 1e-9))
            if self.now_ns() >= t_ns:
                return


@pytest.fixture
def steady_clock() -> Callable[[], RealClock]:
    """Makes such a clock."""
    return SteadyClock
