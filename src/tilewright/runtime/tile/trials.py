"""Trying one configuration of a kernel: compared with a reference, then measured.

Inputs, results of the reference and its time are made once for all configurations. A kernel gets
copies of the inputs, so that a configuration that writes to them does not affect others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.language.T.symbols import text
from tilewright.runtime.arrays import is_array
from tilewright.runtime.tile.input_generators import TensorSupplyType
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.tensors import copied

Config = Mapping[str, Any]

_CLEARLY_SLOW = 3.0
"""A kernel that takes as many times as long as the best is not worth a long measurement."""


@dataclass(frozen=True)
class ProfileArgs:
    """How configurations are compared and measured."""

    warmup: float = 25
    rep: float = 100
    timeout: float = 100
    """Seconds that a process may take to compile a configuration."""
    backend: str = "event"
    supply_type: TensorSupplyType = TensorSupplyType.Auto
    ref_prog: Callable[..., Any] | None = None
    supply_prog: Callable[..., Any] | None = None
    rtol: float = 1e-2
    atol: float = 1e-2
    max_mismatched_ratio: float = 0.01
    skip_check: bool = False
    manual_check_prog: Callable[..., Any] | None = None
    cache_input_tensors: bool = False
    """Whether all kernels get the very same inputs, and `supply_prog` is called once."""
    early_stop: bool = False
    """Whether `early_stop_factor` is set instead of the default 3."""
    early_stop_factor: float = 2.0
    num_workers: int | None = None
    """Processes that compile; 1 for none. One for each core, or TILEWRIGHT_COMPILE_WORKERS."""

    @property
    def clearly_slow(self) -> float:
        return self.early_stop_factor if self.early_stop else _CLEARLY_SLOW


@dataclass(frozen=True)
class Trial:
    """What became of one configuration."""

    config: Config
    latency: float | None = None
    """Milliseconds; None if it was left out."""
    remark: str = ""
    """Why it was left out, or measured only briefly."""

    def __str__(self) -> str:
        time = "left out" if self.latency is None else f"{self.latency:.4g} ms"
        return f"{self.config}: {time}" + (f" ({self.remark})" if self.remark else "")


class Workbench:
    """What configurations of one kernel are compared and measured with."""

    def __init__(self, profile: ProfileArgs, given: Sequence[Any] | None = None) -> None:
        self.profile = profile
        self.given = given
        """Inputs that the user set."""
        self._made: dict[Any, list[Any]] = {}
        self._expected: dict[Any, Any] = {}
        self._reference_ms: float | None = None

    def check(self, kernel: CompiledTileKernel) -> None:
        """Raise AssertionError unless the kernel agrees with the reference."""
        profile = self.profile
        if profile.skip_check or profile.ref_prog is None:
            return
        profiler = kernel.get_profiler(profile.supply_type)
        inputs = self._inputs(kernel)
        if profile.manual_check_prog is not None:
            profiler.manual_assert_close(profile.ref_prog, inputs, profile.manual_check_prog)
            return
        profiler.assert_allclose(
            self._reference(kernel),
            inputs,
            profile.atol,
            profile.rtol,
            profile.max_mismatched_ratio,
        )

    def measure(self, kernel: CompiledTileKernel, minimum: float | None = None) -> None:
        """Note how long the kernel and its reference take; briefly if clearly above `least`."""
        profile = self.profile
        profiler = kernel.get_profiler(profile.supply_type)
        inputs = self._inputs(kernel)
        kernel.latency = profiler.do_bench(
            warmup=profile.warmup,
            rep=profile.rep,
            input_tensors=inputs,
            backend=profile.backend,
            return_mode="median",  # the others compile at the same time, which makes outliers
            early_stop_baseline=self.limit(minimum),
        )
        if profile.ref_prog is not None and self._reference_ms is None:
            self._reference_ms = profiler.do_bench(
                profile.ref_prog, warmup=profile.warmup, rep=profile.rep, input_tensors=inputs
            )
        kernel.ref_latency = self._reference_ms

    def limit(self, minimum: float | None) -> float | None:
        """Milliseconds above which a kernel is clearly slow."""
        return None if minimum is None else minimum * self.profile.clearly_slow

    def _inputs(self, kernel: CompiledTileKernel) -> list[Any]:
        if self.given is not None:
            return list(self.given)
        profile = self.profile
        key = _shapes(kernel)
        if profile.supply_prog is not None:
            if not profile.cache_input_tensors:
                return list(profile.supply_prog(kernel.inputs))
            if key not in self._made:
                self._made[key] = list(profile.supply_prog(kernel.inputs))
        elif key not in self._made:
            self._made[key] = kernel.get_profiler(profile.supply_type).inputs()
        if profile.cache_input_tensors:
            return self._made[key]
        return [copied(each) if is_array(each) else each for each in self._made[key]]

    def _reference(self, kernel: CompiledTileKernel) -> Callable[..., Any]:
        """The reference, which need not compute again for inputs it has seen."""
        reference = self.profile.ref_prog
        assert reference is not None
        if self.given is not None or self.profile.supply_prog is not None:
            return reference
        key = _shapes(kernel)

        def remembered(*inputs: Any) -> Any:
            if key not in self._expected:
                self._expected[key] = reference(*map(copied, inputs))
            return self._expected[key]

        return remembered


def _shapes(kernel: CompiledTileKernel) -> tuple[Any, ...]:
    """What determines the generated inputs of a kernel."""
    return tuple(
        (param.name, param.kind, str(param.dtype), tuple(map(text, param.shape)))
        for param in kernel.inputs
    )
