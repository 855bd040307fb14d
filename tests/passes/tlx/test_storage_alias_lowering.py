"""``tlx-storage-alias-lowering``: what it leaves alone, in which order it stops, what it records.

Placements and diagnostics are in ``tests/lit/tlx``; random trees in ``test_storage_alias_random``.
"""

import time
from itertools import product
from pathlib import Path
from textwrap import dedent

import pytest
from xdsl.dialects.builtin import DenseArrayBase, Float16Type, ModuleOp, i64

from tests.passes.pass_support import CORPUS, parse
from tests.passes.tlx.storage_alias_support import Group, Leaf, lower, module_of
from tests.sampling import every
from tilewright.dialects.tlx import LocalAliasOp, StorageAliasSpecOp
from tilewright.dialects.ttg.shared import SwizzledSharedEncoding
from tilewright.dialects.ttg.types import SHARED_MEMORY, MemDescType
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.memory import RULES, IndexMap, Level, PlanResult, ReuseKind
from tilewright.passes.tlx.storage_alias.collect import collect
from tilewright.passes.tlx.storage_alias.evidence import verify_module
from tilewright.passes.tlx.storage_alias.indices import IndexResult, judge, rewrite_index
from tilewright.passes.tlx.storage_alias.liveness import live_ranges
from tilewright.passes.tlx.storage_alias.materialise import shape_problems
from tilewright.passes.tlx.storage_alias.messages import code_of
from tilewright.passes.tlx.storage_alias.planning import Planned
from tilewright.passes.tlx.storage_alias.record import (
    PathGuarantee,
    RecordError,
    TreeStep,
    Way,
    guarantee_of,
    read_record,
)

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "storage_alias").glob("*.mlir"))

TYPES = """\
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!a = !ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>
!one = !ttg.memdesc<64x64xf32, #shared, #smem, mutable>
"""


def function(body: str, arguments: str = "") -> ModuleOp:
    return parse(
        f"{TYPES}module {{\ntt.func private @g(!a)\n"
        f"tt.func @f({arguments}) {{\n{dedent(body)}\ntt.return\n}}\n}}"
    )


PAIR = """\
%spec = tlx.storage_alias_spec storage = smem : !spec
%a = tlx.storage_alias_local_alloc %spec : !spec -> !a
%b = tlx.storage_alias_local_alloc %spec : !spec -> !a
%g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
"""


def messages(engine: DiagnosticEngine) -> list[str]:
    return [diagnostic.message for diagnostic in engine.diagnostics]


# -- what is left alone --------------------------------------------------------------------------


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_module_without_specs_is_untouched(path: Path):
    module = parse(path.read_text())
    before = print_module(module, locations=True)
    for options in ({}, {"placement": "explicit"}, {"infer_overlap": True, "report": True}):
        assert messages(lower(module, **options)) == []
    assert print_module(module, locations=True) == before


@pytest.mark.parametrize(
    ("path", "placement"),
    every(3, product(EXAMPLES, ["reindex", "explicit"])),
    ids=lambda each: each.stem if isinstance(each, Path) else each,
)
def test_lowering_twice_is_lowering_once(path: Path, placement: str):
    module = parse(path.read_text())
    assert messages(lower(module, placement=placement)) == []
    once = print_module(module, locations=True)
    assert messages(lower(module, placement=placement)) == []
    assert print_module(module, locations=True) == once


def test_aliases_without_a_spec_are_left_to_the_rewriting_pass():
    module = function("%a = ttg.local_alloc : () -> !a\n%b = tlx.local_alias %a : !a -> !a")
    before = print_module(module)
    assert messages(lower(module)) == []
    assert print_module(module) == before


# -- order of steps ------------------------------------------------------------------------------


def test_only_the_first_failing_step_is_heard():
    """A size that is too small (step 1) comes before an order that does not work (step 3)."""
    bad_order = """\
    %s = tlx.storage_alias_spec storage = smem : !spec
    %x = tlx.storage_alias_local_alloc %s : !spec -> !ttg.memdesc<2x64x32xf32, #shared, #smem, mutable>
    %y = tlx.storage_alias_local_alloc %s : !spec -> !a
    %h = tlx.reuse_group(%x, %y) group_kind = distinct : (!ttg.memdesc<2x64x32xf32, #shared, #smem, mutable>, !a) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%s, %h) : (!spec, !tlx.reuse_group<distinct>) -> ()
    """
    too_small = PAIR.replace("storage = smem", "storage = smem, size = 128")
    (message,) = messages(lower(function(too_small + dedent(bad_order))))
    assert "too small" in message
    assert {found[:12] for found in messages(lower(function(bad_order)))} == {
        "units_betwee",
        "buffer_offse",
    }


def test_nothing_is_changed_when_something_is_wrong():
    module = function(PAIR + "tt.call @g(%b) : (!a) -> ()")
    before = print_module(module)
    assert messages(lower(module)) == [RULES["E11"].text]
    after = print_module(module)
    # Step 1 has left its sizes on the spec; all ops are still there.
    assert after.replace(", size = 65536 {buffer_shape = array<i64: 65536>}", "") == before


def test_step_three_needs_step_one():
    """E5 and the ranks of shapes: what only a broken pipeline could meet."""
    spec = collect(function(PAIR)).specs[0]
    planned = Planned(spec, PlanResult(None, ()))
    (problem,) = shape_problems([planned])
    assert (problem.rule, problem.message) == ("E5", RULES["E5"].text)
    spec.op.properties["buffer_shape"] = DenseArrayBase.from_list(i64, [128, 128])
    (problem,) = shape_problems([planned])
    assert problem.message == "SMEM storage_alias_spec must have 1D shape, got 2D"
    assert isinstance(problem.op, StorageAliasSpecOp)
    tmem = parse(
        "module {\ntt.func @f() {\n"
        "%s = tlx.storage_alias_spec storage = tmem {buffer_shape = array<i64: 4>} "
        ": !tlx.storage_alias_spec<tmem>\ntt.return\n}\n}"
    )
    (spec,) = collect(tmem).specs
    (problem,) = shape_problems([Planned(spec, PlanResult(None, ()))])
    assert problem.message == "TMEM storage_alias_spec must have 2D shape, got 1D"


def test_an_allocation_needs_a_spec_op():
    module = function(
        "%a = tlx.storage_alias_local_alloc %spec : !spec -> !a", arguments="%spec: !spec"
    )
    assert messages(lower(module)) == ["storage_alias_spec not found for this allocation"]


def test_a_tree_needs_allocations():
    """Such a module does not verify; lowering says the same where verification is off."""
    module = function(PAIR)
    group = next(op for op in walk(module) if op.name == "tlx.reuse_group")
    other = function("%p = ttg.local_alloc : () -> !a")
    plain = next(op for op in walk(other) if op.name == "ttg.local_alloc")
    plain.detach()
    block = group.parent
    assert block is not None
    block.insert_op_before(plain, group)
    group.operands[1] = plain.results[0]
    assert messages(lower(module)) == [
        "could not find StorageAliasLocalAllocOp in overlap definition"
    ]


def test_codes_are_those_of_memory_planning():
    codes = {rule: code_of(rule) for rule in RULES}
    assert len(set(codes.values())) == len(codes)
    assert all(code.startswith("TW50") for code in codes.values())
    assert (codes["E7"], codes["W3"], codes["R2"]) == ("TW5027", "TW5053", "TW5062")
    (diagnostic,) = lower(function(PAIR + "tt.call @g(%b) : (!a) -> ()")).diagnostics
    assert diagnostic.code == codes["E11"]


# -- indices -------------------------------------------------------------------------------------

MAPS = [
    IndexMap(0, (Level(None, 2),)),
    IndexMap(3, (Level(None, 1),)),
    IndexMap(5, (Level(None, 4),)),
    IndexMap(0, (Level(2, 1), Level(None, 4))),
    IndexMap(7, (Level(2, 1), Level(3, 3), Level(None, 16))),
    IndexMap(2, ()),
]


def index_op(module: ModuleOp) -> MemDescIndexOp:
    return next(op for op in walk(module) if isinstance(op, MemDescIndexOp))


@pytest.mark.parametrize("map", MAPS, ids=str)
def test_written_indices_are_recognised(map: IndexMap):
    module = function("%x = ttg.memdesc_index %a[%i] : !a -> !one", arguments="%a: !a, %i: i32")
    op = index_op(module)
    assert judge(op, map, 4) is IndexResult.UNKNOWN
    ops = rewrite_index(op, map)
    block = op.parent
    assert block is not None
    for new in ops:
        block.insert_op_before(new, op)
    assert judge(op, map, 4) is IndexResult.RIGHT
    wrong = [other for other in MAPS if other != map and judge(op, other, 4) is IndexResult.RIGHT]
    assert wrong == []


# -- records -------------------------------------------------------------------------------------


def test_record_of_a_view():
    module = function(PAIR)
    lower(module)
    records = [read_record(op) for op in walk(module) if isinstance(op, LocalAliasOp)]
    first, second = (record for record in records if record is not None)
    assert (first.buffer, first.count, first.offset, first.window) == ("a", 2, 0, 32768)
    assert second.levels == ((None, 32768),)
    assert second.ways == (Way("", (TreeStep(ReuseKind.DISTINCT, 1, 1),)),)
    assert [second.address(index) for index in (0, 1)] == [16384, 49152]
    assert guarantee_of(first.ways[0], second.ways[0]) == PathGuarantee(ReuseKind.DISTINCT, 1, 1)


def test_promises_of_paths():
    def way(*turns: tuple[str, int, int], phase: str = "") -> Way:
        return Way(
            phase, tuple(TreeStep(ReuseKind(kind), size, child) for kind, size, child in turns)
        )

    qk = way(("shared", 1, 0))
    p = way(("shared", 1, 1), ("distinct", 1, 0), ("shared", 2, 0))
    alpha = way(("shared", 1, 1), ("distinct", 1, 1))
    assert guarantee_of(qk, p) == PathGuarantee(ReuseKind.SHARED, 1, 2)
    assert guarantee_of(p, alpha) == PathGuarantee(ReuseKind.DISTINCT, 2, 1)
    assert guarantee_of(qk, way(("shared", 1, 1), phase="b")) is None
    with pytest.raises(RecordError, match="same path"):
        guarantee_of(qk, qk)
    with pytest.raises(RecordError, match="disagree about a group"):
        guarantee_of(qk, way(("distinct", 1, 1)))


def test_records_are_left_out_on_demand():
    module = function(PAIR)
    lower(module, record=False)
    assert "tlx.placement" not in print_module(module)
    assert verify_module(module).views == 0


# -- liveness ------------------------------------------------------------------------------------


def test_live_ranges():
    """A loop is one moment; views, captures and carried values are the buffer; groups are not."""
    module = function(
        """\
        %spec = tlx.storage_alias_spec storage = smem : !spec
        %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
        %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
        %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
        %g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
        %x = ttg.memdesc_index %a[%i] : !a -> !one
        tlx.dump_layout %x : !one
        %r = scf.for %k = %i to %i step %i iter_args(%y = %b) -> (!a) : i32 {
          %z = ttg.memdesc_index %y[%k] : !a -> !one
          scf.yield %y : !a
        }
        %w = ttg.memdesc_index %r[%i] : !a -> !one
        """,
        "%i: i32",
    )
    ranges = live_ranges(collect(module).specs[0])
    assert ranges is not None
    assert ranges["a"] == (5, 6)
    assert ranges["b"] == (7, 8)
    low, high = ranges["c"]
    assert low == high < 0


def test_jumps_leave_no_order():
    module = function(
        """\
        %spec = tlx.storage_alias_spec storage = smem : !spec
        %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
        cf.br ^bb1
        ^bb1:
        """
    )
    assert live_ranges(collect(module).specs[0]) is None


# -- speed ---------------------------------------------------------------------------------------


def test_two_hundred_buffers_take_less_than_a_second():
    layout = SwizzledSharedEncoding(vec=1, per_phase=1, max_phase=1, order=(1, 0))
    type = MemDescType((2, 16, 16), Float16Type(), layout, SHARED_MEMORY, mutable=True)
    leaves = [Leaf(f"b{number}", type) for number in range(200)]
    groups = [Group("distinct", tuple(leaves[start : start + 10])) for start in range(0, 200, 10)]
    module = module_of(Group("shared", tuple(groups)), "smem")
    start = time.process_time()
    assert messages(lower(module)) == []
    # Time of this process: other load on the machine is not its fault.
    assert time.process_time() - start < 3
    assert verify_module(module).views == 200


def test_a_kernel_is_lowered_in_milliseconds():
    path = next(path for path in EXAMPLES if path.stem == "fa_forward_4slices_bf16_d128")
    modules = [parse(path.read_text()) for _ in range(3)]
    times: list[float] = []
    for module in modules:
        start = time.process_time()
        assert messages(lower(module)) == []
        times.append(time.process_time() - start)
    assert min(times) < 0.1
