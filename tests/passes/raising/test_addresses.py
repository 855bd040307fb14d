"""Memory at addresses that are integers, and tensors whose extents are read from memory."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from benchmarks.h200 import tutorial_cases
from benchmarks.h200.peers import our_kernels
from benchmarks.h200.raised_cases import TUTORIALS, Call, Launch
from tests.passes.raising import levels
from tests.passes.raising.levels import assert_same, compare, parsed
from tilewright import tl
from tilewright.ir.diagnostics import CompileError
from tilewright.passes.tile.raise_to_tile import NotRaised, raise_module
from tilewright.runtime.tile.thread_level import running_threads
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy import Buffer
from tilewright.targets.numpy.tile import TileFault

GROUPED = ("grouped_kernel", "grouped_descriptors_kernel")
SMALL = {"BM": 32, "BN": 32, "BK": 32, "num_warps": 4, "num_stages": 3}


class HostArrays:
    """Arrays for the cases of the benchmark, in the memory of the host."""

    num_cores = 3

    def __init__(self) -> None:
        self._rng = np.random.default_rng(3)

    def random(self, *shape: int, type: str = "float16", scale: float = 1.0) -> Any:
        return (self._rng.standard_normal(shape) * scale).astype(type)

    def empty(self, *shape: int, type: str = "float16") -> Any:
        return np.full(shape, np.nan, type)

    def given(self, values: Any, type: str) -> Any:
        return np.array(values, type)

    def addresses(self, arrays: Any) -> Any:
        return self.given([each.ctypes.data for each in arrays], "int64")


def _grouped(
    monkeypatch: pytest.MonkeyPatch, name: str, problems: tuple[tuple[int, int, int], ...]
) -> tuple[Call, Launch]:
    """The case of the benchmark, smaller."""
    monkeypatch.setattr(tutorial_cases, "_PROBLEMS", problems)
    arrays: Any = HostArrays()
    module: ModuleType = our_kernels(TUTORIALS)
    call = tutorial_cases._grouped(name)(module, arrays)
    (launch,) = call.launches
    return call, launch


def _launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: Any) -> levels.Launch:
    """A launch for both levels; arrays that `reached` names are found by their addresses."""
    reached = options.pop("reached", ())
    text = kernel.warmup(*arguments, grid=grid, **options).text("ttir", locations=True)
    given = [
        Buffer(f"argument{index}", each) if isinstance(each, np.ndarray) else each
        for index, each in enumerate(arguments)
    ]
    others = [Buffer(f"reached{index}", each) for index, each in enumerate(reached)]
    return levels.Launch(text, grid, given, others)


def _address(array: np.ndarray) -> np.ndarray:
    return np.array([array.ctypes.data], np.int64)


@pytest.mark.parametrize("name", GROUPED)
@pytest.mark.parametrize(
    "problems",
    [
        ((64, 64, 96), (32, 96, 64)),
        ((32, 32, 32), (32, 32, 32)),
        ((32, 64, 64), (64, 32, 32), (96, 64, 32), (32, 32, 160)),
    ],
)
def test_grouped_gemm(
    monkeypatch: pytest.MonkeyPatch, name: str, problems: tuple[tuple[int, int, int], ...]
) -> None:
    """The same bits on pointers and on tiles, in five schedules; and they are the products."""
    call, launch = _grouped(monkeypatch, name, problems)
    both = _launch(
        launch.kernel,
        launch.grid,
        *launch.arguments,
        **SMALL,
        reached=(*call.reached, *call.outputs),
    )
    compare(both, schedules=5, num_warps=4)
    results, _ = levels.on_pointers(both)
    count = len(problems)
    for index, actual in enumerate(results[-count:]):
        a, b = (each.astype(np.float32) for each in call.reached[index::count])
        expected = a @ (b.T if name == GROUPED[1] else b)
        np.testing.assert_allclose(actual.astype(np.float32), expected, rtol=2e-3, atol=2e-2)


def test_grouped_gemm_by_descriptors_at_odd_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that are read from memory are the extents of the view."""
    call, launch = _grouped(monkeypatch, GROUPED[1], ((33, 40, 24), (1, 8, 8), (70, 64, 104)))
    reached = (*call.reached, *call.outputs)
    compare(
        _launch(launch.kernel, launch.grid, *launch.arguments, **SMALL, reached=reached),
        schedules=3,
        num_warps=4,
    )


@pytest.mark.parametrize("target", ["cuda:sm_90a", "cuda:sm_80", "hip:gfx942"])
@pytest.mark.parametrize("name", GROUPED)
def test_grouped_gemm_by_threads(monkeypatch: pytest.MonkeyPatch, name: str, target: str) -> None:
    call, launch = _grouped(monkeypatch, name, ((64, 64, 64), (64, 64, 128)))
    for each in call.reached:
        each.flags.writeable = False
    options = {**SMALL, "BM": 64, "BN": 64}
    with tw.reachable(*call.reached, *call.outputs), running_threads(compare=True) as runs:
        launch.kernel[(2,)](*launch.arguments, **options, target=target)
    ((kernel, found),) = runs.launches.items()
    assert kernel == name
    assert not found.wrong
    assert found.difference is not None and found.difference < 2e-3
    assert not any(np.isnan(each).any() for each in call.outputs)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", GROUPED)
def test_grouped_gemm_compiles(monkeypatch: pytest.MonkeyPatch, name: str, arch: str) -> None:
    """With the tiles of the benchmark; descriptors promise rows of 16 bytes."""
    _, launch = _grouped(monkeypatch, name, ((256, 256, 128),))
    made = launch.kernel.warmup(
        *launch.arguments, grid=launch.grid, target=f"cuda:{arch}", **launch.options
    ).raised
    assert made.n_spills == 0
    text = made.get_kernel_source()
    assert ("wgmma_m64n128k16" in text) == (arch == "sm_90a")
    if name == GROUPED[1]:
        assert "cp_async<16>" in text


@tw.jit
def increment(x_ptr, address_ptr, out_ptr, BLOCK: tl.constexpr):
    """The address is that of `x`: what is stored there is loaded through the pointer."""
    lane = tl.arange(0, BLOCK)
    p = tl.load(address_ptr).to(tl.pointer_type(tl.float32))
    before = tl.load(x_ptr + lane)
    tl.store(p + lane, before + 1.0)
    after = tl.load(x_ptr + lane)
    tl.store(out_ptr + lane, after * 2.0 + before)


def test_an_address_may_be_that_of_an_argument() -> None:
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    out = np.full_like(x, np.nan)
    expected = (x + 1) * 2 + x
    # Both levels have copies of the arguments: the array itself is the one that is reached.
    given = _launch(increment, (1,), x, _address(x), out, BLOCK=64, reached=(x,))
    kernel = levels.raised(given.text)
    (cuda,) = compile_module(kernel.module, "sm_90a").kernels.values()
    assert "__restrict__" not in cuda.source.partition('extern "C"')[2]
    with running_threads() as runs:
        increment[(1,)](x, _address(x), out, BLOCK=64, target="cuda:sm_90a")
    assert list(runs.launches) == ["increment"]
    np.testing.assert_array_equal(out, expected)


@tw.jit
def scaled(address, out_ptr, n, BLOCK: tl.constexpr):
    """The address is an argument."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = address.to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + at, tl.load(p + at, mask=at < n, other=-1.0) * 3.0)


@pytest.mark.parametrize("n", [2, 31, 33, 64])
def test_an_address_that_is_an_argument(n: int) -> None:
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    out = np.full_like(x, np.nan)
    compare(_launch(scaled, (2,), x.ctypes.data, out, n, BLOCK=32, reached=(x,)), schedules=2)


@tw.jit
def chosen(address_ptr, index_ptr, out_ptr, BLOCK: tl.constexpr):
    """Elements in any order, perhaps before the address."""
    lane = tl.arange(0, BLOCK)
    p = tl.load(address_ptr).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + lane, tl.load(p + tl.load(index_ptr + lane)))


def test_elements_before_an_address_are_refused() -> None:
    x, index = np.zeros(64, np.float32), np.zeros(16, np.int32)
    text = _launch(chosen, (1,), _address(x), index, x, BLOCK=16, reached=(x,)).text
    result = raise_module(parsed(text))
    assert isinstance(result, NotRaised)
    (refusal,) = result.refusals
    assert str(refusal) == (
        "TW8012 tt.load: elements before an address that is an integer may be accessed "
        "(tt.int_to_ptr)"
    )


@tw.jit
def addresses_of_elements(table_ptr, out_ptr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    p = tl.load(table_ptr + lane).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + lane, tl.load(p))


def test_an_address_for_each_element_is_refused() -> None:
    table, out = np.zeros(16, np.int64), np.zeros(16, np.float32)
    text = _launch(addresses_of_elements, (1,), table, out, BLOCK=16).text
    result = raise_module(parsed(text))
    assert isinstance(result, NotRaised)
    assert "each element has an address of its own (tt.int_to_ptr)" in str(result.refusals[0])


@tw.jit
def described(address_ptr, out_ptr, n, BLOCK: tl.constexpr):
    p = tl.load(address_ptr).to(tl.pointer_type(tl.float32))
    rows = tl.make_tensor_descriptor(p, [n, 16], [16, 1], [BLOCK, 16])
    lane = tl.arange(0, BLOCK)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out_ptr + lane, tl.sum(rows.load([0, 0]), 1, keep_dims=True) + lane)


def _described_at(x: np.ndarray, reached: np.ndarray) -> levels.Launch:
    out = np.full((8, 16), np.nan, np.float32)
    return _launch(described, (1,), _address(x), out, 5, BLOCK=8, reached=(reached,))


def test_a_descriptor_of_an_address() -> None:
    x = np.random.default_rng(0).standard_normal((5, 16)).astype(np.float32)
    compare(_described_at(x, x), schedules=2)


def test_an_address_that_is_not_a_multiple_is_reported() -> None:
    x = np.zeros(96, np.float32)
    given = _described_at(x[1:], x)
    with pytest.raises(TileFault, match=r"the address 0x[0-9a-f]+ is not a multiple of 16"):
        levels.on_tiles(levels.raised(given.text), given)


def test_an_address_where_no_array_is() -> None:
    """Nothing is reported before the access; `reachable` names the arrays."""
    x = np.zeros((5, 16), np.float32)
    given = _described_at(x, np.zeros(4, np.float32))
    with pytest.raises(TileFault, match=r"the memory at 0x[0-9a-f]+"):
        levels.on_tiles(levels.raised(given.text), given)


def test_tensix_cores_have_no_addresses() -> None:
    x = np.zeros(64, np.float32)
    with tw.running(target="tenstorrent:wormhole"), pytest.raises(CompileError) as failed:
        increment[(1,)](x, _address(x), np.zeros_like(x), BLOCK=64)
    assert "memory at an address that the kernel computes" in str(failed.value)


@tw.jit
def rows_of_groups(x_ptr, w_ptr, starts_ptr, out_ptr, k, n, BM: tl.constexpr, BN: tl.constexpr):
    """A GEMM of rows from one to another that are read from memory."""
    group = tl.program_id(0)
    first = tl.load(starts_ptr + group)
    count = tl.load(starts_ptr + group + 1) - first
    rows, columns, depth = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, 32)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, k, 32):
        x = tl.load(
            x_ptr + (first + rows[:, None]) * k + at + depth[None, :],
            mask=(rows[:, None] < count) & (at + depth[None, :] < k),
            other=0.0,
        )
        w = tl.load(
            w_ptr + group * k * n + (at + depth[:, None]) * n + columns[None, :],
            mask=(at + depth[:, None] < k) & (columns[None, :] < n),
            other=0.0,
        )
        acc += tl.dot(x, w)
    to = out_ptr + (first + rows[:, None]) * n + columns[None, :]
    tl.store(to, acc, mask=(rows[:, None] < count) & (columns[None, :] < n))


@pytest.mark.parametrize("k", [32, 40, 7])
def test_a_gemm_of_rows_whose_count_is_read_from_memory(k: int) -> None:
    """Its operand is a box of a view that the kernel makes, not elements."""
    rng = np.random.default_rng(0)
    starts = np.array([0, 5, 5, 20, 36], np.int32)
    x = rng.standard_normal((36, k)).astype(np.float16)
    w = rng.standard_normal((4, k, 24)).astype(np.float16)
    out = np.full((36, 24), np.nan, np.float32)
    given = _launch(rows_of_groups, (4,), x, w, starts, out, k, 24, BM=16, BN=32)
    kernel = compare(given, schedules=3)
    assert not kernel.plan.remarks
    (results, _), (again, _) = levels.on_pointers(given), levels.on_tiles(kernel, given)
    assert_same(results, again)
    for group, (first, end) in enumerate(pairwise(starts)):
        expected = x[first:end].astype(np.float32) @ w[group].astype(np.float32)
        np.testing.assert_allclose(results[-1][first:end], expected, rtol=1e-3, atol=1e-3)


@tw.jit
def packed_groups(x_ptr, w_ptr, sizes_ptr, out_ptr, GROUPS: tl.constexpr, N: tl.constexpr):
    """Rows of groups follow each other: where one begins is the sum of the sizes before it."""
    tile, done, end = tl.program_id(0), 0, 0
    lanes, columns = tl.arange(0, 16), tl.arange(0, N)
    for group in range(GROUPS):
        start = end
        size = tl.load(sizes_ptr + group)
        end = start + size
        tiles = tl.cdiv(size, 16)
        while tile >= done and tile < done + tiles:
            rows = (tile - done) * 16 + lanes
            x = tl.load(
                x_ptr + (start + rows[:, None]) * 32 + tl.arange(0, 32)[None, :],
                mask=rows[:, None] < size,
                other=0.0,
            )
            w = tl.load(w_ptr + group * 32 * N + tl.arange(0, 32)[:, None] * N + columns[None, :])
            to = tl.make_tensor_descriptor(out_ptr, [end, N], [N, 1], [16, N])
            to.store([start + (tile - done) * 16, 0], tl.dot(x, w).to(tl.float16))
            tile += tl.num_programs(0)
        done += tiles


@pytest.mark.parametrize("sizes", [(16, 16), (5, 0, 33, 1), (1, 47)])
def test_rows_that_begin_at_the_sum_of_sizes(sizes: tuple[int, ...]) -> None:
    """A loop carries the sum; the bound of the descriptor is read from memory, too."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((sum(sizes), 32)).astype(np.float16)
    w = rng.standard_normal((len(sizes), 32, 32)).astype(np.float16)
    out = np.full((sum(sizes), 32), np.nan, np.float16)
    given = _launch(
        packed_groups, (1,), x, w, np.array(sizes, np.int32), out, GROUPS=len(sizes), N=32
    )
    kernel = compare(given, schedules=3)
    assert not [each for each in kernel.plan.remarks if each.code == "TW8020"]
    results, _ = levels.on_pointers(given)
    at = 0
    for size, weights in zip(sizes, w, strict=True):
        expected = x[at : at + size].astype(np.float32) @ weights.astype(np.float32)
        np.testing.assert_allclose(results[-1][at : at + size], expected, rtol=2e-3, atol=1e-2)
        at += size


@tw.jit
def hinted_gemm(
    table_ptr, strides_ptr, out_ptr, K: tl.constexpr, AT: tl.constexpr, ROW: tl.constexpr
):  # fmt: skip
    """A GEMM of a matrix whose address and stride are read from memory, and stated multiples."""
    p = tl.multiple_of(tl.load(table_ptr).to(tl.pointer_type(tl.float16)), AT)
    stride = tl.multiple_of(tl.load(strides_ptr), ROW)
    rows, depth = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for k in range(0, K, 32):
        x = tl.load(p + rows[:, None] * stride + k + depth[None, :])
        acc += tl.dot(x, tl.trans(x))
    tl.store(out_ptr + rows[:, None] * 64 + rows[None, :], acc)


def _hinted(x: np.ndarray, at: int, row: int) -> levels.Launch:
    out = np.full((64, 64), np.nan, np.float32)
    strides = np.array([x.strides[0] // 2], np.int32)
    return _launch(hinted_gemm, (1,), _address(x), strides, out, K=64, AT=at, ROW=row, reached=(x,))


@pytest.mark.parametrize(("at", "row", "is_wide"), [(16, 8, True), (1, 8, False), (16, 1, False)])
def test_hints_of_addresses_and_strides(at: int, row: int, is_wide: bool) -> None:
    """With both, copies have 16 bytes."""
    x = np.random.default_rng(0).standard_normal((64, 72)).astype(np.float16)[:, :64]
    given = _hinted(x, at, row)
    kernel = compare(given, schedules=2)
    (cuda,) = compile_module(kernel.module, "sm_80").kernels.values()
    assert ("cp_async<16>" in cuda.source) == is_wide


def test_hints_that_do_not_hold_are_reported() -> None:
    shifted = np.zeros(64 * 72 + 4, np.float16)[4:].reshape(64, 72)
    given = _hinted(shifted, 16, 8)
    with pytest.raises(TileFault, match="is not a multiple of 16"):
        levels.on_tiles(levels.raised(given.text), given)
    odd = np.zeros((64, 68), np.float16)
    given = _hinted(odd, 16, 8)
    with pytest.raises(TileFault, match="a hint of the kernel"):
        levels.on_tiles(levels.raised(given.text), given)
