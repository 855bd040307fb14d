"""The kernels of a function, compiled for an AMD GPU, and their way to disk and back.

Loads nothing of the compiler: a process that finds its program in the cache needs no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.targets.hip.compiler import release
from tilewright.targets.hip.metadata import HipKernelMetadata
from tilewright.targets.hip.settings import HipSettings
from tilewright.targets.metadata import unstamped
from tilewright.targets.program import CompiledProgram, ProgramCache, StoredKernel

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


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
        HipKernelMetadata(**unstamped(stored.metadata)),
        stored.log,
    )


def _compiled(module: ModuleOp, settings: HipSettings) -> HipProgram:
    from tilewright.targets.hip.compile import compile_as

    return compile_as(module, settings)


PROGRAMS = ProgramCache(
    "hip-programs", _sections, _kernel, HipProgram, lambda each: release(each.arch), _compiled
)
