"""How fast files of other tools are imported, and in how much memory.

    python benchmarks/importing.py [--rows 1000000] [--joints 7] [--folder DIR]

Writes the same motion (time, positions, velocities and torques of all joints, doubles) as NPZ, Parquet and CSV, imports
each in a process of its own as `heft import` does, and prints rows per second and how its memory grows. Beside them,
the same for a file four times as long: memory must not grow with it. Exit code 1 where a rate is below what is promised
(1 million rows/s for NPZ and Parquet, 200 000 for CSV), or memory grows by more than half of what is added.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PROMISED = {"npz": 1e6, "parquet": 1e6, "csv": 2e5}
write = sys.stdout.write


def make(folder: Path, rows: int, joints: int) -> dict[str, Path]:
    """The same rows in each format."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    rng = np.random.default_rng(1)
    t = np.arange(rows) * 1e-3
    phase = rng.uniform(0, 6, joints)
    q = np.sin(t[:, None] * 2.0 + phase) + 1e-5 * rng.standard_normal((rows, joints))
    dq = 2.0 * np.cos(t[:, None] * 2.0 + phase) + 1e-3 * rng.standard_normal((rows, joints))
    tau = 10 * np.sin(t[:, None] * 3.0 + phase) + 0.1 * rng.standard_normal((rows, joints))
    paths = {kind: folder / f"log_{rows}.{kind}" for kind in PROMISED}
    np.savez(paths["npz"], t=t, q=q, dq=dq, tau=tau)
    named = {"t": t} | {
        f"{n}{k + 1}": a[:, k] for n, a in (("q", q), ("dq", dq), ("tau", tau)) for k in range(joints)
    }
    table = pa.table(named)
    pq.write_table(table, paths["parquet"])
    csv.write_csv(pa.table({name: np.round(array, 6) for name, array in named.items()}), paths["csv"])
    return paths


def child(path: Path, into: Path) -> None:
    """Import one file; seconds, rows and the growth of memory [MB] as JSON."""
    from heft.importing import import_files

    if path.suffix == ".parquet":
        import heft.daq.importing.readers.parquet
    elif path.suffix == ".csv":
        import heft.daq.importing.readers.csv_text  # noqa: F401
    before = peak_mb()
    started, worked = time.perf_counter(), time.process_time()
    done = import_files([path], into)
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    rows = done.written.rows["arm.joint_states"]
    write(json.dumps({"seconds": seconds, "cpu": cpu, "rows": rows, "grown_mb": peak_mb() - before}) + "\n")


def peak_mb() -> float:
    """Most memory that this process has had so far [MB]."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def measure(path: Path, into: Path) -> dict[str, float]:
    into.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(path), str(into)],
        check=True,
        capture_output=True,
        text=True,
    )
    into.unlink(missing_ok=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--joints", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return 0
    missed = False
    write(
        f"{'format':<9}{'rows':>10}{'MB':>8}{'rows/s':>12}{'rows/CPU s':>12}{'promised':>12}{'memory grows':>16}\n"
    )
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        short, long = (make(folder, rows, arguments.joints) for rows in (arguments.rows // 4, arguments.rows))
        for kind, promised in PROMISED.items():
            grown = []
            for paths in (short, long):
                found = measure(paths[kind], folder / "into.mcap")
                rate = found["rows"] / found["seconds"]
                grown.append(found["grown_mb"])
                write(
                    f"{kind:<9}{found['rows']:>10}{paths[kind].stat().st_size / 1e6:>8.0f}{rate:>12.0f}"
                    f"{found['rows'] / found['cpu']:>12.0f}{promised:>12.0f}"
                    f"{found['grown_mb']:>13.0f} MB\n"
                )
                sys.stdout.flush()
            added = (long[kind].stat().st_size - short[kind].stat().st_size) / 1e6
            missed |= rate < promised or grown[1] - grown[0] > added / 2
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
