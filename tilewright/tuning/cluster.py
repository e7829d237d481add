"""Workers of other machines, on ``dask.distributed``: some compile, others own a device and measure.

A worker says that it owns a device by the resource ``device``, and everything else is a compiler:

    dask scheduler
    CUDA_VISIBLE_DEVICES=0 dask worker tcp://host:8786 --nthreads 1 --resources device=1
    dask worker tcp://host:8786 --nthreads 16

Whoever tunes is the client: it searches, and owns the records file, so that nothing is lost with a worker. In
every worker a child process does the work, as on one machine (``workers``): what takes the child down costs a
try, and what takes the whole worker down goes to another one. Tasks are bound to one worker each, so that the
client knows which one a task was lost with. When the scheduler is gone, the client waits for it to come back,
with new workers, ``PATIENCE`` seconds.

All machines need the same version of this package and of the compiler: records are filed under these.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ClusterError, ClusterGone, DeviceError
from tilewright.model import Device
from tilewright.runtime import build
from tilewright.tuning.evaluate.table import EVALUATIONS
from tilewright.tuning.farm import Farm, compiler
from tilewright.tuning.workers import Answer, Worker

DEVICE = "device"
"""The resource of workers that own a device."""
PATIENCE = 60.0
"""Seconds to wait for a scheduler, and for a first worker."""
ASKING = 20.0
"""Seconds that a worker may take to say what it is."""
LOOK = 0.5
"""Seconds between two looks at which workers there are."""


# ---- in the workers


_lock = threading.Lock()
_idle: dict[tuple[str, str], list[Worker]] = {}


def _asked(what: str, device: Device, setup: Any, request: Any, limits: tuple[float, float]) -> Answer:
    """A task: one request to a child of this worker, the answer without the request. ``limits`` are seconds
    of the request, and of what comes before it in a fresh child."""
    with _lock:
        waiting = _idle.setdefault((what, device.key), [])
        child = waiting.pop() if waiting else _child(what, device)
    if setup is not None and setup != child.setup:
        child.prepare(setup, limits[1])
    # A worker under a nanny is a daemon, which may have no children, lest they outlive it. These do not.
    multiprocessing.current_process()._config.pop("daemon", None)  # type: ignore[attr-defined]
    answer = child.ask(request, limits[0])
    with _lock:
        waiting.append(child)
    return Answer(None, answer.status, answer.value, answer.detail)


def _child(what: str, device: Device) -> Worker:
    kind = EVALUATIONS[device.kind]
    if what == "measure":
        return Worker(kind.factory, (device,), environment=kind.environment)
    return Worker(compiler, (device,))


@dataclass(frozen=True, slots=True)
class Found:
    """What a worker is: its device, if it owns one, and its versions by kind of device."""

    device: Device | None
    versions: dict[str, str]


def _described(owner: bool) -> Found:
    """This worker. The device of an owner is its GPU, and its processor where there is none."""
    device = None
    if owner:
        try:
            device = TARGETS["cuda"].probe()
        except DeviceError:
            device = TARGETS["cpu"].probe()
    return Found(device, versions())


def versions() -> dict[str, str]:
    """What records are filed under here: the compiler and the stencils, by kind of device."""
    found = {}
    for kind, target in TARGETS.items():
        names = sorted(name for name, row in STENCILS.entries.items() if row.target == kind)
        with suppress(DeviceError):
            found[kind] = " ".join([target.toolchain(), *(build.generators(name)[:8] for name in names)])
    return found


# ---- in the client


class RemoteWorker:
    """One slot of one worker, used as a ``workers.Worker`` is."""

    def __init__(self, cluster: Cluster, what: str, address: str, device: Device, timeout: float):
        self.cluster, self.what, self.address, self.device = cluster, what, address, device
        self.timeout, self.generation = timeout, cluster.generation
        self.request: Any = None
        self._setup: tuple[Any, float] | None = None
        self._future: Any = None
        self._news, self._told = multiprocessing.Pipe(duplex=False)

    @property
    def busy(self) -> bool:
        """Whether it has a request."""
        return self.request is not None

    @property
    def free(self) -> bool:
        """Whether it takes a request now."""
        return not self.busy

    @property
    def pipe(self) -> Connection | None:
        """What becomes readable when a task has ended."""
        return self._news

    @property
    def gone(self) -> bool:
        """Whether the worker is no more, or belonged to a scheduler that is none."""
        return self.generation != self.cluster.generation or self.address not in self.cluster.addresses

    def prepare(self, request: Any, timeout: float | None = None) -> None:
        """What the child is to be told before any other request."""
        self._setup = (request, self.timeout if timeout is None else timeout)

    def send(self, request: Any, timeout: float | None = None) -> None:
        """Submit a task, for this worker alone."""
        self.request = request
        setup, patience = self._setup or (None, 0.0)
        limits = (self.timeout if timeout is None else timeout, patience)
        options: dict[str, Any] = {"resources": {DEVICE: 1}} if self.what == "measure" else {}
        with suppress(Exception):
            # What cannot be submitted now is adrift: ``receive`` says so.
            self._future = self.cluster.client.submit(
                _asked, self.what, self.device, setup, request, limits,
                workers=[self.address], allow_other_workers=False, pure=False, retries=0, **options,
            )  # fmt: skip
            told = self._told
            self._future.add_done_callback(lambda future: told.send_bytes(b"."))

    def receive(self) -> Answer | None:
        """The answer, if there is one. ``lost``: the worker ended meanwhile; ``adrift``: the scheduler did,
        which says nothing of the request."""
        while self._news.poll(0):
            self._news.recv_bytes()
        self.cluster.look()
        request, future = self.request, self._future
        if future is None or self.generation != self.cluster.generation:
            return self._given_up("adrift", "the scheduler is gone")
        status = future.status
        if status == "pending":
            return self._given_up("lost", f"worker {self.address} is gone") if self.gone else None
        if status == "finished":
            self.request = self._future = None
            answer: Answer = future.result()
            return Answer(request, answer.status, answer.value, answer.detail)
        if status == "error":
            error = future.exception()
            gone = type(error).__name__ == "KilledWorker"
            return self._given_up("lost" if gone else "failed", f"{type(error).__name__}: {error}")
        return self._given_up("adrift", f"the task is {status}")

    def ask(self, request: Any, timeout: float | None = None) -> Answer:
        """Send and wait."""
        self.send(request, timeout)
        while (answer := self.receive()) is None:
            wait([self._news], timeout=0.1)
        return answer

    def stop(self) -> None:
        """Give up the task; the worker goes on."""
        if self._future is not None:
            self._given_up("lost", "")

    def _given_up(self, status: str, detail: str) -> Answer:
        request, future = self.request, self._future
        self.request = self._future = None
        if future is not None:
            with suppress(Exception):
                future.cancel()
        return Answer(request, status, detail=detail)


@dataclass
class Cluster:
    """A connection to a scheduler that is made anew when the scheduler is. Raises ``ClusterGone`` where
    none answers for ``patience`` seconds, to everybody who uses it from then on."""

    address: str
    patience: float = PATIENCE
    client: Any = None
    generation: int = 0
    addresses: dict[str, int] = field(default_factory=dict)
    """Workers with their threads; 0: it owns a device."""
    devices: dict[str, Device] = field(default_factory=dict)
    gone: str = ""
    """Why it is given up."""

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._looked = -LOOK
        self._connect()

    def look(self, now: bool = False) -> None:
        """See which workers there are, some times a second; connect anew where the scheduler was lost."""
        with self._lock:
            if self.gone:
                raise ClusterGone(self.gone)
            if not now and time.monotonic() - self._looked < LOOK:
                return
            self._looked = time.monotonic()
            try:
                if self.client.status != "running":
                    raise OSError("the connection is closed")
                self._take_in(self.client.scheduler_info(n_workers=-1)["workers"])
            except ClusterError:
                raise
            except Exception:
                self._connect()

    def _connect(self) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise ClusterError(
                f"cluster={self.address!r} needs dask.distributed ({error}); "
                "accepted: pip install 'tilewright[cluster]'"
            ) from error
        self.close()
        self.generation += 1
        self.addresses, self.devices = {}, {}
        deadline, reason = time.monotonic() + self.patience, "no answer"
        while True:
            try:
                options = {"timeout": min(5.0, self.patience), "set_as_default": False}
                self.client = Client(self.address, **options)  # type: ignore[no-untyped-call]
                self._take_in(self.client.scheduler_info(n_workers=-1)["workers"])
                return
            except ClusterError:
                raise
            except Exception as error:
                self.close()
                reason = " ".join(f"{type(error).__name__}: {error}".split())
            if time.monotonic() > deadline:
                self.gone = (
                    f"cluster={self.address!r}: no scheduler for {self.patience:g} s ({reason}); what was "
                    "tried is recorded, and the same call goes on from there"
                )
                raise ClusterGone(self.gone)
            time.sleep(0.2)

    def _take_in(self, workers: dict[str, Any]) -> None:
        """Ask workers that are new what they are. Raises ``ClusterError`` for those of other versions."""
        for address in [address for address in self.addresses if address not in workers]:
            del self.addresses[address]
            self.devices.pop(address, None)
        for address, told in workers.items():
            if address in self.addresses:
                continue
            owner = DEVICE in told.get("resources", {})
            try:
                # Not ``run``, which would wait for ever for a worker that stalls.
                told_of = self.client.sync(
                    self.client._run, _described, owner, workers=[address], callback_timeout=ASKING
                )
                found: Found = told_of[address]
            except Exception as error:
                if "No module" in str(error) or isinstance(error, ImportError):
                    raise ClusterError(
                        f"worker {address} cannot load this package ({error}); accepted: workers that have it"
                    ) from error
                continue  # It ended while it was asked, or has not begun: the next look says.
            for kind in (found.device.kind,) if found.device else ():
                here = versions().get(kind)
                if here and found.versions.get(kind) != here:
                    raise ClusterError(
                        f"worker {address} compiles with {found.versions.get(kind)!r}, this process with "
                        f"{here!r}; accepted: one version of the package and of the compiler on all machines"
                    )
            self.addresses[address] = 0 if found.device else max(1, int(told.get("nthreads", 1)))
            if found.device is not None:
                self.devices[address] = found.device

    def wait_for_devices(self) -> list[Device]:
        """The devices of all workers, at least one. Raises ``ClusterError`` where none comes."""
        deadline = time.monotonic() + self.patience
        while not self.devices:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"cluster={self.address!r}: no worker owns a device; accepted: one at least that was "
                    f"started with --resources {DEVICE}=1"
                )
            time.sleep(0.1)
            self.look()
        # Workers that were started together come one after another.
        time.sleep(2 * LOOK)
        self.look()
        return list(self.devices.values())

    def close(self) -> None:
        """End the connection; workers stay."""
        client, self.client = self.client, None
        if client is not None:
            with suppress(Exception):
                client.close(timeout=1)


def remote(cluster: Cluster, device: Device, timeout: float = 30.0, measuring: float | None = None) -> Farm:
    """Those workers of a cluster that own devices like this one, and all that compile; this machine compiles
    where no worker does. Who comes later joins in. Time limits as of ``farm.local``."""
    patience = timeout if measuring is None else measuring
    own: list[Worker] = []
    farm = Farm([], [])

    def kept(workers: Sequence[Any]) -> list[Any]:
        # Who has a request stays until it has said what became of it.
        return [one for one in workers if one.busy or not isinstance(one, RemoteWorker) or not one.gone]

    def refresh() -> None:
        cluster.look()
        farm.benches[:], farm.compilers[:] = kept(farm.benches), kept(farm.compilers)
        there = {one.address for one in (*farm.benches, *farm.compilers) if isinstance(one, RemoteWorker)}
        for address, threads in cluster.addresses.items():
            if address in there:
                continue
            found = cluster.devices.get(address)
            if found is None:
                farm.compilers += [
                    RemoteWorker(cluster, "compile", address, device, timeout) for _ in range(threads)
                ]
            elif found.key == device.key:
                farm.benches.append(RemoteWorker(cluster, "measure", address, device, patience))
        if not farm.compilers:
            builders = range(EVALUATIONS[device.kind].compilers(device))
            own.extend(Worker(compiler, (device,), timeout=timeout) for _ in (() if own else builders))
            farm.compilers += own

    def more() -> bool:
        """Wait for a device. Raises ``ClusterGone`` where none comes."""
        deadline = time.monotonic() + cluster.patience
        while not farm.benches:
            if time.monotonic() > deadline:
                raise ClusterGone(
                    f"cluster={cluster.address!r}: no worker owns a {device.key} any more; what was tried "
                    "is recorded, and the same call goes on from there"
                )
            time.sleep(0.1)
            refresh()
        return True

    farm.refresh, farm.more = refresh, more
    refresh()
    return farm
