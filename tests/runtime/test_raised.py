"""`tl` kernels raised to tiles: compiled for our own targets, launched through our own launcher."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.cuda.fake_driver import FakeDriver
from tests.runtime.tile.test_gpu import OnGpu
from tilewright import tl
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.cuda.driver import using


@tw.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at < n)


@tw.jit
def indirect(table_ptr):
    x_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
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
    assert "remark[TW8012]: not raised to tiles: addresses are computed as integers" in text
    assert "x_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float32))" in text
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
    ("other", "is_shared"), [(0x10000, True), (0x10000 + 3984, True), (0x10000 + 4000, False)]
)
def test_arrays_that_overlap_are_refused(cuda, other, is_shared):
    """`__restrict__` would be wrong; the byte ranges decide, and only if one array is written."""
    cuda.sizes = [8] * 7
    x, y = OnGpu((1000,)), OnGpu((1000,), address=0x80000)
    out = OnGpu((1000,), address=other)
    if not is_shared:
        add[(8,)](x, y, out, 1000, BLOCK=128, target="cuda:sm_90a")
        assert len(cuda.launches) == 1
        return
    message = r"out_ptr and x_ptr share bytes, and the kernel writes out_ptr.*target='triton'"
    with pytest.raises(ValueError, match=message):
        add[(8,)](x, y, out, 1000, BLOCK=128, target="cuda:sm_90a")
    assert not cuda.launches


def test_arrays_that_are_only_read_may_overlap(cuda):
    cuda.sizes = [8] * 7
    x, out = OnGpu((1000,)), OnGpu((1000,), address=0x80000)
    add[(8,)](x, x, out, 1000, BLOCK=128, target="cuda:sm_90a")
    assert len(cuda.launches) == 1


def test_misaligned_arrays_are_refused(cuda):
    x, out = OnGpu((1000,), address=0x10004), OnGpu((1000,), address=0x80000)
    with pytest.raises(
        ValueError, match="argument 'x_ptr': the address is 4 bytes past a multiple"
    ):
        add[(8,)](x, x, out, 1000, BLOCK=128, target="cuda:sm_90a")
    assert not cuda.launches


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
