"""`split-precision`: GEMMs of float32 with more bits than the operands of tensor cores have.

    precision bf16x3          a = a0 + a1 + ...        b = b0 + b1 + ...
                              t  = a1 b0 + a0 b1       the small terms first
                              t  = t where it is a number, else 0
                              t += a0 b0
                              c += t

Parts of tf32x3 have 10 bits of mantissa each, those of bf16x3 and bf16x6 seven; an operand is
divided into two, for bf16x6 into three. An infinite operand leaves NaN in its small parts, which
are dropped before the first terms are added: those give the infinity. Each part is a buffer of its
own. AMD's float32 instructions multiply all bits, so that nothing is divided where there are some;
what no instruction does becomes loops with all bits (`expand-gemms`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float32Type,
    MemRefType,
    ModuleOp,
    NoneAttr,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from tilewright.analysis.layout_inference.feasible import Infeasible
from tilewright.analysis.layout_inference.gemm_instructions import choose
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.dialects.arith import (
    AddfOp,
    AddiOp,
    AndiOp,
    BitcastOp,
    CmpfOp,
    ConstantOp,
    ExtfOp,
    SelectOp,
    SubfOp,
    TruncfOp,
)
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import (
    AllocOp,
    GemmOp,
    ParallelOp,
    Space,
    SpaceAttr,
    space_of,
)
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import gpu_of
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.naming import buffer_name
from tilewright.passes.tile.tile_regions import matrix_axes, part_of

_F32 = Float32Type()
_TF32_MASK, _TF32_HALF = -(1 << 13), 1 << 12
"""The bits of float32 that tf32 has, and half of the last of them."""

Divide = Callable[[IndexBuilder, SSAValue, int], list[SSAValue]]


@dataclass(frozen=True)
class Scheme:
    """How an operand is divided, and which terms are added up, small ones first."""

    parts: int
    element: Attribute
    divide: Divide
    terms: tuple[tuple[int, int], ...]
    """Parts of A and B that are multiplied, all but the first of both."""
    precision: str | None = None
    """Of the GEMMs."""


@dataclass(frozen=True)
class SplitPrecision(Pass):
    """Divide float32 operands of GEMMs into parts that tensor cores multiply."""

    name = "split-precision"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, GemmOp) and space_of(op.c.type) is Space.FRAGMENT:
                scheme = None if op.precision is None else _SCHEMES.get(op.precision.data)
                if scheme is not None and _is_useful(op, scheme):
                    _split(op, scheme)


def _is_useful(op: GemmOp, scheme: Scheme) -> bool:
    """Whether there are instructions for the parts, and none for the whole."""
    chip = amd_chip_of(op)
    if chip is not None:
        has = chip.instructions_for
        return not has("f32", "f32") and bool(has(str(scheme.element), str(scheme.element)))
    try:
        choose(op, threads_of(op), gpu_of(op), wgmma=False)
    except Infeasible:
        return False
    return True


def _split(op: GemmOp, scheme: Scheme) -> None:
    code = IndexBuilder(op)
    a, b = (_parts(code, operand, scheme) for operand in (op.a, op.b))
    m, n, _ = op.mnk
    type = MemRefType(_F32, (m, n), NoneAttr(), SpaceAttr(Space.FRAGMENT))
    total = code.add(AllocOp(type, name="terms")).results[0]
    for index, (left, right) in enumerate(scheme.terms):
        _multiply(code, op, scheme, a[left], b[right], total, clear=index == 0)
    _drop_nan(code, total)
    _multiply(code, op, scheme, a[0], b[0], total, clear=False)
    _add(code, op, total)
    code.rewriter.erase(op)


def _multiply(
    code: IndexBuilder,
    op: GemmOp,
    scheme: Scheme,
    a: SSAValue,
    b: SSAValue,
    total: SSAValue,
    *,
    clear: bool,
) -> None:
    code.add(
        GemmOp(
            a,
            b,
            total,
            transpose_a=op.transpose_a is not None,
            transpose_b=op.transpose_b is not None,
            clear=clear,
            policy=op.policy.data,
            k_pack=op.k_pack.value.data,
            precision=scheme.precision,
            attributes=op.attributes,
        )
    )


# -- elements --------------------------------------------------------------------------------------


def _parts(code: IndexBuilder, operand: SSAValue, scheme: Scheme) -> Sequence[SSAValue]:
    """The parts of an operand, where it is: in registers, or in shared memory."""
    part, space = part_of(operand), space_of(operand.type)
    assert space is not None
    axes = matrix_axes(part)
    shape = [extent for axis in axes if isinstance(extent := part.extents[axis], int)]
    type = MemRefType(scheme.element, shape, NoneAttr(), SpaceAttr(space))
    name = buffer_name(operand)
    found = [
        code.add(AllocOp(type, name=f"{name}_part{index}")).results[0]
        for index in range(scheme.parts)
    ]
    body, at = _loop(code, shape)
    value = body.add(LoadOp(part.buffer, part.element(body, at, axes))).results[0]
    for buffer, each in zip(found, scheme.divide(body, value, scheme.parts), strict=True):
        body.add(StoreOp(each, buffer, at))
    return found


def _loop(code: IndexBuilder, shape: Sequence[int]) -> tuple[IndexBuilder, list[SSAValue]]:
    loop = ParallelOp(list(shape))
    code.add(loop)
    return code.inside(loop.body.block), list(loop.body.block.args)


def _drop_nan(code: IndexBuilder, total: SSAValue) -> None:
    body, at = _loop(code, shape_of(total.type))
    value = body.add(LoadOp(total, at)).results[0]
    is_nan = body.add(CmpfOp("uno", value, value)).results[0]
    zero = body.add(ConstantOp.of(0.0, _F32)).results[0]
    body.add(StoreOp(body.add(SelectOp(is_nan, zero, value)).results[0], total, at))


def _add(code: IndexBuilder, op: GemmOp, total: SSAValue) -> None:
    """The terms, added to the accumulator or in its stead."""
    c = part_of(op.c)
    body, at = _loop(code, shape_of(total.type))
    element = c.element(body, at, matrix_axes(c))
    value = body.add(LoadOp(total, at)).results[0]
    if op.clear is None:
        before = body.add(LoadOp(c.buffer, element)).results[0]
        added = body.add(AddfOp(before, value)).results[0]
        if op.clear_if is not None:
            added = body.add(SelectOp(op.clear_if, value, added)).results[0]
        value = added
    body.add(StoreOp(value, c.buffer, element))


def _divide_tf32(code: IndexBuilder, value: SSAValue, parts: int) -> list[SSAValue]:
    """The upper bits, and what is left, rounded: the hardware ignores the lower 13 bits."""
    assert parts == 2
    mask, half = (
        code.add(ConstantOp.of(each, i32)).results[0] for each in (_TF32_MASK, _TF32_HALF)
    )
    bits = code.add(BitcastOp(value, i32)).results[0]
    upper = code.add(BitcastOp(code.add(AndiOp(bits, mask)).results[0], _F32)).results[0]
    # The upper bits of a NaN may be those of an infinity.
    is_nan = code.add(CmpfOp("uno", value, value)).results[0]
    nan = code.add(ConstantOp.of(float("nan"), _F32)).results[0]
    big = code.add(SelectOp(is_nan, nan, upper)).results[0]
    left = code.add(BitcastOp(code.add(SubfOp(value, big)).results[0], i32)).results[0]
    rounded = code.add(AndiOp(code.add(AddiOp(left, half)).results[0], mask)).results[0]
    return [big, code.add(BitcastOp(rounded, _F32)).results[0]]


def _divide_bf16(code: IndexBuilder, value: SSAValue, parts: int) -> list[SSAValue]:
    """Rounded to bfloat16, then what is left of it, and so on."""
    found: list[SSAValue] = []
    for _ in range(parts):
        if found:
            last = code.add(ExtfOp(found[-1], _F32)).results[0]
            value = code.add(SubfOp(value, last)).results[0]
        found.append(code.add(TruncfOp(value, BFloat16Type())).results[0])
    return found


_SCHEMES: Mapping[str, Scheme] = {
    "tf32x3": Scheme(2, _F32, _divide_tf32, ((1, 0), (0, 1)), "tf32"),
    "bf16x3": Scheme(2, BFloat16Type(), _divide_bf16, ((1, 0), (0, 1))),
    "bf16x6": Scheme(3, BFloat16Type(), _divide_bf16, ((1, 1), (2, 0), (0, 2), (1, 0), (0, 1))),
}
