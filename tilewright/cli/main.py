"""The command ``tilewright``: which commands there are, and what becomes of their errors."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Annotated

import typer

from tilewright.cli.commands import comparing, demo, looking, pages, stores, tuning
from tilewright.errors import TilewrightError

# In the order in which --help lists them: what looks, what works, what is kept, the main job.
COMMANDS: dict[str, Callable[..., None]] = {
    "doctor": looking.doctor,
    "space": looking.space,
    "explain": looking.explain,
    "show": looking.show,
    "gaps": stores.gaps,
    "tune": tuning.tune,
    "set": tuning.set_,
    "tune-kernel": tuning.tune_kernel,
    "bench": comparing.bench,
    "ladder": comparing.ladder,
    "report": pages.report,
    "export": stores.export,
    "import": stores.import_,
    "export-kernels": stores.export_kernels,
    "demo": demo.demo,
}
# Of its usage errors Typer exports only this one; their common parent has moved between versions.
USAGE: type = typer.BadParameter.__mro__[1]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What the system says where output finds no room."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Generates, prunes, measures and runs small-matrix GEMM kernels for this machine.",
)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


def _version(wanted: bool) -> None:
    if wanted:
        try:
            print(f"tilewright {installed('tilewright')}")
        except PackageNotFoundError:
            print("tilewright, not installed")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point. What goes wrong on purpose is one line and exit code 2, not a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    command = typer.main.get_command(app)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The name of a file may hold bytes that are no text.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with command.make_context("tilewright", given) as context:
            command.invoke(context)
        if sys.stdout is not None:  # It is where whoever started this had closed it.
            sys.stdout.flush()
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except TilewrightError as error:
        _stop(str(error), 2)
    except KeyboardInterrupt:
        _stop("stopped; nothing is lost: what was tried is recorded, and tuning goes on from there", 130)
    except BrokenPipeError:
        _unheard()  # The reader has seen enough.
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        _unheard()
        _stop(f"standard output cannot be written: {error.strerror}", 2)
    except Exception as error:
        if not isinstance(error, USAGE):
            raise
        where = getattr(error, "ctx", None)
        name = where.command_path if where else "tilewright"
        _stop(f"{getattr(error, 'format_message', error.__str__)()} (see {name} --help)", 2)


def _unheard() -> None:
    """Write to nowhere from now on: Python would complain again when it closes the output at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(message: str, code: int) -> None:
    print("tilewright: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
