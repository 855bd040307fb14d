"""The GEMMs of `benchmarks/shapes`: shapes, configurations, and values at small sizes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from benchmarks.shapes import draw, space
from benchmarks.shapes.kernel import matmul
from benchmarks.shapes.space import H200, Config, Shape

SMALL = {"block_M": 64, "block_N": 64, "block_K": 64, "num_stages": 2, "threads": 128}
FORMS = (
    {"padded": False},
    {"padded": True},
    {"padded": True, "split": 3},
    {"padded": False, "split": 2},
    {"padded": True, "persistent": True, "processors": 3},
    {"padded": True, "persistent": True, "parts": 2, "processors": 2},
)


def multiplied(M, N, K, dtype, out, *, transposed=False, **config):
    """What the kernel computes, and NumPy in float64; the output is NaN before."""
    rng = np.random.default_rng(M + N + K)
    a = rng.standard_normal((M, K)).astype(dtype)
    b = rng.standard_normal((N, K) if transposed else (K, N)).astype(dtype)
    c = np.full((M, N), np.nan, out)
    names = {ml_dtypes.float8_e4m3fn: "float8_e4m3"}
    types = [names.get(each) or np.dtype(each).name for each in (dtype, out)]
    kernel = matmul.inner(M, N, K, *types, transposed, **{**SMALL, **config})
    kernel(a, b, c)
    wide = b.astype(np.float64)
    return c.astype(np.float64), a.astype(np.float64) @ (wide.T if transposed else wide)


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("shape", [(70, 131, 77), (65, 136, 200), (130, 70, 66)])
def test_every_form_computes_the_gemm(shape, form):
    found, expected = multiplied(*shape, np.float16, np.float16, **form)
    assert relative_error(found, expected) < 2e-3


def test_fp8_with_k_contiguous():
    found, expected = multiplied(
        67, 80, 144, ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16, transposed=True, split=2
    )
    assert relative_error(found, expected) < 1e-2


def test_one_uneven_operand_alone_is_padded():
    for N, K in ((67, 72), (72, 67)):
        found, expected = multiplied(64, N, K, np.float16, np.float16)
        assert relative_error(found, expected) < 2e-3


# -- shapes ---------------------------------------------------------------------------------------


def test_shapes_depend_on_the_seed_alone():
    assert draw.drawn(30, 5) == draw.drawn(30, 5)
    assert draw.drawn(30, 5) != draw.drawn(30, 6)


@pytest.mark.parametrize("seed", range(20))
def test_no_extent_is_a_multiple_of_a_tile(seed):
    for case in draw.drawn(30, seed):
        for extent in (case.M, case.N, case.K):
            assert draw.MIN_EXTENT <= extent <= draw.MAX_EXTENT
            assert extent % draw.TILE
        if case.type.size == 1:
            assert case.N % 16 == case.K % 16 == 0


def test_types_alternate_and_some_rows_are_uneven():
    cases = draw.drawn(30, 0)
    assert [case.type.label for case in cases[:4]] == ["fp16", "bf16", "fp8", "fp16"]
    assert any(case.shape.uneven_bytes for case in cases)
    assert any(not case.shape.uneven_bytes for case in cases if case.type.size == 2)


# -- configurations -------------------------------------------------------------------------------


def shared_bytes(config: Config, shape: Shape) -> int:
    stage = (config.block_M + config.block_N) * config.block_K * shape.size
    tile = 2 * config.block_M * config.block_N // config.parts if config.persistent else 0
    return config.num_stages * stage + tile


@pytest.mark.parametrize("seed", range(5))
def test_configurations_fit_and_are_few(seed):
    for case in draw.drawn(12, seed):
        chosen = space.pruned(case.shape)
        assert 0 < len(chosen) <= space.LIMIT
        assert len(set(chosen)) == len(chosen)
        for config in chosen:
            assert shared_bytes(config, case.shape) <= H200.shared_bytes
            assert config.num_stages >= 2
            assert config.split * 4 <= max(4, config.steps(case.shape))


def test_few_tiles_with_a_long_k_are_split():
    best = space.pruned(Shape(100, 300, 15000, 2))[0]
    assert best.split > 1


def test_many_tiles_are_not_split_and_may_be_persistent():
    chosen = space.pruned(Shape(8000, 8000, 8000, 2))
    assert chosen[0].split == 1
    assert any(each.persistent for each in chosen)


def test_uneven_rows_of_a_large_gemm_are_padded():
    shape = Shape(4001, 4001, 4001, 2)
    assert space.pruned(shape)[0].padded
    assert shape.uneven_bytes == 2 * 2 * 4001 * 4001


def test_the_model_charges_a_nearly_empty_wave():
    """144 tiles on 132 multiprocessors take almost twice as long as 132."""
    tile = Config(128, 128, 64, 4, 256, padded=True)
    full, over = Shape(128 * 12, 128 * 11, 8192, 2), Shape(128 * 12, 128 * 12, 8192, 2)
    assert space.seconds(over, tile) > 1.8 * space.seconds(full, tile)
