"""Which compilers of a GPU's machine code a tuner tries for a kernel: Triton, and our own CUDA.

With the target "auto", the configurations of a tuner are timed both ways. A `RaisedConfig` is a
configuration that our own CUDA compiles, from the kernel raised to tiles. It is no candidate where
the kernel is not raised, or is raised with an operand of a GEMM copied element by element in a loop
(TW8020): `target="cuda"` alone compiles those. A launch that the raised kernel cannot take (arrays
that share bytes and have no common form, integers that wrap) goes to Triton.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.config import Config
from tilewright.runtime.cuda.arrays import device_array
from tilewright.runtime.launch_errors import is_unlaunchable

OURS = "cuda"


@dataclass(eq=False)
class RaisedConfig(Config):
    """A configuration that our own CUDA compiles, for arrays of any NVIDIA GPU."""

    def options(self) -> dict[str, Any]:
        return {**super().options(), "target": OURS}

    def options_of_triton(self) -> dict[str, Any]:
        """The launch options, for launches that go to Triton all the same."""
        return super().options()


def is_on_gpu(values: Iterable[object]) -> bool:
    """Whether an argument is an array in the memory of a GPU."""
    return any(type(each) not in _PLAIN and device_array(each) is not None for each in values)


_PLAIN = frozenset({int, float, bool, str, type(None)})


def is_not_taken(error: Exception) -> bool:
    """Whether a launch failed because the kernel, or this launch of it, has no raised form."""
    return isinstance(error, CompileError) or is_unlaunchable(error)


def both_ways(configs: Sequence[Config]) -> list[Config]:
    """The configurations for Triton, then those for our own CUDA."""
    names = [each.name for each in fields(Config)]
    raised = [RaisedConfig(**{name: getattr(config, name) for name in names}) for config in configs]
    return [*configs, *raised]


def is_candidate(compiled: Any) -> bool:
    """Whether a kernel that was compiled for our own CUDA is worth timing."""
    # What a user's own wrapper of kernels returns may be anything.
    kernel = getattr(compiled, "raised", None)
    return kernel is not None and not kernel.raised.plan.has_slow_gemm_loops
