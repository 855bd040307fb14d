"""Source to a code object with clang; neither ROCm nor a GPU is needed for it.

    clang -x hip ... -S k.hip      ->  assembly, with what every kernel needs
    clang -x assembler ... k.s     ->  a linked ELF code object (by lld)

Debian's ``clang-19`` and ``lld-19`` are enough: the source includes nothing and calls nothing that
is not in it. Assembly comes first because it is what people and tests read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.targets.errors import HipCompilerError, HipCompilerMissing

VARIABLE = "TILEWRIGHT_CLANG"
OLDEST = 19
"""The first release whose code for these chips was checked."""
_NEWEST = 24
_FIRST_WITH = {"gfx950": 20}
"""Releases of LLVM before these do not support the chip."""
_ROCM = "/opt/rocm"
_TRIPLE = "amdgcn-amd-amdhsa"
_TIMEOUT = 600
"""Seconds after which clang is given up on."""

COMMON = (
    "-O3",
    "-std=c++17",
    "-munsafe-fp-atomics",  # those of global memory are one instruction then
    "-fno-strict-aliasing",  # elements are accessed through wider types
    "-fno-unroll-loops",  # passes decide, and mark what is unrolled: a pipelined loop never is
)
"""Options that clang and hiprtc are both given."""
_DEVICE_ONLY = (
    "--offload-device-only",
    "-nogpulib",
    "-nogpuinc",
    "--no-gpu-bundle-output",
    "-fuse-cuid=none",  # else a symbol is named after a hash of the file's path
    "-fno-crash-diagnostics",
)


@dataclass(frozen=True)
class Clang:
    """A clang with a linker for code objects."""

    path: str
    version: str

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])

    def supports(self, chip: str) -> bool:
        return self.major >= _FIRST_WITH.get(chip, OLDEST)

    def __str__(self) -> str:
        return f"clang {self.version}"


@dataclass(frozen=True)
class Compiled:
    """The result of compiling one source."""

    code_object: bytes
    isa: str
    """Assembly; empty if the compiler does not print it."""
    log: str


def compile_source(
    source: str,
    chip: str,
    options: Sequence[str] = (),
    *,
    name: str = "kernel.hip",
    clang: Clang | None = None,
) -> Compiled:
    """The code object of `source` for ``gfx942`` and the like."""
    clang = clang or clang_for(chip)
    with TemporaryDirectory(prefix="tilewright-hip-") as directory:
        isa, log = _assembly(clang, source, chip, options, name, Path(directory))
        code_object = assemble(isa, chip, clang=clang)
    return Compiled(code_object, isa, log)


def assembly(
    source: str,
    chip: str,
    options: Sequence[str] = (),
    *,
    name: str = "kernel.hip",
    clang: Clang | None = None,
) -> str:
    """What `compile_source` assembles."""
    clang = clang or clang_for(chip)
    with TemporaryDirectory(prefix="tilewright-hip-") as directory:
        return _assembly(clang, source, chip, options, name, Path(directory))[0]


def _assembly(
    clang: Clang, source: str, chip: str, options: Sequence[str], name: str, directory: Path
) -> tuple[str, str]:
    (directory / name).write_text(source, encoding="utf-8")
    arguments = ["-x", "hip", f"--offload-arch={chip}", *_DEVICE_ONLY, *COMMON, *options]
    done = _run(clang, [*arguments, "-S", name, "-o", "-"], directory)
    if done.returncode != 0:
        message = f"{clang} failed to compile the source for {chip}"
        raise HipCompilerError(message, _shortened(done.stderr), source)
    return done.stdout, done.stderr


def assemble(isa: str, chip: str, *, clang: Clang | None = None) -> bytes:
    """The linked code object of assembly."""
    clang = clang or clang_for(chip)
    with TemporaryDirectory(prefix="tilewright-hip-") as directory:
        work = Path(directory)
        (work / "kernel.s").write_text(isa, encoding="utf-8")
        done = _run(
            clang,
            ["-x", "assembler", f"--target={_TRIPLE}", f"-mcpu={chip}", "kernel.s", "-o", "k.co"],
            work,
        )
        if done.returncode != 0:
            message = f"{clang} failed to assemble and link the code object for {chip}"
            raise HipCompilerError(message, _shortened(done.stderr), isa)
        return (work / "k.co").read_bytes()


def _run(
    clang: Clang, arguments: Sequence[str], directory: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [clang.path, *arguments],
        cwd=directory,
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT,
    )


_LONGEST_LOG = 4000


def _shortened(log: str) -> str:
    """The beginning of a log: when the back end dies, a dump of its stack follows the message."""
    head = log.split("Stack dump:", 1)[0].rstrip()
    return head if len(head) <= _LONGEST_LOG else f"{head[:_LONGEST_LOG]}\n..."


# -- where clang is --------------------------------------------------------------------------------


@cache
def clang_for(chip: str) -> Clang:
    """The first clang on this machine that supports `chip`."""
    found = list(installed())
    for each in found:
        if each.supports(chip):
            return each
    oldest = _FIRST_WITH.get(chip, OLDEST)
    named = os.environ.get(VARIABLE)
    if named and not found:
        raise HipCompilerMissing(
            f"{VARIABLE}={named} is not clang {OLDEST} or later with ld.lld beside it"
        )
    others = f", and {', '.join(map(str, found))} does not support {chip}" if found else ""
    raise HipCompilerMissing(
        f"no compiler for {chip} on this machine: there is no hiprtc (of ROCm) and no clang "
        f"{oldest} or later with its linker{others}: {_suggestion(oldest)}"
    )


def _suggestion(oldest: int) -> str:
    return f"on Debian and Ubuntu, apt install clang-{oldest} lld-{oldest}; or set {VARIABLE}"


@cache
def installed() -> tuple[Clang, ...]:
    """Every clang that can make code objects, the preferred one first."""
    found = (_clang(path) for path in dict.fromkeys(_candidates()))
    return tuple(each for each in found if each is not None and each.major >= OLDEST)


def _candidates() -> Iterator[str]:
    """Paths at which there may be one; a path that is named is the only one."""
    if named := os.environ.get(VARIABLE):
        yield shutil.which(named) or named
        return
    names = (*(f"clang-{release}" for release in range(OLDEST, _NEWEST + 1)), "clang")
    for name in names:
        if path := shutil.which(name):
            yield path
    rocm = Path(os.environ.get("ROCM_PATH") or _ROCM) / "llvm" / "bin" / "clang"
    if rocm.exists():
        yield str(rocm)


def _clang(path: str) -> Clang | None:
    """None if it does not run, or has no linker."""
    try:
        printed = _output(path, "--version")
        linker = _output(path, "-print-prog-name=ld.lld").strip()
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"clang version (\d+(?:\.\d+)*)", printed)
    # Without a linker clang prints its bare name.
    if version is None or shutil.which(linker) is None:
        return None
    return Clang(path, version[1])


def _output(path: str, argument: str) -> str:
    done = subprocess.run([path, argument], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout
