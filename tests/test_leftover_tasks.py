"""The check in `tests/conftest.py` does fail a test that leaves a task behind."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")


def test_a_leftover_task_fails_its_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makepyfile(
        """
        import asyncio
        import pytest
        import pytest_asyncio

        @pytest_asyncio.fixture
        async def servant():
            task = asyncio.create_task(asyncio.Event().wait())
            yield
            task.cancel()

        async def test_leaves_one():
            asyncio.create_task(asyncio.Event().wait(), name="forgotten")

        async def test_clean():
            await asyncio.sleep(0)

        async def test_fixture_cleans_up(servant):
            await asyncio.sleep(0)

        def test_plain():
            pass
        """
    )
    result = pytester.runpytest_subprocess(
        "-o", "asyncio_mode=auto", "-p", "no:cacheprovider", "--timeout=60"
    )
    result.assert_outcomes(passed=4, errors=1)  # the body passes, its teardown does not
    result.stdout.fnmatch_lines(["*1 asyncio tasks left behind: forgotten;*"])
