"""``python -m bench.analysis``: kernels one after the other, or one of them started under a profiler."""

from __future__ import annotations

from bench import lines
from bench.analysis.child import launched
from bench.analysis.kernel import analysed
from bench.analysis.options import named, parsed, problems
from bench.analysis.profiler import profiled
from bench.analysis.report import shown
from tilewright.errors import ArgumentError, DeviceError, TilewrightError
from tilewright.model import Problem
from tilewright.planning import dispatch


def main() -> None:
    """Analyse the kernels that the command line asks for, or start one under a profiler."""
    options = parsed()
    if options.launch:
        (problem,) = Problem.parse(options.launch, beta=options.beta)
        launched(problem, dispatch.device("cuda"))
        return
    console, device = lines.console(), named(options.device, options.copy)
    sink = lines.Sink(options.out, "analysis", device, vars(options)) if options.out else None
    for problem in problems(options.problems, lines.words(options.beta)):
        try:
            line = analysed(problem, device)
        except TilewrightError as error:
            line = {"kind": "analysis", "problem": problem.spelling, "beta": problem.beta}
            line["missing"] = str(error)
            console.print(f"{problem.spelling} beta {problem.beta}: {error}", markup=False)
        else:
            if options.profile:
                try:
                    line["profile"] = profiled(problem)
                except DeviceError as error:
                    line["no_profile"] = str(error)
            console.print(shown(line), markup=False, soft_wrap=True)
        if sink:
            sink.write(line)


if __name__ == "__main__":
    try:
        main()
    except ArgumentError as error:
        raise SystemExit(str(error)) from error
