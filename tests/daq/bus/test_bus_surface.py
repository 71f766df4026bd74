"""The public names of the bus, what importing them costs, and the reader in the documentation."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import heft.daq.bus
from heft.daq.bus import Publisher
from heft.drivers import Block

DOCUMENT = Path(__file__).parents[3] / "docs" / "bus.md"


def test_every_public_name_is_there() -> None:
    names = heft.daq.bus.__all__
    assert names == sorted(names, key=lambda name: (name[0].islower(), name))
    for name in names:
        assert getattr(heft.daq.bus, name) is not None


def test_names_of_topics_need_no_zmq() -> None:
    program = "import sys, heft.daq.topics, heft.daq.bus; print('zmq' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_the_reader_in_the_documentation_works(make_block: Callable[..., Block]) -> None:
    (program,) = re.findall(
        r"```python\n(import json.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL
    )
    block = make_block(40)
    async with Publisher("tcp://127.0.0.1:*") as publisher:
        reader = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, str(publisher.endpoint), stdout=asyncio.subprocess.PIPE
        )
        answer = asyncio.create_task(reader.communicate())
        while not answer.done():
            publisher.publish(block)
            await asyncio.sleep(0.01)
    seen = json.loads(answer.result()[0])
    assert seen["names"] == [column.name for column in block.stream.columns]
    assert seen["host_ns"] == block.host_ns.tolist()
    assert seen["si"] == block.values.tolist()
