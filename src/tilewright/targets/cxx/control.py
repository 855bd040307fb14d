"""Loops, branches, roles, thread and block indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.tile import names
from tilewright.dialects.tile.warps import WsOp
from tilewright.targets.cxx.emitter import ATOM, LESS, SUM, UNARY, Emitter, Rule, Text
from tilewright.targets.cxx.syntax import bracketed


def _for(emitter: Emitter, op: Operation) -> None:
    low, high, step, *initial = op.operands
    block = op.regions[0].block
    index, *carried = block.args
    variables = [
        _variable(emitter, each, value) for each, value in zip(carried, initial, strict=True)
    ]
    type = emitter.scalar(index.type).name
    name = emitter.name(index, "i")
    by = emitter.operand(step)
    advance = f"++{name}" if by == "1" else f"{name} += {emitter.operand(step, SUM)}"
    _pragma(emitter, op)
    with emitter.block(
        f"for ({type} {name} = {emitter.operand(low)}; "
        f"{name} < {emitter.operand(high, LESS + 1)}; {advance})"
    ):
        emitter.body(block)
        _assign(emitter, variables, block)
    for result, variable in zip(op.results, variables, strict=True):
        emitter.define(result, Text(variable))


def _pragma(emitter: Emitter, op: Operation) -> None:
    factor = op.attributes.get(names.UNROLL_FACTOR)
    if isinstance(factor, IntegerAttr):
        emitter.statement(f"#pragma unroll {factor.value.data}")
    elif names.UNROLL in op.attributes or names.VECTORIZE in op.attributes:
        emitter.statement("#pragma unroll")


def _variable(emitter: Emitter, value: SSAValue, initial: SSAValue | None = None) -> str:
    """Declare what a loop or a branch assigns."""
    type = emitter.scalar(value.type).name
    start = "" if initial is None else f" = {emitter.operand(initial)}"
    name = emitter.name(value)
    emitter.statement(f"{type} {name}{start};")
    return name


def _assign(emitter: Emitter, variables: list[str], block: Block) -> None:
    """Give the variables what the end of the block yields, all at once."""
    end = block.last_op
    if end is None or not variables:
        return
    values = [emitter.operand(each) for each in end.operands]
    pairs = [(name, text) for name, text in zip(variables, values, strict=True) if name != text]
    if len(pairs) > 1 and any(
        name in text for position, (_, text) in enumerate(pairs) for name, _ in pairs[:position]
    ):
        # One of them is read after it would have been assigned.
        fresh: list[tuple[str, str]] = []
        for name, text in pairs:
            held = emitter.names.take(f"next_{name}")
            emitter.statement(f"const auto {held} = {text};")
            fresh.append((name, held))
        pairs = fresh
    for name, text in pairs:
        emitter.statement(f"{name} = {text};")


def _if(emitter: Emitter, op: Operation) -> None:
    variables = [_variable(emitter, each) for each in op.results]
    then, *otherwise = [region.block for region in op.regions if region.blocks]
    with emitter.block(f"if ({emitter.operand(op.operands[0])})"):
        emitter.body(then)
        _assign(emitter, variables, then)
    if otherwise and (variables or any(not _is_end(each) for each in otherwise[0].ops)):
        emitter.lines[-1] = f"{emitter.lines[-1]} else {{"
        emitter.depth += 1
        emitter.body(otherwise[0])
        _assign(emitter, variables, otherwise[0])
        emitter.depth -= 1
        emitter.statement("}")


def _is_end(op: Operation) -> bool:
    return op.name in ("scf.yield", "tile.yield", "func.return", "scf.condition")


def _while(emitter: Emitter, op: Operation) -> None:
    before, after = (region.block for region in op.regions)
    carried = [
        _variable(emitter, each, value)
        for each, value in zip(before.args, op.operands, strict=True)
    ]
    results = [_variable(emitter, each) for each in op.results]
    with emitter.block("while (true)"):
        emitter.body(before)
        end = before.last_op
        assert end is not None and end.name == "scf.condition"
        condition, *passed = end.operands
        for name, value in zip(results, passed, strict=True):
            emitter.statement(f"{name} = {emitter.operand(value)};")
        emitter.statement(f"if (!{emitter.operand(condition, UNARY)}) break;")
        for argument, name in zip(after.args, results, strict=True):
            emitter.define(argument, Text(name))
        emitter.body(after)
        _assign(emitter, carried, after)


def roles(emitter: Emitter, op: Operation, index: str | None = None, unit: int = 1) -> None:
    """Each role is one branch of a single chain: registers move between warps only so.

    Branches test `index`, which counts `unit` threads; by default the index of the thread.
    """
    assert isinstance(op, WsOp)
    opening = "if"
    index = emitter.identity("thread", "x") if index is None else index
    for role, region in zip(op.roles, op.bodies, strict=True):
        tests = [_test(index, first // unit, end // unit) for first, end in role.ranges]
        emitter.statement(f"{opening} ({' || '.join(tests)}) {{  // {role.name}")
        emitter.depth += 1
        emitter.body(region.block)
        emitter.depth -= 1
        opening = "} else if"
    emitter.statement("}")


def _test(index: str, first: int, end: int) -> str:
    upper = f"{index} < {end}"
    return upper if first == 0 else f"{index} >= {first} && {upper}"


def _end(emitter: Emitter, op: Operation) -> None:
    """The block that it ends determines what happens."""


def _identity(kind: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        dimension = cast(Any, op.properties["dimension"]).data
        # A multiplication of two of them is as wide as they are.
        name = emitter.scalar(op.results[0].type).name
        text = emitter.identity(kind, dimension)
        if name != emitter.flavour.identity_type:
            text = f"{bracketed(name)}({text})"
        emitter.pure(op.results[0], Text(text, ATOM))

    return rule


RULES: Mapping[str, Rule] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "scf.yield": _end,
    "scf.condition": _end,
    "tile.yield": _end,
    "func.return": _end,
    "tile.ws": roles,
    "tile.assume": _end,
    "gpu.thread_id": _identity("thread"),
    "gpu.block_id": _identity("block"),
    "gpu.grid_dim": _identity("grid_dim"),
    "gpu.block_dim": _identity("block_dim"),
}
