"""Results whose buffer in LDS exceeds a block's: stored directly, with the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright import T
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.amd.bypass_store_buffers import BYPASSED
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.hip.compile import lower_module
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

ROWS, COLUMNS = 70, 570


def doubled() -> PrimFunc:
    """B = 2 A in tiles of 64 x 576, the last ones of which are cut."""

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float16")):
        with T.Kernel(T.ceildiv(ROWS, 64), threads=256) as bx:
            tile = T.alloc_fragment((64, 576), "float32")
            staged = T.alloc_shared((64, 576), "float16")
            T.copy(A[bx * 64, 0], tile)
            for i, j in T.Parallel(64, 576):
                tile[i, j] = tile[i, j] * 2
            T.copy(tile, staged)
            T.copy(staged, B[bx * 64, 0])

    return kernel


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_a_result_is_stored_without_its_buffer(arch: str) -> None:
    found = lower_module(doubled().module, AmdPipeline(target=f"hip:{arch}"))
    assert found.sources[0].shared_bytes == 0
    assert [each.message for each in found.diagnostics if each.code == BYPASSED] == [
        "'staged' not used, 'tile' stored directly: 73728 B needed, 65536 B available per block "
        f"on {arch}"
    ]
    a = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    b = np.full((ROWS, COLUMNS), np.nan, np.float16)
    buffers: list[Any] = [Buffer("A", a), Buffer("B", b)]
    compile_simt(found.module).launch(buffers, SimtOptions(schedules=2))
    np.testing.assert_array_equal(b, (2 * a).astype(np.float16))
