"""The host's C++ compiler.

The first of $TILEWRIGHT_HOST_CXX, g++ and clang++ that exists. Kernels need C++17 with designated
initialisers, which both accept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VARIABLE = "TILEWRIGHT_HOST_CXX"
_CANDIDATES = ("g++", "clang++")
_COMPILE_SECONDS = 300


class SourceExecutorUnavailable(RuntimeError):
    """The host cannot run kernels from source; the message names what is missing."""


class KernelCompileError(RuntimeError):
    """The compiler rejected a kernel; the message holds its output."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and its version."""

    path: str
    version: str


@cache
def _compiler(requested: str | None) -> Compiler:
    for name in (requested,) if requested else _CANDIDATES:
        path = shutil.which(name)
        if path is not None:
            try:
                output = subprocess.run(
                    [path, "--version"], capture_output=True, text=True, check=True
                )
            except (OSError, subprocess.CalledProcessError):
                raise SourceExecutorUnavailable(
                    f"{path} is no C++ compiler, '{name} --version' fails; install g++ or set "
                    f"{VARIABLE}"
                ) from None
            return Compiler(path, output.stdout.partition("\n")[0])
    expected = requested or " or ".join(_CANDIDATES)
    raise SourceExecutorUnavailable(
        f"no C++ compiler: {expected} not found; install g++ or set {VARIABLE}"
    )


def compiler() -> Compiler:
    """The compiler in use.

    Raises:
        SourceExecutorUnavailable: if the host has none.
    """
    return _compiler(os.environ.get(VARIABLE))


def compile_file(arguments: Sequence[str], source: Path, output: Path) -> None:
    """Compile `source` to `output`.

    Raises:
        KernelCompileError: with the compiler's messages.
    """
    command = [compiler().path, *arguments, str(source), "-o", str(output)]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_COMPILE_SECONDS
    )
    if result.returncode != 0:
        raise KernelCompileError(f"{source.name} does not compile:\n{result.stderr}")
