"""What a script sees of the device ``cuda`` when it is the CPU."""

import copy

import numpy as np
import torch
import triton

DEVICE = triton.runtime.driver.active.get_active_torch_device()


def check_places():
    assert torch.device("cuda", 0) == DEVICE
    host = torch.arange(4.0)
    assert host.device.type == "cpu" and not host.is_cuda and host.get_device() == -1
    for made in (
        torch.zeros(4, device="cuda"),
        torch.zeros(4, device="cuda:0", pin_memory=False),
        torch.zeros(4, device=DEVICE),
        torch.zeros(4, device=0),
        torch.tensor([1, 2], device="cuda"),
        torch.empty((2, 3), dtype=torch.bfloat16, device="cuda"),
        host.cuda(),
        host.cuda(0),
        host.to("cuda"),
        host.to(DEVICE, torch.float16),
        host.to(device="cuda", dtype=torch.int32, non_blocking=True),
        host.to(torch.ones(1, device="cuda")),
        torch.rand(3, device="cuda", generator=torch.Generator(device="cuda").manual_seed(1)),
    ):
        assert made.device == DEVICE and made.is_cuda and made.get_device() == 0, made
        assert torch.empty_like(made).is_cuda
        assert made.new_empty(2).is_cuda
        assert (made + 1).is_cuda and made.reshape(-1)[:1].is_cuda and made.reshape(1, -1).T.is_cuda
        assert torch.cat([made, made]).is_cuda and made.max().is_cuda
        assert made.max(dim=0)[0].is_cuda
        assert not made.cpu().is_cuda and not made.to("cpu").is_cuda
        assert not torch.empty_like(made, device="cpu").is_cuda
        assert made.to(torch.float64).is_cuda
        assert torch.zeros(3, device=made.device).is_cuda
    assert host.to(torch.float64).device.type == "cpu"
    assert host.to(torch.ones(1, dtype=torch.float64)).dtype == torch.float64
    assert isinstance(torch.Generator(device="cuda"), torch.Generator)


def check_copies():
    host = torch.arange(4.0)
    for device in (host.cuda(), host.to("cuda"), host.to(DEVICE), host.to(device="cuda:0")):
        device += 1
        assert host.tolist() == [0, 1, 2, 3], "the host copy must not change"
    device = host.cuda()
    assert device.cuda() is device and device.to("cuda") is device and device.to(DEVICE) is device
    back = device.cpu()
    device.zero_()
    assert back.tolist() == [0, 1, 2, 3], "the copy on the host must not change"
    assert host.cpu() is host and host.to("cpu") is host
    host.copy_(device)
    assert host.tolist() == [0, 0, 0, 0] and not host.is_cuda, "written to, it stays where it is"
    assert not torch.ones(1).expand_as(device).is_cuda, "a view stays where its memory is"
    shared = np.arange(3)
    moved = torch.from_numpy(shared).cuda()
    moved += 1
    assert shared.tolist() == [0, 1, 2]
    assert copy.deepcopy(moved).is_cuda


def check_modules_and_gradients():
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2).cuda()
    assert layer.weight.is_cuda and torch.nn.Linear(3, 2, device="cuda").bias.is_cuda
    assert torch.nn.Linear(3, 2).to("cuda", torch.float16).weight.is_cuda
    x = torch.randn(5, 3, device="cuda", requires_grad=True)
    layer(x).square().sum().backward()
    assert x.is_leaf and x.grad.is_cuda and layer.weight.grad.is_cuda
    (again,) = torch.autograd.grad(layer(x).square().sum(), x)
    assert again.is_cuda and torch.equal(again, x.grad)
    torch.optim.SGD(layer.parameters(), lr=0.1).step()
    torch.testing.assert_close(x.grad, again)
    with torch.autocast("cuda"):
        assert torch.mm(x, x.T).dtype == torch.float16


def check_cuda_module():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert torch.cuda.get_device_capability() == (9, 0)
    assert torch.cuda.get_device_properties(DEVICE).multi_processor_count == 132
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
        torch.cuda.synchronize()
    end.record()
    assert start.elapsed_time(end) >= 0
    assert torch.cuda.current_device() == 0 and torch.cuda.memory_allocated() == 0
    torch.cuda.manual_seed(3)
    with torch.random.fork_rng():
        torch.manual_seed(1)
    torch.set_default_device("cuda")
    assert torch.ones(2).is_cuda
    assert torch.zeros_like(torch.ones(2)).is_cuda and not torch.ones(2, device="cpu").is_cuda
    torch.set_default_device("cpu")
    assert not torch.ones(2).is_cuda
    with torch.device("cuda"):
        assert torch.arange(3).is_cuda
    assert not torch.arange(3).is_cuda


def check_gradients_of_halves():
    """Sums over rows are accumulated in float32, as on a GPU."""
    rows, columns = 1024, 8
    x = torch.randn(rows, columns, dtype=torch.float16, device="cuda", requires_grad=True)
    bias = torch.zeros(columns, dtype=torch.float16, device="cuda", requires_grad=True)
    weight = torch.ones(columns, dtype=torch.float16, device="cuda")
    y = torch.nn.functional.layer_norm(x, (columns,), weight, bias)
    assert y.is_cuda and y.dtype is torch.float16
    y.backward(torch.full_like(y, 0.9995))
    expected = float(torch.tensor(0.9995).half()) * rows
    assert (bias.grad.float() - expected).abs().max() <= 0.5, bias.grad


def check_gemms_of_halves():
    """GEMMs are sums in float32, rounded once: what they are does not depend on the CPU."""
    torch.manual_seed(3)
    for dtype in (torch.float16, torch.bfloat16):
        a = torch.randn(256, 1024, device="cuda").to(dtype).requires_grad_()
        b = torch.randn(1024, 256, device="cuda").to(dtype).requires_grad_()
        expected = (a.float() @ b.float()).to(dtype)
        for found in (
            a @ b,
            torch.matmul(a, b),
            a.mm(b),
            torch.bmm(a[None], b[None])[0],
            torch.nn.functional.linear(a, b.T),
            torch.einsum("ij,jk->ik", a, b),
            torch.einsum("ij,jk->ik", [a, b]),
            torch.addmm(torch.zeros(256, dtype=dtype, device="cuda"), a, b),
        ):
            assert found.is_cuda and found.dtype is dtype
            assert torch.equal(found, expected), (found - expected).abs().max()
        out = torch.empty(256, 256, dtype=dtype, device="cuda")
        assert torch.matmul(a.detach(), b.detach(), out=out) is out
        torch.testing.assert_close(out, expected, rtol=2**-7, atol=0.5)
        gradient = torch.randn(256, 256, device="cuda").to(dtype)
        (a @ b).backward(gradient)
        assert a.grad.is_cuda
        assert torch.equal(a.grad, (gradient.float() @ b.float().T).to(dtype))
    half, single = (torch.ones(2, 2, dtype=t, device="cuda") for t in (torch.half, torch.float))
    try:
        half @ single
    except RuntimeError as error:
        assert "dtype" in str(error)
    else:
        raise AssertionError("torch multiplies no tensors of different types")


def check_quotients():
    """A GPU multiplies by the reciprocal of a number, and divides by a tensor."""
    amounts = torch.arange(1, 4097, dtype=torch.float32)
    reciprocal = torch.tensor(1.0) / torch.tensor(448.0)
    on_gpu = amounts.to("cuda")
    assert torch.equal((on_gpu / 448.0).cpu(), amounts * reciprocal)
    assert not torch.equal(amounts * reciprocal, amounts / 448.0)
    assert torch.equal((on_gpu / torch.full_like(on_gpu, 448.0)).cpu(), amounts / 448.0)
    assert torch.equal(torch.div(on_gpu, 448).cpu(), amounts * reciprocal)
    in_place = on_gpu.clone()
    in_place /= 448
    assert torch.equal(in_place.cpu(), amounts * reciprocal) and in_place.is_cuda
    assert torch.equal(torch.div(on_gpu, 448, rounding_mode="floor").cpu(), amounts // 448)
    assert torch.equal((on_gpu.double() / 448).cpu(), amounts.double() / 448)
    assert (on_gpu.int() / 3).dtype == torch.float32


check_places()
check_gradients_of_halves()
check_gemms_of_halves()
check_copies()
check_modules_and_gradients()
check_cuda_module()
check_quotients()
print("all good")
