"""The examples of `T` against NumPy in float64, and against themselves in every form.

Passes of the front half, more stages, roles: nothing of it may change a bit of the result.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.examples.tile_examples import NAMES, as_tuple, is_pipelined, load, results
from tests.sampling import every

TOLERANCE = {
    "attention": 2e-3,
    "attention_backward": 2e-2,
    "attention_varlen": 2e-3,
    "autotuned_gemm": 0.25,
    "block_sparse_gemm": 3e-2,
    "convolution": 2e-3,
    "gemm": 3e-2,
    "gemm_relu": 3e-2,
    "gemv": 1e-4,
    "grouped_gemm": 3e-2,
    "linear_attention": 3e-3,
    "batched_gemm": 2e-2,
    "mlp": 4e-3,
    "persistent_gemm": 3e-2,
}
EXACT = ("cast_to_fp8", "top_k")
FRONT_HALF = (
    "bind-target",
    "canonicalize",
    "cse",
    "normalize-indices",
    "wrap-scalar-fragment-access",
    "inject-assumes",
    "check-parallel-races",
    "check-buffer-init",
    "check-reducers",
    "plan-storage-alias",
    "split-guards",
    "expand-explicit-unroll",
)
CHECKS = tuple(name for name in FRONT_HALF if name.startswith("check-"))
PIPELINED = ("plan-pipeline", "expand-pipeline")
ROLES = ("specialize-warps", "check-barriers", *PIPELINED)
PIPELINED_NAMES = tuple(name for name in NAMES if is_pipelined(load(name)))


@cache
def plain(name: str) -> list[np.ndarray]:
    """The result of the kernels as they were traced."""
    return results(load(name))


def same(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))


@pytest.mark.parametrize("name", NAMES)
def test_against_float64(name: str) -> None:
    found, wanted = load(name).example(np.random.default_rng(1))
    for result, exact in zip(as_tuple(found), as_tuple(wanted), strict=True):
        error = np.abs(np.asarray(result, np.float64) - exact)
        if name in EXACT:
            assert not error.any()
        else:
            assert error.max() <= TOLERANCE.get(name, 2e-5)
            assert np.abs(exact).max() > 10 * error.max()


@pytest.mark.parametrize("name", every(8, NAMES))
def test_every_pass_of_the_tile_pipeline_keeps_the_bits(name: str) -> None:
    example = load(name)
    for count in range(1, len(FRONT_HALF) + 1):
        if FRONT_HALF[count - 1] not in CHECKS:  # they change nothing
            same(results(example, *FRONT_HALF[:count]), plain(name))


@pytest.mark.parametrize("name", every(2, NAMES))
def test_the_tile_pipeline_as_it_is_run(name: str) -> None:
    same(results(load(name), "tile-pipeline", schedules=3), plain(name))


@pytest.mark.parametrize(("name", "stages"), every(7, product(PIPELINED_NAMES, range(5))))
def test_pipelined_under_several_schedules(name: str, stages: int) -> None:
    found = results(load(name), *FRONT_HALF, *PIPELINED, num_stages=stages, schedules=3)
    same(found, plain(name))


@pytest.mark.parametrize(("name", "stages"), every(7, product(PIPELINED_NAMES, range(5))))
def test_split_into_roles_under_several_schedules(name: str, stages: int) -> None:
    found = results(load(name), *FRONT_HALF, *ROLES, num_stages=stages, schedules=3)
    same(found, plain(name))


@pytest.mark.slow
@pytest.mark.parametrize("stages", range(5))
@pytest.mark.parametrize("passes", [PIPELINED, ROLES], ids=["pipelined", "roles"])
@pytest.mark.parametrize("name", PIPELINED_NAMES)
def test_twenty_schedules(name: str, passes: tuple[str, ...], stages: int) -> None:
    found = results(load(name), *FRONT_HALF, *passes, num_stages=stages, schedules=20)
    same(found, plain(name))
