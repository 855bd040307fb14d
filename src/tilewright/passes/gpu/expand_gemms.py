"""`expand-gemms`: GEMMs that no tensor-core instruction does become loops over their elements.

    tile.gemm %A, %B -> %C          tile.parallel (%i, %j) in (M, N) {
                              ->      %sum = scf.for %k = 0 to K iter_args(%C[%i, %j]) {
                                        yield %sum + %A[%i, %k] * %B[%k, %j] }
                                      memref.store %sum, %C[%i, %j] }

Tensor cores want multiples of 16 rows, 8 columns and 4 to 32 elements of K, whole warps, and some
element types (`analysis.layout_inference.feasible`). What does not fit is correct on CUDA cores as
well, and many times slower: a warning gives the reason and the smallest change to the kernel
(TW3008). Sums are taken in the accumulator's type, those of small floats in float32. An operand in
the accumulator's buffer is copied to shared memory first: other threads write there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, Float32Type, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.analysis.layout_inference.feasible import Infeasible
from tilewright.analysis.layout_inference.gemm_instructions import choose
from tilewright.analysis.layout_inference.gemm_plan import Gpu
from tilewright.analysis.layout_inference.scopes import kernels, threads_of
from tilewright.dialects.arith import AddfOp, AddiOp, ConstantOp, MulfOp, MuliOp, SelectOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp, YieldOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, GemmOp, ParallelOp, Space, SpaceAttr, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import gpu_of
from tilewright.passes.gpu.conversions import converted, is_unsigned
from tilewright.passes.gpu.tile_regions import TileRegion, copy_elements, part_of
from tilewright.passes.tile.index_builder import IndexBuilder

NO_TENSOR_CORES = "TW3008"
_SINGLE = 32


@dataclass(frozen=True)
class ExpandGemms(Pass):
    """Write GEMMs that tensor cores cannot do as loops."""

    name = "expand-gemms"

    wgmma: bool = True
    """Whether GEMMs may use warp-group instructions."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            gpu = gpu_of(kernel)
            for op in list(walk(kernel)):
                if isinstance(op, GemmOp) and space_of(op.c.type) is Space.FRAGMENT:
                    self._expand(op, gpu, engine)

    def _expand(self, op: GemmOp, gpu: Gpu, engine: DiagnosticEngine) -> None:
        try:
            choose(op, threads_of(op), gpu, wgmma=self.wgmma)
        except Infeasible as error:
            units = "tensor cores" if amd_chip_of(op) is None else "matrix instructions"
            diagnostic = engine.warning(
                op, f"{units} not used for this GEMM: {error}", NO_TENSOR_CORES
            )
            if error.help is not None:
                diagnostic.note(None, f"help: {error.help}")
            _write(op)


def _write(op: GemmOp) -> None:
    m, n, k = op.mnk
    code = IndexBuilder(op)
    left, right = (_apart(code, each, op.c) for each in (op.a, op.b))
    loop = ParallelOp([m, n])
    code.add(loop)
    i, j = loop.body.block.args
    body = code.inside(loop.body.block)
    c = part_of(op.c)
    element = _element(body, c, i, j)
    target = element_type_of(op.c.type)
    type = _sum_type(target)
    first = _first(op, body, LoadOp(c.buffer, element), type)
    inner = Block(arg_types=[INDEX, type])
    lower, upper, step = (body.index(each) for each in (0, k, 1))
    reduction = ForOp(lower, upper, step, [first], Region(inner))
    body.add(reduction)
    inner.add_op(end := YieldOp([inner.args[1]]))
    inside = code.inside(inner)
    at = inner.args[0]
    a = _factor(inside, left, (i, at), type, turned=op.transpose_a is not None)
    b = _factor(inside, right, (at, j), type, turned=op.transpose_b is not None)
    is_float = isinstance(type, AnyFloat)
    term = inside.add((MulfOp if is_float else MuliOp)(a, b)).results[0]
    total = inside.add((AddfOp if is_float else AddiOp)(inner.args[1], term)).results[0]
    end.operands[0] = total
    body.add(StoreOp(converted(body, reduction.results[0], target), c.buffer, element))
    code.rewriter.erase(op)


def _apart(code: IndexBuilder, operand: SSAValue, accumulator: SSAValue) -> SSAValue:
    """The operand, or a copy of it where the accumulator is in the operand's buffer."""
    owner = base_of(operand).owner
    if base_of(operand) is not base_of(accumulator) or not isinstance(owner, AllocOp):
        return operand
    shape = [each for each in part_of(operand).extents if isinstance(each, int)]
    type = MemRefType(element_type_of(operand.type), shape, NoneAttr(), SpaceAttr(Space.SHARED))
    staged = code.add(AllocOp(type, name=f"{owner.buffer_name}_staged")).results[0]
    copy_elements(code, operand, staged)
    return staged


def _sum_type(target: Attribute) -> Attribute:
    """Floats that are narrower than float32 are added up as float32."""
    is_small = isinstance(target, AnyFloat) and bit_width(target) < _SINGLE
    return Float32Type() if is_small else target


def _first(op: GemmOp, code: IndexBuilder, load: LoadOp, type: Attribute) -> SSAValue:
    """The initial value of the accumulator: zero, or its present value."""
    if op.clear is not None:
        return code.add(ConstantOp.of(0, type)).results[0]
    held = converted(code, code.add(load).results[0], type)
    if op.clear_if is None:
        return held
    zero = code.add(ConstantOp.of(0, type)).results[0]
    return code.add(SelectOp(op.clear_if, zero, held)).results[0]


def _factor(
    code: IndexBuilder,
    operand: SSAValue,
    at: tuple[SSAValue, SSAValue],
    type: Attribute,
    *,
    turned: bool,
) -> SSAValue:
    part = part_of(operand)
    row, column = at[::-1] if turned else at
    loaded = code.add(LoadOp(part.buffer, _element(code, part, row, column))).results[0]
    return converted(code, loaded, type, is_unsigned=is_unsigned(part.buffer))


def _element(
    code: IndexBuilder, part: TileRegion, row: SSAValue, column: SSAValue
) -> list[SSAValue]:
    return part.element(code, (row, column), _axes(part))


def _axes(part: TileRegion) -> list[int]:
    """The two dimensions of a matrix, as `GemmOp.mnk` finds them: extents of 1 are left out."""
    axes = list(range(len(part.extents)))
    while len(axes) > 2 and part.extents[axes[0]] == 1:
        del axes[0]
    return axes if len(axes) == 2 else part.axes
