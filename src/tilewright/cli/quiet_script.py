"""Scripts that are run for the kernels they call, none of which is run."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing, redirect_stdout
from dataclasses import dataclass

from tilewright.cli.command_line import UsageError
from tilewright.cli.script_errors import missing_package, script_line, show_error, speaks_for_itself
from tilewright.cli.working import working_on
from tilewright.compat.script import run_file, show
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.triton.installation import TritonMissing


@dataclass(frozen=True)
class _Script:
    name: str


def run_quietly(
    file: str,
    arguments: Sequence[str],
    *,
    program: str,
    done: str,
    found: Callable[[], bool],
    has_compat: bool = False,
) -> None:
    """Run a script inside a context that replaces launches; its output is not shown.

    Results hold nothing in particular, so that the script may well fail: that is reported, and is
    no error once kernels were `found`. `done` reports what happened to them instead of a run.
    Before that its traceback is shown as the interpreter shows it, and the program ends; a package
    that is not installed is a `UsageError`. `has_compat`: ``--compat`` would do without it.
    """
    running = working_on([_Script(file)], "running")
    with redirect_stdout(io.StringIO()), warnings.catch_warnings(), closing(running):
        next(running)
        # Results that were not computed give NumPy much to warn about.
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.filterwarnings("default", r"warning\[TW", RuntimeWarning)
        try:
            run_file(file, arguments)
        except CompileError:
            raise
        except SystemExit:
            pass
        except Exception as error:
            running.close()
            missing = missing_package(error, has_compat=has_compat)
            if missing is not None and not found():
                # The target is that of the command line; an import has a line of its own.
                where = "" if isinstance(error, TritonMissing) else f"{script_line(error)}: "
                raise UsageError(f"{where}{missing}") from None
            is_reported = speaks_for_itself(error)
            if is_reported:
                show_error(error)
            if not found():
                if not is_reported:
                    show(error)
                raise SystemExit(1) from None
            sys.stderr.write(
                f"{program}: the script ended with {type(error).__name__}: its kernels were "
                f"{done}, not run\n"
            )
