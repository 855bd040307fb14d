"""Autotuned, heuristic, with launch options of GPU backends, launched again as a compiled kernel."""

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime import driver


def first_of(configs, named_args, **kwargs):
    assert named_args["M"] == 70
    return [config for config in configs if config.kwargs["BLOCK"] == 32]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 16}, num_warps=2),
        triton.Config({"BLOCK": 32, "waves_per_eu": 2}, num_stages=4, num_warps=8),
    ],
    key=["M", "N", "K"],
    prune_configs_by={"early_config_prune": first_of},
    use_cuda_graph=True,
)
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK"] == 0})
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BLOCK: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    tl.static_assert(not EVEN_K)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    depth = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK)):
        left = depth + k * BLOCK
        a_mask = (rows[:, None] < M) & (left[None, :] < K)
        b_mask = (left[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * stride_a + left[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + left[:, None] * stride_b + columns[None, :], mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    acc = libdevice.tanh(acc / K)
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], acc, mask=c_mask)


@triton.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * 2, mask=offsets < n)


def check_matmul():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((70, 50), np.float32), rng.standard_normal((50, 33), np.float32)
    c = np.empty((70, 33), np.float32)
    grid = lambda meta: (triton.cdiv(70, meta["BLOCK"]), triton.cdiv(33, meta["BLOCK"]))  # noqa: E731
    matmul_kernel[grid](a, b, c, 70, 33, 50, 50, 33, 33)
    expected = np.tanh(a.astype(np.float64) @ b.astype(np.float64) / 50)
    triton.testing.assert_close(c, expected, atol=1e-5)
    assert matmul_kernel.best_config.kwargs["BLOCK"] == 32
    assert matmul_kernel.base_fn.__name__ == "matmul_kernel"


def check_compiled_launch():
    x = np.arange(100, dtype=np.float32)
    compiled = double_kernel.warmup(x, 100, BLOCK=64, num_warps=8, grid=(1,))
    assert x[99] == 99
    compiled._init_handles()
    properties = driver.active.utils.get_device_properties(driver.active.get_current_device())
    occupancy = properties["max_num_regs"] // (compiled.n_regs * properties["warpSize"] * 8)
    occupancy = min(occupancy, properties["max_shared_mem"] // compiled.metadata.shared)
    assert occupancy >= 1
    assert compiled.metadata.num_warps == 8
    compiled[(2, 1, 1)](x, 100, 64)
    assert (x == 2 * np.arange(100)).all()
    compiled[(2,)](x, 100)
    assert (x == 4 * np.arange(100)).all()
    target = driver.active.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("cuda", 90, 32)


check_matmul()
check_compiled_launch()
print("all good")
