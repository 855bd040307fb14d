"""``%load_ext tilewright``: kernels of a cell checked, or shown in the studio.

    %%check [--schedules N] [--timeline] [--allow-unread]
    %%studio [--schedules N] [--target TARGET] [--height PIXELS] [-o FILE.html]

Both run the cell where all cells run, with every launch checked as ``tilewright check`` does. Lines
of messages are those of the cell as it is typed, the line of the magic included. An error of a
kernel is in the report; any other exception is raised again, after the report.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from typing_extensions import override

from tilewright.cli.outputs import write_whole
from tilewright.cli.script_errors import diagnostics_of, speaks_for_itself
from tilewright.cli.studio_document import document_of
from tilewright.cli.studio_kernels import checked_target_name
from tilewright.cli.studio_run import CheckedRun, checked_call
from tilewright.ir.diagnostics import CompileError, Severity
from tilewright.report.notebook.cells import cell_name
from tilewright.report.notebook.checks import CellCheck, StudioPage
from tilewright.report.studio.document import Sources
from tilewright.report.studio.page import render, size_text
from tilewright.runtime.memory_maps.kernels import KernelMemory, memory_map
from tilewright.targets.numpy.api import NumpyFault
from tilewright.targets.numpy.tasks.ordering import OrderingFault

_CHECKED_SCHEDULES = 4
_STUDIO_SCHEDULES = 2
_INDEX = re.compile(r"In\[(\d+)\]")


def load(shell: Any) -> None:
    """Register the magics with a running IPython."""
    for name, magic in (("check", check), ("studio", studio)):
        shell.register_magic_function(_bound(magic, shell), "cell", name)


def _bound(magic: Callable[[Any, str, str], object], shell: Any) -> Callable[[str, str], object]:
    def run(line: str, cell: str) -> object:
        return magic(shell, line, cell)

    run.__doc__ = magic.__doc__
    return run


def check(shell: Any, line: str, cell: str) -> CellCheck:
    """Run a cell and check its kernels: accesses out of bounds, uninitialised reads, data races,
    missing waits, deadlocks.

        %%check [--schedules N] [--timeline] [--allow-unread]

    --schedules N runs kernels with tasks N times, each in another order of events (4); --timeline
    draws tasks, barriers and buffers of the first or the failing run; --allow-unread reports
    buffers that no task reads as warnings.
    """
    parser = _Parser(prog="%%check")
    parser.add_argument("--schedules", type=_count, default=_CHECKED_SCHEDULES)
    parser.add_argument("--timeline", action="store_true")
    parser.add_argument("--allow-unread", action="store_true")
    options = parser.parse_args(shlex.split(line))
    done = _Cell(shell, cell)
    run = checked_call(done.execute, schedules=options.schedules)
    if options.allow_unread:
        run.log.warnings.extend(run.orders.unread(Severity.WARNING))
        unread = {each.message for each in run.orders.unread()}
        run.reports = [each for each in run.reports if each.message not in unread]
    found = _report(run, done, wants_timeline=options.timeline)
    done.finish(found)
    return found


def studio(shell: Any, line: str, cell: str) -> StudioPage:
    """Run a cell with all checks, and show the studio page of its kernels: source, IR after each
    pass, generated code, memory, layouts, timeline.

        %%studio [--schedules N] [--target TARGET] [--height PIXELS] [-o FILE.html]

    --target is what kernels are compiled for, cuda:sm_90a or hip:gfx942; -o writes the page too.
    """
    parser = _Parser(prog="%%studio")
    parser.add_argument("--schedules", type=_count, default=_STUDIO_SCHEDULES)
    parser.add_argument("--target", type=checked_target_name)
    parser.add_argument("--height", type=_count, default=StudioPage.height)
    parser.add_argument("-o", dest="output")
    options = parser.parse_args(shlex.split(line))
    if options.target is not None and options.target.startswith("tenstorrent"):
        parser.error("--target tenstorrent:...: write a script, and run 'tilewright studio'")
    done = _Cell(shell, cell)
    run = checked_call(done.execute, schedules=options.schedules, target=options.target)
    sources = Sources(title_of=cell_name)
    sources.index(done.file)
    title = cell_name(done.file)
    document = document_of(run, options.target, sources, title, f"%%studio {line}".rstrip())
    page = render(document)
    if options.output is not None:
        write_whole(options.output, page)
    found = StudioPage(f"{document.verdict}, {size_text([page])}", page, options.height)
    done.finish(found)
    return found


class _Parser(argparse.ArgumentParser):
    """Errors are those of a magic: one line, no exit."""

    @override
    def error(self, message: str) -> NoReturn:
        from IPython.core.error import UsageError

        raise UsageError(f"{self.prog}: {message}")


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer >= 1")
    return int(text)


# -- running ---------------------------------------------------------------------------------------


@dataclass
class _Cell:
    """A cell, and how its run ended."""

    shell: Any
    text: str
    file: str = ""
    value: object = None
    """Of its last expression."""
    error: BaseException | None = None

    def execute(self, run: CheckedRun) -> int:
        """Run the cell in the namespace of the notebook; 1 if it raises."""
        try:
            self._execute()
        except BaseException as error:
            self.error = error
            run.errors.extend(diagnostics_of(error))
            return 1
        return 0

    def _execute(self) -> None:
        shell = self.shell
        # IPython removes empty lines at the beginning; the line of the magic is one of the cell's.
        above = 1 + len(self.text) - len(self.text.lstrip("\n"))
        code = "\n" * above + shell.transform_cell(self.text)
        self.file = shell.compile.cache(code, _cell_index(shell), raw_code=code)
        tree = shell.transform_ast(shell.compile.ast_parse(code, filename=self.file))
        last = tree.body[-1] if tree.body else None
        is_shown = isinstance(last, ast.Expr) and not code.rstrip().endswith(";")
        if is_shown:
            tree.body.pop()
        exec(self._compiled(tree, "exec"), shell.user_ns)
        if is_shown:
            assert isinstance(last, ast.Expr)
            self.value = eval(self._compiled(ast.Expression(last.value), "eval"), shell.user_ns)

    def _compiled(self, tree: ast.Module | ast.Expression, mode: str) -> Any:
        flags: int = self.shell.compile.flags
        return compile(tree, self.file, mode, flags, dont_inherit=True)

    def finish(self, report: object) -> None:
        """Show the value of the cell; raise what is not an error of a kernel."""
        display: Any = importlib.import_module("IPython.display").display
        if self.value is not None:
            display(self.value)
        if self.error is not None and not speaks_for_itself(self.error):
            display(report)
            raise self.error


def _cell_index(shell: Any) -> int:
    """The index of the cell that is executing: that of the frame that called the magic.

    Whether `execution_count` is this index or the next one depends on the version of IPython.
    """
    frame = inspect.currentframe()
    while frame is not None:
        found = _INDEX.fullmatch(cell_name(frame.f_code.co_filename))
        if found is not None:
            return int(found[1])
        frame = frame.f_back
    return int(shell.execution_count)


def _report(run: CheckedRun, cell: _Cell, *, wants_timeline: bool) -> CellCheck:
    errors: list[BaseException] = [] if run.log.fault is None else [run.log.fault]
    if cell.error is not None and speaks_for_itself(cell.error) and cell.error not in errors:
        errors.append(cell.error)
    others = cell.error is not None and not errors
    timeline = run.orders.timeline
    return CellCheck(
        f"the cell raised {type(cell.error).__name__}" if others else run.verdict,
        run.has_failed,
        tuple(errors),
        tuple(run.reports),
        tuple(run.log.warnings),
        (*run.orders.not_analysed, *run.log.not_analysed),
        tuple(_memory(run)),
        timeline if wants_timeline and timeline is not None and timeline.length else None,
    )


def _memory(run: CheckedRun) -> Sequence[KernelMemory]:
    """The memory of a kernel whose tasks access the same bytes."""
    if not isinstance(run.log.fault, OrderingFault):
        return ()
    for kernel in run.pointers.values():
        if kernel.name == run.log.faulty_kernel:
            try:
                found = memory_map(kernel)
            except (CompileError, NumpyFault):
                return ()
            return [found] if found.note == "as written" else ()
    return ()
