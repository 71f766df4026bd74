"""Compiled functions whose cache on the disk mends itself."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

from numba import njit
from numba.core import caching

__all__ = ["compiled"]

_Cache: Any = caching.FunctionCache
_log = logging.getLogger("heft.compiled")


class _MendingCache(_Cache):  # type: ignore[misc]  # numba is not typed
    """A file of the cache that was cut off, by a power cut or a full disk, is thrown away and made anew.

    So is one that holds code of other files, `inlined`, when these have changed: numba looks at the function's own.
    """

    def __init__(self, function: Callable[..., Any], inlined: Sequence[str]) -> None:
        super().__init__(function)
        others = tuple((one.st_mtime, one.st_size) for one in map(os.stat, inlined))
        if others:
            self._cache_file._source_stamp = (self._cache_file._source_stamp, others)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as exc:  # whatever reading such a file runs into
            _log.info("the compiled code in %s cannot be read (%s): it is made anew", self.cache_path, exc)
            self._try(self.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if not self._try(lambda: super(_MendingCache, self).save_overload(sig, data)) and self._try(
            self.flush
        ):
            self._try(lambda: super(_MendingCache, self).save_overload(sig, data))

    def _try(self, action: Callable[[], Any]) -> bool:
        """Whether it could be done; a program without a cache is slower to begin, and no worse."""
        try:
            action()
        except Exception as exc:
            _log.info("compiled code cannot be kept in %s (%s)", self.cache_path, exc)
            return False
        return True


def compiled(inlined: Sequence[str] = (), **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: numba's `njit` with these options, without Python's lock, kept on the disk.

    inlined   files of other compiled functions that it calls
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(nogil=True, error_model="numpy", **options)(function)
        dispatcher._cache = _MendingCache(function, inlined)
        return dispatcher

    return decorate
