"""Raised kernels on Tenstorrent: one program for each combination of extents and scalars.

Blocks, pages and traffic of all cores are part of the plan, so a launch fixes integers, extents and
the grid first. Then views are constant, and become parameters (`replace_views`), for which the
launch passes its memory with that shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.builtin import MemRefType

from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.language.T.prim_func import Param, PrimFunc
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.tenstorrent.fix_arguments import FixArguments
from tilewright.passes.tenstorrent.replace_views import SeenTensor, replace_views
from tilewright.passes.tile.raise_to_tile import clean
from tilewright.runtime.arrays import HostArray
from tilewright.runtime.pointer.raised_arguments import BadArgument, param_of
from tilewright.runtime.tile.kernel import CompiledTileKernel

if TYPE_CHECKING:
    from tilewright.runtime.pointer.raised import RaisedTileKernel


@dataclass(frozen=True, eq=False)
class FixedKernel:
    """A kernel for the extents, integers and grid of a launch."""

    kernel: CompiledTileKernel
    sources: tuple[int | SeenTensor, ...]
    """What each parameter gets: a value of the launch by position, or memory with a shape."""

    def values(self, given: Sequence[Any]) -> list[Any]:
        """One value for each parameter, of the values of a launch."""
        return [
            self._shaped(each, given) if isinstance(each, SeenTensor) else given[each]
            for each in self.sources
        ]

    def _shaped(self, tensor: SeenTensor, given: Sequence[Any]) -> HostArray:
        memory = given[tensor.source].array
        if tensor.reach > memory.size and all(tensor.shape):
            raise BadArgument(
                self.kernel.params[tensor.source].name,
                f"the kernel sees it with shape {tensor.shape} and strides {tensor.strides}, up to "
                f"element {tensor.reach - 1}, and it has {memory.size}: pass a larger array",
            )
        steps = [step * memory.itemsize for step in tensor.strides]
        return HostArray(as_strided(memory[tensor.origin :], tensor.shape, steps))


def fixed_kernel(raised: RaisedTileKernel, given: Sequence[Any]) -> FixedKernel:
    """The kernel for the values of a launch, which are flat memory and scalars.

    Raises:
        CompileError: if a tensor is written and seen with several shapes.
    """
    module = raised.prim_func.module.clone()
    engine = DiagnosticEngine()
    pairs = zip(raised.params, given, strict=True)
    FixArguments(";".join(f"{param.name}={_text(each)}" for param, each in pairs)).run(
        module, engine
    )
    engine.raise_if_errors()
    canonicalize(module)
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    tensors = replace_views(function, engine)
    engine.raise_if_errors()
    clean(module)
    every: list[int | SeenTensor] = [*range(len(raised.params)), *tensors]
    params = _params(function, raised.params)
    prim_func = PrimFunc(raised.name, module, params, "", raised.prim_func.captured)
    return FixedKernel(CompiledTileKernel(prim_func, (), target=raised.target), tuple(every))


def _text(value: Any) -> str:
    """A value as `fix-arguments` reads it."""
    if isinstance(value, HostArray):
        return str(value.array.size)
    return str(int(value) if isinstance(value, bool) else value)


def _params(function: FuncOp, before: Sequence[Param]) -> tuple[Param, ...]:
    arguments = function.body.block.args
    made: list[Param] = []
    for argument in arguments:
        name = argument.name_hint or f"arg{argument.index}"
        if argument.index < len(before):
            name = before[argument.index].name
        param = param_of(name, argument.type)
        if isinstance(argument.type, MemRefType):
            param = Param(name, "tensor", param.dtype, tuple(argument.type.get_shape()))
        made.append(param)
    return tuple(made)
