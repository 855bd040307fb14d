"""What Triton's own tests import: settings, compilation by types, allocators, views of memory."""

import contextlib
import io
import warnings

import numpy as np
import triton
import triton.language as tl
from triton import knobs
from triton._C.libtriton import nvidia
from triton._filecheck import run_filecheck, run_parser
from triton._internal_testing import (
    _fresh_knobs_impl,
    dtypes_with_bfloat16,
    is_cuda,
    is_hopper,
    numpy_random,
    run_in_process,
    str_to_triton_dtype,
    tma_dtypes,
    torch_dtype_name,
)
from triton._utils import canonicalize_dtype, canonicalize_ptr_dtype
from triton.backends.compiler import GPUTarget
from triton.runtime import _allocation
from triton.runtime.jit import TensorWrapper, reinterpret
from triton.tools.tensor_descriptor import TensorDescriptor

warnings.simplefilter("error")
BLOCK = tl.constexpr(8)


@triton.jit
def scale_kernel(x_ptr, factor, SIZE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * factor)


# Settings: by attribute, by environment, restored.
assert not knobs.runtime.debug
with knobs.compilation.scope():
    knobs.compilation.always_compile = True
    assert knobs.compilation.always_compile
assert not knobs.compilation.always_compile
fresh, reset = _fresh_knobs_impl()
assert fresh().redis.port == 6379
knobs.redis.port = 7
reset()
assert knobs.redis.port == 6379

# Compilation by types, without arguments.
source = triton.compiler.ASTSource(
    fn=scale_kernel, signature={"x_ptr": "*fp32", "factor": "fp32"}, constexprs={"SIZE": 16}
)
text = triton.compile(source).asm["ttir"]
assert "!tt.ptr<f32>" in text, text
assert "tensor<16xf32>" in text, text
assert triton.compiler.compiler.triton_key()

# The text of a kernel, and another one instead of it.
assert scale_kernel.src.startswith("def scale_kernel(")
x = np.ones(8, np.float32)
scale_kernel[(1,)](x, 3.0, 8)
scale_kernel._unsafe_update_src(scale_kernel.src.replace("* factor", "+ factor"))
scale_kernel[(1,)](x, 3.0, 8)
assert (x == 6).all(), x
parsed = run_parser(scale_kernel, args=(x, 2.0, 8)).str_nodebug()
run_filecheck("scale", parsed, "// CHECK: arith.addf")


def patched():
    """A kernel whose text changes before a name of its closure is assigned."""

    @triton.jit
    def kernel(x_ptr, SIZE: tl.constexpr):
        offsets = tl.arange(0, SIZE)
        tl.store(x_ptr + offsets, combine(VALUE_HERE))  # noqa: F821

    replaced = triton.JITFunction(kernel.fn)
    replaced._unsafe_update_src(kernel.src.replace("VALUE_HERE", "offsets"))
    kernel = replaced

    @triton.jit
    def combine(value):
        return value + 1

    return kernel, combine


y = np.zeros(4, np.int32)
patched()[0][(1,)](y, 4)
assert (y == [1, 2, 3, 4]).all(), y

# Views of memory: the base stays what it is.
base = np.array([-2, 1], np.int32)
view = reinterpret(base, tl.uint32)
assert isinstance(view, TensorWrapper)
assert view.base is base
assert reinterpret(view, tl.int32).base is base

view.data = view.data[:1]
assert view.base is base


# What a script sees of a launch: prints of a GPU, errors with the one that caused them.
@triton.jit
def print_kernel(x_ptr):
    tl.device_print("x", tl.load(x_ptr + tl.arange(0, 2)))


printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    print_kernel[(1,)](base, num_warps=1)
assert printed.getvalue() == "pid (0, 0, 0) idx (0) x: -2\npid (0, 0, 0) idx (1) x: 1\n"


@triton.jit
def bad_kernel(x_ptr):
    tl.store(x_ptr, tl.program_id(20))


try:
    bad_kernel[(1,)](base)
except triton.TritonError as error:
    assert "but got 20" in str(error.__cause__), error.__cause__
else:
    raise AssertionError("nothing was raised")


# Sums along an axis are more exact than bfloat16; a scalar takes any index; stores in an expression.
@triton.jit
def small_kernel(x_ptr, SIZE: tl.constexpr):
    ones = tl.full([SIZE], 1, tl.bfloat16) + tl.full([SIZE], 0.0078125, tl.bfloat16)
    tl.store(x_ptr + tl.arange(0, SIZE), tl.cumsum(ones, 0))
    last = (x_ptr + SIZE)[None, None, :]
    tl.store(last, tl.full([1, 1], 5, tl.float32))
    first = x_ptr + SIZE + 1
    tl.store(first, 6.0) if tl.load(x_ptr + SIZE) > 4 else tl.store(first, 7.0)


totals = np.zeros(66, np.float32)
small_kernel[(1,)](totals, 64)
assert (totals[:64] == np.arange(1, 65) * np.float32(1.0078125)).all(), totals
assert (totals[64:] == [5, 6]).all(), totals
wrapped = reinterpret(np.ones((8, 16), np.int32), tl.uint32)
assert TensorDescriptor.from_tensor(wrapped, [8, 16]).shape == [8, 16]

# The GEMM that scripts compare with: the second operand is transposed.
left, right = np.arange(6, dtype=np.float16).reshape(2, 3), np.ones((4, 3), np.float16)
result = np.zeros((2, 4), np.float16)
nvidia.cublas.CublasLt(None).matmul(left, right, result)
assert (result == left @ right.T).all(), result

# An allocator is stored and taken back.
assert isinstance(_allocation._allocator.get(), _allocation.NullAllocator)
triton.set_allocator(print)
assert _allocation._allocator.get() is print
triton.set_allocator(_allocation.NullAllocator())

# Names and sets of types.
assert GPUTarget("cuda", 90).warp_size == 32
assert GPUTarget("cuda", 90).is_cuda_backend()
assert GPUTarget("hip", "gfx950", 64).is_hip_backend()
assert is_cuda()
assert is_hopper()
assert canonicalize_dtype("torch.float16") == "fp16"
assert canonicalize_ptr_dtype("int64", True) == "*ki64"
assert str_to_triton_dtype("bfloat16") is tl.bfloat16
assert torch_dtype_name(tl.int64) == "int64"
assert {"uint8", "bfloat16"} <= set(tma_dtypes) < set(dtypes_with_bfloat16)
assert "uint64" in tl.dtype.UINT_TYPES
assert "bf16" in tl.dtype.STANDARD_FP_TYPES
for name in (*dtypes_with_bfloat16, "float8e5", "bool"):
    numbers = numpy_random((4, 8), name)
    assert numbers.shape == (4, 8)
    assert (numbers == numpy_random((4, 8), name)).all()


def fails():
    raise ValueError("in another process")


assert str(run_in_process(fails).exc) == "in another process"


@triton.must_use_result("It has no other effect.")
@triton.jit
def doubled(x):
    return x * 2


@tl.core.builtin
def pair(first, second, _semantic=None):
    return first, second


@triton.jit
def called_kernel(x_ptr, SIZE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    low, high = pair(1, 2)
    tl.store(x_ptr + offsets, doubled(tl.load(x_ptr + offsets)) + low + high)


called_kernel[(1,)](x, 8)
assert (x == 15).all(), x

import triton.profiler as proton  # noqa: E402
import triton.profiler.language as pl  # noqa: E402


@triton.jit
def measured_kernel(x_ptr):
    pl.enter_scope("store")
    tl.store(x_ptr, 4.0)
    pl.exit_scope("store")


measured_kernel[(1,)](x)
assert x[0] == 4, x
with proton.scope("part"):
    proton.start("name")
    proton.finalize()
print("all good")
