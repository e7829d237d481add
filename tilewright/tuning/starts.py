"""Where a search begins: with what is likely to be good before anything is measured.

1. The stencil's default, which its cost model likes best, and what else it proposes.
2. *Incumbents*: what won this very problem, here or in the records that ship. They are tried whatever the
   budget is, and are finalists, so that no run ends with a slower kernel than the one before.
3. The fastest of earlier searches of this problem.
4. What won in another regime, or for near problems on this device.
5. The same of the most similar device (``planning.kin``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.catalog import TARGETS
from tilewright.model import VENDOR, Config, Device, Record
from tilewright.planning import kin
from tilewright.space import HARDWARE, Space, completed
from tilewright.store.records import Records
from tilewright.task import Task

EARLIER = 3
"""Configs of earlier searches, and of a similar device, that a search begins with."""


@dataclass(frozen=True, slots=True)
class Starts:
    """Points of a space to begin with, the default first; ``sure`` are tried whatever the budget is."""

    configs: tuple[Config, ...]
    sure: frozenset[Config]


def incumbents(records: Records, problem: Task, regime: str, device: Device) -> list[Record]:
    """What won this problem, in the records of this user and in those that ship, under any of the device's
    names."""
    names = TARGETS[device.kind].keys(device.key)
    found = [
        best
        for name in names
        for best in (
            records.best(problem.key, regime, name, without=VENDOR),
            records.best_shipped(problem.key, regime, name, without=VENDOR),
        )
        if best is not None
    ]
    return list({(each.stencil, each.config): each for each in found}.values())


def starts(
    records: Records,
    problem: Task,
    regime: str,
    device: Device,
    stencil: str,
    space: Space,
    proposed: Sequence[Config],
    timed: Sequence[Record],
) -> Starts:
    """Where the search of a stencil's space begins. ``proposed`` by the stencil, its default first; ``timed``
    are its own earlier tries, fastest first."""
    default = proposed[0]
    configs, sure = [default], [default]

    def whole(record: Record) -> Config:
        # Records of before do not name parameters that came later.
        return completed(space.params, record.config)

    for each in incumbents(records, problem, regime, device):
        # What won goes on running under rules that came later and only keep what is seldom good away.
        if each.stencil == stencil and fits(space, whole(each)):
            sure.append(whole(each))
    configs += [*sure[1:], *(each for each in proposed[1:] if inside(space, each))]
    configs += [whole(each) for each in timed[:EARLIER] if inside(space, whole(each))]
    for near in _near(records, problem, regime, device):
        same = near.problem.extents == problem.extents
        start = mended(space, whole(near), default) if same else whole(near)
        if near.stencil == stencil and start not in configs and inside(space, start):
            configs.append(start)
    return Starts(tuple(dict.fromkeys(configs)), frozenset(sure))


def _near(records: Records, problem: Task, regime: str, device: Device) -> Iterator[Record]:
    """What won problems like this one, on this device and then on the most similar one."""
    yield from records.near(problem, regime, device.key, without=VENDOR)
    relative = kin.nearest(device, records.devices())
    if relative is not None:
        exact = records.best(problem.key, regime, relative, without=VENDOR)
        near: Iterable[Record] = records.near(problem, regime, relative, without=VENDOR)[:EARLIER]
        yield from (each for each in (exact, *near) if each is not None)


def inside(space: Space, config: Config) -> bool:
    """Whether a config of another time or problem is a point of this space."""
    return config.keys() == {param.name for param in space.params} and config in space


def fits(space: Space, config: Config) -> bool:
    """Whether a config is one that calls may run: a point of this space under the rules of the hardware."""
    named = config.keys() == {param.name for param in space.params}
    return named and space.member(config, HARDWARE) is None


def mended(space: Space, config: Config, default: Config) -> Config:
    """A config of another class of beta or regime, with one value of the default's if it needs that.

    What wins with beta 0 may stream its stores, which nothing that reads C can do: all its other values
    are good ones to begin with.
    """
    if inside(space, config) or config.keys() != default.keys():
        return config
    tries = (config.with_(**{name: default[name]}) for name in config if config[name] != default[name])
    return next((each for each in tries if inside(space, each)), config)
