"""Edges, exits and the helpers by which dialects describe control flow."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Operation, Region

from tests.ir.flow_ops import (
    CallOp,
    ConditionalBranchOp,
    ExecuteRegionOp,
    ForOp,
    IfOp,
    ReduceOp,
    WhileOp,
    named,
    parse,
)
from tilewright.ir.interfaces import (
    CallLike,
    Edge,
    Foldable,
    FoldBy,
    RegionBranch,
    branch_edges,
    constant_value,
    exits,
    function_body,
    returns,
)
from tilewright.ir.traversal import children, walk


def only(module: Operation, cls: type[Operation]) -> Operation:
    (op,) = [op for op in walk(module) if isinstance(op, cls)]
    return op


def edges(op: Operation, point: Operation | Region) -> list[Edge]:
    trait = op.get_trait(RegionBranch)
    assert trait is not None
    return list(trait.successors(op, point))


def names(edge: Edge) -> tuple[list[str | None], list[str | None], list[str | None]]:
    """Name hints of what travels, of where it goes, and of what is not forwarded."""
    return (
        [v.name_hint for v in edge.operands],
        [v.name_hint for v in edge.inputs],
        [v.name_hint for v in edge.unknown],
    )


def test_for_enters_skips_and_repeats():
    module = parse("""
      func.func @f(%n: index, %x: i32) {
        %r = scf.for %i = %n to %n step %n iter_args(%acc = %x) -> (i32) {
          %s = arith.addi %acc, %x : i32
          scf.yield %s : i32
        }
        func.return
      }""")
    loop = only(module, ForOp)
    body = loop.regions[0]
    first, skip = edges(loop, loop)
    again, done = edges(loop, body)
    assert (first.target, skip.target, again.target, done.target) == (body, loop, body, loop)
    assert names(first) == (["x"], ["acc"], ["i"])
    assert names(skip) == (["x"], ["r"], [])
    assert names(again) == (["s"], ["acc"], ["i"])
    assert names(done) == (["s"], ["r"], [])
    assert first.source is loop and again.source is body.block.last_op


def test_if_without_else_reaches_its_end_directly():
    module = parse("""
      func.func @f(%c: i1) {
        scf.if %c {
        }
        func.return
      }""")
    branch = only(module, IfOp)
    assert [edge.target for edge in edges(branch, branch)] == [branch.regions[0], branch]
    assert [edge.target for edge in edges(branch, branch.regions[0])] == [branch]
    assert edges(branch, branch.regions[1]) == []


def test_while_forwards_the_condition_operands_both_ways():
    module = parse("""
      func.func @f(%c: i1, %x: i32) {
        %r = scf.while (%a = %x) : (i32) -> i32 {
          scf.condition(%c) %a : i32
        } do {
        ^bb0(%b: i32):
          scf.yield %b : i32
        }
        func.return
      }""")
    loop = only(module, WhileOp)
    before, after = loop.regions
    assert [names(edge) for edge in edges(loop, loop)] == [(["x"], ["a"], [])]
    go_on, stop = edges(loop, before)
    assert (go_on.target, stop.target) == (after, loop)
    assert names(go_on) == (["a"], ["b"], [])
    assert names(stop) == (["a"], ["r"], [])
    assert [names(edge) for edge in edges(loop, after)] == [(["b"], ["a"], [])]


def test_reduce_forwards_nothing():
    module = parse("""
      func.func @f(%x: i32) {
        %r = "test.reduce"(%x) ({
        ^bb0(%a: i32, %b: i32):
          "test.end"(%a) : (i32) -> ()
        }) : (i32) -> i32
        func.return
      }""")
    reduce = only(module, ReduceOp)
    into, result = edges(reduce, reduce)
    assert names(into) == ([], [], ["a", "b"])
    assert names(result) == ([], [], ["r"])


def test_every_exit_of_a_region_with_blocks_is_an_edge():
    module = parse("""
      func.func @f(%c: i1, %x: i32, %y: i32) {
        %r = scf.execute_region -> (i32) {
          cf.cond_br %c, ^a, ^b
        ^a:
          scf.yield %x : i32
        ^b:
          scf.yield %y : i32
        }
        func.return
      }""")
    op = only(module, ExecuteRegionOp)
    assert [end.name for end in exits(op.regions[0])] == ["scf.yield", "scf.yield"]
    assert [names(edge) for edge in edges(op, op.regions[0])] == [
        (["x"], ["r"], []),
        (["y"], ["r"], []),
    ]


CFG = """
  func.func @f(%c: i1, %x: i32, %y: i32) -> i32 {
    cf.cond_br %c, ^a(%x : i32), ^b(%y, %x : i32, i32)
  ^a(%p: i32):
    func.return %p : i32
  ^b(%q: i32, %s: i32):
    func.return %q : i32
  }"""


def test_branch_edges_pair_operands_with_block_arguments():
    module = parse(CFG)
    branch = only(module, ConditionalBranchOp)
    assert [names(edge) for edge in branch_edges(branch)] == [
        (["x"], ["p"], []),
        (["y", "x"], ["q", "s"], []),
    ]
    assert [edge.target for edge in branch_edges(branch)] == list(branch.successors)


def test_arguments_of_a_jump_that_says_nothing_are_unknown():
    module = parse("""
      func.func @f(%x: i32) {
        "strange.jump"(%x)[^a] : (i32) -> ()
      ^a(%p: i32):
        func.return
      }""")
    (jump,) = [op for op in walk(module) if op.successors]
    assert [names(edge) for edge in branch_edges(jump)] == [([], [], ["p"])]


def test_function_and_its_returns():
    text = CFG.replace(
        "  }",
        """
  ^never:
    "strange.unreachable"() : () -> ()
  }""",
    )
    module = parse(text + "\nfunc.func private @declared(i32) -> i32")
    function, declared = children(module)
    assert len(exits(function.regions[0])) == 3
    assert function_body(function) is function.regions[0]
    assert function_body(declared) is None
    assert [names_of(end) for end in returns(function)] == [["p"], ["q"]]
    assert returns(declared) == []
    assert function_body(module) is None


def names_of(op: Operation) -> list[str | None]:
    return [operand.name_hint for operand in op.operands]


def test_call_passes_its_operands():
    module = parse("""
      func.func @f(%x: i32, %y: i32) {
        func.call @g(%y, %x) : (i32, i32) -> ()
        func.return
      }""")
    call = only(module, CallOp)
    trait = call.get_trait(CallLike)
    assert trait is not None
    callee = trait.callee(call)
    assert callee is not None and callee.string_value() == "g"
    assert [v.name_hint for v in trait.arguments(call)] == ["y", "x"]


def test_constant_value_sees_constants_only():
    module = parse("""
      func.func @f(%x: i32) {
        %c = arith.constant 7 : i32
        %s = arith.addi %c, %c : i32
        func.return
      }""")
    assert constant_value(named(module, "c")) == IntegerAttr(7, i32)
    assert constant_value(named(module, "s")) is None
    assert constant_value(named(module, "x")) is None


def test_fold_by_is_a_foldable_trait():
    def same(op: Operation, constants: object) -> list[object]:
        return [op.operands[0]]

    class CopyOp(arith.AddiOp):
        traits = type(arith.AddiOp.traits)(lambda: (FoldBy(same),))

    module = parse("func.func @f(%x: i32) {\n func.return\n }")
    x = named(module, "x")
    trait = CopyOp.get_trait(Foldable)
    assert trait is not None
    assert trait.fold(CopyOp(x, x), [None, None]) == [x]


def test_walk_is_in_textual_order_and_needs_no_stack():
    module = parse(
        "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * 100 + "}\n" * 100 + "func.return\n}"
    )
    assert [op.name for op in walk(module)] == [op.name for op in module.walk()]
    assert len(list(walk(module))) == 1 + 1 + 2 * 100 + 1
