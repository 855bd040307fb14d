"""What ops that change the shape of a tensor do to its layout.

``tt`` has no layouts: a tensor's encoding is an attribute of a dialect above. An encoding that
derives from ``LayoutRules`` provides what ``tt`` needs to check, or to infer, the result types
of its shape ops. Every result may be ``None``, which means "unknown" and is never an
error: then only shapes and element types are checked.

Result types are compared the way MLIR compares what an op infers with what it has::

    inferred type(s) 'tensor<1x8xf32>' are incompatible with return type(s) of operation ...
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, OpTrait
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.type_utils import (
    AnyTensor,
    element_type_of,
    encoding_of,
    is_tensor,
    shape_of,
    tensor_of,
)


class LayoutRules:
    """Base of encodings of tensors; a layout overrides the queries that it supports."""

    @property
    def is_deferred(self) -> bool:
        """Whether ops are not compared with this layout until it is replaced by a final one."""
        return False

    @property
    def inside_marks(self) -> Attribute | None:
        """The layout that this one marks; None if it is not a mark."""
        return None

    def after_reduce(self, axis: int) -> Attribute | None:
        """The layout of the result of a reduction along `axis`."""
        return None

    def after_expand_dims(self, axis: int) -> Attribute | None:
        """The layout once a dimension of extent 1 has been put in at `axis`."""
        return None

    def after_trans(self, shape: Sequence[int], order: Sequence[int]) -> Attribute | None:
        """The layout once dimension ``order[i]`` has become dimension ``i``."""
        return None

    def after_split(self, shape: Sequence[int]) -> Attribute | None:
        """The layout of the halves of a tensor whose last dimension has extent 2."""
        return None

    def after_reshape(
        self, shape: Sequence[int], new_shape: Sequence[int], allow_reorder: bool
    ) -> Attribute | None:
        """The layout of the same elements in another shape."""
        return None

    def fits_broadcast(self, source: AnyTensor, result: AnyTensor) -> bool | None:
        """Whether this layout, of `source`, becomes that of `result` by repeating elements."""
        return None

    def is_equivalent(self, other: Attribute, shape: Sequence[int]) -> bool:
        """Whether `other`, written differently, still gives every element the same owner."""
        return False

    def dot_problem(self, a: Attribute, b: Attribute) -> str | None:
        """Why a dot of operands in layouts `a` and `b` cannot have this layout."""
        return None

    def cat_problem(self, source: AnyTensor, result: AnyTensor) -> str | None:
        """Why two tensors like `source` cannot be concatenated to one like `result`."""
        return None

    def tensor_problem(self, type: AnyTensor, op: Operation) -> str | None:
        """Why `type` cannot have this layout at `op`, for example for the number of warps there."""
        return None


def rules_of(type: Attribute) -> LayoutRules | None:
    """The layout of a tensor, if it can be queried."""
    encoding = encoding_of(type)
    return encoding if isinstance(encoding, LayoutRules) else None


def is_deferred(encoding: Attribute | None) -> bool:
    """Whether ops are not compared with `encoding` yet."""
    return isinstance(encoding, LayoutRules) and encoding.is_deferred


def without_marks(encoding: Attribute | None) -> Attribute | None:
    """`encoding`, or the layout that it marks."""
    inside = encoding.inside_marks if isinstance(encoding, LayoutRules) else None
    return encoding if inside is None else inside


def are_equivalent(one: Attribute | None, other: Attribute | None, shape: Sequence[int]) -> bool:
    """Whether two encodings of tensors of `shape` mean the same."""
    if one is other or one == other:
        return True
    if one is None or other is None:
        return False
    return not isinstance(one, LayoutRules) or one.is_equivalent(other, shape)


class VerifyTensorLayouts(OpTrait):
    """The layouts of all tensors of an op fit the tensors and the position of the op."""

    def verify(self, op: Operation) -> None:
        for index, operand in enumerate(op.operands):
            if (problem := _problem(operand.type, op)) is not None:
                raise VerifyException(f"Operand {index} has an invalid layout: {problem}")
        for index, result in enumerate(op.results):
            if (problem := _problem(result.type, op)) is not None:
                which = "Result" if len(op.results) == 1 else f"Result {index}"
                raise VerifyException(f"{which} has an invalid layout: {problem}")


def _problem(type: Attribute, op: Operation) -> str | None:
    rules = rules_of(type)
    return rules.tensor_problem(type, op) if rules is not None and is_tensor(type) else None


# Result types.


def derived(
    source: Attribute, shape: Sequence[int], layout: Attribute | None, hint: Attribute | None
) -> Attribute:
    """A type with the elements of `source` and another shape; without dimensions, a scalar.

    `layout` is what the layout of `source` becomes. Where that is not known and `source` has a
    layout, the one of `hint` is taken, or raised about if there is none.
    """
    if not shape:
        return element_type_of(source)
    if encoding_of(source) is not None and layout is None:
        if hint is None:
            raise ValueError(f"the layout of the result for '{source}' has to be given")
        layout = encoding_of(hint)
    return tensor_of(element_type_of(source), shape, layout)


def check_inferred(
    found: Sequence[Attribute], inferred: Sequence[Attribute], *, up_to_layout: bool = False
) -> None:
    """Raise unless the result types `found` are those inferred.

    With `up_to_layout`, layouts need not be written alike, only be equivalent.
    """
    pairs = zip(found, inferred, strict=True)
    if all(_agree(one, other, up_to_layout) for one, other in pairs):
        return
    raise VerifyException(
        f"inferred type(s) {_listed(inferred)} are incompatible with return type(s) of "
        f"operation {_listed(found)}"
    )


def _agree(one: Attribute, other: Attribute, up_to_layout: bool) -> bool:
    if one is other or one == other:
        return True
    layouts = encoding_of(one), encoding_of(other)
    marked = any(map(is_deferred, layouts))
    if not (up_to_layout or marked) or shape_of(one) != shape_of(other):
        return False
    same_elements = element_type_of(one) == element_type_of(other)
    if marked:
        layouts = without_marks(layouts[0]), without_marks(layouts[1])
    return same_elements and are_equivalent(*layouts, shape_of(one))


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(f"'{type}'" for type in types)
