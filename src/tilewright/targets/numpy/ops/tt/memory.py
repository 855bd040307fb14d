"""Loads and stores. Memory does the checking; here addresses and masks are passed as terms."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tt.elementwise import BitcastOp
from tilewright.dialects.tt.enums import PADDING
from tilewright.dialects.tt.memory import LoadOp, StoreOp
from tilewright.dialects.tt.pointers import IntToPtrOp
from tilewright.dialects.type_utils import element_type_of, rank_of, shape_of
from tilewright.targets.numpy.api import AccessKind, Site
from tilewright.targets.numpy.dtypes import ScalarType
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.named_indices import named_indices
from tilewright.targets.numpy.ops.arith.constant import scalar_constant
from tilewright.targets.numpy.ops.blocks import BlockAccess, block_access
from tilewright.targets.numpy.ops.checks import require_defined, tuple_text
from tilewright.targets.numpy.ops.elementwise import to_rank
from tilewright.targets.numpy.values import (
    NO_QUOTIENT,
    EmittedBlock,
    Expr,
    Pointer,
    Shadow,
    Shadows,
    Tensor,
    union,
)

_TRUE = "np.True_"
_POINTER_ARITHMETIC = ("tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims")


def new_site(
    emitter: Emitter,
    op: Operation,
    kind: AccessKind,
    type: ScalarType,
    shape: tuple[int, ...],
    root: int | None,
    *,
    result_used: bool = True,
    rmw: str | None = None,
    semantic: str = "relaxed",
    masked: bool = False,
) -> int:
    """A row in the table of accesses."""
    sites = emitter.unit.sites
    in_loop = emitter.loops > 0 or emitter.is_callee
    sites.append(
        Site(
            len(sites),
            kind,
            op.location,
            op.name,
            type.dtype,
            shape,
            root,
            in_loop,
            result_used,
            rmw,
            semantic,
            masked,
            _cast_location(op.operands[0]),
            () if emitter.is_callee else named_indices(op.operands[0]),
        )
    )
    return len(sites) - 1


def _cast_location(pointer: SSAValue) -> Attribute | None:
    """Where a pointer, or the one that it was computed from, was cast to another type."""
    made = pointer.owner
    while isinstance(made, Operation) and made.operands:
        if isinstance(made, (BitcastOp, IntToPtrOp)):
            return made.location
        if made.name not in _POINTER_ARITHMETIC:
            return None
        made = made.operands[0].owner
    return None


def mask_terms(emitter: Emitter, mask: SSAValue | None) -> tuple[Expr, ...]:
    """The conjuncts of a mask that can be false."""
    if mask is None:
        return ()
    terms = emitter.tensor(mask).mask_terms
    return tuple(term for term in terms if not _is_true(term))


def _is_true(expr: Expr) -> bool:
    return expr.line is not None and expr.line.text == _TRUE


def pointer_access(emitter: Emitter, ptr: SSAValue, mask: SSAValue | None) -> BlockAccess:
    """Where a tensor of pointers points to."""
    pointer = emitter.values[ptr]
    assert isinstance(pointer, Pointer)
    return BlockAccess(pointer.terms, mask_terms(emitter, mask), pointer)


def check_access(emitter: Emitter, access: BlockAccess, mask: SSAValue | None, what: str) -> None:
    """Address and mask must be defined where the access takes place."""
    # Quotients are in most addresses; a wrong one leads out of bounds, which memory reports.
    address, ignored = f"the address of {what}", (NO_QUOTIENT,)
    require_defined(emitter, access.pointer, address, access.mask, ignored)
    if mask is not None:
        require_defined(emitter, emitter.tensor(mask), f"the mask of {what}", (), ignored)


def write_load(
    emitter: Emitter,
    site: int,
    access: BlockAccess,
    other: Expr | None,
    rank: int,
) -> Expr:
    """The statement of a load."""
    load = emitter.local("load", "rt.mem.load")
    if other is not None:
        other = to_rank(emitter, other, rank)  # of a descriptor that differs between programs
    exprs = [load, *access.terms, *access.mask, *([] if other is None else [other])]
    axes = union(*exprs[1:])
    terms = tuple_text(1, len(access.terms))
    masks = tuple_text(1 + len(access.terms), len(access.mask))
    last = "None" if other is None else f"{{{len(exprs) - 1}}}"
    return emitter.here(f"{{0}}({site}, {terms}, {masks}, {last})", *exprs, axes=axes, rank=rank)


def write_store(emitter: Emitter, site: int, access: BlockAccess, value: Expr) -> None:
    """The statement of a store."""
    store = emitter.local("store", "rt.mem.store")
    terms = tuple_text(1, len(access.terms))
    count = 2 + len(access.terms)
    masks = tuple_text(count, len(access.mask))
    emitter.effect(
        f"{{0}}({site}, {terms}, {{{count - 1}}}, {masks})",
        store,
        *access.terms,
        value,
        *access.mask,
    )


def load_shadows(
    emitter: Emitter, op: Operation, mask: Sequence[Expr], other: Tensor | None
) -> Shadows:
    """Lanes that are masked off have the value of `other`, or none."""
    if other is None:
        return tuple(Shadow(term, op.location) for term in mask)
    if not other.shadows:
        return ()
    loaded = emitter.conjunction(mask)
    return tuple(each.on(emitter.pure("{0} | {1}", each.expr, loaded)) for each in other.shadows)


def _load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, LoadOp)
    value = emitter.values[op.ptr]
    if isinstance(value, EmittedBlock):
        _load_block(emitter, op, value)
        return
    access = pointer_access(emitter, op.ptr, op.mask)
    check_access(emitter, access, op.mask, "a load")
    other = None if op.other is None or not access.mask else emitter.tensor(op.other)
    type = emitter.scalar_type(op.result)
    site = new_site(
        emitter,
        op,
        "load",
        type,
        shape_of(op.result.type),
        access.pointer.root,
        masked=op.mask is not None,
    )
    fill = None if other is None else other.expr
    expr = write_load(emitter, site, access, fill, rank_of(op.result.type))
    shadows = load_shadows(emitter, op, access.mask, other)
    define_loaded(emitter, op.result, expr, shadows)


def define_loaded(emitter: Emitter, result: SSAValue, expr: Expr, shadows: Shadows) -> None:
    """Define the result of a load: a scalar, or an address."""
    if emitter.scalar_type(result).kind == "p":
        emitter.define(result, Pointer((expr,), None, shadows))
    else:
        emitter.define(result, Tensor(expr, shadows=shadows))


def _load_block(emitter: Emitter, op: LoadOp, block: EmittedBlock) -> None:
    checked = tuple(op.boundary_check.get_values())
    type = emitter.scalar_type(op.result)
    access = block_access(emitter, block, block.offsets, checked, type.dtype.itemsize)
    padding = None if op.padding is None else PADDING.keyword(op.padding)
    shape = shape_of(op.result.type)
    root = access.pointer.root
    site = new_site(emitter, op, "load", type, shape, root, masked=bool(checked))
    fill = None
    if padding is not None and access.mask:
        element = element_type_of(op.result.type)
        fill = scalar_constant(emitter, float("nan") if padding == "nan" else 0, type, element)
    expr = write_load(emitter, site, access, fill, len(shape))
    undefined = access.mask if fill is None else ()
    shadows = tuple(Shadow(term, op.location) for term in undefined)
    emitter.define(op.result, Tensor(expr, shadows=shadows))


def _store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    value = emitter.values[op.ptr]
    if isinstance(value, EmittedBlock):
        checked = tuple(op.boundary_check.get_values())
        itemsize = emitter.scalar_type(op.value).dtype.itemsize
        access = block_access(emitter, value, value.offsets, checked, itemsize)
    else:
        access = pointer_access(emitter, op.ptr, op.mask)
    check_access(emitter, access, op.mask, "a store")
    stored = emitter.values[op.value]
    require_defined(emitter, stored, "a stored value", access.mask)
    site = new_site(
        emitter,
        op,
        "store",
        emitter.scalar_type(op.value),
        shape_of(op.value.type),
        access.pointer.root,
        masked=bool(access.mask),
    )
    expr = emitter.total(stored.terms) if isinstance(stored, Pointer) else emitter.expr(op.value)
    write_store(emitter, site, access, expr)


RULES: dict[str, Rule] = {"tt.load": _load, "tt.store": _store}
