"""What a kernel runs on, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

SHARED_MOST = 32 << 20
"""Bytes of a last cache that are believed in without a measurement: what the cores that share one have on
common server processors. More is mostly the cache of a whole socket, and not one virtual machine's."""


@dataclass(frozen=True, slots=True)
class Device:
    """What a kernel runs on, as data: rules read ``limits``, reports read ``ceilings``.

    ``limits`` are counts and bytes (a CPU: vector_bits, vector_registers, masks, prefetch, cores, l1d,
    l2, l3; a GPU: see ``targets.cuda.capability``). ``features`` says what is compiled for. ``ceilings``
    are measured: ``bandwidth.<mix>.<cores>`` in bytes/s, ``peak.<type>.<cores>`` in flop/s and
    ``knee.<cores>`` in bytes.
    ``supports`` names what its instructions can do (a GPU: ``targets.cuda.capability.FEATURES``; a CPU:
    ``targets.cpu.isa.FEATURES``), ``rates`` how many multiply-adds a GPU's multiprocessor does in a clock:
    ``fma.<type>`` by its arithmetic units, ``tensor.<type>`` by its tensor cores, ``mma.<type>`` by these
    when each warp asks for its own product. Stencils ask for these, not for a model or a version.
    ``index`` and ``uuid`` say which GPU of this machine it is (0 and "" for what is not here). Devices that
    are alike are equal whatever their numbers, so that plans and records of one serve the other.
    """

    kind: str
    name: str
    key: str
    limits: Mapping[str, int]
    features: str = ""
    ceilings: Mapping[str, float] = field(default_factory=dict)
    supports: frozenset[str] = frozenset()
    rates: Mapping[str, float] = field(default_factory=dict)
    index: int = field(default=0, compare=False)
    uuid: str = field(default="", compare=False)

    def __getitem__(self, limit: str) -> int:
        return self.limits[limit]

    @property
    def last_cache(self) -> int:
        """Bytes that the cache before memory claims: the third level of a CPU, the second of a GPU."""
        return self.limits["l3" if "l3" in self.limits else "l2"]

    def ceiling(self, name: str, cores: int) -> float | None:
        """A measured ceiling; None where there is none. For a count of cores that was not measured, no more
        than fewer cores could reach if they scaled, and no more than all of them reach."""
        exact = self.ceilings.get(f"{name}.{cores}")
        if exact is not None:
            return exact
        measured = {
            int(key.rpartition(".")[2]): value
            for key, value in self.ceilings.items()
            if key.rpartition(".")[0] == name
        }
        return min((value * max(1.0, cores / count) for count, value in measured.items()), default=None)

    def knee(self, cores: int | None = None) -> int:
        """Bytes that ``cores`` cores (None: all) can use again and again faster than memory gives them.

        Where it was measured (``tuning.ceilings_cpu``) it is that; a GPU's is else its second level. A
        processor's is else a guess, because what a virtual machine claims as its last cache is that of the
        whole host: the second levels of these cores and their share of the last one, of which no more than
        ``SHARED_MOST`` are believed, and never more than is claimed. The guess is low on purpose: cached
        data that are planned for memory are still read from the cache where they lie, and only the stores
        go past it; data in memory that are planned as cached are fetched before they are overwritten, and
        without a prefetch (products of order 16 ran at 18 Gflop/s in place of 33).
        """
        everyone = self.limits.get("cores", 1)
        count = everyone if cores is None else min(cores, everyone)
        measured = self.ceiling("knee", count)
        if "l3" not in self.limits:
            return self.last_cache if measured is None else int(measured)
        alone, shared = self.limits.get("l2", 0), self.limits["l3"]
        if measured is None:
            measured = min(shared, count * alone + min(shared * count // everyone, SHARED_MOST))
        # A measurement may be noisy: what a core has for itself is faster than memory, and no more than all
        # caches of these cores claim is.
        return max(alone, min(int(measured), count * (alone + shared)))

    def with_cores(self, cores: int) -> Device:
        """The same device of which no more than ``cores`` cores are used."""
        if cores == self.limits.get("cores", 1):
            return self
        ceilings = {**self.ceilings, f"knee.{cores}": float(self.knee(cores))}
        return replace(self, limits={**self.limits, "cores": cores}, ceilings=ceilings)

    def __hash__(self) -> int:
        return hash((self.kind, self.key, self.features))
