"""Running sums and maxima along lines of any length, by any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.sampling import only
from tilewright import T
from tilewright.analysis.layout_inference.scopes import Threads
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.lower.lines import Deal
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

SHAPES: tuple[tuple[tuple[int, ...], int], ...] = (
    ((1,), 0),
    ((7,), 0),
    ((32,), 0),
    ((1000,), 0),
    ((4096,), 0),
    ((64, 128), 1),
    ((64, 128), 0),
    ((3, 37), 1),
    ((3, 37), 0),
    ((37, 3), 0),
    ((500, 2), 0),
    ((1, 40), 0),
    ((100, 33), 0),
    ((5, 6, 7), 1),
    ((2, 300, 5), 1),
    ((4, 3, 70), 2),
)


def scan(
    shape: tuple[int, ...],
    dim: int,
    *,
    word: str = "cumsum",
    reverse: bool = False,
    dtype: str = "float32",
    threads: int = 128,
    space: str = "shared",
) -> Any:
    run = getattr(T, word)

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), B: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=threads):
            lines = (
                T.alloc_shared(shape, dtype)
                if space == "shared"
                else T.alloc_fragment(shape, dtype)
            )
            T.copy(A, lines)
            run(lines, dim=dim, reverse=reverse)
            T.copy(lines, B)

    return main


def outcome(func: Any, arch: str = "sm_90a") -> np.ndarray:
    """What the threads find, for numbers whose sums are exact."""
    module = func.module.clone()
    engine = DiagnosticEngine()
    GpuPipeline(target=f"cuda:{arch}").run(module, engine)
    engine.raise_if_errors()
    source, target = _arrays(func)
    compile_simt(module).launch([Buffer("A", source), Buffer("B", target)], SimtOptions(seed=3))
    return target


def _arrays(func: Any) -> list[np.ndarray]:
    source = func.params[0]
    dtype = source.dtype.as_numpy()
    low = 0 if "uint" in str(source.dtype) else -3
    values = np.random.default_rng(5).integers(low, 4, tuple(source.shape)).astype(dtype)
    return [values, np.full_like(values, 99)]


def wanted(func: Any) -> np.ndarray:
    """What tiles are defined to give."""
    source, target = _arrays(func)
    tw.compile(func, target="numpy")(source, target)
    return target


LINES = [(*case, reverse) for case in SHAPES for reverse in (False, True)]


@pytest.mark.parametrize(("shape", "dim", "reverse"), only(LINES[::4] + LINES[3::4], LINES))
def test_any_line(shape: tuple[int, ...], dim: int, reverse: bool) -> None:
    func = scan(shape, dim, reverse=reverse)
    np.testing.assert_array_equal(outcome(func), wanted(func))


@pytest.mark.parametrize("threads", [16, 32, 48, 96, 160, 256])
@pytest.mark.parametrize(("shape", "dim"), [((700,), 0), ((6, 90), 1), ((90, 6), 0)])
def test_any_number_of_threads(shape: tuple[int, ...], dim: int, threads: int) -> None:
    func = scan(shape, dim, threads=threads, space="fragment")
    np.testing.assert_array_equal(outcome(func, "sm_80"), wanted(func))


@pytest.mark.parametrize("dtype", ["float16", "int32", "int64", "uint8", "bfloat16", "float64"])
@pytest.mark.parametrize("word", ["cumsum", "cummax"])
def test_any_type(word: str, dtype: str) -> None:
    func = scan((2, 40), 1, word=word, dtype=dtype, reverse=True)
    np.testing.assert_array_equal(outcome(func), wanted(func))


def test_a_long_line_is_shared_by_all_warps() -> None:
    deal = Deal.of((4096,), 0, Threads(0, 128, 32))
    assert (deal.along, deal.sections, deal.steps) == (32, 4, 32)


def test_neighbouring_lanes_read_neighbours() -> None:
    """Lines along the first dimension lie side by side: a lane for each."""
    for warp_size in (32, 64):
        threads = Threads(0, 128, warp_size)
        columns, rows = Deal.of((64, 128), 0, threads), Deal.of((64, 128), 1, threads)
        assert (columns.side, columns.along) == (warp_size, 1)
        assert (rows.side, rows.along) == (1, warp_size)
