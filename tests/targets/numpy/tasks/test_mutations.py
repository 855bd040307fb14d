"""A mutant with something missing is reported at the right line; a correct kernel runs on any schedule.

The kernel is the GEMM of `examples/storage_alias/hopper_gemm_ring.mlir`: a ring of four stages
filled by TMA, wgmma, and the result staged in the memory of the ring.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.tasks.programs import ROOT, changed, compiled, descriptor, without
from tilewright.targets.numpy import RunOptions
from tilewright.targets.numpy.tasks.faults import TaskFault

RING = (ROOT / "examples" / "storage_alias" / "hopper_gemm_ring.mlir").read_text()
RNG = np.random.default_rng(9)
STEPS = 7


def run(text: str, schedules: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """The result and what it should be."""
    kernel = compiled(text)
    a = RNG.standard_normal((128, 64 * STEPS)).astype(np.float16)
    b = RNG.standard_normal((64 * STEPS, 128)).astype(np.float16)
    c = np.full((128, 128), np.nan, np.float32)
    arguments = [descriptor("a", a), descriptor("b", b), descriptor("c", c), np.int32(STEPS)]
    kernel.launch((1, 1), arguments, RunOptions(schedules=schedules))
    return c, a.astype(np.float64) @ b.astype(np.float64)


def test_the_kernel_is_right_under_many_schedules() -> None:
    got, expected = run(RING, schedules=20)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-3)


WAIT_FULL = "ttng.wait_barrier %f, %phase"
WAIT_EMPTY = "ttng.wait_barrier %e, %before"
ARRIVE_EMPTY = "ttng.arrive_barrier %e, 1"
EXPECT = "ttng.barrier_expect %f, 32768"
STORE_WAIT = "ttng.async_tma_store_wait"
LOAD_B = "ttng.async_tma_copy_global_to_local %pb_desc"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (without(RING, WAIT_FULL), {"not arrived", "uninitialised"}),
        (without(RING, WAIT_EMPTY), {"not arrived", "barrier"}),
        (without(RING, ARRIVE_EMPTY), {"deadlock"}),
        (without(RING, EXPECT), {"deadlock"}),
        (without(RING, STORE_WAIT), {"not arrived"}),
        (without(RING, LOAD_B), {"deadlock"}),
        (changed(RING, EXPECT, EXPECT.replace("32768", "16384")), {"not arrived"}),
        (changed(RING, EXPECT, EXPECT.replace("32768", "65536")), {"deadlock"}),
        (changed(RING, WAIT_FULL, WAIT_FULL.replace("phase", "c1")), {"not arrived", "deadlock"}),
        (changed(RING, WAIT_EMPTY, WAIT_EMPTY.replace("before", "turn")), {"deadlock"}),
        (changed(RING, "init_barrier %f, 1", "init_barrier %f, 2"), {"deadlock"}),
        (changed(RING, "init_barrier %e, 1", "init_barrier %e, 2"), {"deadlock"}),
        (without(RING, "init_barrier %f, 1"), {"barrier"}),
        (changed(RING, ARRIVE_EMPTY, "ttng.arrive_barrier %e, 2"), {"barrier"}),
        (changed(RING, "%bt = ttg.memdesc_index %pb[%stage]", "%bt = ttg.memdesc_index %pb[%p0]"),
         {"not arrived", "uninitialised"}),
        (changed(RING, "%at = ttg.memdesc_index %pa[%stage]", "%at = ttg.memdesc_index %pa[%k]"),
         {"out of bounds"}),
    ],
)  # fmt: skip
def test_mutants_are_reported(text: str, kinds: set[str]) -> None:
    with pytest.raises(TaskFault) as found:
        run(text)
    assert found.value.kind in kinds


def test_a_deadlock_names_the_cycle_and_the_signalling_tasks() -> None:
    with pytest.raises(TaskFault) as found:
        run(without(RING, ARRIVE_EMPTY), schedules=1)
    text = str(found.value)
    line = RING.split("\n").index("        ttng.wait_barrier %e, %before : !bar") + 1 - 1
    assert f"kernel.mlir:{line}" in text
    assert "waits for the phase of parity 0 of empty[0] to complete" in text
    assert "0 of 1 arrivals occurred" in text
    assert "no op of the kernel signals empty" in text
    assert "wait cycle" not in text


def test_a_deadlock_of_two_tasks_is_a_circle() -> None:
    with pytest.raises(TaskFault) as found:
        run(changed(RING, WAIT_EMPTY, WAIT_EMPTY.replace("before", "turn")), schedules=1)
    text = str(found.value)
    assert "wait cycle: default -> partition0 -> default" in text
    assert "partition0 signals full with ttng.barrier_expect at kernel.mlir:" in text
    assert "default signals empty with ttng.arrive_barrier at kernel.mlir:" in text


def test_wrong_bytes_are_counted() -> None:
    with pytest.raises(
        TaskFault, match="0 of 1 arrivals occurred and 32768 completed bytes were not"
    ):
        run(without(RING, EXPECT), schedules=1)
    with pytest.raises(TaskFault, match="32768 expected bytes were not completed"):
        run(changed(RING, EXPECT, EXPECT.replace("32768", "65536")), schedules=1)


def test_aliased_storage_is_shared() -> None:
    """The staged result really overwrites the ring: written before the last wgmma it is seen."""
    early = without(RING, "ttg.local_store %sum, %ct")
    early = changed(
        early,
        "        %next = ttng.warp_group_dot",
        "        %early = ttg.memdesc_index %c[%c0] : !c -> !ct\n"
        "        ttg.local_store %acc, %early : tensor<128x128xf32, #mma> -> !ct\n"
        "        %next = ttng.warp_group_dot",
    )
    with pytest.raises(TaskFault, match=r"write to c.0. while the TMA load into .* still writes"):
        run(early, schedules=4)


def test_the_report_names_task_source_and_both_lines() -> None:
    with pytest.raises(TaskFault) as found:
        run(changed(RING, EXPECT, EXPECT.replace("32768", "16384")), schedules=1)
    text = str(found.value)
    dot, copy = (
        next(i for i, line in enumerate(RING.split("\n"), 1) if word in line)
        for word in ("ttng.warp_group_dot", LOAD_B)
    )
    assert text.startswith(f"kernel.mlir:{dot}:")
    assert "read of b[0] while the TMA load into b[0] still writes b[0]" in text
    assert f"kernel.mlir:{copy}:9: note: the TMA load into b[0] was issued here" in text
    assert "note: program (0, 0, 0), default, schedule with seed 0" in text
    assert "the accesses overlap in 16384 bytes of shared memory" in text
    assert "it completes on full[0], which is in phase 1 with 0 bytes pending" in text
