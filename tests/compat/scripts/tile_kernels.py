"""Kernels of TileLang in both styles, tuned, profiled and compared; NumPy arrays only."""

import itertools
import sys

import numpy as np
import tilelang
import tilelang as tl
import tilelang.language as T
import tilelang.testing
from tilelang import cdiv, jit, tvm
from tilelang.autotuner import *  # noqa: F403
from tilelang.autotuner import AutoTuner, set_autotune_inputs
from tilelang.carver.arch import driver
from tilelang.engine.callback import register_cuda_postproc_callback
from tilelang.language.fp8 import determine_fp8_type
from tilelang.layout import make_swizzled_layout
from tilelang.profiler import do_bench
from tilelang.utils.tensor import TensorSupplyType, get_tensor_supply, torch_assert_close
from tvm import DataType, tirx

tilelang.testing.set_random_seed(3)


def configs():
    return [dict(block=block, stages=stages) for block, stages in itertools.product([8, 16], [1])]


@autotune(configs=configs(), warmup=1, rep=1)  # noqa: F405
@tilelang.jit(out_idx=[-1], pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True})
def matmul(m, n, k, block=16, stages=2, dtype=T.float16):
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=32) as (bx, by):
            A_shared = T.alloc_shared((block, block), dtype)
            B_shared = T.alloc_shared((block, block), dtype)
            C_local = T.alloc_fragment((block, block), T.float32)
            T.annotate_layout({A_shared: make_swizzled_layout(A_shared)})
            T.clear(C_local)
            for i in T.Pipelined(T.ceildiv(k, block), num_stages=stages):
                T.copy(A[by * block, i * block], A_shared)
                T.copy(B[i * block, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local, policy=T.GemmWarpPolicy.Square)
            T.copy(C_local, C[by * block, bx * block])

    return main


@jit
def shifted(A, amount, block=8):
    M = T.const("M")
    A: T.Tensor((M,), "int32")
    B = T.empty((M,), "int32")
    with T.Kernel(cdiv(M, block), threads=32) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] + tirx.const(amount, "int32")
    return B


@register_cuda_postproc_callback
def unchanged(code, _):
    return code


def main():
    kernel = matmul(32, 24, 40)
    assert kernel.config == {"block": 8, "stages": 1}
    assert kernel.latency > 0
    assert isinstance(kernel, tilelang.JITKernel)
    a = np.random.randn(32, 40).astype(np.float16)
    b = np.random.randn(40, 24).astype(np.float16)
    c = kernel(a, b)
    torch_assert_close(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))
    profiler = matmul(32, 24, 40, block=8).get_profiler(tilelang.TensorSupplyType.Normal)
    profiler.assert_allclose(lambda a, b: a @ b, rtol=1e-2, atol=1e-2)
    print(sorted(name for name in vars(sys.modules["tilelang.autotuner"]) if name[0] != "_"))

    x = np.arange(20, dtype=np.int32)
    assert (shifted(x, 5) == x + 5).all()
    assert (shifted.compile(M=20, amount=7)(x) == x + 7).all()
    assert do_bench(lambda: shifted(x, 5), warmup=1, rep=1, backend="cupti") > 0

    def factory(block):
        return shifted.get_tir(x, 1, block)

    with set_autotune_inputs(x):
        tuner = AutoTuner.from_kernel(factory, [{"block": 4}]).set_compile_args(target="auto")
        result = tuner.set_profile_args(ref_prog=lambda x: x + 1).run(warmup=1, rep=1)
    assert result.config == {"block": 4}

    supply = get_tensor_supply(TensorSupplyType.One)
    assert (supply(kernel.params[0]) == 1).all()
    assert DataType("float16").bits == tvm.DataType(T.float16).bits == 16
    assert determine_fp8_type("e5m2") == T.float8_e5m2
    assert driver.get_num_sms() == 132
    assert tl.math.next_power_of_2(100) == tl.next_power_of_2(100) == 128
    print("version", tilelang.__version__)


if __name__ == "__main__":
    main()
