"""Static analysis of the accesses of a `tile.parallel`.

Two questions are decided here, so that the common loops cost nothing at run time:

- Can iterations conflict? Not if every access to a buffer that is written uses the same indices,
  and these are distinct for distinct iterations: each loop variable is, up to a constant factor
  and offset, one of them. Other buffers are *watched* while the loop runs.
- Which buffers of a thread (`local`, `var`) does an iteration write? Each iteration gets its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.dialects.tile.access import LooksThrough
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.loops import ParallelOp
from tilewright.dialects.tile.types import space_of
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import ancestors, walk
from tilewright.targets.numpy.ops.arith.integer import DIVISIONS

_DEPTH = 24


@dataclass(frozen=True)
class ElementAccess:
    """An element access in a parallel loop."""

    op: Operation
    base: SSAValue
    indices: tuple[SSAValue, ...]
    writes: bool


@dataclass(frozen=True)
class ParallelProperties:
    """What is known about one loop."""

    watched: frozenset[SSAValue]
    """Buffers whose accesses are looked at while the loop runs."""
    private: tuple[SSAValue, ...]
    """Buffers of the threads, from outside, that iterations write."""


def base_of(value: SSAValue) -> SSAValue:
    """The allocation or argument that views and regions are based on."""
    while isinstance(value.owner, LooksThrough):
        value = value.owner.viewed()
    return value


def properties_of(op: ParallelOp) -> ParallelProperties:
    """The static properties of a loop."""
    block = op.body.block
    accesses = [found for each in walk(op) if (found := access_of(each)) is not None]
    inside = {result for each in walk(op) for result in each.results}
    by_base: dict[SSAValue, list[ElementAccess]] = {}
    for access in accesses:
        by_base.setdefault(access.base, []).append(access)
    variables = [
        argument for argument, extent in zip(block.args, op.extents, strict=True) if extent != 1
    ]
    watched: list[SSAValue] = []
    private: list[SSAValue] = []
    for base, group in by_base.items():
        if not any(access.writes for access in group) or is_reducer(base):
            continue
        space = space_of(base.type)
        if space is not None and space.is_per_thread:
            if base not in inside:
                private.append(base)
        elif not _keeps_apart(group, variables, block):
            watched.append(base)
    return ParallelProperties(frozenset(watched), tuple(private))


def access_of(op: Operation) -> ElementAccess | None:
    """The element access of an op, if it is one."""
    if op.name == "memref.load":
        return ElementAccess(op, base_of(op.operands[0]), tuple(op.operands[1:]), False)
    if op.name == "memref.store":
        return ElementAccess(op, base_of(op.operands[1]), tuple(op.operands[2:]), True)
    return None


def divided_buffers(function: Operation) -> dict[SSAValue, Operation]:
    """Buffers to which results of divisions by values are written, with the first such division."""
    found: dict[SSAValue, Operation] = {}
    for op in walk(function):
        if op.name in DIVISIONS and constant_value(op.operands[1]) is None:
            for base in _reached(op.results[0]):
                found.setdefault(base, op)
    return found


def _reached(value: SSAValue) -> Iterator[SSAValue]:
    """The buffers to which what is computed from a value is stored."""
    pending, done = [value], set[SSAValue]()
    while pending:
        current = pending.pop()
        if current in done:
            continue
        done.add(current)
        for use in current.uses:
            op = use.operation
            if op.name == "memref.store" and use.index == 0:
                yield base_of(op.operands[1])
            elif op.name == "scf.yield":
                parent = op.parent_op()
                assert parent is not None
                pending.extend(parent.results)
                pending.extend(parent.regions[0].block.args[1:] if parent.name == "scf.for" else ())
            elif op.name.startswith(("arith.", "math.")):
                pending.extend(op.results)


def varying_axes(op: Operation) -> tuple[bool, ...] | None:
    """For each index of the parallel loops around a store, whether the stored value depends on it.

    None if that is not known: the value comes from memory that the loops themselves write.
    """
    loops = [each for each in ancestors(op) if isinstance(each, ParallelOp)]
    outermost = loops[-1]
    written = {base_of(each.operands[1]) for each in walk(outermost) if each.name == "memref.store"}
    reached: set[SSAValue] = set()
    pending = [op.operands[0]]
    for each in ancestors(op):
        if each is outermost:
            break
        pending.extend(each.operands if each.name in ("scf.if", "scf.for") else ())
    while pending:
        value = pending.pop()
        if value in reached:
            continue
        reached.add(value)
        owner = value.owner
        if isinstance(owner, Block):
            parent = owner.parent_op()
            if isinstance(parent, ParallelOp) or parent is None or parent is outermost:
                continue
            owner = parent
        if not outermost.is_ancestor(owner):
            continue
        if owner.name == "memref.load" and base_of(owner.operands[0]) in written:
            return None
        if owner.name == "tile.atomic":
            return None
        pending.extend(operand for each in walk(owner) for operand in each.operands)
    arguments = [each for loop in reversed(loops) for each in loop.body.block.args]
    return tuple(each in reached for each in arguments)


def is_reducer(base: SSAValue) -> bool:
    return isinstance(base.owner, Operation) and base.owner.name == "tile.reducer.alloc"


def _keeps_apart(
    group: Sequence[ElementAccess], variables: Sequence[BlockArgument], body: Block
) -> bool:
    """Whether all accesses use the same indices, which differ between iterations."""
    first = group[0]
    if any(not _same_memory(first.op, access.op) for access in group[1:]):
        return False
    key = tuple(_key(index, _DEPTH) for index in first.indices)
    for access in group[1:]:
        if tuple(_key(index, _DEPTH) for index in access.indices) != key:
            return False
    left = dict.fromkeys(variables)
    for index in first.indices:
        variable = _single(index, variables, body)
        if variable is not None:
            left.pop(variable, None)
    return not left


def _same_memory(one: Operation, other: Operation) -> bool:
    """Whether two accesses go through the same name of a buffer."""
    one_buffer = one.operands[1 if one.name == "memref.store" else 0]
    other_buffer = other.operands[1 if other.name == "memref.store" else 0]
    return one_buffer is other_buffer


def _key(value: SSAValue, depth: int) -> object:
    """Equal for values that are computed in the same way from the same."""
    constant = constant_value(value)
    if isinstance(constant, IntegerAttr):
        return "constant", constant.value.data
    owner = value.owner
    if (
        depth == 0
        or not isinstance(owner, Operation)
        or not owner.name.startswith("arith.")
        or owner.regions
    ):
        return id(value)
    operands = tuple(_key(operand, depth - 1) for operand in owner.operands)
    return owner.name, str(owner.properties), operands


def _single(
    index: SSAValue, variables: Sequence[BlockArgument], body: Block
) -> BlockArgument | None:
    """The loop variable that an index is, up to a factor and an offset."""
    if isinstance(index, BlockArgument):
        return index if index in variables else None
    owner = index.owner
    assert isinstance(owner, Operation)
    if owner.name == "arith.index_cast":
        return _single(owner.operands[0], variables, body)
    if owner.name in ("arith.addi", "arith.subi"):
        ways = [_single(operand, variables, body) for operand in owner.operands]
        fixed = [_is_fixed(operand, variables, body, _DEPTH) for operand in owner.operands]
        if ways[0] is not None and fixed[1]:
            return ways[0]
        return ways[1] if fixed[0] else None
    if owner.name == "arith.muli":
        for one, other in (owner.operands, tuple(reversed(owner.operands))):
            constant = constant_value(other)
            if isinstance(constant, IntegerAttr) and constant.value.data != 0:
                return _single(one, variables, body)
    return None


def _is_fixed(value: SSAValue, variables: Sequence[BlockArgument], body: Block, depth: int) -> bool:
    """Whether a value is the same in all iterations, as far as can be seen."""
    if isinstance(value, BlockArgument):
        return value not in variables and (value.owner is body or not _is_below(value.owner, body))
    owner = value.owner
    if not isinstance(owner, Operation) or depth == 0:
        return False
    if owner.parent is None or not _is_below(owner.parent, body):
        return True
    if not owner.name.startswith("arith."):
        return False
    return all(_is_fixed(operand, variables, body, depth - 1) for operand in owner.operands)


def _is_below(block: Block, ancestor: Block) -> bool:
    current: Block | None = block
    while current is not None:
        if current is ancestor:
            return True
        current = current.parent_block()
    return False


PER_THREAD = (Space.LOCAL, Space.VAR)
