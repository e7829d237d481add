"""Many devices on one list of jobs: teams of like devices, each with a tuner of its own.

The devices of a team share the tries of every job, for their records are each other's. Teams of different
devices go through the same jobs side by side, into the same records file; each leaves out what no kernel of
its kind accepts. A team whose cluster stays away goes on here, where a device like its own is.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tilewright.catalog import STENCILS, TARGETS
from tilewright.errors import ArgumentError, ClusterGone, DeviceError
from tilewright.model import Device
from tilewright.store.records import Records
from tilewright.targets.cuda import devices
from tilewright.tuning import tasks, tuner
from tilewright.tuning.cluster import Cluster, remote
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.farm import Farm
from tilewright.tuning.gemm.jobs import TuningJob
from tilewright.tuning.results import Progress, Result


@dataclass(frozen=True, slots=True)
class Team:
    """Like devices: the first of them as data, the numbers of those of this machine, and who works for them
    where that is not this machine."""

    device: Device
    numbers: tuple[int, ...] = ()
    farm: Callable[[], Farm] | None = None


def teams(of_all: Sequence[Device]) -> list[Team]:
    """Devices of this machine in teams, by their keys."""
    found: dict[str, list[Device]] = {}
    for device in of_all:
        found.setdefault(device.key, []).append(device)
    return [Team(like[0], tuple(device.index for device in like)) for like in found.values()]


def members(joined: Cluster, known: Callable[[Device], Device]) -> list[Team]:
    """The devices of a cluster's workers in teams; ``known`` adds what was measured of a device."""
    found = {device.key: device for device in joined.wait_for_devices()}
    return [Team(known(device), farm=functools.partial(remote, joined, device)) for device in found.values()]


def chosen(gpus: str | Sequence[int]) -> list[int]:
    """The GPUs of this machine that are named. Raises as ``numbers``."""
    return numbers(gpus, devices.count())


def numbers(gpus: str | Sequence[int], count: int) -> list[int]:
    """The GPUs that are named: ``all``, numbers with commas, or a sequence of them. Raises ``ArgumentError``
    for others than the ``count`` that there are."""
    accepted = (
        f"accepted: all, or numbers from 0 to {count - 1}" if count else "accepted: none, no GPU is here"
    )
    named: Sequence[Any] = gpus.split(",") if isinstance(gpus, str) else gpus
    if gpus == "all" and count:
        return list(range(count))
    try:
        found = list(dict.fromkeys(int(each) for each in named))
    except (TypeError, ValueError):
        raise ArgumentError(f"gpus={gpus!r}; {accepted}") from None
    if not found or not all(0 <= each < count for each in found):
        raise ArgumentError(f"gpus={gpus!r}; {accepted}")
    return found


def tuned(
    jobs: Sequence[TuningJob],
    all_teams: Sequence[Team],
    records: Records,
    *,
    effort: str,
    search: str | None,
    budget: float | None,
    tries: int | None,
    again: bool,
    listen: Callable[[Progress], None] | None = None,
) -> list[Result]:
    """The results of all jobs, team by team; see ``api.tune``."""
    granted, usual = EFFORTS[effort]

    def go_on(team: Team, mine: Sequence[TuningJob], results: list[Result]) -> None:
        made: dict[str, Any] = {"numbers": team.numbers} if team.numbers else {}
        if team.farm is not None:
            made["farm"] = team.farm()
        with tuner.Tuner(team.device, records, listen=listen, **made) as one:
            for problem, regime, part in mine[len(results) :]:
                if not usual:
                    results.append(one.recorded(problem, regime))
                    continue
                each = granted * part if budget is None else budget / len(mine)
                options: dict[str, Any] = {"search": search or usual, "budget": each, "tries": tries}
                place = (len(results), len(mine))
                results.append(one.tune(problem, regime, place=place, again=again, **options))

    def work(team: Team, mine: Sequence[TuningJob]) -> list[Result]:
        results: list[Result] = []
        try:
            go_on(team, mine, results)
        except ClusterGone as error:
            here = instead(team)
            if here is None:
                raise
            left, where = len(mine) - len(results), ", ".join(map(str, here.numbers))
            warnings.warn(
                f"{error}; {left} of {len(mine)} jobs of {team.device.key} go on on this machine"
                + (f", on GPU {where}" if where else ""),
                RuntimeWarning,
                stacklevel=2,
            )
            go_on(here, mine, results)
        return results

    if len(all_teams) == 1:
        return work(all_teams[0], jobs)
    shares = shared(jobs, all_teams)
    with ThreadPoolExecutor(len(all_teams)) as pool:
        futures = [pool.submit(work, *each) for each in zip(all_teams, shares, strict=True)]
        return [result for future in futures for result in future.result()]


def shared(jobs: Sequence[TuningJob], all_teams: Sequence[Team]) -> list[list[TuningJob]]:
    """Each team's jobs: those that a kernel of its kind of device accepts. Raises ``ArgumentError`` for one
    that nobody's does."""

    def takes(team: Team, job: TuningJob) -> bool:
        return bool(tasks.taking(tasks.sized(*job[:2], team.device), team.device, STENCILS))

    shares: list[list[TuningJob]] = [[] for _ in all_teams]
    for job in jobs:
        takers = [share for team, share in zip(all_teams, shares, strict=True) if takes(team, job)]
        if not takers:
            keys = ", ".join(team.device.key for team in all_teams)
            raise ArgumentError(f"problem={job[0].spelling}: no stencil accepts it on any of {keys}")
        for share in takers:
            share.append(job)
    return shares


def instead(team: Team) -> Team | None:
    """Devices of this machine that are like a team's, to whose records theirs belong; None without any."""
    kind, key, like = team.device.kind, team.device.key, list[Device]()
    with suppress(DeviceError):
        numbers_here = range(devices.count()) if kind == "cuda" else (0,)
        like = [each for each in map(TARGETS[kind].probe, numbers_here) if each.key == key]
    numbers_like = tuple(each.index for each in like) if kind == "cuda" else ()
    return Team(team.device, numbers_like) if like else None
