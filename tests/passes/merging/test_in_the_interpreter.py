"""Kernels compute the same bits before and after their buffers are merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.passes.pass_support import apply, parse
from tests.targets.numpy.tasks.programs import CORPUS, ROOT, compiled, described, descriptor
from tilewright.ir.text import print_module
from tilewright.targets.numpy import RunOptions

Arguments = Callable[[np.random.Generator], tuple[list[Any], np.ndarray]]


def half(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float16)


def _epilogue(rng: np.random.Generator) -> tuple[list[Any], np.ndarray]:
    a, b, c = half(rng, 256, 320), half(rng, 128, 320), np.full((256, 128), np.nan, np.float16)
    pairs = (("a", a), ("b", b), ("c", c))
    return [*(descriptor(name, each) for name, each in pairs), np.int32(320)], c


def _attention(rng: np.random.Generator) -> tuple[list[Any], np.ndarray]:
    q, k, v = (half(rng, 384, 64) for _ in range(3))
    out = np.full_like(q, np.nan)
    pairs = (("q", q), ("k", k), ("v", v), ("out", out))
    arguments = [x for name, each in pairs for x in described(name, each)]
    return [*arguments, np.float32(0.18), 192], out


EXAMPLE = ROOT / "examples" / "buffers" / "gemm_epilogue.mlir"
KERNELS: dict[str, tuple[Any, Arguments, tuple[int, ...]]] = {
    "gemm epilogue": (EXAMPLE, _epilogue, (2, 1)),
    "attention": (CORPUS / "attention_specialized_64.sm100.ttgir", _attention, (3, 2)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_same_bits(name: str) -> None:
    path, arguments, grid = KERNELS[name]
    text = path.read_text()
    merged = print_module(apply(parse(text), "merge-shared-memory"))
    assert merged.count("ttg.local_alloc ") != text.count("ttg.local_alloc ")
    found: list[bytes] = []
    for version in (text, merged):
        values, result = arguments(np.random.default_rng(3))
        compiled(version).launch(grid, values, RunOptions(schedules=3))
        assert not np.isnan(result).all()
        found.append(result.tobytes())
    assert found[0] == found[1]
