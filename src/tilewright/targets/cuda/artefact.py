"""The kernels of a function, compiled for an NVIDIA GPU, and their way to disk and back.

Loads nothing of the compiler: a process that finds its program in the cache needs no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.targets.cuda.nvrtc import release
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.metadata import KernelMetadata
from tilewright.targets.program import CompiledProgram, ProgramCache, StoredKernel

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class DeviceKernel:
    """One kernel, compiled."""

    source: str
    cubin: bytes
    metadata: KernelMetadata
    log: str


@dataclass(frozen=True)
class Program(CompiledProgram[DeviceKernel]):
    """A function for NVIDIA GPUs."""


def _sections(kernel: DeviceKernel) -> Mapping[str, bytes]:
    return {"cu": kernel.source.encode(), "cubin": kernel.cubin}


def _kernel(stored: StoredKernel) -> DeviceKernel:
    source, cubin = stored.sections["cu"].decode(), stored.sections["cubin"]
    return DeviceKernel(source, cubin, KernelMetadata.from_values(stored.metadata), stored.log)


def _compiled(module: ModuleOp, settings: Settings) -> Program:
    from tilewright.targets.cuda.compile import compile_as

    return compile_as(module, settings)


PROGRAMS = ProgramCache("programs", _sections, _kernel, Program, lambda _: release(), _compiled)
