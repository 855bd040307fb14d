"""`choose-index-width`: element indices are as wide as the tensors require.

32 bits are cheaper, and enough for tensors of fewer than 2^31 elements. A kernel that is given a
larger one computes with 64 bits throughout (docs/design/passes.md#index-width). Extents that are
run-time values are assumed to be small; the launcher checks them, and compiles the kernel again
with `bits=64` if they are not. Memory at an address that the kernel has as an integer may have any
extent: 64 bits, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i64

from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import LaunchOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile.regions import PtrAtOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

NARROW, WIDE = 32, 64
LARGEST = (1 << 31) - 1
"""Number of elements that a 32-bit index can address."""


@dataclass(frozen=True)
class ChooseIndexWidth(Pass):
    """Decide how wide indices of kernels are."""

    name = "choose-index-width"

    bits: int | None = None
    """The user's choice."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for launch in walk(module):
            if not isinstance(launch, LaunchOp):
                continue
            kernel = _kernel(module, launch.kernel.string_value())
            is_wide = _is_large(launch) or _follows_addresses(kernel)
            bits = self.bits or (WIDE if is_wide else NARROW)
            if bits != NARROW:
                kernel.attributes[simt_names.INDEX_BITS] = IntegerAttr(bits, i64)


def _kernel(module: ModuleOp, name: str) -> FuncOp:
    return next(op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data == name)


def _follows_addresses(kernel: FuncOp) -> bool:
    return any(isinstance(op, PtrAtOp) for op in walk(kernel))


def _is_large(launch: LaunchOp) -> bool:
    for value in launch.arguments:
        if isinstance(value.type, MemRefType):
            shape = shape_of(value.type)
            if all(size >= 0 for size in shape) and prod(shape) > LARGEST:
                return True
    return False
