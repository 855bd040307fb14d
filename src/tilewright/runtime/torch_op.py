"""`tw.torch_op`: a kernel as a custom op of PyTorch.

    op = tw.torch_op(matmul(1024, 1024, 1024))        # a compiled `T` kernel: op(a, b) returns c

    @tw.torch_op(name="ours::scaled", backward=scaled_backward)
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        out = torch.empty_like(x)                      # a function that launches kernels
        scale_kernel[(tw.cdiv(x.numel(), 1024),)](x, out, factor, x.numel(), BLOCK=1024)
        return out

An op is one node in the graphs of torch.compile, which looks into neither kernels nor launches:

- its *fake* form, which gives shapes and dtypes, is the same function run with fake tensors;
  kernels launched with such do nothing (`fake_tensors`);
- arguments that it writes are declared (``mutates``); of a `T` kernel they are known;
- ``backward(inputs, outputs, *gradients)`` returns one gradient for each input, None where there is
  none; it may use ops itself.

Launches use torch's current stream and allocate through torch, so ops can be captured in CUDA
graphs, after one call that compiles the kernel.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel

Backward = Callable[..., Any]
NAMESPACE = "tilewright"
_DIGITS = 8
INSTALL = "pip install torch"


class TorchMissing(ImportError):
    """torch is not installed."""


def torch_op(
    kernel: Any = None,
    *,
    name: str | None = None,
    backward: Backward | None = None,
    mutates: Sequence[str] = (),
) -> Any:
    """Make a custom op of PyTorch of a compiled `T` kernel, or of a function that launches kernels.

    A function needs annotations (``torch.Tensor``, ``int``, ``float``, ``bool``, ...), from which
    torch infers the op's schema, and names the tensors that it writes in `mutates`. `name` is
    ``namespace::name``; without one it is ``tilewright::`` and the name of the kernel, for a `T`
    kernel with a digest of its IR. `backward(inputs, outputs, *gradients)` returns the gradients of
    the inputs.

    Raises:
        TorchMissing: if torch is not installed.
        TypeError: for what is neither.
    """
    if kernel is None:

        def decorate(function: Any) -> Any:
            return torch_op(function, name=name, backward=backward, mutates=mutates)

        return decorate
    library = _library()
    compiled = _compiled(kernel)
    if compiled is not None:
        if mutates:
            raise TypeError(
                f"torch_op: mutates is for functions; {compiled.name} is a kernel, whose IR names "
                "the tensors that it writes"
            )
        return _op_of_kernel(library, compiled, name, backward)
    if not inspect.isfunction(kernel):
        raise TypeError(
            f"torch_op takes a compiled T kernel, for instance matmul(1024, 1024, 1024), or a "
            f"function with annotations that launches kernels, got {kernel!r}"
        )
    _refuse_gradients_of_written(kernel.__name__, mutates, backward)
    op = library.custom_op(name or f"{NAMESPACE}::{kernel.__name__}", kernel, mutates_args=mutates)
    op.register_fake(kernel)
    _differentiate(op, backward)
    return op


def _library() -> Any:
    try:
        return import_module("torch.library")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise TorchMissing(
            f"tw.torch_op needs PyTorch, which is not installed: {INSTALL}", name="torch"
        ) from None


def _compiled(kernel: Any) -> CompiledTileKernel | None:
    # A program without kernels of `T` loads nothing of them.
    from tilewright.language.T.prim_func import PrimFunc
    from tilewright.runtime.tile.jit import compile_tile
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    if isinstance(kernel, PrimFunc):
        return compile_tile(kernel)
    return kernel if isinstance(kernel, CompiledTileKernel) else None


# -- kernels of `T` ------------------------------------------------------------------------------


def _op_of_kernel(
    library: Any, kernel: CompiledTileKernel, name: str | None, backward: Backward | None
) -> Any:
    written = [
        param.name
        for index, param in enumerate(kernel.params)
        if index in kernel.written and index not in kernel.out_idx
    ]
    _refuse_gradients_of_written(kernel.name, written, backward)
    if name is None:
        text = f"{kernel.prim_func.script()} {kernel.target} {kernel.out_idx}"
        name = f"{NAMESPACE}::{kernel.name}_{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"

    def run(*arguments: Any) -> Any:
        found: object = kernel(*arguments)
        return tuple(cast("list[Any]", found)) if isinstance(found, list) else found

    op = library.custom_op(name, run, mutates_args=written, schema=schema_of(kernel, written))
    op.register_fake(run)
    _differentiate(op, backward)
    return op


def schema_of(kernel: CompiledTileKernel, written: Sequence[str]) -> str:
    """``(Tensor A, Tensor(a1!) B, int n) -> Tensor``."""
    arguments: list[str] = []
    for index, param in enumerate(kernel.inputs):
        if param.kind == "pointer":
            raise TypeError(
                f"torch_op: {kernel.name}.{param.name} is a raw address, which no op of PyTorch "
                "takes: declare it as a T.Tensor"
            )
        if param.kind == "tensor":
            kind = f"Tensor(a{index}!)" if param.name in written else "Tensor"
        else:
            is_float = param.dtype.startswith(("float", "bfloat"))
            kind = "bool" if param.dtype == "bool" else "float" if is_float else "SymInt"
        arguments.append(f"{kind} {param.name}")
    returned = kernel.prim_func.returned
    count = len(kernel.out_idx if returned is None else returned)
    results = {0: "()", 1: "Tensor"}.get(count, f"({', '.join(['Tensor'] * count)})")
    return f"({', '.join(arguments)}) -> {results}"


# -- gradients -----------------------------------------------------------------------------------


def _refuse_gradients_of_written(
    name: str, written: Sequence[str], backward: Backward | None
) -> None:
    if backward is not None and written:
        raise TypeError(
            f"torch_op: {name} writes {', '.join(written)}, and PyTorch differentiates no op that "
            "writes its arguments: return new tensors instead"
        )


def _differentiate(op: Any, backward: Backward | None) -> None:
    if backward is None:
        return

    def save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        values = (*inputs, *_several(output))
        tensors = [index for index, each in enumerate(values) if hasattr(each, "requires_grad")]
        ctx.save_for_backward(*(values[index] for index in tensors))
        ctx.tilewright = len(inputs), tensors, [
            None if index in tensors else each for index, each in enumerate(values)
        ]  # fmt: skip

    def gradients(ctx: Any, *given: Any) -> Any:
        count, tensors, values = ctx.tilewright
        values = list(values)
        for index, tensor in zip(tensors, ctx.saved_tensors, strict=True):
            values[index] = tensor
        found = _several(backward(tuple(values[:count]), tuple(values[count:]), *given))
        if len(found) != count:
            raise ValueError(
                f"the backward of {op} returned {len(found)} gradients for {count} inputs: return "
                "None for an input without one"
            )
        return found

    op.register_autograd(gradients, setup_context=save)


def _several(found: object) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
