"""A kernel on the screen."""

from __future__ import annotations

from bench.lines import Line
from tilewright.model import Config


def shown(line: Line) -> str:
    """A kernel on the screen, a few lines."""
    rows = [f"{line['problem']} beta {line['beta']}: {line['stencil']} ({line['origin']})"]
    rows.append(f"  {Config(line['config'])}")
    for name, one in line["roofline"].items():
        rows.append(
            f"  {name:11} {one['intensity']:.3g} flop/byte, at most {one['bound_tflops']:.2f} TF/s and "
            f"{one['bound_terabytes']:.2f} TB/s, by {one['limit']}"
        )
    rows.append(
        f"  {line['registers']} registers, {line['spills']} bytes spilled, {line['shared']} bytes shared; "
        f"{line['blocks_per_sm']} blocks, {line['warps_per_sm']} warps an SM ({line['occupancy']:.0%}), "
        f"limited by {line['limited_by']}"
    )
    for name in ("mix", "loop"):
        if name in line:
            counts = ", ".join(f"{what} {count}" for what, count in line[name].items() if count)
            rows.append(f"  {'kernel' if name == 'mix' else 'loop':7} {sum(line[name].values())}: {counts}")
    if "profile" in line:
        rows.append(f"  measured {line['profile']}")
    return "\n".join([*rows, *(f"  {line[key]}" for key in ("missing", "no_profile") if key in line)])
