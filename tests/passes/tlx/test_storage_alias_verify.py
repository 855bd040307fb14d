"""What can still be said about a lowered module when other passes, or people, have changed it."""

import time
from textwrap import dedent

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from tests.passes.pass_support import parse
from tests.passes.tlx.storage_alias_support import lower
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.tlx import LocalAliasOp
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.passes import PASSES
from tilewright.passes.tlx.storage_alias.evidence import verify_module

TYPES = """\
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!first = !ttg.memdesc<1x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
"""

INDEXED = """\
%spec = tlx.storage_alias_spec storage = smem : !spec
%a = tlx.storage_alias_local_alloc %spec : !spec -> !a
%b = tlx.storage_alias_local_alloc %spec : !spec -> !a
%g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
%c4 = arith.constant 4 : i32
%k = {index}
%x = ttg.memdesc_index %b[%k] : !a -> !one
tlx.dump_layout %x : !one
"""


def function(body: str) -> ModuleOp:
    return parse(f"{TYPES}module {{\ntt.func @f(%i: i32) {{\n{dedent(body)}\ntt.return\n}}\n}}")


def lowered(index: str, passes: str = "") -> ModuleOp:
    """``distinct(a, b)``, lowered and worked over by `passes`; the index of %b is 2*k + 1."""
    module = function(INDEXED.format(index=index))
    engine = lower(module)
    if passes:
        Pipeline.build(parse_pipeline(passes), PASSES).run(module, engine)
    assert engine.diagnostics == []
    return module


def verdict(module: ModuleOp) -> tuple[int, int]:
    """How many faults, how many indices that were not analysed."""
    result = verify_module(module)
    return len(result.faults), len(result.unknown)


def index_op(module: ModuleOp) -> MemDescIndexOp:
    return next(op for op in walk(module) if isinstance(op, MemDescIndexOp))


@pytest.mark.parametrize("passes", ["", "canonicalize", "cse", "canonicalize,cse"])
@pytest.mark.parametrize(
    "index", ["arith.addi %i, %c4 : i32", "arith.remui %i, %c4 : i32", "arith.constant 1 : i32"]
)
def test_indices_are_analysed_after_other_passes(index: str, passes: str):
    assert verdict(lowered(index, passes)) == (0, 0)


def test_a_factor_that_was_folded_in_is_not_judged():
    """2 * (4 * i) has become 8 * i; nobody can tell it from a factor that is wrong."""
    module = lowered("arith.muli %i, %c4 : i32", "canonicalize")
    numbers = [
        op.properties["value"].value.data for op in walk(module) if isinstance(op, ConstantOp)
    ]
    assert sorted(numbers) == [1, 8]
    assert verdict(module) == (0, 1)


@pytest.mark.parametrize(
    ("slot", "faults", "unknown"), [(0, 1, 0), (1, 0, 0), (2, 1, 0), (5, 0, 1)]
)
def test_constant_slots(slot: int, faults: int, unknown: int):
    """%b has slots 1 and 3. Slot 5 is what its index 2 comes to, which is out of bounds."""
    module = lowered("arith.constant 1 : i32", "canonicalize")
    (constant,) = [op for op in walk(module) if isinstance(op, ConstantOp)]
    assert constant.properties["value"] == IntegerAttr(3, i32)
    constant.properties["value"] = IntegerAttr(slot, i32)
    assert verdict(module) == (faults, unknown)


def test_an_author_s_addition_that_was_folded_in_is_no_fault():
    """In a partition the folded constant stands where lowering would have written its own."""
    module = function("""\
        %spec = tlx.storage_alias_spec storage = smem : !spec
        %a = tlx.storage_alias_local_alloc %spec : !spec -> !first
        %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
        %c = tlx.storage_alias_local_alloc %spec : !spec -> !first
        %bs = tlx.reuse_group(%b) group_kind = shared, group_size = 2 : (!a) -> !tlx.reuse_group<shared>
        %g = tlx.reuse_group(%a, %bs, %c) group_kind = distinct : (!first, !tlx.reuse_group<shared>, !first) -> !tlx.reuse_group<distinct>
        tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
        ttg.warp_specialize(%b, %i) attributes {requestedRegisters = array<i32: 24>}
        default {
          ttg.warp_yield
        }
        partition0(%x: !a, %j: i32) num_warps(4) {
          %c1 = arith.constant 1 : i32
          %k = arith.addi %j, %c1 : i32
          %v = ttg.memdesc_index %x[%k] : !a -> !one
          tlx.dump_layout %v : !one
          ttg.warp_return
        } : (!a, i32) -> ()
        """)
    engine = lower(module)
    Pipeline.build(parse_pipeline("canonicalize"), PASSES).run(module, engine)
    assert verdict(module) == (0, 1)


def test_an_index_that_was_not_rewritten_is_not_passed_over():
    """The pass warns without being asked; the lowering's own proof would be an error."""
    module = lowered("arith.addi %i, %c4 : i32")
    op = index_op(module)
    op.operands[1] = next(
        other.results[0]
        for other in walk(module)
        if other.name == "arith.addi" and other.operands[0].name_hint == "i"
    )
    assert verdict(module) == (0, 1)
    engine = DiagnosticEngine()
    Pipeline.build(parse_pipeline("tlx-verify-storage-alias"), PASSES).run(module, engine)
    (warning,) = engine.diagnostics
    assert warning.message == "index arithmetic was changed since lowering; not analysed"
    assert warning.code == "TW5057"


def test_a_view_that_lost_its_record_is_a_fault():
    module = lowered("arith.addi %i, %c4 : i32")
    first = next(op for op in walk(module) if isinstance(op, LocalAliasOp))
    del first.attributes["tlx.placement"]
    (fault,) = verify_module(module).faults
    assert (fault.op, fault.message) == (
        first,
        "view without a placement record, unlike others of its allocation",
    )


def test_a_count_that_is_made_up_is_not_gone_through():
    module = lowered("arith.addi %i, %c4 : i32")
    text = print_module(module).replace("count = 2 : i64", "count = 1000000000000 : i64")
    start = time.process_time()
    faults = verify_module(parse(text)).faults
    assert time.process_time() - start < 5
    assert faults[0].message == "'a' has 3 slots, its placement requires 1999999999999"
