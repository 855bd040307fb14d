"""`expand-gemms`: GEMMs that no tensor-core instruction does become loops over their elements.

    tile.gemm %A, %B -> %C          scf.for %k = 0 to K {
                              ->      tile.parallel (%i, %j) in (M, N) {
                                        %C[%i, %j] += %A[%i, %k] * %B[%k, %j] } }

Tensor cores want multiples of 16 rows, 8 columns and 4 to 32 elements of K, whole warps, and some
element types (`analysis.layout_inference.feasible`). What does not fit is correct on CUDA cores as
well, and many times slower: a warning gives the reason and the smallest change to the kernel
(TW3008). So is what needs all bits of float32 or float64 (``precision ieee``), which tensor cores
do not read: a remark (TW3009).

The loop along K is outside, so that a thread loads an element of A and B once for all the elements
of C that it holds. Of arrays of one thread (`T.alloc_local`) each thread computes all elements, one
after the other. Sums are taken in the accumulator's type. Those of floats smaller than float32
are taken in float32, each in a loop of its own. An operand that is in registers, or in the
accumulator's buffer, is copied to shared memory first.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    Float64Type,
    MemRefType,
    ModuleOp,
    NoneAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.analysis.layout_inference.feasible import Infeasible, type_name
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
from tilewright.dialects.tile.signedness import is_unsigned, unsigned_dtype
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import gpu_of
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.tile_regions import TileRegion, copy_elements, matrix_axes, part_of

NO_TENSOR_CORES, EXACT = "TW3008", "TW3009"
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
                if not isinstance(op, GemmOp):
                    continue
                if space_of(op.c.type) is Space.FRAGMENT:
                    self._expand(op, gpu, engine)
                elif space_of(op.c.type) is Space.LOCAL:
                    _write_own(op)

    def _expand(self, op: GemmOp, gpu: Gpu, engine: DiagnosticEngine) -> None:
        if _needs_all_bits(op):
            _report_exact(op, engine)
            _write(op)
            return
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


def _needs_all_bits(op: GemmOp) -> bool:
    """Whether a GEMM requests all bits of operands of which the tensor cores read fewer, or none.

    Narrower floats are exact in every instruction, and float32 is in those of AMD.
    """
    if op.precision is None or op.precision.data != "ieee":
        return False
    chip, element = amd_chip_of(op), element_type_of(op.a.type)
    if isinstance(element, Float64Type):
        return True
    if not isinstance(element, Float32Type):
        return False
    return chip is None or not chip.instructions_for("f32", "f32")


def _report_exact(op: GemmOp, engine: DiagnosticEngine) -> None:
    element = type_name(element_type_of(op.a.type))
    remark = engine.remark(
        op,
        f"tensor cores not used for this GEMM: precision ieee multiplies all bits of {element} on "
        "the FMA units",
        EXACT,
    )
    if element == "float32":
        remark.note(None, "help: tf32x3 or bf16x6 are nearly as precise, on tensor cores")


def _write(op: GemmOp) -> None:
    target = element_type_of(op.c.type)
    if _sum_type(target) == target:
        _write_outer(op, target)
    else:
        _write_inner(op)


def _write_outer(op: GemmOp, type: Attribute) -> None:
    """K outside: each step adds one term to all elements."""
    m, n, k = op.mnk
    code = IndexBuilder(op)
    left, right = (_in_memory(code, each, op.c) for each in (op.a, op.b))
    c = part_of(op.c)
    if op.clear is not None or op.clear_if is not None:
        loop = ParallelOp([m, n])
        code.add(loop)
        body = code.inside(loop.body.block)
        element = _element(body, c, *loop.body.block.args)
        body.add(StoreOp(_first(op, body, LoadOp(c.buffer, element), type), c.buffer, element))
    inner = Block([YieldOp()], arg_types=[INDEX])
    lower, upper, step = (code.index(each) for each in (0, k, 1))
    code.add(ForOp(lower, upper, step, [], Region(inner)))
    loop = ParallelOp([m, n])
    code.inside(inner).add(loop)
    body = code.inside(loop.body.block)
    i, j = loop.body.block.args
    element = _element(body, c, i, j)
    before = body.add(LoadOp(c.buffer, element)).results[0]
    body.add(
        StoreOp(_step(op, body, (left, right), (i, j, inner.args[0]), before), c.buffer, element)
    )
    code.rewriter.erase(op)


def _write_inner(op: GemmOp) -> None:
    """K inside: each element is a sum of its own, in a wider type."""
    m, n, _ = op.mnk
    code = IndexBuilder(op)
    operands = _apart(code, op.a, op.c), _apart(code, op.b, op.c)
    loop = ParallelOp([m, n])
    code.add(loop)
    _write_sum(op, code.inside(loop.body.block), operands, *loop.body.block.args)
    code.rewriter.erase(op)


def _write_own(op: GemmOp) -> None:
    """Each thread computes all of its own array."""
    m, n, _ = op.mnk
    code = IndexBuilder(op)
    rows, i = _counting(code, m)
    columns, j = _counting(rows, n)
    _write_sum(op, columns, (op.a, op.b), i, j)
    code.rewriter.erase(op)


def _write_sum(
    op: GemmOp, code: IndexBuilder, operands: tuple[SSAValue, SSAValue], i: SSAValue, j: SSAValue
) -> None:
    """One element: a loop along K with its sum."""
    target, c = element_type_of(op.c.type), part_of(op.c)
    type, (_, _, k) = _sum_type(target), op.mnk
    element = _element(code, c, i, j)
    first = _first(op, code, LoadOp(c.buffer, element), type)
    inner = Block(arg_types=[INDEX, type])
    lower, upper, step = (code.index(each) for each in (0, k, 1))
    reduction = ForOp(lower, upper, step, [first], Region(inner))
    code.add(reduction)
    inner.add_op(end := YieldOp([inner.args[1]]))
    at, total = inner.args
    end.operands[0] = _step(op, code.inside(inner), operands, (i, j, at), total)
    code.add(StoreOp(converted(code, reduction.results[0], target), c.buffer, element))


def _counting(code: IndexBuilder, count: int) -> tuple[IndexBuilder, SSAValue]:
    """A loop that every thread runs, and its variable."""
    body = Block([YieldOp()], arg_types=[INDEX])
    lower, upper, step = (code.index(each) for each in (0, count, 1))
    code.add(ForOp(lower, upper, step, [], Region(body)))
    return code.inside(body), body.args[0]


def _step(
    op: GemmOp,
    code: IndexBuilder,
    operands: tuple[SSAValue, SSAValue],
    position: tuple[SSAValue, SSAValue, SSAValue],
    before: SSAValue,
) -> SSAValue:
    """The sum with one more term."""
    (i, j, at), type = position, before.type
    a = _factor(code, operands[0], (i, at), type, turned=op.transpose_a is not None)
    b = _factor(code, operands[1], (at, j), type, turned=op.transpose_b is not None)
    is_float = isinstance(type, AnyFloat)
    term = code.add((MulfOp if is_float else MuliOp)(a, b)).results[0]
    return code.add((AddfOp if is_float else AddiOp)(before, term)).results[0]


def _in_memory(code: IndexBuilder, operand: SSAValue, accumulator: SSAValue) -> SSAValue:
    """The operand, or a copy of it in memory that all threads see."""
    if space_of(operand.type) is Space.FRAGMENT:
        return _staged(code, operand)
    return _apart(code, operand, accumulator)


def _apart(code: IndexBuilder, operand: SSAValue, accumulator: SSAValue) -> SSAValue:
    """The operand, or a copy of it where the accumulator is in the operand's buffer."""
    owner = base_of(operand).owner
    if base_of(operand) is not base_of(accumulator) or not isinstance(owner, AllocOp):
        return operand
    return _staged(code, operand)


def _staged(code: IndexBuilder, operand: SSAValue) -> SSAValue:
    owner = base_of(operand).owner
    name = owner.buffer_name if isinstance(owner, AllocOp) else "operand"
    shape = [each for each in part_of(operand).extents if isinstance(each, int)]
    type = MemRefType(element_type_of(operand.type), shape, NoneAttr(), SpaceAttr(Space.SHARED))
    alloc = AllocOp(type, name=f"{name}_staged", dtype=unsigned_dtype(operand))
    staged = code.add(alloc).results[0]
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
    return part.element(code, (row, column), matrix_axes(part))
