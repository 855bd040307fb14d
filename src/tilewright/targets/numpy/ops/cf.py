"""The `cf` dialect: basic blocks, as early returns make them.

Blocks run sequentially, in an order in which every block comes after those that lead to it,
each for the programs that come there (`support.control.Blocks`). Arguments of a block are
variables that its predecessors assign. There is no such order if blocks form a loop; `scf.while`
is how loops are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Operation, Region

from tilewright.dialects.cf import BranchOp, CondBranchOp
from tilewright.targets.numpy.carry import Packing
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.names import hint_of_value
from tilewright.targets.numpy.ops.checks import require_defined
from tilewright.targets.numpy.ops.regions import Carried, joined_packings, values_of
from tilewright.targets.numpy.values import Expr, Nest, Scope, Value


@dataclass(frozen=True)
class _Edge:
    """A control-flow edge into a block: the programs that take it, and their arguments."""

    scope: Scope
    mask: Expr
    values: Sequence[Value]


def write_blocks(emitter: Emitter, region: Region) -> list[Value]:
    """Write the blocks of a function; returns what it returns."""
    order = _in_order(emitter, region)
    block_ids = {block: index for index, block in enumerate(order)}
    text = f"{{0}}.blocks({len(order)})"
    blocks = emitter.here(text, emitter.control, axes=0, rank=0, hint="blocks")
    edges: dict[Block, list[_Edge]] = {block: [] for block in order}
    returns: list[_Edge] = []
    for block in order:
        if block is not order[0]:
            _receive(emitter, blocks, block, edges[block])
        scope = Scope(is_barrier=True)
        emitter.scopes.append(scope)
        emitter.block(block)
        end = block.last_op
        assert end is not None
        emitter.location = end.location
        _write_end(emitter, blocks, end, block_ids, edges, returns)
        emitter.scopes.pop()
        # The first block needs no test; its statements stand where it stands.
        header = f"if {blocks.text}.enter({block_ids[block]}):" if block is not order[0] else ""
        location = block.first_op.location if block.first_op is not None else None
        deps = () if blocks.line is None else (blocks.line,)
        emitter.scope.lines.append(Nest(header, (), deps, location, is_effect=True, scope=scope))
    results = _results(emitter, blocks, returns)
    emitter.effect("{0}.leave()", blocks)
    return results


def _in_order(emitter: Emitter, region: Region) -> list[Block]:
    """Blocks that can be reached, each after all that lead to it."""
    finished: list[Block] = []
    state: dict[Block, bool] = {}  # False while its successors are looked at
    stack: list[tuple[Block, int]] = [(region.blocks[0], 0)]
    while stack:
        block, index = stack.pop()
        end = block.last_op
        successors: Sequence[Block] = () if end is None else tuple(end.successors)
        if index == 0:
            state[block] = False
        if index == len(successors):
            state[block] = True
            finished.append(block)
            continue
        stack.append((block, index + 1))
        follower = successors[index]
        if state.get(follower) is False:
            emitter.location = None if end is None else end.location
            raise emitter.unsupported(
                "backward branches are not supported on target numpy; use a while loop"
            )
        if follower not in state:
            stack.append((follower, 0))
    return finished[::-1]


def _write_end(
    emitter: Emitter,
    blocks: Expr,
    end: Operation,
    block_ids: dict[Block, int],
    edges: dict[Block, list[_Edge]],
    returns: list[_Edge],
) -> None:
    scope = emitter.scope
    if isinstance(end, BranchOp):
        text = f"{{0}}.go({block_ids[end.target]})"
        mask = emitter.statement(text, blocks, hint="here")
        edges[end.target].append(_Edge(scope, mask, values_of(emitter, end.arguments)))
    elif isinstance(end, CondBranchOp):
        condition = emitter.tensor(end.condition)
        require_defined(emitter, condition, "the condition of a branch", ())
        one, other = end.true_target, end.false_target
        text = f"{{0}}.branch({{1}}, {block_ids[one]}, {block_ids[other]})"
        taken, left = emitter.statements(text, blocks, condition.expr, hints=("taken", "left"))
        edges[one].append(_Edge(scope, taken, values_of(emitter, end.true_arguments)))
        edges[other].append(_Edge(scope, left, values_of(emitter, end.false_arguments)))
    elif not end.successors:
        here = Expr(f"{blocks.text}.here()", 0, 0, emitter.depth, blocks.line)
        returns.append(_Edge(scope, here, values_of(emitter, end.operands)))
    else:
        raise emitter.unsupported(f"'{end.name}' is not supported on target numpy")


def _joined(emitter: Emitter, edges: Sequence[_Edge]) -> list[Packing]:
    ways = [(edge.scope, edge.values) for edge in edges]
    return joined_packings(emitter, ways, differ=True)


def _assign(
    emitter: Emitter,
    blocks: Expr,
    edges: Sequence[_Edge],
    types: Sequence[Attribute],
    hints: Sequence[str],
) -> list[Value]:
    """Variables that every edge assigns, for the programs that take it."""
    if not types:
        return []
    packings = _joined(emitter, edges)
    carried = Carried(emitter, types, packings, hints, emitter.depth)
    carried.clear()
    _to_front(emitter)
    for edge in edges:
        emitter.scopes.append(edge.scope)
        wrapper = f"{blocks.text}.put({edge.mask.text}, {{old}}, {{new}})"
        carried.assign(carried.fitted(edge.values), wrapper)
        emitter.scopes.pop()
    return carried.values(emitter.depth + 1)


def _to_front(emitter: Emitter) -> None:
    """Move the last statement to where the function starts: blocks written already need it."""
    lines = emitter.scope.lines
    lines.insert(0, lines.pop())


def _receive(emitter: Emitter, blocks: Expr, block: Block, edges: Sequence[_Edge]) -> None:
    """Give the arguments of a block variables."""
    hints = [hint_of_value(argument) for argument in block.args]
    values = _assign(emitter, blocks, edges, block.arg_types, hints)
    for argument, value in zip(block.args, values, strict=True):
        emitter.define(argument, value)


def _results(emitter: Emitter, blocks: Expr, returns: Sequence[_Edge]) -> list[Value]:
    if not returns or not returns[0].values:
        return []
    types = emitter.result_types
    return _assign(emitter, blocks, returns, types, ["result"] * len(types))


def _assert(emitter: Emitter, op: Operation) -> None:
    condition = emitter.tensor(op.operands[0])
    source_id = emitter.unit.source_id(op.location)
    message = repr(getattr(op.properties.get("msg"), "data", "assertion"))
    message = message.replace("{", "{{").replace("}", "}}")
    emitter.effect(f"{{0}}.check({source_id}, {{1}}, {message})", emitter.runtime, condition.expr)


RULES: dict[str, Rule] = {"cf.assert": _assert}
