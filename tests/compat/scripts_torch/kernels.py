"""Kernels on torch tensors: what a GPU script does with them."""

import torch
import triton
import triton.language as tl
from triton.runtime import driver
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = driver.active.get_active_torch_device()


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def check_add(dtype):
    x, y = torch.randn(2, 1003, device=DEVICE).to(dtype)
    out = torch.empty_like(x)
    assert x.device == DEVICE and out.device == DEVICE
    grid = lambda meta: (triton.cdiv(out.numel(), meta["BLOCK"]),)  # noqa: E731
    add_kernel[grid](x, y, out, out.numel(), BLOCK=256)
    torch.testing.assert_close(out, x + y, rtol=0, atol=0)
    assert add_kernel.warmup(dtype, dtype, dtype, 7, BLOCK=32, grid=(1,)).n_spills == 0


@triton.jit
def softmax_kernel(
    out_ptr, in_ptr, in_stride, out_stride, rows, columns,
    BLOCK: tl.constexpr, num_stages: tl.constexpr,
):  # fmt: skip
    first, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=num_stages):
        offsets = tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(in_ptr + row * in_stride + offsets, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + offsets, e / tl.sum(e, axis=0), mask=mask)


def check_softmax():
    x = torch.randn(37, 61, device=DEVICE)
    y = torch.empty_like(x)
    properties = driver.active.utils.get_device_properties(DEVICE.index)
    kernel = softmax_kernel.warmup(
        y, x, x.stride(0), y.stride(0), 37, 61, BLOCK=64, num_stages=2, num_warps=8, grid=(1,)
    )
    kernel._init_handles()
    occupancy = properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * 8)
    occupancy = min(occupancy, properties["max_shared_mem"] // kernel.metadata.shared)
    programs = min(properties["multiprocessor_count"] * occupancy, 37)
    kernel[(programs, 1, 1)](y, x, x.stride(0), y.stride(0), 37, 61, 64, 2)
    torch.testing.assert_close(y, torch.softmax(x, dim=1))


@triton.jit
def gather_kernel(addresses_ptr, out_ptr, BLOCK: tl.constexpr):
    which = tl.program_id(0)
    source = tl.load(addresses_ptr + which).to(tl.pointer_type(tl.float16))
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + which * BLOCK + offsets, tl.load(source + offsets))


def check_addresses_in_memory():
    parts = [torch.randn(32, device=DEVICE, dtype=torch.float16) for _ in range(3)]
    addresses = torch.tensor([part.data_ptr() for part in parts], device=DEVICE)
    out = torch.empty(96, device=DEVICE, dtype=torch.float16)
    gather_kernel[(3,)](addresses, out, BLOCK=32)
    assert torch.equal(out, torch.cat(parts))


@triton.jit
def transpose_kernel(source, target, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([column, row], source.load([row, column]).T)


def check_descriptors():
    x = torch.randn(64, 32, device=DEVICE, dtype=torch.bfloat16)
    out = torch.empty(32, 64, device=DEVICE, dtype=torch.bfloat16)
    source = TensorDescriptor(x, x.shape, x.stride(), [16, 16])
    target = TensorDescriptor.from_tensor(out, [16, 16])
    transpose_kernel[(4, 2)](source, target, 16)
    assert torch.equal(out, x.T)


@triton.jit
def norm_forward(x_ptr, y_ptr, w_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    rstd = 1 / tl.sqrt(tl.sum(x * x, axis=0) / n + eps)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(w_ptr + columns, mask=mask)
    tl.store(y_ptr + row * stride + columns, x * rstd * w, mask=mask)


@triton.jit
def norm_backward(
    dx_ptr, dy_ptr, dw_ptr, x_ptr, w_ptr, rstd_ptr, lock_ptr, stride, n, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    unit = x * rstd
    wdy = w * dy
    dx = (wdy - unit * tl.sum(unit * wdy, axis=0) / n) * rstd
    tl.store(dx_ptr + row * stride + columns, dx, mask=mask)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = dy * unit + tl.load(dw_ptr + columns, mask=mask, other=0.0)
    tl.store(dw_ptr + columns, total, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        y = torch.empty_like(x)
        rows, n = x.shape
        rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
        block = triton.next_power_of_2(n)
        norm_forward[(rows,)](x, y, weight, rstd, x.stride(0), n, eps, BLOCK=block, num_warps=4)
        ctx.save_for_backward(x, weight, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        assert x.is_cuda and weight.device == DEVICE
        rows, n = x.shape
        dx = torch.empty_like(dy)
        dw = torch.zeros(n, dtype=torch.float32, device=weight.device)
        locks = torch.zeros(1, dtype=torch.int32, device="cuda")
        assert locks.is_cuda
        block = triton.next_power_of_2(n)
        norm_backward[(rows,)](dx, dy, dw, x, weight, rstd, locks, x.stride(0), n, BLOCK=block)
        return dx, dw.to(weight.dtype), None


def check_autograd():
    x = torch.randn(19, 50, device=DEVICE, requires_grad=True)
    weight = torch.rand(50, device=DEVICE, requires_grad=True)
    dy = torch.randn_like(x)
    y = RMSNorm.apply(x, weight, 1e-5)
    y.backward(dy, retain_graph=True)
    found = [x.grad.clone(), weight.grad.clone()]
    x.grad = weight.grad = None
    expected = torch.nn.functional.rms_norm(x, (50,), weight, 1e-5)
    expected.backward(dy)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(found, [x.grad, weight.grad])


@triton.jit
def bytes_kernel(x_ptr, out_ptr):
    offsets = tl.arange(0, 4)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


def check_exponents():
    codes = torch.tensor([126, 127, 0, 255], dtype=torch.uint8, device=DEVICE)
    out = torch.empty_like(codes)
    bytes_kernel[(1,)](codes.view(torch.float8_e8m0fnu), out)
    assert torch.equal(out, codes)


torch.manual_seed(0)
for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32):
    check_add(dtype)
check_softmax()
check_addresses_in_memory()
check_descriptors()
check_autograd()
check_exponents()
triton.testing.assert_close(torch.ones(3, device=DEVICE, dtype=torch.bfloat16), [1.0, 1.0, 1.0])
print("all good")
