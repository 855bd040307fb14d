"""Timing a kernel, and comparing it with a reference, with inputs that are generated for it.

profiler = kernel.get_profiler(tw.TensorSupplyType.Normal)
profiler.assert_allclose(lambda a, b: a @ b, rtol=1e-2, atol=1e-2)
print(profiler.do_bench(), "ms")
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tilewright.runtime.arrays import host_array, is_array
from tilewright.runtime.cuda.driver import is_available
from tilewright.runtime.cuda.memory import DeviceMemory
from tilewright.runtime.tile.allclose import assert_close
from tilewright.runtime.tile.bench import do_bench
from tilewright.runtime.tile.input_generators import TensorSupplyType, get_tensor_supply
from tilewright.runtime.tile.settings import changed
from tilewright.runtime.tile.tensors import copied, on_host

if TYPE_CHECKING:
    from tilewright.language.T.prim_func import Param
    from tilewright.runtime.tile.kernel import CompiledTileKernel

Program = Callable[..., Any]


class Profiler:
    """Runs one kernel with made-up inputs."""

    def __init__(
        self, kernel: CompiledTileKernel, supply_type: TensorSupplyType | None = None
    ) -> None:
        self.kernel = kernel
        self.supply_type = TensorSupplyType.Auto if supply_type is None else supply_type

    @property
    def params(self) -> tuple[Param, ...]:
        return self.kernel.params

    @property
    def result_idx(self) -> tuple[int, ...]:
        return self.kernel.out_idx

    @property
    def func(self) -> CompiledTileKernel:
        """The kernel."""
        return self.kernel

    def __call__(self, *arguments: Any) -> Any:
        return self.kernel(*arguments)

    def inputs(self, sizes: Mapping[str, int] | None = None) -> list[Any]:
        """A value for every parameter that the caller passes."""
        supply = get_tensor_supply(self.supply_type, sizes, self._device)
        return [supply(param) for param in self.kernel.inputs]

    _get_inputs = inputs
    """TileLang's name, which its examples use."""

    @property
    def _device(self) -> str | None:
        """Where inputs are made: on the GPU if the kernel is compiled for one that is there."""
        on_gpu = getattr(self.kernel, "gpu", None) is not None and is_available()
        return "cuda" if on_gpu else None

    def run_once(self, func: Program | None = None) -> Any:
        """What the kernel, or `func`, returns for made-up inputs."""
        return (func or self.kernel)(*_for_program(func, self.inputs()))

    # -- comparing ---------------------------------------------------------------------------

    def assert_allclose(
        self,
        reference_program: Program,
        input_tensors: Sequence[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
    ) -> None:
        """Raise AssertionError unless the kernel's results are those of the reference."""
        found, references = self._results(reference_program, input_tensors)
        if len(found) != len(references):
            raise AssertionError(
                f"{self.kernel.name} returns {len(found)} tensors, the reference {len(references)}"
            )
        for index, (result, reference) in enumerate(zip(found, references, strict=True)):
            if result is None or reference is None:
                continue  # a reference without a comparison
            assert_close(
                result,
                reference,
                rtol,
                atol,
                max_mismatched_ratio,
                base_name=f"{self.kernel.name}, result {index}",
            )

    def manual_assert_close(
        self,
        reference_program: Program,
        input_tensors: Sequence[Any] | None = None,
        manual_check_prog: Program | None = None,
    ) -> None:
        """Let `manual_check_prog` compare the two lists of results."""
        found, references = self._results(reference_program, input_tensors)
        if manual_check_prog is not None:
            manual_check_prog(found, references)

    def _results(
        self, reference_program: Program, input_tensors: Sequence[Any] | None
    ) -> tuple[list[Any], list[Any]]:
        inputs = self.inputs() if input_tensors is None else list(input_tensors)
        references = _as_list(reference_program(*_for_program(reference_program, inputs)))
        return _as_list(self.kernel(*inputs)), references

    def assert_consistent(self, repeat: int = 10) -> None:
        """Raise AssertionError unless all runs leave the same bits.

        Every run starts from the same inputs; where the order of events inside a block is open,
        every run takes another one.
        """
        inputs = self.inputs()
        first = self._bits(inputs, 0)
        for index in range(1, repeat + 1):
            again = self._bits(inputs, index)
            for (name, before), (_, after) in zip(first, again, strict=True):
                if before != after:
                    raise AssertionError(
                        f"{self.kernel.name} is not consistent: {name} of run {index} differs "
                        f"from the first (schedule seeds {index} and 0)"
                    )

    def _bits(self, inputs: Sequence[Any], seed: int) -> list[tuple[str, bytes]]:
        """All memory that the kernel could have written, by name."""
        passed = [copied(value) for value in inputs]
        with changed(seed=seed):
            results = _as_list(self.kernel(*passed))
        named = [
            (param.name, value) for param, value in zip(self.kernel.inputs, passed, strict=True)
        ]
        named += [(f"result {index}", value) for index, value in enumerate(results)]
        return [(name, host_array(on_host(value)).array.tobytes()) for name, value in named]

    # -- timing ------------------------------------------------------------------------------

    def do_bench(
        self,
        func: Program | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: Sequence[Any] | None = None,
        backend: str = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        dynamic_symbolic_constraints: Mapping[str, int] | None = None,
        device: object = None,
        early_stop_baseline: float | None = None,
    ) -> Any:
        """Milliseconds that the kernel, or `func`, takes for made-up inputs."""
        if func is None and getattr(self.kernel, "gpu", None) is not None and not is_available():
            message = "no GPU available: timed on target numpy on the CPU"
            warnings.warn(f"{self.kernel.name} for {self.kernel.target}: {message}", stacklevel=2)
        inputs = (
            self.inputs(dynamic_symbolic_constraints)
            if input_tensors is None
            else list(input_tensors)
        )
        return do_bench(
            partial(func or self.kernel, *_for_program(func, inputs)),
            warmup,
            rep,
            n_warmup,
            n_repeat,
            quantiles,
            backend=backend,
            return_mode=return_mode,
            device=device,
            early_stop_baseline=early_stop_baseline,
        )


def _for_program(program: Program | None, inputs: Sequence[Any]) -> list[Any]:
    """`inputs` as a program takes them: one of NumPy's where the user has not loaded torch."""
    if program is None or hasattr(program, "prim_func"):
        return list(inputs)
    return [on_host(value) if isinstance(value, DeviceMemory) else value for value in inputs]


def _as_list(results: Any) -> list[Any]:
    if results is None:
        return []
    return [results] if is_array(results) else list(cast("Sequence[Any]", results))
