"""Kernels of which single passes can be left out while a program calls them.

board = Switchboard()
board.install(module)             # its kernels are called through the board from now on
with board.recording() as kernels:
    module.softmax(x)             # traced, not run: results are not initialised
with board.without("unroll-loops"):
    module.softmax(x)
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

from tilewright.runtime.tile.gpu import CudaKernel
from tilewright.runtime.tile.host_checks import check_arguments
from tilewright.runtime.tile.jit import TileJIT, traced_tile
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.tensors import example_of, new_tensor

WHOLE = ""
"""The name of no pass: nothing is left out."""


class Switchboard:
    """Which pass is left out of the kernels that are called, and which kernels those are."""

    def __init__(self) -> None:
        self.left_out = WHOLE
        self.recorded: list[CompiledTileKernel] | None = None
        self._variants: dict[tuple[CompiledTileKernel, str], CompiledTileKernel] = {}
        self._owners: dict[CompiledTileKernel, TileJIT] = {}

    def install(self, module: ModuleType) -> None:
        """Have the kernels of `module` called through this board."""
        for name, value in list(vars(module).items()):
            if isinstance(value, TileJIT):
                setattr(module, name, _Switched(value, self))

    @contextmanager
    def recording(self) -> Generator[list[CompiledTileKernel]]:
        """Calls inside the ``with`` trace their kernels, which are in the list, and run nothing."""
        self.recorded = []
        try:
            yield self.recorded
        finally:
            self.recorded = None

    @contextmanager
    def without(self, name: str) -> Generator[None]:
        """Calls inside the ``with`` are of kernels that were compiled without this pass."""
        before, self.left_out = self.left_out, name
        try:
            yield
        finally:
            self.left_out = before

    def variant(self, kernel: CompiledTileKernel, name: str) -> CompiledTileKernel:
        """`kernel` without a pass, as a kernel of its own; compiled on first use."""
        if name == WHOLE:
            return kernel
        found = self._variants.get((kernel, name))
        if found is None:
            owner = self._owners[kernel]
            found = traced_tile(
                kernel.prim_func,
                owner.out_idx,
                owner.target,
                owner.pass_configs,
                owner.compile_flags,
            )
            gpu = found.gpu
            assert isinstance(gpu, CudaKernel)
            gpu.settings = replace(gpu.settings, leave_out=(*gpu.settings.leave_out, name))
            self._variants[kernel, name] = found
        return found

    def call(self, owner: TileJIT, kernel: CompiledTileKernel, arguments: Sequence[Any]) -> Any:
        """Run `kernel` as the board stands."""
        self._owners[kernel] = owner
        if self.recorded is None:
            return self.variant(kernel, self.left_out)(*arguments)
        if kernel not in self.recorded:
            self.recorded.append(kernel)
        return _results(kernel, arguments)


class _Switched:
    """A kernel that is called through a board; whatever else it has, it still has."""

    def __init__(self, jit: TileJIT, board: Switchboard) -> None:
        self._jit = jit
        self._board = board
        self._known: dict[Any, tuple[CompiledTileKernel, tuple[str, ...]]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = tuple(map(_kind, args)), tuple((name, _kind(each)) for name, each in kwargs.items())
        if key not in self._known:
            kernel = self._jit.traced(*args, **kwargs)
            self._known[key] = kernel, tuple(param.name for param in kernel.inputs)
        kernel, names = self._known[key]
        positions = dict(zip(self._jit.signature.parameters, args, strict=False))
        given = {**positions, **kwargs}
        return self._board.call(self._jit, kernel, [given[name] for name in names])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jit, name)


def _kind(value: Any) -> Any:
    """What of an argument decides which kernel is meant."""
    shape = getattr(value, "shape", None)
    return value if shape is None else (tuple(shape), value.dtype)


def _results(kernel: CompiledTileKernel, arguments: Sequence[Any]) -> Any:
    """What a call returns, not initialised."""
    on_gpu = kernel.gpu is not None and kernel.gpu.given(arguments) is not None
    checked = check_arguments(
        kernel.name, kernel.params, arguments, kernel.inputs, kernel.untouched, on_gpu=on_gpu
    )
    like, rest = example_of(arguments), iter(arguments)
    values = [
        new_tensor(kernel.output_shape(param, checked.sizes), param.dtype, like)
        if index in kernel.out_idx
        else next(rest)
        for index, param in enumerate(kernel.params)
    ]
    returned = kernel.prim_func.returned
    results = [values[n] for n in (kernel.out_idx if returned is None else returned)]
    return results[0] if len(results) == 1 else tuple(results) or None
