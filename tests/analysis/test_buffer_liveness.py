"""When buffers are in use: values, loops, branches, engines, partitions."""

import pytest

from tests.analysis.buffer_liveness_support import (
    BAR,
    BARS,
    RING,
    A,
    B,
    can_share,
    get,
    live,
    put,
    text_of,
    why,
)
from tests.passes.pass_support import parse
from tilewright.analysis.buffer_liveness import BufferLiveness


def both(body: str) -> str:
    return A + B + body


# -- values ----------------------------------------------------------------------------------------


def test_one_after_the_other_may_share():
    assert can_share(both(put("a") + get("a") + put("b") + get("b")))


def test_values_that_cross_may_not():
    body = both(put("a") + put("b") + get("a") + get("b"))
    assert (
        why(body) == "written by ttg.local_store, read by ttg.local_load | used by ttg.local_store"
    )


def test_bytes_are_free_between_a_last_read_and_the_next_write():
    body = both(put("a") + get("a") + put("b") + get("b") + put("a") + get("a"))
    assert can_share(body)
    spans = live(body).buffers[0].spans
    assert len(spans) == 2
    assert spans[0][1] - spans[0][0] == spans[1][1] - spans[1][0] == 2


def test_a_value_nobody_reads_is_written_all_the_same():
    assert not can_share(both(put("b") + put("a") + get("b")))
    assert can_share(both(put("a") + put("b") + get("b")))


def test_a_part_does_not_replace_the_whole():
    """Writing one element of a ring leaves the others to be read."""
    body = RING + B
    body += "%r0 = ttg.memdesc_index %r[%c0] : !ring -> !buf\n"
    body += "%r1 = ttg.memdesc_index %r[%c1] : !ring -> !buf\n"
    body += put("r1") + put("b") + get("b") + put("r0") + get("r1")
    assert not can_share(body)


def test_views_are_their_buffer():
    view = (
        "%v = ttg.memdesc_trans %a {order = array<i32: 1, 0>} : !buf -> !ttg.memdesc<64x64xf16, "
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>, "
        "#smem, mutable>\n"
    )
    part = (
        "%q = ttg.memdesc_subslice %a[0, 0] : !buf -> !ttg.memdesc<32x64xf16, #s, #smem, mutable, "
        "64x64>\n"
    )
    read = (
        "%z = ttg.local_load %q : !ttg.memdesc<32x64xf16, #s, #smem, mutable, 64x64> -> "
        "tensor<32x64xf16, #blocked>\n"
    )
    assert not can_share(both(put("a") + view + part + put("b") + get("b") + read))
    assert can_share(both(put("a") + view + part + read + put("b") + get("b")))


def test_an_allocation_with_contents_writes_them():
    body = put("a") + "%c = ttg.local_alloc %x : (!tile) -> !const\n" + get("a")
    body += "%w = ttg.local_load %c : !const -> !tile\n"
    assert not can_share(A + body)


# -- control ---------------------------------------------------------------------------------------


def loop(body: str) -> str:
    return f"scf.for %i = %c0 to %n step %c1 : i32 {{\n{body}}}\n"


def test_a_value_carried_around_a_loop_is_needed_in_all_of_it():
    body = both(put("a") + loop(put("b") + get("b") + get("a") + put("a")) + get("a"))
    assert not can_share(body)


def test_the_turn_has_a_hole_between_the_read_and_the_next_write():
    assert can_share(both(put("a") + loop(get("a") + put("b") + get("b") + put("a")) + get("a")))


def test_a_value_made_and_used_in_each_turn_is_not_carried():
    assert can_share(both(loop(put("a") + get("a") + put("b") + get("b"))))


def test_a_value_read_after_the_loop_is_needed_in_it():
    assert not can_share(both(put("a") + loop(put("b") + get("b")) + get("a")))
    assert can_share(both(put("a") + get("a") + loop(put("b") + get("b"))))


def test_a_value_from_before_read_in_the_next_turn():
    body = both(put("a") + loop(put("b") + get("b") + get("a")))
    assert "read by ttg.local_load" in why(body)


def branch(then: str, other: str = "") -> str:
    return f"scf.if %t {{\n{then}}} else {{\n{other}}}\n"


def test_branches_exclude_each_other():
    assert can_share(both(branch(put("a") + get("a"), put("b") + get("b"))))


def test_a_value_that_one_branch_keeps():
    assert not can_share(both(put("a") + branch(put("b") + get("b")) + get("a")))
    assert can_share(both(put("a") + branch(get("a"), put("b") + get("b"))))


def test_while_loops():
    turn = (
        f"scf.while (%w = %c0) : (i32) -> i32 {{\nscf.condition(%t) %w : i32\n}} do "
        f"{{\n^bb0(%w: i32):\n{put('b')}{get('b')}scf.yield %w : i32\n}}\n"
    )
    assert not can_share(both(put("a") + f"%u = {turn}" + get("a")))
    assert can_share(both(put("a") + get("a") + f"%u = {turn}"))


def test_jumps():
    body = both(
        put("a")
        + "cf.cond_br %t, ^one, ^two\n^one:\n"
        + put("b")
        + get("b")
        + "cf.br ^two\n^two:\n"
    )
    assert not can_share(body + get("a"))
    assert can_share(body)


def test_a_buffer_picked_by_a_branch_is_either():
    pick = "%e = scf.if %t -> (!buf) {\nscf.yield %a : !buf\n} else {\nscf.yield %b : !buf\n}\n"
    assert not can_share(both(put("a") + pick + put("b") + get("e")))


def test_a_buffer_rotated_by_a_loop():
    turn = "%e = scf.for %i = %c0 to %n step %c1 iter_args(%f = %a) -> (!buf) : i32 {\n"
    turn += get("f") + put("b") + "scf.yield %b : !buf\n}\n"
    assert not can_share(both(put("a") + put("b") + turn))


# -- engines ---------------------------------------------------------------------------------------

COPY = "%k = ttg.async_copy_global_to_local %p, %a : tensor<64x64x!tt.ptr<f16>, #blocked> -> !buf\n"
GROUP = "%g = ttg.async_commit_group tokens %k\n"


@pytest.mark.parametrize(
    ("waits", "free"),
    [
        ("", False),
        ("%h = ttg.async_wait %g {num = 1 : i32}\n", False),
        ("%h = ttg.async_wait %g {num = 0 : i32}\n", True),
    ],
)
def test_cp_async_is_at_work_until_its_group_was_waited_for(waits: str, free: bool):
    assert can_share(both(COPY + GROUP + waits + put("b") + get("b"))) is free


def test_cp_async_groups_end_in_order():
    later = "%g2 = ttg.async_commit_group\n%h = ttg.async_wait %g {num = 1 : i32}\n"
    assert can_share(both(COPY + GROUP + later + put("b") + get("b")))


def test_a_copy_outside_of_any_group_is_never_waited_for():
    wait = "%h = ttg.async_wait {num = 0 : i32}\n"
    assert not can_share(both(COPY + wait + put("b") + get("b")))


DOT = (
    "%o{0} = ttng.warp_group_dot %a, %a, %acc {{inputPrecision = 0 : i32, isAsync = {1}}} : !buf * "
    "!buf -> tensor<64x64xf32, #mma>\n"
)
DOT_WAIT = (
    "%v{0}:1 = ttng.warp_group_dot_wait %o{0} {{pendings = {1} : i32}} : tensor<64x64xf32, #mma>\n"
)


def test_wgmma_reads_until_it_was_waited_for():
    start = put("a") + DOT.format(1, "true")
    assert not can_share(both(start + put("b") + get("b")))
    assert "warp_group_dot" in why(both(start + put("b") + get("b")))
    assert not can_share(both(start + DOT_WAIT.format(1, 1) + put("b") + get("b")))
    assert can_share(both(start + DOT_WAIT.format(1, 0) + put("b") + get("b")))
    assert can_share(both(put("a") + DOT.format(1, "false") + put("b") + get("b")))


STORE = "ttng.async_tma_copy_local_to_global %d[%c0, %c0] %a : !desc, !buf\n"


def test_tma_store_reads_until_it_was_waited_for():
    start = put("a") + STORE
    wait = "ttng.async_tma_store_wait {{pendings = {} : i32}}\n"
    assert not can_share(both(start + put("b") + get("b")))
    assert not can_share(both(start + wait.format(1) + put("b") + get("b")))
    assert can_share(both(start + wait.format(0) + put("b") + get("b")))


LOAD = "ttng.async_tma_copy_global_to_local %d[%c0, %c0] %{0}, %{1}, %{2} : !desc, !bar -> !buf\n"
WAIT = "ttng.wait_barrier %{0}, %c0 : !bar\n"


def test_tma_load_writes_until_its_barrier_was_waited_for():
    start = both(BAR + LOAD.format("a", "m", "true"))
    assert not can_share(start + put("b") + get("b"))
    assert can_share(start + WAIT.format("m") + put("b") + get("b"))


def test_the_wait_for_another_barrier_ends_nothing():
    start = both(BARS + LOAD.format("a", "m0", "true"))
    assert not can_share(start + WAIT.format("m1") + put("b") + get("b"))
    assert can_share(start + WAIT.format("m0") + put("b") + get("b"))


def test_a_wait_under_a_condition_may_not_have_been():
    start = both(BAR + LOAD.format("a", "m", "true"))
    maybe = "ttng.wait_barrier %m, %c0, %t : !bar\n"
    assert not can_share(start + maybe + put("b") + get("b"))


def test_a_computed_barrier_is_known_within_a_turn_only():
    index = "%mi = ttg.memdesc_index %m[%i] : !bars -> !bar\n"
    inside = index + LOAD.format("a", "mi", "true") + WAIT.format("mi")
    assert can_share(both(BARS + loop(inside) + put("b") + get("b")))
    late = index + WAIT.format("mi") + LOAD.format("a", "mi", "true")
    assert not can_share(both(BARS + loop(late) + put("b") + get("b")))


def test_a_copy_is_not_over_because_the_same_op_copies_again():
    """The first turn's copy, to another element, is waited for behind the loop."""
    views = "%e = ttg.memdesc_index %r[%i] : !ring -> !buf\n"
    views += "%me = ttg.memdesc_index %m[%i] : !bars -> !bar\n"
    some = "%is = arith.cmpi eq, %i, %c1 : i32\nscf.if %is {\n"
    some += WAIT.format("me") + put("b") + get("b") + "}\n"
    turns = views + LOAD.format("e", "me", "true") + some
    loop = f"scf.for %i = %c0 to %c2 step %c1 : i32 {{\n{turns}}}\n"
    assert not can_share(RING + B + BARS + loop + WAIT.format("m0"))
    each = turns.replace(some, WAIT.format("me") + put("b") + get("b"))
    assert can_share(RING + B + BARS + loop.replace(turns, each))


def test_invalidating_all_barriers_ends_what_they_report():
    index = "%mi = ttg.memdesc_index %m[%i] : !bars -> !bar\n"
    start = both(BARS + loop(index + LOAD.format("a", "mi", "true")))
    ends = ["ttng.inval_barrier %m0 : !bar\n", "ttng.inval_barrier %m1 : !bar\n"]
    assert not can_share(start + "".join(ends) + put("b") + get("b"))
    ends.append("ttng.inval_barrier %m2 : !bar\n")
    assert can_share(start + "".join(ends) + put("b") + get("b"))


def test_deallocation_is_the_end_of_everything():
    start = both(BAR + LOAD.format("a", "m", "true"))
    assert can_share(start + "ttg.local_dealloc %a : !buf\n" + put("b") + get("b"))


TMEM = "%o = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #tm, #ttng.tensor_memory, mutable>\n"
MMA = (
    "ttng.tc_gen5_mma %l, %a, %o, %false, %true{0} {{is_async}} : !ttg.memdesc<128x64xf16, #s, "
    "#smem, mutable>, !buf, !ttg.memdesc<128x64xf32, #tm, #ttng.tensor_memory, mutable>{1}\n"
)
LHS = "%l = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #s, #smem, mutable>\n"


def test_tcgen05_reads_until_its_barrier_or_a_later_commit():
    start = A + B + LHS + TMEM + BARS + put("a")
    own = MMA.format(", %m0[%true]", ", !bar")
    assert not can_share(start + own + put("b") + get("b"), 100)
    assert can_share(start + own + WAIT.format("m0") + put("b") + get("b"), 100)
    commit = MMA.format("", "") + "ttng.tc_gen5_commit %m1 : !bar\n"
    assert not can_share(start + commit + WAIT.format("m0") + put("b") + get("b"), 100)
    assert can_share(start + commit + WAIT.format("m1") + put("b") + get("b"), 100)


def test_a_wait_for_a_phase_that_is_over_ends_nothing():
    start = A + B + LHS + TMEM + BAR + put("a")
    multiply = MMA.format(", %m[%true]", ", !bar")
    wait = "ttng.wait_barrier %m, %{0} : !bar\n"
    use = put("b") + get("b")
    twice = start + multiply + wait.format("c0") + multiply
    assert can_share(twice + wait.format("c1") + use, 100)
    assert not can_share(twice + wait.format("c0") + use + wait.format("c1"), 100)
    arrive = start + "ttng.arrive_barrier %m, 1 : !bar\n" + multiply
    assert can_share(arrive + wait.format("c1") + use, 100)
    assert not can_share(arrive + wait.format("c0") + use + wait.format("c1"), 100)
    # The phase before the first counts as over: waiting for it passes, and changes nothing.
    early = start + wait.format("c1") + multiply
    assert can_share(early + wait.format("c0") + use, 100)


def test_a_parity_that_is_not_known_is_believed():
    start = A + B + LHS + TMEM + BAR + put("a")
    multiply = MMA.format(", %m[%true]", ", !bar")
    turns = multiply + "ttng.wait_barrier %m, %q : !bar\n" + put("b") + get("b")
    turns += "%flip = arith.xori %q, %c1 : i32\nscf.yield %flip : i32\n"
    loop = "%last = scf.for %i = %c0 to %n step %c1 iter_args(%q = %c0) -> (i32) : i32 {\n"
    assert can_share(start.replace(put("a"), "") + loop + put("a") + turns + "}\n", 100)


def test_a_call_may_do_anything():
    callee = "tt.call @f(%a) : (!buf) -> ()\n"
    body = both(callee + put("b") + get("b"))
    text = body + "tt.return\n}\ntt.func private @f(%q: !buf) {\n"
    function = next(iter(BufferLiveness(parse(text_of(text))).functions.values()))
    assert [buffer.escapes for buffer in function.buffers] == [True, False]


# -- partitions ------------------------------------------------------------------------------------


def specialized(default: str, first: str, second: str = "") -> str:
    def inside(text: str) -> str:
        renamed = text.replace("%a", "%pa").replace("%b", "%pb").replace("%x", "%px")
        return f"%px = arith.constant dense<1.0> : !tile\n{renamed}"

    return f"""
ttg.warp_specialize(%a, %b)
default {{
{default}ttg.warp_yield
}}
partition0(%pa: !buf, %pb: !buf) num_warps(4) {{
{inside(first)}ttg.warp_return
}}
partition1(%pa: !buf, %pb: !buf) num_warps(4) {{
{inside(second)}ttg.warp_return
}} : (!buf, !buf) -> ()
"""


def test_partitions_run_at_the_same_time():
    body = both(specialized("", put("a") + get("a"), put("b") + get("b")))
    assert why(body).endswith("which runs concurrently")
    assert not can_share(both(specialized(put("a") + get("a"), put("b") + get("b"))))


def test_one_partition_has_an_order():
    assert can_share(both(specialized("", put("a") + get("a") + put("b") + get("b"))))


def test_a_buffer_of_two_partitions_is_needed_throughout():
    body = both(specialized("", put("a"), get("a") + put("b") + get("b")))
    assert why(body).startswith("used in 2 regions of ttg.warp_specialize")


def test_before_and_after_the_partitions():
    assert can_share(both(put("a") + get("a") + specialized("", put("b") + get("b"))))
    assert not can_share(both(put("a") + specialized("", put("b") + get("b")) + get("a")))


# -- barriers --------------------------------------------------------------------------------------


def test_barriers_are_known_and_end_when_invalidated():
    function = live(A + BAR + "ttng.inval_barrier %m : !bar\n" + put("a") + get("a"))
    data, barrier = function.buffers
    assert (data.is_barrier, barrier.is_barrier) == (False, True)
    assert barrier.spans[-1][1] <= data.spans[0][0]
    kept = live(A + BAR + put("a") + get("a")).buffers[1]
    assert kept.spans == ((0, len(live(A + BAR + put("a") + get("a")).flow)),)


def test_threads_wait_for_their_own_groups_only():
    """A TMA store of a partition is not over because the others have waited for theirs."""
    store = "ttng.async_tma_copy_local_to_global %pd[%pc, %pc] %a : !desc, !buf\n"
    wait = "ttng.async_tma_store_wait {pendings = 0 : i32}\n"

    def body(inside: str, after: str) -> str:
        text = specialized("", put("a") + "%pc = arith.constant 0 : i32\n" + store + inside)
        text = text.replace("(%a, %b)", "(%a, %b, %d)").replace(
            "(!buf, !buf) ->", "(!buf, !buf, !desc) ->"
        )
        text = text.replace("%pb: !buf)", "%pb: !buf, %pd: !desc)")
        return both(text + after + put("b") + get("b"))

    assert can_share(body(wait, ""))
    assert not can_share(body("", wait))
    main = put("a") + STORE
    inside = specialized("", wait + put("b") + get("b"))
    assert not can_share(both(main + inside))
    assert can_share(both(main + wait + inside))


# -- waits of one partition for work of another ----------------------------------------------------


ACCUMULATOR = "!ttg.memdesc<128x64xf32, #tm, #ttng.tensor_memory, mutable>"
LEFT = "!ttg.memdesc<128x64xf16, #s, #smem, mutable>"


def products(*, parity: int, before: str = "", inside: str = "", after: str = "") -> str:
    """A partition multiplies in a ring, another waits for each turn; then `b` is used."""
    held = f"%pl: {LEFT}, %pa: !buf, %po: {ACCUMULATOR}, %pm: !bars, %pn: i32"
    numbers = "%z = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
    numbers += "%three = arith.constant 3 : i32\n%yes = arith.constant true\n"
    numbers += f"%first = arith.constant {parity} : i32\n"
    element = "%e = arith.remsi %i, %three : i32\n%pe = ttg.memdesc_index %pm[%e] : !bars -> !bar\n"
    turns = "scf.for %i = %z to %pn step %one : i32 {\n" + element
    multiply = "ttng.tc_gen5_mma %pl, %pa, %po, %yes, %yes, %pe[%yes] {is_async} : "
    multiply += f"{LEFT}, !buf, {ACCUMULATOR}, !bar\n"
    wait = "%round = arith.divsi %i, %three : i32\n%half = arith.andi %round, %one : i32\n"
    wait += "%phase = arith.xori %half, %first : i32\nttng.wait_barrier %pe, %phase : !bar\n"
    return f"""
{A}{B}{LHS}{TMEM}{BARS}{put("a")}{before}
ttg.warp_specialize(%l, %a, %o, %m, %n)
default {{
ttg.warp_yield
}}
partition0({held}) num_warps(4) {{
{numbers}{turns}{multiply}}}
{inside}ttg.warp_return
}}
partition1({held}) num_warps(4) {{
{numbers}{turns}{wait}}}
ttg.warp_return
}} : ({LEFT}, !buf, {ACCUMULATOR}, !bars, i32) -> ()
{after}{put("b")}{get("b")}"""


def test_partitions_that_wait_for_every_phase_leave_nothing_open():
    assert can_share(products(parity=0), 100)


def test_waits_for_empty_slots_miss_the_last_turns():
    """The first waits pass at once, so nobody waits for the products of the last three turns."""
    assert not can_share(products(parity=1), 100)


def test_a_phase_that_was_over_before_shifts_all_waits():
    arrive = "ttng.arrive_barrier %{0}, 1 : !bar\n"
    early = "".join(arrive.format(name) for name in ("m0", "m1", "m2"))
    assert not can_share(products(parity=0, before=early), 100)
    view = "%pz = ttg.memdesc_index %pm[%z] : !bars -> !bar\n"
    assert not can_share(products(parity=0, inside=view + arrive.format("pz")), 100)
    assert can_share(products(parity=0, after=early), 100)
