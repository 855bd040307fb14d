"""Ops of plain kernels as the installed release of stock Triton gets them right."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.fuzz.tl.generator import generate
from tests.fuzz.tl.running import described, differences, expected, kernel
from tilewright import tl
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.verify import verify
from tilewright.passes.stock_triton.plain_ops import write_for_release
from tilewright.targets.numpy import Buffer, compile_module

OLD, NEW = (3, 6), (3, 9)


@tw.jit
def negate(x, o):
    i = tl.arange(0, 8)
    tl.store(o + i, -tl.load(x + i))


@tw.jit
def convert(x, o):
    i = tl.arange(0, 8)
    tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty))


@tw.jit
def fill(x, o, OTHER: tl.constexpr):
    i = tl.arange(0, 8)
    tl.store(o + i, tl.load(x + i, mask=i < 3, other=OTHER))


@tw.jit
def first_least(x, o):
    i = tl.arange(0, 8)
    both = tl.interleave(tl.load(x + i) + 7, tl.load(x + i))
    tl.store(o, tl.argmin(both, axis=0))


@tw.jit
def count(x, o):
    i = tl.arange(0, 8)
    both = tl.interleave(tl.load(x + i), tl.load(x + i) + 1)
    tl.store(o + i, tl.histogram(both, 8, mask=tl.arange(0, 16) % 2 == 0))


def written(function: Any, version: tuple[int, int], *arguments: Any, **constants: Any) -> Any:
    module = function.warmup(*arguments, grid=(1,), **constants).module.clone()
    write_for_release(module, version)
    engine = DiagnosticEngine()
    assert verify(module, engine)
    engine.raise_if_errors()
    return module


def run(module: Any, *arrays: np.ndarray) -> None:
    compile_module(module).launch((1,), [Buffer(f"a{n}", each) for n, each in enumerate(arrays)])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_negation_was_no_op_of_older_releases(dtype: Any) -> None:
    x = np.array([0.0, -0.0, 1, -2.5, np.inf, -np.inf, 6e-5, -100], dtype)
    found = np.full_like(x, 7)
    module = written(negate, OLD, x, found)
    assert "arith.negf" not in print_module(module)
    run(module, x, found)
    bits = f"u{x.itemsize}"
    np.testing.assert_array_equal(found.view(bits), (-x).view(bits))
    assert "arith.negf" in print_module(written(negate, NEW, x, found))


@pytest.mark.parametrize(
    ("source", "result"),
    [(np.float16, ml_dtypes.bfloat16), (ml_dtypes.bfloat16, np.float16)],
)
def test_halves_of_two_kinds_had_no_conversion_in_older_releases(source: Any, result: Any) -> None:
    numbers = [0.0, -0.0, 1.0009765625, 257, 30000, 3e-5, np.inf, -1.5]
    x = np.array(numbers, np.float32).astype(source)
    found = np.zeros(8, result)
    module = written(convert, OLD, x, found)
    assert "tt.fp_to_fp" not in print_module(module)
    run(module, x, found)
    np.testing.assert_array_equal(found.view("u2"), x.astype(np.float32).astype(result).view("u2"))
    assert "tt.fp_to_fp" in print_module(written(convert, NEW, x, found))


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_a_negative_filler_of_narrow_loads_lost_bits_in_older_releases(dtype: Any) -> None:
    x, found = np.arange(8, dtype=dtype), np.zeros(8, dtype)
    module = written(fill, OLD, x, found, OTHER=-2)
    (load,) = [line for line in print_module(module).splitlines() if "tt.load" in line]
    assert load.count(",") == 1, "the filler is still the load's"
    assert "arith.select" in print_module(module)
    run(module, x, found)
    np.testing.assert_array_equal(found, [0, 1, 2, -2, -2, -2, -2, -2])


@pytest.mark.parametrize(("dtype", "other"), [(np.int8, 0), (np.int16, 3), (np.int32, -2)])
def test_other_fillers_stay_with_their_loads(dtype: Any, other: int) -> None:
    x = np.arange(8, dtype=dtype)
    assert "arith.select" not in print_module(written(fill, OLD, x, x.copy(), OTHER=other))


@pytest.mark.parametrize("version", [OLD, NEW])
def test_places_in_a_flattened_tensor_were_those_of_another_order(version: tuple[int, int]) -> None:
    x, found = np.array([5, 9, 2, 8, 2, 7, 6, 4], np.int32), np.zeros(1, np.int32)
    module = written(first_least, version, x, found)
    assert "-> tensor<16xi32>" not in print_module(module)
    run(module, x, found)
    assert found[0] == 5


def test_triton_leaves_the_order_of_what_argmin_looks_at() -> None:
    pytest.importorskip("triton", reason="looks at what Triton makes of it")
    x, found = np.zeros(8, np.int32), np.zeros(1, np.int32)
    compiled = first_least.warmup(x, found, grid=(1,), target="triton:sm_90")
    assert "tt.reshape" in compiled.asm["ttir.final"]
    assert "allow_reorder" not in compiled.asm["ttir.final"]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_masked_histogram_of_a_flattened_tensor_counted_other_elements(
    version: tuple[int, int],
) -> None:
    x, found = np.array([5, 1, 2, 5, 2, 6, 6, 4], np.int32), np.zeros(8, np.int32)
    module = written(count, version, x, found)
    run(module, x, found)
    np.testing.assert_array_equal(found, np.bincount(x, minlength=8))


def test_triton_leaves_the_order_of_what_a_masked_histogram_counts() -> None:
    pytest.importorskip("triton", reason="looks at what Triton makes of it")
    x = np.zeros(8, np.int32)
    compiled = count.warmup(x, x.copy(), grid=(1,), target="triton:sm_90")
    assert "tt.reshape" in compiled.asm["ttir.final"]
    assert "allow_reorder" not in compiled.asm["ttir.final"]


@pytest.mark.parametrize("seed", range(7, 60, 6))
def test_random_kernels_compute_the_same_as_an_old_release_wants_them(seed: int) -> None:
    case = generate(seed)
    arrays = case.arrays()
    given = described(case, arrays, tw.TensorDescriptor)
    with tw.running(target="numpy"):
        compiled = kernel(case).warmup(
            *given, *case.scalars.values(), **case.constants, grid=case.grid
        )
    write_for_release(compiled.module, OLD)
    values = [*given, *case.scalars.values(), *case.constants.values()]
    compiled.launch(case.grid, values, None)
    assert differences(arrays, expected(case)) == []


@tw.jit
def dependent(x):
    tl.extra.cuda.gdc_wait()
    tl.store(x, 1.0)
    tl.extra.cuda.gdc_launch_dependents()


def test_grid_dependencies_were_assembly_in_older_releases() -> None:
    x = np.zeros(1, np.float32)
    text = print_module(written(dependent, OLD, x))
    asm = [line.partition('"')[2].partition(";")[0] for line in text.splitlines() if "asm" in line]
    assert asm == ["griddepcontrol.wait", "griddepcontrol.launch_dependents"]
    assert "pure = false" in text and "grid_dependency" not in text
    assert "tt.grid_dependency_wait" in print_module(written(dependent, NEW, x))


@tw.jit
def concatenate(x, y, o):
    i = tl.arange(0, 8)
    both = tl.cat(tl.load(x + i), tl.load(y + i), can_reorder=True)
    tl.store(o + tl.arange(0, 16), both)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_concatenations_that_may_reorder_keep_the_order(version: tuple[int, int]) -> None:
    x, y, found = np.arange(8.0), np.arange(50.0, 58.0), np.zeros(16)
    module = written(concatenate, version, x, y, found)
    assert "tt.cat" not in print_module(module)
    run(module, x, y, found)
    np.testing.assert_array_equal(found, np.concatenate([x, y]))
