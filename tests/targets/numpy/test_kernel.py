"""Launching: arguments, grids, batches, output, and errors at the source line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.targets.numpy.kernels import compiled, run
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source, print_module
from tilewright.targets.numpy import (
    Buffer,
    Descriptor,
    NumpyFault,
    RunOptions,
    Unsupported,
    compile_module,
)
from tilewright.targets.numpy.batching import batch_size, batches
from tilewright.targets.numpy.support import HELPERS, types

CORPUS = Path(__file__).parents[2] / "corpus" / "ttir"

IDS = """tt.func public @kernel(%out: !tt.ptr<i32>, %scale: i32) {
  %x = tt.get_program_id x : i32
  %y = tt.get_program_id y : i32
  %z = tt.get_program_id z : i32
  %nx = tt.get_num_programs x : i32
  %ny = tt.get_num_programs y : i32
  %a = arith.muli %z, %ny : i32
  %b = arith.addi %a, %y : i32
  %c = arith.muli %b, %nx : i32
  %id = arith.addi %c, %x : i32
  %p = tt.addptr %out, %id : !tt.ptr<i32>, i32
  %v = arith.muli %id, %scale : i32
  tt.store %p, %v : !tt.ptr<i32>
  tt.return
}"""


@pytest.mark.parametrize("grid", [(1,), (7,), (3, 5), (2, 3, 4), (16, 1, 3)])
@pytest.mark.parametrize("batch", [None, 1, 2, 5, 1000])
def test_every_program_of_a_grid_runs_once(grid, batch) -> None:
    count = int(np.prod(grid))
    out = np.zeros(count, np.int32)
    seen: list[tuple[int, int]] = []
    report = run(IDS, grid, out, 3, batch=batch, progress=lambda *done: seen.append(done))
    assert out.tolist() == [3 * index for index in range(count)]
    assert report.programs == count
    assert seen[-1] == (count, count)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_an_empty_grid_runs_nothing() -> None:
    out = np.zeros(1, np.int32)
    assert run(IDS, (0,), out, 3).batches == 0
    assert out[0] == 0


@pytest.mark.parametrize("grid", [(), (1, 2, 3, 4), (-1,)])
def test_other_grids_are_refused(grid) -> None:
    with pytest.raises(ValueError, match="expected a grid of one to three non-negative extents"):
        run(IDS, grid, np.zeros(1, np.int32), 3)


def test_arguments_are_counted() -> None:
    with pytest.raises(TypeError, match="kernel takes 2 arguments, got 1"):
        compiled(IDS).launch((1,), [Buffer("out", np.zeros(1, np.int32))])


@pytest.mark.parametrize("value", [2**32 - 1, -1, np.int64(-1), np.uint32(2**32 - 1)])
def test_integers_wrap_around_into_their_type(value) -> None:
    out = np.zeros(2, np.int32)
    run(IDS, (2,), out, value)
    assert out.tolist() == [0, -1]


def test_floats_and_truth_values() -> None:
    text = """tt.func public @kernel(%out: !tt.ptr<f16>, %x: f16, %c: i1) {
  %z = arith.constant 0.0 : f16
  %r = arith.select %c, %x, %z : f16
  tt.store %out, %r : !tt.ptr<f16>
  tt.return
}"""
    out = np.zeros(1, np.float16)
    run(text, (1,), out, 0.1, True)
    assert out[0] == np.float16(0.1)
    run(text, (1,), out, 0.1, False)
    assert out[0] == 0


DESCRIPTOR = """tt.func public @kernel(%d: !tt.tensordesc<4x8xf32>, %out: !tt.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %i = tt.get_program_id x : i32
  %row = arith.muli %i, %c4 : i32
  %t = tt.descriptor_load %d[%row, %c4] : !tt.tensordesc<4x8xf32> -> tensor<4x8xf32>
  %f = tt.reshape %t : tensor<4x8xf32> -> tensor<32xf32>
  %lane = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %c32 = arith.constant 32 : i32
  %first = arith.muli %i, %c32 : i32
  %b = tt.addptr %out, %first : !tt.ptr<f32>, i32
  %s = tt.splat %b : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %q = tt.addptr %s, %lane : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  tt.store %q, %f : tensor<32x!tt.ptr<f32>>
  tt.return
}"""


@pytest.mark.parametrize(("padding", "fill"), [("zero", 0.0), ("nan", np.nan)])
def test_a_descriptor_fills_in_what_is_outside(padding: str, fill: float) -> None:
    x = np.arange(6 * 12, dtype=np.float32).reshape(6, 12)
    expected = np.full((8, 12), fill, np.float32)
    expected[:6, :10] = x[:, :10]
    for batch in (None, 1):
        out = np.zeros((2, 4, 8), np.float32)
        given = Descriptor(Buffer("x", x), (6, 10), (12, 1), padding)
        arguments = [given, Buffer("out", out)]
        compiled(DESCRIPTOR).launch((2,), arguments, RunOptions(batch=batch))
        np.testing.assert_array_equal(out, expected[:, 4:12].reshape(2, 4, 8))


PRINTS = """tt.func public @kernel(%n: i32) {
  %i = tt.get_program_id x : i32
  %c2 = arith.constant 2 : i32
  %lane = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %w = tt.splat %i : i32 -> tensor<4xi32>
  %v = arith.subi %lane, %w : tensor<4xi32>
  tt.print " first: " {hex = false, isSigned = array<i32: 1>} : %i : i32
  %c = arith.cmpi slt, %i, %c2 : i32
  scf.if %c {
    tt.print " early" {hex = false, isSigned = array<i32>}
  }
  tt.print " v: " {hex = true, isSigned = array<i32: 1>} : %v : tensor<4xi32>
  tt.return
}"""


@pytest.mark.parametrize("batch", [None, 1, 2])
def test_prints_come_in_the_order_of_programs(batch) -> None:
    lines: list[str] = []
    run(PRINTS, (3,), 0, batch=batch, output=lines.append)
    assert lines == [
        "pid (0, 0, 0) first: 0",
        "pid (0, 0, 0) early",
        "pid (0, 0, 0) v: [0x00000000 0x00000001 0x00000002 0x00000003]",
        "pid (1, 0, 0) first: 1",
        "pid (1, 0, 0) early",
        "pid (1, 0, 0) v: [0xffffffff 0x00000000 0x00000001 0x00000002]",
        "pid (2, 0, 0) first: 2",
        "pid (2, 0, 0) v: [0xfffffffe 0xffffffff 0x00000000 0x00000001]",
    ]


ASSERTS = """tt.func public @kernel(%x: !tt.ptr<i32>) {
  %i = tt.get_program_id x : i32
  %lane = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi32>
  %w = tt.splat %i : i32 -> tensor<4xi32>
  %v = arith.addi %lane, %w : tensor<4xi32>
  %five = arith.constant dense<5> : tensor<4xi32>
  %c = arith.cmpi slt, %v, %five : tensor<4xi32>
  %one = arith.constant 1 : i32
  %late = arith.cmpi sgt, %i, %one : i32
  scf.if %late {
    tt.assert %c, "too large {here}" : tensor<4xi1>
  }
  tt.return
}"""


@pytest.mark.parametrize("batch", [None, 1])
def test_an_assertion_names_program_and_line(batch) -> None:
    x = np.zeros(1, np.int32)
    run(ASSERTS, (2,), x, batch=batch)
    with pytest.raises(NumpyFault) as caught:
        run(ASSERTS, (9,), x, batch=batch)
    assert caught.value.program == (2, 0, 0)
    text = str(caught.value)
    assert text.startswith("kernel.mlir:11:")
    assert "error[TW6010]: assertion failed" in text
    assert "too large {here}" in text
    assert "[3]" in text


ORDER = """tt.func public @kernel(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
  %i = tt.get_program_id x : i32
  %p = tt.addptr %x, %i : !tt.ptr<i32>, i32
  %v = tt.load %p : !tt.ptr<i32>
  %q = tt.addptr %out, %v : !tt.ptr<i32>, i32
  %w = tt.load %q : !tt.ptr<i32>
  %c1 = arith.constant 1 : i32
  %u = arith.addi %w, %c1 : i32
  %r = tt.addptr %out, %i : !tt.ptr<i32>, i32
  tt.store %r, %u : !tt.ptr<i32>
  tt.return
}"""


def test_programs_that_build_on_each_other_run_one_by_one() -> None:
    x = np.array([0, 0, 1, 2, 3], np.int32)
    out = np.zeros(5, np.int32)
    report = run(ORDER, (5,), x, out)
    assert out.tolist() == [1, 2, 3, 4, 5]
    assert report.serial_programs == 5
    assert next(iter(report.serial_reasons)).startswith("programs share elements of out")


def test_a_fault_is_that_of_the_first_program() -> None:
    """Program 1 fails at the second load; program 3 already at the first, which runs before."""
    x = np.array([0, 99, 1], np.int32)
    for batch in (None, 1):
        with pytest.raises(NumpyFault) as caught:
            run(ORDER, (5,), x, np.zeros(5, np.int32), batch=batch)
        assert caught.value.program == (1, 0, 0)
        assert str(caught.value).startswith("kernel.mlir:6:")


def test_an_exception_in_generated_code_is_reported_at_the_source_line() -> None:
    kernel = compiled(IDS)

    class Broken:
        active = None
        is_tracked = False
        serial_reason = None

        def address_of(self, argument: int) -> np.int64:
            return np.int64(0)

        def begin(self, programs: np.ndarray) -> None: ...

        def store(self, *arguments: object) -> None:
            raise ZeroDivisionError("broken")

    broken = compile_module(_parsed(IDS))
    broken.open_memory = lambda *_: Broken()  # type: ignore[assignment, return-value]
    with pytest.raises(
        NumpyFault, match=r"kernel.mlir:13:\d+: error\[TW9061\].*ZeroDivisionError: broken"
    ):
        broken.launch((1,), [Buffer("out", np.zeros(1, np.int32)), 1])
    assert kernel.source == broken.source


def _parsed(text: str):
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    assert source is not None
    return source.module


def test_the_module_is_not_changed() -> None:
    module = _parsed((CORPUS / "flash_attn_fwd.ttir").read_text())
    before = print_module(module)
    compile_module(module)
    assert print_module(module) == before


def test_a_module_must_hold_one_kernel() -> None:
    with pytest.raises(
        Unsupported, match="expected exactly one public function in the module, found 0"
    ):
        compiled("module {}")
    two = IDS + IDS.replace("@kernel", "@other")
    with pytest.raises(Unsupported, match="found 2"):
        compiled(two)
    assert compiled(two, name="other").name == "other"
    with pytest.raises(
        Unsupported, match="exactly one function named 'third' in the module, found 0"
    ):
        compiled(two, name="third")


def test_ops_of_threads_are_refused() -> None:
    with pytest.raises(Unsupported, match=r"'gpu.thread_id' is not supported on target numpy"):
        compiled(
            "tt.func public @kernel(%p: !tt.ptr<i32>) {\n%i = gpu.thread_id x\n%j = arith.index_cast %i : index to i32\ntt.store %p, %j : !tt.ptr<i32>\ntt.return }"
        )


def test_offsets_of_32_bits_wrap_around_where_memory_is_vast() -> None:
    """Terms add up in 64 bits; the other code adds in 32 first. Small memory shows no difference."""
    text = (CORPUS / "matmul_grouped.ttir").read_text()
    kernel = compiled(text)
    assert kernel.wrapping.source != kernel.source
    assert kernel.wrapping.recompile is None


# Batches.


@pytest.mark.parametrize(
    ("grid", "largest", "forced", "size"),
    [
        ((1000, 1, 1), 4096, None, 125),
        ((1000, 1, 1), 1 << 30, None, 1),
        ((8, 64, 1), 1 << 16, None, 8),
        ((3, 64, 1), 1 << 16, None, 6),
        ((10, 1, 1), 4, 4, 4),
        ((10, 1, 1), 4, 99, 10),
    ],
)
def test_batch_size(grid, largest, forced, size) -> None:
    assert batch_size(grid, largest, forced) == size


@pytest.mark.parametrize("grid", [(7, 3, 2), (16, 5, 1), (1, 9, 9)])
@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_batches_cover_the_grid_in_order(grid, size) -> None:
    found = list(batches(grid, size, None))
    assert np.concatenate(found).tolist() == list(range(int(np.prod(grid))))
    if size <= grid[0]:
        assert all(len({int(program) // grid[0] for program in batch}) == 1 for batch in found)


def test_every_helper_exists() -> None:
    import importlib

    for name, module in HELPERS.items():
        assert hasattr(importlib.import_module(module), name), name
    assert types.bf16(1.5) == 1.5
