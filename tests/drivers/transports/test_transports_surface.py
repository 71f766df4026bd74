"""The public names, and that none of them imports a library before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import drivers.transports


def test_every_public_name_is_there() -> None:
    names = drivers.transports.__all__
    assert names == sorted(set(names))
    for name in names:
        assert getattr(drivers.transports, name) is not None


def test_importing_is_lazy() -> None:
    program = (
        "import sys, drivers.transports; from drivers.transports import Chunk, CanFrame, loopback_bytes; "
        "print(*({'serial', 'can', 'zmq'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
