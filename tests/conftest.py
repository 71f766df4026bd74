"""What holds for every test: an asyncio task that a test leaves behind fails it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

pytest_plugins = ["pytester"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every asynchronous test the check; a plain one needs no event loop."""
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(inspect.unwrap(item.obj)):
            item.fixturenames.insert(0, "no_leftover_tasks")


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
