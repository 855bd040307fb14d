"""Check, without data and without running, that barriers order what shares bytes.

Every kernel of tasks is followed with its buffers, barriers and asynchronous units, and with no
tensor at all. Loops of unknown length run 1, 2 and twice the longest ring plus one times; numbers
that depend on arguments get values that make it so. Loops around loops run 5 times at most, so that
they do not multiply. What two tasks, or a task and an engine, do to the same bytes must be ordered
by barriers. That is decided by vector clocks (`analysis.ordering`), not by what came first in the
schedules that are followed::

    data race: write of 'p'[0] in task 2 may run before read of 'qk'[0] in task 0 completes; no
    barrier orders them

Task 0 is the default one. Everything is a warning. A kernel, or a part of one, that cannot be
followed without data is a remark. Silence means that nothing unordered was found for these trip
counts and arguments; it is no proof for others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.alias_sync.symbolic_ints import Root
from tilewright.analysis.ordering import Access
from tilewright.dialects.tt.functions import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.passes import Pass
from tilewright.memory import UnitError
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.tlx.alias_sync.kernel import MAX_CLUSTER, Kernel, kernels_of
from tilewright.passes.tlx.alias_sync.report import (
    NOT_ANALYSED,
    check_kernel,
    diagnostic,
    unread,
)
from tilewright.passes.tlx.alias_sync.walk import argument_names
from tilewright.passes.tlx.rewrite_local_alias import RewriteLocalAlias
from tilewright.passes.tlx.storage_alias.define_overlaps import named_phases
from tilewright.passes.tlx.storage_alias_lowering import StorageAliasLowering


@dataclass(frozen=True)
class CheckAliasSync(Pass):
    """Find accesses to the same bytes that no barrier orders."""

    name = "tlx-check-alias-sync"

    trip_counts: tuple[int, ...] = ()
    """Trip counts of loops of unknown length, one run for each; by default 1, 2 and enough to use
    every slot twice."""

    arguments: tuple[str, ...] = ()
    """``name=number``: what an argument is, where no other choice makes sense."""

    cluster_size: int = 0
    """CTAs of the cluster; by default as the module specifies, or as few as its ops need."""

    report: bool = False
    """Report what was followed."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        if not 0 <= self.cluster_size <= MAX_CLUSTER:
            engine.error(
                module, f"cluster-size must be 1 to {MAX_CLUSTER}, got {self.cluster_size}"
            )
            return
        placed = _placed(module, engine)
        if placed is None:
            return
        for function in kernels_of(placed):
            self._check(placed, function, engine)

    def _check(self, module: ModuleOp, function: FuncOp, engine: DiagnosticEngine) -> None:
        kernel = Kernel(module, function, self.cluster_size)
        if not kernel.is_relevant():
            return
        counts = self.trip_counts or (1, 2, 2 * kernel.depth + 1)
        given = self._given(function, engine)
        if given is None:
            return
        try:
            verdict = check_kernel(kernel, counts, given)
        except UnitError as error:
            engine.remark(function, f"synchronisation not analysed: {error}", NOT_ANALYSED)
            return
        for witness in verdict.witnesses:
            engine.emit(diagnostic(kernel, witness))
        for access in _first_of_each_line(verdict.unread):
            engine.emit(unread(kernel, access))
        for op, reason in verdict.unknown.items():
            engine.remark(op, f"synchronisation not analysed: {reason}", NOT_ANALYSED)
        if self.report and not verdict.witnesses and not verdict.unread:
            tail = "; partly not analysed" if verdict.unknown else ""
            text = f"no unordered accesses in {verdict.events} events of {verdict.runs} runs{tail}"
            engine.remark(function, text)

    def _given(self, function: FuncOp, engine: DiagnosticEngine) -> dict[Root, int] | None:
        known, found = argument_names(function), dict[Root, int]()
        for each in self.arguments:
            name, _, value = each.partition("=")
            if name not in known or not value.lstrip("-").isdigit():
                names = ", ".join(known) or "none"
                text = f"arguments: expected NAME=INTEGER, got '{each}'; names: {names}"
                engine.error(function, text)
                return None
            found[known[name]] = int(value)
        return found


def _first_of_each_line(accesses: Iterable[Access]) -> list[Access]:
    found: dict[int, Access] = {}
    for access in accesses:
        found.setdefault(access.site, access)
    return list(found.values())


def _placed(module: ModuleOp, engine: DiagnosticEngine) -> ModuleOp | None:
    """A copy in which buffers of storage aliases have addresses; None if they cannot have any."""
    module = module.clone()
    inner = DiagnosticEngine(sources=engine.sources)
    phases = named_phases(module)
    aliases = StorageAliasLowering(placement="explicit", multi_overlap=phases, record=False)
    for each in (aliases, RewriteLocalAlias()):
        each.run(module, inner)
        if inner.has_errors:
            error = next(d for d in inner.diagnostics if d.severity is Severity.ERROR)
            text = f"synchronisation not analysed: {error.message}"
            engine.remark(error.location, text, NOT_ANALYSED)
            return None
    canonicalize(module)  # branches that no task of a set of replicas takes are gone
    return module
