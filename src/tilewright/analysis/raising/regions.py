"""Which accesses copy whole boxes: ``tile.copy`` between a region of a view and a buffer."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.analysis.raising.constants import is_uniform
from tilewright.analysis.raising.kinds import Gemm, is_elementwise
from tilewright.analysis.raising.plan import Access
from tilewright.analysis.raising.values import ValueClass, Values, is_volatile
from tilewright.dialects.arith import ExtfOp, TruncfOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tt import (
    DescriptorStoreOp,
    LoadOp,
    ReduceOp,
    ScanOp,
    StoreOp,
    TransOp,
)
from tilewright.dialects.type_utils import element_type_of, rank_of, shape_of


def is_region_load(op: Operation, access: Access) -> bool:
    """Whether a load is the copy of a box that has one value outside; volatile ones are not, each
    of their elements is read atomically."""
    if access.box is None or is_volatile(op):
        return False
    if isinstance(op, LoadOp) and op.other is not None and not is_uniform(op.other):
        return False
    return access.box.order(shape_of(op.results[0].type)) is not None


def stored_value(op: Operation) -> SSAValue:
    """The tensor that a store writes, before a conversion that a copy does as well."""
    assert isinstance(op, StoreOp | DescriptorStoreOp)
    value = op.value if isinstance(op, StoreOp) else op.src
    owner = value.owner
    if isinstance(owner, TruncfOp | ExtfOp) and str(element_type_of(owner.operands[0].type)) in (
        "f32",
        "f16",
        "bf16",
    ):
        return owner.operands[0]
    return value


def is_region_store(op: Operation, access: Access) -> bool:
    """Whether a store is the copy of a buffer to a box, its lanes in order."""
    if access.box is None or not isinstance(op, StoreOp | DescriptorStoreOp):
        return False
    shape = shape_of(stored_value(op).type)
    order = access.box.order(shape)
    return order is not None and list(order) == sorted(order)


def plan_copies(accesses: Mapping[Operation, Access], values: Values) -> frozenset[Operation]:
    """Loads into buffers that tile ops use, and stores of buffers that tile ops have filled."""
    found: set[Operation] = set()
    for op, access in accesses.items():
        if op.results:
            result = op.results[0]
            is_used = values.classes.get(result) is ValueClass.SHARED or (
                values.is_buffer(result) and _feeds_tiles(result)
            )
            order = None if access.box is None else access.box.order(shape_of(result.type))
            if is_used and is_region_load(op, access) and order is not None:
                is_shared = values.classes[result] is ValueClass.SHARED
                if is_shared or list(order) == sorted(order):
                    found.add(op)
        elif is_region_store(op, access) and values.is_buffer(stored_value(op)):
            found.add(op)
    return frozenset(found)


def _feeds_tiles(value: SSAValue) -> bool:
    return any(isinstance(use.operation, ReduceOp | ScanOp | Gemm) for use in value.uses)


_MAX_SEARCH = 64


def stored_tiles(accesses: Mapping[Operation, Access]) -> frozenset[SSAValue]:
    """Tensors computed from GEMMs that are stored to a box: they stay whole, for one copy."""
    return frozenset(
        stored_value(op)
        for op, access in accesses.items()
        if is_region_store(op, access) and is_from_gemm(stored_value(op))
    )


_REARRANGE = frozenset(f"tt.{name}" for name in ("reshape", "split", "join", "cat"))


def _is_part_of_tile(op: Operation) -> bool:
    """Whether the elements of a result are those of a tile: kernels that store a tile in parts take
    it apart so."""
    return op.name in _REARRANGE or (isinstance(op, TransOp) and rank_of(op.result.type) > 2)


def is_from_gemm(value: SSAValue) -> bool:
    """Whether a tensor is computed from the result of a GEMM."""
    work, seen = [value], set[SSAValue]()
    while work and len(seen) < _MAX_SEARCH:
        current = work.pop()
        owner = current.owner
        if current in seen or not isinstance(owner, Operation):
            continue
        seen.add(current)
        if isinstance(owner, Gemm):
            return True
        if is_elementwise(owner) or _is_part_of_tile(owner):
            work += owner.operands
        elif isinstance(owner, ForOp):
            end = owner.body.block.last_op
            assert end is not None and isinstance(current, OpResult)
            work.append(end.operands[current.index])
    return False
