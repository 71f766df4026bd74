"""The reader in docs/file-format.md: twenty lines, `mcap` and `numpy`, and the same numbers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from heft.daq.record.layout import BLOCK_SCHEMA_TEXT
from heft.daq.recording import Recording

PAGE = Path(__file__).parents[3] / "docs" / "file-format.md"


def reader_source() -> str:
    (source,) = re.findall(r"```python\n(import json.*?)```", PAGE.read_text(), re.DOTALL)
    return source


def test_it_has_twenty_lines_and_needs_mcap_and_numpy_alone() -> None:
    source = reader_source()
    body = source[: source.index("if __name__")]
    assert len([line for line in body.splitlines() if line.strip()]) <= 20
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module).split(".")[0])
    assert imported - sys.stdlib_module_names == {"mcap", "numpy"}


def test_it_reads_what_the_package_reads(sample: Any) -> None:
    namespace: dict[str, Any] = {"__name__": "reader"}
    exec(compile(reader_source(), str(PAGE), "exec"), namespace)
    for name in ("arm.motion", "wrist.wrench"):
        sequence, host_ns, si = namespace["read"](sample.path, name)
        columns = Recording.open(sample.path).columns(name)
        assert np.array_equal(sequence, columns.sequence)
        assert np.array_equal(host_ns, columns.host_ns)
        assert np.array_equal(si, columns.si, equal_nan=True)
        assert np.isnan(si).any()


def test_it_runs_as_a_program(sample: Any, tmp_path: Path) -> None:
    program = tmp_path / "reader.py"
    program.write_text(reader_source())
    done = subprocess.run(
        [sys.executable, str(program), str(sample.path), "wrist.wrench"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("[")


def test_the_page_and_the_schema_tell_of_the_same_fields() -> None:
    page = PAGE.read_text()
    for word in (
        "host_ns",
        "request_ns",
        "ticks",
        "values",
        "validity",
        "saturated",
        "duplicate",
        "scale",
        "offset",
    ):
        assert word in page
        assert word in BLOCK_SCHEMA_TEXT
