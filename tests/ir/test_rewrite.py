"""Locations and names survive every change; the greedy driver folds, rewrites and cleans up."""

import inspect
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, OpTraits, Region, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.rewriter import InsertPoint
from xdsl.traits import (
    EffectInstance,
    MemoryAllocEffect,
    MemoryEffect,
    MemoryEffectKind,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
    RecursiveMemoryEffect,
)

from tests.ir.flow_ops import AnyOp, EndOp, IfOp, PlainOp, named, parse
from tilewright.ir.effects import is_dead, is_removable
from tilewright.ir.interfaces import FoldBy
from tilewright.ir.rewrite import (
    RewriteListener,
    RewritePattern,
    Rewriter,
    RewriteResult,
    apply_patterns,
    inherit_location,
    pattern,
)
from tilewright.ir.traversal import walk


def at(line: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("kernel.py"), IntAttr(line), IntAttr(1))


def line_of(op: Operation) -> int | None:
    return op.location.line.data if isinstance(op.location, FileLineColLoc) else None


def numbered(text: str) -> ModuleOp:
    """A module whose ops have lines 1, 2, ... in textual order."""
    module = parse(text)
    for line, op in enumerate(walk(module), 1):
        op.location = at(line)
    return module


def first(module: Operation, name: str) -> Operation:
    return next(op for op in walk(module) if op.name == name)


def body(module: ModuleOp) -> list[str]:
    """Names of the ops of the first function."""
    function = module.body.block.first_op
    assert function is not None
    return [op.name for op in function.regions[0].block.ops]


# Module 1, function 2, addi 3, muli 4, return 5.
SIMPLE = """
  func.func @f(%x: i32, %y: i32) -> i32 {
    %sum = arith.addi %x, %y : i32
    %product = arith.muli %sum, %y : i32
    func.return %product : i32
  }"""


class Log(RewriteListener):
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def inserted(self, op: Operation) -> None:
        self.events.append(("inserted", op.name))

    def modified(self, op: Operation) -> None:
        self.events.append(("modified", op.name))

    def removing(self, op: Operation) -> None:
        assert op.parent is not None
        self.events.append(("removing", op.name))


# The rewriter.


def test_replacement_has_the_location_and_the_name():
    module = numbered(SIMPLE)
    old = first(module, "arith.addi")
    log = Log()
    rewriter = Rewriter(log)
    new = arith.SubiOp(*old.operands)
    assert not rewriter.changed
    rewriter.replace_op(old, new)
    assert rewriter.changed
    assert line_of(new) == 3
    assert new.result.name_hint == "sum"
    assert first(module, "arith.muli").operands[0] is new.result
    assert body(module) == ["arith.subi", "arith.muli", "func.return"]
    assert log.events == [
        ("inserted", "arith.subi"),
        ("modified", "arith.muli"),
        ("removing", "arith.addi"),
    ]


def test_another_type_for_a_result_and_an_argument():
    module = numbered(SIMPLE)
    add = first(module, "arith.addi")
    log = Log()
    rewriter = Rewriter(log)
    new = rewriter.retype(add.results[0], i1)
    assert rewriter.changed
    assert add.results[0] is new
    assert (new.type, new.name_hint) == (i1, "sum")
    assert first(module, "arith.muli").operands[0] is new
    block = add.parent
    assert block is not None
    block.args[1].location = at(12)
    argument = rewriter.retype(block.args[1], i1)
    assert block.args[1] is argument
    assert (argument.type, block.args[1].location) == (i1, at(12))
    assert add.operands[1] is argument
    assert log.events == [
        ("modified", "arith.muli"),
        ("modified", "arith.muli"),
        ("modified", "arith.addi"),
    ]


def test_own_location_and_own_name_are_kept():
    module = numbered(SIMPLE)
    old = first(module, "arith.addi")
    new = arith.SubiOp(*old.operands)
    new.location = at(77)
    new.result.name_hint = "difference"
    Rewriter().replace_op(old, new)
    assert (line_of(new), new.result.name_hint) == (77, "difference")


def test_several_ops_for_one():
    module = numbered(SIMPLE)
    old = first(module, "arith.muli")
    two = arith.ConstantOp.from_int_and_width(2, i32)
    shift = arith.ShLIOp(old.operands[0], two)
    Rewriter().replace_op(old, [two, shift])
    assert body(module) == ["arith.addi", "arith.constant", "arith.shli", "func.return"]
    assert [line_of(op) for op in (two, shift)] == [4, 4]
    assert shift.result.name_hint == "product"
    assert two.result.name_hint is None


def test_replacement_by_existing_values():
    module = numbered(SIMPLE)
    old = first(module, "arith.muli")
    Rewriter().replace_op(old, (), [old.operands[0]])
    assert body(module) == ["arith.addi", "func.return"]
    assert first(module, "func.return").operands[0] is named(module, "sum")


def test_replacement_with_a_wrong_number_of_results_changes_nothing():
    module = numbered(SIMPLE)
    old = first(module, "arith.muli")
    with pytest.raises(ValueError, match=r"'arith.muli' has 1 results, replacement has 0"):
        Rewriter().replace_op(old, ())
    assert body(module) == ["arith.addi", "arith.muli", "func.return"]


def test_location_reaches_into_the_regions_of_a_new_op():
    module = numbered(SIMPLE)
    old = first(module, "arith.addi")
    known = PlainOp.create(location=at(50))
    fresh = PlainOp.create()
    inner = Block([known, fresh, EndOp.create()], arg_types=[i32, i32])
    inner.args[1].location = at(60)
    new = PlainOp.create(result_types=[i32], regions=[Region(inner)])
    Rewriter().replace_op(old, new)
    assert [line_of(op) for op in walk(new)] == [3, 50, 3, 3]
    assert [arg.location for arg in inner.args] == [at(3), at(60)]


def test_unknown_location_spreads_nothing():
    op = PlainOp.create()
    inherit_location(op, UnknownLoc())
    assert op.location == UnknownLoc()


def test_insertion_takes_the_location_of_the_op_it_is_for():
    module = numbered(SIMPLE)
    anchor, other = first(module, "arith.muli"), first(module, "func.return")
    ops = [PlainOp.create() for _ in range(4)]
    rewriter = Rewriter()
    rewriter.insert_before(anchor, ops[0])
    rewriter.insert_after(anchor, [ops[1], ops[2]])
    rewriter.insert_before(anchor, ops[3], origin=other)
    assert [line_of(op) for op in ops] == [4, 4, 4, 5]
    function = first(module, "func.func")
    assert [op for op in function.regions[0].block.ops if op.name == "test.op"] == [
        ops[0],
        ops[3],
        ops[1],
        ops[2],
    ]


def test_insertion_at_the_end_of_a_block():
    module = numbered(SIMPLE)
    block = first(module, "func.func").regions[0].block
    op = PlainOp.create()
    Rewriter().insert(op, InsertPoint.at_end(block))
    assert block.last_op is op
    assert line_of(op) == 5
    empty = Block()
    first(module, "func.func").regions[0].add_block(empty)
    alone = PlainOp.create()
    Rewriter().insert(alone, InsertPoint.at_end(empty))
    assert line_of(alone) == 2


def test_used_op_is_not_erased():
    module = numbered(SIMPLE)
    rewriter = Rewriter()
    with pytest.raises(ValueError, match=r"'arith.addi' is erased while its results are used"):
        rewriter.erase(first(module, "arith.addi"))
    assert body(module) == ["arith.addi", "arith.muli", "func.return"]


def test_move():
    module = numbered(SIMPLE)
    addi, muli = first(module, "arith.addi"), first(module, "arith.muli")
    muli.operands[0] = named(module, "x")
    rewriter = Rewriter()
    rewriter.move(addi, InsertPoint.before(addi))
    assert not rewriter.changed
    rewriter.move(addi, InsertPoint.after(muli))
    assert rewriter.changed
    assert body(module) == ["arith.muli", "arith.addi", "func.return"]
    assert line_of(addi) == 3


# Module 1, function 2, if 3, addi 4, yield 5, yield 6, return 7.
BRANCH = """
  func.func @f(%x: i32, %c: i1) -> i32 {
    %r = scf.if %c -> (i32) {
      %s = arith.addi %x, %x : i32
      scf.yield %s : i32
    } else {
      scf.yield %x : i32
    }
    func.return %r : i32
  }"""


def test_op_replaced_by_one_of_its_blocks():
    module = numbered(BRANCH)
    branch = first(module, "scf.if")
    Rewriter().replace_with_block(branch, branch.regions[0].block)
    assert body(module) == ["arith.addi", "func.return"]
    assert line_of(first(module, "arith.addi")) == 4
    assert first(module, "func.return").operands[0] is named(module, "s")
    module.verify()


def test_inlined_block_gets_values_for_its_arguments():
    module = numbered("""
      func.func @f(%x: i32, %n: index) -> i32 {
        %r = scf.for %i = %n to %n step %n iter_args(%acc = %x) -> (i32) {
          %s = arith.addi %acc, %x : i32
          scf.yield %s : i32
        }
        func.return %r : i32
      }""")
    loop = first(module, "scf.for")
    n, x = named(module, "n"), named(module, "x")
    with pytest.raises(ValueError, match="block has 2 arguments, given 1"):
        Rewriter().replace_with_block(loop, loop.regions[0].block, [n])
    Rewriter().replace_with_block(loop, loop.regions[0].block, [n, x])
    assert body(module) == ["arith.addi", "func.return"]
    assert list(first(module, "arith.addi").operands) == [x, x]
    module.verify()


# The greedy driver.


def make_constant(value: Attribute, type_: Attribute) -> Operation | None:
    return arith.ConstantOp(value) if isinstance(value, IntegerAttr) else None


def fold_add(
    op: Operation, constants: Sequence[Attribute | None]
) -> list[SSAValue | Attribute] | None:
    left, right = constants
    if isinstance(left, IntegerAttr) and isinstance(right, IntegerAttr):
        return [IntegerAttr(left.value.data + right.value.data, i32)]
    if isinstance(right, IntegerAttr) and right.value.data == 0:
        return [op.operands[0]]
    return None


class AddOp(arith.AddiOp):
    traits = OpTraits(lambda: (Pure(), FoldBy(fold_add)))


def constant(value: int) -> arith.ConstantOp:
    return arith.ConstantOp.from_int_and_width(value, i32)


def chain(*numbers: int) -> tuple[ModuleOp, Block]:
    """``x + n0 + n1 + ...`` in a function that returns it; ops carry lines 10, 11, ..."""
    block = Block(arg_types=[i32])
    value: SSAValue = block.args[0]
    for number in numbers:
        block.add_op(c := constant(number))
        block.add_op(add := AddOp(value, c.result))
        value = add.result
    block.add_op(func.ReturnOp(value))
    for line, op in enumerate(block.ops, 10):
        op.location = at(line)
    return ModuleOp([func.FuncOp("f", ([i32], [i32]), Region(block))]), block


def test_folding_to_an_existing_value_leaves_nothing_behind():
    module, block = chain(0, 0, 0)
    result = apply_patterns(module, [])
    assert [op.name for op in block.ops] == ["func.return"]
    assert block.last_op is not None and block.last_op.operands[0] is block.args[0]
    assert result == RewriteResult(changed=True, converged=True, rewrites=6)


def test_folding_to_a_constant_keeps_the_location():
    block = Block()
    ops = [constant(2), constant(3)]
    block.add_ops(ops)
    block.add_op(add := AddOp(ops[0], ops[1]))
    add.location = at(42)
    add.result.name_hint = "five"
    block.add_op(func.ReturnOp(add))
    module = ModuleOp([func.FuncOp("f", ([], [i32]), Region(block))])
    assert not apply_patterns(module, []).changed  # no way to make a constant
    assert apply_patterns(module, [], materialize=make_constant).changed
    five, _ = block.ops
    assert isinstance(five, arith.ConstantOp)
    assert five.value == IntegerAttr(5, i32)
    assert (line_of(five), five.result.name_hint) == (42, "five")


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_folding_computes_the_sum(numbers: list[int]):
    module, block = chain(*numbers)
    first_op = block.first_op
    assert first_op is not None
    zero = constant(0)
    block.insert_op_before(zero, first_op)
    block.args[0].replace_all_uses_with(zero.result)
    assert apply_patterns(module, [], materialize=make_constant).converged
    total, end = block.ops
    assert isinstance(total, arith.ConstantOp)
    assert total.value == IntegerAttr(sum(numbers), i32)
    assert end.operands[0] is total.result


def test_constants_are_not_folded_for_ever():
    class FoldingConstant(arith.ConstantOp):
        traits = OpTraits(
            lambda: (*arith.ConstantOp.traits, FoldBy(lambda op, _: [op.properties["value"]]))
        )

    block = Block([c := FoldingConstant(IntegerAttr(1, i32)), func.ReturnOp(c)])
    module = ModuleOp([func.FuncOp("f", ([], [i32]), Region(block))])
    result = apply_patterns(module, [], materialize=make_constant)
    assert result == RewriteResult(changed=False, converged=True, rewrites=0)


def test_patterns_are_tried_by_benefit_then_in_order():
    tried: list[str] = []

    class Note(RewritePattern[arith.AddiOp]):
        roots = (arith.AddiOp,)

        def __init__(self, name: str, benefit: int = 1):
            self.name = name
            self.benefit = benefit

        def match_and_rewrite(self, op: arith.AddiOp, rewriter: Rewriter) -> None:
            tried.append(self.name)

    result = apply_patterns(numbered(SIMPLE), [Note("a"), Note("b"), Note("best", 5)])
    assert tried == ["best", "a", "b"]
    assert result == RewriteResult(changed=False, converged=True, rewrites=0)


def test_patterns_see_the_ops_they_name():
    seen: dict[str, list[str]] = {"class": [], "base": [], "name": [], "all": []}

    class ByName(RewritePattern):
        roots = ("arith.muli",)

        def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> None:
            seen["name"].append(op.name)

    class All(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> None:
            seen["all"].append(op.name)

    @pattern(arith.AddiOp, func.ReturnOp)
    def by_class(op: Operation, rewriter: Rewriter) -> None:
        seen["class"].append(op.name)

    @pattern(arith.SignlessIntegerBinaryOperation)
    def by_base(op: Operation, rewriter: Rewriter) -> None:
        seen["base"].append(op.name)

    apply_patterns(numbered(SIMPLE), [ByName(), All(), by_class, by_base])
    assert seen == {
        "class": ["arith.addi", "func.return"],
        "base": ["arith.addi", "arith.muli"],
        "name": ["arith.muli"],
        "all": ["func.func", "arith.addi", "arith.muli", "func.return"],
    }


def test_new_ops_and_users_are_visited_again():
    @pattern(arith.AddiOp)
    def to_sub(op: arith.AddiOp, rewriter: Rewriter) -> None:
        rewriter.replace_op(op, arith.SubiOp(op.lhs, op.rhs))

    @pattern(arith.SubiOp)
    def to_xor(op: arith.SubiOp, rewriter: Rewriter) -> None:
        rewriter.replace_op(op, arith.XOrIOp(op.lhs, op.rhs))

    @pattern(arith.MuliOp)
    def follow(op: arith.MuliOp, rewriter: Rewriter) -> None:
        if op.lhs.owner is not None and isinstance(op.lhs.owner, arith.XOrIOp):
            rewriter.replace_op(op, arith.AndIOp(op.lhs, op.rhs))

    module = numbered(SIMPLE)
    result = apply_patterns(module, [follow, to_sub, to_xor])
    assert body(module) == ["arith.xori", "arith.andi", "func.return"]
    assert [line_of(op) for op in walk(module)] == [1, 2, 3, 4, 5]
    assert [v.name_hint for op in walk(module) for v in op.results] == ["sum", "product"]
    assert result == RewriteResult(changed=True, converged=True, rewrites=3)


def test_change_in_place_is_a_change():
    @pattern(arith.AddiOp)
    def swap(op: arith.AddiOp, rewriter: Rewriter) -> None:
        if op.lhs.name_hint == "x":
            op.operands = [op.rhs, op.lhs]
            rewriter.modified(op)

    module = numbered(SIMPLE)
    assert apply_patterns(module, [swap]) == RewriteResult(True, True, 1)
    assert [v.name_hint for v in first(module, "arith.addi").operands] == ["y", "x"]


def test_patterns_that_undo_each_other_are_stopped():
    @pattern(arith.AddiOp)
    def there(op: arith.AddiOp, rewriter: Rewriter) -> None:
        rewriter.replace_op(op, arith.SubiOp(op.lhs, op.rhs))

    @pattern(arith.SubiOp)
    def back(op: arith.SubiOp, rewriter: Rewriter) -> None:
        rewriter.replace_op(op, arith.AddiOp(op.lhs, op.rhs))

    result = apply_patterns(numbered(SIMPLE), [there, back], max_iterations=3)
    assert not result.converged
    assert 0 < result.rewrites <= 3 * 5


def test_erasing_a_region_forgets_the_ops_inside():
    visited: list[str] = []

    @pattern(IfOp)
    def drop(op: IfOp, rewriter: Rewriter) -> None:
        rewriter.replace_with_block(op, op.regions[1].block)

    @pattern(arith.AddiOp)
    def note(op: arith.AddiOp, rewriter: Rewriter) -> None:
        assert op.parent is not None
        visited.append(op.name)

    module = numbered(BRANCH)
    assert apply_patterns(module, [drop, note]).converged
    assert visited == []
    assert body(module) == ["func.return"]


def test_only_the_inside_of_the_root_is_touched():
    module = numbered(BRANCH)
    branch = first(module, "scf.if")
    extra = constant(1)
    assert branch.parent is not None
    branch.parent.insert_op_before(extra, branch)
    first(module, "arith.addi").operands[1] = extra.result

    @pattern(arith.AddiOp)
    def simplify(op: arith.AddiOp, rewriter: Rewriter) -> None:
        rewriter.replace_op(op, (), [op.lhs])

    assert apply_patterns(branch, [simplify]).rewrites == 1
    assert body(module) == ["arith.constant", "scf.if", "func.return"]


def test_deep_nesting_needs_no_deep_stack():
    block = Block(arg_types=[i1])
    condition = block.args[0]
    function = func.FuncOp("f", ([i1], []), Region(block))
    for _ in range(300):
        inner = Block()
        block.add_ops(
            [PlainOp.create(operands=[condition], regions=[Region(inner)]), EndOp.create()]
        )
        block = inner
    block.add_ops([constant(3), EndOp.create()])
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack()) + 100)
        result = apply_patterns(ModuleOp([function]), [])
    finally:
        sys.setrecursionlimit(limit)
    assert result.rewrites == 1


# Effects.


class OwnAllocation(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


class ForeignAllocation(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, OUTSIDE.args[0])}


OUTSIDE = Block(arg_types=[i32])


class Undecided(MemoryEffect):
    @classmethod
    def get_effects(cls, op: Operation) -> None:
        return None


def op_with(*traits: MemoryEffect) -> type[AnyOp]:
    @irdl_op_definition
    class EffectOp(AnyOp):
        name = "test.effect"

    EffectOp.traits = traits_def(*traits)
    return EffectOp


@pytest.mark.parametrize(
    ("traits", "removable"),
    [
        ((Pure(),), True),
        ((MemoryReadEffect(),), True),
        ((OwnAllocation(),), True),
        ((OwnAllocation(), MemoryReadEffect()), True),
        ((ForeignAllocation(),), False),
        ((MemoryAllocEffect(),), False),
        ((MemoryWriteEffect(),), False),
        ((MemoryReadEffect(), MemoryWriteEffect()), False),
        ((Undecided(),), False),
        ((), False),
    ],
)
def test_what_can_be_removed(traits: tuple[MemoryEffect, ...], removable: bool):
    cls = op_with(*traits)
    op = cls.create(result_types=[i32])
    user = cls.create(operands=op.results, result_types=[i32])
    assert is_removable(op) == is_removable(user) == removable
    assert not is_dead(op)
    assert is_dead(user) == removable
    # Inside an op that has the effects of its regions, the same holds of that op.
    outer = op_with(RecursiveMemoryEffect()).create(regions=[Region(Block([op, user]))])
    assert is_removable(outer) == removable
    block = Block([outer, EndOp.create()])
    module = ModuleOp([PlainOp.create(regions=[Region(block)])])
    apply_patterns(module, [])
    assert [op.name for op in block.ops] == (
        ["test.end"] if removable else ["test.effect", "test.end"]
    )


def test_dead_chain_goes_in_one_sweep():
    module, block = chain(1, 2, 3)
    end = block.last_op
    assert end is not None
    end.operands[0] = block.args[0]
    assert apply_patterns(module, [], max_iterations=1).rewrites == 6
    assert [op.name for op in block.ops] == ["func.return"]


def test_dead_ops_can_be_kept():
    module, block = chain(1)
    block.add_op(constant(9))
    last = block.last_op
    assert last is not None
    assert not apply_patterns(module, [], remove_dead=False).changed
    assert block.last_op is last
