"""Choices and calls: code that runs once, under a condition or on a path of its own."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, Region

from tilewright.analysis.affine import Formula
from tilewright.analysis.pid_address.control.blocks import Exit
from tilewright.analysis.pid_address.control.effects import global_effect, is_address
from tilewright.analysis.pid_address.control.joins import joined_exits
from tilewright.analysis.pid_address.control.regions import run_region
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.values import basis_of, deps_of
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.elementwise import Elementwise
from tilewright.dialects.ttg import WarpSpecializeOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.interfaces import CallLike, function_body


def assume(scope: Scope, op: Operation) -> Scope:
    """``llvm.intr.assume``: known from here on, in everything that comes after."""
    return scope.knowing(scope.formula(op.operands[0]).formula)


def choose(scope: Scope, op: Operation) -> Scope:
    """``scf.if``."""
    known = scope.formula(op.operands[0])
    condition = scope.ctx.known(known.formula)
    exits = _run_if(scope, condition, known.basis, op.regions[0])
    exits += _run_if(scope, ~condition, known.basis, op.regions[1])
    _set_results(scope, op, exits)
    return scope


def _run_if(scope: Scope, condition: Formula, basis: int, region: Region) -> list[Exit]:
    return run_region(scope.under(condition, basis), region)


def _set_results(scope: Scope, op: Operation, exits: list[Exit]) -> None:
    if not op.results:
        return
    for result, value in zip(op.results, joined_exits(scope, op.results, exits), strict=True):
        scope.set(result, value)


def switch(scope: Scope, op: Operation) -> Scope:
    """``scf.index_switch``: the default region comes first."""
    flag = scope.integer(op.operands[0])
    values = integers_in_cases(op)
    cases = [scope.ctx.compare("=", flag.expr, value) for value in values]
    default = scope.space.true
    for case in cases:
        default = default & ~case
    exits: list[Exit] = []
    for condition, region in zip((default, *cases), op.regions, strict=True):
        exits += _run_if(scope, condition, flag.basis, region)
    _set_results(scope, op, exits)
    return scope


def integers_in_cases(op: Operation) -> tuple[int, ...]:
    cases = op.properties.get("cases")
    values = getattr(cases, "get_values", None)
    return tuple(values()) if values is not None else tuple(integers_in(cases) or ())


def execute(scope: Scope, op: Operation) -> Scope:
    """``scf.execute_region``: a region of its own."""
    _set_results(scope, op, run_region(scope, op.regions[0]))
    return scope


def call(scope: Scope, op: Operation) -> Scope:
    """``tt.call``: the function, evaluated on the path that leads to it."""
    trait = op.get_trait(CallLike)
    symbol = None if trait is None else trait.callee(op)
    function = None if symbol is None else scope.machine.symbols.lookup(op, symbol)
    body = None if function is None else function_body(function)
    if trait is None or function is None or body is None or function in scope.machine.calling:
        if any(is_address(argument.type) for argument in op.operands):
            called = "it" if symbol is None else f"@{symbol.root_reference.data}"
            why = "calls itself" if body is not None else "has no body here"
            scope.not_analysed(op, f"{called} takes an address and {why}")
        _set_unknown_results(scope, op)
        return scope
    path = (*scope.path, _name_on_path(scope, op, symbol))
    env = scope.machine.environments.setdefault(path, {})
    scope.machine.calls[path] = (op, scope.path)
    arguments = [scope.get(value) for value in trait.arguments(op)]
    inner = replace(scope, path=path, env=env)
    scope.machine.calling.append(function)
    exits = run_region(inner, body, arguments)
    scope.machine.calling.pop()
    _set_results(scope, op, exits)
    return scope


def specialize(scope: Scope, op: Operation) -> Scope:
    """``ttg.warp_specialize``: every region runs, partitions with what they capture."""
    assert isinstance(op, WarpSpecializeOp)
    _set_results(scope, op, run_region(scope, op.default_region))
    captures = [scope.get(value) for value in op.partition_op.operands]
    for partition in op.partitions:
        run_region(scope, partition, captures)
    return scope


def _name_on_path(scope: Scope, op: Operation, symbol: SymbolRefAttr | None) -> str:
    """A call is named by its result, or by what it calls if it has none."""
    if op.results:
        return scope.machine.name(op.results[0]).split("#")[0]
    callee = "" if symbol is None else symbol.root_reference.data
    return f"{callee}#{scope.machine.position(op)}"


def unknown(scope: Scope, op: Operation) -> Scope:
    """An op of an unknown kind. Its regions may run, with any arguments."""
    effect = global_effect(scope, op)
    if effect is not None:
        scope.not_analysed(op, effect)
    _set_unknown_results(scope, op)
    if not op.regions:
        return scope
    mask, basis = _anything(scope), 0
    for operand in op.operands:
        known = scope.get(operand)
        mask |= deps_of(known)
        basis |= basis_of(known)
    for index, region in enumerate(op.regions):
        block = region.first_block
        if block is None:
            continue
        name = f"{op.name}:{scope.machine.position(op)}:{index}"
        may_run = scope.space.predicate("@".join((name, *scope.path)))
        inner = scope.under(may_run)
        run_region(inner, region, [inner.unknown(arg, mask, basis) for arg in block.args])
    return scope


def _set_unknown_results(scope: Scope, op: Operation) -> None:
    """Element-wise ops are functions of their operands; of others nothing is known."""
    if _looks_at_operands_only(op):
        scope.set_unknown(op, scope.atoms.unsupported)
        return
    mask = _anything(scope)
    for result in op.results:
        for dim, extent in enumerate(shape_of(result.type)):
            mask |= scope.atoms.lane(dim, extent).deps_mask
    scope.set_unknown(op, mask)


def _looks_at_operands_only(op: Operation) -> bool:
    if op.get_trait(Elementwise) is None:
        return False
    # Assembly may name special registers such as `%smid`, and may have effects.
    assembly, pure = op.properties.get("asm_string"), op.properties.get("pure")
    if isinstance(assembly, StringAttr) and "%" in assembly.data:
        return False
    return not isinstance(pure, IntegerAttr) or bool(pure.value.data)


def _anything(scope: Scope) -> int:
    atoms = scope.atoms
    return atoms.any_pid | atoms.any_lane | atoms.memory | atoms.unsupported | scope.loop_mask()


def nothing(scope: Scope, _: Operation) -> Scope:
    """A terminator: its values are forwarded to the op or block that gets control."""
    return scope
