"""`lower-tmem`: tensor memory is part of Blackwell's tensor cores, and of no other architecture.

The front end rejects it early (`T.alloc_tmem`). IR can still contain it; without this pass a
buffer would reach the printer that no line of CUDA can declare
(docs/design/passes.md#tensor-memory).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, Space
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import arch_name, arch_of

NO_TENSOR_MEMORY = "TW4003"
_BLACKWELL = 100


@dataclass(frozen=True)
class LowerTmem(Pass):
    """Refuse buffers in tensor memory."""

    name = "lower-tmem"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in walk(module):
            if isinstance(op, AllocOp) and op.space is Space.TMEM:
                engine.error(op, _problem(op), NO_TENSOR_MEMORY).note(None, _suggest_fix(op))


def _problem(op: AllocOp) -> str:
    if amd_chip_of(op) is not None or arch_of(op) < _BLACKWELL:
        return f"tensor memory requires sm_100, the target is {arch_name(op)}"
    return (
        f"code generation for tensor memory is not implemented: '{op.buffer_name}' is "
        "allocated there"
    )


def _suggest_fix(op: AllocOp) -> str:
    shape = ", ".join(map(str, shape_of(op.result.type)))
    return (
        f"help: allocate the accumulator in registers: T.alloc_fragment(({shape}), "
        f"'{element_type_of(op.result.type)}')"
    )
