"""``tilewright tune``: the configurations of a script's kernels, tried, compared and stored.

A script is run, and its tuners (`tw.autotune`) search as they do on a GPU, wherever the arrays
are. With ``--jobs`` or ``--cluster`` others measure: configurations of `T` kernels travel as IR,
those of `tl` and `tlx` kernels as the script itself, which a worker runs up to the search
(`tune_worker`).
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path

from tilewright.cli.command_line import (
    DONE,
    NO_RESULT,
    WRONG_KERNEL,
    CommandLine,
    UsageError,
    ended,
    integer,
    parse,
    require_file,
)
from tilewright.cli.commands import TUNE
from tilewright.cli.interrupts import show_interrupt
from tilewright.cli.json_text import write_json
from tilewright.cli.launches import LaunchLog, logged
from tilewright.cli.outputs import write_whole
from tilewright.cli.placed_script import described_script, where_in
from tilewright.cli.script_errors import (
    missing_package,
    script_line,
    show_error,
    speaks_for_itself,
)
from tilewright.cli.support import ONE_CONFIGURATION, TUNED_WHERE_THEY_RUN
from tilewright.cli.targets import TILES, checked_name, kind_of
from tilewright.compat import install
from tilewright.compat.script import INTERRUPTED, exit_code, run_file
from tilewright.runtime.autotune import timed_elsewhere
from tilewright.runtime.executors.cluster import ClusterUnavailable
from tilewright.runtime.executors.current import executing
from tilewright.runtime.executors.gather import WorkFailed, gathered, journal, merged
from tilewright.runtime.executors.pools import ExecutorLost, pool_of
from tilewright.runtime.executors.work import Work
from tilewright.runtime.options import running
from tilewright.runtime.tile.config_search import tuning_top
from tilewright.runtime.tile.forced_target import targeting
from tilewright.runtime.tuning_table import (
    Tried,
    Tuned,
    TuningTable,
    read_table,
    tuning_observed_by,
    tuning_table,
)

WORK = "tilewright.cli.tune_worker:timed"
_CHUNK = 4
"""Configurations of one item of work: a worker runs the script once for them."""
_FRESH, _TIMED = "fresh", "time"
_SETTING = "TILEWRIGHT_AUTOTUNE"


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    return ended(TUNE, arguments, program, lambda: _tune(parse(TUNE, arguments), program))


def _tune(line: CommandLine, program: str) -> int:
    if not line.is_script and not line.may_be_text:
        raise UsageError(f"'{line.name}' is no Python script: tune takes the one that launches")
    if not line.is_script:
        sys.stderr.write(
            f"{program}: {line.name} {ONE_CONFIGURATION.printed}: tune takes the script that "
            "launches the kernel\n"
        )
        return NO_RESULT
    require_file(line.file)
    table = _table(line)
    found: list[Tuned] = []
    log = LaunchLog()

    def note(tuned: Tuned) -> None:
        if line.kernel in (None, tuned.kernel):
            found.append(tuned)

    with _searching(line, log), tuning_observed_by(note), redirect_stdout(sys.stderr):
        missing: list[str] = []
        code = exit_code(lambda: _guarded(line, missing), show_interrupt)
    _show(line, found)
    if table is not None and found:
        _write(line, table.with_rows(each.row for each in found), program)
    if code == INTERRUPTED:
        return code  # what was tuned until then is stored
    if missing:
        raise UsageError(missing[0])
    if code:
        sys.stderr.write(f"{program}: the script ended with exit code {code}\n")
        return WRONG_KERNEL
    if line.kernel is not None and line.kernel not in (*log.launched, *_names(found)):
        names = ", ".join(log.launched) or "none"
        raise UsageError(f"{line.file} launched no kernel '{line.kernel}'; it launched {names}")
    if not log.launched and not found:
        sys.stderr.write(f"{program}: {line.file} launched no kernel\n")
    for name, language in log.launched.items():
        if line.kernel in (None, name) and name not in _names(found):
            sys.stderr.write(
                f"{program}: {name} ({language}) has one configuration: put "
                f"{_DECORATORS[language]} above @tw.jit\n"
            )
    return DONE if found else NO_RESULT


_DECORATORS = {
    "tl": "@tw.autotune([tw.Config({...}), ...], key=[...])",
    "tlx": "@tw.autotune([tw.Config({...}), ...], key=[...])",
    "T": "@tw.autotune(configs=[{...}, ...])",
}


def _names(found: Sequence[Tuned]) -> set[str]:
    return {name for each in found for name in (each.kernel, each.function)}


@contextmanager
def _searching(line: CommandLine, log: LaunchLog) -> Generator[None]:
    """Tuners measure inside the ``with``, where the command line has it."""
    before = os.environ.get(_SETTING)
    top = tuning_top.set(integer(line, "top", 0) or 0)
    target = line.values.get("target")
    with ExitStack() as stack:
        if target is not None:
            if kind_of(target) not in TILES:
                raise UsageError(
                    f"--target {target}: {TUNED_WHERE_THEY_RUN.printed}: leave it out for the GPU "
                    "of their arrays"
                )
            name = checked_name(target)
            stack.enter_context(targeting(name))
            stack.enter_context(running(target=name))
        if any(each in line.values for each in ("jobs", "cluster", "log")):
            stack.enter_context(executing(where_in(line), log=line.values.get("log")))
            stack.enter_context(_timing_elsewhere(line))
        stack.enter_context(tuning_table(None))  # one in the environment would have the results
        stack.enter_context(logged(log))
        stack.enter_context(warnings.catch_warnings())
        # The title of what was tried has the hardware.
        warnings.filterwarnings("ignore", ".* timed on target numpy on the CPU")
        os.environ[_SETTING] = _FRESH if "fresh" in line.switches else _TIMED
        try:
            yield
        finally:
            tuning_top.reset(top)
            if before is None:
                del os.environ[_SETTING]
            else:
                os.environ[_SETTING] = before


@contextmanager
def _timing_elsewhere(line: CommandLine) -> Generator[None]:
    """Configurations of kernels on pointers are measured by workers, which run the script."""
    work = Work.of(WORK)
    script = {**described_script(line), "compat": line.is_compat}

    def elsewhere(kernel: str, key: str, configs: Sequence[str]) -> Mapping[int, float | str]:
        chunks = [
            list(range(first, min(first + _CHUNK, len(configs))))
            for first in range(0, len(configs), _CHUNK)
        ]
        values = [
            {
                **script,
                "target": line.values.get("target"),
                "kernel": kernel,
                "key": key,
                "configs": [configs[index] for index in chunk],
                "indices": chunk,
            }
            for chunk in chunks
        ]
        name = f"tuning {kernel}"
        try:
            with journal(line.values.get("log")) as log, pool_of(where_in(line)) as pool:
                found = gathered(work, values, pool=pool, log=log, things="parts", name=name)
                outcomes = merged(found, work, values)
        except (ClusterUnavailable, ExecutorLost, WorkFailed) as error:
            raise UsageError(str(error)) from None
        times: dict[int, float | str] = {}
        for chunk, outcome in zip(chunks, outcomes, strict=True):
            if outcome.status == "done":
                times |= {int(index): each for index, each in outcome.value.items()}
            else:
                times |= dict.fromkeys(chunk, str(outcome))
        return times

    token = timed_elsewhere.set(elsewhere)
    try:
        yield
    finally:
        timed_elsewhere.reset(token)


def _guarded(line: CommandLine, missing: list[str]) -> None:
    """Run the script; what is wrong with a kernel is shown as its own text. What the computer
    lacks, a package or the cluster, is added to `missing`."""
    if line.is_compat:
        install()
    try:
        run_file(line.file, line.script_arguments)
    except UsageError as error:
        missing.append(str(error))
        raise SystemExit(1) from None
    except Exception as error:
        text = missing_package(error, has_compat=not line.is_compat)
        if text is not None:
            missing.append(f"{script_line(error)}: {text}")
        elif speaks_for_itself(error):
            show_error(error)
        else:
            raise
        raise SystemExit(1) from None


# -- the table -------------------------------------------------------------------------------------


def _table(line: CommandLine) -> TuningTable | None:
    """The table that rows are added to; None if none is requested."""
    if line.output == "-":
        return None
    if not Path(line.output).exists():
        return TuningTable({})
    try:
        return read_table(line.output)
    except OSError as error:
        raise UsageError(f"cannot read '{line.output}': {error.strerror}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _write(line: CommandLine, table: TuningTable, program: str) -> None:
    try:
        write_whole(line.output, table.text())
    except OSError as error:
        raise UsageError(f"cannot write '{line.output}': {error.strerror}") from None
    rows = len(table.rows)
    sys.stderr.write(f"{program}: {line.output}: {rows} row{'s' if rows != 1 else ''}\n")


# -- output ----------------------------------------------------------------------------------------


def _show(line: CommandLine, found: Sequence[Tuned]) -> None:
    if line.is_json:
        write_json([json.loads(json.dumps(asdict(each), default=str)) for each in found])
        return
    sys.stdout.write("\n".join(map(_described, found)))
    sys.stdout.flush()


def _described(tuned: Tuned) -> str:
    """A title, and one line for each configuration, the best first."""
    arguments = ", ".join(f"{name}={value}" for name, value in tuned.arguments.items())
    tried = sorted(tuned.trials, key=lambda each: (each.latency_ms is None, each.latency_ms))
    lines = [f"{tuned.kernel}({arguments}) on {tuned.hardware}: {tuned.how}"]
    lines += [f"  {_time(each):>12}  {_config(each)}" for each in tried]
    return "\n".join(lines) + "\n"


def _time(tried: Tried) -> str:
    return "left out" if tried.latency_ms is None else f"{tried.latency_ms:.4g} ms"


def _config(tried: Tried) -> str:
    text = ", ".join(f"{name}={value}" for name, value in tried.config.items())
    return f"{text} ({tried.remark})" if tried.remark else text
