"""Asynchronous copies, roles and barriers: right under every schedule, and wrong ones found out.

The kernels multiply 32x64 by 64x32 matrices in four steps of 16. Each mutation takes something away
that orders events; it must be reported, at the line that a person would look at.
"""

from typing import Any

import numpy as np
import pytest

from tests.targets.numpy.tile.tile_support import block, compiled, random, run
from tilewright.targets.numpy.tile import TileFault

ARGUMENTS = (
    '%A: memref<32x64xf16, #global> {tile.name = "A"}, %B: memref<64x32xf16, #global> {tile.name = "B"}, '
    '%C: memref<32x32xf32, #global> {tile.name = "C"}'
)
BARRIERS = "memref<2x!nv.mbarrier, #barrier>"
CONSTANTS = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %As = tile.alloc "As" : memref<2x32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<2x16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
"""
LOAD = """
        %ko = arith.muli %k, %c16 : index
        %a = tile.region %A[0, %ko] [32, 16] : memref<32x64xf16, #global> to !tile.region<32x16xf16, #global>
        %b = tile.region %B[%ko, 0] [16, 32] : memref<64x32xf16, #global> to !tile.region<16x32xf16, #global>
        %as = tile.region %As[%s, 0, 0] [1, 32, 16] : memref<2x32x16xf16, #shared> to !tile.region<1x32x16xf16, #shared>
        %bs = tile.region %Bs[%s, 0, 0] [1, 16, 32] : memref<2x16x32xf16, #shared> to !tile.region<1x16x32xf16, #shared>
"""
SLOT = """
        %s = arith.remui %k, %c2 : index
        %t = arith.divui %k, %c2 : index
        %p = arith.remui %t, %c2 : index
        %q = arith.xori %p, %c1 : index
"""
USE = """
        %as = tile.region %As[%s, 0, 0] [1, 32, 16] : memref<2x32x16xf16, #shared> to !tile.region<1x32x16xf16, #shared>
        %bs = tile.region %Bs[%s, 0, 0] [1, 16, 32] : memref<2x16x32xf16, #shared> to !tile.region<1x16x32xf16, #shared>
        tile.gemm %as, %bs -> %Cl MARK : !tile.region<1x32x16xf16, #shared>, !tile.region<1x16x32xf16, #shared> -> memref<32x32xf32, #fragment>
"""
CLEAR = "tile.fill %Cl, %zero : memref<32x32xf32, #fragment>, f32"
FINISH = "tile.copy %Cl -> %C : memref<32x32xf32, #fragment> -> memref<32x32xf32, #global>"
COPY_A = "tile.async_copy %a -> %as BAR : !tile.region<32x16xf16, #global> -> !tile.region<1x32x16xf16, #shared>TYPE"
COPY_B = "tile.async_copy %b -> %bs BAR : !tile.region<16x32xf16, #global> -> !tile.region<1x16x32xf16, #shared>TYPE"


def _bound(copy: str) -> str:
    return copy.replace("BAR", "barrier %full[%s]").replace("TYPE", f", {BARRIERS}")


def _grouped(copy: str) -> str:
    return copy.replace("BAR", "").replace("TYPE", "")


WARP_SPECIALISED = block(
    ARGUMENTS,
    f"""{CONSTANTS}
    %full = tile.alloc "full" init [1, 1] : {BARRIERS}
    %empty = tile.alloc "empty" init [128, 128] : {BARRIERS}
    tile.ws
    role "producer" threads(0 to 128) registers(24) {{
      scf.for %k = %c0 to %c4 step %c1 {{{SLOT}
        nv.mbarrier.wait %empty[%s], %q : {BARRIERS}, index
        nv.mbarrier.arrive_expect_tx %full[%s], 2048 : {BARRIERS}
        {LOAD}
        {_bound(COPY_A)}
        {_bound(COPY_B)}
      }}
    }}
    role "consumer" threads(128 to 256) {{
      {CLEAR}
      scf.for %k = %c0 to %c4 step %c1 {{{SLOT}
        nv.mbarrier.wait %full[%s], %p : {BARRIERS}, index
        {USE.replace("MARK", "")}
        nv.mbarrier.arrive %empty[%s] : {BARRIERS}
      }}
      {FINISH}
    }}
""",
    threads=256,
)

PIPELINED = block(
    ARGUMENTS,
    f"""{CONSTANTS}
    {CLEAR}
    scf.for %k = %c0 to %c1 step %c1 {{
        %s = arith.remui %k, %c2 : index
        {LOAD}
        {_grouped(COPY_A)}
        {_grouped(COPY_B)}
        nv.cp_async.commit
    }}
    scf.for %i = %c1 to %c4 step %c1 {{
        %k = arith.addi %i, %c0 : index
        %s = arith.remui %k, %c2 : index
        {LOAD}
        {_grouped(COPY_A)}
        {_grouped(COPY_B)}
        nv.cp_async.commit
        nv.cp_async.wait 1
        %before = arith.subi %k, %c1 : index
        %old = arith.remui %before, %c2 : index
        {USE.replace("MARK", "").replace("%as", "%au").replace("%bs", "%bu").replace("%s,", "%old,")}
    }}
    nv.cp_async.wait 0
    scf.for %k = %c3 to %c4 step %c1 {{
        %s = arith.remui %k, %c2 : index
        {USE.replace("MARK", "")}
    }}
    {FINISH}
""",
)

TENSOR_CORE = block(
    ARGUMENTS,
    f"""{CONSTANTS}
    {CLEAR}
    scf.for %k = %c0 to %c4 step %c1 {{
        %s = arith.remui %k, %c2 : index
        {LOAD}
        tile.copy %a -> %as : !tile.region<32x16xf16, #global> -> !tile.region<1x32x16xf16, #shared>
        tile.copy %b -> %bs : !tile.region<16x32xf16, #global> -> !tile.region<1x16x32xf16, #shared>
        tile.gemm %as, %bs -> %Cl {{async}} : !tile.region<1x32x16xf16, #shared>, !tile.region<1x16x32xf16, #shared> -> memref<32x32xf32, #fragment>
        nv.wgmma.wait 1
    }}
    nv.wgmma.wait 0
    {FINISH}
""",
)


def _inputs() -> tuple[Any, Any, Any]:
    return random((32, 64), "f16", 1), random((64, 32), "f16", 2), np.zeros((32, 32), np.float32)


def _expected() -> Any:
    a, b, _ = _inputs()
    return a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("text", [WARP_SPECIALISED, PIPELINED, TENSOR_CORE])
def test_right_kernels_give_the_same_under_every_schedule(text: str) -> None:
    a, b, c = _inputs()
    report = run(text, a, b, c, schedules=20)
    assert report.schedules == 20
    assert report.is_concurrent
    assert np.array_equal(c, _expected())


@pytest.mark.parametrize("text", [WARP_SPECIALISED, PIPELINED, TENSOR_CORE])
def test_unchecked(text: str) -> None:
    a, b, c = _inputs()
    run(text, a, b, c, schedules=6, checked=False)
    assert np.array_equal(c, _expected())


def _fault(text: str, old: str, new: str, seed: int = 0, schedules: int = 1) -> TileFault:
    changed = text.replace(old, new, 1)
    assert changed != text
    a, b, c = _inputs()
    with pytest.raises(TileFault) as caught:
        run(changed, a, b, c, seed=seed, schedules=schedules)
    return caught.value


def test_missing_arrival_is_a_deadlock() -> None:
    fault = _fault(WARP_SPECIALISED, f"nv.mbarrier.arrive %empty[%s] : {BARRIERS}", "")
    shown = str(fault)
    assert fault.kind == "deadlock"
    assert fault.seed == 0
    assert "deadlock: producer waits for the phase of parity 0 of empty[0] to complete" in shown
    assert "(in phase 0: 0 of 128 arrivals occurred)" in shown
    assert "consumer waits for the phase of parity 1 of full[0] to complete" in shown
    assert "nv.mbarrier.wait %empty[%s], %q" in shown
    assert "block (0, 0, 0), schedule with seed 0" in shown


def test_wrong_parity_is_found() -> None:
    fault = _fault(
        WARP_SPECIALISED, "nv.mbarrier.wait %full[%s], %p", "nv.mbarrier.wait %full[%s], %q"
    )
    assert fault.kind in ("not arrived", "uninitialised")


def test_missing_wait_reads_what_has_not_arrived() -> None:
    wait = f"nv.mbarrier.wait %full[%s], %p : {BARRIERS}, index"
    for seed in (0, 2):
        fault = _fault(WARP_SPECIALISED, wait, "", seed=seed)
        assert fault.kind in ("not arrived", "uninitialised", "barrier"), str(fault)


def test_too_few_bytes_expected() -> None:
    fault = _fault(WARP_SPECIALISED, "2048", "1024")
    assert fault.kind == "not arrived"
    shown = str(fault)
    assert "read of Bs while an asynchronous operation still writes it" in shown
    assert "the copy B[0:16, 0:32] -> Bs[0:1, 0:16, 0:32] was issued here" in shown
    assert "phase 0 of full[0] completed before the copy did: make the expect-tx byte" in shown


def test_too_many_bytes_expected() -> None:
    fault = _fault(WARP_SPECIALISED, "2048", "4096")
    assert fault.kind == "deadlock"
    assert "2048 expected bytes were not completed" in str(fault)


def test_arrive_count_too_low_and_too_high() -> None:
    fault = _fault(WARP_SPECIALISED, "init [128, 128]", "init [64, 64]")
    assert fault.kind == "barrier"
    assert "128 arrivals on empty[0] in phase 0, but its arrive count is 64" in str(fault)
    fault = _fault(WARP_SPECIALISED, "init [128, 128]", "init [256, 256]")
    assert fault.kind == "deadlock"
    assert "128 of 256 arrivals occurred" in str(fault)


def test_barrier_that_is_not_there() -> None:
    fault = _fault(
        WARP_SPECIALISED, "%s = arith.remui %k, %c2 : index", "%s = arith.remui %k, %c4 : index"
    )
    assert fault.kind == "out of bounds"
    assert "barrier index out of bounds: empty[2], but empty has 2 barriers" in str(fault)


def test_group_that_is_not_waited_for() -> None:
    fault = _fault(PIPELINED, "nv.cp_async.wait 1", "nv.cp_async.wait 2")
    shown = str(fault)
    assert fault.kind == "not arrived"
    assert "read of As while an asynchronous operation still writes it" in shown
    assert "the copy A[0:32, 0:16] -> As[0:1, 0:32, 0:16] was issued here" in shown
    assert "512 elements of the access are affected" in shown


@pytest.mark.parametrize("seed", range(6))
def test_missing_wait_for_a_group_is_found_under_every_schedule(seed: int) -> None:
    fault = _fault(PIPELINED, "nv.cp_async.wait 1", "", seed=seed)
    assert fault.kind == "not arrived"
    assert fault.seed == seed


def test_missing_commit_is_found() -> None:
    fault = _fault(PIPELINED, "nv.cp_async.commit", "")
    assert fault.kind == "not arrived"


def test_gemm_that_is_not_waited_for() -> None:
    fault = _fault(TENSOR_CORE, "nv.wgmma.wait 0", "")
    shown = str(fault)
    assert fault.kind == "not arrived"
    assert "read of Cl while an asynchronous operation still writes it" in shown
    fault = _fault(TENSOR_CORE, "nv.wgmma.wait 1", "nv.wgmma.wait 2")
    assert "write to As while an asynchronous operation still reads it" in str(fault)


def test_result_that_depends_on_the_schedule() -> None:
    """The consumer releases a slot before it reads it: only the order of events shows it."""
    arrive = f"nv.mbarrier.arrive %empty[%s] : {BARRIERS}"
    moved = WARP_SPECIALISED.replace(arrive, "").replace(
        f"nv.mbarrier.wait %full[%s], %p : {BARRIERS}, index",
        f"nv.mbarrier.wait %full[%s], %p : {BARRIERS}, index\n        {arrive}",
    )
    a, b, c = _inputs()
    with pytest.raises(TileFault) as caught:
        run(moved, a, b, c, schedules=4)
    assert caught.value.kind in ("schedule", "not arrived")
    with pytest.raises(TileFault) as caught:
        run(moved, a, b, c, schedules=4, checked=False)
    assert caught.value.kind == "schedule"
    assert "the result depends on the schedule: C[" in str(caught.value)
    assert "under seed 0 and " in str(caught.value)
    assert "overwritten before it is read" in str(caught.value)


def test_inputs_are_the_same_for_every_schedule() -> None:
    """A kernel that updates its argument in place must not see what the run before did."""
    text = block(
        "%A: memref<8xf32, #global>",
        """
    %one = arith.constant 1.0 : f32
    %s = tile.alloc "s" : memref<8xf32, #shared>
    tile.async_copy %A -> %s : memref<8xf32, #global> -> memref<8xf32, #shared>
    nv.cp_async.commit
    nv.cp_async.wait 0
    tile.parallel (%i) in (8) {
      %x = memref.load %s[%i] : memref<8xf32, #shared>
      %y = arith.addf %x, %one : f32
      memref.store %y, %A[%i] : memref<8xf32, #global>
    }
""",
    )
    a = np.zeros(8, np.float32)
    run(text, a, schedules=5)
    assert (a == 1).all()


def test_named_barriers_between_roles() -> None:
    body = """
    %one = arith.constant 1.0 : f32
    %s = tile.alloc "s" : memref<8xf32, #shared>
    tile.ws
    role "writer" threads(0 to 128) {
      tile.fill %s, %one : memref<8xf32, #shared>, f32
      WRITER
    }
    role "reader" threads(128 to 256) {
      nv.bar sync 1, 256
      tile.copy %s -> %A : memref<8xf32, #shared> -> memref<8xf32, #global>
    }
"""
    for writer in ("nv.bar sync 1, 256", "nv.bar arrive 1, 256"):
        a = np.zeros(8, np.float32)
        text = block("%A: memref<8xf32, #global>", body.replace("WRITER", writer), threads=256)
        run(text, a, schedules=12)
        assert (a == 1).all()
    missing = block("%A: memref<8xf32, #global>", body.replace("WRITER", ""), threads=256)
    with pytest.raises(TileFault) as caught:
        run(missing, np.zeros(8, np.float32))
    assert "reader waits for 256 threads at barrier 1 (128 of 256 threads arrived)" in str(
        caught.value
    )
    assert "already terminated: writer" in str(caught.value)
    wrong = block(
        "%A: memref<8xf32, #global>", body.replace("WRITER", "nv.bar sync 1, 128"), threads=256
    )
    for seed in range(8):
        with pytest.raises(TileFault) as caught:
            run(wrong, np.zeros(8, np.float32), seed=seed)
        assert caught.value.kind in ("barrier", "deadlock")


def test_block_barrier_between_roles() -> None:
    text = block(
        "%A: memref<8xf32, #global>",
        """
    %one = arith.constant 1.0 : f32
    %s = tile.alloc "s" : memref<8xf32, #shared>
    tile.ws
    role "writer" threads(0 to 128) {
      tile.fill %s, %one : memref<8xf32, #shared>, f32
      tile.sync
    }
    role "reader" threads(128 to 256) {
      tile.sync
      tile.copy %s -> %A : memref<8xf32, #shared> -> memref<8xf32, #global>
    }
    tile.sync
""",
        threads=256,
    )
    a = np.zeros(8, np.float32)
    run(text, a, schedules=12)
    assert (a == 1).all()


def test_custom_roles_run_side_by_side() -> None:
    """Each `with T.ws(...)` is an op of its own; the first waits for the second."""
    text = block(
        "%A: memref<8xf32, #global>",
        """
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %ready = tile.alloc "ready" init [128] : memref<1x!nv.mbarrier, #barrier>
    tile.ws custom
    role "0" threads(0 to 128) {
      nv.mbarrier.wait %ready[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
      tile.copy %s -> %A : memref<8xf32, #shared> -> memref<8xf32, #global>
    }
    tile.ws custom
    role "1" threads(128 to 256) {
      tile.fill %s, %one : memref<8xf32, #shared>, f32
      nv.mbarrier.arrive %ready[%c0] : memref<1x!nv.mbarrier, #barrier>
    }
""",
        threads=256,
    )
    a = np.zeros(8, np.float32)
    run(text, a, schedules=12)
    assert (a == 1).all()


def test_copy_issues_expect_tx_for_its_own_bytes() -> None:
    """Where the kernel never issues expect-tx on a barrier, its copies do (`T.tma_copy`)."""
    text = block(
        "%A: memref<8xf32, #global>, %B: memref<8xf32, #global>",
        """
    %c0 = arith.constant 0 : index
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %ready = tile.alloc "ready" init [128] : memref<1x!nv.mbarrier, #barrier>
    tile.async_copy %A -> %s barrier %ready[%c0] : memref<8xf32, #global> -> memref<8xf32, #shared>, memref<1x!nv.mbarrier, #barrier>
    nv.mbarrier.arrive %ready[%c0] : memref<1x!nv.mbarrier, #barrier>
    nv.mbarrier.wait %ready[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
    tile.copy %s -> %B : memref<8xf32, #shared> -> memref<8xf32, #global>
""",
    )
    a, b = random((8,), "f32", 1), np.zeros(8, np.float32)
    run(text, a, b, schedules=8)
    assert np.array_equal(a, b)


@pytest.mark.parametrize("mark", ["{noinc}", ""])
def test_arrival_when_copies_are_done(mark: str) -> None:
    plain = "" if mark else "nv.mbarrier.arrive %ready[%c0] : memref<1x!nv.mbarrier, #barrier>"
    text = block(
        "%A: memref<8xf32, #global>, %B: memref<8xf32, #global>",
        f"""
    %c0 = arith.constant 0 : index
    %s = tile.alloc "s" : memref<8xf32, #shared>
    %ready = tile.alloc "ready" init [128] : memref<1x!nv.mbarrier, #barrier>
    tile.ws
    role "producer" threads(0 to 128) {{
      tile.async_copy %A -> %s : memref<8xf32, #global> -> memref<8xf32, #shared>
      nv.cp_async.mbarrier_arrive %ready[%c0] {mark} : memref<1x!nv.mbarrier, #barrier>
      {plain}
    }}
    role "consumer" threads(128 to 256) {{
      nv.mbarrier.wait %ready[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
      tile.copy %s -> %B : memref<8xf32, #shared> -> memref<8xf32, #global>
    }}
""",
        threads=256,
    )
    a, b = random((8,), "f32", 1), np.zeros(8, np.float32)
    run(text, a, b, schedules=16)
    assert np.array_equal(a, b)


def test_stores_are_read_late() -> None:
    body = """
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %s = tile.alloc "s" : memref<8xf32, #shared>
    tile.fill %s, %one : memref<8xf32, #shared>, f32
    nv.fence_proxy_async
    tile.async_copy %s -> %A : memref<8xf32, #shared> -> memref<8xf32, #global>
    nv.tma_store.commit
    WAIT
    tile.fill %s, %two : memref<8xf32, #shared>, f32
"""
    a = np.zeros(8, np.float32)
    run(
        block("%A: memref<8xf32, #global>", body.replace("WAIT", "nv.tma_store.wait 0")),
        a,
        schedules=8,
    )
    assert (a == 1).all()
    with pytest.raises(TileFault) as caught:
        run(block("%A: memref<8xf32, #global>", body.replace("WAIT", "")), a)
    assert "write to s while an asynchronous operation still reads it" in str(caught.value)


def test_blocks_that_wait_for_each_other() -> None:
    text = block(
        "%A: memref<4xi32, #global>, %B: memref<4xi32, #global>",
        """
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %x = arith.index_cast %bx : index to i32
    memref.store %x, %A[%bx] : memref<4xi32, #global>
    tile.sync grid
    %n = arith.addi %bx, %c1 : index
    %k = arith.remui %n, %c4 : index
    %y = memref.load %A[%k] : memref<4xi32, #global>
    memref.store %y, %B[%bx] : memref<4xi32, #global>
""",
        grid="4",
    )
    b = np.full(4, -1, np.int32)
    report = run(text, np.full(4, -1, np.int32), b, schedules=8)
    assert report.programs == 32
    assert b.tolist() == [1, 2, 3, 0]


def test_barrier_can_be_set_up_again() -> None:
    text = block(
        "%A: memref<1xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %seven = arith.constant 7 : i32
    %b = tile.alloc "b" init [1] : memref<1x!nv.mbarrier, #barrier>
    nv.mbarrier.init %b[%c0], 128 : memref<1x!nv.mbarrier, #barrier>
    nv.mbarrier.arrive %b[%c0] : memref<1x!nv.mbarrier, #barrier>
    nv.mbarrier.wait %b[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
    memref.store %seven, %A[%c0] : memref<1xi32, #global>
""",
    )
    a = np.zeros(1, np.int32)
    run(text, a)
    assert a[0] == 7


def test_source_of_roles_is_readable() -> None:
    source = compiled(WARP_SPECIALISED).source
    lines = [line.partition("  #")[0].strip() for line in source.splitlines()]
    assert "def producer():" in lines
    assert "yield from rt.roles(('producer', producer, 128), ('consumer', consumer, 128))" in lines
    assert any(line.startswith("yield rt.wait(full, s") for line in lines)


def test_roles_count_in_variables_of_their_own() -> None:
    """Both roles count iterations in one `T.alloc_var`; pure code is between the two."""
    text = block(
        "%A: memref<6xi32, #global>",
        """
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %six = arith.constant 6 : i32
    %s = tile.alloc "s" : memref<1xi32, #shared>
    %full = tile.alloc "full" init [128] : memref<1x!nv.mbarrier, #barrier>
    %empty = tile.alloc "empty" init [128] : memref<1x!nv.mbarrier, #barrier>
    %n = tile.alloc "n" : memref<1xi32, #var>
    memref.store %zero, %n[%c0] : memref<1xi32, #var>
    tile.ws custom
    role "0" threads(0 to 128) {
      scf.while : () -> () {
        %k = memref.load %n[%c0] : memref<1xi32, #var>
        %c = arith.cmpi slt, %k, %six : i32
        scf.condition(%c)
      } do {
        %k = memref.load %n[%c0] : memref<1xi32, #var>
        %p = arith.andi %k, %one : i32
        %q = arith.xori %p, %one : i32
        nv.mbarrier.wait %empty[%c0], %q : memref<1x!nv.mbarrier, #barrier>, i32
        memref.store %k, %s[%c0] : memref<1xi32, #shared>
        nv.mbarrier.arrive %full[%c0] : memref<1x!nv.mbarrier, #barrier>
        %m = arith.addi %k, %one : i32
        memref.store %m, %n[%c0] : memref<1xi32, #var>
        scf.yield
      }
    }
    %two = arith.addi %one, %one : i32
    tile.ws custom
    role "1" threads(128 to 256) {
      scf.while : () -> () {
        %k = memref.load %n[%c0] : memref<1xi32, #var>
        %c = arith.cmpi slt, %k, %six : i32
        scf.condition(%c)
      } do {
        %k = memref.load %n[%c0] : memref<1xi32, #var>
        %p = arith.andi %k, %one : i32
        nv.mbarrier.wait %full[%c0], %p : memref<1x!nv.mbarrier, #barrier>, i32
        %v = memref.load %s[%c0] : memref<1xi32, #shared>
        %w = arith.muli %v, %two : i32
        %i = arith.index_cast %k : i32 to index
        memref.store %w, %A[%i] : memref<6xi32, #global>
        nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #barrier>
        %m = arith.addi %k, %one : i32
        memref.store %m, %n[%c0] : memref<1xi32, #var>
        scf.yield
      }
    }
""",
        threads=256,
    )
    a = np.zeros(6, np.int32)
    run(text, a, schedules=16)
    assert a.tolist() == [0, 2, 4, 6, 8, 10]


def _without_each(text: str) -> list[tuple[str, str]]:
    """The kernel without one of the ops that order events, for each of them."""
    lines = text.splitlines()
    return [
        (line.strip(), "\n".join([*lines[:number], *lines[number + 1 :]]))
        for number, line in enumerate(lines)
        if line.strip().startswith("nv.")
    ]


@pytest.mark.parametrize("text", [WARP_SPECIALISED, PIPELINED, TENSOR_CORE])
def test_nothing_that_orders_events_can_be_left_out(text: str) -> None:
    mutants = _without_each(text)
    assert len(mutants) >= 2
    for removed, mutant in mutants:
        a, b, c = _inputs()
        try:
            run(mutant, a, b, c, schedules=4)
        except TileFault as fault:
            assert fault.kind in ("deadlock", "not arrived", "uninitialised", "barrier", "schedule")
            continue
        raise AssertionError(f"not found out: {removed}")
