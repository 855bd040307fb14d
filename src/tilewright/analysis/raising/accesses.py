"""How each access of a kernel finds its memory.

The base must be a pointer argument. The offset is a polynomial of the lanes where code can compute
it (``is_materialisable``), else the sum as the kernel writes it, provided that no loop carries the
pointer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tilewright.analysis.affine import Poly
from tilewright.analysis.pid_address.control.blocks import DIVISIBILITY
from tilewright.analysis.pid_address.scope import Site
from tilewright.analysis.raising.addresses import (
    Addresses,
    is_available,
    is_computable,
    is_materialisable,
)
from tilewright.analysis.raising.boxes import Boxes
from tilewright.analysis.raising.plan import Access, Rows
from tilewright.analysis.raising.refusals import (
    ADDRESS,
    CARRIED_POINTER,
    MASK,
    POINTER_FROM_DATA,
    Refusals,
)
from tilewright.analysis.raising.values import is_volatile
from tilewright.analysis.raising.views import View, is_address, memory_of
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.tt import (
    AtomicCASOp,
    AtomicLoadOp,
    AtomicRMWOp,
    AtomicStoreOp,
    DescriptorGatherOp,
    DescriptorScatterOp,
    FuncOp,
    IntToPtrOp,
    LoadOp,
    MakeTensorDescOp,
    PtrType,
    TensorDescType,
)
from tilewright.dialects.tt.enums import PADDING, RMW_OP
from tilewright.dialects.type_utils import bit_width, element_type_of

DESCRIPTOR_BYTES = 16
"""What divides the address of a descriptor, and its strides in bytes."""
_STRUCTURAL = ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.bitcast")


def plan_accesses(
    addresses: Addresses, refusals: Refusals
) -> tuple[dict[Operation, Access], tuple[View, ...]]:
    """How each access finds its memory, and the tensors that they mean."""
    found: dict[Operation, Access] = {}
    boxes = Boxes(addresses)
    for op, site in addresses.sites.items():
        access = _plan(addresses, op, site, refusals)
        if access is not None:
            box = boxes.plan(op, access)
            if box is None and is_address(access.base) and not _counts_up(addresses, op, access):
                _refuse_elements(op, refusals)
                continue
            access = access if box is None else replace(access, box=box)
            if _has_mask(addresses, op, access, refusals):
                found[op] = access
    return found, tuple(boxes.views)


def _plan(addresses: Addresses, op: Operation, site: Site, refusals: Refusals) -> Access | None:
    base = addresses.arguments.get(site.base.name) or _address_of(addresses, op, site)
    if base is None:
        _refuse_base(op, site, refusals)
        return None
    element = _element_type(op)
    if _moves_bits(op):
        element = IntegerType(bit_width(element))
    if isinstance(op, DescriptorGatherOp | DescriptorScatterOp):
        return _plan_rows(addresses, op, site, base, element, refusals)
    lanes = frozenset(range(len(site.shape)))
    offset = _in_elements(site.offset.expr, site.elem_bytes)
    address: Poly | None = None
    if offset is not None:
        offset = addresses.over_coordinates(offset, op)
        if is_materialisable(addresses, offset, op, lanes):
            address = offset
    if address is None and not _is_chain(op.operands[0]):
        _refuse_address(op, refusals)
        return None
    mask = None if site.box is None else site.mask
    divisor = DESCRIPTOR_BYTES if site.box is not None else stated_divisor(base)
    return Access(base, element, address, mask, _fills_nan(op), divisor)


def _address_of(addresses: Addresses, op: Operation, site: Site) -> SSAValue | None:
    """The integer that is the address of the memory of an access, if it is one value."""
    address = site.base.address
    atom = None if address is None else next(iter(address.atoms()), None)
    if address is None or atom is None or address != address.space.of_atom(atom) * atom.divisor:
        return None
    value = addresses.value_of(atom)
    if value is None or not is_address(value) or not is_available(value, op):
        return None
    return value


def stated_divisor(base: SSAValue) -> int | None:
    """What a hint states to divide an address that is an integer, in bytes."""
    for use in base.uses:
        stated = integers_in(use.operation.attributes.get(DIVISIBILITY))
        if isinstance(use.operation, IntToPtrOp) and stated:
            return stated[0]
    return None


def _plan_rows(
    addresses: Addresses,
    op: Operation,
    site: Site,
    base: SSAValue,
    element: Attribute,
    refusals: Refusals,
) -> Access | None:
    """Rows of a descriptor, chosen by a tensor of indices."""
    box = site.box
    offset = None if box is None else _in_elements(box.offset, site.elem_bytes)
    if box is None or offset is None or len(box.shape) != 2:
        _refuse_address(op, refusals)
        return None
    known = (offset, *box.shape, *box.strides)
    if not all(is_materialisable(addresses, each, op) for each in known):
        _refuse_address(op, refusals)
        return None
    (height, width), (row, column) = box.shape, box.strides
    rows = Rows(offset, (height, width), (row, column))
    return Access(base, element, None, None, _fills_nan(op), rows=rows)


def _has_mask(addresses: Addresses, op: Operation, access: Access, refusals: Refusals) -> bool:
    """Whether code can compute the bounds of a block where the extents of a view are not enough."""
    if access.mask is None or (access.box is not None and not access.fills_nan):
        return True
    lanes = frozenset(range(len(addresses.sites[op].shape)))
    if access.address is not None and is_computable(addresses, access.mask, op, lanes):
        return True
    refusals.add(
        MASK,
        op,
        "the bounds of the block cannot be computed from scalars",
        "compute shape and offsets from arguments and program ids",
    )
    return False


def _counts_up(addresses: Addresses, op: Operation, access: Access) -> bool:
    """Whether no element before an address is accessed: memory there has only a beginning."""
    site = addresses.sites[op]
    return access.address is not None and site.scope.ctx.is_nonneg(site.offset.expr)


def _refuse_elements(op: Operation, refusals: Refusals) -> None:
    refusals.add(
        POINTER_FROM_DATA,
        op,
        "elements before an address that is an integer may be accessed (tt.int_to_ptr)",
        "pass the array as an argument of the kernel",
    )


def _in_elements(offset: Poly, size: int) -> Poly | None:
    try:
        return offset.exact_quotient(size)
    except ValueError:
        return None


def _element_type(op: Operation) -> Attribute:
    pointer = op.operands[0].type
    if isinstance(pointer, TensorDescType):
        return signless(pointer.element_type)
    element = element_type_of(pointer)
    assert isinstance(element, PtrType)
    return element_type_of(element.get_pointee())


def _moves_bits(op: Operation) -> bool:
    """Whether an atomic access does not compute: it is one of integers, whatever the type."""
    if isinstance(op, AtomicRMWOp):
        return RMW_OP.keyword(op.atomic_rmw_op) == "exch"
    return isinstance(op, AtomicCASOp | AtomicLoadOp | AtomicStoreOp) or is_volatile(op)


def signless(type: Attribute) -> Attribute:
    """The type of elements in memory; ops have signed and unsigned forms."""
    return IntegerType(type.width) if isinstance(type, IntegerType) else type


def _is_chain(pointer: SSAValue) -> bool:
    """Whether the pointer comes from an argument, or an address, without loops and choices."""
    while not isinstance(pointer, BlockArgument):
        op = pointer.owner
        assert isinstance(op, Operation)
        if isinstance(op, IntToPtrOp):
            return True
        if op.name not in _STRUCTURAL:
            return False
        pointer = op.operands[0]
    return isinstance(pointer.block.parent_op(), FuncOp)


def _fills_nan(op: Operation) -> bool:
    if isinstance(op, LoadOp) and op.padding is not None:
        return PADDING.keyword(op.padding) == "nan"
    source = op.operands[0].owner
    if isinstance(source, MakeTensorDescOp):
        return PADDING.keyword(source.padding) == "nan"
    return False


def _refuse_base(op: Operation, site: Site, refusals: Refusals) -> None:
    root = _root(op.operands[0])
    if isinstance(root, IntToPtrOp) or site.base.name.startswith("*"):
        refusals.add(
            POINTER_FROM_DATA,
            op,
            "the address is a pointer read from memory, or computed from several integers",
            "store addresses as int64, and cast one to a pointer; or pass the array as an argument",
        )
        return
    refusals.add(
        ADDRESS,
        op,
        "the pointer that the address derives from is not known",
        "let every access use one pointer argument; choose between values, not pointers",
    )


def _root(pointer: SSAValue) -> Operation | None:
    """The op that a pointer starts from."""
    while not isinstance(pointer, BlockArgument):
        op = pointer.owner
        assert isinstance(op, Operation)
        if op.name not in _STRUCTURAL:
            return op
        pointer = op.operands[0]
    return None


def _refuse_address(op: Operation, refusals: Refusals) -> None:
    refusals.add(
        CARRIED_POINTER,
        op,
        "the loop advances the pointer by an amount that has no closed form",
        "compute the address from the loop counter instead of advancing a pointer",
    )


def bases_of(accesses: Mapping[Operation, Access]) -> dict[Operation, str]:
    """The memory of each access, by name."""
    return {op: memory_of(access.base) for op, access in accesses.items()}
