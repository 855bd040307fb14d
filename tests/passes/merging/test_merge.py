"""The pass on small functions: what shares, what stays, what is said, and who checks it."""

import re
from dataclasses import replace

import pytest

from tests.analysis.buffer_liveness_support import BAR, BARS, A, B, get, put, text_of
from tests.passes.pass_support import parse
from tilewright.analysis.buffer_liveness import BufferLiveness
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.memory import Memory
from tilewright.passes.merging.blocks import plan_buffers, plan_module
from tilewright.passes.merging.groups import groups_of
from tilewright.passes.merging.merge_shared_memory import MergeSharedMemory
from tilewright.passes.merging.rewrite import BUFFER, merge
from tilewright.passes.merging.trace import check_module


def merged(body: str, target: int = 90, **options: bool) -> tuple[str, list[str]]:
    """The text after merging, and what was said."""
    module, engine = parse(text_of(body, target)), DiagnosticEngine()
    MergeSharedMemory(**options).run(module, engine)
    verify(module, engine)
    engine.raise_if_errors()
    return print_module(module), [f"{each.code}: {each.message}" for each in engine.diagnostics]


def allocations(text: str) -> int:
    return len(re.findall(r"ttg\.local_alloc|ttng\.tmem_alloc", text))


APART = A + B + put("a") + put("b") + get("a") + get("b")
SHARING = A + B + put("a") + get("a") + put("b") + get("b")


def test_two_buffers_become_views_of_one_allocation():
    text, said = merged(SHARING)
    assert allocations(text) == 1
    assert text.count("ttg.memdesc_reinterpret") == 2
    assert said == ["TW5002: shared memory: 8192 bytes saved, 2 buffers share 8192 bytes"]


def test_nothing_to_merge_changes_nothing():
    text, said = merged(APART)
    assert text == print_module(parse(text_of(APART)))
    assert said == []


def test_plan_only_says_it_and_changes_nothing():
    text, said = merged(SHARING, plan_only=True)
    assert text == print_module(parse(text_of(SHARING)))
    assert len(said) == 1


def test_merging_twice_is_merging_once():
    module, engine = parse(text_of(SHARING)), DiagnosticEngine()
    MergeSharedMemory().run(module, engine)
    once = print_module(module)
    MergeSharedMemory().run(module, engine)
    assert print_module(module) == once


def test_who_shares_with_nobody_keeps_its_allocation():
    third = "%e = ttg.local_alloc : () -> !buf\n" + put("e")
    text, said = merged(third + SHARING + get("e"))
    assert allocations(text) == 2
    assert "8192 bytes saved" in said[0]


def test_barriers_stay_and_are_packed():
    body = A + B + BARS + BAR.replace("%m", "%k") + put("a") + get("a") + put("b") + get("b")
    text, _ = merged(body)
    assert text.count("ttg.local_alloc {alignment = 8 : i32}") == 2
    assert allocations(text) == 3


def test_data_never_takes_the_bytes_of_a_barrier():
    body = BAR + "ttng.inval_barrier %m : !bar\n" + A + put("a") + get("a")
    (plan,) = plan_module(parse(text_of(body)), None)
    barrier, data = plan.candidates
    assert not plan.overlap(barrier, data)
    assert plan.needed(Memory.SMEM) == 8192 + 8


def test_barriers_follow_each_other():
    one = BAR + "ttng.inval_barrier %m : !bar\n"
    (plan,) = plan_module(parse(text_of(one + one.replace("%m", "%k"))), None)
    assert plan.needed(Memory.SMEM) == 8
    (plan,) = plan_module(parse(text_of(BAR + BAR.replace("%m", "%k"))), None)
    assert plan.needed(Memory.SMEM) == 16


SMALL = "%e = ttg.local_alloc : () -> !ttg.memdesc<8xf32, #bar, #smem, mutable>\n"
USE_SMALL = "%ev = arith.constant dense<0.0> : tensor<8xf32, #ttg.slice<{dim = 1, parent = #blocked}>>\nttg.local_store %ev, %e : tensor<8xf32, #ttg.slice<{dim = 1, parent = #blocked}>> -> !ttg.memdesc<8xf32, #bar, #smem, mutable>\n"


def test_alignment_follows_the_strictest_view():
    (plan,) = plan_module(parse(text_of(A + SMALL + put("a") + USE_SMALL + get("a"))), None)
    big, small = plan.candidates
    assert (big.align, small.align) == (1024, 16)
    assert plan.offset(big) % 1024 == 0
    text, _ = merged(SHARING)
    assert "alignment = 1024" in text


def test_constant_buffers_become_mutable_with_all_their_views():
    body = A + put("a") + get("a") + "%c = ttg.local_alloc %x : (!tile) -> !const\n"
    body += "%v = ttg.memdesc_trans %c {order = array<i32: 1, 0>} : !const -> !ttg.memdesc<64x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>, #smem>\n"
    body += "%w = ttg.local_load %v : !ttg.memdesc<64x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>, #smem> -> !tile\n"
    text, _ = merged(body)
    assert allocations(text) == 1
    assert "#smem>" not in text
    assert text.count("ttg.local_store") == 2


PADDED = "#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>"


def test_layouts_with_gaps_stay():
    kind = f"!ttg.memdesc<64x64xf16, {PADDED}, #smem, mutable>"
    body = A + put("a") + get("a") + f"%e = ttg.local_alloc : () -> {kind}\n"
    body += f"ttg.local_store %x, %e : !tile -> {kind}\n"
    text, said = merged(body, report=True)
    assert allocations(text) == 2
    assert said == ["TW5004: e not merged: padded and partitioned layouts cannot be views"]


def test_a_called_function_may_keep_what_it_is_given():
    body = A + B + "tt.call @f(%a) : (!buf) -> ()\n" + put("b") + get("b")
    body += "tt.return\n}\ntt.func private @f(%q: !buf) {\n"
    text, said = merged(body, report=True)
    assert allocations(text) == 2
    assert said == ["TW5004: a not merged: used by a call or an op with unknown effects"]


CONVERT = "%cv = ttg.convert_layout %x : !tile -> tensor<64x64xf16, #mma>\n"


def test_scratch_memory_between_is_not_taken_away():
    text, said = merged(A + B + put("a") + get("a") + CONVERT + put("b") + get("b"), report=True)
    assert allocations(text) == 2
    assert "needs the memory as scratch" in said[0]
    text, _ = merged(A + B + put("a") + get("a") + put("b") + get("b") + CONVERT)
    assert allocations(text) == 1


def test_the_allocation_stands_in_front_of_all_its_views():
    branch = f"scf.if %t {{\n{A}{put('a')}{get('a')}}} else {{\n{B}{put('b')}{get('b')}}}\n"
    module, engine = parse(text_of(branch)), DiagnosticEngine()
    MergeSharedMemory().run(module, engine)
    assert verify(module, engine)
    (op,) = [op for op in walk(module) if op.name == "ttg.local_alloc"]
    assert op.parent_op().name == "tt.func"
    assert op.next_op.name == "scf.if"


def test_partitions_share_among_themselves_only():
    part = f"%a = ttg.local_alloc : () -> !buf\n%b = ttg.local_alloc : () -> !buf\n{put('a')}{get('a')}{put('b')}{get('b')}"
    part = "%x = arith.constant dense<1.0> : !tile\n" + part
    body = f"ttg.warp_specialize(%n)\ndefault {{\nttg.warp_yield\n}}\npartition0(%q: i32) num_warps(4) {{\n{part}ttg.warp_return\n}}\npartition1(%q: i32) num_warps(4) {{\n{part}ttg.warp_return\n}} : (i32) -> ()\n"
    text, said = merged(body)
    assert allocations(text) == 2
    assert said == ["TW5002: shared memory: 16384 bytes saved, 4 buffers share 16384 bytes"]


# -- the trace -------------------------------------------------------------------------------------


def forced(body: str, **spans: tuple[tuple[int, int], ...]):
    """A module merged as if these buffers were needed in these spans only."""
    module = parse(text_of(body))
    ((op, function),) = BufferLiveness(module).functions.items()
    names = dict(zip("ab", (b for b in function.buffers if not b.is_barrier), strict=False))
    wrong = {names[name]: given for name, given in spans.items()}
    buffers = [
        replace(b, spans=wrong[b], partition=None) if b in wrong else b for b in function.buffers
    ]
    plan = plan_buffers(op, function, buffers)
    merge(plan, groups_of(plan, Memory.SMEM), Rewriter())
    assert sum(BUFFER in each.attributes for each in walk(module)) == 2
    return module


def test_the_trace_finds_a_value_that_was_overwritten():
    verdict = check_module(forced(APART, a=()))
    assert [str(fault) for fault in verdict.faults] == [
        "ttg.local_load reads addresses 0..8192, overwritten by ttg.local_store as part of "
        "another buffer"
    ]


def test_the_trace_knows_the_next_turn_of_a_loop():
    turn = f"scf.for %i = %c0 to %n step %c1 : i32 {{\n{get('a')}{put('b')}{get('b')}}}\n"
    assert check_module(forced(A + B + put("a") + turn, a=())).faults


STORE = "ttng.async_tma_copy_local_to_global %d[%c0, %c0] %a : !desc, !buf\n"
STORED = "ttng.async_tma_store_wait {pendings = 0 : i32}\n"


@pytest.mark.parametrize(("wait", "count"), [("", 1), (STORED, 0)])
def test_the_trace_waits_for_engines(wait: str, count: int):
    body = A + B + put("a") + STORE + wait + put("b") + get("b")
    verdict = check_module(forced(body, a=()))
    assert len(verdict.faults) == count
    for fault in verdict.faults:
        assert "still in use by" in str(fault)


def test_the_trace_does_not_follow_jumps_and_says_so():
    body = SHARING + "cf.br ^end\n^end:\n"
    verdict = check_module(parse(text_of(body)))
    assert [op.name for op in verdict.unknown] == ["tt.func"]
    assert verdict.faults == ()


def test_a_broken_plan_is_an_error_of_the_compiler(monkeypatch: pytest.MonkeyPatch):
    import tilewright.passes.merging.merge_shared_memory as pass_module

    def wrong(module, target, effort):
        ((op, function),) = BufferLiveness(module).functions.items()
        buffers = [replace(each, spans=()) for each in function.buffers]
        return (plan_buffers(op, function, buffers, target, effort),)

    monkeypatch.setattr(pass_module, "plan_module", wrong)
    engine = DiagnosticEngine()
    MergeSharedMemory().run(parse(text_of(APART)), engine)
    assert engine.has_errors
    (error,) = [each for each in engine.diagnostics if each.code == "TW9062"]
    assert error.message.startswith(
        "internal compiler error in merge-shared-memory: ttg.local_load reads"
    )
