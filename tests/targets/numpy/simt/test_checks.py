"""What a GPU does wrong only now and then is an error here, at its line, every time."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.simt.simt_support import run_device
from tilewright.targets.numpy.simt import SimtFault, SimtOptions

SHARED = 'tile.alloc "s" offset 0 : memref<256xf32, #shared>'
HALVES = 'tile.alloc "h" offset 0 {simt.align = 1024 : i64} : memref<2048xf16, #shared>'
CELL = "memref<256xf32, #shared>"
OUT = "memref<1024xf32, #global>"
BARRIERS = "memref<1x!nv.mbarrier, #barrier>"


def fault(body: str, options: SimtOptions | None = None, **sizes: int) -> SimtFault:
    with pytest.raises(SimtFault) as caught:
        run_device(body, options, **sizes)
    assert "kernel.mlir:" in str(caught.value), "the message shows no line"
    return caught.value


# Reverses the numbers through shared memory: a thread reads what another wrote.
REVERSED = """
    %s = {shared}
    %x = memref.load %In[%tid] : {out}
    memref.store %x, %s[%tid] : {cell}
    {sync}
    %other = arith.subi %c127, %tid : index
    %y = memref.load %s[%other] : {cell}
    memref.store %y, %Out[%tid] : {out}
"""


def reversed_body(sync: str) -> str:
    return REVERSED.format(shared=SHARED, cell=CELL, out=OUT, sync=sync)


@pytest.mark.parametrize("sync", ["gpu.barrier", "nv.bar sync 1, 128"])
@pytest.mark.parametrize("seed", range(4))
def test_a_barrier_orders_threads(sync: str, seed: int) -> None:
    out, report = run_device(reversed_body(sync), SimtOptions(seed=seed))
    np.testing.assert_array_equal(out[:128], np.arange(128)[::-1])
    assert np.isnan(out[128:]).all()
    assert report.blocks == 1


@pytest.mark.parametrize("sync", ["", "nv.fence_proxy_async", "nv.bar arrive 1, 256"])
def test_a_race_is_reported_without_one(sync: str) -> None:
    found = fault(reversed_body(sync))
    assert found.kind == "race"
    assert "thread 0 reads s[127], and nothing orders it after warp 3" in str(found)


def test_lanes_of_a_warp_race_as_well() -> None:
    body = reversed_body("").replace("%c127", "%last")
    body = "%last = arith.constant 31 : index\n" + body
    found = fault(body, threads=32)
    assert found.kind == "race"
    assert "thread 0 reads s[31], and nothing orders it after warp 0" in str(found)


def test_races_show_in_results_without_checks() -> None:
    options = SimtOptions(checked=False, unit=32, seed=1)
    out, _ = run_device(reversed_body(""), options)
    assert not np.array_equal(out[:128], np.arange(128)[::-1])


def test_a_write_after_reads_of_others_is_a_race() -> None:
    body = reversed_body("gpu.barrier") + f"memref.store %y, %s[%tid] : {CELL}"
    assert "writes s[0], and nothing orders it after warp" in str(fault(body))


def test_different_values_written_to_one_element() -> None:
    body = f"%x = memref.load %In[%tid] : {OUT}\n memref.store %x, %Out[%c0] : {OUT}"
    assert "data race on Out[0]: several threads write different values" in str(fault(body))


def test_equal_values_written_to_one_element_are_fine() -> None:
    body = f"%x = memref.load %In[%c8] : {OUT}\n memref.store %x, %Out[%c0] : {OUT}"
    out, _ = run_device(body)
    assert out[0] == 8


THROUGH_A_TENSOR = f"""
    %x = memref.load %In[%tid] : {OUT}
    memref.store %x, %Out[%tid] : {OUT}
    @sync@
    %other = arith.subi %c127, %tid : index
    %y = memref.load %Out[%other] : {OUT}
    @sync@
    memref.store %y, %Out[%tid] : {OUT}
"""


def test_threads_may_communicate_through_a_tensor() -> None:
    out, _ = run_device(THROUGH_A_TENSOR.replace("@sync@", "gpu.barrier"))
    np.testing.assert_array_equal(out[:128], np.arange(128)[::-1])


@pytest.mark.parametrize(
    ("syncs", "message"),
    [
        (["", "gpu.barrier"], "reads Out[127], and nothing orders it after warp 3"),
        (["gpu.barrier", ""], "writes Out[0], and nothing orders it after warp 3"),
    ],
)
def test_but_not_without_a_barrier(syncs: list[str], message: str) -> None:
    body = THROUGH_A_TENSOR
    for sync in syncs:
        body = body.replace("@sync@", sync, 1)
    found = fault(body)
    assert found.kind == "race"
    assert message in str(found)


def test_uninitialised_memory() -> None:
    body = f"%s = {SHARED}\n %x = memref.load %s[%tid] : {CELL}"
    found = fault(body)
    assert (found.kind, "uninitialised read: s[0] has not been written" in str(found)) == (
        "uninitialised",
        True,
    )


@pytest.mark.parametrize(
    ("index", "message"),
    [("%c4096", "thread 0 accesses Out[4096], but 'Out' has 1024 elements"), ("%below", "Out[-1]")],
)
def test_out_of_bounds(index: str, message: str) -> None:
    body = f"""
    %c4096 = arith.constant 4096 : index
    %below = arith.subi %tid, %c1 : index
    %x = memref.load %In[%tid] : {OUT}
    memref.store %x, %Out[{index}] : {OUT}"""
    found = fault(body)
    assert found.kind == "out of bounds"
    assert message in str(found)


def test_a_guard_keeps_threads_inside() -> None:
    body = f"""
    %below = arith.subi %tid, %c1 : index
    %inside = arith.cmpi sge, %below, %c0 : index
    scf.if %inside {{
      %x = memref.load %In[%below] : {OUT}
      memref.store %x, %Out[%below] : {OUT}
    }}"""
    out, _ = run_device(body)
    np.testing.assert_array_equal(out[:127], np.arange(127))


def test_misaligned_moves() -> None:
    body = f"""
    %r = tile.alloc "r" : memref<4xf32, #local>
    simt.move %In[%tid] -> %r[%c0] lanes(4) : {OUT}, memref<4xf32, #local>"""
    found = fault(body)
    assert found.kind == "misaligned"
    assert "thread 1 accesses 16 bytes at In[1], whose address is not a multiple of 16" in str(
        found
    )


def test_lanes_that_are_missing() -> None:
    body = f"""
    %few = arith.cmpi ult, %tid, %c8 : index
    scf.if %few {{
      %one = arith.constant 1 : i32
      %x = memref.load %In[%tid] : {OUT}
      %y = tile.shuffle xor %x, %one : f32
    }}"""
    found = fault(body)
    assert found.kind == "divergent"
    assert "only some lanes of warp 0 reach it" in str(found)


def test_a_barrier_that_not_all_reach_is_a_deadlock() -> None:
    body = """
    %few = arith.cmpi ult, %tid, %c32 : index
    scf.if %few {
      gpu.barrier
    }"""
    found = fault(body)
    assert found.kind == "deadlock"
    assert "32 of 128 threads arrived" in str(found)


# Barriers in shared memory.

INIT = f"""
    %b = tile.alloc "b" init [1] offset 2048 : {BARRIERS}
    scf.if %first {{
      nv.mbarrier.init %b[%c0], 1 : {BARRIERS}
      nv.fence_barrier_init
    }}
    gpu.barrier
"""
FILL = f"""
    %s = {SHARED}
    scf.if %first {{
      nv.mbarrier.arrive_expect_tx %b[%c0], 512 : {BARRIERS}
      nv.bulk_load %In[%c0] -> %s[%c0] elements(128) barrier %b[%c0] : {OUT}, {CELL}, {BARRIERS}
    }}
    nv.mbarrier.wait %b[%c0], %c0 : {BARRIERS}, index
    %x = memref.load %s[%tid] : {CELL}
    memref.store %x, %Out[%tid] : {OUT}
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_copy_arrives(seed: int) -> None:
    out, _ = run_device(INIT + FILL, SimtOptions(seed=seed))
    np.testing.assert_array_equal(out[:128], np.arange(128))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("nv.mbarrier.wait %b[%c0], %c0", "nv.mbarrier.wait %b[%c0], %c1", "race"),
        (f"nv.mbarrier.wait %b[%c0], %c0 : {BARRIERS}, index", "", "race"),
        ("expect_tx %b[%c0], 512", "expect_tx %b[%c0], 256", "deadlock"),
        ("expect_tx %b[%c0], 512", "expect_tx %b[%c0], 1024", "deadlock"),
        ("init %b[%c0], 1 ", "init %b[%c0], 2 ", "deadlock"),
        ("nv.fence_barrier_init", "", "fence"),
        ("    gpu.barrier\n", "", "race"),
        (f"nv.mbarrier.init %b[%c0], 1 : {BARRIERS}", "", "barrier"),
        ("%In[%c0] ->", "%In[%c2] ->", "misaligned"),
        ("elements(128)", "elements(512)", "out of bounds"),
    ],
)
def test_a_copy_that_is_not_waited_for_rightly(old: str, new: str, kind: str) -> None:
    body = INIT + FILL
    assert old in body
    changed = body.replace(old, new, 1)
    if kind == "barrier":
        # Another barrier is set up, so that this one is known to need it.
        changed = f'%o = tile.alloc "o" init [1] offset 2056 : {BARRIERS}\n' + changed.replace(
            "nv.fence_barrier_init", f"nv.mbarrier.init %o[%c0], 1 : {BARRIERS}"
        )
    assert fault(changed).kind == kind


def test_too_many_arrivals() -> None:
    body = INIT + f"nv.mbarrier.arrive %b[%c0] : {BARRIERS}"
    found = fault(body)
    assert found.kind == "barrier"
    assert "128 arrivals on b[0] in phase 0, but its arrive count is 1" in str(found)


# TMA stores.

STORE = f"""
    %s = {SHARED}
    %x = memref.load %In[%tid] : {OUT}
    memref.store %x, %s[%tid] : {CELL}
    nv.fence_proxy_async
    gpu.barrier
    scf.if %first {{
      nv.bulk_store %s[%c0] -> %Out[%c0] elements(128) : {CELL}, {OUT}
      nv.tma_store.commit
      nv.tma_store.wait 0
    }}
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_store_reaches_the_tensor(seed: int) -> None:
    out, _ = run_device(STORE, SimtOptions(seed=seed))
    np.testing.assert_array_equal(out[:128], np.arange(128))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("nv.fence_proxy_async", "fence"),
        ("gpu.barrier", "race"),
        ("nv.tma_store.commit", "in flight"),
        ("nv.tma_store.wait 0", "in flight"),
    ],
)
def test_a_store_that_comes_too_early(line: str, kind: str) -> None:
    assert fault(STORE.replace(line, "")).kind == kind


def test_memory_is_written_while_a_store_reads_it() -> None:
    late = STORE.replace("nv.tma_store.wait 0", "") + f"memref.store %x, %s[%tid] : {CELL}"
    found = fault(late)
    assert found.kind == "race"
    assert "a bulk store of warp 0" in str(found)


# cp.async.

COPY = f"""
    %s = {SHARED}
    %at = arith.muli %tid, %c2 : index
    nv.async_move %In[%at] -> %s[%at] lanes(2) : {OUT}, {CELL}
    nv.cp_async.commit
    nv.cp_async.wait 0
    gpu.barrier
    %other = arith.subi %c127, %tid : index
    %y = memref.load %s[%other] : {CELL}
    memref.store %y, %Out[%tid] : {OUT}
"""


def test_copies_of_threads() -> None:
    out, _ = run_device(COPY)
    np.testing.assert_array_equal(out[:128], np.arange(128)[::-1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nv.cp_async.commit", ""),
        ("nv.cp_async.wait 0", ""),
        ("nv.cp_async.wait 0", "nv.cp_async.wait 1"),
        ("gpu.barrier", ""),
        ("nv.cp_async.wait 0\n    gpu.barrier", "gpu.barrier\n    nv.cp_async.wait 0"),
    ],
)
def test_copies_of_threads_that_are_read_too_early(old: str, new: str) -> None:
    assert old in COPY
    assert fault(COPY.replace(old, new)).kind == "race"


# MMAs.

WGMMA = """
    %h = {halves}
    %acc = tile.alloc "acc" : memref<4xf32, #local>
    %cst = arith.constant 0.5 : f16
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 16 : index
    scf.for %i = %c0 to %n step %c1 {{
      %row = arith.muli %i, %c128 : index
      %at = arith.addi %row, %tid : index
      memref.store %cst, %h[%at] : memref<2048xf16, #shared>
    }}
    scf.for %i = %c0 to %c4 step %c1 {{
      memref.store %zero, %acc[%i] : memref<4xf32, #local>
    }}
    nv.fence_proxy_async
    gpu.barrier
    nv.wgmma.fence
    %a = nv.matrix %h[%c0] swizzle(0) leading(128) stride(256) : memref<2048xf16, #shared>
    %b = nv.matrix %h[%c1024] swizzle(0) leading(128) stride(256) : memref<2048xf16, #shared>
    nv.wgmma %a, %b -> %acc[%c0] shape [64, 8, 16] types(f16, f16) : i64 -> memref<4xf32, #local>
    nv.wgmma.commit
    nv.wgmma.wait 0
    nv.wgmma.fence_operand %acc : memref<4xf32, #local>
    %y = memref.load %acc[%c0] : memref<4xf32, #local>
    memref.store %y, %Out[%tid] : memref<1024xf32, #global>
"""
CONSTANTS = "%c128 = arith.constant 128 : index\n %c1024 = arith.constant 1024 : index\n"
WHOLE = CONSTANTS + WGMMA.format(halves=HALVES)


@pytest.mark.parametrize("seed", range(4))
def test_a_wgmma(seed: int) -> None:
    out, _ = run_device(WHOLE, SimtOptions(seed=seed))
    np.testing.assert_array_equal(out[:128], np.full(128, 4.0))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("nv.wgmma.wait 0\n", "\n", "in flight"),
        ("nv.wgmma.commit", "", "in flight"),
        ("nv.wgmma.wait 0\n", "nv.wgmma.wait 1\n", "in flight"),
        ("nv.wgmma.fence_operand %acc : memref<4xf32, #local>", "", "in flight"),
        ("nv.wgmma.fence", "", "fence"),
        ("nv.fence_proxy_async", "", "fence"),
        ("gpu.barrier", "", "race"),
        ("%h[%c1024] swizzle", "%h[%c2] swizzle", "misaligned"),
        ("stride(256)", "stride(131072)", "out of bounds"),
        ("stride(256)", "stride(512)", "uninitialised"),
    ],
)
def test_a_wgmma_that_is_used_wrongly(old: str, new: str, kind: str) -> None:
    assert old in WHOLE
    body = WHOLE
    if kind == "uninitialised":
        body = body.replace("%n = arith.constant 16", "%n = arith.constant 12")
    assert fault(body.replace(old, new, 1)).kind == kind


def test_an_operand_is_overwritten_while_wgmma_reads_it() -> None:
    late = WHOLE.replace(
        "nv.wgmma.wait 0\n", "memref.store %cst, %h[%tid] : memref<2048xf16, #shared>\n"
    )
    found = fault(late)
    assert found.kind == "race"
    assert "the tensor core of warp 0" in str(found)


def test_a_loop_without_an_end() -> None:
    body = """
    %r = tile.alloc "r" : memref<1xi32, #local>
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %yes = arith.constant true
      scf.condition(%yes)
    } do {
      memref.store %zero, %r[%c0] : memref<1xi32, #local>
      scf.yield
    }"""
    assert fault(body, SimtOptions(max_steps=500)).kind == "endless"
