"""Faults that were found in use, one test each, named after the fault."""

import time
from textwrap import dedent

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.pass_support import parse
from tests.passes.tlx.storage_alias_support import lower
from tilewright.dialects.tlx import PlacedAliasOp, ReuseGroupOp
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.views import MemDescReinterpretOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.diagnostics import DiagnosticEngine, locate
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes import PASSES
from tilewright.passes.tlx.storage_alias.evidence import verify_module
from tilewright.passes.tlx.storage_alias.materialise import residue_of
from tilewright.passes.tlx.storage_alias.record import read_record

HEAD = """\
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#half = #ttng.tensor_memory_encoding<blockM = 64, blockN = 128, colStride = 1>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!tspec = !tlx.storage_alias_spec<tmem>
!a = !ttg.memdesc<2x8x64xf16, #flat, #smem, mutable>
!b = !ttg.memdesc<2x8x8xf16, #flat, #smem, mutable>
!n = !ttg.memdesc<2x8x64xf16, #tile, #smem, mutable>
!one = !ttg.memdesc<8x64xf16, #flat, #smem, mutable>
"""


def function(body: str, arguments: str = "") -> ModuleOp:
    text = f"tt.func @f({arguments}) {{\n{dedent(body)}\ntt.return\n}}"
    return parse(f"{HEAD}module {{\n{text}\n}}")


def run(module: ModuleOp, pipeline: str) -> list[str]:
    engine = DiagnosticEngine()
    Pipeline.build(parse_pipeline(pipeline), PASSES).run(module, engine)
    assert verify(module, engine)
    return [diagnostic.message for diagnostic in engine.diagnostics]


def found(module: ModuleOp, kind: type) -> list:
    return [op for op in walk(module) if isinstance(op, kind)]


TRIPLE = """\
%spec = tlx.storage_alias_spec storage = smem : !spec
%a = tlx.storage_alias_local_alloc %spec : !spec -> !a
%b = tlx.storage_alias_local_alloc %spec : !spec -> !b
%c = tlx.storage_alias_local_alloc %spec : !spec -> !a
%g = tlx.reuse_group(%a, %b, %c) group_kind = distinct : (!a, !b, !a) -> !tlx.reuse_group<distinct>
tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
"""

PATTERN = {
    "a view of the array": """\
        %v = tlx.require_layout %c : !a -> !n
        """,
    "a view of one buffer": """\
        %x = ttg.memdesc_index %c[%i] : !a -> !one
        %v = ttg.memdesc_reinterpret %x : !one -> !ttg.memdesc<8x64xf16, #tile, #smem, mutable>
        """,
    "a view behind a branch": """\
        %t = scf.if %p -> (!a) {
          scf.yield %c : !a
        } else {
          scf.yield %c : !a
        }
        %v = ttg.memdesc_reinterpret %t : !a -> !n
        """,
}


@pytest.mark.parametrize("views", PATTERN.values(), ids=PATTERN)
def test_alignment_of_views_behind_a_buffer(views: str):
    """%c is plain, but read by something that wants 1024 bytes."""
    module = function(TRIPLE + dedent(views), "%i: i32, %p: i1")
    assert run(module, "tlx-storage-alias-lowering{placement=explicit}") == []
    (backing,) = found(module, LocalAllocOp)
    assert backing.alignment_bytes == 1024
    _, _, c = found(module, PlacedAliasOp)
    assert (residue_of(backing) + c.start) % 1024 == 0
    assert [stride % 1024 for _, stride in c.levels] == [0]
    assert verify_module(module).faults == ()
    # What was right for the plain layout is a fault for the view.
    c.properties["offset"] = found(module, PlacedAliasOp)[1].properties["offset"]
    assert any("misaligned" in fault.message for fault in verify_module(module).faults)


def test_alignment_of_views_behind_an_alias():
    """The allocation wins over its alias and has no pattern of its own."""
    module = function("""\
        %a = ttg.local_alloc : () -> !a
        %b = tlx.local_alias %a : !a -> !a
        %v = tlx.require_layout %b : !a -> !n
        """)
    assert run(module, "tlx-rewrite-local-alias") == []
    (backing,) = found(module, LocalAllocOp)
    assert backing.alignment_bytes == 1024


def test_nested_alias_of_a_buffer_that_is_placed_by_address():
    module = function(
        TRIPLE
        + """\
%v = tlx.local_alias %c : !a -> !a
%x = ttg.memdesc_index %v[%i] : !a -> !one
""",
        "%i: i32",
    )
    assert run(module, "tlx-storage-alias-lowering{placement=explicit}") == []
    (view,) = found(module, MemDescReinterpretOp)
    assert view.src is found(module, PlacedAliasOp)[2].result
    (said,) = run(module, "tlx-rewrite-local-alias")
    assert said.startswith("tlx.placed_alias not lowered")


def test_groups_within_groups_within_groups_end():
    """Sixty groups with 2^60 leaves between them."""
    lines = [
        "%spec = tlx.storage_alias_spec storage = smem : !spec",
        "%a = tlx.storage_alias_local_alloc %spec : !spec -> !a",
        "%g0 = tlx.reuse_group(%a, %a) group_kind = shared : (!a, !a) -> !tlx.reuse_group<shared>",
    ]
    group = "!tlx.reuse_group<shared>"
    lines += [
        f"%g{n} = tlx.reuse_group(%g{n - 1}, %g{n - 1}) group_kind = shared : "
        f"({group}, {group}) -> {group}"
        for n in range(1, 60)
    ]
    start = time.process_time()
    engine = lower(function("\n".join(lines)), infer_overlap=True)
    assert [d.message for d in engine.diagnostics] == [
        "reuse_group tree contains duplicate elements; "
        "each allocation can only appear once in the tree"
    ]
    assert not lower(function("\n".join(lines))).has_errors
    assert time.process_time() - start < 5


def test_an_inferred_group_of_something_else_is_an_error():
    module = function("""\
        %spec = tlx.storage_alias_spec storage = smem : !spec
        %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
        %plain = ttg.local_alloc : () -> !a
        %g = tlx.reuse_group(%a, %plain) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
        """)
    (error,) = lower(module, infer_overlap=True).diagnostics
    assert error.message == (
        "all elements in the reuse_group tree must be allocated via "
        "tlx.storage_alias_local_alloc, but found an element that is not"
    )
    (group,) = found(module, ReuseGroupOp)
    assert error.location == locate(group)


def test_an_immutable_buffer_of_a_spec():
    module = function("""\
        %spec = tlx.storage_alias_spec storage = smem : !spec
        %a = tlx.storage_alias_local_alloc %spec : !spec -> !ttg.memdesc<2x8x64xf16, #flat, #smem>
        """)
    assert [d.message for d in lower(module).diagnostics] == [
        "allocations from a storage_alias_spec share storage and must be mutable"
    ]


def test_an_alias_of_a_leaf_does_not_move_in_silence():
    """As a buffer of the spec it is no longer where its owner is."""
    body = TRIPLE + "%n = tlx.local_alias %c : !a -> !a\n"
    (warning,) = lower(function(body), implicit_spec=True, placement="explicit").diagnostics
    assert warning.message.startswith("reuse of the buffer 'c' is deprecated")
    assert (
        warning.notes[0].message
        == "the buffer starts at offset 0 of the spec, whatever the offset of 'c'"
    )


def test_groups_in_blocks_that_are_not_in_order_are_erased():
    module = function("""\
        %spec = tlx.storage_alias_spec storage = smem : !spec
        %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
        %b = tlx.storage_alias_local_alloc %spec : !spec -> !a
        cf.br ^bb2
      ^bb1:
        %h = tlx.reuse_group(%g, %b) group_kind = distinct : (!tlx.reuse_group<shared>, !a) -> !tlx.reuse_group<distinct>
        tlx.set_buffer_overlap(%spec, %h) : (!spec, !tlx.reuse_group<distinct>) -> ()
        cf.br ^bb3
      ^bb2:
        %g = tlx.reuse_group(%a) group_kind = shared : (!a) -> !tlx.reuse_group<shared>
        cf.br ^bb1
      ^bb3:
        """)
    assert run(module, "tlx-storage-alias-lowering,tlx-rewrite-local-alias") == []
    assert [op.name for op in walk(module) if op.name.startswith("tlx.")] == []


PHASES = """\
%spec = tlx.storage_alias_spec storage = smem : !spec
%a = tlx.storage_alias_local_alloc %spec : !spec -> !a
%b = tlx.storage_alias_local_alloc %spec : !spec -> !a
%c = tlx.storage_alias_local_alloc %spec : !spec -> !a
%d = tlx.storage_alias_local_alloc %spec : !spec -> !a
%g = tlx.reuse_group(%a, %b) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> () {first}
%h = tlx.reuse_group(%c, %d) group_kind = distinct : (!a, !a) -> !tlx.reuse_group<distinct>
tlx.set_buffer_overlap(%spec, %h) : (!spec, !tlx.reuse_group<distinct>) -> () {second}
%u = ttg.memdesc_index %a[%i] : !a -> !one
%v = ttg.memdesc_index %b[%i] : !a -> !one
%w = ttg.memdesc_index %c[%i] : !a -> !one
%x = ttg.memdesc_index %d[%i] : !a -> !one
"""


@pytest.mark.parametrize(
    ("first", "second", "labels"),
    [
        ('{phase = "x"}', '{phase = "x"}', ["x#0", "x#0", "x#1", "x#1"]),
        ('{phase = "1"}', "", ["1", "1", "#1", "#1"]),
        ("", "", ["#0", "#0", "#1", "#1"]),
        ('{phase = "x"}', '{phase = "y"}', ["x", "x", "y", "y"]),
    ],
)
def test_phases_of_the_same_name(first: str, second: str, labels: list[str]):
    body = PHASES.replace("{first}", first).replace("{second}", second)
    module = function(body, "%i: i32")
    assert run(module, "tlx-storage-alias-lowering{multi-overlap=true}") == []
    records = [record for op in walk(module) if (record := read_record(op)) is not None]
    assert [way.phase for record in records for way in record.ways] == labels
    assert verify_module(module).faults == ()


def test_a_phase_that_is_no_string():
    body = PHASES.replace("{first}", "{phase = 3 : i32}").replace("{second}", "")
    engine = lower(function(body, "%i: i32"), multi_overlap=True)
    assert [d.message for d in engine.diagnostics] == [
        "the phase of an overlap definition is a string"
    ]


HALVES = """\
%spec = tlx.storage_alias_spec storage = tmem : !tspec
%a = tlx.storage_alias_local_alloc %spec : !tspec -> !ttg.memdesc<2x64x256xf32, #half, #ttng.tensor_memory, mutable>
%g = tlx.reuse_group(%a) group_kind = shared : (!ttg.memdesc<2x64x256xf32, #half, #ttng.tensor_memory, mutable>) -> !tlx.reuse_group<shared>
tlx.set_buffer_overlap(%spec, %g) : (!tspec, !tlx.reuse_group<shared>) -> ()
"""


def test_rows_of_views_by_address():
    """Two blocks of 64 rows side by side take 128 rows, though the tile has 64."""
    module = function(HALVES)
    assert run(module, "tlx-storage-alias-lowering{placement=explicit}") == []
    (backing,) = found(module, TMEMAllocOp)
    assert memdesc(backing.result.type).shape[-2:] == (128, 512)
    text = print_module(module)
    assert "128x512xi32" in text
    smaller = parse(
        text.replace("128x512xi32", "64x512xi32").replace("blockM = 128", "blockM = 64")
    )
    (fault,) = verify_module(smaller).faults
    assert fault.message == "'a' needs 128 rows, its allocation has 64"


def test_buffers_without_a_name_are_shown():
    """A tool that forgets names gives its own, which mean nothing without a place."""
    module = function("""\
        %spec = tlx.storage_alias_spec storage = smem : !spec
        %a = tlx.storage_alias_local_alloc %spec : !spec -> !a
        %b = tlx.storage_alias_local_alloc %spec : !spec -> !ttg.memdesc<2x16x64xf16, #flat, #smem, mutable>
        %c = tlx.storage_alias_local_alloc %spec : !spec -> !a
        %g = tlx.reuse_group(%a, %b, %c) group_kind = distinct : (!a, !ttg.memdesc<2x16x64xf16, #flat, #smem, mutable>, !a) -> !tlx.reuse_group<distinct>
        tlx.set_buffer_overlap(%spec, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
        """)
    for op in walk(module):
        for result in op.results:
            result.name_hint = None
    (error,) = lower(module).diagnostics
    assert [note.message for note in error.notes] == [
        "this order works: distinct(buffer2, buffer1, buffer3)",
        "placement=explicit works with the order as it is",
        "'buffer1' is allocated here",
        "'buffer2' is allocated here",
        "'buffer3' is allocated here",
    ]
