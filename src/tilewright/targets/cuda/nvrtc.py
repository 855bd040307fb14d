"""Source to machine code with NVIDIA's run-time compiler; no GPU is needed for it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from tilewright.targets.cuda.nvrtc_library import NvrtcMissing, nvrtc, packaged
from tilewright.targets.errors import CudaCompilerError

_PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
"""Packages with the compiler: of CUDA 13 and later, and of 12."""

_MACHINE_CODE = "Used "
"""In the log of the assembler, before the number of registers of a kernel."""
_NO_CACHE = "--no-cache"
"""Newer releases of NVRTC keep machine code on the disk, where there is a driver. What comes
from there has no log, and a kernel that spills would look as if it did not."""

_INSTALLED = Path("/usr/local")
"""Where toolkits are installed."""


@dataclass(frozen=True)
class Compiled:
    """The result of compiling one source."""

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
        *(f"--include-path={directory}" for directory in include_directories()),
        *options,
    ]
    accepted, found = _attempt(source, name, arguments)
    if not accepted:
        raise CudaCompilerError(f"NVRTC failed to compile the source for {arch}", found.log, source)
    if _MACHINE_CODE not in found.log:
        has_option, anew = _attempt(source, name, [*arguments, _NO_CACHE])
        return anew if has_option else found
    return found


def _attempt(source: str, name: str, arguments: Sequence[str]) -> tuple[bool, Compiled]:
    """Compile once: whether it is accepted, and what came out."""
    compiler = nvrtc()
    with compiler.program(source.encode(), name.encode()) as program:
        accepted = compiler.compiles(program, [each.encode() for each in arguments])
        log = compiler.log(program)
        if not accepted:
            return False, Compiled(b"", "", log)
        return True, Compiled(compiler.cubin(program), compiler.ptx(program), log)


@cache
def release() -> str:
    """The version of the compiler; that of a package is not loaded for it."""
    found = {name: _packaged(name) for name in _PACKAGES}
    return ", ".join(f"{name} {each}" for name, each in found.items() if each) or version()


def _packaged(name: str) -> str | None:
    from importlib import metadata  # reads mail headers, and loads all that these need

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def is_installed() -> bool:
    """Whether there is a compiler."""
    try:
        nvrtc()
    except NvrtcMissing:
        return False
    return True


def version() -> str:
    """The version of the compiler."""
    major, minor = nvrtc().version()
    return f"{major}.{minor}"


@cache
def include_directories() -> tuple[str, ...]:
    """The directories of CUDA's own headers; of two releases, those of the compiler come first.

    Those of the C++ core libraries (``cuda/std``), which ``cooperative_groups.h`` includes, are
    beside them or in a directory ``cccl`` among them, and may come in a separate package.
    """
    library = packaged()
    own = None if library is None else library.parents[1] / "include"
    packages = sorted(_of_packages(), key=lambda directory: (directory != own, directory))
    found = [directory for directory in packages if _has_basics(directory)]
    toolkits = [directory for root in _toolkits() for directory in _inside(root)]
    found = found or [directory for directory in toolkits if _has_basics(directory)][:1]
    core = [
        core for directory in (*found, *packages, *toolkits) for core in _core_libraries(directory)
    ]
    return tuple(dict.fromkeys(map(str, [*found, *core[:1]])))


def _of_packages() -> list[Path]:
    try:
        roots = list(import_module("nvidia").__path__)
    except ImportError:
        return []
    return [
        directory
        for root in map(Path, roots)
        for directory in (*root.glob("*/include"), *root.glob("include"))
    ]


def _has_basics(directory: Path) -> bool:
    return (directory / "cuda_fp16.h").exists()


def _core_libraries(directory: Path) -> list[Path]:
    return [
        each for each in (directory / "cccl", directory) if (each / "cuda/std/type_traits").exists()
    ]


def _toolkits() -> list[Path]:
    """Installed toolkits, that of the environment first, then the newest."""
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    others = sorted(_INSTALLED.glob("cuda-*"), key=_release, reverse=True)
    return [*named, _INSTALLED / "cuda", *others]


def _release(directory: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", directory.name)))


def _inside(toolkit: Path) -> list[Path]:
    return [toolkit / "include", *sorted(toolkit.glob("targets/*/include"))]
