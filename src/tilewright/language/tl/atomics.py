"""Atomic accesses: read, combine and write in one step that no other program sees half done.

Those that combine return what was stored before. `sem` is the memory order: which other accesses of
the program they keep their order relative to (``acquire``, ``release``, ``acq_rel``, ``relaxed``),
`scope` which threads must see that (``cta``, ``gpu``, ``sys``).

Hardware has no maximum of floats, but the bits of floats of one sign are ordered like integers:

    value >= 0   signed maximum: bits of a negative float are a negative integer
    value <  0   unsigned minimum: the greater a negative float, the smaller its bits, and those
                 of positive floats are smaller still

so both are done, each masked to the elements it is right for; the minimum likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.dialects.tt import (
    AtomicCASOp,
    AtomicLoadOp,
    AtomicPollOp,
    AtomicRMWOp,
    AtomicStoreOp,
)
from tilewright.dialects.tt.enums import MEM_SEMANTIC, MEM_SYNC_SCOPE
from tilewright.frontend.builder import current
from tilewright.language.tl.bitwise import logical_not
from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.comparison import where
from tilewright.language.tl.constants import scalar_constant, splat, to_tensor
from tilewright.language.tl.conversion import bitcast, convert
from tilewright.language.tl.dtypes import (
    bfloat16,
    dtype,
    float16,
    float32,
    float64,
    get_int_dtype,
    int1,
    pointer_type,
    uint64,
)
from tilewright.language.tl.memory import (
    as_bytes,
    broadcast_to_pointer,
    check_mask,
    check_scalar,
    check_writable,
    pointee,
)
from tilewright.language.tl.operands import optional
from tilewright.language.tl.tensor import Operand, emit, tensor, tensor_method

_CAS_BITS = (16, 32, 64)
_MIN_RMW_BITS = 16


@dataclass(frozen=True)
class _Order:
    """Memory order and scope of an access."""

    sem: str
    scope: str

    @classmethod
    def get(cls, sem: str | None, scope: str | None, default: str = "acq_rel") -> _Order:
        sem, scope = sem or default, scope or "gpu"
        if sem not in MEM_SEMANTIC.keywords:
            known = ", ".join(MEM_SEMANTIC.keywords)
            raise ValueError(f"Memory semantic {sem} not supported; expected one of {known}")
        if scope not in MEM_SYNC_SCOPE.keywords:
            known = ", ".join(MEM_SYNC_SCOPE.keywords)
            raise ValueError(f"Memory scope {scope} not supported; expected one of {known}")
        return cls(sem, scope)

    def check(self, function: str, *allowed: str) -> _Order:
        if self.sem not in allowed:
            semantics = " and ".join(allowed)
            raise ValueError(f"{function} only supports {semantics} semantics, got {self.sem}")
        return self


@dataclass(frozen=True)
class _Kinds:
    """The operation, by the type of the elements; floats need `float` or two `by_sign`."""

    signed: str
    unsigned: str
    float: str | None = None
    by_sign: tuple[str, str] | None = None

    def of(self, element: dtype) -> str | None:
        if element.is_floating():
            return self.float
        return self.signed if element.is_int_signed() else self.unsigned


_KINDS: Mapping[str, _Kinds] = {
    "add": _Kinds("add", "add", "fadd"),
    "and": _Kinds("and", "and"),
    "or": _Kinds("or", "or"),
    "xor": _Kinds("xor", "xor"),
    "xchg": _Kinds("exch", "exch", "exch"),
    "max": _Kinds("max", "umax", by_sign=("max", "umin")),
    "min": _Kinds("min", "umin", by_sign=("min", "umax")),
}


# Reading, combining, writing.


def _all_true(pointer: tensor) -> tensor:
    return splat(scalar_constant(True, int1), pointer.shape)


def _masked(pointer: tensor, mask: tensor | None) -> tensor:
    """The mask of an access, true everywhere if there is none."""
    return _all_true(pointer) if mask is None else check_mask(mask)


def _fitted(
    pointer: tensor, value: tensor, mask: tensor | None
) -> tuple[tensor, tensor, tensor | None]:
    """Value and mask in the shape of the pointer."""
    if pointer.type.is_block():
        return broadcast_to_pointer(pointer, value, mask)
    check_scalar("Value", value)
    check_scalar("Mask", mask)
    return pointer, value, mask


def _check_element(element: dtype, op: str) -> None:
    if element in (float16, bfloat16) and op == "add":
        return
    if element.primitive_bitwidth <= _MIN_RMW_BITS:
        raise ValueError(
            f"atomic_{op} does not support {element}: elements must have 32 or 64 bits"
            + (", or be fp16 or bf16" if op == "add" else "")
            + "; convert the array"
        )


def _combine(
    op: str,
    pointer: tensor,
    val: Operand,
    mask: Operand | None,
    sem: str | None,
    scope: str | None,
) -> tensor:
    value = to_tensor(val)
    element = pointee(pointer, f"atomic_{op}")
    check_writable(pointer)
    pointer, value, valid = _fitted(pointer, value, optional(mask))
    value = convert(value, element)
    valid = _masked(pointer, valid)
    _check_element(element, op)
    order = _Order.get(sem, scope)
    kinds = _KINDS[op]
    kind = kinds.of(element)
    if kind is not None:
        return _rmw(kind, pointer, value, valid, order)
    if kinds.by_sign is None or element not in (float32, float64):
        raise TypeError(f"atomic_{op} not supported for dtype {element}")
    return _rmw_by_sign(kinds.by_sign, pointer, value, valid, order)


def _rmw(kind: str, pointer: tensor, value: tensor, mask: tensor, order: _Order) -> tensor:
    op = AtomicRMWOp(
        kind, pointer.handle, value.handle, mask.handle, sem=order.sem, scope=order.scope
    )
    return emit(op, value.type)


def _rmw_by_sign(
    kinds: tuple[str, str], pointer: tensor, value: tensor, mask: tensor, order: _Order
) -> tensor:
    """Floats as integers: one kind for those without sign bit, another for those with it."""
    bits = value.dtype.primitive_bitwidth
    signed, unsigned = get_int_dtype(bits, True), get_int_dtype(bits, False)
    as_signed = bitcast(value, signed), bitcast(pointer, pointer_type(signed))
    as_unsigned = bitcast(value, unsigned), bitcast(pointer, pointer_type(unsigned))
    negative = convert(bitcast(value, unsigned) >> (bits - 1), int1)
    positive = logical_not(negative)
    above = _rmw(kinds[0], as_signed[1], as_signed[0], mask & positive, order)
    below = _rmw(kinds[1], as_unsigned[1], as_unsigned[0], mask & negative, order)
    return bitcast(where(positive, above, below), value.dtype)


@tensor_method
def atomic_add(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Add `val` to what is stored; returns what was stored before."""
    return _combine("add", pointer, val, mask, sem, scope)


@tensor_method
def atomic_max(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Store `val` where it is greater than what is stored; returns what was stored before."""
    return _combine("max", pointer, val, mask, sem, scope)


@tensor_method
def atomic_min(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Store `val` where it is less than what is stored; returns what was stored before."""
    return _combine("min", pointer, val, mask, sem, scope)


@tensor_method
def atomic_and(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Keep the bits that `val` has too; returns what was stored before."""
    return _combine("and", pointer, val, mask, sem, scope)


@tensor_method
def atomic_or(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Set the bits of `val`; returns what was stored before."""
    return _combine("or", pointer, val, mask, sem, scope)


@tensor_method
def atomic_xor(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Flip the bits of `val`; returns what was stored before."""
    return _combine("xor", pointer, val, mask, sem, scope)


@tensor_method
def atomic_xchg(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Store `val`; returns what was stored before."""
    return _combine("xchg", pointer, val, mask, sem, scope)


@tensor_method
def atomic_cas(
    pointer: tensor,
    cmp: Operand,
    val: Operand,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Store `val` where `cmp` is stored; returns what was stored before.

    Nothing is converted or broadcast: all three have one shape, and the values the element type.
    """
    expected, value = to_tensor(cmp), to_tensor(val)
    order = _Order.get(sem, scope)
    element = pointee(pointer, "atomic_cas")
    if element.primitive_bitwidth not in _CAS_BITS:
        raise ValueError(
            f"atomic_cas only supports elements with width {{16, 32, 64}}, got {element}"
        )
    required = pointer.type.with_element_ty(element)
    for name, operand in (("cmp", expected), ("val", value)):
        if operand.type.to_ir() != required.to_ir():
            raise ValueError(
                f"atomic_cas needs `{name}` to have type {required}, as the pointer's elements, "
                f"got {operand.type}: write {_in_type(operand, required)}"
            )
    op = AtomicCASOp(
        pointer.handle, expected.handle, value.handle, sem=order.sem, scope=order.scope
    )
    return emit(op, value.type)


def _in_type(operand: tensor, expected: dtype) -> str:
    """How a user makes a value of type `wanted` from `operand`."""
    if operand.shape == expected.shape:
        return f"value.to({expected.scalar!r})"
    return f"tl.full({list(expected.shape)}, value, {expected.scalar!r})"


# Only reading, only writing.


def _check_numeric(element: dtype, function: str) -> None:
    if element.is_ptr():
        raise ValueError(f"{function} only supports integer and floating-point elements")


@tensor_method
def atomic_load(
    pointer: tensor,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """What is stored, read in one step; undefined where `mask` is false."""
    element = pointee(pointer, "atomic_load")
    valid = optional(mask)
    if not pointer.type.is_block():
        check_scalar("Mask", valid)
    elif valid is not None:
        pointer, valid = broadcast_values(pointer, valid)
    pointer = as_bytes(pointer)
    valid = _masked(pointer, valid)
    _check_numeric(element, "atomic_load")
    order = _Order.get(sem, scope, "acquire").check("atomic_load", "acquire", "relaxed")
    op = AtomicLoadOp(pointer.handle, valid.handle, sem=order.sem, scope=order.scope)
    loaded = emit(op, pointer.type.with_element_ty(pointee(pointer, "atomic_load")))
    return convert(loaded, int1) if element == int1 else loaded


@tensor_method
def atomic_store(
    pointer: tensor,
    val: Operand,
    mask: Operand | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> None:
    """Store `val` in one step, except where `mask` is false."""
    value = to_tensor(val)
    _check_numeric(pointee(pointer, "atomic_store"), "atomic_store")
    check_writable(pointer)
    pointer, value, valid = _fitted(pointer, value, optional(mask))
    pointer = as_bytes(pointer)
    value = convert(value, pointee(pointer, "atomic_store"))
    valid = _masked(pointer, valid)
    order = _Order.get(sem, scope, "release").check("atomic_store", "release", "relaxed")
    current().insert(
        AtomicStoreOp(pointer.handle, value.handle, valid.handle, sem=order.sem, scope=order.scope)
    )


@tensor_method
def atomic_poll(
    pointer: tensor,
    expected_value: Operand,
    sem: str | None = None,
    scope: str | None = None,
    timeout_ns: Operand | None = None,
) -> tensor:
    """Wait until `expected_value` is stored; false where `timeout_ns` ran out first."""
    expected = to_tensor(expected_value)
    if isinstance(timeout_ns, int) and timeout_ns < 0:
        raise ValueError(f"atomic_poll timeout_ns must be non-negative, got {timeout_ns}")
    timeout = optional(timeout_ns)
    element = pointee(pointer, "atomic_poll")
    if not element.is_int() or element.primitive_bitwidth not in _CAS_BITS:
        raise ValueError(
            f"atomic_poll only supports integer elements with width {{16, 32, 64}}, got {element}"
        )
    expected = convert(expected, element)
    pointer, expected, _ = broadcast_to_pointer(pointer, expected, None)
    order = _Order.get(sem, scope, "acquire").check("atomic_poll", "acquire", "relaxed")
    if timeout is not None:
        if timeout.type.is_block() or not timeout.type.is_int():
            raise ValueError(f"atomic_poll timeout_ns must be a scalar integer, got {timeout}")
        timeout = convert(timeout, uint64)
    op = AtomicPollOp(
        pointer.handle,
        expected.handle,
        None if timeout is None else timeout.handle,
        sem=order.sem,
        scope=order.scope,
    )
    return emit(op, expected.type.with_element_ty(int1))
