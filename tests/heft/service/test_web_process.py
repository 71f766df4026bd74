"""The page's process is started again where it ends, and again where that fails."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import pytest

from heft.daq.errors import ConfigError
from heft.service import web_process
from heft.service.web_process import Showing, WebProcess


async def test_a_page_that_cannot_be_started_again_at_once_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web_process, "_RESTART_S", 0.05)
    async with WebProcess(Showing("title", port=0)) as page:
        first = page.pid
        begin, failures = page._start, 2

        async def failing() -> None:
            nonlocal failures
            if failures:
                failures -= 1
                await page._end()
                raise ConfigError("the page's process did not start")
            await begin()

        monkeypatch.setattr(page, "_start", failing)
        os.kill(first, signal.SIGKILL)
        async with asyncio.timeout(20):
            while page.pid in (0, first):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert failures == 0


async def test_no_address_tells_the_token() -> None:
    """Addresses are printed, logged, and kept by terminals and browsers."""
    async with WebProcess(Showing("title", port=0, token="0123456789abcdef")) as page:
        assert page.url == f"http://127.0.0.1:{page.port}/"


async def test_why_it_cannot_begin_is_said() -> None:
    pytest.importorskip("foxglove")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--foxglove {port}"):
            async with WebProcess(Showing("title", port=0, foxglove=port)):
                pass
