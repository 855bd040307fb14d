"""Accesses through tensor descriptors: elements out of bounds are filled in or left unchanged."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tt.descriptors import (
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    MakeTensorDescOp,
)
from tilewright.dialects.tt.enums import DESCRIPTOR_REDUCE_KIND, PADDING
from tilewright.dialects.tt.types import TensorDescType
from tilewright.dialects.type_utils import shape_of
from tilewright.targets.numpy.dtypes import scalar_type
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.arith.constant import scalar_constant
from tilewright.targets.numpy.ops.arith.integer import merged
from tilewright.targets.numpy.ops.blocks import (
    BlockAccess,
    block_access,
    in_64_bits,
    lanes,
    within,
)
from tilewright.targets.numpy.ops.checks import require_defined, tuple_text
from tilewright.targets.numpy.ops.elementwise import to_rank
from tilewright.targets.numpy.ops.tt.atomics import write_rmw
from tilewright.targets.numpy.ops.tt.memory import new_site, write_load, write_store
from tilewright.targets.numpy.ops.tt.shape import expanded, moved, reshaped
from tilewright.targets.numpy.values import EmittedBlock, Expr, Pointer, Tensor

_SIGNED = {"min": "min", "max": "max"}
_UNSIGNED = {"min": "umin", "max": "umax"}


def _make(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MakeTensorDescOp)
    if op.desc_ptr is not None:
        raise emitter.unsupported("descriptors in program memory are not supported on target numpy")
    emitter.define(op.result, new_descriptor(emitter, op))


def new_descriptor(emitter: Emitter, op: MakeTensorDescOp) -> EmittedBlock:
    """What a program's descriptor describes, checked when it is made."""
    base = emitter.values[op.base]
    descriptor = op.result.type
    assert isinstance(base, Pointer) and isinstance(descriptor, TensorDescType)
    element = descriptor.signless_element_type
    type = scalar_type(element)
    assert type is not None
    nan = PADDING.keyword(op.padding) == "nan"
    strides = tuple(emitter.expr(stride) for stride in op.strides)
    address = emitter.total(base.terms)
    rows = tuple_text(2, len(strides) - 1)
    source_id, size = emitter.unit.source_id(op.location), type.dtype.itemsize
    text = f"{{0}}.describe({source_id}, {{1}}, {rows}, {size})"
    emitter.effect(text, emitter.runtime, address, *strides[:-1])
    return EmittedBlock(
        base,
        tuple(emitter.expr(extent) for extent in op.shape),
        strides,
        (),
        descriptor.shape,
        scalar_constant(emitter, float("nan") if nan else 0, type, element),
    )


def described(emitter: Emitter, desc: SSAValue) -> EmittedBlock:
    """The block that a descriptor stands for."""
    found = emitter.values[desc]
    assert isinstance(found, EmittedBlock)
    return found


def access_at(
    emitter: Emitter,
    op: Operation,
    desc: SSAValue,
    indices: Sequence[SSAValue],
    itemsize: int,
    *,
    is_store: bool = False,
    is_checked: bool = True,
) -> BlockAccess:
    """The addresses of the block at `indices`; if checked, TMA must be able to access them."""
    block = described(emitter, desc)
    for index in indices:
        require_defined(emitter, emitter.tensor(index), "an index of a descriptor access", ())
    offsets = [emitter.expr(index) for index in indices]
    if is_checked:
        source_id = emitter.unit.source_id(op.location)
        text = f"{{0}}.box({source_id}, {{1}}, {{2}}, {block.extents[-1]}, {itemsize}, {is_store})"
        start = in_64_bits(emitter, offsets[-1])
        emitter.effect(text, emitter.runtime, start, in_64_bits(emitter, block.shape[-1]))
    return block_access(emitter, block, offsets, range(len(block.extents)), itemsize)


def _load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, DescriptorLoadOp)
    type = emitter.scalar_type(op.result)
    block = described(emitter, op.desc)
    access = access_at(emitter, op, op.desc, op.indices, type.dtype.itemsize)
    root = access.pointer.root
    site = new_site(emitter, op, "load", type, block.extents, root, masked=True)
    expr = write_load(emitter, site, access, block.fill, len(block.extents))
    expr = reshaped(emitter, expr, block.extents, shape_of(op.result.type))
    emitter.define(op.result, Tensor(expr))


def _in_block_shape(emitter: Emitter, value: SSAValue, block: EmittedBlock) -> Tensor:
    """A tensor in the shape of a block, which may have more axes."""
    shape = shape_of(value.type)
    found = moved(
        emitter,
        emitter.tensor(value),
        lambda expr: reshaped(emitter, expr, shape, block.extents),
    )
    assert isinstance(found, Tensor)
    return found


def _store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, DescriptorStoreOp)
    type = emitter.scalar_type(op.src)
    block = described(emitter, op.desc)
    size = type.dtype.itemsize
    access = access_at(emitter, op, op.desc, op.indices, size, is_store=True)
    value = _in_block_shape(emitter, op.src, block)
    require_defined(emitter, value, "a stored value", access.mask)
    root = access.pointer.root
    site = new_site(emitter, op, "store", type, block.extents, root, masked=True)
    write_store(emitter, site, access, value.expr)


def _reduce(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, DescriptorReduceOp)
    kind_name = DESCRIPTOR_REDUCE_KIND.keyword(op.kind)
    if kind_name in ("inc", "dec"):
        raise emitter.unsupported(
            f"descriptor reduction '{kind_name}' is not supported on target numpy"
        )
    type = emitter.scalar_type(op.src)
    block = described(emitter, op.desc)
    if shape_of(op.src.type) != block.extents:
        raise emitter.unsupported("a descriptor reduction must have the rank of its block")
    access = access_at(emitter, op, op.desc, op.indices, type.dtype.itemsize)
    assert isinstance(op.desc.type, TensorDescType)
    kind = rmw_kind(kind_name, op.desc.type.element_type)
    write_rmw(emitter, op, access, op.src, kind, None)


def rmw_kind(kind_name: str, element: Attribute) -> str:
    """The read-modify-write of a reduction; `kind_name` is the descriptor op's."""
    if not isinstance(element, IntegerType):
        return "fadd" if kind_name == "add" else kind_name
    is_unsigned = element.signedness.data is Signedness.UNSIGNED
    return (_UNSIGNED if is_unsigned else _SIGNED).get(kind_name, kind_name)


# Rows.


def row_access(
    emitter: Emitter, desc: SSAValue, rows: SSAValue, column: SSAValue, itemsize: int
) -> BlockAccess:
    """The addresses of rows given by index, from a column on."""
    block = described(emitter, desc)
    for index in (rows, column):
        require_defined(emitter, emitter.tensor(index), "an index of a descriptor access", ())
    row = expanded(emitter, in_64_bits(emitter, emitter.expr(rows)), 1, 2)
    start = in_64_bits(emitter, emitter.expr(column))
    lane = lanes(emitter, block.extents[1], 1, 2)
    steps = [
        to_rank(emitter, emitter.pure(f"{{0}} * {itemsize}", in_64_bits(emitter, stride)), 2)
        for stride in block.strides
    ]
    terms = [to_rank(emitter, term, 2) for term in block.base.terms]
    terms.append(emitter.pure("{0} * {1}", row, steps[0]))
    terms.append(emitter.pure("{0} * {1}", to_rank(emitter, start, 2), steps[1]))
    terms.append(emitter.pure("{0} * {1}", lane, steps[1]))
    nothing = emitter.constant("i64(0)", "i64_0")
    mask = (
        within(emitter, nothing, row, block.shape[0], 2),
        within(emitter, start, lane, block.shape[1], 2),
    )
    return BlockAccess(merged(emitter, tuple(terms)), mask, block.base)


def _gather(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, DescriptorGatherOp)
    type = emitter.scalar_type(op.result)
    access = row_access(emitter, op.desc, op.x_offsets, op.y_offset, type.dtype.itemsize)
    shape = shape_of(op.result.type)
    root = access.pointer.root
    site = new_site(emitter, op, "load", type, shape, root, masked=True)
    fill: Expr = described(emitter, op.desc).fill
    emitter.define(op.result, Tensor(write_load(emitter, site, access, fill, 2)))


def _scatter(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, DescriptorScatterOp)
    type = emitter.scalar_type(op.src)
    access = row_access(emitter, op.desc, op.x_offsets, op.y_offset, type.dtype.itemsize)
    value = emitter.tensor(op.src)
    require_defined(emitter, value, "a stored value", access.mask)
    root = access.pointer.root
    site = new_site(emitter, op, "store", type, shape_of(op.src.type), root, masked=True)
    write_store(emitter, site, access, value.expr)


RULES: dict[str, Rule] = {
    "tt.make_tensor_descriptor": _make,
    "tt.descriptor_load": _load,
    "tt.descriptor_store": _store,
    "tt.descriptor_reduce": _reduce,
    "tt.descriptor_gather": _gather,
    "tt.descriptor_scatter": _scatter,
}
