"""Queries about types that every dialect needs: element, shape, encoding, pointee, width.

A *value type* is a scalar (``f32``, ``i1``, ``!tt.ptr<f16>``) or a tensor of scalars, with or
without an encoding. The functions here treat both alike: a scalar is its own element type, has
shape ``()`` and no encoding. Types derived from a type keep its shape and encoding::

    tensor<128x!tt.ptr<f16>, #blocked>   pointee_type      tensor<128xf16, #blocked>
                                         i1_like           tensor<128xi1, #blocked>

Types are immutable and, in parsed text, shared. Derived types are therefore remembered by the
identity of their origin: a second query costs one lookup and returns the same object, which also
makes the comparisons of the verifier cheap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeAlias, cast

from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    AnyFloat,
    ContainerType,
    FixedBitwidthType,
    IndexType,
    IntegerType,
    NoneAttr,
    ShapedType,
    TensorType,
    UnrankedTensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue

AnyTensor: TypeAlias = TensorType[Attribute]
"""A ranked tensor of anything, pointers included."""

POINTER_BITS = 64

_MEMO_LIMIT = 4096

_SCALARS = frozenset({IndexType, IntegerType})


class PointerLike(ABC):
    """Base of pointer types, so that questions about pointers need no dialect."""

    @abstractmethod
    def get_pointee(self) -> Attribute:
        """The type of what the pointer points to."""


def _by_identity(function: Callable[[Attribute], Attribute]) -> Callable[[Attribute], Attribute]:
    """Memoise results by the identity of the argument, which stays alive for that."""
    memo: dict[int, tuple[Attribute, Attribute]] = {}

    @wraps(function)
    def wrapper(type: Attribute) -> Attribute:
        known = memo.get(id(type))
        if known is not None:
            return known[1]
        result = function(type)
        if len(memo) >= _MEMO_LIMIT:
            memo.clear()
        memo[id(type)] = (type, result)
        return result

    return wrapper


def is_tensor(type: Attribute) -> TypeIs[AnyTensor]:
    """Whether `type` is a ranked tensor."""
    return isinstance(type, TensorType)


def tensors_among(values: Sequence[SSAValue]) -> list[SSAValue]:
    """Those of `values` that are tensors."""
    return [value for value in values if is_tensor(value.type)]


def element_type_of(type: Attribute) -> Attribute:
    """The element type of a tensor or any other container; a scalar itself."""
    if type.__class__ in _SCALARS:  # most types, decided without a query to a base class
        return type
    if isinstance(type, ContainerType):
        return cast("ContainerType[Attribute]", type).get_element_type()
    return type


def shape_of(type: Attribute) -> tuple[int, ...]:
    """The extents of a shaped type; ``()`` for a scalar."""
    return tuple(type.get_shape()) if isinstance(type, ShapedType) else ()


def rank_of(type: Attribute) -> int:
    """The number of dimensions; 0 for a scalar."""
    return len(shape_of(type))


def num_elements(type: Attribute) -> int:
    """The number of elements of a static shape; 1 for a scalar."""
    count = 1
    for extent in shape_of(type):
        count *= extent
    return count


def encoding_of(type: Attribute) -> Attribute | None:
    """The layout of a tensor, if it has one."""
    if not is_tensor(type) or isinstance(type.encoding, NoneAttr):
        return None
    return type.encoding


def tensor_of(
    element: Attribute, shape: Sequence[int], encoding: Attribute | None = None
) -> AnyTensor:
    """A tensor type of any element type."""
    return TensorType(element, shape, NoneAttr() if encoding is None else encoding)


def with_element_type(type: Attribute, element: Attribute) -> Attribute:
    """`type` with another element type: same shape, same encoding. A scalar becomes `element`."""
    if isinstance(type, VectorType):
        return VectorType(element, type.get_shape(), type.scalable_dims)
    if isinstance(type, UnrankedTensorType):
        return UnrankedTensorType(element)
    if not is_tensor(type):
        return element
    return tensor_of(element, type.get_shape(), encoding_of(type))


def with_shape(
    type: Attribute, shape: Sequence[int], encoding: Attribute | None = None
) -> AnyTensor:
    """A tensor of `shape` with the element type of `type`.

    An encoding describes one shape, so it is not carried over: pass the one that holds now.
    """
    return tensor_of(element_type_of(type), shape, encoding)


def with_encoding(type: AnyTensor, encoding: Attribute | None) -> AnyTensor:
    """`type` in another layout."""
    return tensor_of(type.element_type, type.get_shape(), encoding)


@_by_identity
def i1_like(type: Attribute) -> Attribute:
    """``i1``, or a tensor or vector of ``i1`` with the shape and encoding of `type`."""
    return with_element_type(type, i1)


@_by_identity
def pointee_type(type: Attribute) -> Attribute:
    """What a pointer points to; for a tensor of pointers, the tensor of what they point to.

    Raises TypeError for anything else.
    """
    pointer = element_type_of(type)
    if not isinstance(pointer, PointerLike):
        raise TypeError(f"'{type}' is neither a pointer nor a tensor of pointers")
    return with_element_type(type, pointer.get_pointee())


def is_int_or_float(type: Attribute) -> bool:
    """Whether `type` is an integer or a floating-point scalar."""
    return isinstance(type, (IntegerType, AnyFloat))


def bit_width(type: Attribute) -> int:
    """The width in bits of `type`, or of one element of it.

    Raises TypeError for types that have no fixed width, such as ``index``.
    """
    element = element_type_of(type)
    if isinstance(element, FixedBitwidthType):
        return element.bitwidth
    if isinstance(element, PointerLike):
        return POINTER_BITS
    reason = "depends on the target" if isinstance(element, IndexType) else "is not defined"
    raise TypeError(f"the bit width of '{element}' {reason}")
