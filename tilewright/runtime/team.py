"""The team of threads that shares a batch: an OpenMP runtime, found and not linked."""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass

from tilewright.runtime.compiled import address_of


@dataclass(frozen=True)
class Team:
    """The addresses of an OpenMP runtime, and where it was found."""

    parallel: int
    thread_num: int
    num_threads: int
    path: str


@functools.cache
def find_team() -> Team | None:
    """An OpenMP runtime with GCC's interface, already loaded or on the system; None when there is none.

    One that the process has loaded comes first: two runtimes would keep two sets of threads.
    """
    names = []
    try:
        with open("/proc/self/maps") as maps:
            loaded = {line.split()[-1] for line in maps if "omp" in line and ".so" in line}
        names += sorted(
            path for path in loaded if os.path.basename(path).startswith(("libgomp", "libomp", "libiomp"))
        )
    except OSError:
        pass
    names += ["libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"]
    for name in names:
        try:
            library = ctypes.CDLL(name)
            return Team(
                address_of(library.GOMP_parallel),
                address_of(library.omp_get_thread_num),
                address_of(library.omp_get_num_threads),
                name,
            )
        except (OSError, AttributeError):
            continue
    return None


def clock() -> int:
    """The address of ``clock_gettime``, whose clock 1 is a monotonic one; 0 where the system has none."""
    try:
        return address_of(ctypes.CDLL(None).clock_gettime)
    except (OSError, AttributeError, TypeError):
        return 0


ALLOWED = ctypes.c_longlong(1)
"""Whether there may be a team. OpenMP's threads do not survive a fork: in the child a team would wait for
threads that are gone."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: setattr(ALLOWED, "value", 0))
