"""The engine: Dask's processes on this machine, or any Dask cluster (docs/decisions/0019-fleets.md)."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heft import __version__
from heft.daq.errors import BusError, ConfigError
from heft.fleet.sources import needs

__all__ = ["ClusterOptions", "cluster_client"]

MEMORY = 1_000_000_000  # bytes of each local worker: a session of 60 s needs a third of it
ANSWER_S = 10.0
#: Dask has its workers give freed memory back at once (64 kB): arrays of a session are then fetched from the system
#: again and again, which doubles its processor time. Here as the C library has it by itself after a while [bytes].
MALLOC = {"MALLOC_TRIM_THRESHOLD_": 256 * 1024 * 1024, "MALLOC_MMAP_THRESHOLD_": 32 * 1024 * 1024}

#: How often Dask's processes look at themselves: a hundred times a second by default, for pages that nobody opens here.
WATCHING = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


@dataclass(frozen=True)
class ClusterOptions:
    """Where to compute.

    on        address of a Dask scheduler; None: processes of this machine
    workers   number of local processes; None: as many as this program may use processors
    ca, certificate, key   PEM files of a cluster that speaks TLS, all or none
    """

    on: str | None = None
    workers: int | None = None
    memory: int = MEMORY
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @property
    def encrypted(self) -> bool:
        """Whether TLS was asked for."""
        return self.ca is not None

    def check(self) -> None:
        """`ConfigError` where options do not go with each other."""
        files = [self.ca, self.certificate, self.key]
        if any(files) and not all(files):
            raise ConfigError("--tls-ca, --tls-cert and --tls-key go together; give all three or none")
        for file in filter(None, files):
            if not file.is_file():
                raise ConfigError(f"{file}: no such file; give the PEM files of the cluster")
        if self.encrypted and self.on is None:
            raise ConfigError(
                "--tls-...: local processes need none; name a scheduler, as --on tls://host:8786"
            )
        if self.on is not None and self.encrypted and not self.on.startswith("tls://"):
            raise ConfigError(f"--on {self.on}: with TLS the address begins with tls://")


@contextmanager
def cluster_client(options: ClusterOptions) -> Iterator[Any]:
    """A Dask client, and its cluster where that is this program's own; both are gone afterwards."""
    options.check()
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as exc:
        raise needs("distributed") from exc
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is told here
    with dask.config.set(
        {
            "distributed.admin.tick.limit": "1h",
            "distributed.comm.timeouts.connect": f"{ANSWER_S}s",
            "distributed.worker.preload": ["heft.fleet.quiet_worker"],
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.target": False,
            **WATCHING,
            # None waits at a worker: where one kills its worker, Dask holds all that are there to be guilty.
            "distributed.scheduler.worker-saturation": 1.0,
            **{f"distributed.nanny.pre-spawn-environ.{name}": size for name, size in MALLOC.items()},
        }
    ):
        if options.on is not None:
            with _remote_client(options) as client:
                yield client
            return
        workers = options.workers or len(os.sched_getaffinity(0))
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=options.memory,
                dashboard_address="127.0.0.1:0",
                host="127.0.0.1",
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


@contextmanager
def _remote_client(options: ClusterOptions) -> Iterator[Any]:
    from distributed import Client
    from distributed.security import Security

    security = None
    if options.encrypted:
        security = Security(
            tls_ca_file=str(options.ca),
            tls_client_cert=str(options.certificate),
            tls_client_key=str(options.key),
            require_encryption=True,
        )
    try:
        client = Client(options.on, security=security, timeout=ANSWER_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError, RuntimeError) as exc:
        raise BusError(
            f"--on {options.on}: no scheduler answers there: {exc}; start one (dask scheduler)"
        ) from exc
    with client:
        versions = client.run(_version)
        if not versions:
            raise BusError(
                f"--on {options.on}: the cluster has no worker; start some (dask worker {options.on})"
            )
        for worker, version in versions.items():
            if version != __version__:
                raise ConfigError(
                    f"worker {worker} has heft {version}, this program {__version__}; install the same on both"
                )
        yield client


def _version() -> str:
    from heft import __version__

    return __version__
