"""What ``tilewright run`` and ``tilewright check`` have in common.

A file ``*.py`` is executed as a script, in this process, with the options in force for every launch
inside it; anything else is IR text. A fault or an error in a kernel is shown as its own text, which
names the user's line; any other exception is Python's affair and shown as Python shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.command_line import (
    WRONG_INPUT,
    CommandLine,
    Ended,
    UsageError,
    ended,
    integer,
    only_for_text,
    parse,
    require_file,
    three,
    wants_colour,
)
from tilewright.cli.interrupts import show_interrupt
from tilewright.cli.json_text import described_diagnostic, write_json
from tilewright.cli.launches import CHECKS, LaunchLog, counted, logged, warning_about_storage
from tilewright.cli.options import Command
from tilewright.cli.outputs import write_whole
from tilewright.cli.script_errors import (
    FOREIGN,
    diagnostics_of,
    missing_package,
    script_line,
    show_error,
    speaks_for_itself,
)
from tilewright.cli.tenstorrent import TenstorrentRuns, is_after_script, tenstorrent_target
from tilewright.cli.thread_target import summary, thread_target
from tilewright.compat import install
from tilewright.compat.script import INTERRUPTED, exit_code, run_file, show
from tilewright.ir.diagnostics import (
    CompileError,
    Diagnostic,
    Severity,
    pretty_all,
)
from tilewright.runtime.options import current_run_options, running
from tilewright.runtime.tile.fresh import watching
from tilewright.runtime.tile.settings import changed
from tilewright.targets.numpy.api import NumpyFault, RunReport
from tilewright.targets.numpy.tasks.ordering import OrderingLog

if TYPE_CHECKING:
    from tilewright.cli.check_parts import Part

_FOR_TEXT = ("arg", "args", "grid", "out", "seed")
_CHECKED_SCHEDULES = 4
"""How many orders of events `check` tries in a kernel of `T` that leaves them open."""


def _parse(command: Command, arguments: Sequence[str]) -> CommandLine:
    """Flags stand before a script, whose own arguments follow it, and anywhere around IR text."""
    line = parse(command, arguments, is_after_script=is_after_script)
    for text in line.repeated.get("arg", ()):
        target, separator, spec = text.partition("=")
        if not separator or not target or not spec:
            raise UsageError(f"'--arg {text}': expected NAME=SPEC, for example x_ptr=f32[1024]")
    only_for_text(line, _FOR_TEXT)
    return line


def _arguments(line: CommandLine) -> tuple[tuple[str, str], ...]:
    """Name and SPEC of each ``--arg``."""
    parts = [text.partition("=") for text in line.repeated.get("arg", ())]
    return tuple((name.removeprefix("%"), spec) for name, _, spec in parts)


def _grid(line: CommandLine) -> tuple[int, int, int] | None:
    text = line.values.get("grid")
    return None if text is None else three("grid", text, minimum=0)


def _check_environment() -> None:
    try:
        current_run_options()
    except ValueError as error:
        raise UsageError(str(error)) from None


def execute(
    command: Command,
    arguments: Sequence[str],
    program: str,
    *,
    checking: bool,
    part: Part | None = None,
) -> int:
    """Run the command with `arguments`; returns the exit code.

    A `part` is some of the schedules, of which other processes run the others.
    """
    return ended(
        command,
        arguments,
        program,
        lambda: _execute(_parse(command, arguments), program, checking=checking, part=part),
    )


def _execute(line: CommandLine, program: str, *, checking: bool, part: Part | None) -> int:
    log = LaunchLog()
    batch = integer(line, "batch", 1)
    _check_environment()
    changes: dict[str, Any] = {} if batch is None else {"batch": batch}
    if checking:
        changes |= CHECKS
    orders = OrderingLog("timeline" in line.values) if checking else None
    if orders is not None:
        changes["recorder"] = orders.recorder
    schedules = integer(line, "schedules", 1) or (_CHECKED_SCHEDULES if checking else 1)
    if checking and part is None:
        part = _spread(line, schedules)
    tiles: dict[str, Any] = {"schedules": schedules}
    if part is not None:
        tiles["seeds"] = part.seeds
        log.schedules_elsewhere = part.schedules - 1
    changes |= tiles
    if checking:
        tiles["check_capacity"] = True
    watch = watching() if checking else nullcontext()
    with (
        running(**changes),
        changed(**tiles),
        warning_about_storage(log) if checking else nullcontext(),
        logged(log, line.kernel),
        watch as fresh,
        tenstorrent_target(line) as runs,
        thread_target(line, compare=checking) as threads,
        nullcontext() if checking else _executing(line),
        redirect_stdout(sys.stderr) if line.is_json and line.is_script else nullcontext(),
    ):
        code = _run_script(line, log) if line.is_script else _run_text(line, log)
    if code == INTERRUPTED:
        return code
    _require_kernel(line, log, code)
    _report(runs, code, program)
    has_failed = bool(code) or log.fault is not None
    if part is not None:
        part.log, part.orders, part.has_failed = log, orders, has_failed
        if orders is not None and not has_failed:
            part.merge(log, orders)
        if threads is not None:
            threads.count_schedules(part.schedules)
    for text, is_right in summary(threads, line.values.get("target", ""), has_failed=has_failed):
        sys.stdout.flush()
        sys.stderr.write(f"{program}: {text}\n")
        code = code if is_right else code or 1
        if part is not None and not is_right:
            part.has_failed = True
    sys.stdout.flush()
    if "stats" in line.switches and log.kernels:
        sys.stderr.write(f"{program}: {log.counts()}\n{log.table()}")
    if orders is None:
        if line.is_json and (line.is_script or code):
            write_json({"exit_code": code, **log.described()})
        return code
    reports = [] if log.fault is not None else _unread(orders, line, log)
    if fresh is not None and log.fault is None:
        unwritten = fresh.reports()
        reports += unwritten
        if part is not None:
            part.has_failed = part.has_failed or bool(unwritten)
    is_drawn = _draw(orders, line.values.get("timeline"), program)
    not_analysed = [*orders.not_analysed, *log.not_analysed]
    for text in not_analysed:
        sys.stderr.write(f"{program}: not analysed: {text}\n")
    code = _verdict(log, code, program, reports) or int(not is_drawn) * WRONG_INPUT
    if "sarif" in line.values:
        _write_sarif(line, log, reports, code, program)
    for text in part.failures if part is not None and not part.has_failed else ():
        sys.stderr.write(f"{program}: reported by another process, not repeated here: {text}\n")
        code = code or 1
    if line.is_json:
        found = [*log.errors, *log.faults, *reports, *log.warnings]
        described = [described_diagnostic(each) for each in found]
        shown = {"exit_code": code, **log.described(), "reported": described}
        write_json({**shown, "not_analysed": not_analysed})
    return code


def _require_kernel(line: CommandLine, log: LaunchLog, code: int) -> None:
    """Refuse a chosen kernel that a script did not launch."""
    if code or line.kernel is None or not line.is_script or line.kernel in log.launched:
        return
    names = list(log.launched)
    known = f"it launched {', '.join(names)}" if names else "it launched none"
    raise UsageError(f"{line.file} launched no kernel '{line.kernel}'; {known}")


def _write_sarif(
    line: CommandLine, log: LaunchLog, reports: Sequence[Diagnostic], code: int, program: str
) -> None:
    """Write everything that was reported."""
    from tilewright import __version__
    from tilewright.report.sarif import sarif_text

    found = [*log.errors, *log.faults, *reports, *log.warnings]
    failure = None if found or not code else f"the check ended with exit code {code}"
    text = sarif_text(
        found,
        version=__version__,
        root=Path.cwd(),
        command=f"{program} {line.file}",
        failure=failure,
    )
    path = line.values["sarif"]
    try:
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from None


def _spread(line: CommandLine, schedules: int) -> Part | None:
    """The schedules that are left for this process, if others are to run the rest."""
    if not any(name in line.values for name in ("cluster", "jobs", "log")):
        return None
    from tilewright.cli.check_parts import searched  # one process does without

    return searched(line, schedules)


def _executing(line: CommandLine) -> AbstractContextManager[None]:
    """Where a plain run tunes its kernels."""
    if not any(name in line.values for name in ("cluster", "jobs", "log")):
        return nullcontext()
    from tilewright.cli.placed_script import where_in
    from tilewright.runtime.executors.current import executing

    return executing(where_in(line), log=line.values.get("log"))


def _report(runs: TenstorrentRuns | None, code: int, program: str) -> None:
    """Write the pages of runs on Tenstorrent."""
    if runs is None:
        return
    if not code:
        runs.require_some()
    sys.stdout.flush()
    for path, title in runs.write():
        sys.stderr.write(f"{program}: {path}: {title}\n")


def _unread(orders: OrderingLog, line: CommandLine, log: LaunchLog) -> list[Diagnostic]:
    """Report buffers that no task reads; as warnings with --allow-unread."""
    if "allow-unread" not in line.switches:
        return orders.unread()
    log.warnings.extend(orders.unread(Severity.WARNING))
    return []


def _draw(orders: OrderingLog, path: str | None, program: str) -> bool:
    """Draw the timeline, if one is requested; what prevents that is reported."""
    if path is None:
        return True
    if orders.timeline is None:
        problem = "--timeline: no kernel with tasks ran, so there is nothing to draw"
        sys.stderr.write(f"{program}: {problem}\n")
        return False
    from tilewright.report.task_timeline import timeline_html

    try:
        write_whole(path, timeline_html(orders.timeline))
    except OSError as error:
        sys.stderr.write(f"{program}: cannot write '{path}': {error.strerror}\n")
        return False
    sys.stderr.write(f"{program}: {path}: {orders.timeline.title}\n")
    return True


def _verdict(log: LaunchLog, code: int, program: str, reports: Sequence[Diagnostic] = ()) -> int:
    """Report what was checked; a fault counts even if the script caught it."""
    if reports:
        sys.stderr.write(pretty_all(reports, None, colour=wants_colour()) + "\n")
    if log.warnings:
        sys.stderr.write(pretty_all(log.warnings, None, colour=wants_colour()) + "\n")
    if log.fault is not None:
        after = f" after {counted(log.launches, 'launch')} without one" if log.launches else ""
        sys.stderr.write(f"{program}: fault in {log.faulty_kernel}{after}\n")
        return code or 1
    if code:
        return code
    if not log.launches:
        sys.stderr.write(f"{program}: no kernel was launched, so nothing was checked\n")
        return 1
    if not log.programs:
        sys.stderr.write(
            f"{program}: {log.counts()}: every grid is empty, so nothing was checked\n"
        )
        return 1
    verdict = counted(len(reports), "report") if reports else "no fault"
    sys.stderr.write(f"{program}: {log.counts()}: {verdict}\n")
    return 1 if reports else 0


def _run_script(line: CommandLine, log: LaunchLog) -> int:
    require_file(line.file)
    if line.is_compat:
        install()
    missing: list[str] = []
    code = exit_code(lambda: _guarded_script(line, missing, log), show_interrupt)
    if missing:
        raise UsageError(missing[0])
    return code


def _guarded_script(line: CommandLine, missing: list[str], log: LaunchLog) -> None:
    """Run the script; a package that it lacks is added to `missing`."""
    loaded = [name for name in FOREIGN if name in sys.modules]
    has_compat = not line.is_compat
    try:
        run_file(line.file, line.script_arguments)
    except Exception as error:
        text = missing_package(error, has_compat=has_compat)
        if text is not None and "traceback" not in line.switches:
            missing.append(f"{script_line(error)}: {text}")
            raise SystemExit(1) from None
        log.errors.extend(diagnostics_of(error))
        if speaks_for_itself(error) and "traceback" not in line.switches:
            show_error(error)
            raise SystemExit(1) from None
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        imported = [
            name
            for name in FOREIGN
            if (name in sys.modules and name not in loaded) or name == absent
        ]
        if has_compat and imported:
            error.add_note(
                f"this script imports {imported[0]}: --compat runs its kernels on Tilewright"
            )
        raise


def _run_text(line: CommandLine, log: LaunchLog) -> int:
    # Scripts do without; the ops of every dialect are loaded for the parser.
    from tilewright.cli.inputs import Level, read_ir
    from tilewright.cli.ir_arguments import ArgumentError
    from tilewright.cli.ir_run import IrRun, run_text

    settings = IrRun(
        grid=_grid(line),
        kernel=line.kernel,
        arguments=_arguments(line),
        arguments_file=line.values.get("args"),
        output=line.values.get("out"),
        seed=integer(line, "seed", 0) or 0,
        is_json=line.is_json,
    )
    try:
        ir = read_ir(line)
    except Ended as error:
        log.errors.extend(error.diagnostics)
        return error.code
    if ir.level is Level.THREADS:
        raise UsageError(
            f"{ir.name} has kernels of threads, which run with the kernel they were made from: "
            f"pass --target cuda:sm_90a with its script"
        )
    options = replace(current_run_options(), sources=ir.engine.sources)
    try:
        kernel, report = run_text(ir, settings, options)
    except ArgumentError as error:
        raise UsageError(str(error)) from None
    except (CompileError, NumpyFault) as error:
        if isinstance(error, NumpyFault):
            log.failed(settings.kernel or "the kernel", error)
        log.errors.extend(diagnostics_of(error))
        if "traceback" in line.switches:
            show(error)
        else:
            sys.stderr.write(f"{error}\n")
        return 1
    if isinstance(report, RunReport):
        log.add(kernel, report)
    else:
        log.record(kernel, report)
    return 0
