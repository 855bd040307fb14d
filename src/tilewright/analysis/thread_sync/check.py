"""Checks the synchronisation of all kernels of a module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.thread_sync.faults import FaultKind, NotAnalysedError, SyncFault
from tilewright.analysis.thread_sync.launches import describe, launches_of
from tilewright.analysis.thread_sync.run import compile_kernel, run
from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.across import LaunchOp
from tilewright.dialects.tile import names as tile_names
from tilewright.ir.traversal import walk

_FROM_ARGUMENTS = (FaultKind.DEADLOCK, FaultKind.OUTSIDE)
"""What arguments lead to that no caller passes: in a kernel whose grid is free, assumed ones may be
such."""


@dataclass(frozen=True)
class KernelResult:
    """The result for one kernel."""

    function: FuncOp
    fault: SyncFault | None = None
    run: str = ""
    """The run with the finding."""
    skipped: tuple[Operation, ...] = ()
    """Writes that could not be analysed."""
    not_analysed: NotAnalysedError | None = None


def check(module: ModuleOp) -> Iterator[KernelResult]:
    """The result for each kernel of a module."""
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    kernels = [op for op in functions if simt_names.KERNEL in op.attributes]
    hosts = [op for op in functions if simt_names.KERNEL not in op.attributes]
    launches = {
        op.kernel.root_reference.data: op
        for host in hosts
        for op in walk(host)
        if isinstance(op, LaunchOp)
    }
    for kernel in kernels:
        yield _check_kernel(kernel, launches.get(kernel.sym_name.data))


def _check_kernel(kernel: FuncOp, host: LaunchOp | None) -> KernelResult:
    skipped: dict[Operation, None] = {}
    is_free = _has_free_grid(host)
    doubtful: KernelResult | None = None
    has_ended = False
    try:
        program = compile_kernel(kernel)
        names = {each.index: each.name_hint or "an argument" for each in kernel.body.block.args}
        for launch in launches_of(program, host):
            outcome = run(program, launch)
            skipped.update(dict.fromkeys(outcome.skipped))
            if outcome.fault is None:
                has_ended = True
                continue
            found = KernelResult(kernel, outcome.fault, describe(launch, names), tuple(skipped))
            if not is_free or outcome.fault.kind not in _FROM_ARGUMENTS:
                return found
            doubtful = doubtful or found
    except NotAnalysedError as reason:
        return KernelResult(kernel, skipped=tuple(skipped), not_analysed=reason)
    if doubtful is not None and not has_ended:
        return doubtful
    return KernelResult(kernel, skipped=tuple(skipped))


def _has_free_grid(host: LaunchOp | None) -> bool:
    function = None if host is None else host.parent_op()
    while function is not None and not isinstance(function, FuncOp):
        function = function.parent_op()
    return function is not None and tile_names.FREE_GRID in function.attributes
