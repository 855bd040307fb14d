"""Source to machine code with NVIDIA's run-time compiler; no GPU is needed for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path

from tilewright.targets.cuda.errors import CudaCompilerError
from tilewright.targets.cuda.nvrtc_library import nvrtc, packaged

_PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
"""What brings the compiler: of CUDA 13 and later, and of 12."""


@dataclass(frozen=True)
class Compiled:
    """What the compiler made of one source."""

    cubin: bytes
    ptx: str
    log: str


def compile_source(
    source: str, arch: str, options: Sequence[str] = (), *, name: str = "kernel.cu"
) -> Compiled:
    """The machine code of `source` for ``sm_90a`` and the like."""
    arguments = [
        f"--gpu-architecture={arch}",
        "--std=c++17",
        "--ptxas-options=--verbose",
        *(f"--include-path={folder}" for folder in include_folders()),
        *options,
    ]
    compiler = nvrtc()
    with compiler.program(source.encode(), name.encode()) as program:
        accepted = compiler.compiles(program, [each.encode() for each in arguments])
        log = compiler.log(program)
        if not accepted:
            raise CudaCompilerError(f"the CUDA compiler refused the source for {arch}", log, source)
        return Compiled(compiler.cubin(program), compiler.ptx(program), log)


@cache
def release() -> str:
    """Which compiler this is; where a package brought it, it is not loaded to ask."""
    found = {name: _packaged(name) for name in _PACKAGES}
    return ", ".join(f"{name} {each}" for name, each in found.items() if each) or version()


def _packaged(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def version() -> str:
    """The version of the compiler."""
    major, minor = nvrtc().version()
    return f"{major}.{minor}"


@cache
def include_folders() -> tuple[str, ...]:
    """Where CUDA's own headers lie; of two releases of CUDA, those of the compiler come first."""
    try:
        nvidia = import_module("nvidia")
    except ImportError:
        return ()
    library = packaged()
    own = None if library is None else library.parents[1] / "include"
    found = [
        folder
        for root in list(nvidia.__path__)
        for folder in (*Path(root).glob("*/include"), *Path(root).glob("include"))
        if (folder / "cuda_fp16.h").exists()
    ]
    found.sort(key=lambda folder: (folder != own, folder))
    return tuple(map(str, found)) or _toolkit()


def _toolkit() -> tuple[str, ...]:
    """The headers of an installed toolkit, where no package brought them."""
    candidates = [Path("/usr/local/cuda/include")]
    return tuple(str(each) for each in candidates if (each / "cuda_fp16.h").exists())
