"""Whether the barriers of roles that a kernel writes itself order what the roles access.

A run compares values, or sees copies in flight; whether arrivals and waits order two accesses of
concurrent roles depends on neither. So `tilewright check` runs `check-barriers`, as every
compilation for a GPU does, of kernels with `T.ws` or barriers of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.dialects.tile import AllocOp, WsOp
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.traversal import walk
from tilewright.runtime.tile.targets import default_arch

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.runtime.tile.kernel import CompiledTileKernel


def require_ordered_roles(kernel: CompiledTileKernel) -> str | None:
    """Raise if accesses of roles are not ordered; why, if that is not known."""
    module = kernel.prim_func.module
    if not _synchronises_itself(module):
        return None
    # Loaded when the first such kernel is checked.
    from tilewright.passes.tile.check_barriers import NOT_ANALYSED, CheckBarriers
    from tilewright.passes.tile.pipeline import TilePipeline
    from tilewright.targets.numpy.tile.api import TileFault

    arch = kernel.gpu.settings.arch if kernel.gpu is not None else default_arch(module)
    lowered, engine = module.clone(), DiagnosticEngine()
    kind = "hip" if kernel.target.startswith("hip") else "cuda"
    for each in TilePipeline(target=f"{kind}:{arch}", check_each=False).passes():
        before = engine.error_count
        each.run(lowered, engine)
        errors = [e for e in engine.diagnostics if e.severity is Severity.ERROR]
        if errors and isinstance(each, CheckBarriers):
            raise TileFault("race", errors[0], None, engine.sources)
        if engine.error_count > before:
            return f"the order of roles in {kernel.name}: {errors[0].message}"
    unknown = next((e for e in engine.diagnostics if e.code == NOT_ANALYSED), None)
    return None if unknown is None else f"the order of roles in {kernel.name}: {unknown.message}"


def _synchronises_itself(module: ModuleOp) -> bool:
    return any(
        (isinstance(op, WsOp) and op.is_custom) or (isinstance(op, AllocOp) and op.space.is_barrier)
        for op in walk(module)
    )
