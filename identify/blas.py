"""The linear algebra library on one thread.

OpenBLAS, which numpy's and scipy's wheels bring along, starts as many threads as there are processors. For matrices
of a hundred columns they only wait for each other: measured, a fit takes 5 to 10 times as long on a busy machine,
and its last bits depend on the number of processors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """While this lasts, numpy and scipy use one thread; also as a decorator. Other libraries are left alone."""
    before = [(put, get()) for get, put in _libraries()]
    for put, _ in before:
        put(1)
    try:
        yield
    finally:
        for put, count in before:
            put(count)


@lru_cache(maxsize=1)
def _libraries() -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """How to ask for and to set the number of threads, for each OpenBLAS that came with a wheel."""
    import numpy
    import scipy

    found = []
    for package in (numpy, scipy):
        home = Path(str(package.__file__)).parent
        for folder in (home.parent / f"{package.__name__}.libs", home / ".dylibs"):
            for file in sorted(folder.glob("*openblas*")):
                found += _functions(file)
    return tuple(found)


def _functions(file: Path) -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    try:
        library = ctypes.CDLL(str(file))
    except OSError:
        return []
    for prefix in ("scipy_", ""):
        for suffix in ("64_", ""):
            get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
            put = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                get.argtypes, get.restype = [], ctypes.c_int
                put.argtypes, put.restype = [ctypes.c_int], None
                return [(get, put)]
    return []
