"""Pointers and accesses.

An access is recorded with its base, byte offset and mask at that point. Blocks (through
descriptors and block pointers) are accesses like others: the offset of an element is the sum of
``(index + lane) * stride`` over the dimensions, and staying inside the tensor is their mask.

A pointer cast to an integer is the symbol ``addr(base)`` plus its offset; cast back, the base is
found again. Any other integer becomes a pointer if one of its parts can be taken for an address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Atom, Formula, Interval, Poly, conjunction
from tilewright.analysis.pid_address.atoms import Role, kind_of
from tilewright.analysis.pid_address.report import AccessKind
from tilewright.analysis.pid_address.scope import BoxParts, Scope, Site
from tilewright.analysis.pid_address.transfer.arith import Rule
from tilewright.analysis.pid_address.transfer.integers import moved, scaled, times
from tilewright.analysis.pid_address.types import element_bytes, pointee_bytes
from tilewright.analysis.pid_address.values import (
    Base,
    BlockPointer,
    Descriptor,
    Integer,
    Pointer,
    basis_of,
    deps_of,
)
from tilewright.dialects.tt import (
    AdvanceOp,
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    LoadOp,
    MakeTensorDescOp,
    MakeTensorPtrOp,
    StoreOp,
    TensorDescType,
)
from tilewright.dialects.tt.types import block_pointee
from tilewright.dialects.type_utils import PointerLike, element_type_of, shape_of

_ADDRESSES = Interval.of_bits(64)

# Pointers.


def _add_pointer(scope: Scope, op: Operation) -> None:
    pointer = scope.pointer(op.operands[0])
    by = scaled(scope.integer(op.operands[1]), pointee_bytes(op.results[0].type))
    scope.set(op.results[0], Pointer(pointer.base, moved(scope, pointer.offset, by)))


def _pointer_to_integer(scope: Scope, op: Operation) -> None:
    pointer = scope.pointer(op.operands[0])
    if pointer.base.address is None:
        scope.set_unknown(op, scope.atoms.unsupported)
        return
    address = Integer(pointer.base.address, pointer.base.address)
    scope.set(op.results[0], moved(scope, address, pointer.offset))


def integer_to_pointer(scope: Scope, op: Operation) -> None:
    """The memory at an address: of the one value in it that may be that of an array."""
    source, result = op.operands[0], op.results[0]
    value = scope.integer(source)
    atom = _address_in(value.expr)
    if atom is None:
        mask = value.expr.deps_mask
        scope.set(result, scope.unknown_pointer(result, mask, value.basis))
        return
    address = scope.space.of_atom(atom) * atom.divisor
    expr = value.expr - address
    base = _base_named(atom, address)
    same = value.virtual is value.expr
    virtual = expr if same else None if value.virtual is None else value.virtual - address
    scope.set(result, Pointer(base, Integer(expr, virtual, value.is_simple, value.basis)))


def _address_in(expr: Poly) -> Atom | None:
    """The part of an integer that can be an address: one alone, with no factor."""
    atoms = expr.space.atoms
    alone = [
        atoms[monomial[0]]
        for monomial, factor in expr.terms.items()
        if len(monomial) == 1 and factor == atoms[monomial[0]].divisor
    ]
    for kind in ("addr", "opaque", "arg"):
        found = [atom for atom in alone if kind_of(atom) == kind]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _base_named(atom: Atom, address: Poly) -> Base:
    role = atom.role
    assert isinstance(role, Role)
    if role.kind == "addr":
        divisor = atom.divisor if atom.divisor > 1 else None
        return Base(str(role.key), address, divisor, address.deps_mask)
    name = role.key if role.kind == "opaque" else f"%{role.key}"
    return Base(f"*{name}", address, None, address.deps_mask)


# Accesses through pointers.


def loaded(scope: Scope, op: Operation, mask: int, basis: int) -> None:
    """Results that come from memory: opaque, and new in every iteration."""
    mask |= scope.atoms.memory | scope.loop_mask()
    for result in op.results:
        if isinstance(element_type_of(result.type), PointerLike):
            scope.set(result, _loaded_pointer(scope, result, mask, basis))
        else:
            scope.set(result, scope.unknown(result, mask, basis))


def _loaded_pointer(scope: Scope, result: SSAValue, mask: int, basis: int) -> Pointer:
    name = scope.opaque_name(result)
    address = scope.atoms.opaque(name, mask, shape_of(result.type), _ADDRESSES)
    zero = scope.space.zero
    return Pointer(
        Base(f"*{name}", address, None, address.deps_mask), Integer(zero, zero, basis=basis)
    )


@dataclass(frozen=True)
class AccessOp:
    """The operands of an access op: its kind, pointer and mask."""

    kind: AccessKind
    address: SSAValue
    mask: SSAValue | None = None


def record_access(scope: Scope, op: Operation, access: AccessOp) -> tuple[int, int]:
    """Record an access; its dependencies and basis."""
    known = scope.get(access.address)
    condition = None if access.mask is None else scope.formula(access.mask)
    if block_pointee(access.address.type) is not None and not isinstance(known, BlockPointer):
        known = _unknown_block(scope, access.address, deps_of(known), basis_of(known))
    if isinstance(known, BlockPointer):
        return _record_block(scope, op, access, known)
    pointer = known if isinstance(known, Pointer) else scope.pointer(access.address)
    formula = None if condition is None else condition.formula
    basis = 0 if condition is None else condition.basis
    scope.record(
        Site(
            op,
            scope.path,
            access.kind,
            access.address,
            pointer.base,
            pointer.offset,
            pointee_bytes(access.address.type),
            shape_of(access.address.type),
            formula,
            basis,
            scope,
        )
    )
    mask = deps_of(pointer) | (0 if formula is None else formula.deps_mask)
    return mask | _time_of_access(scope, pointer.base), pointer.offset.basis | basis


def _time_of_access(scope: Scope, base: Base) -> int:
    """What is found in memory that the kernel writes depends on when, hence on the program."""
    return scope.atoms.any_pid if base.name in scope.machine.changing else 0


def _load(scope: Scope, op: Operation) -> None:
    assert isinstance(op, LoadOp)
    mask, basis = record_access(scope, op, AccessOp(AccessKind.LOAD, op.ptr, op.mask))
    if op.other is not None:
        mask |= deps_of(scope.get(op.other))
    loaded(scope, op, mask, basis)


def _store(scope: Scope, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    record_access(scope, op, AccessOp(AccessKind.STORE, op.ptr, op.mask))


def _atomic(scope: Scope, op: Operation) -> None:
    """The result of an atomic depends on the order of programs and lanes."""
    access = AccessOp(AccessKind.ATOMIC, op.operands[0], _atomic_mask(op))
    mask, basis = record_access(scope, op, access)
    mask |= scope.atoms.any_pid
    for operand in op.operands:
        mask |= deps_of(scope.get(operand))
    for result in op.results:
        for dim, extent in enumerate(shape_of(result.type)):
            scope.atoms.lane(dim, extent)
            mask |= scope.atoms.lane_bit(dim)
    loaded(scope, op, mask, basis)


def _atomic_mask(op: Operation) -> SSAValue | None:
    mask = getattr(op, "mask", None)
    return mask if isinstance(mask, SSAValue) else None


# Accesses by block.


def _record_block(
    scope: Scope, op: Operation, access: AccessOp, block: BlockPointer
) -> tuple[int, int]:
    checks = op.properties.get("boundaryCheck")
    checked = () if checks is None else tuple(_integers(checks))
    tensor = block_pointee(access.address.type)
    assert tensor is not None
    return record_box(
        scope,
        op,
        access,
        Descriptor(block.base, block.offset, block.shape, block.strides, block.block),
        block.offsets,
        element_bytes(tensor),
        checked,
        is_descriptor=False,
    )


def _integers(attribute: object) -> Sequence[int]:
    values = getattr(attribute, "get_values", None)
    return () if values is None else values()


def record_box(
    scope: Scope,
    op: Operation,
    access: AccessOp,
    box: Descriptor,
    indices: Sequence[Integer],
    elem_bytes: int,
    checked: Sequence[int],
    *,
    is_descriptor: bool,
    shape: tuple[int, ...] | None = None,
    moving: Sequence[bool] | None = None,
) -> tuple[int, int]:
    """Record the access to a block. `moving[d]`: whether dimension d has lanes of its own, besides
    those of its index. The mask of `access` holds for the whole block."""
    shape = box.block if shape is None else shape
    offset = box.offset
    positions: list[Poly] = []
    for dim, index in enumerate(indices):
        position = index
        if moving is None or moving[dim]:
            lane = scope.atoms.lane(dim, shape[dim])
            position = moved(scope, index, Integer(lane, lane))
        positions.append(position.expr)
        step = scaled(times(scope, position, box.strides[dim]), elem_bytes)
        offset = moved(scope, offset, step)
    mask = _inside(scope, positions, box.shape, checked)
    mask_basis = 0
    if access.mask is not None and is_descriptor:
        condition = scope.formula(access.mask)
        mask = condition.formula if mask is None else condition.formula & mask
        mask_basis |= condition.basis
    for extent in box.shape:
        mask_basis |= extent.basis
    scope.record(
        Site(
            op,
            scope.path,
            access.kind,
            access.address,
            box.base,
            offset,
            elem_bytes,
            shape,
            mask,
            mask_basis,
            scope,
            BoxParts(
                box.offset.expr,
                tuple(extent.expr for extent in box.shape),
                tuple(stride.expr for stride in box.strides),
                shape,
                tuple(index.expr for index in indices),
            ),
            is_descriptor,
            box.is_argument,
        )
    )
    everything = offset.expr.deps_mask | box.base.deps | _time_of_access(scope, box.base)
    basis = offset.basis | mask_basis
    return everything | (0 if mask is None else mask.deps_mask), basis


def _inside(
    scope: Scope, positions: Sequence[Poly], extents: Sequence[Integer], checked: Sequence[int]
) -> Formula | None:
    if not checked:
        return None
    parts: list[Formula] = []
    for dim in checked:
        parts.append(scope.ctx.compare(">=", positions[dim], 0))
        parts.append(scope.ctx.compare("<", positions[dim], extents[dim].expr))
    return conjunction(scope.space, parts)


def _make_block_pointer(scope: Scope, op: Operation) -> None:
    assert isinstance(op, MakeTensorPtrOp)
    base = scope.pointer(op.base)
    scope.set(
        op.results[0],
        BlockPointer(
            base.base,
            base.offset,
            tuple(map(scope.integer, op.shape)),
            tuple(map(scope.integer, op.strides)),
            tuple(map(scope.integer, op.offsets)),
            tuple(op.block_type.get_shape()),
            tuple(op.order.get_values()),
        ),
    )


def _advance(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AdvanceOp)
    pointer = scope.get(op.ptr)
    if not isinstance(pointer, BlockPointer):
        scope.set_unknown(op, scope.atoms.unsupported)
        return
    steps = [scope.integer(step) for step in op.offsets]
    offsets = list(pointer.offsets)
    for dim, step in enumerate(steps):
        offsets[dim] = moved(scope, offsets[dim], step)
    scope.set(
        op.results[0],
        BlockPointer(
            pointer.base,
            pointer.offset,
            pointer.shape,
            pointer.strides,
            tuple(offsets),
            pointer.block,
            pointer.order,
        ),
    )


def _make_descriptor(scope: Scope, op: Operation) -> None:
    assert isinstance(op, MakeTensorDescOp)
    base = scope.pointer(op.base)
    type = op.results[0].type
    assert isinstance(type, TensorDescType)
    strides = tuple(map(scope.integer, op.strides))
    scope.set(
        op.results[0],
        Descriptor(
            base.base,
            base.offset,
            tuple(map(scope.integer, op.shape)),
            strides,
            type.shape,
        ),
    )


_DESCRIPTOR_KINDS: Mapping[type[Operation], AccessKind] = {
    DescriptorLoadOp: AccessKind.LOAD,
    DescriptorGatherOp: AccessKind.LOAD,
    DescriptorStoreOp: AccessKind.STORE,
    DescriptorScatterOp: AccessKind.STORE,
    DescriptorReduceOp: AccessKind.ATOMIC,
}


def _through_descriptor(scope: Scope, op: Operation) -> None:
    access = AccessOp(_DESCRIPTOR_KINDS[type(op)], op.operands[0])
    if isinstance(op, DescriptorGatherOp | DescriptorScatterOp):
        values = op.results[0] if op.results else op.operands[-1]
        rows = PointerRows(op.x_offsets, op.y_offset, shape_of(values.type))
        access_rows(scope, op, access, rows)
    else:
        assert isinstance(op, DescriptorLoadOp | DescriptorStoreOp | DescriptorReduceOp)
        access_block(scope, op, access, op.indices)


def access_block(
    scope: Scope, op: Operation, access: AccessOp, indices: Sequence[SSAValue]
) -> None:
    """The block of a descriptor at `indices`; what leaves the tensor is not accessed."""
    descriptor = _descriptor(scope, access.address)
    mask, basis = record_box(
        scope,
        op,
        access,
        descriptor,
        [scope.integer(index) for index in indices],
        element_bytes(access.address.type),
        range(len(descriptor.strides)),
        is_descriptor=True,
    )
    loaded(scope, op, mask, basis)


@dataclass(frozen=True)
class PointerRows:
    """Rows by number, from a column on."""

    row_indices: SSAValue
    column: SSAValue
    shape: tuple[int, ...]


def access_rows(scope: Scope, op: Operation, access: AccessOp, rows: PointerRows) -> None:
    """Gather and scatter: a descriptor of one row, at many rows."""
    descriptor = _descriptor(scope, access.address)
    mask, basis = record_box(
        scope,
        op,
        access,
        descriptor,
        (scope.integer(rows.row_indices), scope.integer(rows.column)),
        element_bytes(access.address.type),
        range(len(descriptor.strides)),
        is_descriptor=True,
        shape=rows.shape,
        moving=(False, True),
    )
    loaded(scope, op, mask, basis)


def _descriptor(scope: Scope, desc: SSAValue) -> Descriptor:
    known = scope.get(desc)
    if isinstance(known, Descriptor):
        return known
    return unknown_descriptor(scope, desc, deps_of(known), basis_of(known))


def unknown_descriptor(scope: Scope, value: SSAValue, mask: int, basis: int) -> Descriptor:
    """A descriptor of which nothing is known but that rows are contiguous, as in every one."""
    assert isinstance(value.type, TensorDescType)
    rank = len(value.type.shape)
    one, zero = scope.space.one, scope.space.zero
    return Descriptor(
        Base("?", None, None, mask),
        Integer(zero, zero, basis=basis),
        _unknown_parts(scope, value, "shape", rank, mask, basis),
        (*_unknown_parts(scope, value, "stride", rank - 1, mask, basis), Integer(one, one)),
        value.type.shape,
    )


def _unknown_block(scope: Scope, value: SSAValue, mask: int, basis: int) -> BlockPointer:
    """A block pointer of which nothing is known but the extents of its block."""
    tensor = block_pointee(value.type)
    assert tensor is not None
    block = shape_of(tensor)
    rank, zero = len(block), scope.space.zero
    return BlockPointer(
        Base("?", None, None, mask),
        Integer(zero, zero, basis=basis),
        _unknown_parts(scope, value, "shape", rank, mask, basis),
        _unknown_parts(scope, value, "stride", rank, mask, basis),
        _unknown_parts(scope, value, "offset", rank, mask, basis),
        block,
        tuple(reversed(range(rank))),
    )


def _unknown_parts(
    scope: Scope, value: SSAValue, attribute: str, count: int, mask: int, basis: int
) -> tuple[Integer, ...]:
    name = scope.opaque_name(value)
    parts = [
        scope.atoms.opaque(f"{name}.{attribute}.{dim}", mask, (), _ADDRESSES)
        for dim in range(count)
    ]
    return tuple(Integer(part, part, basis=basis) for part in parts)


def none(scope: Scope, op: Operation) -> None:
    """No effect on values."""


MEMORY_RULES: Mapping[str, Rule] = {
    "tt.addptr": _add_pointer,
    "tt.ptr_to_int": _pointer_to_integer,
    "tt.int_to_ptr": integer_to_pointer,
    "tt.load": _load,
    "tt.store": _store,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _atomic,
    "tt.atomic_load": _atomic,
    "tt.atomic_store": _atomic,
    "tt.atomic_poll": _atomic,
    "tt.make_tensor_descriptor": _make_descriptor,
    "tt.descriptor_load": _through_descriptor,
    "tt.descriptor_store": _through_descriptor,
    "tt.descriptor_reduce": _through_descriptor,
    "tt.descriptor_gather": _through_descriptor,
    "tt.descriptor_scatter": _through_descriptor,
    "tt.make_tensor_ptr": _make_block_pointer,
    "tt.advance": _advance,
    "tt.assert": none,
    "cf.assert": none,
    "tt.print": none,
    "ttg.barrier": none,
    "gpu.barrier": none,
    "tt.grid_dependency_wait": none,
    "tt.grid_dependency_launch_dependents": none,
}

ACCESS_OPS = frozenset(
    name
    for name, rule in MEMORY_RULES.items()
    if rule in (_load, _store, _atomic, _through_descriptor)
)
"""Ops that are accesses, numbered in textual order."""
