"""What kernels as custom ops of PyTorch do, on the CPU: run by `test_torch_op` in a process of its
own, because a program that has loaded torch gets its tensors from it.

    python -m tests.runtime.torch_ops.cases       a line for each case: its name, and what is wrong
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings

import numpy as np
import torch

import tilewright as tw
from tilewright import T, tl


@tw.jit
def scale_kernel(x_ptr, out_ptr, factor, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x * factor, mask=inside)


def scaled_backward(inputs, outputs, gradient):
    _, factor = inputs
    return scaled(gradient.contiguous(), factor), None


@tw.torch_op(name="cases::scaled", backward=scaled_backward)
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    out = torch.empty_like(x)
    scale_kernel[(tw.cdiv(x.numel(), 64),)](x, out, factor, x.numel(), BLOCK=64)
    return out


@tw.torch_op(name="cases::scale_", mutates=("x",))
def scale_(x: torch.Tensor, factor: float) -> None:
    scale_kernel[(tw.cdiv(x.numel(), 64),)](x, x, factor, x.numel(), BLOCK=64)


@tw.autotune(configs=[tw.Config({"BLOCK": 32}), tw.Config({"BLOCK": 64})], key=["count"])
@tw.jit
def tuned_kernel(x_ptr, out_ptr, factor, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * factor, mask=inside)


@tw.torch_op(name="cases::tuned")
def tuned(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    count = x.numel()
    tuned_kernel[lambda meta: (tw.cdiv(count, meta["BLOCK"]),)](x, out, 2.0, count)
    return out


@tw.jit
def tile_kernel(x_desc, out_desc):
    out_desc.store([0, 0], x_desc.load([0, 0]) + 1)


@tw.torch_op(name="cases::plus_one")
def plus_one(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    descriptors = [tw.TensorDescriptor.from_tensor(each, [8, 16]) for each in (x, out)]
    tile_kernel[(1,)](*descriptors)
    return out


@tw.jit(out_idx=-1)
def added(M, N):
    @T.prim_func
    def add(
        A: T.Tensor((M, N), "float32"),
        B: T.Tensor((M, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M) as row:
            for column in T.Parallel(N):
                C[row, column] = A[row, column] + B[row, column]

    return add


@tw.jit
def accumulated(M, N):
    @T.prim_func
    def accumulate(A: T.Tensor((M, N), "float32"), C: T.Tensor((M, N), "float32"), times: T.int32):
        with T.Kernel(M) as row:
            for column in T.Parallel(N):
                C[row, column] = C[row, column] + A[row, column] * T.cast(times, "float32")

    return accumulate


def dynamic_rows():
    m = T.dynamic("m")

    @T.prim_func
    def double(A: T.Tensor((m, 16), "bfloat16"), C: T.Tensor((m, 16), "bfloat16")):
        with T.Kernel(m) as row:
            for column in T.Parallel(16):
                C[row, column] = A[row, column] + A[row, column]

    return double


@tw.jit
def eager_sum(A, B):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(M) as row:
        for column in T.Parallel(N):
            C[row, column] = A[row, column] + B[row, column]
    return C


@tw.torch_op(name="cases::summed")
def summed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return eager_sum(a, b)


def compiled(function, **options):
    return torch.compile(function, fullgraph=True, backend="aot_eager", **options)


def opcheck(op, *arguments):
    found = torch.library.opcheck(op, arguments)
    assert set(found.values()) == {"SUCCESS"}, found


def raised(kind, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


# -- cases -----------------------------------------------------------------------------------------


def a_function_that_launches_is_an_op():
    x = torch.randn(100)
    torch.testing.assert_close(scaled(x, 3.0), 3 * x)
    opcheck(scaled, x.clone().requires_grad_(), 2.0)


def its_gradient_is_that_of_torch():
    x = torch.randn(100, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    (scaled(x.sin(), 3.0) ** 2).sum().backward()
    ((y.sin() * 3) ** 2).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    assert not torch.equal(x.grad, torch.zeros(100))


def it_is_one_node_for_torch_compile():
    def function(x):
        return scaled(torch.sin(x), 2.0).cos()

    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph

    x = torch.randn(100)
    found = torch.compile(function, fullgraph=True, backend=backend)(x)
    torch.testing.assert_close(found, function(x))
    (graph,) = graphs
    assert sum("cases.scaled" in str(node.target) for node in graph.graph.nodes) == 1


def it_is_differentiated_and_compiled():
    x = torch.randn(100, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    compiled(lambda x: scaled(x.sin(), 2.0).cos())(x).sum().backward()
    (2 * y.sin()).cos().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


def its_shapes_may_change():
    function = compiled(lambda x: scaled(x, 2.0) + 1, dynamic=True)
    for count in (5, 64, 100):
        x = torch.randn(count, 3)
        torch.testing.assert_close(function(x), 2 * x + 1)


def inductor_compiles_what_is_around_it():
    x = torch.randn(100)
    found = torch.compile(lambda x: scaled(x.sin() + 1, 2.0) * 3, fullgraph=True)(x)
    torch.testing.assert_close(found, (x.sin() + 1) * 6)


def an_op_that_writes_its_argument_says_so():
    x = torch.randn(100)
    before = x.clone()
    assert scale_(x, 3.0) is None
    torch.testing.assert_close(x, before * 3)
    opcheck(scale_, torch.randn(64), 2.0)

    def function(x):
        x = x + 0
        scale_(x, 2.0)
        return x + 1

    torch.testing.assert_close(compiled(function)(before), before * 2 + 1)


def autotuned_kernels_and_descriptors_are_traced_without_memory():
    x = torch.randn(8, 16)
    torch.testing.assert_close(compiled(lambda x: tuned(x) + plus_one(x))(x), 3 * x + 1)
    opcheck(tuned, x)
    opcheck(plus_one, x)


def a_tile_kernel_is_an_op():
    op = tw.torch_op(added(8, 16))
    a, b = torch.randn(8, 16), torch.randn(8, 16)
    torch.testing.assert_close(op(a, b), a + b)
    torch.testing.assert_close(compiled(lambda a, b: op(a, b) * 2)(a, b), (a + b) * 2)
    opcheck(op, a, b)
    assert str(op._opoverload._schema).endswith("(Tensor A, Tensor B) -> Tensor")
    assert op._qualname.startswith("tilewright::add_")
    assert op._qualname != tw.torch_op(added(8, 32))._qualname


def a_tile_kernel_names_what_it_writes():
    op = tw.torch_op(accumulated(8, 16), name="cases::accumulate")
    schema = str(op._opoverload._schema)
    assert schema.endswith("accumulate(Tensor A, Tensor(a1!) C, SymInt times) -> ()"), schema
    a, c = torch.randn(8, 16), torch.randn(8, 16)
    wanted = c + 3 * a
    op(a, c, 3)
    torch.testing.assert_close(c, wanted)
    opcheck(op, a, c, 2)
    text = raised(TypeError, tw.torch_op, accumulated(8, 16), backward=lambda *_: None)
    assert "accumulate writes C, and PyTorch differentiates no op that writes its arguments" in text


def sizes_of_the_run_and_small_floats():
    kernel = tw.compile(dynamic_rows(), out_idx=-1)
    op = tw.torch_op(kernel, name="cases::double")
    function = compiled(lambda x: op(x) + 1, dynamic=True)
    for rows in (2, 5):
        x = torch.randn(rows, 16).to(torch.bfloat16)
        torch.testing.assert_close(op(x), x + x)
        torch.testing.assert_close(function(x), x + x + 1)
    opcheck(op, torch.ones(3, 16, dtype=torch.bfloat16))


def an_eager_kernel_inside_of_an_op():
    a, b = torch.randn(4, 16), torch.randn(4, 16)
    torch.testing.assert_close(summed(a, b), a + b)
    torch.testing.assert_close(compiled(lambda a, b: summed(a, b) * 2)(a, b), (a + b) * 2)
    opcheck(summed, a, b)


def gradients_are_counted():
    @tw.torch_op(name="cases::forgetful", backward=lambda inputs, outputs, gradient: gradient)
    def forgetful(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    x = torch.randn(3, requires_grad=True)
    text = raised(ValueError, forgetful(x, 2.0).sum().backward)
    assert "1 gradients for 2 inputs: return None for an input without one" in text


def misuse_is_explained():
    assert "which kernels" not in raised(TypeError, tw.torch_op, 3)
    assert "torch_op takes a compiled T kernel" in raised(TypeError, tw.torch_op, scale_kernel)
    text = raised(TypeError, tw.torch_op, added(8, 16), mutates=("A",))
    assert "mutates is for functions; add is a kernel" in text


def a_fault_of_the_kernel_is_reported_through_the_op():
    """The gradient of a sum has no memory of its own: the run on the CPU notices."""
    x = torch.ones(1).expand(100)
    text = raised(tw.NumpyFault, scaled, x, 2.0)
    assert "error[TW6101]: load out of bounds" in text


CASES = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and getattr(value, "__code__", None) is not None
    and value.__code__.co_firstlineno > raised.__code__.co_firstlineno
]


def main() -> int:
    warnings.simplefilter("ignore")
    np.random.seed(0)
    for case in CASES:
        torch.manual_seed(0)
        torch._dynamo.reset()
        wrong = ""
        try:
            case()
        except Exception:
            wrong = traceback.format_exc()
        print(json.dumps([case.__name__, wrong]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
