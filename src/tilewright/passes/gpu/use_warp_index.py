"""`use-warp-index`: what depends on the warp alone is computed from the index of the warp.

    %t = tid - 128                           %w = gpu.subgroup_id
    %g = %t / 128               ->           %g = (%w - 4) >> 2
    %c = tid < 32                            %c = %w < 1

All threads of a warp have the same value, but an assembler cannot derive that from the index of
the thread: descriptors of operands that depend on the warp group, and all else in a branch that
depends on it, would be computed in every lane and moved to uniform registers for each instruction.
The index of the warp is broadcast from its first thread once, at the start of the kernel, where all
of them are convergent. Applied to kernels with roles or warp-group MMAs, whose warps are whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import (
    CmpiOp,
    ConstantOp,
    DivuiOp,
    FloordivsiOp,
    ShrsiOp,
    SubiOp,
)
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import Dimension, SubgroupIdOp, ThreadIdOp
from tilewright.dialects.nv import WgmmaOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_BOUNDS = ("ult", "uge", "slt", "sge")
"""Comparisons that all threads of a warp decide alike if the bound is a multiple of its size."""


@dataclass(frozen=True)
class UseWarpIndex(Pass):
    """Compute what depends on the warp alone from its index."""

    name = "use-warp-index"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if isinstance(function, FuncOp) and simt_names.KERNEL in function.attributes:
                threads = function.attributes.get(simt_names.THREADS)
                is_whole = isinstance(threads, IntegerAttr) and not threads.value.data % NVIDIA_WARP
                ops = list(walk(function))
                if is_whole and any(isinstance(op, WsOp | WgmmaOp) for op in ops):
                    _Rewrite(function).run(ops)


class _Rewrite:
    """One kernel."""

    def __init__(self, function: FuncOp) -> None:
        self._function = function
        self._rewriter = Rewriter()
        self._last: Operation | None = None
        """The last op that has been inserted at the start of the kernel."""
        self._index: SSAValue | None = None
        self._made: dict[tuple[int, int], SSAValue] = {}

    def run(self, ops: list[Operation]) -> None:
        if any(isinstance(op, WsOp) for op in ops):
            self._first()  # for the branches of the roles
        for op in ops:
            if isinstance(op, DivuiOp | FloordivsiOp):
                self._quotient(op)
            elif isinstance(op, CmpiOp):
                self._comparison(op)

    def _quotient(self, op: DivuiOp | FloordivsiOp) -> None:
        offset, divisor = _offset_of(op.operands[0]), _warps(op.operands[1])
        if offset is None or not divisor:
            return
        found = self._warp(offset, divisor)
        if op.results[0].name_hint is not None:
            found.name_hint = op.results[0].name_hint
        self._rewriter.replace_op(op, [], [found])

    def _comparison(self, op: CmpiOp) -> None:
        offset, bound = _offset_of(op.operands[0]), _warps(op.operands[1])
        if offset is None or bound is None or op.predicate_name not in _BOUNDS:
            return
        if offset and op.predicate_name.startswith("u"):
            return  # of threads before the first one it is decided by wrapping
        limit = ConstantOp.of(bound, INDEX)
        compared = CmpiOp(op.predicate_name, self._warp(offset, 1), limit.results[0])
        self._rewriter.replace_op(op, [limit, compared], [compared.results[0]])

    def _warp(self, offset: int, divisor: int) -> SSAValue:
        """``(index - offset) / divisor``, at the start of the kernel."""
        key = offset, divisor
        if key not in self._made:
            value = self._first() if divisor == 1 else self._warp(offset, 1)
            if divisor == 1 and offset:
                value = self._insert(SubiOp(value, self._constant(offset)))
            elif divisor > 1 and divisor & (divisor - 1):
                value = self._insert(FloordivsiOp(value, self._constant(divisor)))
            elif divisor > 1:
                value = self._insert(ShrsiOp(value, self._constant(divisor.bit_length() - 1)))
            self._made[key] = value
        return self._made[key]

    def _first(self) -> SSAValue:
        if self._index is None:
            self._index = self._insert(SubgroupIdOp())
            self._index.name_hint = "warp"
        return self._index

    def _constant(self, value: int) -> SSAValue:
        return self._insert(ConstantOp.of(value, INDEX))

    def _insert(self, op: Operation) -> SSAValue:
        block = self._function.body.block
        op.location = self._function.location
        if self._last is None:
            first = block.first_op
            assert first is not None  # a body is ended
            block.insert_op_before(op, first)
        else:
            block.insert_op_after(op, self._last)
        self._last = op
        return op.results[0]


def _offset_of(value: SSAValue) -> int | None:
    """Warps before the thread from which on `value` counts threads; None if it does not."""
    owner = value.owner
    if isinstance(owner, ThreadIdOp) and owner.dimension.data is Dimension.X:
        return 0
    if isinstance(owner, SubiOp) and _offset_of(owner.operands[0]) == 0:
        return _warps(owner.operands[1])
    return None


def _warps(value: SSAValue) -> int | None:
    """A constant number of threads as a number of warps; None if it is not whole."""
    constant = constant_value(value)
    if not isinstance(constant, IntegerAttr) or constant.value.data % NVIDIA_WARP:
        return None
    return constant.value.data // NVIDIA_WARP
