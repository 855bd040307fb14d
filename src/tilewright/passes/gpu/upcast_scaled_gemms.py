"""`upcast-scaled-gemms`: block-scaled GEMMs as GEMMs of the numbers that elements and scales give.

    tile.scaled_gemm %a as e4m3 scale %s, %b as bf16 -> %c
      ->  tile.parallel (%i, %k) { %w[%i, %k] = bf16(f32(%a[%i, %k]) * 2^(%s[%i, %k / 32] - 127)) }
          tile.gemm %w, %b -> %c

Tensor cores that read scales come after Hopper, and AMD's after gfx942. The type of the GEMM holds
every element times its scale (`dialects.tile.scaled.exact_type`), so that nothing is rounded: most
often bfloat16; float16 next to scales is multiplied as tf32. A byte with two elements is read once.
Bytes that are distributed over registers are copied to shared memory first: the threads that own
their elements do not own their scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    MemRefType,
    ModuleOp,
    NoneAttr,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.arith import (
    AddiOp,
    AndiOp,
    BitcastOp,
    CmpiOp,
    ConstantOp,
    ExtfOp,
    ExtuiOp,
    MulfOp,
    NegfOp,
    OriOp,
    SelectOp,
    ShliOp,
    ShruiOp,
    SitofpOp,
    TruncfOp,
)
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AllocOp, GemmOp, ParallelOp, Space, SpaceAttr, space_of
from tilewright.dialects.tile.scaled import BYTE, ScaledGemmOp, Side, exact_type
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.naming import buffer_name
from tilewright.passes.tile.tile_regions import copy_elements, matrix_axes, part_of

_F32 = Float32Type()
_FORMAT_TYPES = {"e4m3": Float8E4M3FNType(), "e5m2": Float8E5M2Type()}
_OWN_TYPES: dict[str, Attribute] = {"bf16": BFloat16Type(), "fp16": Float16Type()}
_MANTISSA_BITS = 23
_ACCESS_BITS = 128
"""Of the widest access of a thread."""
_NAN_SCALE = 255


@dataclass(frozen=True)
class UpcastScaledGemms(Pass):
    """Multiply elements of GEMMs by their scales before the GEMM."""

    name = "upcast-scaled-gemms"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, ScaledGemmOp):
                _upcast(op)


def _upcast(op: ScaledGemmOp) -> None:
    code, type = IndexBuilder(op), exact_type(op)
    is_fast = op.fast_math is not None
    a, b = (_widened(code, side, type, is_fast=is_fast) for side in (op.lhs, op.rhs))
    code.add(
        GemmOp(
            a,
            b,
            op.c,
            transpose_a=op.transpose_a is not None,
            transpose_b=op.transpose_b is not None,
            clear=op.clear is not None,
            clear_if=op.clear_if,
            policy=op.policy.data,
            precision="tf32" if type == _F32 else None,
        )
    )
    code.rewriter.erase(op)


def _widened(code: IndexBuilder, side: Side, type: AnyFloat, *, is_fast: bool) -> SSAValue:
    """The elements of an operand, times their scales, in the type of the GEMM."""
    if side.scale is None and _OWN_TYPES.get(side.format) == type:
        return side.value
    is_held = space_of(side.value.type) is Space.FRAGMENT
    value, scale = side.value, side.scale
    if is_held and (side.is_packed or scale is not None):
        value, is_held = _in_shared(code, value), False
    if scale is not None and space_of(scale.type) is Space.FRAGMENT:
        scale = _in_shared(code, scale)
    source, axes = part_of(value), matrix_axes(part_of(value))
    stored = [extent for axis in axes if isinstance(extent := source.extents[axis], int)]
    shape = [extent * (2 if axis == side.packed_axis else 1) for axis, extent in enumerate(stored)]
    space = Space.FRAGMENT if is_held else Space.SHARED
    name = f"{buffer_name(value)}_wide"
    wide_type = MemRefType(type, shape, NoneAttr(), SpaceAttr(space))
    wide = code.add(AllocOp(wide_type, name=name)).results[0]
    loop = ParallelOp(stored, coalesced_width=_lanes(side, type))
    code.add(loop)
    body, at = code.inside(loop.body.block), list(loop.body.block.args)
    loaded = body.add(LoadOp(source.buffer, source.element(body, at, axes))).results[0]
    scaled = _Scaled(body, side, scale, is_fast=is_fast)
    for half, decoded in enumerate(_decoded(body, side, loaded)):
        position = _position(body, side, at, half)
        value = scaled.multiplied(decoded, position, half)
        body.add(StoreOp(_rounded(body, value, type), wide, position))
    return wide


def _lanes(side: Side, type: AnyFloat) -> int:
    """What a thread converts at a time: a whole access of the wide buffer, not of the elements."""
    return max(_ACCESS_BITS // bit_width(type) // (2 if side.is_packed else 1), 1)


def _position(code: IndexBuilder, side: Side, at: Sequence[SSAValue], half: int) -> list[SSAValue]:
    """The coordinates of an element in the wide buffer."""
    found = list(at)
    axis = side.packed_axis
    if axis is not None:
        found[axis] = code.index(combined(code, "+", combined(code, "*", at[axis], 2), half))
    return found


def _in_shared(code: IndexBuilder, value: SSAValue) -> SSAValue:
    part = part_of(value)
    shape = [extent for extent in part.extents if isinstance(extent, int)]
    type = MemRefType(element_type_of(value.type), shape, NoneAttr(), SpaceAttr(Space.SHARED))
    name = f"{buffer_name(value)}_staged"
    staged = code.add(AllocOp(type, name=name)).results[0]
    copy_elements(code, value, staged)
    return staged


def _rounded(code: IndexBuilder, value: SSAValue, type: AnyFloat) -> SSAValue:
    """The same number in the type of the GEMM."""
    return value if type == _F32 else code.add(TruncfOp(value, type)).results[0]


# -- numbers ---------------------------------------------------------------------------------------


class _Scaled:
    """The scales of one operand, in a loop over its elements."""

    def __init__(
        self, code: IndexBuilder, side: Side, scale: SSAValue | None, *, is_fast: bool
    ) -> None:
        self.code, self.side, self.scale, self.is_fast = code, side, scale, is_fast
        self._last: SSAValue | None = None

    def multiplied(self, value: SSAValue, position: Sequence[SSAValue], half: int) -> SSAValue:
        if self.scale is None:
            return value
        # Both halves of a byte along K have one scale.
        if half == 0 or self._last is None or not self.side.packs_k:
            self._last = self._loaded(self.scale, position)
        return self.code.add(MulfOp(value, self._last)).results[0]

    def _loaded(self, scale: SSAValue, position: Sequence[SSAValue]) -> SSAValue:
        code, part = self.code, part_of(scale)
        k = position[self.side.k_axis]
        block = combined(code, "floordiv", k, self.side.factor)
        at = [position[1 - self.side.k_axis], code.index(block)]
        element = part.element(code, at, matrix_axes(part))
        loaded = code.add(LoadOp(part.buffer, element)).results[0]
        if element_type_of(scale.type) != BYTE:
            return code.add(ExtfOp(loaded, _F32)).results[0]
        return _power(code, loaded, is_fast=self.is_fast)


def _power(code: IndexBuilder, byte: SSAValue, *, is_fast: bool) -> SSAValue:
    """2^(byte - 127): the exponent of a float32, with one more bit where that is no power of two:

        0      0x00400000   subnormal
        255    0x7fc00000   NaN, not infinity

    One choice between two constants, which compilers make without a branch for each element.
    """
    exponent = code.add(ExtuiOp(byte, i32)).results[0]
    bits = code.add(ShliOp(exponent, _integer(code, _MANTISSA_BITS))).results[0]
    if is_fast:
        is_special = code.add(CmpiOp("eq", exponent, _integer(code, 0))).results[0]
    else:
        next_one = code.add(AddiOp(exponent, _integer(code, 1))).results[0]
        wrapped = code.add(AndiOp(next_one, _integer(code, _NAN_SCALE))).results[0]
        is_special = code.add(CmpiOp("ule", wrapped, _integer(code, 1))).results[0]
    bit, none = _integer(code, 1 << (_MANTISSA_BITS - 1)), _integer(code, 0)
    more = code.add(SelectOp(is_special, bit, none)).results[0]
    return code.add(BitcastOp(code.add(OriOp(bits, more)).results[0], _F32)).results[0]


def _decoded(code: IndexBuilder, side: Side, loaded: SSAValue) -> list[SSAValue]:
    """What is in an element of the buffer, in float32: one number, or two."""
    if side.is_packed:
        byte = code.add(ExtuiOp(loaded, i32)).results[0]
        upper = code.add(ShruiOp(byte, _integer(code, 4))).results[0]
        return [_e2m1(code, byte), _e2m1(code, upper)]
    small = _FORMAT_TYPES.get(side.format)
    if small is not None and loaded.type != small:
        loaded = code.add(BitcastOp(loaded, small)).results[0]
    assert bit_width(loaded.type) < bit_width(_F32)
    return [code.add(ExtfOp(loaded, _F32)).results[0]]


def _e2m1(code: IndexBuilder, nibble: SSAValue) -> SSAValue:
    """The number of four bits: a sign, two of exponent, one of mantissa.

    In halves it is an integer: 0, 1, then (2 + mantissa) << (exponent - 1).
    """
    one = _integer(code, 1)
    mantissa = code.add(AndiOp(nibble, one)).results[0]
    shifted = code.add(ShruiOp(nibble, one)).results[0]
    exponent = code.add(AndiOp(shifted, _integer(code, 3))).results[0]
    is_normal = code.add(CmpiOp("ne", exponent, _integer(code, 0))).results[0]
    leading = code.add(SelectOp(is_normal, _integer(code, 2), _integer(code, 0))).results[0]
    digits = code.add(OriOp(leading, mantissa)).results[0]
    less = code.add(AddiOp(exponent, _integer(code, -1))).results[0]
    shift = code.add(SelectOp(is_normal, less, _integer(code, 0))).results[0]
    halves = code.add(ShliOp(digits, shift)).results[0]
    half = code.add(ConstantOp.of(0.5, _F32)).results[0]
    size = code.add(MulfOp(code.add(SitofpOp(halves, _F32)).results[0], half)).results[0]
    sign = code.add(AndiOp(nibble, _integer(code, 8))).results[0]
    is_negative = code.add(CmpiOp("ne", sign, _integer(code, 0))).results[0]
    negative = code.add(NegfOp(size)).results[0]
    return code.add(SelectOp(is_negative, negative, size)).results[0]


def _integer(code: IndexBuilder, value: int) -> SSAValue:
    return code.add(ConstantOp.of(value, i32)).results[0]
