"""Ops that rearrange elements and compute nothing.

::

    splat        f32 -> 8xf32            expand_dims  8 -> 8x1          join   8, 8 -> 8x2
    unsplat      1xf32 -> f32            broadcast    8x1 -> 8x64       split  8x2 -> 8, 8
    reshape      8x4 -> 32               trans        8x4 -> 4x8        cat    8, 8 -> 16
    gather       by an index for each element, along one axis

Layouts are propagated: where the layout can do it (see ``layout_rules``), the result must have the
one that follows from the source's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import (
    Operand,
    TraitCheckedOp,
    i32_attr,
    i32_prop,
    ints_attr,
    ints_prop,
    tt_traits,
    unit_prop,
)
from tilewright.dialects.tt.constraints import INT_TENSOR, TENSOR, VALUE
from tilewright.dialects.tt.layout_rules import (
    are_equivalent,
    check_inferred,
    derived,
    is_deferred,
    rules_of,
)
from tilewright.dialects.tt.traits import (
    SameOperandsAndResultElementType,
    SameOperandsAndResultEncoding,
    SameTypeOperands,
)
from tilewright.dialects.type_utils import (
    AnyTensor,
    element_type_of,
    encoding_of,
    num_elements,
    rank_of,
    shape_of,
    tensor_of,
    with_element_type,
)
from tilewright.ir.text.assembly import AsmOp, TypeRule
from tilewright.ir.text.syntax import UNIT, AttributeSyntax

_SAME_ELEMENTS = SameOperandsAndResultElementType()
_FROM_TO = "$src attr-dict `:` type($src) `->` type($result)"
_JOINED = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"
_LIKE_LHS = TypeRule("operands have one type", lambda types: types["lhs"])


def _tensor(value: SSAValue) -> AnyTensor:
    """The type of a value that is a tensor by definition."""
    return cast("AnyTensor", value.type)


@irdl_op_definition
class SplatOp(AsmOp):
    """A tensor all of whose elements are one value."""

    name = "tt.splat"

    src = operand_def(VALUE)
    result = result_def(TENSOR)

    traits = tt_traits(Pure(), _SAME_ELEMENTS, SameOperandsAndResultEncoding())
    ASM: ClassVar[str] = _FROM_TO

    def __init__(self, src: Operand, result_type: AnyTensor) -> None:
        super().__init__(operands=[src], result_types=[result_type])


@irdl_op_definition
class UnsplatOp(TraitCheckedOp):
    """The only element of a tensor."""

    name = "tt.unsplat"

    src = operand_def(TENSOR)
    result = result_def(VALUE)

    traits = tt_traits(Pure())
    ASM: ClassVar[str] = "$src attr-dict `:` type($src)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule("result is an element", lambda types: element_type_of(types["src"]))
    }

    def __init__(self, src: Operand) -> None:
        value = SSAValue.get(src)
        super().__init__(operands=[value], result_types=[element_type_of(value.type)])

    @override
    def verify_(self) -> None:
        if num_elements(self.src.type) != 1:
            raise VerifyException("source tensor must have exactly one element")
        check_inferred(self.result_types, [element_type_of(self.src.type)])


def expanded_type(source: Attribute, axis: int, hint: Attribute | None = None) -> Attribute:
    """`source` with a dimension of extent 1 put in at `axis`."""
    shape = shape_of(source)
    if not 0 <= axis <= len(shape):
        raise VerifyException(f"axis {axis} is out of bounds for a source of rank {len(shape)}")
    rules = rules_of(source)
    layout = None if rules is None else rules.after_expand_dims(axis)
    return derived(source, (*shape[:axis], 1, *shape[axis:]), layout, hint)


@irdl_op_definition
class ExpandDimsOp(AsmOp):
    """The same elements with a further dimension of extent 1."""

    name = "tt.expand_dims"

    src = operand_def(TENSOR)
    axis = i32_prop()
    result = result_def(TENSOR)

    traits = tt_traits(Pure(), _SAME_ELEMENTS)
    ASM: ClassVar[str] = _FROM_TO

    def __init__(self, src: Operand, axis: int, result_type: Attribute | None = None) -> None:
        value = SSAValue.get(src)
        super().__init__(
            operands=[value],
            result_types=[result_type or expanded_type(value.type, axis)],
            properties={"axis": i32_attr(axis)},
        )

    @override
    def verify_(self) -> None:
        result = self.result.type
        check_inferred([result], [expanded_type(self.src.type, self.axis.value.data, result)])


@irdl_op_definition
class BroadcastOp(AsmOp):
    """Elements repeated along dimensions of extent 1."""

    name = "tt.broadcast"

    src = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = tt_traits(Pure(), _SAME_ELEMENTS)
    ASM: ClassVar[str] = _FROM_TO

    def __init__(self, src: Operand, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    @override
    def verify_(self) -> None:
        source, result = _tensor(self.src), _tensor(self.result)
        if rank_of(source) != rank_of(result):
            raise VerifyException("rank of source must be same as rank of result")
        extents = zip(shape_of(source), shape_of(result), strict=True)
        for index, (extent, target) in enumerate(extents):
            if extent not in (1, target):
                raise VerifyException(
                    f"Different dimensions at index {index} between source and result.  "
                    "Broadcast requires the source dimension to be 1."
                )
        if source.encoding == result.encoding:
            return
        rules = rules_of(source)
        if rules is not None and rules.fits_broadcast(source, result) is False:
            raise VerifyException("requires matching source and result layouts up to broadcasting")


@irdl_op_definition
class ReshapeOp(AsmOp):
    """The same elements in another shape, in the same order unless `allow_reorder` is set."""

    name = "tt.reshape"

    src = operand_def(TENSOR)
    allow_reorder = unit_prop()
    efficient_layout = unit_prop()
    result = result_def(TENSOR)

    traits = tt_traits(Pure(), _SAME_ELEMENTS)

    ASM: ClassVar[str] = (
        "$src (`allow_reorder` $allow_reorder^)? (`efficient_layout` $efficient_layout^)? "
        "attr-dict `:` type($src) `->` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "allow_reorder": UNIT,
        "efficient_layout": UNIT,
    }

    def __init__(
        self,
        src: Operand,
        result_type: Attribute,
        *,
        allow_reorder: bool = False,
        efficient_layout: bool = False,
    ) -> None:
        super().__init__(
            operands=[src],
            result_types=[result_type],
            properties={
                "allow_reorder": UnitAttr() if allow_reorder else None,
                "efficient_layout": UnitAttr() if efficient_layout else None,
            },
        )

    @override
    def verify_(self) -> None:
        source, result = self.src.type, self.result.type
        if num_elements(source) != num_elements(result):
            raise VerifyException("number of src and dst elements of reshape must be the same")
        if any(map(is_deferred, (encoding_of(source), encoding_of(result)))):
            return
        if (encoding_of(source) is None) != (encoding_of(result) is None):
            raise VerifyException(
                "Op requires that either (a) src and dst both have encodings, or (b) neither does."
            )
        self._check_layout(source, result)

    def _check_layout(self, source: Attribute, result: Attribute) -> None:
        rules = rules_of(source)
        # A reshape that may reorder can have any layout that holds the elements.
        if rules is None or self.allow_reorder is not None:
            return
        inferred = rules.after_reshape(shape_of(source), shape_of(result), False)
        found = encoding_of(result)
        if inferred is not None and not are_equivalent(inferred, found, shape_of(result)):
            raise VerifyException(f"Expected result encoding {inferred} but was {found}")


@irdl_op_definition
class CatOp(TraitCheckedOp):
    """The elements of two tensors, in any order: not pure, since it may differ each time."""

    name = "tt.cat"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = tt_traits(NoMemoryEffect(), SameTypeOperands(), _SAME_ELEMENTS)

    ASM: ClassVar[str] = _JOINED
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"rhs": _LIKE_LHS}

    def __init__(self, lhs: Operand, rhs: Operand, result_type: Attribute) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[result_type])

    @override
    def verify_(self) -> None:
        source, result = _tensor(self.lhs), _tensor(self.result)
        expected, actual = 2 * num_elements(source), num_elements(result)
        if expected != actual:
            raise VerifyException(
                "result element count must equal the sum of the operand element counts, "
                f"expected {expected} but got {actual}"
            )
        if (encoding_of(source) is None) != (encoding_of(result) is None):
            raise VerifyException(
                "requires that either (a) operands and result all have encodings, or (b) none do."
            )
        rules = rules_of(result)
        if rules is not None and (problem := rules.cat_problem(source, result)) is not None:
            raise VerifyException(problem)


def split_type(source: Attribute, hint: Attribute | None = None) -> Attribute:
    """One half of `source`, whose last dimension counts the halves."""
    shape = shape_of(source)
    if not shape or shape[-1] != 2:
        raise VerifyException("last dimension of input tensor must be 2")
    rules = rules_of(source)
    layout = None if rules is None else rules.after_split(shape)
    if len(shape) == 1:
        return tensor_of(element_type_of(source), (), layout)
    return derived(source, shape[:-1], layout, hint)


@irdl_op_definition
class JoinOp(TraitCheckedOp):
    """Two tensors joined along a further, last dimension."""

    name = "tt.join"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = tt_traits(Pure(), SameTypeOperands())

    ASM: ClassVar[str] = _JOINED
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"rhs": _LIKE_LHS}

    def __init__(self, lhs: Operand, rhs: Operand, result_type: Attribute | None = None) -> None:
        value = SSAValue.get(lhs)
        if result_type is None:
            result_type = derived(value.type, (*shape_of(value.type), 2), None, None)
        super().__init__(operands=[value, rhs], result_types=[result_type])

    @override
    def verify_(self) -> None:
        source, result = self.lhs.type, self.result.type
        expected = (*shape_of(source), 2)
        if shape_of(result) != expected:
            raise VerifyException(
                f"result shape must be ({_comma(expected)}), but got {_comma(shape_of(result))}"
            )
        if element_type_of(result) != element_type_of(source):
            raise VerifyException("result element type must match the input element type")
        if encoding_of(result) is None:
            if encoding_of(source) is not None:
                raise VerifyException("result encoding must be specified")
            return
        # Many results fit a source, but only one source fits a result.
        half = split_type(result, source)
        if not are_equivalent(encoding_of(half), encoding_of(source), shape_of(source)):
            raise VerifyException("incompatible join layout")


def _comma(shape: Sequence[int]) -> str:
    return ", ".join(map(str, shape))


@irdl_op_definition
class SplitOp(AsmOp):
    """The two halves of a tensor whose last dimension has extent 2."""

    name = "tt.split"

    src = operand_def(TENSOR)
    out_lhs = result_def(TENSOR)
    out_rhs = result_def(TENSOR)

    traits = tt_traits(Pure())

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($out_lhs)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "out_rhs": TypeRule("outLHS and outRHS types match", lambda types: types["out_lhs"])
    }

    def __init__(self, src: Operand, result_type: Attribute | None = None) -> None:
        value = SSAValue.get(src)
        half = result_type or split_type(value.type)
        super().__init__(operands=[value], result_types=[half, half])

    def asm_result_names(self) -> list[str]:
        return ["outLHS", "outRHS"]

    @override
    def verify_(self) -> None:
        half = split_type(self.src.type, self.out_lhs.type)
        check_inferred(self.result_types, [half, half], up_to_layout=True)


def transposed_type(
    source: Attribute, order: Sequence[int], hint: Attribute | None = None
) -> Attribute:
    """`source` with its dimensions in another `order`, which must be a permutation."""
    shape = shape_of(source)
    rules = rules_of(source)
    layout = None if rules is None else rules.after_trans(shape, order)
    return derived(source, [shape[index] for index in order], layout, hint)


@irdl_op_definition
class TransOp(AsmOp):
    """The same elements with dimensions permuted: result dimension i is source ``order[i]``."""

    name = "tt.trans"

    src = operand_def(TENSOR)
    order = ints_prop()
    result = result_def(TENSOR)

    traits = tt_traits(Pure(), _SAME_ELEMENTS)
    ASM: ClassVar[str] = _FROM_TO

    def __init__(
        self, src: Operand, order: Sequence[int], result_type: Attribute | None = None
    ) -> None:
        value = SSAValue.get(src)
        super().__init__(
            operands=[value],
            result_types=[result_type or transposed_type(value.type, order)],
            properties={"order": ints_attr(order)},
        )

    @override
    def verify_(self) -> None:
        source, result, order = self.src.type, self.result.type, self.order.get_values()
        if not len(order) == rank_of(source) == rank_of(result):
            raise VerifyException(
                "order must have the same size as the rank of the operand and result"
            )
        if sorted(order) != list(range(len(order))):
            raise VerifyException("order must be a permutation of [0, ..., rank - 1]")
        if [shape_of(source)[index] for index in order] != list(shape_of(result)):
            raise VerifyException("result shape must match the permutation of the source shape")
        inferred = transposed_type(source, order, result)
        check_inferred([result], [inferred], up_to_layout=True)


@irdl_op_definition
class GatherOp(AsmOp):
    """Elements of `src` chosen along one axis by `indices`, one for each element of the result."""

    name = "tt.gather"

    src = operand_def(TENSOR)
    indices = operand_def(INT_TENSOR)
    axis = i32_prop()
    efficient_layout = unit_prop()
    result = result_def(TENSOR)

    traits = tt_traits(Pure())
    ASM: ClassVar[str] = "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, src: Operand, indices: Operand, axis: int, *, efficient_layout: bool = False
    ) -> None:
        source, where = SSAValue.get(src), SSAValue.get(indices)
        super().__init__(
            operands=[source, where],
            result_types=[with_element_type(where.type, element_type_of(source.type))],
            properties={
                "axis": i32_attr(axis),
                "efficient_layout": UnitAttr() if efficient_layout else None,
            },
        )

    @override
    def verify_(self) -> None:
        source, indices, result = self.src.type, self.indices.type, self.result.type
        if shape_of(indices) != shape_of(result):
            raise VerifyException("indices and output shapes must match")
        if encoding_of(indices) != encoding_of(result):
            raise VerifyException("indices and output encodings must match")
        if element_type_of(source) != element_type_of(result):
            raise VerifyException("input and output element types must match")
        if rank_of(source) != rank_of(indices):
            raise VerifyException("input and indices ranks must match")
        axis = self.axis.value.data
        if not 0 <= axis < rank_of(source):
            raise VerifyException("gather dimension must be less than the input rank")
        extents = zip(shape_of(indices), shape_of(source), strict=True)
        for dimension, (actual, expected) in enumerate(extents):
            if dimension != axis and actual != expected:
                raise VerifyException(
                    f"indices dimension {dimension} must match the corresponding input dimension"
                )
