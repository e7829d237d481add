"""``python -m bench.batches``: one of the commands, or what one has written in short or drawn."""

from __future__ import annotations

import sys

from bench import lines
from bench.batches import plan
from bench.batches.commands import parsed, perform
from bench.batches.figures import plot
from bench.batches.run import Run
from bench.batches.summed import summary
from tilewright.errors import ArgumentError
from tilewright.planning import dispatch


def main(words: list[str]) -> int:
    """Run one of the commands, or say in short or draw what one has written; the exit status."""
    console = lines.console()
    if words[:1] == ["plan"]:
        return plan.main(words[1:], console)
    options = parsed(words)
    if options.summary or options.draw:
        if options.summary:
            for text in summary(list(lines.read(options.summary))):
                console.print(text, markup=False, soft_wrap=True)
        if options.draw:
            console.print(plot(options.plot, options.command, list(lines.read(options.draw))), markup=False)
        return 0
    lines.demand_gpu()
    with Run(options, dispatch.device("cuda"), console) as run:
        perform(run)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ArgumentError as error:
        raise SystemExit(str(error)) from error
