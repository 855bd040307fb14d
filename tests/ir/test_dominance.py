"""Which values may be used where: each kind of fault, and the definition by path enumeration."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, i1, i32
from xdsl.ir import Block, Region

from tests.ir.flow_ops import (
    VALID,
    BranchOp,
    ConditionalBranchOp,
    EndOp,
    PlainOp,
    check,
    first,
    messages,
    named,
    parse,
)
from tilewright.ir.dominance import Dominance, DominatorTree
from tilewright.ir.traversal import walk

NOT_DOMINATING = "operand #0 does not dominate this use"


def test_use_in_front_of_its_definition():
    module = parse("""
      func.func @f(%x: i32) {
        %a = arith.addi %b, %x : i32
        %b = arith.addi %x, %x : i32
        func.return
      }""")
    assert check(module) == [(NOT_DOMINATING, ["operand defined here (op in the same block)"])]


def test_op_that_uses_itself():
    module = parse("""
      func.func @f(%x: i32) {
        %a = arith.addi %x, %a : i32
        func.return
      }""")
    assert check(module) == [
        (
            "operand #1 does not dominate this use",
            ["operand defined here (op in the same block)"],
        )
    ]


def test_region_that_uses_the_results_of_its_own_op():
    module = parse("""
      func.func @f(%x: i32, %c: i1) {
        %a = scf.if %c -> (i32) {
          scf.yield %a : i32
        } else {
          scf.yield %x : i32
        }
        func.return
      }""")
    assert check(module) == [(NOT_DOMINATING, ["operand defined here (op in a parent region)"])]


def test_region_that_uses_what_is_defined_behind_it():
    module = parse("""
      func.func @f(%x: i32, %c: i1) {
        scf.if %c {
          %a = arith.addi %b, %x : i32
        }
        %b = arith.addi %x, %x : i32
        func.return
      }""")
    assert check(module) == [(NOT_DOMINATING, ["operand defined here (op in a parent region)"])]


BRANCHES = """
  func.func @f(%x: i32, %c: i1) {
    scf.if %c {
      %a = arith.addi %x, %x : i32
    } else {
      %b = arith.muli %x, %x : i32
    }
    %d = arith.subi %x, %x : i32
    func.return
  }"""


def test_value_of_another_branch():
    module = parse(BRANCHES)
    first(module, "arith.muli").operands[0] = named(module, "a")
    assert check(module) == [
        (
            NOT_DOMINATING,
            ["operand defined here (op is neither in a parent nor in a child region)"],
        )
    ]


def test_value_that_stays_inside_a_region():
    module = parse(BRANCHES)
    first(module, "arith.subi").operands[0] = named(module, "a")
    assert check(module) == [(NOT_DOMINATING, ["operand defined here (op in a child region)"])]


def test_value_of_a_block_that_may_be_skipped():
    module = parse("""
      func.func @f(%x: i32, %c: i1) {
        cf.cond_br %c, ^a, ^b
      ^a:
        %v = arith.addi %x, %x : i32
        cf.br ^b
      ^b:
        %w = arith.addi %v, %x : i32
        func.return
      }""")
    assert check(module) == [(NOT_DOMINATING, ["operand defined here (op in the same region)"])]


def test_argument_of_a_block_that_may_be_skipped():
    module = parse("""
      func.func @f(%x: i32, %c: i1) {
        cf.cond_br %c, ^a(%x : i32), ^b
      ^a(%v: i32):
        cf.br ^b
      ^b:
        scf.if %c {
          %w = arith.addi %v, %x : i32
        }
        func.return
      }""")
    assert check(module) == [
        (
            NOT_DOMINATING,
            ["operand defined as a block argument (block #1 in a parent region)"],
        )
    ]


def test_argument_of_a_loop_used_behind_it():
    module = parse("""
      func.func @f(%x: i32, %n: index) {
        scf.for %i = %n to %n step %n {
        }
        %a = arith.addi %x, %x : i32
        func.return
      }""")
    first(module, "arith.addi").operands[0] = named(module, "i")
    expected = "operand defined as a block argument (block #0 in a child region)"
    assert (NOT_DOMINATING, [expected]) in check(module)


def test_one_error_per_op_and_the_walk_goes_on():
    module = parse("""
      func.func @f(%x: i32) {
        %a = arith.addi %b, %d : i32
        %b = arith.addi %x, %d : i32
        %d = arith.addi %x, %x : i32
        func.return
      }""")
    assert messages(module) == [NOT_DOMINATING, "operand #1 does not dominate this use"]


def test_blocks_that_never_run_may_use_anything():
    module = parse("""
      func.func @f(%x: i32) {
        func.return
      ^a:
        %v = arith.addi %w, %v : i32
        cf.br ^b
      ^b:
        %w = arith.addi %v, %x : i32
        cf.br ^a
      }""")
    assert check(module) == []


def test_order_counts_again_inside_a_region_of_a_dead_block():
    text = """
      func.func @f(%x: i32, %c: i1) {{
        func.return
      ^a:
        scf.if %c {{
          %u = arith.addi {used}, %x : i32
        }}
        %v = arith.addi %x, %x : i32
        cf.br ^b
      ^b:
        %w = arith.addi %v, %x : i32
        cf.br ^a
      }}"""
    assert messages(parse(text.format(used="%v"))) == [NOT_DOMINATING]
    assert check(parse(text.format(used="%w"))) == []


def test_value_of_a_dead_block_used_by_a_live_one():
    module = parse("""
      func.func @f(%x: i32) {
        cf.br ^b
      ^a:
        %v = arith.addi %x, %x : i32
        cf.br ^b
      ^b:
        %w = arith.addi %v, %x : i32
        func.return
      }""")
    assert messages(module) == [NOT_DOMINATING]


def test_module_and_graph_regions_have_no_order():
    module = parse("""
      %a = arith.addi %b, %b : i32
      %b = arith.constant 1 : i32
      "test.graph"() ({
        %d = arith.addi %e, %a : i32
        %e = arith.addi %d, %d : i32
        "test.end"() : () -> ()
      }) : () -> ()
      "no.such_op"() ({
        %m = arith.addi %o, %o : i32
        %o = arith.addi %m, %m : i32
      }) : () -> ()
    """)
    assert check(module) == []


def test_values_of_a_graph_region_end_with_it():
    module = parse("""
      func.func @f(%x: i32) {
        "test.graph"() ({
          %d = arith.addi %x, %x : i32
          "test.end"() : () -> ()
        }) : () -> ()
        %e = arith.muli %x, %x : i32
        func.return
      }""")
    first(module, "arith.muli").operands[0] = named(module, "d")
    assert check(module) == [(NOT_DOMINATING, ["operand defined here (op in a child region)"])]


def test_isolated_op_that_reaches_out():
    module = parse("""
      func.func @f(%x: i32) {
        "test.isolated"() ({
          %a = arith.constant 1 : i32
          "test.op"() ({
            %b = arith.addi %a, %a : i32
            "test.end"() : () -> ()
          }) : () -> ()
          "test.end"() : () -> ()
        }) : () -> ()
        %behind = arith.muli %x, %x : i32
        func.return
      }""")
    assert check(module) == []
    first(module, "arith.addi").operands[1] = named(module, "x")
    assert check(module) == [
        (
            "'arith.addi' op using value defined outside the region",
            ["required by region isolation constraints"],
        )
    ]


def test_isolated_op_that_uses_its_own_result():
    module = parse("""
      %r = "test.isolated"() ({
        %a = arith.addi %r, %r : i32
        "test.end"() : () -> ()
      }) : () -> i32""")
    assert messages(module) == ["'arith.addi' op using value defined outside the region"]


def test_erased_value():
    module = parse(BRANCHES)
    b = named(module, "b")
    first(module, "arith.subi").operands[1] = b
    b.erase(safe_erase=False)
    assert messages(module) == ["'arith.subi' op operand #1 was erased while in use"]


def test_part_of_a_module_may_use_values_around_it():
    module = parse("""
      func.func @f(%x: i32, %c: i1) {
        %a = arith.addi %x, %x : i32
        scf.if %c {
          %b = arith.muli %a, %d : i32
        }
        %d = arith.addi %x, %x : i32
        func.return
      }""")
    assert messages(first(module, "scf.if")) == ["operand #1 does not dominate this use"]


# Dominance against its definition.

MAX_BLOCKS = 6


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    """Successors of each block; block 0 is the entry, which nothing jumps to."""
    count = draw(st.integers(1, MAX_BLOCKS))
    targets = st.integers(1, count - 1) if count > 1 else st.nothing()
    return [draw(st.lists(targets, max_size=2 if count > 1 else 0)) for _ in range(count)]


def simple_paths(graph: list[list[int]], goal: int) -> list[list[int]]:
    """All paths from block 0 to ``goal`` that visit no block twice."""
    found: list[list[int]] = []
    pending = [[0]]
    while pending:
        path = pending.pop()
        if path[-1] == goal:
            found.append(path)
            continue
        pending.extend([*path, succ] for succ in graph[path[-1]] if succ not in path)
    return found


def dominates_by_definition(graph: list[list[int]], a: int, b: int) -> bool:
    return all(a in path for path in simple_paths(graph, b)) or a == b


def build(graph: list[list[int]]) -> tuple[func.FuncOp, list[Block]]:
    """A function with one value and one use per block, and these jumps."""
    blocks = [Block() for _ in graph]
    blocks[0].insert_arg(i1, 0)
    condition = blocks[0].args[0]
    for block, successors in zip(blocks, graph, strict=True):
        block.add_op(arith.ConstantOp.from_int_and_width(1, i32))
        block.add_op(PlainOp.create())
        match [blocks[s] for s in successors]:
            case []:
                block.add_op(func.ReturnOp())
            case [target]:
                block.add_op(BranchOp(target))
            case [left, right]:
                block.add_op(ConditionalBranchOp(condition, left, (), right, ()))
    return func.FuncOp("f", ([i1], []), Region(blocks)), blocks


@given(graphs())
def test_dominator_tree_matches_path_enumeration(graph: list[list[int]]):
    function, blocks = build(graph)
    tree = DominatorTree(function.body)
    for a, b in itertools.product(range(len(graph)), repeat=2):
        expected = dominates_by_definition(graph, a, b)
        assert tree.dominates(blocks[a], blocks[b]) == expected, (a, b)
        assert tree.is_reachable(blocks[b]) == bool(simple_paths(graph, b))


def test_dominators_of_an_irreducible_graph_need_several_rounds():
    # Figure 4 of the paper that the algorithm is from.
    function, blocks = build([[1, 2], [3], [4, 5], [4], [3, 5], [4]])
    tree = DominatorTree(function.body)
    assert [tree.immediate_dominator(block) for block in blocks] == [None] + [blocks[0]] * 5


@given(graphs())
def test_immediate_dominator_is_the_closest(graph: list[list[int]]):
    function, blocks = build(graph)
    tree = DominatorTree(function.body)
    for b, block in enumerate(blocks):
        if b == 0 or not simple_paths(graph, b):
            assert tree.immediate_dominator(block) is None
            continue
        strict = [a for a in range(len(graph)) if a != b and dominates_by_definition(graph, a, b)]
        strict = [a for a in strict if simple_paths(graph, a)]
        closest = [a for a in strict if all(dominates_by_definition(graph, o, a) for o in strict)]
        assert tree.immediate_dominator(block) is blocks[closest[0]]


@given(graphs(), st.integers(0, MAX_BLOCKS - 1), st.integers(0, MAX_BLOCKS - 1), st.booleans())
def test_verifier_matches_path_enumeration(
    graph: list[list[int]], defined: int, used: int, nested: bool
):
    defined, used = defined % len(graph), used % len(graph)
    function, blocks = build(graph)
    value = blocks[defined].first_op
    assert value is not None and value.next_op is not None
    user = blocks[used].first_op
    assert user is not None and user.next_op is not None
    user = user.next_op
    if nested:
        inner = PlainOp.create()
        user.add_region(Region(Block([inner, EndOp.create()])))
        user = inner
    user.operands = value.results
    expected = dominates_by_definition(graph, defined, used)
    assert Dominance().dominates(value.results[0], user) == expected
    found = messages(ModuleOp([function]))
    assert found == ([] if expected else [NOT_DOMINATING])


# Every valid use, made invalid.


def test_every_operand_replaced_by_a_later_value_is_noticed():
    count = 0
    while True:
        module = parse(VALID)
        function = [op for op in walk(module) if op.name == "func.func"][1]
        spots = [(op, i) for op in walk(function) for i in range(len(op.operands))]
        if count == len(spots):
            break
        op, index = spots[count]
        late = PlainOp.create(result_types=[op.operands[index].type])
        last = function.regions[0].blocks[-1].last_op
        assert last is not None and last.parent is not None
        last.parent.insert_op_before(late, last)
        if op is not last:
            op.operands[index] = late.results[0]
            expected = [f"operand #{index} does not dominate this use"]
            assert messages(module) == expected, (op.name, index)
        count += 1
    assert count > 15
