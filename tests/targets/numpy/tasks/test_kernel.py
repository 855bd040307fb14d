"""The kernel as a whole: which modules become tasks, what runs report, what schedules change."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.kernels import compiled as compiled_plain
from tests.targets.numpy.tasks import hopper_kernels as kernels
from tests.targets.numpy.tasks.programs import compiled, descriptor
from tests.targets.numpy.tasks.test_mutations import RING
from tilewright.targets.numpy import RunOptions, Unsupported
from tilewright.targets.numpy.tasks.faults import TaskFault
from tilewright.targets.numpy.tasks.kernel import TaskKernel

PLAIN = """
tt.func public @copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %0 = tt.load %x : !tt.ptr<f32>
  tt.store %y, %0 : !tt.ptr<f32>
  tt.return
}
"""


def test_only_kernels_with_shared_memory_become_tasks() -> None:
    assert not isinstance(compiled_plain(PLAIN), TaskKernel)
    assert isinstance(compiled_plain(RING), TaskKernel)


def test_offsets_are_those_of_the_layouts() -> None:
    tables = compiled(RING).tables
    placed = [(each.name, each.offset, each.size) for each in tables.allocations]
    assert placed == [("ring", 0, 131072), ("full", 131072, 32), ("empty", 131104, 32)]
    assert tables.smem_bytes == 131136
    assert tables.num_warps == 4
    assert {name: {each.task for each in ops} for name, ops in tables.signals.items()} == {
        "full": {"partition0"},
        "empty": {"default"},
    }


def test_tasks_are_generators_with_source_lines() -> None:
    source = compiled(RING).source
    assert "    def partition0():" in source
    assert "yield from rt.wait(" in source
    line = next(i for i, text in enumerate(RING.split("\n"), 1) if "warp_group_dot " in text)
    (product,) = (each for each in source.split("\n") if "rt.wgmma_now" in each)
    assert product.endswith(f"# kernel.mlir:{line}")


def test_progress_counts_programs_of_all_schedules() -> None:
    seen: list[tuple[int, int]] = []
    arrays = [np.ones(shape, np.float16) for shape in ((256, 64), (64, 128))]
    out = np.zeros((256, 128), np.float32)
    arguments = [descriptor("a", arrays[0]), descriptor("b", arrays[1]), descriptor("c", out)]
    options = RunOptions(schedules=2, progress=lambda done, of: seen.append((done, of)))
    report = compiled(RING).launch((2, 1), [*arguments, np.int32(1)], options)
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert (report.programs, report.schedules) == (2, 2)
    np.testing.assert_array_equal(out, np.full((256, 128), 64))


def test_results_that_depend_on_the_schedule_are_reported() -> None:
    out = np.zeros(1, np.int32)
    with (
        tw.running(schedules=6),
        pytest.raises(TaskFault, match=r"out_ptr\[0\] is [12] under seed 0") as found,
    ):
        kernels.whoever_is_last[(1,)](out)
    assert found.value.kind == "schedule"


def test_rounding_of_additions_may_depend_on_the_schedule() -> None:
    out = np.zeros(1, np.float32)
    with tw.running(schedules=8):
        kernels.summed[(1,)](out)
    np.testing.assert_allclose(out, 28 * 1.8, rtol=1e-5)


def test_tasks_print_in_the_order_they_run() -> None:
    lines: list[str] = []
    for seed in range(5):
        with tw.running(seed=seed, output=lines.append):
            kernels.talkative[(2,)](3)
    assert [line.split(")")[1].split()[0].strip(":") for line in lines] == ["first", "second"] * 10


def test_the_older_way_of_reuse() -> None:
    x, out = np.arange(64, dtype=np.int32), np.zeros(96, np.int32)
    kernels.reused[(1,)](x, out)
    np.testing.assert_array_equal(out[:32], x[:32])
    np.testing.assert_array_equal(out[32:], x * 10)


def test_buffers_are_counted() -> None:
    x = np.zeros(32, np.float32)
    kernels.overrun[(1,)](x, 2)
    with pytest.raises(TaskFault, match=r"buffers\[3\], but the extent is 3") as found:
        kernels.overrun[(1,)](x, 3)
    assert found.value.kind == "out of bounds"
    assert "buffers is allocated here" in str(found.value)


def test_functions_with_jumps_cannot_use_buffers() -> None:
    with pytest.raises(Unsupported, match="has several returns"):
        kernels.calls_with_jumps[(1,)](np.zeros(32, np.int32), 2)
