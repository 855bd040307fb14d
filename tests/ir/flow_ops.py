"""Stock control-flow ops with Tilewright's traits, small ops to break on purpose, and checks.

Tests of ``tilewright.ir`` must not depend on the dialects built on top of it, so the ops come from
xDSL and the traits are written here.
"""

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, scf
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.traits import IsolatedFromAbove, IsTerminator

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import (
    BranchLike,
    CallLike,
    Edge,
    GraphRegions,
    Point,
    RegionBranch,
    enter,
    exits,
    leave,
)
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify


class ForBranch(RegionBranch):
    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        body = op.regions[0]
        if point is op:
            inits = op.operands[3:]
            return [enter(op, body, inits, unknown=1), leave(op, op, inits)]
        return [
            edge
            for end in exits(body)
            for edge in (
                enter(end, body, end.operands, unknown=1),
                leave(end, op, end.operands),
            )
        ]


class IfBranch(RegionBranch):
    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        if point is op:
            return [enter(op, r) if r.blocks else leave(op, op, ()) for r in op.regions]
        return [leave(end, op, end.operands) for end in exits(point)]


class WhileBranch(RegionBranch):
    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        before, after = op.regions
        if point is op:
            return [enter(op, before, op.operands)]
        if point is after:
            return [enter(end, before, end.operands) for end in exits(after)]
        return [
            edge
            for end in exits(before)
            for edge in (enter(end, after, end.operands[1:]), leave(end, op, end.operands[1:]))
        ]


class ExecuteBranch(RegionBranch):
    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        if point is op:
            return [enter(op, op.regions[0])]
        return [leave(end, op, end.operands) for end in exits(op.regions[0])]


class ReduceBranch(RegionBranch):
    """The combine region works on elements: neither its arguments nor its result are forwarded."""

    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        if point is op:
            args = op.regions[0].block.args
            return [enter(op, op.regions[0], unknown=len(args)), leave(op, op, None)]
        return [leave(end, op, None) for end in exits(op.regions[0])]


class SpecializeBranch(RegionBranch):
    """Region 0 is the default and yields the results; the others receive the captures."""

    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        default, holder = op.regions
        if point is op:
            return [enter(op, default), enter(op, holder)]
        if point is default:
            return [leave(end, op, end.operands) for end in exits(default)]
        return []


class PartitionsBranch(RegionBranch):
    """Stands inside ``test.specialize``; the captures are the operands of that op."""

    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        parent = op.parent_op()
        if point is not op or parent is None:
            return []
        return [enter(op, region, parent.operands) for region in op.regions]


class JumpBranch(BranchLike):
    @classmethod
    def successor_operands(cls, op: Operation, index: int) -> Sequence[SSAValue]:
        return op.operands


class CondBranch(BranchLike):
    @classmethod
    def successor_operands(cls, op: Operation, index: int) -> Sequence[SSAValue]:
        assert isinstance(op, cf.ConditionalBranchOp)
        return op.else_arguments if index else op.then_arguments


class FuncCall(CallLike):
    @classmethod
    def callee(cls, op: Operation) -> SymbolRefAttr | None:
        callee = op.get_attr_or_prop("callee")
        assert isinstance(callee, SymbolRefAttr)
        return callee


# A subclass keeps the stock definition; only the class-level traits differ.


class ForOp(scf.ForOp):
    traits = traits_def(*scf.ForOp.traits, ForBranch())


class IfOp(scf.IfOp):
    traits = traits_def(*scf.IfOp.traits, IfBranch())


class WhileOp(scf.WhileOp):
    traits = traits_def(*scf.WhileOp.traits, WhileBranch())


class ExecuteRegionOp(scf.ExecuteRegionOp):
    traits = traits_def(*scf.ExecuteRegionOp.traits, ExecuteBranch())


class BranchOp(cf.BranchOp):
    traits = traits_def(*cf.BranchOp.traits, JumpBranch())


class ConditionalBranchOp(cf.ConditionalBranchOp):
    traits = traits_def(*cf.ConditionalBranchOp.traits, CondBranch())


class CallOp(func.CallOp):
    traits = traits_def(FuncCall())


class AnyOp(IRDLOperation):
    """Any operands, results and regions."""

    args = var_operand_def()
    res = var_result_def()
    inner = var_region_def()


@irdl_op_definition
class PlainOp(AnyOp):
    name = "test.op"
    traits = traits_def()


@irdl_op_definition
class EndOp(AnyOp):
    name = "test.end"
    traits = traits_def(IsTerminator())


@irdl_op_definition
class IsolatedOp(AnyOp):
    name = "test.isolated"
    traits = traits_def(IsolatedFromAbove())


@irdl_op_definition
class GraphOp(AnyOp):
    name = "test.graph"
    traits = traits_def(GraphRegions())


@irdl_op_definition
class ReduceOp(AnyOp):
    name = "test.reduce"
    traits = traits_def(ReduceBranch())


@irdl_op_definition
class SpecializeOp(AnyOp):
    name = "test.specialize"
    traits = traits_def(SpecializeBranch())


@irdl_op_definition
class PartitionsOp(AnyOp):
    name = "test.partitions"
    traits = traits_def(IsolatedFromAbove(), IsTerminator(), PartitionsBranch())


TEST_OPS = (PlainOp, EndOp, IsolatedOp, GraphOp, ReduceOp, SpecializeOp, PartitionsOp)


def context() -> Context:
    ctx = Context(allow_unregistered=True)
    for dialect in (
        builtin.Builtin,
        arith.Arith,
        Dialect("func", [func.FuncOp, func.ReturnOp, CallOp]),
        Dialect("scf", [ForOp, IfOp, WhileOp, ExecuteRegionOp, scf.YieldOp, scf.ConditionOp]),
        Dialect("cf", [BranchOp, ConditionalBranchOp]),
        Dialect("test", list(TEST_OPS)),
    ):
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    """The module of ``text``, which is its body; names of values are kept as hints."""
    return Parser(context(), f"builtin.module {{\n{text}\n}}").parse_module()


def named(module: Operation, name: str) -> SSAValue:
    """The one value whose name hint is ``name``."""
    found = [v for v in all_values(module) if v.name_hint == name]
    assert len(found) == 1, f"{len(found)} values are named {name}"
    return found[0]


def all_values(module: Operation) -> list[SSAValue]:
    """Every value in the module, in textual order."""
    values: list[SSAValue] = []
    for op in module.walk():
        values.extend(op.results)
        for region in op.regions:
            for block in region.blocks:
                values.extend(block.args)
    return values


def check(module: Operation) -> list[tuple[str, list[str]]]:
    """Every error as (message, messages of its notes)."""
    engine = DiagnosticEngine(max_errors=None)
    ok = verify(module, engine)
    found = [(d.message, [note.message for note in d.notes]) for d in engine.diagnostics]
    assert ok == (not found)
    return found


def messages(module: Operation) -> list[str]:
    return [message for message, _ in check(module)]


def first(module: Operation, name: str) -> Operation:
    return next(op for op in walk(module) if op.name == name)


def detach(op: Operation) -> None:
    op.detach()
    op.erase(safe_erase=False)


VALID = """
  func.func @g(%p: i32) -> i32 {
    func.return %p : i32
  }
  func.func @f(%x: i32, %c: i1, %n: index) -> i32 {
    %k = func.call @g(%x) : (i32) -> i32
    %r = scf.for %i = %n to %n step %n iter_args(%acc = %k) -> (i32) {
      %s = arith.addi %acc, %x : i32
      scf.yield %s : i32
    }
    %q = scf.if %c -> (i32) {
      %t = arith.muli %r, %x : i32
      scf.yield %t : i32
    } else {
      scf.yield %r : i32
    }
    cf.br ^head(%q : i32)
  ^head(%z: i32):
    %u = arith.addi %z, %q : i32
    cf.cond_br %c, ^head(%u : i32), ^tail
  ^tail:
    %v = arith.addi %u, %z : i32
    func.return %v : i32
  }"""
