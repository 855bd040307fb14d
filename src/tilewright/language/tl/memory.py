"""Loads and stores through pointers.

A pointer is a scalar or a block of pointers; the other operands are broadcast to its shape. Where
the mask is false nothing is accessed: a load gives `other` there, or an undefined value without it.
A block pointer (`block_pointers`) becomes a block of pointers and a mask here:

    tl.load(block, boundary_check=(0,), padding_option="zero")
    tl.load(pointers, mask=inside the tensor along 0, other=0)

Memory has no type of one bit: pointers to `int1` are accessed as pointers to `int8`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tilewright.dialects.tt import CachePolicyAttr, LoadOp, StoreOp
from tilewright.dialects.tt.attributes import NO_MODIFIER, NORMAL_EVICTION
from tilewright.dialects.tt.enums import EVICTION_POLICY
from tilewright.dialects.tt.memory import LOAD_MODIFIERS, STORE_MODIFIERS
from tilewright.frontend.builder import current
from tilewright.frontend.values import Value
from tilewright.language.tl.broadcast import ShapeMismatch, broadcast_values
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import dtype, int1, int8, pointer_type
from tilewright.language.tl.operands import broadcast_all, optional
from tilewright.language.tl.tensor import Operand, emit, tensor, tensor_method


@dataclass(frozen=True)
class PointerBlock:
    """A block access: pointers, mask, and the value of masked-off elements."""

    pointers: tensor
    mask: tensor | None = None
    other: Operand | None = None


class AddressDescription(Value):
    """An address description that is not a block of pointers."""

    @abstractmethod
    def access(self, boundary_check: Sequence[int] | int, padding_option: str) -> PointerBlock:
        """The pointers of the block, and a mask for the dimensions that are to be checked."""


# What loads and stores have in common, atomic ones too.


def pointee(pointer: object, function: str) -> dtype:
    """The type that `pointer`, the argument of `function`, points to."""
    element = pointer.type.scalar if isinstance(pointer, tensor) else None
    if isinstance(element, pointer_type):
        return element.element_ty
    found = repr(pointer.type) if isinstance(pointer, tensor) else type(pointer).__name__
    fix = "pass a pointer or a block of pointers, such as x_ptr + tl.arange(0, BLOCK)"
    if hasattr(pointer, "block_shape"):
        fix = f"use the descriptor's method, desc.{function}([row, column], ...)"
    raise ValueError(f"Unsupported ptr type {found} in `tl.{function}`: {fix}")


def check_writable(pointer: tensor) -> None:
    if pointer.type.scalar.is_const():
        raise ValueError(
            "Cannot store to a constant pointer: remove the tl.const annotation of the parameter, "
            "or store through another one"
        )


def check_scalar(name: str, value: tensor | None) -> None:
    """Raise if `value`, given along with a pointer to one element, is a block."""
    if value is not None and value.type.is_block():
        raise ValueError(
            f"{name} argument cannot be block type if pointer argument is not a block: the "
            f"pointer is a scalar, the {name.lower()} has shape {list(value.shape)}; add offsets "
            "to the pointer, as in x_ptr + offsets, for a pointer to every element"
        )


def check_mask(mask: tensor) -> tensor:
    if not mask.dtype.is_bool():
        raise ValueError(
            f"Mask must have boolean scalar type, got {mask.dtype}: write a comparison, such as "
            "mask != 0"
        )
    return mask


def broadcast_to_pointer(
    pointer: tensor, value: tensor, mask: tensor | None
) -> tuple[tensor, tensor, tensor | None]:
    """`value` and `mask` in the shape of the block of pointers."""
    shape, given = pointer.shape, value.shape
    try:
        if mask is None:
            pointer, value = broadcast_all(pointer, value)
        else:
            pointer, value, mask = broadcast_all(pointer, value, mask)
    except ShapeMismatch as error:
        masked = "" if mask is None else f", the mask {list(mask.shape)}"
        raise ValueError(
            f"{error.found}; the pointers have shape {list(shape)}, the values "
            f"{list(given)}{masked}: pointers, values and mask must broadcast to one shape"
        ) from None
    if pointer.shape != shape:
        raise ValueError(
            f"Expected pointer argument to have shape {list(pointer.shape)} but got "
            f"{list(shape)}: there are more values than pointers. Add offsets for every dimension "
            "to the pointer, or reduce the value first"
        )
    return pointer, value, mask


def _broadcast_beside(pointer: tensor, value: tensor, what: str) -> tuple[tensor, tensor]:
    """Pointers and the mask or the filler of a load, in one shape."""
    try:
        return broadcast_values(pointer, value)
    except ShapeMismatch as error:
        raise ValueError(
            f"{error.found}; the pointers have shape {list(pointer.shape)}, {what} "
            f"{list(value.shape)}. {error.suggestion}"
        ) from None


def as_bytes(pointer: tensor) -> tensor:
    """Pointers to `int1` as the pointers to `int8` they are in memory, others unchanged."""
    element = pointer.type.scalar
    if isinstance(element, pointer_type) and element.element_ty == int1:
        return convert(pointer, pointer_type(int8, element.address_space))
    return pointer


def _cache_policy(
    modifier: str, eviction: str, modifiers: Collection[str], accesses: str
) -> CachePolicyAttr | None:
    modifier = (modifier or NO_MODIFIER).removeprefix(".")
    eviction = eviction or NORMAL_EVICTION
    if modifier not in modifiers:
        known = ", ".join(repr(f".{each}") for each in sorted(modifiers) if each != NO_MODIFIER)
        raise ValueError(f"Unsupported cache modifier {modifier!r}; {accesses} support {known}")
    if eviction not in EVICTION_POLICY.keywords:
        known = ", ".join(map(repr, EVICTION_POLICY.keywords))
        raise ValueError(f"Unsupported eviction policy {eviction!r}; expected one of {known}")
    if (modifier, eviction) == (NO_MODIFIER, NORMAL_EVICTION):
        return None
    return CachePolicyAttr.get(modifier, eviction)


def _access(
    pointer: tensor | AddressDescription,
    mask: Operand | None,
    other: Operand | None,
    boundary_check: Sequence[int] | int,
    padding_option: str,
    function: str,
) -> PointerBlock:
    """The pointers, mask and other value of a load or store, whichever way they were given."""
    if not isinstance(pointer, AddressDescription):
        if boundary_check or padding_option:
            raise ValueError(
                "boundary_check and padding_option require a block pointer from "
                "tl.make_block_ptr: use mask= and other= for a block of pointers"
            )
        return PointerBlock(pointer, optional(mask), other)
    if mask is not None or other is not None:
        raise ValueError(
            f"`mask` and `other` cannot be given to `tl.{function}` of a block pointer: use "
            "boundary_check= and padding_option= instead"
        )
    return pointer.access(boundary_check, padding_option)


# Plain accesses.


def load(
    pointer: tensor | AddressDescription,
    mask: Operand | None = None,
    other: Operand | None = None,
    boundary_check: Sequence[int] | int = (),
    padding_option: str = "",
    *,
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> tensor:
    """The values that `pointer` points to, in its shape.

    Where `mask` is false nothing is read and the value is `other`, undefined without it. Both are
    broadcast to the shape of `pointer`; `other` is converted to its element type. Block pointers
    take `boundary_check`, the dimensions in which the block may reach over the edge of the tensor,
    and `padding_option`, "zero" or "nan", for the elements beyond.
    """
    access = _access(pointer, mask, other, boundary_check, padding_option, "load")
    pointers, valid, filler = access.pointers, access.mask, optional(access.other)
    policy = _cache_policy(cache_modifier, eviction_policy, LOAD_MODIFIERS, "loads")
    element = pointee(pointers, "load")
    if filler is not None and valid is None:
        raise ValueError(
            "`other` cannot be provided without `mask`: it is the value of masked-off elements"
        )
    if pointers.type.is_block():
        if valid is not None:
            pointers, valid = _broadcast_beside(pointers, valid, "the mask")
        if filler is not None:
            pointers, filler = _broadcast_beside(pointers, filler, "`other`")
    else:
        check_scalar("Mask", valid)
        check_scalar("Other", filler)
    is_bool = element == int1
    if is_bool:
        element, pointers = int8, as_bytes(pointers)
    if filler is not None:
        filler = convert(filler, element)
    if valid is not None:
        check_mask(valid)
    loaded = emit(
        LoadOp(
            pointers.handle,
            None if valid is None else valid.handle,
            None if filler is None else filler.handle,
            policy=policy,
            is_volatile=volatile,
        ),
        pointers.type.with_element_ty(element),
    )
    return convert(loaded, int1) if is_bool else loaded


@tensor_method
def store(
    pointer: tensor | AddressDescription,
    value: Operand,
    mask: Operand | None = None,
    boundary_check: Sequence[int] | int = (),
    *,
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> None:
    """Write `value` to where `pointer` points, except where `mask` is false.

    `value` and `mask` are broadcast to the shape of `pointer`; `value` is converted to its element
    type. Block pointers take `boundary_check`, the dimensions in which elements beyond the edge of
    the tensor are left out.
    """
    stored = to_tensor(value)
    access = _access(pointer, mask, None, boundary_check, "", "store")
    pointers, valid = access.pointers, access.mask
    policy = _cache_policy(cache_modifier, eviction_policy, STORE_MODIFIERS, "stores")
    element = pointee(pointers, "store")
    check_writable(pointers)
    if pointers.type.is_block():
        pointers, stored, valid = broadcast_to_pointer(pointers, stored, valid)
    else:
        check_scalar("Value", stored)
        check_scalar("Mask", valid)
    stored = convert(stored, element)
    if element == int1:
        pointers = as_bytes(pointers)
        stored = convert(stored, int8)
    if valid is not None:
        check_mask(valid)
    current().insert(
        StoreOp(
            pointers.handle,
            stored.handle,
            None if valid is None else valid.handle,
            policy=policy,
        )
    )
