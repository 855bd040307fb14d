"""Source to machine code with NVIDIA's run-time compiler; no GPU is needed for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from tilewright.targets.cuda.errors import CudaCompilerError

_INSTALL = "pip install 'tilewright[cuda]'"
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
    nvrtc = _nvrtc()
    arguments = [
        f"--gpu-architecture={arch}",
        "--std=c++17",
        "--ptxas-options=--verbose",
        *(f"--include-path={folder}" for folder in include_folders()),
        *options,
    ]
    encoded = [each.encode() for each in arguments]
    program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], []))
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)[0]
        log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CudaCompilerError(f"the CUDA compiler refused the source for {arch}", log, source)
        cubin = _bytes(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        ptx = _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
        return Compiled(cubin, ptx, log)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


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
    nvrtc = _nvrtc()
    status, major, minor = nvrtc.nvrtcVersion()
    _check(status)
    return f"{major}.{minor}"


@cache
def include_folders() -> tuple[str, ...]:
    """Where CUDA's own headers lie."""
    try:
        nvidia = import_module("nvidia")
    except ImportError:
        return ()
    found: list[str] = []
    for root in list(nvidia.__path__):
        for folder in (*Path(root).glob("*/include"), *Path(root).glob("include")):
            if (folder / "cuda_fp16.h").exists():
                found.append(str(folder))
    return tuple(found) or _toolkit()


def _toolkit() -> tuple[str, ...]:
    """The headers of an installed toolkit, where no package brought them."""
    candidates = [Path("/usr/local/cuda/include")]
    return tuple(str(each) for each in candidates if (each / "cuda_fp16.h").exists())


@cache
def _nvrtc() -> Any:
    try:
        return import_module("cuda.bindings.nvrtc")
    except ImportError as error:
        raise ModuleNotFoundError(
            f"kernels for NVIDIA GPUs are compiled with NVRTC, which is not installed: {_INSTALL}"
        ) from error


def _checked(returned: tuple[Any, ...]) -> Any:
    status, value = returned
    _check(status)
    return value


def _check(status: Any) -> None:
    nvrtc = _nvrtc()
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        text = nvrtc.nvrtcGetErrorString(status)[1]
        raise RuntimeError(f"NVRTC failed: {text.decode()}")


def _bytes(size_of: Any, fill: Any, program: Any) -> bytes:
    size = _checked(size_of(program))
    room = bytes(size)
    _check(fill(program, room)[0])
    return room


def _text(size_of: Any, fill: Any, program: Any) -> str:
    return _bytes(size_of, fill, program).rstrip(b"\0").decode(errors="replace")
