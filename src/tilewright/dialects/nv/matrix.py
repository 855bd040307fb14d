"""Tensor cores: fragments in registers, operands in shared memory.

    nv.ldmatrix %As[%o] -> %a[%c0] count(4) : memref<4096xf16, #shared>, memref<8xf16, #local>
    nv.mma %a[%c0], %b[%c0] -> %c[%c0] shape [16, 8, 16] : memref<8xf16, ...>, ..., memref<4xf32>
    %d = nv.matrix %As[%o] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #shared>
    nv.wgmma.fence
    nv.wgmma %da, %db -> %acc[%c0] shape [64, 256, 16] types(f16, f16) : memref<128xf32, #local>
    nv.wgmma.commit

The registers of one instruction's fragment are contiguous, in the order of the PTX manual.
`nv.wgmma` runs on: until a wait has returned, its accumulators belong to the tensor core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.nv.barriers import PlainOp
from tilewright.dialects.simt.register_mma import RegisterMmaOp, register_run, verify_shape
from tilewright.dialects.tile.access import (
    AccessedRegion,
    Orders,
    RegionAccess,
    RegionEffects,
    base_of,
    somewhere,
)
from tilewright.dialects.tile.base import (
    Operand,
    given,
    integer_attr,
    integer_prop,
    mark,
    mark_prop,
    opt_integer_prop,
)
from tilewright.dialects.tile.mixed import (
    INDEX,
    Integers,
    integers,
    integers_attr,
    integers_prop,
)
from tilewright.dialects.tile.types import BUFFER
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import ANY, INT64_ARRAY, AttributeSyntax

_COUNTS = (1, 2, 4)
_SWIZZLES = (0, 32, 64, 128)
_SHAPE: Mapping[str, AttributeSyntax] = {"shape": INT64_ARRAY}
_REGISTER_BITS = 32


def _somewhere(buffer: SSAValue) -> AccessedRegion:
    return somewhere(base_of(buffer))


class MatrixMoveOp(AsmOp, RegionAccess):
    """Base of moves of 8x8 matrices of 16-bit elements, by a warp."""

    src = operand_def(BUFFER)
    src_index = operand_def(INDEX)
    dst = operand_def(BUFFER)
    dst_index = operand_def(INDEX)
    count = integer_prop()
    transposed = mark_prop()

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$src `[` $src_index `]` `->` $dst `[` $dst_index `]` `count` `(` $count `)` attr-dict "
        " `:` type($src) `,` type($dst)"
    )

    def __init__(
        self,
        src: Operand,
        src_index: Operand,
        dst: Operand,
        dst_index: Operand,
        count: int,
        *,
        transposed: bool = False,
    ) -> None:
        super().__init__(
            operands=[src, src_index, dst, dst_index],
            properties=given(count=integer_attr(count), transposed=mark(transposed)),
        )

    @property
    def registers(self) -> int:
        """Elements that one thread holds."""
        return self.count.value.data * _REGISTER_BITS // bit_width(element_type_of(self.src.type))

    @override
    def is_async(self) -> bool:
        return False

    @override
    def verify_(self) -> None:
        if self.count.value.data not in _COUNTS:
            raise VerifyException(f"moves 1, 2 or 4 matrices, got {self.count.value.data}")
        source, target = element_type_of(self.src.type), element_type_of(self.dst.type)
        if source != target:
            raise VerifyException(
                f"does not convert: element types must be equal, got '{source}' and '{target}'"
            )


@irdl_op_definition
class LdMatrixOp(MatrixMoveOp):
    """Matrices from shared memory; lane ``8*m + r`` names row ``r`` of matrix ``m``."""

    name = "nv.ldmatrix"

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [_somewhere(self.src)]  # rows of other lanes, too

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [register_run(self.dst, self.dst_index, self.registers)]


@irdl_op_definition
class StMatrixOp(MatrixMoveOp):
    """Matrices to shared memory; lane ``8*m + r`` names row ``r`` of matrix ``m``."""

    name = "nv.stmatrix"

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [register_run(self.src, self.src_index, self.registers)]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [_somewhere(self.dst)]


@irdl_op_definition
class MmaOp(RegisterMmaOp):
    """``c += a @ b`` by a warp, all three in registers."""

    name = "nv.mma"

    unsigned_a = mark_prop()
    """8-bit integers of `a` have no sign."""
    unsigned_b = mark_prop()

    @override
    def registers(self) -> tuple[int, int, int]:
        m, n, k = self.mnk
        return m * k // 32, k * n // 32, m * n // 32


class MatrixDescriptorOp(AsmOp):
    """Base of descriptors of an operand in shared memory.

    `leading` and `stride` are the two distances in bytes of the PTX manual, `swizzle` the width of
    the pattern in bytes. The operand begins `advance` bytes after the element at `index`, which is
    in the buffer, too: the descriptors of one tile differ by a constant only.
    """

    buffer = operand_def(BUFFER)
    index = operand_def(INDEX)
    advance = opt_integer_prop()
    swizzle = integer_prop()
    leading = integer_prop()
    stride = integer_prop()
    result = result_def(i64)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = (
        "$buffer `[` $index `]` (`advance` `(` $advance^ `)`)? `swizzle` `(` $swizzle `)` "
        "`leading` `(` $leading `)` `stride` `(` $stride `)` attr-dict `:` type($buffer)"
    )

    def __init__(
        self,
        buffer: Operand,
        index: Operand,
        *,
        swizzle: int,
        leading: int,
        stride: int,
        advance: int = 0,
    ) -> None:
        super().__init__(
            operands=[buffer, index],
            result_types=[i64],
            properties=given(
                advance=integer_attr(advance) if advance else None,
                swizzle=integer_attr(swizzle),
                leading=integer_attr(leading),
                stride=integer_attr(stride),
            ),
        )

    @property
    def advance_bytes(self) -> int:
        return 0 if self.advance is None else self.advance.value.data

    @override
    def verify_(self) -> None:
        if self.advance_bytes < 0 or self.advance_bytes % 16:
            raise VerifyException(
                f"advance must be a multiple of 16 bytes and not negative, got {self.advance_bytes}"
            )
        if self.swizzle.value.data not in _SWIZZLES:
            raise VerifyException(
                f"swizzle must be 0, 32, 64 or 128 bytes, got {self.swizzle.value.data}"
            )
        for name, value in (("leading", self.leading), ("stride", self.stride)):
            if value.value.data % 16 or not 0 <= value.value.data < 1 << 18:
                raise VerifyException(
                    f"{name} must be a multiple of 16 bytes below 2^18, got {value.value.data}"
                )


@irdl_op_definition
class MatrixOp(MatrixDescriptorOp):
    """The descriptor of an operand in shared memory, as ``wgmma`` takes it."""

    name = "nv.matrix"


@irdl_op_definition
class WgmmaFenceOp(PlainOp):
    """Orders registers and shared memory before the MMAs after it."""

    name = "nv.wgmma.fence"


@irdl_op_definition
class WgmmaFenceOperandOp(AsmOp, RegionAccess):
    """Operand fence: the accumulators of completed MMAs are in their registers from here on.

    A wait does not order registers; this does, so that nothing that reads them moves before it.
    `late` marks MMAs that were left in flight over a branch, which assemblers lose track of.
    """

    name = "nv.wgmma.fence_operand"

    acc = operand_def(BUFFER)
    late = mark_prop()
    traits = traits_def(Orders())
    ASM: ClassVar[str] = "$acc attr-dict `:` type($acc)"

    def __init__(self, acc: Operand, *, late: bool = False) -> None:
        super().__init__(operands=[acc], properties=given(late=mark(late)))

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        return [_somewhere(self.acc)]

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [_somewhere(self.acc)]

    @override
    def is_async(self) -> bool:
        return False


@irdl_op_definition
class WgmmaOp(AsmOp, RegionAccess):
    """Starts ``acc (+)= a @ b`` by a warp group; `a` from shared memory, or from registers.

    Without `a_index`, `a` is a descriptor of `nv.matrix`. `scale_d` false forgets what the
    accumulators held.
    """

    name = "nv.wgmma"

    a = operand_def()
    a_index = opt_operand_def(INDEX)
    b = operand_def(i64)
    acc = operand_def(BUFFER)
    acc_index = operand_def(INDEX)
    scale_d = opt_operand_def(i1)
    shape: Integers = integers_prop()
    a_type = prop_def(TypeAttribute)
    b_type = prop_def(TypeAttribute)
    transposed_a = mark_prop()
    """`a` is column-major."""
    transposed_b = mark_prop()
    """`b` is row-major (the hardware's native order is the other one)."""
    unsigned_a = mark_prop()
    """8-bit integers of `a` have no sign."""
    unsigned_b = mark_prop()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Orders())
    ASM: ClassVar[str] = (
        "$a (`[` $a_index^ `]`)? `,` $b `->` $acc `[` $acc_index `]` "
        "`shape` $shape `types` `(` $a_type `,` $b_type `)` (`scale_d` $scale_d^)? "
        "attr-dict `:` type($a) `->` type($acc)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        **_SHAPE,
        "a_type": ANY,
        "b_type": ANY,
    }

    def __init__(
        self,
        a: Operand,
        b: Operand,
        acc: tuple[Operand, Operand],
        shape: Sequence[int],
        types: tuple[Attribute, Attribute],
        *,
        a_index: Operand | None = None,
        scale_d: Operand | None = None,
        transposed_a: bool = False,
        transposed_b: bool = False,
        unsigned: tuple[bool, bool] = (False, False),
    ) -> None:
        super().__init__(
            operands=[a, a_index, b, *acc, scale_d],
            properties={
                "shape": integers_attr(shape),
                "a_type": types[0],
                "b_type": types[1],
                **given(
                    transposed_a=mark(transposed_a),
                    transposed_b=mark(transposed_b),
                    unsigned_a=mark(unsigned[0]),
                    unsigned_b=mark(unsigned[1]),
                ),
            },
        )

    @property
    def mnk(self) -> tuple[int, int, int]:
        m, n, k = integers(self.shape)
        return m, n, k

    @property
    def accumulators(self) -> int:
        """Elements of the result that one thread holds."""
        m, n, _ = self.mnk
        return m * n // 128

    @override
    def reads(self) -> Sequence[AccessedRegion]:
        found = [register_run(self.acc, self.acc_index, self.accumulators)]
        for operand in (self.a, self.b):
            if isinstance(operand.owner, MatrixOp):
                found.append(_somewhere(operand.owner.buffer))
        if self.a_index is not None:
            m, _, k = self.mnk
            found.append(register_run(self.a, self.a_index, m * k // 128))
        return found

    @override
    def writes(self) -> Sequence[AccessedRegion]:
        return [register_run(self.acc, self.acc_index, self.accumulators)]

    @override
    def is_async(self) -> bool:
        return True

    @override
    def verify_(self) -> None:
        verify_shape(self.shape)
        m, n, _ = self.mnk
        if m != 64 or n % 8 or not 8 <= n <= 256:
            raise VerifyException(
                f"wgmma shape must have m = 64 and n = 8, 16, ... 256, got m = {m}, n = {n}"
            )
        if (self.a_index is None) != (self.a.type == i64):
            raise VerifyException("a must be a descriptor, or registers with an index")
