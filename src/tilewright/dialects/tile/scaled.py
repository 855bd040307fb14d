"""GEMMs of block-scaled operands: small floats along K share a scale.

    tile.scaled_gemm %a as e4m3 scale %sa : TSA, %b as e2m1 scale %sb : TSB -> %c : TA, TB -> TC

An element is what its format decodes, times its scale. Formats of one byte are ``e4m3`` and
``e5m2``, in buffers of that type or of bytes; ``bf16`` and ``fp16`` are themselves. Two ``e2m1``
share a byte, the lower half first: adjacent along K, or along M with ``pack_m`` (A), along N with
``pack_n`` (B). Scales are ``M x K/32`` for A and ``N x K/32`` for B: bytes are powers of two (e8m0:
2^(x - 127), 255 is NaN), 8-bit floats themselves, for which 16 elements may share one. With
``fast_math`` no scale is taken for NaN. Elements and scales are multiplied exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    IntegerType,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.access import AccessedRegion, RegionEffects, TileOp, region_of
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    keyword_prop,
    mark,
    mark_prop,
    string,
)
from tilewright.dialects.tile.compute import POLICIES
from tilewright.dialects.tile.movement import matrix
from tilewright.dialects.tile.types import BUFFER_OR_REGION, shape_text, space_of
from tilewright.dialects.type_utils import element_type_of

FORMATS = KeywordSyntax(("e4m3", "e5m2", "e2m1", "bf16", "fp16"))
BYTE = IntegerType(8)
_TYPES: Mapping[str, tuple[Attribute, ...]] = {
    "e4m3": (Float8E4M3FNType(), BYTE),
    "e5m2": (Float8E5M2Type(), BYTE),
    "e2m1": (BYTE,),
    "bf16": (BFloat16Type(),),
    "fp16": (Float16Type(),),
}
"""What elements of a buffer may be, by format."""
_SCALES = (BYTE, Float8E4M3FNType())
_FACTORS: Mapping[Attribute, tuple[int, ...]] = {BYTE: (32,), Float8E4M3FNType(): (16, 32)}
"""How many elements along K may share a scale, by its type."""


@dataclass(frozen=True)
class Side:
    """One operand: its matrix in buffers, and how it is read."""

    name: str
    value: SSAValue
    scale: SSAValue | None
    format: str
    is_transposed: bool
    """Whether the buffer is K x M (A), N x K (B)."""
    packs_k: bool
    """Whether the halves of a byte are adjacent along K."""

    @property
    def is_packed(self) -> bool:
        return self.format == "e2m1"

    @property
    def k_axis(self) -> int:
        """The dimension of the matrix in the buffer that is K."""
        return int((self.name == "A") != self.is_transposed)

    @property
    def packed_axis(self) -> int | None:
        """The dimension of the buffer along which a byte holds two elements."""
        if not self.is_packed:
            return None
        return self.k_axis if self.packs_k else 1 - self.k_axis

    @property
    def extents(self) -> tuple[int, int]:
        """M (or N) and K, in elements."""
        found = list(matrix(f"operand {self.name}", self.value))
        if self.packed_axis is not None:
            found[self.packed_axis] *= 2
        return found[1 - self.k_axis], found[self.k_axis]

    @property
    def factor(self) -> int:
        """How many elements along K share a scale."""
        assert self.scale is not None
        return self.extents[1] // matrix("scale", self.scale)[1]


@irdl_op_definition
class ScaledGemmOp(TileOp):
    """``C (+)= (A * scale) @ (B * scale)``."""

    name = "tile.scaled_gemm"

    a = operand_def(BUFFER_OR_REGION)
    b = operand_def(BUFFER_OR_REGION)
    c = operand_def(BUFFER_OR_REGION)
    a_scale = opt_operand_def(BUFFER_OR_REGION)
    b_scale = opt_operand_def(BUFFER_OR_REGION)
    clear_if = opt_operand_def(i1)
    """Whether the GEMM overwrites its destination, as a run-time value."""
    a_format = keyword_prop(FORMATS)
    b_format = keyword_prop(FORMATS)
    transpose_a = mark_prop()
    transpose_b = mark_prop()
    pack_m = mark_prop()
    pack_n = mark_prop()
    fast_math = mark_prop()
    clear = mark_prop()
    policy = keyword_prop(POLICIES, "square")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$a `as` $a_format (`scale` $a_scale^ `:` type($a_scale))? `,` "
        "$b `as` $b_format (`scale` $b_scale^ `:` type($b_scale))? `->` $c "
        "oilist(`clear_if` $clear_if | `policy` $policy) attr-dict "
        "`:` type($a) `,` type($b) `->` type($c)"
    )
    WRITES: ClassVar[tuple[str, ...]] = ("c",)

    def __init__(
        self,
        a: Operand,
        b: Operand,
        c: Operand,
        a_format: str,
        b_format: str,
        *,
        a_scale: Operand | None = None,
        b_scale: Operand | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        pack_m: bool = False,
        pack_n: bool = False,
        fast_math: bool = False,
        clear: bool = False,
        clear_if: Operand | None = None,
        policy: str = "square",
    ) -> None:
        super().__init__(
            operands=[a, b, c, a_scale, b_scale, clear_if],
            properties=given(
                a_format=string(a_format),
                b_format=string(b_format),
                transpose_a=mark(transpose_a),
                transpose_b=mark(transpose_b),
                pack_m=mark(pack_m),
                pack_n=mark(pack_n),
                fast_math=mark(fast_math),
                clear=mark(clear),
                policy=string(policy),
            ),
        )

    @property
    def lhs(self) -> Side:
        is_transposed, packs_k = self.transpose_a is not None, self.pack_m is None
        return Side("A", self.a, self.a_scale, self.a_format.data, is_transposed, packs_k)

    @property
    def rhs(self) -> Side:
        is_transposed, packs_k = self.transpose_b is not None, self.pack_n is None
        return Side("B", self.b, self.b_scale, self.b_format.data, is_transposed, packs_k)

    @property
    def mnk(self) -> tuple[int, int, int]:
        """M, N and K of a verified op, in elements."""
        (m, k), (n, _) = self.lhs.extents, self.rhs.extents
        return m, n, k

    @override
    def reads(self) -> list[AccessedRegion]:
        names = ("a", "b", "a_scale", "b_scale") + (() if self.clear is not None else ("c",))
        return [region_of(value, self.unit()) for value in self._named(names)]

    @override
    def verify_(self) -> None:
        for side in (self.lhs, self.rhs):
            _verify_side(side)
        self._verify_result()
        if self.clear is not None and self.clear_if is not None:
            raise VerifyException("clear and clear_if are mutually exclusive")
        packs = (("pack_m", self.pack_m, self.lhs), ("pack_n", self.pack_n, self.rhs))
        for name, pack, side in packs:
            if pack is not None and not side.is_packed:
                raise VerifyException(
                    f"{name} is for e2m1, of which a byte holds two, not for {side.format}"
                )

    def _verify_result(self) -> None:
        (m, depth), (n, other) = self.lhs.extents, self.rhs.extents
        if depth != other:
            raise VerifyException(f"A has K = {depth} elements, B has K = {other}")
        rows, columns = matrix("operand C", self.c)
        if (rows, columns) != (m, n):
            raise VerifyException(f"A and B give {m}x{n}, but C has {rows}x{columns}")
        if space_of(self.c.type) is not Space.FRAGMENT:
            raise VerifyException("C must be a fragment")
        if element_type_of(self.c.type) != Float32Type():
            raise VerifyException(
                f"the accumulator must be 'f32', got '{element_type_of(self.c.type)}'"
            )


def _verify_side(side: Side) -> None:
    element = element_type_of(side.value.type)
    if element not in _TYPES[side.format]:
        expected = " or ".join(f"'{each}'" for each in _TYPES[side.format])
        raise VerifyException(
            f"{side.name} in format {side.format} needs elements of type {expected}, got "
            f"'{element}'"
        )
    _verify_space(side.name, side.value)
    if side.scale is None:
        return
    _verify_space(f"the scale of {side.name}", side.scale)
    type = element_type_of(side.scale.type)
    if type not in _SCALES:
        expected = " or ".join(f"'{each}'" for each in _SCALES)
        raise VerifyException(f"a scale is of type {expected}, got '{type}'")
    if type != BYTE and side.format in ("bf16", "fp16"):
        raise VerifyException(f"the scale of {side.name} in format {side.format} must be bytes")
    extent, k = side.extents
    shape = matrix(f"scale of {side.name}", side.scale)
    allowed = [(extent, k // factor) for factor in _FACTORS[type] if k % factor == 0]
    if shape not in allowed:
        letter = "M" if side.name == "A" else "N"
        expected = " or ".join(map(shape_text, allowed)) or f"no shape: K = {k}"
        raise VerifyException(
            f"the scale of {side.name} is {letter} x K/{_FACTORS[type][-1]}: expected {expected}, "
            f"got {shape_text(shape)}"
        )


def _verify_space(what: str, value: SSAValue) -> None:
    space = space_of(value.type)
    if space is not Space.FRAGMENT and not (space is not None and space.is_shared):
        where = "no tile space" if space is None else f"{space.value} memory"
        raise VerifyException(
            f"{what} must be in shared memory or a fragment, but it is in {where}"
        )


def exact_type(op: ScaledGemmOp) -> AnyFloat:
    """The smallest type of which every element of both operands, times its scale, is a number.

    Scales are powers of two with the exponents of bfloat16 and float32, or 4 significant bits for
    elements that have as many: bfloat16 has 8. float16 has 11 significant bits, as many as tf32, of
    float32, but fewer exponents.
    """
    formats = {op.a_format.data, op.b_format.data}
    if "fp16" not in formats:
        return BFloat16Type()
    is_scaled = op.a_scale is not None or op.b_scale is not None
    return Float32Type() if is_scaled or "bf16" in formats else Float16Type()
