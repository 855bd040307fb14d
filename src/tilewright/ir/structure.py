"""Structural rules that hold for every dialect, one function each.

xDSL checks an op by itself. The rules here look at how ops stand together: terminators, parents,
values on branches, callees. They identify ops only through traits: ``kind_of`` collects
for an op class the rules of its traits, so that an ordinary op costs one lookup.

Rules come in two groups. ``before`` rules must hold or the op's own verifier would trip over the
same fault with a worse message; ``after`` rules read the op through its traits and so need an op
that its own verifier accepted. Messages are MLIR's, because users and tests know them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, OpTrait, Region, SSAValue, TypeAttribute
from xdsl.traits import (
    CallableOpInterface,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    ReturnLike,
    SingleBlockImplicitTerminator,
    SymbolTable,
)

from tilewright.ir.interfaces import (
    BranchLike,
    CallLike,
    Edge,
    GraphRegions,
    RegionBranch,
    branch_edges,
    function_body,
)
from tilewright.ir.symbols import SymbolTables, symbol_name, symbols_in


@dataclass(frozen=True)
class StructureError:
    """A broken rule: the op to blame, the whole message, and notes on other ops."""

    where: Operation
    message: str
    notes: tuple[tuple[Operation, str], ...] = ()


Rule: TypeAlias = Callable[[Operation, SymbolTables], StructureError | None]


@dataclass(frozen=True, slots=True)
class OpKind:
    """What the traits of one op class mean for the structure of IR."""

    is_terminator: bool
    """May end a block. An unregistered op may."""
    needs_terminator: bool
    """A region with a single block must end in a terminator."""
    is_isolated: bool
    has_graph_regions: bool
    before: tuple[Rule, ...]
    after: tuple[Rule, ...]


@cache
def kind_of(cls: type[Operation]) -> OpKind:
    """The structural kind of an op class."""
    unregistered = issubclass(cls, UnregisteredOp)

    def rules(table: Sequence[tuple[type[OpTrait], Rule]]) -> tuple[Rule, ...]:
        return tuple(rule for trait, rule in table if cls.get_trait(trait) is not None)

    return OpKind(
        is_terminator=unregistered or cls.get_trait(IsTerminator) is not None,
        needs_terminator=not unregistered and cls.get_trait(NoTerminator) is None,
        is_isolated=cls.get_trait(IsolatedFromAbove) is not None,
        has_graph_regions=(
            unregistered or issubclass(cls, ModuleOp) or cls.get_trait(GraphRegions) is not None
        ),
        before=rules(_BEFORE),
        after=rules(_AFTER),
    )


def op_name(op: Operation) -> str:
    """The name of an op as in its text, also when the op is not registered."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def op_problem(op: Operation, message: str, *notes: tuple[Operation, str]) -> StructureError:
    """A problem in MLIR's form ``'dialect.op' op message``."""
    return StructureError(op, f"'{op_name(op)}' op {message}", notes)


# Every op.


def check_successors(op: Operation) -> StructureError | None:
    """Only the end of a block may jump, and only within its region."""
    if op.next_op is not None:
        return StructureError(op, "operation with block successors must terminate its parent block")
    region = op.parent_region()
    if any(block.parent is not region for block in op.successors):
        return StructureError(op, "reference to block defined in another region")
    return None


def check_region(
    region: Region, op: Operation, needs_terminator: bool, may_end: Callable[[Operation], bool]
) -> StructureError | None:
    """Blocks end in terminators, own their typed arguments, and none jumps to the entry."""
    first = region.first_block
    if first is None:
        return None
    if first.first_use is not None:
        return StructureError(op, "entry block of region may not have predecessors")
    needs_terminator = needs_terminator or first is not region.last_block
    for index, block in enumerate(region.blocks):
        last = block.last_op
        if needs_terminator and last is None:
            return StructureError(op, "empty block: expect at least a terminator")
        if needs_terminator and last is not None and not may_end(last):
            return StructureError(last, f"block with no terminator, has '{op_name(last)}'")
        if (message := _check_arguments(block)) is not None:
            return op_problem(op, f"{message} in block #{index}")
    return None


def _check_arguments(block: Block) -> str | None:
    for index, arg in enumerate(block.args):
        if arg.block is not block or arg.index != index:
            return f"block argument #{index} is not owned by its block"
        if not isinstance(arg.type, TypeAttribute):
            return f"block argument #{index} has '{arg.type}' for a type"
    return None


# Before the op's own verifier.


def _check_parent(op: Operation, _: SymbolTables) -> StructureError | None:
    trait = op.get_trait(HasParent)
    parent = op.parent_op()
    if trait is None or parent is None or isinstance(parent, trait.op_types):
        return None
    names = ", ".join(cls.name for cls in trait.op_types)
    choice = "" if len(trait.op_types) == 1 else "to be one of "
    return op_problem(op, f"expects parent op {choice}'{names}'")


def _check_last(op: Operation, _: SymbolTables) -> StructureError | None:
    if op.next_op is None:
        return None
    return op_problem(op, "must be the last operation in the parent block")


def _check_unique_symbols(op: Operation, _: SymbolTables) -> StructureError | None:
    seen: dict[str | None, Operation] = {}
    for symbol in symbols_in(op):
        name = symbol_name(symbol)
        if name in seen:
            note = (seen[name], "see existing symbol definition here")
            return StructureError(symbol, f"redefinition of symbol named '{name}'", (note,))
        seen[name] = symbol
    return None


def _check_implicit_terminator(op: Operation, _: SymbolTables) -> StructureError | None:
    trait = op.get_trait(SingleBlockImplicitTerminator)
    if trait is None:
        return None
    for index, region in enumerate(op.regions):
        if region.first_block is not region.last_block:
            return op_problem(op, f"expects region #{index} to have 0 or 1 blocks")
        last = None if region.first_block is None else region.first_block.last_op
        if last is not None and not isinstance(last, trait.op_type):
            name = trait.op_type.name
            note = f"in custom textual format, the absence of terminator implies '{name}'"
            return op_problem(
                op, f"expects regions to end with '{name}', found '{op_name(last)}'", (op, note)
            )
    return None


def _check_entry_arguments(op: Operation, _: SymbolTables) -> StructureError | None:
    trait, body = op.get_trait(CallableOpInterface), function_body(op)
    if trait is None or body is None or body.first_block is None:
        return None
    expected, actual = trait.get_argument_types(op), body.first_block.arg_types
    if len(expected) != len(actual):
        return op_problem(
            op, f"entry block must have {len(expected)} arguments to match function signature"
        )
    index = _first_mismatch(actual, expected)
    if index is None:
        return None
    return op_problem(
        op,
        f"type of entry block argument #{index}('{actual[index]}') must match the type of the "
        f"corresponding argument in function signature('{expected[index]}')",
    )


def _check_return(op: Operation, _: SymbolTables) -> StructureError | None:
    function = op.parent_op()
    trait = None if function is None else function.get_trait(CallableOpInterface)
    if function is None or trait is None:
        return None
    expected, actual = trait.get_result_types(function), op.operand_types
    name = symbol_name(function)
    if len(expected) != len(actual):
        return op_problem(
            op,
            f"has {len(actual)} operands, but enclosing function (@{name}) returns {len(expected)}",
        )
    index = _first_mismatch(actual, expected)
    if index is None:
        return None
    return StructureError(
        op,
        f"type of return operand {index} ('{actual[index]}') doesn't match function result type "
        f"('{expected[index]}') in function @{name}",
    )


def _check_call(op: Operation, symbols: SymbolTables) -> StructureError | None:
    trait = op.get_trait(CallLike)
    symbol = None if trait is None else trait.callee(op)
    if trait is None or symbol is None:
        return None
    callee = symbols.lookup(op, symbol)
    signature = None if callee is None else callee.get_trait(CallableOpInterface)
    if callee is None or signature is None:
        return op_problem(op, f"'{symbol.string_value()}' does not reference a valid function")
    return _check_call_arguments(
        op, trait.arguments(op), signature.get_argument_types(callee)
    ) or _check_call_results(op, op.result_types, signature.get_result_types(callee))


def _check_call_arguments(
    op: Operation, arguments: Sequence[SSAValue], expected: Sequence[Attribute]
) -> StructureError | None:
    if len(arguments) != len(expected):
        return op_problem(op, "incorrect number of operands for callee")
    actual = [argument.type for argument in arguments]
    index = _first_mismatch(actual, expected)
    if index is None:
        return None
    return op_problem(
        op,
        f"operand type mismatch: expected operand type '{expected[index]}', but provided "
        f"'{actual[index]}' for operand number {index}",
    )


def _check_call_results(
    op: Operation, actual: Sequence[Attribute], expected: Sequence[Attribute]
) -> StructureError | None:
    if len(actual) != len(expected):
        return op_problem(op, "incorrect number of results for callee")
    index = _first_mismatch(actual, expected)
    if index is None:
        return None
    return op_problem(
        op,
        f"result type mismatch at index {index}",
        (op, f"      op result types: {_type_list(actual)}"),
        (op, f"function result types: {_type_list(expected)}"),
    )


# After the op's own verifier.


def _check_branch(op: Operation, _: SymbolTables) -> StructureError | None:
    for index, edge in enumerate(branch_edges(op)):
        if len(edge.operands) != len(edge.inputs):
            return StructureError(
                op,
                f"branch has {len(edge.operands)} operands for successor #{index}, "
                f"but target block has {len(edge.inputs)}",
            )
        wrong = _first_mismatch_of(edge)
        if wrong is not None:
            return StructureError(
                op, f"type mismatch for bb argument #{wrong} of successor #{index}"
            )
    return None


def _check_region_edges(op: Operation, _: SymbolTables) -> StructureError | None:
    trait = op.get_trait(RegionBranch)
    if trait is None:
        return None
    for point in (op, *op.regions):
        for edge in trait.successors(op, point):
            if (message := _check_region_edge(op, edge)) is not None:
                return op_problem(op, f"along control flow edge {_edge_name(op, edge)}: {message}")
    return None


def _check_region_edge(op: Operation, edge: Edge) -> str | None:
    if len(edge.operands) != len(edge.inputs):
        return (
            f"region branch point has {len(edge.operands)} operands, "
            f"but region successor needs {len(edge.inputs)} inputs"
        )
    index = _first_mismatch_of(edge)
    if index is None:
        return None
    return (
        f"successor operand type #{index} '{edge.operands[index].type}' should match "
        f"successor input type #{index} '{edge.inputs[index].type}'"
    )


def _edge_name(op: Operation, edge: Edge) -> str:
    source = "parent" if edge.source is op else f"Operation {op_name(edge.source)}"
    if isinstance(edge.target, Region):
        return f"from {source} to Region #{op.get_region_index(edge.target)}"
    return f"from {source} to Operation {op_name(op)}"


def _first_mismatch_of(edge: Edge) -> int | None:
    return _first_mismatch(
        [value.type for value in edge.operands], [value.type for value in edge.inputs]
    )


def _first_mismatch(actual: Sequence[Attribute], expected: Sequence[Attribute]) -> int | None:
    for index, (a, b) in enumerate(zip(actual, expected, strict=True)):
        if a is not b and a != b:
            return index
    return None


def _type_list(types: Sequence[Attribute]) -> str:
    return ", ".join(f"'{type_}'" for type_ in types)


_BEFORE: tuple[tuple[type[OpTrait], Rule], ...] = (
    (IsTerminator, _check_last),
    (HasParent, _check_parent),
    (SymbolTable, _check_unique_symbols),
    (SingleBlockImplicitTerminator, _check_implicit_terminator),
    (CallableOpInterface, _check_entry_arguments),
    (ReturnLike, _check_return),
    (CallLike, _check_call),
)

_AFTER: tuple[tuple[type[OpTrait], Rule], ...] = (
    (BranchLike, _check_branch),
    (RegionBranch, _check_region_edges),
)
