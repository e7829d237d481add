"""Many devices on one list of jobs: teams of like devices, each with a tuner of its own.

The devices of a team share the tries of every job, for their records are each other's. Teams of different
devices go through the same jobs side by side, into the same records file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.model import Device
from tilewright.store.records import Records
from tilewright.targets.cuda import devices
from tilewright.tuning import tuner
from tilewright.tuning.cluster import Cluster, remote
from tilewright.tuning.effort import EFFORTS
from tilewright.tuning.farm import Farm
from tilewright.tuning.gemm.jobs import TuningJob
from tilewright.tuning.tuner import Progress, Result


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

    def work(team: Team) -> list[Result]:
        made: dict[str, Any] = {"numbers": team.numbers} if team.numbers else {}
        if team.farm is not None:
            made["farm"] = team.farm()
        results = []
        with tuner.Tuner(team.device, records, listen=listen, **made) as one:
            for number, (problem, regime, part) in enumerate(jobs):
                if not usual:
                    results.append(one.recorded(problem, regime))
                    continue
                each = granted * part if budget is None else budget / len(jobs)
                options: dict[str, Any] = {"search": search or usual, "budget": each, "tries": tries}
                place = (number, len(jobs))
                results.append(one.tune(problem, regime, place=place, again=again, **options))
        return results

    if len(all_teams) == 1:
        return work(all_teams[0])
    with ThreadPoolExecutor(len(all_teams)) as pool:
        futures = [pool.submit(work, team) for team in all_teams]
        return [result for future in futures for result in future.result()]
