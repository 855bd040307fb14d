"""Buffers, elements, moves.

A buffer is a pointer in the source, or an array if it is in registers. Its elements are addressed
by one index: passes have flattened everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt.moves import ConvertOp, MoveOp
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.effects import is_removable
from tilewright.targets.cxx.conversions import converted
from tilewright.targets.cxx.emitter import ATOM, MULTIPLY, SUM, Emitter, Rule, Text, only_use
from tilewright.targets.cxx.flavour import CType


def alloc(emitter: Emitter, op: Operation) -> None:
    """An array in registers, or a part of the shared memory."""
    assert isinstance(op, AllocOp)
    type, space = emitter.element(op.result), op.space
    (size,) = _flat(emitter, op.result)
    name = emitter.name(op.result, "buffer")
    if space.is_per_thread:
        # Wide moves take several elements at once, so arrays are aligned to them.
        emitter.statement(f"alignas(16) {type.name} {name}[{size}];")
        return
    offset = op.offset_bytes
    if offset is None:
        raise emitter.refusal(f"'{op.buffer_name}' has no shared-memory offset")
    start = "smem" if offset == 0 else f"smem + {offset}"
    emitter.statement(f"{type.name}* const {name} = reinterpret_cast<{type.name}*>({start});")


def _flat(emitter: Emitter, buffer: SSAValue) -> tuple[int, ...]:
    shape = shape_of(buffer.type)
    if len(shape) != 1:
        raise emitter.refusal(f"buffer of type '{buffer.type}' was not flattened")
    return shape


def element(emitter: Emitter, buffer: SSAValue, indices: Sequence[SSAValue]) -> str:
    """One element, as something that can be read or assigned."""
    _flat(emitter, buffer)
    (index,) = indices
    return f"{emitter.operand(buffer)}[{emitter.operand(index)}]"


def address(emitter: Emitter, buffer: SSAValue, index: SSAValue) -> str:
    """The address of an element."""
    is_added_first = emitter.flavour.adds_offsets_first and space_of(buffer.type) is Space.GLOBAL
    offset = emitter.operand(index, MULTIPLY if is_added_first else SUM)
    name = emitter.operand(buffer)
    return name if offset == "0" else f"{name} + {offset}"


def _load(emitter: Emitter, op: Operation) -> None:
    buffer, *indices = op.operands
    load(emitter, op, element(emitter, buffer, indices))


def load(emitter: Emitter, op: Operation, text: str) -> None:
    """The element that `text` reads, in passing where nothing can change it before."""
    if _stays_the_same(op):
        emitter.pure(op.results[0], Text(text, ATOM))
    else:
        emitter.constant(op.results[0], Text(text, ATOM))


def _stays_the_same(load: Operation) -> bool:
    """Whether nothing can change the element before the statement that reads it in passing."""
    if load.results[0].first_use is None:
        return True
    statement, following = _statement_with(load), load.next_op
    while following is not None and following is not statement:
        if following.regions or not following.results or not is_removable(following):
            return False  # a statement, perhaps a store
        following = following.next_op
    return following is not None


def _statement_with(load: Operation) -> Operation | None:
    """The op whose text has the expression of a load, as part of larger ones perhaps.

    None if the expression would be computed again: by every iteration of a loop, for its end, or
    wherever an address is used.
    """
    op = load
    while (use := only_use(op.results[0])) is not None and use.operation.parent is load.parent:
        user = use.operation
        if isinstance(user, ForOp) and use.index in (1, 2):
            return None
        if any(space_of(each.type) is not None for each in user.results):
            return None
        if len(user.results) != 1 or user.regions or not is_removable(user):
            return user
        op = user
    return op


def _store(emitter: Emitter, op: Operation) -> None:
    value, buffer, *indices = op.operands
    emitter.statement(f"{element(emitter, buffer, indices)} = {emitter.operand(value)};")


def _vector(emitter: Emitter, buffer: SSAValue, index: SSAValue, bytes: int, *, reads: bool) -> str:
    """Several elements as one value."""
    const = "const " if reads and space_of(buffer.type) is Space.GLOBAL else ""
    type = emitter.flavour.vectors[bytes]
    emitter.declare(type)
    return f"*reinterpret_cast<{const}{type.name}*>({address(emitter, buffer, index)})"


def move(emitter: Emitter, op: Operation) -> None:
    """One access of several elements."""
    assert isinstance(op, MoveOp)
    (source,), (destination,) = op.src_indices, op.dst_indices
    if op.policy is not None:
        raise emitter.refusal(f"{emitter.flavour.name} has no accesses with a cache policy")
    if op.width == 1:
        left = element(emitter, op.dst, op.dst_indices)
        emitter.statement(f"{left} = {element(emitter, op.src, op.src_indices)};")
        return
    left = _vector(emitter, op.dst, destination, op.bytes, reads=False)
    right = _vector(emitter, op.src, source, op.bytes, reads=True)
    emitter.statement(f"{left} = {right};")


def _convert(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ConvertOp)
    source, destination = emitter.element(op.src), emitter.element(op.dst)
    (source_index,), (destination_index,) = op.src_indices, op.dst_indices
    packed = emitter.flavour.packed.get((source.name, destination.name))
    if packed is None or op.width % 2:
        _convert_each(emitter, op, source, destination)
        return
    emitter.uses.functions.setdefault(packed)
    for lane in range(0, op.width, 2):
        target = _shifted(address(emitter, op.dst, destination_index), lane)
        origin = _shifted(address(emitter, op.src, source_index), lane)
        emitter.statement(f"tw::{packed}({target}, {origin});")


def _shifted(address: str, lanes: int) -> str:
    return address if lanes == 0 else f"{address} + {lanes}"


def _convert_each(emitter: Emitter, op: ConvertOp, source: CType, type: CType) -> None:
    target = address(emitter, op.dst, op.dst_indices[0])
    origin = address(emitter, op.src, op.src_indices[0])
    for lane in range(op.width):
        left, right = _shifted(target, lane), _shifted(origin, lane)
        emitter.statement(f"*({left}) = {converted(source, type, f'*({right})')};")


def _slot(emitter: Emitter, op: Operation) -> None:
    raise emitter.refusal("a buffer version was not lowered to an offset")


def _dim(emitter: Emitter, op: Operation) -> None:
    raise emitter.refusal("the extent of a tensor was not made a kernel argument")


def _cast_buffer(emitter: Emitter, op: Operation) -> None:
    emitter.define(op.results[0], emitter.text(op.operands[0]))


RULES: Mapping[str, Rule] = {
    "memref.collapse_shape": _cast_buffer,
    "tile.alloc": alloc,
    "memref.load": _load,
    "memref.store": _store,
    "memref.cast": _cast_buffer,
    "memref.dim": _dim,
    "tile.slot": _slot,
    "simt.move": move,
    "simt.convert": _convert,
}

__all__ = ["RULES", "address", "alloc", "element", "load", "move"]
