"""The kernels of a function, compiled for an AMD GPU, and their way to disk and back.

Loads nothing of the compiler: a process that finds its program in the cache needs no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.targets.hip.metadata import HipKernelMetadata
from tilewright.targets.program import CompiledProgram, ProgramFormat, StoredKernel


@dataclass(frozen=True)
class HipKernel:
    """One kernel, compiled."""

    source: str
    code_object: bytes
    isa: str
    """Assembly; empty if the compiler (hiprtc) does not print it."""
    metadata: HipKernelMetadata
    log: str


@dataclass(frozen=True)
class HipProgram(CompiledProgram[HipKernel]):
    """A function for AMD GPUs."""


def _sections(kernel: HipKernel) -> Mapping[str, bytes]:
    return {"hip": kernel.source.encode(), "s": kernel.isa.encode(), "hsaco": kernel.code_object}


def _kernel(stored: StoredKernel) -> HipKernel:
    found = stored.sections
    return HipKernel(
        found["hip"].decode(),
        found["hsaco"],
        found["s"].decode(),
        HipKernelMetadata(**stored.metadata),
        stored.log,
    )


_FORMAT = ProgramFormat("hip-programs", "metadata", _sections, _kernel, HipProgram)
write_program = _FORMAT.write
read_program = _FORMAT.read
