"""The checked run of a studio page: what was launched with which arguments, what was reported.

One run of the script gives the timeline, the findings, the addresses of every launch and what its
autotuners tried. A fault ends the run, and the page is about what was seen until then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from tilewright.analysis.pid_address import AnalysisError
from tilewright.analysis.pid_address.checks import ALL_CHECKS, Settings, run_checks
from tilewright.cli.analyze_inputs import Launches, listening_to_tl
from tilewright.cli.command_line import Ended, UsageError, require_file
from tilewright.cli.interrupts import show_interrupt
from tilewright.cli.launches import CHECKS, LaunchLog, counted, logged
from tilewright.cli.script_errors import (
    diagnostics_of,
    missing_package,
    script_line,
    show_error,
    speaks_for_itself,
)
from tilewright.compat import install
from tilewright.compat.script import INTERRUPTED, exit_code, run_file
from tilewright.ir.diagnostics import Diagnostic
from tilewright.report.address_document import Document as AddressDocument
from tilewright.report.studio.document import Finding, Message, SharedBytes, Sources, Trial, Tuning
from tilewright.runtime.autotune import Autotuner
from tilewright.runtime.options import running
from tilewright.runtime.pointer.compiled import CompiledKernel, Grid, Launch, launches_to
from tilewright.runtime.tile.addresses import observing_launches
from tilewright.runtime.tile.fresh import watching
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.settings import changed
from tilewright.targets.numpy.api import NumpyFault, RunReport
from tilewright.targets.numpy.tasks.ordering import OrderingFault, OrderingLog


@dataclass
class CheckedRun:
    """What a run was."""

    log: LaunchLog
    orders: OrderingLog
    launches: Launches
    code: int = 0
    reports: Sequence[Diagnostic] = ()
    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    """Of kernels that did not compile."""
    tiles: dict[int, CompiledTileKernel] = field(default_factory=dict[int, CompiledTileKernel])
    pointers: dict[int, CompiledKernel] = field(default_factory=dict[int, CompiledKernel])
    """The kernels that were launched, by identity."""

    @property
    def has_failed(self) -> bool:
        return bool(self.code or self.log.fault or self.reports or self.errors)

    @property
    def verdict(self) -> str:
        if self.log.fault is not None:
            return f"fault in {self.log.faulty_kernel}"
        if self.errors:
            return "a kernel does not compile"
        if self.code:
            return f"the script ended with exit code {self.code}"
        if not self.log.launches:
            return "no kernel was launched, so nothing was checked"
        found = counted(len(self.reports), "report") if self.reports else "no fault"
        return f"{self.log.counts()}: {found}"


def checked_run(
    file: str,
    arguments: Sequence[str],
    *,
    schedules: int,
    has_compat: bool,
    target: str | None = None,
) -> CheckedRun:
    """Run a script with every check on; its output goes to standard error."""
    require_file(file)
    if has_compat:
        install()
    missing: list[str] = []

    def run_script(run: CheckedRun) -> int:
        return exit_code(
            lambda: _guarded(file, arguments, run, missing, has_compat=has_compat), show_interrupt
        )

    run = checked_call(run_script, schedules=schedules, target=target)
    if missing:
        raise UsageError(missing[0])
    if run.code == INTERRUPTED:
        raise Ended(INTERRUPTED)
    return run


def checked_call(
    call: Callable[[CheckedRun], int], *, schedules: int, target: str | None = None
) -> CheckedRun:
    """Whatever `call` launches, with every check on; it returns an exit code."""
    run = CheckedRun(LaunchLog(), OrderingLog(wants_timeline=True), Launches())
    with _checking(run, schedules, target) as fresh:
        run.code = call(run)
        run.reports = () if run.log.fault is not None else (*run.orders.unread(), *fresh.reports())
    return run


@contextmanager
def _checking(run: CheckedRun, schedules: int, target: str | None) -> Generator[Any]:
    """All checks and listeners in force."""
    with ExitStack() as stack:
        options: dict[str, Any] = {**CHECKS, "recorder": run.orders.recorder}
        options["schedules"] = schedules
        if target is not None:
            options["target"] = target
        stack.enter_context(running(**options))
        stack.enter_context(changed(schedules=schedules, check_capacity=True))
        stack.enter_context(logged(run.log))
        fresh = stack.enter_context(watching())
        stack.enter_context(observing_launches(_tile_listener(run), run=True))
        stack.enter_context(listening_to_tl(run.launches))
        stack.enter_context(_noting_pointers(run))
        yield fresh


def _tile_listener(run: CheckedRun) -> Any:
    def notice(kernel: CompiledTileKernel, values: Sequence[Any]) -> None:
        run.tiles.setdefault(id(kernel), kernel)
        run.launches.add_tile(kernel, values)

    return notice


@contextmanager
def _noting_pointers(run: CheckedRun) -> Generator[None]:

    def noting(
        kernel: CompiledKernel, _grid: Grid, _values: object, launch: Launch
    ) -> RunReport | None:
        run.pointers.setdefault(id(kernel), kernel)
        return launch()

    with launches_to(noting):
        yield


def _guarded(
    file: str, arguments: Sequence[str], run: CheckedRun, missing: list[str], *, has_compat: bool
) -> None:
    """Run the script; what its kernels did wrong is for the page, and shown as text as well."""
    try:
        run_file(file, arguments)
    except Exception as error:
        text = missing_package(error, has_compat=not has_compat)
        if text is not None:
            missing.append(f"{script_line(error)}: {text}")
        elif speaks_for_itself(error):
            run.errors.extend(diagnostics_of(error))
            show_error(error)
        else:
            raise
        raise SystemExit(1) from None


# -- what the page shows of it ---------------------------------------------------------------------


def findings(run: CheckedRun, sources: Sources) -> list[Finding]:
    """What was reported: the fault first, with the bytes of its accesses."""
    found = [*_fault(run.log.fault, sources)]
    others = (*run.errors, *run.reports, *run.log.warnings)
    found += [Finding(Message.of(each, sources)) for each in others]
    return found


def _fault(fault: NumpyFault | None, sources: Sources) -> list[Finding]:
    if fault is None:
        return []
    message = Message.of(fault.diagnostic, sources)
    if not isinstance(fault, OrderingFault) or not fault.findings:
        return [Finding(message)]
    first = fault.findings[0]
    accesses: list[SharedBytes] = []
    for access in (first.first, first.second):
        if access is not None:
            position = Diagnostic(
                fault.diagnostic.severity, "", fault.source_sites[access.site].location
            )
            origin = sources.of(position)
            accesses.append(SharedBytes(access.region.name, str(access), origin))
    return [Finding(message, tuple(accesses), first.size_bytes)]


def addresses(run: CheckedRun) -> tuple[list[AddressDocument], list[str]]:
    """The accesses of every launch, and sentences about launches that were not analysed."""
    found: list[AddressDocument] = []
    notes: list[str] = []
    for each in run.launches.found:
        try:
            report = each.report()
        except AnalysisError as error:
            notes.append(str(error))
            continue
        settings = Settings(same_start=each.aliases.same_start)
        checked = run_checks(report, ALL_CHECKS, settings)
        found.append(AddressDocument(report, checked, each.title(report), each.source))
    return found, notes


def tuning() -> list[Tuning]:
    """What the autotuners of the script have tried."""
    names = vars(sys.modules["__main__"]).values()
    return [
        Tuning(each.name, _trials(each))
        for each in names
        if isinstance(each, Autotuner) and each.cache
    ]


def _trials(tuner: Autotuner) -> tuple[Trial, ...]:
    best = tuner.best_config
    return tuple(
        Trial(str(config), tuner.configs_timings.get(config), config == best)
        for config in tuner.configs
    )
