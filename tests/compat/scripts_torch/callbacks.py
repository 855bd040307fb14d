"""Functions that torch calls by itself: in operators, gradients and hooks a tensor stays on cuda."""

import torch
import triton
import triton.language as tl
from torch.utils.checkpoint import checkpoint


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x, y = tl.load(x_ptr + offsets, mask=inside), tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def add(x, y):
    for each in (x, y):
        if not each.is_cuda or each.device.type != "cuda":
            raise ValueError(f"add is a CUDA kernel; got x on {each.device}")
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    assert out.is_cuda and torch.empty(3, device=x.device).is_cuda
    add_kernel[(triton.cdiv(x.numel(), 16),)](x, y, out, x.numel(), BLOCK=16)
    return out


def on_host(x, y):
    assert not x.is_cuda
    return x + y


@torch.library.custom_op("callbacks::add", mutates_args=())
def add_op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return add(x, y)


@add_op.register_fake
def _(x, y):
    return torch.empty_like(x)


def add_backward(ctx, gradient):
    return add(gradient, torch.zeros_like(gradient)), gradient


add_op.register_autograd(add_backward)


@torch.library.custom_op("callbacks::twice", mutates_args={"out"}, device_types="cuda")
def twice(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(add(x, x))


class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return add(x, y)

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        assert gradient.is_cuda and x.is_cuda, (gradient.device, x.device)
        return add(gradient, torch.zeros_like(x)), add(gradient * x, y)


def leaves():
    return [torch.full((20,), value, device="cuda").requires_grad_() for value in (1.0, 2.0)]


x, y = leaves()
with torch.no_grad():
    found = add_op(x, y)
    assert found.is_cuda and found.device.type == "cuda" and (found == 3).all()
    out = torch.zeros(20, device="cuda")
    twice(y, out)
    assert (out == 4).all()

x, y = leaves()
add_op(x, y).sum().backward()
assert x.grad.is_cuda and y.grad.is_cuda and (x.grad == 1).all()

x, y = leaves()
seen = []
x.register_hook(lambda gradient: seen.append(gradient.is_cuda))
Add.apply(x, y).sum().backward()
assert seen == [True]
assert x.grad.is_cuda and (x.grad == 1).all() and (y.grad == 3).all()

x, y = leaves()
first, second = torch.autograd.grad((Add.apply(x, y) * 2).mean(), (x, y))
assert first.is_cuda and second.is_cuda

layer = torch.nn.Linear(20, 20).cuda()
Add.apply(layer(torch.ones(20, device="cuda")), leaves()[1]).mean().backward()
assert layer.weight.grad.is_cuda and layer.weight.grad.device.type == "cuda"

x, y = leaves()
checkpoint(lambda x: Add.apply(x, y) * 2, x, use_reentrant=False).sum().backward()
assert x.grad.is_cuda and (x.grad == 2).all()

library = torch.library.Library("callbacks_by_hand", "DEF")
library.define("add(Tensor x, Tensor y) -> Tensor")
library.impl("add", add, "CUDA")
chosen = torch.ops.callbacks_by_hand.add
assert chosen(x.detach(), y.detach()).is_cuda
try:
    chosen(torch.ones(4), torch.ones(4))
except NotImplementedError as error:
    assert "has no implementation for tensors on cpu" in str(error), error
else:
    raise AssertionError("a kernel for CUDA took host memory")
library.impl("add", on_host, "CPU")
assert not chosen(torch.ones(4), torch.ones(4)).is_cuda
assert chosen(x.detach(), y.detach()).is_cuda

# What never was on cuda is not marked.
plain = torch.ones(4, requires_grad=True)


class Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        assert not gradient.is_cuda
        return gradient * 2


Plain.apply(plain).sum().backward()
assert not plain.grad.is_cuda
print("all good")
