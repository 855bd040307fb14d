"""The kernels of a function, compiled for an NVIDIA GPU, and their way to disk and back.

Loads nothing of the compiler: a process that finds its program in the cache needs no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.targets.cuda.metadata import KernelMetadata, TensorMapSpec
from tilewright.targets.program import CompiledProgram, ProgramFormat, StoredKernel, tupled


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
    return DeviceKernel(source, cubin, _metadata(stored.metadata), stored.log)


def _metadata(given: Mapping[str, Any]) -> KernelMetadata:
    values = dict(given)
    maps: Sequence[Mapping[str, Any]] = values.pop("tensor_maps")
    return KernelMetadata(
        **values, tensor_maps=tuple(TensorMapSpec(**tupled(each)) for each in maps)
    )


_FORMAT = ProgramFormat("programs", "facts", _sections, _kernel, Program)
write_program = _FORMAT.write
read_program = _FORMAT.read
