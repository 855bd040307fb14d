"""Ops that rearrange elements, on constants: a splat stays a splat whatever its shape.

Layouts are part of the type, so the result's type is taken as it stands and never derived. An op
that leaves the type as it is leaves the value as it is, with one exception: ``tt.reshape`` with
``allow_reorder`` may shuffle elements even then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from typing_extensions import TypeIs
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType
from xdsl.ir import Attribute, Operation

from tilewright.dialects.folding.constants import (
    Constants,
    defined_by,
    element_values,
    from_values,
    is_float_attr,
    is_integer,
    is_integer_attr,
    scalar_value,
    splat,
)
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.interfaces import Folded
from tilewright.ir.text.literals import SplatElementsAttr


def _resize_splat(op: Operation, constant: Attribute | None) -> Folded:
    type = op.results[0].type
    if not isinstance(constant, SplatElementsAttr) or DYNAMIC_INDEX in shape_of(type):
        return None
    return [SplatElementsAttr(constant.value, type)]


def _same_type(op: Operation) -> bool:
    return op.operands[0].type == op.results[0].type


def _fold_splat(op: Operation, constants: Constants) -> Folded:
    value = constants[0]
    if not is_integer_attr(value) and not is_float_attr(value):
        return None
    return [SplatElementsAttr(value, op.results[0].type)]


def _fold_unsplat(op: Operation, constants: Constants) -> Folded:
    source = defined_by(op.operands[0], "tt.splat")
    if source is not None:
        return [source.operands[0]]
    value = scalar_value(constants[0])
    constant = None if value is None else splat(value, op.results[0].type)
    return None if constant is None else [constant]


def _fold_view(op: Operation, constants: Constants) -> Folded:
    """``tt.broadcast`` and ``ttg.convert_layout``: nothing to do, or a splat."""
    return [op.operands[0]] if _same_type(op) else _resize_splat(op, constants[0])


def _fold_reshape(op: Operation, constants: Constants) -> Folded:
    reorders = op.properties.get("allow_reorder") is not None
    if _same_type(op) and not reorders:
        return [op.operands[0]]
    return _resize_splat(op, constants[0]) or _renamed_elements(op, constants[0], reorders)


def _fold_expand_dims(op: Operation, constants: Constants) -> Folded:
    return _resize_splat(op, constants[0]) or _renamed_elements(op, constants[0], False)


def _renamed_elements(op: Operation, constant: Attribute | None, reorders: bool) -> Folded:
    """Elements in the same order under another shape."""
    values = None if reorders else element_values(constant)
    renamed = None if values is None else from_values(values, op.results[0].type)
    return None if renamed is None else [renamed]


def permutation_of(op: Operation) -> Sequence[int] | None:
    """The order of dimensions of a ``tt.trans``."""
    order = op.properties.get("order")
    return order.get_values() if _is_integer_array(order) else None


def _is_integer_array(attribute: Attribute | None) -> TypeIs[DenseArrayBase[IntegerType]]:
    return isinstance(attribute, DenseArrayBase) and isinstance(attribute.elt_type, IntegerType)


def _fold_trans(op: Operation, constants: Constants) -> Folded:
    order = permutation_of(op)
    if order is not None and list(order) == list(range(len(order))) and _same_type(op):
        return [op.operands[0]]
    return _resize_splat(op, constants[0])


def _fold_make_range(op: Operation, constants: Constants) -> Folded:
    start, end = op.properties.get("start"), op.properties.get("end")
    if not is_integer_attr(start) or not is_integer_attr(end):
        return None
    if start.value.data + 1 != end.value.data:
        return None
    constant = splat(start.value.data, op.results[0].type)
    return None if constant is None else [constant]


def _fold_addptr(op: Operation, constants: Constants) -> Folded:
    return [op.operands[0]] if is_integer(constants[1], 0) else None


FOLDS: Mapping[str, Callable[[Operation, Constants], Folded]] = {
    "tt.splat": _fold_splat,
    "tt.unsplat": _fold_unsplat,
    "tt.broadcast": _fold_view,
    "ttg.convert_layout": _fold_view,
    "tt.expand_dims": _fold_expand_dims,
    "tt.reshape": _fold_reshape,
    "tt.trans": _fold_trans,
    "tt.make_range": _fold_make_range,
    "tt.addptr": _fold_addptr,
}
