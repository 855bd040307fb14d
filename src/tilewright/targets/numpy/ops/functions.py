"""Functions: the kernel, the functions it calls, and regions that are applied to elements.

A called function is written once for each way its arguments are passed (`carry.Packing`). A region
becomes a function of arrays of elements; scalars it uses from outside get axes so that they
broadcast against those arrays, and control flow in it is that of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.tt.functions import CallOp, FuncOp
from tilewright.ir.traversal import walk
from tilewright.targets.numpy.carry import Packing, fit, unpack
from tilewright.targets.numpy.emitter import Emitter, Rule, Unit, symbol_text
from tilewright.targets.numpy.names import hint_of_value
from tilewright.targets.numpy.ops.cf import write_blocks
from tilewright.targets.numpy.ops.elementwise import to_rank
from tilewright.targets.numpy.ops.regions import packings_of, values_of
from tilewright.targets.numpy.values import PROGRAM, Expr, Nest, Scope, Tensor, Value


@dataclass(frozen=True)
class Instance:
    """A function as it was written."""

    symbol: int
    results: Sequence[Packing]


def write_body(emitter: Emitter, region: Region) -> list[Value]:
    """Write a function's statements; returns what it returns."""
    if len(region.blocks) > 1:
        return write_blocks(emitter, region)
    block = region.blocks[0]
    emitter.block(block)
    end = block.last_op
    assert end is not None
    return values_of(emitter, end.operands)


# Calls.


def _call(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CallOp)
    name = op.callee.root_reference.data
    callee = emitter.unit.functions.get(name)
    if callee is None or callee.is_declaration:
        raise emitter.unsupported(f"'{name}' is called but has no body in this module")
    if name in emitter.unit.calls:
        chain = " -> ".join([*emitter.unit.calls, name])
        raise emitter.unsupported(f"recursive call: {chain}")
    values = values_of(emitter, op.arguments)
    packings = packings_of(emitter, values)
    instance = _instance(emitter.unit, callee, packings)
    arguments = [
        expr
        for value, type, packing in zip(values, op.operand_types, packings, strict=True)
        for expr in fit(emitter, value, type, packing)
    ]
    slots = [
        (axes, packing.rank(key, type))
        for packing, type in zip(instance.results, op.result_types, strict=True)
        for key, axes in packing.slots.items()
    ]
    listed = "".join(f", {{{index + 1}}}" for index in range(len(arguments)))
    text = f"{symbol_text(instance.symbol)}({{0}}{listed})"
    if not slots:
        emitter.effect(text, emitter.control, *arguments)
        return
    star = "*" if len(slots) == 1 else ""
    exprs = emitter.several(f"{star}{text}", [emitter.control, *arguments], slots, is_pure=False)
    assert exprs[0].line is not None
    exprs[0].line.is_effect = True  # it may store
    for result, packing in zip(op.results, instance.results, strict=True):
        count = len(packing.slots)
        emitter.define(result, unpack(packing, exprs[:count]))
        exprs = exprs[count:]


def _instance(unit: Unit, callee: FuncOp, packings: Sequence[Packing]) -> Instance:
    key = callee.sym_name.data, tuple(packing.key() for packing in packings)
    known = unit.instances.get(key)
    if isinstance(known, Instance):
        return known
    unit.calls.append(callee.sym_name.data)
    made = _write_function(unit, callee, packings)
    unit.calls.pop()
    unit.instances[key] = made
    return made


def _write_function(unit: Unit, callee: FuncOp, packings: Sequence[Packing]) -> Instance:
    emitter = Emitter(unit, is_callee=True)
    emitter.result_types = callee.function_type.outputs.data
    parameters: list[str] = []
    for argument, packing in zip(callee.args, packings, strict=True):
        exprs: list[Expr] = []
        for key, axes in packing.slots.items():
            symbol = unit.symbol(hint_of_value(argument))
            parameters.append(symbol_text(symbol))
            exprs.append(Expr(symbol_text(symbol), axes, packing.rank(key, argument.type), 1))
        emitter.define(argument, unpack(packing, exprs))
    values = write_body(emitter, callee.body)
    results = packings_of(emitter, values)
    returned = [
        expr
        for value, type, packing in zip(values, emitter.result_types, results, strict=True)
        for expr in fit(emitter, value, type, packing)
    ]
    if returned:
        listed = ", ".join(f"{{{index}}}" for index in range(len(returned)))
        emitter.effect(f"return ({listed},)", *returned)
    symbol = unit.symbol(callee.sym_name.data.split("__")[0].rpartition(".")[2])
    unit.bodies.append((symbol, ", ".join(["rt", *parameters]), emitter.scopes[1]))
    return Instance(symbol, results)


# Regions applied to elements.

_OUTSIDE = frozenset(("tt.get_program_id", "tt.print", "tt.assert", "tt.atomic_poll"))


def write_lambda(emitter: Emitter, region: Region, rank: int) -> Expr:
    """Write a region as a function of arrays; those have `rank` axes after that of programs."""
    ops = _ops_of(region)
    for op in ops:
        if op.name in _OUTSIDE or op.name.startswith(("tt.load", "tt.store", "tt.atomic")):
            emitter.location = op.location
            raise emitter.unsupported(
                f"'{op.name}' in an elementwise function is not supported on target numpy"
            )
    captured = captured_values(region)
    saved = {value: emitter.values[value] for value in captured}
    lifted = [_lift(emitter, value, rank) for value in captured]
    depth = max((expr.depth for expr in lifted), default=0)
    state = emitter.location, emitter.hint, emitter.control, emitter.result_types
    end = region.blocks[-1].last_op
    emitter.result_types = () if end is None else [operand.type for operand in end.operands]
    scope = Scope(is_barrier=True)
    emitter.scopes.append(scope)
    symbols = [emitter.unit.symbol(hint_of_value(argument)) for argument in region.blocks[0].args]
    for argument, symbol in zip(region.blocks[0].args, symbols, strict=True):
        emitter.define(argument, Tensor(emitter.variable(symbol, PROGRAM)))
    if any(op.regions or op.name == "tt.call" for op in ops) or len(region.blocks) > 1:
        emitter.control = emitter.here("Control()", axes=0, rank=0, hint="lanes")
    returned = [_returned(value) for value in write_body(emitter, region)]
    listed = ", ".join(f"{{{index}}}" for index in range(len(returned)))
    emitter.effect(f"return ({listed},)", *returned)
    emitter.scopes.pop()
    emitter.location, emitter.hint, emitter.control, emitter.result_types = state
    emitter.values.update(saved)
    function = emitter.unit.symbol("combine")
    parameters = ", ".join(symbol_text(symbol) for symbol in symbols)
    header = f"def {symbol_text(function)}({parameters}):"
    deps = tuple(expr.line for expr in lifted if expr.line is not None)
    nest = Nest(header, (), deps, emitter.location, scope=scope)
    emitter.scopes[depth].lines.append(nest)
    axes = 0
    for expr in lifted:
        axes |= expr.axes
    return Expr(symbol_text(function), axes, 0, depth, nest)


def _ops_of(region: Region) -> list[Operation]:
    return [op for block in region.blocks for each in block.ops for op in walk(each)]


def captured_values(region: Region) -> list[SSAValue]:
    """Values from outside that are used in a region."""
    found: dict[SSAValue, None] = {}
    for op in _ops_of(region):
        for operand in op.operands:
            owner = operand.owner
            block = owner if isinstance(owner, Block) else owner.parent
            if block is None or not _is_within(block, region):
                found[operand] = None
    return list(found)


def _is_within(block: Block, region: Region) -> bool:
    current: Block | None = block
    while current is not None:
        if current.parent is region:
            return True
        current = current.parent_block()
    return False


def _lift(emitter: Emitter, value: SSAValue, rank: int) -> Expr:
    """A scalar from outside, in a form that broadcasts against the elements."""
    found = emitter.values[value]
    if not isinstance(found, Tensor):
        raise emitter.unsupported("an elementwise function can capture scalars only")
    expr = to_rank(emitter, found.expr, rank)
    inside = Expr(expr.text, expr.axes, 0, expr.depth, expr.line)
    emitter.define(value, Tensor(inside))
    return inside


def _returned(value: Value) -> Expr:
    assert isinstance(value, Tensor)
    return value.expr


RULES: dict[str, Rule] = {"tt.call": _call}
