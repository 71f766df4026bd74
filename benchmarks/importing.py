"""How fast files of other tools are imported, and in how much memory.

    python benchmarks/importing.py [--rows 1000000] [--joints 7] [--times 3] [--folder DIR]

Writes the same motion as NPZ, Parquet and CSV. A row is a time and position, velocity and torque of each joint: with
7 joints 22 doubles, 176 bytes (six decimals in CSV), noisy, so that nothing of it can be compressed away. Each file is
imported in a process of its own as `heft import` does: opened, its columns guessed, every row written to an MCAP
recording with checksums, and of every tenth row (100 of 1000 Hz) a JointState message for viewers; on the disk (fsync)
when it ends.

Of `--times` runs the fastest counts. `rows/s` is by the clock on the wall, `rows/CPU s` by the time that the
processor spent on it, which is the one to judge by on a machine that does other things, too. `reference` is the
plainest way to do the same within the same run: the whole file loaded by numpy or pyarrow, and its rows written by the
writer of the `mcap` library, in messages and chunks of the same sizes, with lz4 and checksums, without copies for
viewers; `ratio` is the import's processor time over that. Memory is what the process grew by at its peak, for a file
and for one of a tenth of the rows.

Exit code 1 where rows/CPU s is below what is promised (1 million for NPZ and Parquet, 200 000 for CSV), or memory
grows by more than a tenth of what the file does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PROMISED = {"npz": 1e6, "parquet": 1e6, "csv": 2e5}
CHUNK_BYTES, BLOCK_ROWS = 1 << 19, 1000  # as the import has them at 1 kHz
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


def reference(path: Path, into: Path) -> None:
    """Load one file whole and write its rows with the library's own writer; seconds as JSON."""
    import pyarrow.parquet as pq
    from mcap.writer import CompressionType, Writer
    from pyarrow import csv

    started, worked = time.perf_counter(), time.process_time()
    if path.suffix == ".npz":
        with np.load(path) as file:
            columns = [file[name] for name in ("t", "q", "dq", "tau")]
    else:
        table = pq.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
        columns = [column.to_numpy() for column in table.columns]
    values = np.column_stack(columns)
    with into.open("wb") as file:
        writer = Writer(file, chunk_size=CHUNK_BYTES, compression=CompressionType.LZ4)
        writer.start()
        schema = writer.register_schema("rows", "", b"")
        channel = writer.register_channel("rows", "", schema)
        for start in range(0, len(values), BLOCK_ROWS):
            at = int(values[start, 0] * 1e9)
            writer.add_message(channel, at, values[start : start + BLOCK_ROWS].tobytes(), at)
        writer.finish()
        file.flush()
        os.fsync(file.fileno())
    write(json.dumps({"seconds": time.perf_counter() - started, "cpu": time.process_time() - worked}) + "\n")


def peak_mb() -> float:
    """Most memory that this process has had so far [MB]."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def measure(path: Path, into: Path, *, what: str = "--child", times: int = 1) -> dict[str, float]:
    """The fastest of some runs; of each figure the smallest."""
    found: list[dict[str, float]] = []
    for _ in range(times):
        into.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, __file__, what, str(path), str(into)], check=True, capture_output=True, text=True
        )
        found.append(json.loads(done.stdout))
    into.unlink(missing_ok=True)
    return {key: min(one[key] for one in found) for key in found[0]}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--joints", type=int, default=7)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--child", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--reference", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return 0
    if arguments.reference:
        reference(*arguments.reference)
        return 0
    missed = False
    numbers = 1 + 3 * arguments.joints
    write(f"a row: {numbers} doubles, {8 * numbers} bytes; load of this machine: {os.getloadavg()[0]:.1f}\n")
    write(
        f"{'format':<9}{'rows':>10}{'MB':>6}{'rows/s':>10}{'rows/CPU s':>12}{'promised':>10}"
        f"{'reference':>11}{'ratio':>7}{'memory':>9}\n"
    )
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        short, long = (
            make(folder, rows, arguments.joints) for rows in (arguments.rows // 10, arguments.rows)
        )
        into = folder / "into.mcap"
        for kind, promised in PROMISED.items():
            memory = measure(short[kind], into)["grown_mb"]
            found = measure(long[kind], into, times=arguments.times)
            plain = measure(long[kind], into, what="--reference", times=arguments.times)
            rate = found["rows"] / found["cpu"]
            write(
                f"{kind:<9}{found['rows']:>10}{long[kind].stat().st_size / 1e6:>6.0f}"
                f"{found['rows'] / found['seconds']:>10.0f}{rate:>12.0f}{promised:>10.0f}"
                f"{found['rows'] / plain['cpu']:>11.0f}{found['cpu'] / plain['cpu']:>7.2f}"
                f"{found['grown_mb']:>6.0f} MB ({memory:.0f} MB for a tenth of the rows)\n"
            )
            sys.stdout.flush()
            added = (long[kind].stat().st_size - short[kind].stat().st_size) / 1e6
            missed |= rate < promised or found["grown_mb"] - memory > added / 10
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
