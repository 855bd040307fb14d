"""Matrix instructions of Blackwell: one thread starts them, the result is in tensor memory.

Completion is signalled on barriers, each under a predicate; a commit makes a barrier track all
instructions before it. Brackets after the accumulator order accesses to it by tokens::

    %t = ttng.tc_gen5_mma %a, %b, %d[%dep], %use_d, %pred, %bar[%p] {is_async} : A, B, D, Mb

The scaled form multiplies blocks of small floats, each block with a scale factor of its own, also
in tensor memory. Four-bit elements are stored two to a byte, which halves the extent of the
dimension that is contiguous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloat,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    UnitAttr,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, enum_prop, unit_prop
from tilewright.dialects.tt.enums import SCALE_DOT_ELEM_TYPE
from tilewright.dialects.ttg.cga import cta_split_num, shape_per_cta
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.context import TARGET
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding, SharedLinearEncoding
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE, MemDescType
from tilewright.dialects.ttng.attributes import (
    COLUMN_BITS,
    TensorMemoryEncoding,
    TensorMemoryLayout,
    TensorMemoryScalesEncoding,
    TensorMemorySpace,
)
from tilewright.dialects.ttng.base import ttng_traits
from tilewright.dialects.ttng.checks import (
    cga_of,
    layout_of,
    module_attribute,
    uses_pairs,
    verify_barrier,
    verify_completion_barrier,
    verify_mma_shapes,
)
from tilewright.dialects.ttng.effects import AccessEffect, Accumulates
from tilewright.dialects.ttng.text import BARRIERS, token_directive
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.text.assembly import AsmOp, Directive

_MAX_COLUMNS = 256
"""The widest instruction."""

_DIRECTIVES: Mapping[str, Directive] = {"Token": token_directive("acc_dep"), "Barriers": BARRIERS}
_SEGMENTS = (AttrSizedOperandSegments(as_property=True),)


def _columns(
    barriers: Sequence[tuple[Operand, Operand]],
) -> tuple[list[Operand], list[Operand]]:
    """Barriers and their predicates, apart."""
    return [barrier for barrier, _ in barriers], [predicate for _, predicate in barriers]


def _marks(**marks: bool) -> dict[str, Attribute | None]:
    return {name: UnitAttr() if is_set else None for name, is_set in marks.items()}


@irdl_op_definition
class TCGen5MMAOp(AsmOp):
    """``d = a * b``, added to `d` where `use_d` is true; nothing happens unless `pred` is."""

    name = "ttng.tc_gen5_mma"
    a = operand_def(MEMDESC)
    b = operand_def(MEMDESC)
    d = operand_def(MEMDESC)
    acc_dep = opt_operand_def(TOKEN_TYPE)
    use_d = operand_def(i1)
    pred = operand_def(i1)
    barriers = var_operand_def(MEMDESC)
    barrier_preds = var_operand_def(i1)
    is_async = unit_prop()
    two_ctas = unit_prop()
    multicast = unit_prop()
    is_unsigned = unit_prop()
    token = opt_result_def(TOKEN_TYPE)
    irdl_options = _SEGMENTS
    traits = ttng_traits(Accumulates(inputs=("a", "b")))

    ASM: ClassVar[str] = (
        "$a `,` $b `,` $d `` custom<Token>() `,` $use_d `,` $pred `` custom<Barriers>() attr-dict "
        "`:` type($a) `,` type($b) `,` type($d) (`,` type($barriers)^)?"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = _DIRECTIVES

    def __init__(
        self,
        a: Operand,
        b: Operand,
        d: Operand,
        use_d: Operand,
        pred: Operand,
        barriers: Sequence[tuple[Operand, Operand]] = (),
        *,
        is_async: bool = False,
        two_ctas: bool = False,
    ) -> None:
        """`barriers` are pairs of a barrier and the predicate under which it is signalled."""
        super().__init__(
            operands=[a, b, d, None, use_d, pred, *_columns(barriers)],
            result_types=[None],
            properties=_marks(is_async=is_async or bool(barriers), two_ctas=two_ctas),
        )

    def verify_(self) -> None:
        self._verify_shapes()
        _verify_barriers(self, self.barriers, self.is_async is not None)
        a, b, d = memdesc(self.a.type), memdesc(self.b.type), memdesc(self.d.type)
        _verify_elements(a.element_type, b.element_type, d.element_type)
        for what, type in (("LHS", a), ("RHS", b), ("Return", d)):
            if type.rank != 2:
                raise VerifyException(f"{what} operand must have a rank-2 tensor")
        self._verify_layouts(d)
        self._verify_pairing()

    def _verify_shapes(self) -> None:
        a, b = shape_of(self.a.type)[-2:], shape_of(self.b.type)[-2:]
        verify_mma_shapes(a, b, self.d.type, is_pair=self.two_ctas is not None)

    def _verify_layouts(self, d: MemDescType) -> None:
        left, right, result = (layout_of(value.type) for value in (self.a, self.b, self.d))
        if not isinstance(left, (NvmmaSharedEncoding, SharedLinearEncoding, TensorMemoryLayout)):
            raise VerifyException("LHS operand must have a NVMMAShared or TensorMemory encoding")
        if not isinstance(right, (NvmmaSharedEncoding, SharedLinearEncoding)):
            raise VerifyException("RHS operand must have a NVMMAShared encoding")
        if not isinstance(result, TensorMemoryLayout):
            raise VerifyException("Return operand must have a TensorMemory encoding")
        if isinstance(left, TensorMemoryEncoding):
            _verify_left_in_tensor_memory(left)
        if isinstance(result, TensorMemoryEncoding):
            _verify_accumulator(result, d)

    def _verify_pairing(self) -> None:
        left, right = cga_of(self.a.type), cga_of(self.b.type)
        split_left, split_right = cta_split_num(left, 2)[1], cta_split_num(right, 2)[0]
        if split_left != 1:
            raise VerifyException(f"LHS CTASplit along K should be 1, but got {split_left}")
        if split_right != 1:
            raise VerifyException(f"RHS CTASplit along K should be 1, but got {split_right}")
        is_pair = self.two_ctas is not None
        if is_pair and right and right[0] != (0, 1):
            raise VerifyException(
                "twoCTA mode expects the first basis of the cga_layout of the RHS to be [0, 1]"
            )
        for what, value in (("returned value", self.d), ("LHS operand", self.a)):
            layout = layout_of(value.type)
            # In a kernel of pairs, whose instructions must agree, the fixup pass marks it. The
            # layout of a pair's buffer need not have the mark in text of the fork.
            is_marked = isinstance(layout, TensorMemoryEncoding) and layout.two_ctas
            if is_marked and not is_pair and not uses_pairs(self):
                raise VerifyException(
                    f"The {what}'s encoding must have twoCTA=0 to be used in a non-twoCTA kernel"
                )


def _verify_barriers(op: Operation, barriers: Sequence[SSAValue], is_async: bool) -> None:
    if barriers and not is_async:
        raise VerifyException("The op is synchronous but a barrier is present.")
    for barrier in barriers:
        verify_completion_barrier(op, barrier.type)


def _verify_left_in_tensor_memory(layout: TensorMemoryEncoding) -> None:
    if layout.col_stride != 1:
        raise VerifyException("The col stride of the LHS operand must be 1")
    if layout.fp4_padded:
        raise VerifyException("fp4_padded tensor memory LHS is only supported by scaled MMA")


def _verify_accumulator(layout: TensorMemoryEncoding, type: MemDescType) -> None:
    if layout.fp4_padded:
        raise VerifyException("Accumulator must not be fp4_padded")
    width = bit_width(type.element_type)
    if layout.col_stride != COLUMN_BITS // width:
        raise VerifyException(
            f"The col stride of the return operand must be 32 / {width} but got {layout.col_stride}"
        )
    columns = shape_per_cta(type.shape, layout.cga, 2)[1]
    if min(layout.block_n, columns) > _MAX_COLUMNS:
        raise VerifyException(
            "The block size of the return operand must be less than or equal to 256"
        )


# -- element types -------------------------------------------------------------------------------


def _instruction_kind(element: Attribute) -> tuple[str, tuple[Attribute, ...]] | None:
    """The kind of instruction that multiplies `element`, and what it can accumulate in."""
    if element == f32:
        return "tf32", (f32,)
    if element == f16:
        return "f16", (f16, f32)
    if element == bf16:
        return "f16", (f32,)
    if isinstance(element, AnyFloat) and element.bitwidth in (4, 6, 8):
        return "f8f6f4", (f16, f32)
    if element == i8:
        return "i8", (i32,)
    return None


def _verify_elements(left: Attribute, right: Attribute, result: Attribute) -> None:
    left_kind, right_kind = _instruction_kind(left), _instruction_kind(right)
    if left_kind is None:
        raise VerifyException(f"unsupported LHS operand dtype: '{left}'")
    if right_kind is None:
        raise VerifyException(f"unsupported RHS operand dtype: '{right}'")
    if left_kind[0] != right_kind[0]:
        raise VerifyException(
            "LHS and RHS operand dtypes kinds don't match: "
            f"LHS kind is {left_kind[0]} but RHS kind is {right_kind[0]}"
        )
    if result not in left_kind[1] or result not in right_kind[1]:
        choices = ", ".join(f"'{type}'" for type in left_kind[1])
        raise VerifyException(
            f"unsupported accumulator dtype for operand types '{left}' and '{right}', "
            f"accumulator dtype is '{result}' but must be one of [{choices}]"
        )


# -- commit --------------------------------------------------------------------------------------


@irdl_op_definition
class TCGen5CommitOp(AsmOp):
    """Makes a barrier track the completion of all asynchronous instructions before it.

    With `descs`, the buffers that multicast copies filled, other CTAs are signalled as well.
    """

    name = "ttng.tc_gen5_commit"
    barrier = operand_def(MEMDESC)
    pred = opt_operand_def(i1)
    descs = var_operand_def(MEMDESC)
    two_ctas = unit_prop()
    irdl_options = _SEGMENTS
    traits = ttng_traits(AccessEffect(writes=("barrier",)))

    ASM: ClassVar[str] = (
        "$barrier (`,` $pred^)? (`descs` $descs^)? attr-dict "
        "`:` type($barrier) (`,` type($descs)^)?"
    )

    def __init__(
        self, barrier: Operand, pred: Operand | None = None, *, two_ctas: bool = False
    ) -> None:
        super().__init__(operands=[barrier, pred, ()], properties=_marks(two_ctas=two_ctas))

    def verify_(self) -> None:
        if len(self.descs) > 4:
            raise VerifyException(f"expected 0 to 4 descriptors, got {len(self.descs)}")
        if self.two_ctas is not None:
            verify_barrier(self, self.barrier.type)
        else:
            verify_completion_barrier(self, self.barrier.type)


# -- scaled --------------------------------------------------------------------------------------


@irdl_op_definition
class TCGen5MMAScaledOp(AsmOp):
    """As ``tc_gen5_mma``, with scale factors for blocks along K of both operands."""

    name = "ttng.tc_gen5_mma_scaled"
    a = operand_def(MEMDESC)
    b = operand_def(MEMDESC)
    d = operand_def(MEMDESC)
    acc_dep = opt_operand_def(TOKEN_TYPE)
    a_scale = operand_def(MEMDESC)
    b_scale = operand_def(MEMDESC)
    use_d = operand_def(i1)
    pred = operand_def(i1)
    barriers = var_operand_def(MEMDESC)
    barrier_preds = var_operand_def(i1)
    a_type = enum_prop(SCALE_DOT_ELEM_TYPE)
    b_type = enum_prop(SCALE_DOT_ELEM_TYPE)
    is_async = unit_prop()
    two_ctas = unit_prop()
    multicast = unit_prop()
    token = opt_result_def(TOKEN_TYPE)
    irdl_options = _SEGMENTS
    traits = ttng_traits(Accumulates(inputs=("a", "b", "a_scale", "b_scale")))

    ASM: ClassVar[str] = (
        "$a `,` $b `,` $d `` custom<Token>() `,` $a_scale `,` $b_scale `,` $use_d `,` $pred "
        "`lhs` `=` $a_type `rhs` `=` $b_type `` custom<Barriers>() attr-dict "
        "`:` type($a) `,` type($b) `,` type($d) `,` type($a_scale) `,` type($b_scale) "
        "(`,` type($barriers)^)?"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = _DIRECTIVES

    def __init__(
        self,
        a: Operand,
        b: Operand,
        d: Operand,
        a_scale: Operand,
        b_scale: Operand,
        use_d: Operand,
        pred: Operand,
        *,
        a_type: str,
        b_type: str,
        barriers: Sequence[tuple[Operand, Operand]] = (),
        is_async: bool = False,
        two_ctas: bool = False,
    ) -> None:
        super().__init__(
            operands=[a, b, d, None, a_scale, b_scale, use_d, pred, *_columns(barriers)],
            result_types=[None],
            properties={
                "a_type": SCALE_DOT_ELEM_TYPE.attribute(a_type),
                "b_type": SCALE_DOT_ELEM_TYPE.attribute(b_type),
                **_marks(is_async=is_async or bool(barriers), two_ctas=two_ctas),
            },
        )

    @property
    def a_format(self) -> str:
        return SCALE_DOT_ELEM_TYPE.keyword(self.a_type)

    @property
    def b_format(self) -> str:
        return SCALE_DOT_ELEM_TYPE.keyword(self.b_type)

    @property
    def a_shape(self) -> tuple[int, int]:
        """Rows and K of the left operand, in elements."""
        rows, k = shape_of(self.a.type)[-2:]
        if self.a_format != "e2m1":
            return rows, k
        return (2 * rows, k) if _is_transposed(self.a.type) else (rows, 2 * k)

    @property
    def b_shape(self) -> tuple[int, int]:
        """K and columns of the right operand, in elements."""
        k, columns = shape_of(self.b.type)[-2:]
        if self.b_format != "e2m1":
            return k, columns
        is_row_major = isinstance(layout_of(self.b.type), NvmmaSharedEncoding) and (
            not _is_transposed(self.b.type)
        )
        return (k, 2 * columns) if is_row_major else (2 * k, columns)

    def verify_(self) -> None:
        self._verify_shapes()
        _verify_barriers(self, self.barriers, self.is_async is not None)
        d = memdesc(self.d.type)
        _verify_elements(
            _element(self.a.type, self.a_format),
            _element(self.b.type, self.b_format),
            d.element_type,
        )
        self._verify_accumulator()
        left = layout_of(self.a.type)
        if isinstance(left, TensorMemoryEncoding):
            self._verify_left_in_tensor_memory(left)
        for what, value in (("A", self.a_scale), ("B", self.b_scale)):
            self._verify_scales(what, memdesc(value.type))

    def _verify_shapes(self) -> None:
        is_pair = self.two_ctas is not None
        verify_mma_shapes(self.a_shape, self.b_shape, self.d.type, is_pair=is_pair)

    def _verify_accumulator(self) -> None:
        layout = layout_of(self.d.type)
        if not isinstance(layout, TensorMemoryLayout):
            raise VerifyException("expected accumulator layout to be a TensorMemoryLayout")
        if not isinstance(layout, TensorMemoryEncoding):
            return
        if layout.fp4_padded:
            raise VerifyException("accumulator layout must not be fp4_padded")
        if layout.block_m != 128:
            raise VerifyException("only supports instruction shape blockM=128")

    def _verify_left_in_tensor_memory(self, layout: TensorMemoryEncoding) -> None:
        element = element_type_of(self.a.type)
        is_wide = self.b_format in ("e4m3", "e5m2")
        if self.a_format == "e2m1":
            if element != i8:
                raise VerifyException("expected e2m1 LHS operand to have i8 storage")
            if layout.fp4_padded and not is_wide:
                raise VerifyException("can only use fp4_padded LHS when RHS is float8")
            if is_wide and not layout.fp4_padded:
                raise VerifyException(
                    "expected e2m1 LHS operand to be fp4_padded when RHS is float8"
                )
        elif not isinstance(element, (Float8E4M3FNType, Float8E5M2Type)):
            raise VerifyException("unsupported LHS operand type for scaled MMA")
        elif self.a_format not in ("e4m3", "e5m2"):
            raise VerifyException("expected float8 LHS operand to have e4m3 or e5m2 format")

    def _verify_scales(self, what: str, type: MemDescType) -> None:
        if not isinstance(type.memory_space, TensorMemorySpace):
            return
        layout = layout_of(type)
        if not isinstance(layout, TensorMemoryScalesEncoding):
            return
        order = self._block_rep_order(what)
        rows, scales = shape_per_cta(type.shape, layout.cga, 2)[-2:]
        # With one block in either direction there is no order.
        is_free = rows <= 128 or scales <= 4
        if layout.block_rep_order == order or (is_free and layout.block_rep_order == "mnThenK"):
            return
        raise VerifyException(
            f"{what} scales in tensor memory must use "
            f"#ttng.tensor_memory_scales_encoding<blockRepOrder = {order}>"
        )

    def _block_rep_order(self, what: str) -> str:
        """In which direction the hardware wants the blocks of scales to follow each other.

        Only the left scales of MMAs of two four-bit operands with 8-bit float scales differ,
        on compute capability 10.7.
        """
        is_nvfp4 = self.a_format == self.b_format == "e2m1" and all(
            isinstance(element_type_of(value.type), Float8E4M3FNType)
            for value in (self.a_scale, self.b_scale)
        )
        target = module_attribute(self, TARGET)
        is_rubin = getattr(target, "data", None) == "cuda:107"
        return "kThenMn" if what == "A" and is_nvfp4 and is_rubin else "mnThenK"


_ELEMENTS: Mapping[str, Attribute] = {
    "e4m3": Float8E4M3FNType(),
    "e5m2": Float8E5M2Type(),
    "e2m3": Float6E2M3FNType(),
    "e3m2": Float6E3M2FNType(),
    "e2m1": Float4E2M1FNType(),
    "bf16": bf16,
    "fp16": f16,
}


def _element(type: Attribute, format: str) -> Attribute:
    """The element type of an operand; for bytes, the op's format decides."""
    element = element_type_of(type)
    return element if isinstance(element, AnyFloat) else _ELEMENTS[format]


def _is_transposed(type: Attribute) -> bool:
    layout = layout_of(type)
    return isinstance(layout, NvmmaSharedEncoding) and layout.transposed
