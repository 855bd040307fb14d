"""Dots: plain, and of block-scaled operands.

Operands have two dimensions, or three with the first one counting matrices. ``tt.dot_scaled``
multiplies numbers of the microscaling formats: an 8-bit scale for every 16 or 32 elements along K
(K is the last dimension of both scales), and two numbers of four bits packed in one ``i8``::

    a        M x K  (M x K/2 for e2m1)       a_scale   M x K/32
    b        K x N  (K/2 x N for e2m1)       b_scale   N x K/32

Four-bit numbers are packed along K; along M or N if ``lhs_k_pack`` or ``rhs_k_pack`` is false.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation, OpTrait, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import (
    Operand,
    bool_prop,
    enum_prop,
    i32_attr,
    i32_prop,
    tt_traits,
)
from tilewright.dialects.tt.constraints import FLOAT_TENSOR, INT_OR_FLOAT_TENSOR, SCALED_TENSOR
from tilewright.dialects.tt.enums import INPUT_PRECISION, SCALE_DOT_ELEM_TYPE
from tilewright.dialects.tt.layout_rules import rules_of
from tilewright.dialects.type_utils import (
    bit_width,
    encoding_of,
    num_elements,
    rank_of,
    shape_of,
)
from tilewright.ir.text.assembly import AsmOp, TypeRule

_RESULT = TypeRule("result's type matches accumulator's type", lambda types: types["d"])
_SCALE_FACTORS = (16, 32)


class MatrixMultiply(OpTrait):
    """The shapes of a, b and c, the first three operands, are those of a dot.

    Where operands hold matrices of another shape than their own, ``unpacked`` returns it.
    """

    def verify(self, op: Operation) -> None:
        a, b, c = (shape_of(operand.type) for operand in op.operands[:3])
        if not 2 <= len(a) <= 3:
            raise VerifyException("expected operands to be 2d or 3d")
        if len(a) != len(b) or len(a) != len(c):
            raise VerifyException("expected all operands to have the same rank")
        a, b = self.unpacked(op, a, b)
        if a[-1] != b[-2]:
            raise VerifyException(
                "expected the last dimension of the first operand to be equal to the "
                "second-to-last dimension of the second operand"
            )
        if a[:-2] != c[:-2] or b[:-2] != c[:-2]:
            raise VerifyException(
                "expected the first dimension of the first operand to be equal to the first "
                "dimension of the result"
            )
        if (a[-2], b[-1]) != c[-2:]:
            raise VerifyException(
                "expected the output shape to be the concatenation of the last dimension of "
                "the first operand and the last dimension of the second"
            )

    def unpacked(
        self, op: Operation, a: tuple[int, ...], b: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of the matrices in operands of shapes `a` and `b`."""
        return a, b


@irdl_op_definition
class DotOp(AsmOp):
    """The dot of two matrices, added to a third.

    `inputPrecision` is how tensor cores may round f32 operands.
    """

    name = "tt.dot"

    a = operand_def(INT_OR_FLOAT_TENSOR)
    b = operand_def(INT_OR_FLOAT_TENSOR)
    c = operand_def(INT_OR_FLOAT_TENSOR)
    input_precision = enum_prop(INPUT_PRECISION, "ieee", name="inputPrecision")
    max_num_imprecise_acc = i32_prop(0, name="maxNumImpreciseAcc")
    d = result_def(INT_OR_FLOAT_TENSOR)

    traits = tt_traits(Pure(), MatrixMultiply())

    ASM: ClassVar[str] = (
        "$a `,` $b `,` $c (`,` `inputPrecision` `=` $inputPrecision^)? attr-dict "
        "`:` type($a) `*` type($b) `->` type($d)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"c": _RESULT}

    def __init__(
        self,
        a: Operand,
        b: Operand,
        c: Operand,
        *,
        input_precision: str = "ieee",
        max_num_imprecise_acc: int = 0,
    ) -> None:
        accumulator = SSAValue.get(c)
        super().__init__(
            operands=[a, b, accumulator],
            result_types=[accumulator.type],
            properties={
                "inputPrecision": INPUT_PRECISION.attribute(input_precision),
                "maxNumImpreciseAcc": i32_attr(max_num_imprecise_acc),
            },
        )

    @override
    def verify_(self) -> None:
        a, b, c = self.a.type, self.b.type, self.c.type
        if bit_width(a) != bit_width(b):
            raise VerifyException("element types of operands A and B must have same bit width")
        a_layout, b_layout = encoding_of(a), encoding_of(b)
        if a_layout is None and b_layout is None:
            return
        if a_layout is None or b_layout is None:
            raise VerifyException("mismatching encoding between A and B operands")
        if encoding_of(c) is None:
            raise VerifyException("miss encoding of C operand")
        rules = rules_of(c)
        if rules is not None and (problem := rules.dot_problem(a_layout, b_layout)) is not None:
            raise VerifyException(problem)


class _PackedDot(MatrixMultiply):
    @override
    def unpacked(
        self, op: Operation, a: tuple[int, ...], b: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        assert isinstance(op, DotScaledOp)
        if op.lhs_is_packed:
            a = _doubled(a, -1 if op.packs_lhs_along_k else -2)
        if op.rhs_is_packed:
            b = _doubled(b, -2 if op.packs_rhs_along_k else -1)
        return a, b


def _doubled(shape: tuple[int, ...], dimension: int) -> tuple[int, ...]:
    extents = list(shape)
    extents[dimension] *= 2
    return tuple(extents)


@irdl_op_definition
class DotScaledOp(AsmOp):
    """The dot of two block-scaled matrices, added to a third."""

    name = "tt.dot_scaled"

    a = operand_def(SCALED_TENSOR)
    b = operand_def(SCALED_TENSOR)
    c = operand_def(FLOAT_TENSOR)
    a_scale = opt_operand_def(SCALED_TENSOR)
    b_scale = opt_operand_def(SCALED_TENSOR)
    a_elem_type = enum_prop(SCALE_DOT_ELEM_TYPE)
    b_elem_type = enum_prop(SCALE_DOT_ELEM_TYPE)
    fast_math = bool_prop(name="fastMath")
    lhs_k_pack = bool_prop(True)
    rhs_k_pack = bool_prop(True)
    d = result_def(FLOAT_TENSOR)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = tt_traits(Pure(), _PackedDot())

    ASM: ClassVar[str] = (
        "$a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c "
        "`lhs` `=` $a_elem_type `rhs` `=` $b_elem_type attr-dict "
        "`:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? `->` type($d)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"c": _RESULT}

    def __init__(
        self,
        a: Operand,
        b: Operand,
        c: Operand,
        a_scale: Operand | None,
        b_scale: Operand | None,
        a_elem_type: str,
        b_elem_type: str,
        *,
        fast_math: bool = False,
        lhs_k_pack: bool = True,
        rhs_k_pack: bool = True,
    ) -> None:
        accumulator = SSAValue.get(c)
        super().__init__(
            operands=[a, b, accumulator, a_scale, b_scale],
            result_types=[accumulator.type],
            properties={
                "a_elem_type": SCALE_DOT_ELEM_TYPE.attribute(a_elem_type),
                "b_elem_type": SCALE_DOT_ELEM_TYPE.attribute(b_elem_type),
                "fastMath": IntegerAttr.from_bool(fast_math),
                "lhs_k_pack": IntegerAttr.from_bool(lhs_k_pack),
                "rhs_k_pack": IntegerAttr.from_bool(rhs_k_pack),
            },
        )

    @property
    def lhs_is_packed(self) -> bool:
        """Whether an element of `a` holds two numbers."""
        return SCALE_DOT_ELEM_TYPE.keyword(self.a_elem_type) == "e2m1"

    @property
    def rhs_is_packed(self) -> bool:
        """Whether an element of `b` holds two numbers."""
        return SCALE_DOT_ELEM_TYPE.keyword(self.b_elem_type) == "e2m1"

    @property
    def packs_lhs_along_k(self) -> bool:
        return _is_true(self.properties.get("lhs_k_pack"))

    @property
    def packs_rhs_along_k(self) -> bool:
        return _is_true(self.properties.get("rhs_k_pack"))

    @property
    def k(self) -> int:
        """The extent that is summed over, in numbers."""
        packed = self.lhs_is_packed and self.packs_lhs_along_k
        return shape_of(self.a.type)[-1] * (2 if packed else 1)

    def scale_factor(self) -> int:
        """How many elements along K share a scale; raises where that is unknown."""
        lhs, rhs = self._factor_of(self.a_scale), self._factor_of(self.b_scale)
        if lhs and rhs and lhs != rhs:
            raise VerifyException(
                f"Operands must have the same scale factor; (lhs: {lhs} vs rhs: {rhs})"
            )
        return lhs or rhs or _SCALE_FACTORS[-1]

    def _factor_of(self, scale: SSAValue | None) -> int:
        """The factor that the shape of `scale` implies, 0 if it implies none."""
        if scale is None or num_elements(scale.type) == 1:
            return 0
        factor = self.k // shape_of(scale.type)[-1]
        if factor not in _SCALE_FACTORS:
            raise VerifyException(f"scale factor must be 16 or 32. Got {factor}")
        return factor

    @override
    def verify_(self) -> None:
        factor = self.scale_factor()
        m, n = shape_of(self.c.type)[-2:]
        self._check_scale(self.a_scale, "M", m, factor)
        self._check_scale(self.b_scale, "N", n, factor)

    def _check_scale(self, scale: SSAValue | None, name: str, extent: int, factor: int) -> None:
        if scale is None:
            return
        shape = shape_of(scale.type)
        if rank_of(self.a.type) != len(shape) or shape[-2] != extent:
            raise VerifyException(
                f"scales {name} dimension must match the operand {name} dimension"
            )
        if shape[-1] != self.k // factor:
            raise VerifyException(
                "scales K dimension must match the operand K divided by the scale factor"
            )


def _is_true(attribute: Attribute | None) -> bool:
    return not isinstance(attribute, IntegerAttr) or bool(attribute.value.data)
