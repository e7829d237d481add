"""Ceilings of this machine, which commands that print shares of them measure where they are not known."""

from __future__ import annotations

from tilewright.cli import render
from tilewright.cli.queries import devices
from tilewright.planning import dispatch


def of_processor(quiet: bool, again: bool = False) -> None:
    """See to it that the processor's ceilings are known: all of them, an older version had no knee."""
    known = dispatch.device().ceilings
    if again or not any(name.startswith("knee.") for name in known):
        if not quiet:
            render.aside.print("measuring bandwidth, peak and knee (some seconds) ...")
        devices.measure_ceilings()


def of_gpus(quiet: bool, again: bool = False) -> dict[str, str]:
    """See to it that the ceilings of the GPUs are known; why they are not, by their keys."""
    failed = devices.measure_gpus(again)
    if not quiet:
        for key, reason in failed.items():
            render.aside.print(f"no bound: {key} was not measured: {reason}", markup=False)
    return failed
