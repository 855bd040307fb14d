"""A kernel as one function without calls and without jumps.

    returns in branches     a tree of blocks that each end in a return becomes nested ``scf.if``
    calls                   replaced by the body of the function
    tests of pointers       whether an argument is null is known
    scaled operands         the bytes themselves: ``tt.dot_scaled`` has their format
    sums of GEMMs           begin with what is added to them
    vectors                 are loaded before the first GEMM of an iteration
    last GEMMs of a loop    after all else of an iteration, so that they overlap with the next one
    canonicalize, cse, dce  what is left is what is raised

Joins and cycles of blocks, recursion and calls of unknown functions stay as they are; the ops table
refuses them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.raising.kinds import SchedulableGemm, is_elementwise
from tilewright.dialects.cf import BranchOp, CondBranchOp
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.tt import (
    BitcastOp,
    CallOp,
    DotScaledOp,
    FuncOp,
    ReshapeOp,
    ReturnOp,
    TransOp,
)
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.hints import name_hint_of
from tilewright.ir.interfaces import branch_edges
from tilewright.ir.rewrite import Rewriter, inherit_location
from tilewright.ir.text.locations import find_name
from tilewright.ir.traversal import walk
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.cleanup.cse import eliminate_common_subexpressions
from tilewright.passes.cleanup.dce import eliminate_dead_code
from tilewright.passes.raising.accumulate import accumulate_in_gemms
from tilewright.passes.raising.early_loads import load_vectors_early
from tilewright.passes.raising.null_tests import fold_null_tests
from tilewright.passes.raising.prepare_tasks import prepare_tasks

BYTE = 8
_MAX_NESTING = 64
"""Calls inside calls; more is taken for recursion."""


def prepare(module: ModuleOp) -> frozenset[int]:
    """Rewrite the functions of `module` to the form that is raised, in place; the positions of the
    pointers that must not be null."""
    name_results(module)
    for function in _functions(module):
        structure_returns(function)
    inline_calls(module)
    not_null = fold_null_tests(module)
    prepare_tasks(module)
    rewriter = Rewriter()
    canonicalize(module)
    eliminate_common_subexpressions(module, rewriter)
    accumulate_in_gemms(module)
    read_scaled_bytes(module)
    drop_reshapes(module)
    eliminate_dead_code(module, rewriter)
    load_vectors_early(module)
    sink_gemms(module)
    return not_null


def _functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, FuncOp)]


def name_results(module: ModuleOp) -> None:
    """Name results after the user's variables, whose names a traced module has in locations."""
    for op in walk(module):
        if not op.results or op.results[0].name_hint is not None:
            continue
        name = name_hint_of(find_name(op.location))
        if name is not None:
            for each in op.results:
                each.name_hint = name


# Returns in branches.


def structure_returns(function: FuncOp) -> None:
    """Turn a tree of blocks that each end in a return into one block with nested ``scf.if``."""
    blocks = list(function.body.blocks)
    if len(blocks) < 2 or not _is_tree(blocks):
        return
    types = function.function_type.outputs.data
    entry = blocks[0]
    end = entry.last_op
    assert end is not None
    results = _flatten(end, list(types))
    final = ReturnOp(*results)
    inherit_location(final, end.location)
    end.detach()
    entry.add_op(final)
    end.erase()
    for block in blocks[1:]:
        function.body.detach_block(block)
        block.erase()


def _is_tree(blocks: list[Block]) -> bool:
    """Whether every block but the first is reached by one jump, and every path ends in a return."""
    reached: list[Block] = []
    for block in blocks:
        last = block.last_op
        if not isinstance(last, ReturnOp | BranchOp | CondBranchOp):
            return False
        reached += last.successors
    return len(reached) == len(set(reached)) == len(blocks) - 1 and blocks[0] not in reached


def _flatten(end: Operation, types: list[object]) -> list[SSAValue]:
    """Put what follows a terminator before it; what the function returns there."""
    if isinstance(end, ReturnOp):
        return list(end.operands)
    target = end.parent
    assert target is not None
    for edge in branch_edges(end):
        for source, into in zip(edge.operands, edge.inputs, strict=True):
            into.replace_all_uses_with(source)
    if isinstance(end, BranchOp):
        return _move(end.successors[0], target, end, types)
    regions: list[Region] = []
    for successor in end.successors:
        inner = Block()
        last = YieldOp()
        inner.add_op(last)
        yielded = _move(successor, inner, last, types)
        last.operands = yielded
        inherit_location(last, end.location)
        regions.append(Region(inner))
    choice = IfOp(end.operands[0], list(types), *regions)  # pyright: ignore[reportArgumentType]
    choice.location = end.location
    target.insert_op_before(choice, end)
    return list(choice.results)


def _move(source: Block, target: Block, before: Operation, types: list[object]) -> list[SSAValue]:
    """Move the ops of a block, flattened; what the function returns at its end."""
    end = source.last_op
    assert end is not None
    for op in list(source.ops):
        if op is not end:
            op.detach()
            target.insert_op_before(op, before)
    end.detach()
    target.insert_op_before(end, before)
    results = _flatten(end, types)
    end.detach()
    end.erase()
    return results


# Calls.


def inline_calls(module: ModuleOp) -> None:
    """Replace calls by the bodies they run, as far as these are one block."""
    table = {function.sym_name.data: function for function in _functions(module)}
    kernels = [function for function in table.values() if _is_public(function)]
    for kernel in kernels:
        for _ in range(_MAX_NESTING):
            calls = [op for op in walk(kernel) if isinstance(op, CallOp)]
            inlined = [_inline(call, table) for call in calls]
            if not any(inlined):
                break
    for function in table.values():
        if kernels and not _is_public(function):
            function.detach()
            function.erase()


def _is_public(function: FuncOp) -> bool:
    visibility = function.sym_visibility
    return visibility is None or visibility.data == "public"


def _inline(call: CallOp, table: dict[str, FuncOp]) -> bool:
    function = table.get(call.callee.string_value())
    if function is None or function.is_declaration or len(function.body.blocks) != 1:
        return False
    body = function.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
    end = body.last_op
    assert end is not None
    rewriter = Rewriter()
    for op in body.ops:
        if op is not end:
            rewriter.insert_before(call, op.clone(values))
    results = [values.get(operand, operand) for operand in end.operands]
    rewriter.replace_op(call, [], results)
    return True


# Scaled GEMMs.


def read_scaled_bytes(module: ModuleOp) -> None:
    """Let scaled GEMMs read what is loaded, instead of its bits as floats of a byte."""
    for op in list(walk(module)):
        if isinstance(op, DotScaledOp):
            for index in (0, 1):
                source = _bytes_of(op.operands[index], op)
                if source is not None:
                    op.operands[index] = source


def _bytes_of(value: SSAValue, user: DotScaledOp) -> SSAValue | None:
    """The bytes that a bitcast reads, transposed where it is; None if there is none."""
    owner = value.owner
    if isinstance(owner, BitcastOp) and bit_width(element_type_of(owner.src.type)) == BYTE:
        return owner.src
    if not isinstance(owner, TransOp):
        return None
    inner = _bytes_of(owner.src, user)
    if inner is None:
        return None
    swapped = TransOp(inner, list(owner.order.get_values()))
    inherit_location(swapped, owner.location)
    Rewriter().insert_before(user, swapped)
    return swapped.result


def drop_reshapes(module: ModuleOp) -> None:
    """Remove reshapes to the same shape, even those that may reorder elements."""
    for op in list(walk(module)):
        if isinstance(op, ReshapeOp) and op.operands[0].type == op.results[0].type:
            Rewriter().replace_op(op, [], [op.operands[0]])


# The order of a loop body.


def sink_gemms(module: ModuleOp) -> None:
    """Move GEMMs whose result only the next iteration uses to the end of the loop body.

    What is computed for them alone moves along, before all of them: it overwrites registers that
    the GEMMs of the last iteration use, so that it has to wait for their end.
    """
    for op in list(walk(module)):
        if isinstance(op, ForOp):
            end = op.body.block.last_op
            assert end is not None
            gemms = [
                each
                for each in op.body.block.ops
                if isinstance(each, SchedulableGemm)
                and all(use.operation is end for use in each.d.uses)
            ]
            operands = [each for gemm in gemms for each in _computed_for(gemm)]
            for moved in (*operands, *gemms):
                moved.detach()
                op.body.block.insert_op_before(moved, end)


def _computed_for(gemm: SchedulableGemm) -> list[Operation]:
    """Elementwise ops of the block that compute an operand and nothing else."""
    owners = [value.owner for value in (gemm.c, gemm.a, gemm.b) if value.has_one_use()]
    return [
        owner
        for owner in owners
        if isinstance(owner, Operation) and owner.parent is gemm.parent and is_elementwise(owner)
    ]
