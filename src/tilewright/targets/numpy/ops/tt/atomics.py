"""Atomic accesses: programs run in order, so an atomic is a read and a write that stay together."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tt.atomics import (
    AtomicCASOp,
    AtomicLoadOp,
    AtomicPollOp,
    AtomicRMWOp,
    AtomicStoreOp,
)
from tilewright.dialects.type_utils import rank_of, shape_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.blocks import BlockAccess
from tilewright.targets.numpy.ops.checks import require_defined, tuple_text
from tilewright.targets.numpy.ops.tt.memory import (
    check_access,
    define_loaded,
    new_site,
    pointer_access,
    write_load,
    write_store,
)
from tilewright.targets.numpy.values import NO_RESULT, PROGRAM, Expr, Shadow, Tensor, all_axes


def write_rmw(
    emitter: Emitter,
    op: Operation,
    access: BlockAccess,
    value: SSAValue,
    kind: str,
    result: SSAValue | None,
    semantic: str = "relaxed",
) -> Expr | None:
    """The statement of a read-modify-write; what was stored before, if `result` is used."""
    shape = shape_of(value.type)
    is_used = result is not None and result.first_use is not None
    site = new_site(
        emitter,
        op,
        "atomic_rmw",
        emitter.scalar_type(value),
        shape,
        access.pointer.root,
        result_used=is_used,
        rmw=kind,
        semantic=semantic,
        masked=bool(access.mask),
    )
    require_defined(emitter, emitter.tensor(value), "the operand of an atomic", access.mask)
    function = emitter.local("atomic_rmw", "rt.mem.atomic_rmw")
    count = 2 + len(access.terms)
    terms, masks = tuple_text(1, len(access.terms)), tuple_text(count, len(access.mask))
    text = f"{{0}}({site}, {terms}, {{{count - 1}}}, {masks})"
    exprs = (function, *access.terms, emitter.expr(value), *access.mask)
    if not is_used:
        emitter.effect(text, *exprs)
        return None
    return _effect(emitter, text, exprs, shape)


def _effect(emitter: Emitter, text: str, exprs: tuple[Expr, ...], shape: tuple[int, ...]) -> Expr:
    """The result of an atomic; programs get different ones whatever they gave."""
    axes = PROGRAM | all_axes(shape)
    expr = emitter.here(text, *exprs, axes=axes, rank=len(shape))
    assert expr.line is not None
    expr.line.is_effect = True
    return expr


def _rmw(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicRMWOp)
    access = pointer_access(emitter, op.ptr, op.mask)
    check_access(emitter, access, op.mask, "an atomic")
    expr = write_rmw(emitter, op, access, op.val, op.kind, op.result, op.semantic)
    if expr is not None:
        shadows = tuple(Shadow(term, op.location, NO_RESULT) for term in access.mask)
        emitter.define(op.result, Tensor(expr, shadows=shadows))


def _cas(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicCASOp)
    access = pointer_access(emitter, op.ptr, None)
    check_access(emitter, access, None, "an atomic")
    for operand in (op.cmp, op.val):
        require_defined(emitter, emitter.tensor(operand), "the operand of an atomic", ())
    shape = shape_of(op.val.type)
    type = emitter.scalar_type(op.val)
    root = access.pointer.root
    site = new_site(emitter, op, "atomic_cas", type, shape, root, semantic=op.semantic)
    function = emitter.local("atomic_cas", "rt.mem.atomic_cas")
    count = len(access.terms)
    text = f"{{0}}({site}, {tuple_text(1, count)}, {{{count + 1}}}, {{{count + 2}}})"
    exprs = (function, *access.terms, emitter.expr(op.cmp), emitter.expr(op.val))
    emitter.define(op.result, Tensor(_effect(emitter, text, exprs, shape)))


def _load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicLoadOp)
    access = pointer_access(emitter, op.ptr, op.mask)
    check_access(emitter, access, op.mask, "an atomic load")
    shape, type = shape_of(op.result.type), emitter.scalar_type(op.result)
    root = access.pointer.root
    site = new_site(
        emitter, op, "load", type, shape, root, semantic=op.semantic, masked=bool(access.mask)
    )
    expr = write_load(emitter, site, access, None, len(shape))
    shadows = tuple(Shadow(term, op.location, NO_RESULT) for term in access.mask)
    define_loaded(emitter, op.result, expr, shadows)


def _store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AtomicStoreOp)
    access = pointer_access(emitter, op.ptr, op.mask)
    check_access(emitter, access, op.mask, "an atomic store")
    value = emitter.tensor(op.value)
    require_defined(emitter, value, "a stored value", access.mask)
    shape, type = shape_of(op.value.type), emitter.scalar_type(op.value)
    root = access.pointer.root
    site = new_site(
        emitter, op, "store", type, shape, root, semantic=op.semantic, masked=bool(access.mask)
    )
    write_store(emitter, site, access, value.expr)


def _poll(emitter: Emitter, op: Operation) -> None:
    """No other program writes while a program waits: the awaited value is there, or never comes."""
    assert isinstance(op, AtomicPollOp)
    access = pointer_access(emitter, op.ptr, None)
    check_access(emitter, access, None, "a poll")
    shape, type = shape_of(op.expected.type), emitter.scalar_type(op.expected)
    root = access.pointer.root
    site = new_site(emitter, op, "load", type, shape, root, semantic=op.semantic)
    found = write_load(emitter, site, access, None, rank_of(op.expected.type))
    seen = emitter.pure("{0} == {1}", found, emitter.expr(op.expected), hint="seen")
    if op.timeout is None:
        source_id = emitter.unit.source_id(op.location)
        emitter.effect(f"{{0}}.arrived({source_id}, {{1}})", emitter.runtime, seen)
    shadows = emitter.shadows(op.expected)
    emitter.define(op.result, Tensor(seen, shadows=shadows))


RULES: dict[str, Rule] = {
    "tt.atomic_rmw": _rmw,
    "tt.atomic_cas": _cas,
    "tt.atomic_load": _load,
    "tt.atomic_store": _store,
    "tt.atomic_poll": _poll,
}
