"""Compiled kernels and the machine that runs them, cached by everything that decides them.

A kernel becomes one shared object for each set of compile-time arguments; its undefined symbols
are the calls of `shim/abi.h`, which the machine executable exports. Kernels are compiled
unmodified: the shim is included before them, and the include names of the device API are empty
files.
"""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.targets.store import digest, load, store
from tilewright.targets.tenstorrent.program import KernelSource, Processor, ProgramError
from tilewright.targets.tenstorrent.source.toolchain import compile_file, compiler

SHIM = Path(__file__).parents[1] / "shim"
_KIND: Final = "tenstorrent"
_MACHINE_FLAGS = ("-std=gnu++17", "-O2", "-w", "-rdynamic", "-ldl")
_KERNEL_FLAGS = (
    "-std=gnu++17",
    "-O1",
    "-w",
    "-fPIC",
    "-shared",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
)
_HOST_FLAGS = ("-std=c++20", "-w")
_TOOL_SYMBOLS = ("_", "completed.", "deregister_tm", "register_tm", "frame_dummy")


@cache
def work_directory() -> Path:
    """A directory of this process, removed when it ends."""
    path = Path(tempfile.mkdtemp(prefix="tilewright-tt-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def _digest(pattern: str) -> str:
    """A digest of all shim files that match."""
    files = sorted(SHIM.glob(pattern))
    return digest(*(part for path in files for part in (path.name, path.read_bytes())))


@cache
def _include_names() -> Path:
    """A directory of empty files with the include names of the device API."""
    base = work_directory() / "include"
    for name in (SHIM / "include_names.txt").read_text(encoding="utf-8").split():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return base


def _built(key: str, name: str, flags: tuple[str, ...], source: Path) -> Path:
    """The binary of `key`: from this process, from the cache, or compiled now."""
    path = work_directory() / f"{name}-{key[:24]}"
    if path.exists():
        return path
    found = load(_KIND, key)
    if found is None:
        draft = path.with_suffix(".part")
        compile_file(flags, source, draft)
        store(_KIND, key, {"binary": draft.read_bytes()})
        draft.rename(path)
    else:
        path.write_bytes(found["binary"])
    path.chmod(0o700)
    return path


@cache
def machine_binary() -> Path:
    """The executable that runs programs."""
    key = digest(
        *("machine", compiler().version, _digest("machine/*"), _digest("abi.h")),
        *(_digest("sfpu_table.h"), *_MACHINE_FLAGS),
    )
    return _built(key, "machine", _MACHINE_FLAGS, SHIM / "machine" / "machine.cpp")


@cache
def _host_names() -> Path:
    """A directory in which every include name of the host API is the host half of the shim."""
    base = work_directory() / "host"
    for name in (SHIM / "host" / "include_names.txt").read_text(encoding="utf-8").split():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#include "{SHIM / "host" / "host.h"}"\n', encoding="utf-8")
    return base


def host_binary(
    source: Path, include: tuple[Path, ...], defines: tuple[str, ...], *, optimise: bool
) -> Path:
    """The executable of a host program.

    Raises:
        KernelCompileError: if the compiler rejects it.
    """
    headers = [path for each in include for path in sorted(each.glob("*.h*"))]
    key = digest(
        *("host", source.read_bytes(), compiler().version, _digest("host/*"), *_HOST_FLAGS),
        f"optimise {optimise}",
        *(*defines, *(path.read_bytes() for path in headers)),
    )
    flags = (
        *_HOST_FLAGS,
        "-O1" if optimise else "-O0",
        *(f"-D{each}" for each in defines),
        f"-I{_host_names()}",
        *(f"-I{each}" for each in include),
    )
    return _built(key, "host", flags, source)


def _defines(kernel: KernelSource, chip: ChipSpec, words: tuple[int, ...]) -> list[str]:
    arch = "ARCH_BLACKHOLE" if chip.arch == "blackhole" else "ARCH_WORMHOLE"
    defines = [f"-D{arch}", f"-DNOC_INDEX={kernel.noc_index}"]
    if words:
        defines.append("-DKERNEL_COMPILE_TIME_ARGS=" + ",".join(f"{word}u" for word in words))
    if kernel.named_compile_args:
        pairs = (f"{{{json.dumps(k)},{v}u}}" for k, v in kernel.named_compile_args.items())
        defines.append("-DKERNEL_COMPILE_TIME_ARG_MAP=" + ",".join(pairs))
    if kernel.processor is Processor.COMPUTE:
        defines.append("-DTW_COMPUTE_KERNEL")
    elif kernel.processor is Processor.RISCV_1:
        defines.append("-DTW_PROCESSOR_1")
    return defines + [f"-D{name}={value}" for name, value in kernel.defines.items()]


def kernel_library(kernel: KernelSource, chip: ChipSpec, words: tuple[int, ...]) -> Path:
    """The shared object of a kernel with these compile-time words.

    Raises:
        KernelCompileError: if the compiler rejects it.
        ProgramError: if it has a mutable static, which all cores would share.
    """
    text = kernel.source
    defines = _defines(kernel, chip, words)
    key = digest("kernel", text, compiler().version, _digest("*.h"), *_KERNEL_FLAGS, *defines)
    source = kernel.path
    if source is None or kernel.text is not None:
        source = work_directory() / f"{kernel.name}-{key[:16]}.cpp"
        source.write_text(text, encoding="utf-8")
    flags = (*_KERNEL_FLAGS, *defines, f"-I{_include_names()}", f"-include{SHIM / 'kernel.h'}")
    path = _built(key, "kernel", flags, source)
    _reject_mutable_statics(kernel.name, str(path))
    return path


@cache
def _reject_mutable_statics(name: str, path: str) -> None:
    tool = shutil.which("nm")
    if tool is None:
        return
    listing = subprocess.run([tool, "-C", path], capture_output=True, text=True, check=False)
    for line in listing.stdout.splitlines():
        kind, _, symbol = line[17:].partition(" ")
        if kind in "bBdD" and kind and not symbol.startswith(_TOOL_SYMBOLS):
            raise ProgramError(
                f"kernel '{name}': mutable static '{symbol}' would be shared by all cores; "
                "use a local variable"
            )
