"""Kernels of TileLang on tensors of torch that believe to be on a GPU."""

import tilelang
import tilelang.language as T
import torch
from tilelang.utils.tensor import torch_assert_close


@tilelang.jit
def scaled(A, factor, dtype=torch.bfloat16):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    B = T.empty((M, N), T.float8_e4m3fn)
    Rows = T.empty((M,), T.float32)
    with T.Kernel(M, threads=32) as row:
        part = T.alloc_fragment((1, N), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        T.copy(A[row : row + 1, :], part)
        for i, j in T.Parallel(1, N):
            part[i, j] = part[i, j] * factor
        T.reduce_sum(part, total, dim=1)
        T.copy(part, B[row : row + 1, :])
        Rows[row] = total[0]
    return B, Rows


def main():
    a = torch.randint(-3, 4, (5, 16), device="cuda").to(torch.bfloat16)
    b, rows = scaled(a, 2)
    assert b.is_cuda and rows.device.type == "cuda"
    assert b.dtype == torch.float8_e4m3fn
    assert torch.equal(b.float(), a.float() * 2)
    assert torch.equal(rows, (a.float() * 2).sum(1))

    kernel = scaled.compile(M=5, N=16, factor=2)
    profiler = kernel.get_profiler(tilelang.TensorSupplyType.Integer)
    profiler.assert_allclose(
        lambda a: ((a.float() * 2).to(torch.float8_e4m3fn), (a.float() * 2).sum(1))
    )
    profiler.assert_consistent(repeat=1)
    (made,) = profiler.inputs()
    assert made.is_cuda and made.dtype == torch.bfloat16

    try:
        kernel(a.cpu().float())
    except TypeError as error:
        assert "scaled.A has dtype float32" in str(error)
    else:
        raise AssertionError("a tensor of another dtype was taken")
    try:
        torch_assert_close(rows, rows.cpu())
    except AssertionError as error:
        assert str(error) == "device of LHS is cuda:0, of RHS cpu", error
    else:
        raise AssertionError("tensors on two devices count as equal")
    print("all good")


main()
