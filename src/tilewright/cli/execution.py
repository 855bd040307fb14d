"""What ``tilewright run`` and ``tilewright check`` have in common.

A file ``*.py`` is executed as a script, in this process, with the options in force for every launch
inside it; anything else is IR text. A fault or an error in a kernel is shown as its own text, which
names the user's line; any other exception is Python's affair and shown as Python shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.command_line import (
    CommandLine,
    Flags,
    UsageError,
    require_file,
    text_of,
    three,
    wants_colour,
)
from tilewright.cli.launches import LaunchLog, counted, logged
from tilewright.cli.outputs import write_whole
from tilewright.cli.script_errors import (
    FOREIGN,
    diagnostics_of,
    missing_package,
    script_line,
    show_error,
    speaks_for_itself,
)
from tilewright.cli.tenstorrent import FLAGS as TENSTORRENT_FLAGS
from tilewright.cli.tenstorrent import TenstorrentRuns, is_after_script, tenstorrent_target
from tilewright.cli.thread_target import summary, thread_target
from tilewright.compat import install
from tilewright.compat.script import exit_code, run_file, show
from tilewright.ir.diagnostics import (
    CompileError,
    Diagnostic,
    DiagnosticEngine,
    Severity,
    pretty_all,
)
from tilewright.runtime.options import current_run_options, running
from tilewright.runtime.tile.fresh import watching
from tilewright.runtime.tile.settings import changed
from tilewright.targets.numpy.api import NumpyFault, RunReport

if TYPE_CHECKING:
    from tilewright.cli.check_parts import Part
    from tilewright.targets.numpy.tasks.ordering import OrderingLog

_FLAGS = Flags(
    with_value=(
        *(
            "arg",
            "args",
            "batch",
            "grid",
            "kernel",
            "out",
            "sarif",
            "schedules",
            "seed",
            "timeline",
        ),
        *("cluster", "jobs", "log"),
        *TENSTORRENT_FLAGS,
    ),
    switches=("allow-unread", "compat", "stats", "traceback"),
)
_AFTER_SCRIPT = ("allow-unread", "cluster", "jobs", "log", "sarif", "schedules", "timeline")
"""Flags that are also accepted directly after a script; `--` ends them."""
_FOR_TEXT = ("arg", "args", "grid", "kernel", "out", "seed")
_CHECKED_SCHEDULES = 4
"""How many orders of events `check` tries in a kernel of `T` that leaves them open."""


@dataclass
class _CommandLine(CommandLine):
    arguments: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def _parse(arguments: Sequence[str]) -> _CommandLine:
    """Flags stand before a script, whose own arguments follow it, and anywhere around IR text."""
    line = _CommandLine()
    pending = list(arguments)
    while pending:
        if line.is_script and not _is_after_script(pending, line):
            line.script_arguments = pending[1:] if pending[0] == "--" else pending
            break
        argument = pending.pop(0)
        if argument == "-" or not argument.startswith("-"):
            if line.file:
                raise UsageError(f"two input files, '{line.file}' and '{argument}'")
            line.file = argument
            continue
        _apply(line, *_FLAGS.taken(argument, pending))
    if not line.file:
        raise UsageError("no FILE; try --help")
    _check_kind(line)
    return line


def _is_after_script(pending: Sequence[str], line: CommandLine) -> bool:
    """Whether an argument right after a script is meant for the run, not for the script."""
    argument = pending[0]
    if not argument.startswith("--"):
        return False
    name, separator, value = argument[2:].partition("=")
    if not separator:
        value = pending[1] if len(pending) > 1 else ""
    return name in _AFTER_SCRIPT or is_after_script(name, value, line)


def _apply(line: _CommandLine, name: str, value: str | None) -> None:
    if value is None:
        line.switches.add(name)
    elif name == "arg":
        target, separator, spec = value.partition("=")
        if not separator or not target or not spec:
            raise UsageError(f"'--arg {value}': expected NAME=SPEC, for example x_ptr=f32[1024]")
        line.arguments.append((target.removeprefix("%"), spec))
    else:
        line.values[name] = value


def _check_kind(line: _CommandLine) -> None:
    if not line.is_script and "compat" in line.switches:
        raise UsageError("--compat applies to Python files only")
    for_text = [
        name for name in _FOR_TEXT if name in line.values or (name == "arg" and line.arguments)
    ]
    if line.is_script and for_text:
        raise UsageError(
            f"--{for_text[0]} applies to IR text only, not to a Python script: remove it; the "
            "script launches its kernels with its own grid and arguments"
        )


def _integer(line: _CommandLine, name: str, minimum: int) -> int | None:
    text = line.values.get(name)
    if text is None:
        return None
    if not text.isdigit() or int(text) < minimum:
        raise UsageError(f"--{name}: '{text}' is not an integer >= {minimum}")
    return int(text)


def _grid(line: _CommandLine) -> tuple[int, int, int] | None:
    text = line.values.get("grid")
    return None if text is None else three("grid", text, minimum=0)


def _check_environment() -> None:
    try:
        current_run_options()
    except ValueError as error:
        raise UsageError(str(error)) from None


def execute(
    arguments: Sequence[str], program: str, usage: str, *, checking: bool, part: Part | None = None
) -> int:
    """Run the command with `arguments`; returns the exit code.

    A `part` is some of the schedules, of which other processes run the others.
    """
    script = next((index for index, each in enumerate(arguments) if each.endswith(".py")), None)
    if any(argument in ("-h", "--help", "-help") for argument in arguments[:script]):
        sys.stdout.write(usage.format(program=program))
        return 0
    log = LaunchLog()
    try:
        line = _parse(arguments)
        batch = _integer(line, "batch", 1)
        _check_environment()
        changes: dict[str, Any] = {} if batch is None else {"batch": batch}
        if checking:
            changes = {
                **changes,
                "check_bounds": True,
                "check_races": True,
                "check_uninitialised": True,
                "debug": True,
            }
        orders = _ordering(line, checking)
        if orders is not None:
            changes["recorder"] = orders.recorder
        schedules = _integer(line, "schedules", 1) or (_CHECKED_SCHEDULES if checking else 1)
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
            logged(log),
            watch as fresh,
            tenstorrent_target(line) as runs,
            thread_target(line, compare=checking) as threads,
            nullcontext() if checking else _executing(line),
        ):
            code = _run_script(line, log) if line.is_script else _run_text(line, log)
        _report(runs, code, program)
        has_failed = bool(code) or log.fault is not None
        if part is not None:
            part.log, part.orders, part.has_failed = log, orders, has_failed
            if orders is not None and not has_failed:
                part.merge(log, orders)
            if threads is not None:
                threads.count_schedules(part.schedules)
        for text, is_right in summary(
            threads, line.values.get("target", ""), has_failed=has_failed
        ):
            sys.stdout.flush()
            sys.stderr.write(f"{program}: {text}\n")
            code = code if is_right else code or 1
            if part is not None and not is_right:
                part.has_failed = True
    except UsageError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return 1
    sys.stdout.flush()
    if "stats" in line.switches and log.kernels:
        sys.stderr.write(f"{program}: {log.counts()}\n{log.table()}")
    if orders is None:
        return code
    reports = [] if log.fault is not None else _unread(orders, line, log)
    if fresh is not None and log.fault is None:
        unwritten = fresh.reports()
        reports += unwritten
        if part is not None:
            part.has_failed = part.has_failed or bool(unwritten)
    try:
        _draw(orders, line.values.get("timeline"), program)
    except UsageError as error:
        sys.stderr.write(f"{program}: {error}\n")
        code = code or 1
    for text in (*orders.not_analysed, *log.not_analysed):
        sys.stderr.write(f"{program}: not analysed: {text}\n")
    code = _verdict(log, code, program, reports)
    if "sarif" in line.values:
        code = _write_sarif(line, log, reports, code, program) or code
    for text in part.failures if part is not None and not part.has_failed else ():
        sys.stderr.write(f"{program}: reported by another process, not repeated here: {text}\n")
        code = code or 1
    return code


def _write_sarif(
    line: _CommandLine, log: LaunchLog, reports: Sequence[Diagnostic], code: int, program: str
) -> int:
    """Write everything that was reported; 1 if that fails."""
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
        sys.stderr.write(f"{program}: cannot write '{path}': {error.strerror}\n")
        return 1
    return 0


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
    from tilewright.runtime.executors.current import executing
    from tilewright.runtime.executors.pools import where_of

    jobs = line.values.get("jobs", "1" if "cluster" not in line.values else None)
    if jobs is not None and not jobs.isdigit():
        raise UsageError(f"--jobs: '{jobs}' is not an integer >= 1")
    try:
        where = where_of(None if jobs is None else int(jobs), line.values.get("cluster"))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return executing(where, log=line.values.get("log"))


def _report(runs: TenstorrentRuns | None, code: int, program: str) -> None:
    """Write the pages of runs on Tenstorrent."""
    if runs is None:
        return
    if not code:
        runs.require_some()
    sys.stdout.flush()
    for path, title in runs.write():
        sys.stderr.write(f"{program}: {path}: {title}\n")


def _unread(orders: OrderingLog, line: _CommandLine, log: LaunchLog) -> list[Diagnostic]:
    """Report buffers that no task reads; as warnings with --allow-unread."""
    if "allow-unread" not in line.switches:
        return orders.unread()
    log.warnings.extend(orders.unread(Severity.WARNING))
    return []


def _ordering(line: _CommandLine, checking: bool) -> OrderingLog | None:
    """What follows the order of events in kernels with tasks."""
    wants_timeline = "timeline" in line.values
    if not checking and "sarif" in line.values:
        raise UsageError("--sarif applies to 'tilewright check' only")
    if not checking and "allow-unread" in line.switches:
        raise UsageError("--allow-unread applies to 'tilewright check' only")
    if not checking:
        if wants_timeline:
            raise UsageError("--timeline applies to 'tilewright check' only")
        return None
    # Loads the runtime of tasks, which a plain run may do without.
    from tilewright.targets.numpy.tasks.ordering import OrderingLog

    return OrderingLog(wants_timeline)


def _draw(orders: OrderingLog, path: str | None, program: str) -> None:
    if path is None:
        return
    if orders.timeline is None:
        raise UsageError("--timeline: no kernel with tasks ran, so there is nothing to draw")
    from tilewright.report.task_timeline import timeline_html

    try:
        write_whole(path, timeline_html(orders.timeline))
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from None
    sys.stderr.write(f"{program}: {path}: {orders.timeline.title}\n")


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


def _run_script(line: _CommandLine, log: LaunchLog) -> int:
    require_file(line.file)
    if "compat" in line.switches:
        install()
    missing: list[str] = []
    code = exit_code(lambda: _guarded_script(line, missing, log))
    if missing:
        raise UsageError(missing[0])
    return code


def _guarded_script(line: _CommandLine, missing: list[str], log: LaunchLog) -> None:
    """Run the script; a package that it lacks is added to `missing`."""
    loaded = [name for name in FOREIGN if name in sys.modules]
    has_compat = "compat" not in line.switches
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


def _run_text(line: _CommandLine, log: LaunchLog) -> int:
    # Scripts do without; the ops of every dialect are loaded for the parser.
    from tilewright.cli.ir_arguments import ArgumentError
    from tilewright.cli.ir_run import IrRun, run_text

    settings = IrRun(
        grid=_grid(line),
        kernel=line.values.get("kernel"),
        arguments=tuple(line.arguments),
        arguments_file=line.values.get("args"),
        output=line.values.get("out"),
        seed=_integer(line, "seed", 0) or 0,
    )
    engine = DiagnosticEngine()
    options = replace(current_run_options(), sources=engine.sources)
    try:
        done = run_text(text_of(line.file), line.name, settings, options, engine)
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
    if done is None:
        log.errors.extend(engine.diagnostics)
        sys.stderr.write(pretty_all(engine.diagnostics, engine.sources, colour=wants_colour()))
        sys.stderr.write("\n")
        return 1
    kernel, report = done
    if isinstance(report, RunReport):
        log.add(kernel, report)
    else:
        log.record(kernel, report)
    return 0
