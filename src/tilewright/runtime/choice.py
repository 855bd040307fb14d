"""The target of a launch, from the options and arguments.

    "auto"              (the default) arrays on an NVIDIA GPU: triton for that GPU, or what a
                        tuner measured to be faster (`runtime.back_ends`); otherwise numpy
    "numpy"             the checking interpreter, on the host
    "triton:sm_90"      machine code for that GPU, made by the installed Triton; no GPU is needed
    "triton:gfx942"     the same for an AMD GPU: compiled, never launched
    "triton"            the same for the GPU of this machine
    "cuda", "cuda:sm_90a"      our own CUDA, from the kernel raised (`runtime.pointer.raised`)
    "hip:gfx942"               the same for an AMD GPU
    "tenstorrent:wormhole"     the same for Tenstorrent, on the model of the hardware
    "cuda:90"           an architecture only: the instructions kernels may use. The executing
                        target is unchanged, on the host the interpreter

With "cuda" and "hip", arrays of the host run in the interpreter, with the instructions of that
GPU, as with kernels of `T`: one program can check its own results.

`Spec` is a parsed string; a `TargetChoice` is what a launch then uses, hashable and part of the
compiled kernel's identity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tilewright.language.tl.options import Target
from tilewright.runtime.architectures import check_cuda, check_hip, check_tenstorrent
from tilewright.targets.triton import installation

Backend = Literal["numpy", "triton", "raised"]
_DEFAULT_MACHINE = Target()
_TENSTORRENT = "tenstorrent"
_GFX = re.compile(r"gfx[0-9]{2,3}[0-9a-f]")
"""Names of AMD's architectures: generation, then two digits of which the last is hexadecimal."""


@dataclass(frozen=True)
class TargetChoice:
    """The target that compiles and runs a kernel, and the architecture it compiles for."""

    backend: Backend = "numpy"
    machine: Target = _DEFAULT_MACHINE
    raised: str | None = None
    """The target that kernels are raised for: ``cuda:sm_90a``. Arrays of the host may still run in
    the interpreter (`backend`)."""

    @property
    def is_gpu(self) -> bool:
        """Whether Triton compiles it."""
        return self.backend == "triton"

    @property
    def is_raised(self) -> bool:
        """Whether launches run the kernel raised to tiles."""
        return self.backend == "raised"

    @property
    def is_simulated(self) -> bool:
        """Whether a model of the hardware runs it, with arrays of the host."""
        return self.is_raised and (self.raised or "").startswith(_TENSTORRENT)

    @property
    def capability(self) -> int:
        """The compute capability, 90 for sm_90."""
        assert isinstance(self.machine.arch, int)
        return self.machine.arch

    def __str__(self) -> str:
        if self.raised is not None and self.is_raised:
            return self.raised
        return f"triton:{self.machine.arch_name}" if self.is_gpu else f"numpy ({self.machine})"


@dataclass(frozen=True)
class Spec:
    """A parsed target string; both parts may be left open."""

    backend: Literal["auto", "numpy", "triton", "raised"] | None = None
    machine: Target | None = None
    raised: str | None = None
    """As in `TargetChoice`."""

    def over(self, around: Spec) -> Spec:
        """This spec, with missing parts from the enclosing one."""
        if self.backend is None:
            return Spec(around.backend, self.machine or around.machine, around.raised)
        return self


AUTO = Spec("auto")
_HELP = (
    "expected for example triton:sm_90, triton, numpy, auto, cuda:sm_90a, cuda, cuda:90, "
    "triton:gfx942, hip:gfx942 or tenstorrent:wormhole"
)


@cache
def spec_named(text: str) -> Spec:
    """The parsed `text`; raises ValueError with examples."""
    backend, _, arch = text.partition(":")
    capability = arch.removeprefix("sm_").rstrip("af")
    if text in ("auto", "numpy", "triton"):
        return Spec(text)
    if backend == "triton" and capability.isdecimal():
        return Spec("triton", Target("cuda", int(capability)))
    if backend == "triton" and _GFX.fullmatch(arch):
        return Spec("triton", Target("hip", arch))
    if backend == "cuda" and capability.isdecimal() and not arch.startswith("sm_"):
        return Spec(None, Target("cuda", int(capability)))
    if text == "cuda":
        return Spec("raised", None, text)
    if backend == "cuda" and capability.isdecimal():
        check_cuda(text, arch)
        return Spec("raised", Target("cuda", int(capability)), text)
    if backend == "hip" and arch:
        if not _GFX.fullmatch(
            arch
        ):  # the interpreter has instructions of more than are compiled for
            check_hip(text, arch)
        return Spec("raised", Target("hip", arch), text)
    if backend == _TENSTORRENT:
        if arch:
            check_tenstorrent(text, arch)
        return Spec("raised", None, text)
    raise ValueError(f"unknown target {text!r}: {_HELP}")


@cache
def choose(spec: Spec, device: int | None) -> TargetChoice:
    """The target of a launch whose arrays are on the GPU numbered `device`, None for the host."""
    if spec.backend == "raised":
        return _raised(spec, device)
    if spec.backend == "numpy" or (spec.backend != "triton" and device is None):
        return TargetChoice("numpy", spec.machine or _DEFAULT_MACHINE)
    machine = spec.machine or Target("cuda", _capability(device))
    if spec.backend != "triton" and not (machine.is_cuda and _has_triton()):
        return TargetChoice("numpy", machine)
    return TargetChoice("triton", machine)


def _raised(spec: Spec, device: int | None) -> TargetChoice:
    """Our own code; arrays that are not in the memory of such a GPU run in the interpreter."""
    assert spec.raised is not None
    kind = spec.raised.partition(":")[0]
    machine = spec.machine or _DEFAULT_MACHINE
    if kind == _TENSTORRENT:
        return TargetChoice("raised", machine, spec.raised)
    if spec.machine is None and device is not None:
        machine = Target("cuda", _capability(device))
    if device is None or (not machine.is_cuda and not _has_hip()):
        return TargetChoice("numpy", machine, spec.raised)
    return TargetChoice("raised", machine, spec.raised)


def _has_hip() -> bool:
    from tilewright.runtime.hip import bindings

    return bindings.is_available()


def _has_triton() -> bool:
    try:
        installation.directory()
    except installation.TritonMissing:
        return False
    return True


def _capability(device: int | None) -> int:
    # Loads the driver, which a named GPU does without.
    from tilewright.runtime.cuda.context import device_properties
    from tilewright.runtime.cuda.driver import CudaUnavailable

    try:
        return device_properties(device).capability
    except CudaUnavailable as error:
        raise ValueError(
            "target 'triton' without an architecture means the GPU of this machine, and none is "
            f"usable ({error.reason}): name the architecture, for example triton:sm_90"
        ) from None
