"""`tl` kernels raised to tiles: compiled for our own targets, launched through our own launcher."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.cuda.fake_driver import FakeDriver
from tests.runtime.tile.test_gpu import OnGpu
from tilewright import tl
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.compile_only import raising_for
from tilewright.runtime.cuda.driver import using
from tilewright.runtime.pointer.raised import _has_whole_rows
from tilewright.runtime.tile.thread_level import running_threads


@tw.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at < n)


@tw.jit
def indirect(table_ptr):
    x_ptr = tl.load(table_ptr + tl.arange(0, 2)).to(tl.pointer_type(tl.float32))
    tl.store(x_ptr, 1.0)


@tw.jit
def clear_positive(x_ptr, n, BLOCK: tl.constexpr):
    if tl.load(x_ptr) <= 0:
        return
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 0.0, mask=at < n)


@tw.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c):
    rows = tl.program_id(0) * 64 + tl.arange(0, 64)
    columns = tl.program_id(1) * 64 + tl.arange(0, 64)
    depth = tl.arange(0, 64)
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for k in range(0, K, 64):
        a_mask = (rows[:, None] < M) & (k + depth[None, :] < K)
        b_mask = (k + depth[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * stride_a + k + depth[None, :], mask=a_mask, other=0.0)
        b = tl.load(
            b_ptr + (k + depth[:, None]) * stride_b + columns[None, :], mask=b_mask, other=0.0
        )
        acc = tl.dot(a, b, acc)
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], acc.to(tl.float16), mask=c_mask)


@tw.jit
def persistent(a_ptr, b_ptr, c_ptr, seen_ptr, M, K):
    """A loop around a pipelined one that carries a scalar."""
    seen = 0
    rows, depth = tl.arange(0, 64), tl.arange(0, 64)
    for tile in range(tl.program_id(0), tl.cdiv(M, 64), tl.num_programs(0)):
        acc = tl.zeros((64, 64), dtype=tl.float32)
        at = tile * 64 + rows
        for k in range(0, K, 64):
            a_mask = (at[:, None] < M) & (k + depth[None, :] < K)
            a = tl.load(a_ptr + at[:, None] * K + k + depth[None, :], mask=a_mask, other=0.0)
            b_mask = k + depth[:, None] < K
            b = tl.load(b_ptr + (k + depth[:, None]) * 64 + rows[None, :], mask=b_mask, other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + at[:, None] * 64 + rows[None, :], acc.to(tl.float16), mask=at[:, None] < M)
        seen = seen ^ tile
    tl.store(seen_ptr + tl.program_id(0), seen)


@tw.jit
def squared(a_desc, c_desc):
    x = a_desc.load([tl.program_id(0) * 64, 0])
    c_desc.store([tl.program_id(0) * 64, 0], tl.dot(x, x.T).to(tl.float16))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def cuda():
    library = FakeDriver()
    add.cache.clear()  # machine code is loaded once for each driver
    with using(library):
        yield library
    add.cache.clear()


def _vectors(count=3):
    return [np.arange(1000, dtype=np.float32) + each for each in range(count)]


# -- compiling -------------------------------------------------------------------------------------


def test_cuda_source_has_the_names_of_the_kernel():
    compiled = add.warmup(*_vectors(), 1000, BLOCK=128, target="cuda:sm_90a")
    kernel = compiled.raised
    assert kernel.target == "cuda:sm_90a"
    source = kernel.get_kernel_source()
    assert "__launch_bounds__(128, 1)" in source
    assert "__restrict__ out" in source
    assert kernel.n_regs is not None and kernel.n_regs > 0
    assert "tile.kernel" in compiled.text("tile")


def test_a_kernel_that_returns_early_compiles():
    compiled = clear_positive.warmup(*_vectors(1), 1000, BLOCK=1024, target="cuda:sm_80")
    assert "clear_positive_kernel" in compiled.raised.get_kernel_source()


def _descriptor(rows, columns):
    array = np.zeros((rows, tw.cdiv(columns, 8) * 8), np.float16)
    return tw.TensorDescriptor(array, [rows, columns], [array.shape[1], 1], [64, 64])


def test_tma_stores_tiles_of_whole_rows():
    """A TMA store writes units of 16 bytes: rows of 61 elements have another kernel."""
    compiled = squared.warmup(_descriptor(128, 64), _descriptor(128, 64), target="cuda:sm_90a")
    kernel = compiled.raised
    assert "tma_store" not in kernel.get_kernel_source()
    assert "tma_store" in kernel.of_whole_rows.get_kernel_source()
    assert [_has_whole_rows([_descriptor(64, each), 3]) for each in (64, 61, 72)] == [1, 0, 1]
    assert not _has_whole_rows([3, 1.5])


def test_a_scalar_carried_around_a_pipelined_loop():
    """The producer has no such value: all warps both copy and compute."""
    arrays = [np.zeros((256, 128), np.float16), np.zeros((128, 64), np.float16)]
    arrays += [np.zeros((256, 64), np.float16), np.zeros(4, np.int32)]
    compiled = persistent.warmup(*arrays, 256, 128, target="cuda:sm_90a")
    kernel = compiled.raised
    assert "wgmma" in kernel.get_kernel_source()
    assert any("around the loop has results" in str(each) for each in kernel.remarks)


@pytest.mark.parametrize(("warps", "threads"), [(1, 32), (8, 256)])
def test_warps_of_the_launch_are_the_threads(warps, threads):
    compiled = add.warmup(*_vectors(), 1000, BLOCK=256, num_warps=warps, target="cuda:sm_80")
    (kernel,) = compiled.raised.gpu.program.kernels.values()
    assert kernel.metadata.threads == threads


def test_other_targets_have_no_raised_kernel():
    compiled = add.warmup(*_vectors(), 1000, BLOCK=128, target="numpy")
    with pytest.raises(ValueError, match=r"error\[TW6020\].*target='cuda:sm_90a'"):
        assert compiled.raised


def test_a_refused_kernel_is_an_error_with_the_reasons(cuda):
    with pytest.raises(CompileError) as failed:
        indirect[(1,)](OnGpu((1,), "<i8"), target="cuda:sm_90a")
    text = str(failed.value)
    assert "error[TW8030]: indirect cannot be compiled for cuda:sm_90a" in text
    assert "use target 'triton:sm_90'" in text
    assert "remark[TW8012]: not raised to tiles: each element has an address of its own" in text
    assert "x_ptr = tl.load(table_ptr + tl.arange(0, 2)).to(tl.pointer_type(tl.float32))" in text
    assert not cuda.launches


def test_host_arrays_run_in_the_interpreter():
    """As with kernels of `T`: a program for a GPU can check its own results."""
    x, y, out = _vectors()
    with tw.running(target="cuda:sm_90a"):
        add[(8,)](x, y, out, 1000, BLOCK=128)
    np.testing.assert_array_equal(out, x + y)


# -- launching -------------------------------------------------------------------------------------


def _integers(launch):
    return [int.from_bytes(each, "little") for each in launch.parameters]


def test_a_launch_passes_addresses_scalars_and_the_grid(cuda):
    cuda.sizes = [8, 8, 8, 4, 8, 8, 8]
    addresses = (0x10000, 0x20000, 0x30000)
    arrays = [OnGpu((1000,), address=each) for each in addresses]
    add[(8,)](*arrays, 1000, BLOCK=128, target="cuda:sm_90a")
    (launch,) = cuda.launches
    assert (launch.grid, launch.block) == ((8, 1, 1), (128, 1, 1))
    assert sorted(set(addresses) & set(_integers(launch))) == list(addresses)
    add[lambda meta: (tw.cdiv(999, meta["BLOCK"]), 2)](*arrays, 999, BLOCK=512, target="cuda")
    assert cuda.launches[1].grid == (2, 2, 1)


@pytest.mark.parametrize(
    ("shift", "restricted"), [(0, ["x", "y"]), (3984, ["y"]), (4000, ["x", "y", "out"])]
)
def test_restrict_is_stated_of_what_the_launch_has_compared(cuda, shift, restricted):
    """Arrays that overlap are one argument; where it is passed twice, neither is restricted."""
    cuda.sizes = []
    x, y = OnGpu((1000,)), OnGpu((1000,), address=0x80000)
    out = OnGpu((1000,), address=0x10000 + shift)
    add[(8,)](x, y, out, 1000, BLOCK=128, target="cuda:sm_90a")
    assert len(cuda.launches) == 1
    kernel = next(iter(add.cache.values())).raised
    launched = next(iter(kernel._merged.values()), kernel)
    text = launched.get_kernel_source()
    assert sorted(re.findall(r"\* __restrict__ (\w+)", text)) == sorted(restricted)


def test_arrays_of_other_types_that_overlap_are_refused(cuda):
    x, out = OnGpu((1000,)), OnGpu((1000,), address=0x10000, dtype="<i4")
    message = (
        "out_ptr and x_ptr share bytes, the kernel writes out_ptr, and one has elements of type "
        r"float32, the other of int32: .*target='triton'"
    )
    with pytest.raises(ValueError, match=message):
        add[(8,)](x, OnGpu((1000,), address=0x80000), out, 1000, BLOCK=128, target="cuda:sm_90a")
    assert not cuda.launches


@pytest.mark.parametrize("shift", [0, 1, 3, 128, 999])
@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942"])
def test_values_of_arrays_that_overlap(target, shift):
    """A program loads what it needs before it stores, wherever the stores go."""
    memory = np.arange(2000, dtype=np.float32)
    x, y, out = memory[:1000], memory[::-1].copy(), memory[shift : shift + 1000]
    expected = memory.copy()
    expected[shift : shift + 1000] = x + y[:1000]
    with tw.running(target=target), running_threads():
        add[(1,)](x, y, out, 1000, BLOCK=1024)
    np.testing.assert_array_equal(memory, expected)


def test_arrays_that_are_only_read_may_overlap(cuda):
    cuda.sizes = [8] * 7
    x, out = OnGpu((1000,)), OnGpu((1000,), address=0x80000)
    add[(8,)](x, x, out, 1000, BLOCK=128, target="cuda:sm_90a")
    assert len(cuda.launches) == 1


def test_arrays_that_begin_anywhere(cuda):
    """What begins at a multiple of 16 bytes is loaded so many at a time."""
    cuda.sizes = [8] * 7
    x, out = OnGpu((1000,), address=0x10004), OnGpu((1000,), address=0x80000)
    add[(8,)](x, x, out, 1000, BLOCK=512, target="cuda:sm_90a")
    assert 0x10004 in _integers(cuda.launches[0])


@pytest.mark.parametrize(("start", "is_wide"), [(0, True), (1, False)])
def test_the_width_of_loads_follows_the_address(start, is_wide):
    memory = np.zeros(1100, np.float32)
    memory = memory[(-memory.ctypes.data // 4) % 4 :]  # begins at 16 bytes
    found = []
    with raising_for("cuda:sm_90a", lambda _: True, lambda kernel, _: found.append(kernel)):
        x = memory[start : start + 1000]
        add[(2,)](x, np.zeros(1000, np.float32), np.zeros(1000, np.float32), 1000, BLOCK=512)
    text = found[0].get_kernel_source()
    assert ("*reinterpret_cast<const uint4*>(x" in text) == is_wide


@tw.jit
def rows(x_ptr, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1.0)


def test_integers_that_wrap_are_refused(cuda):
    cuda.sizes = []
    x = OnGpu((1 << 16,))
    rows[(1 << 15,)](x, (1 << 16), BLOCK=128, target="cuda:sm_90a")
    assert len(cuda.launches) == 1
    message = r"= pid0\*stride is 2147483648 in the last program .* holds -2147483648 to 2147483647"
    with pytest.raises(OverflowError, match=message):
        rows[((1 << 15) + 1,)](x, (1 << 16), BLOCK=128, target="cuda:sm_90a")
    assert len(cuda.launches) == 1


# -- strides ---------------------------------------------------------------------------------------


def _matmul(M, N, K):
    a, b = np.ones((M, K), np.float16), np.ones((K, N), np.float16)
    c = np.empty((M, N), np.float16)
    return matmul.warmup(a, b, c, M, N, K, K, N, N, target="cuda:sm_90a").raised


@pytest.mark.parametrize(("depth", "has_tma"), [(128, True), (173, False), (168, False)])
def test_tma_needs_strides_that_are_known_multiples(depth, has_tma):
    """A tensor map of a row of 346 bytes cannot be encoded: the launch would fail."""
    kernel = _matmul(128, 256, depth)
    steps = kernel.gpu.program.steps
    a_maps = [step for step in steps if step.kind == "map"]
    assert len(a_maps) == 2 + has_tma  # the other operand and the result always have one
