"""Code objects for gfx950, which clang 19 does not support: through the LLVM that Triton brings.

clang compiles the source to LLVM IR as for gfx942; there the name of the processor is exchanged and
its features are removed, and Triton's LLVM makes assembly and a code object of it. An oracle of
tests: nothing outside of them needs Triton for AMD.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tilewright.targets.hip.clang import COMMON, Compiled, clang_for, installed

CHIP = "gfx950"
_LIKE = "gfx942"
_TRIPLE = "amdgcn-amd-amdhsa"

needs_triton_for_amd = pytest.mark.skipif(
    find_spec("triton") is None or not installed(),
    reason="TRITON OR CLANG 19 IS NOT INSTALLED, HIP kernels were not compiled for gfx950",
)


def compile_source(source: str, options: Sequence[str] = ()) -> Compiled:
    """The code object and the assembly of `source` for gfx950."""
    from triton._C.libtriton import amd, llvm  # pyright: ignore[reportMissingImports]

    llvm.init_targets()
    ir = _llvm_ir(source, options)
    isa: str = llvm.translate_to_asm(ir, _TRIPLE, CHIP, "", [], False, False, False)
    return Compiled(_linked(amd, isa), isa, "")


def _linked(amd: Any, isa: str) -> bytes:
    with TemporaryDirectory() as directory:
        made, linked = Path(directory) / "k.o", Path(directory) / "k.hsaco"
        made.write_bytes(amd.assemble_amdgcn(isa, _TRIPLE, CHIP, ""))
        amd.link_hsaco(str(made), str(linked))
        return linked.read_bytes()


def _llvm_ir(source: str, options: Sequence[str]) -> str:
    """LLVM IR for gfx950."""
    arguments = ["-x", "hip", f"--offload-arch={_LIKE}", "--offload-device-only", "-nogpulib"]
    arguments += ["-nogpuinc", "--no-gpu-bundle-output", "-fuse-cuid=none", *COMMON, *options]
    done = subprocess.run(
        [clang_for(_LIKE).path, *arguments, "-S", "-emit-llvm", "-", "-o", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = done.stdout.replace(f'"target-cpu"="{_LIKE}"', f'"target-cpu"="{CHIP}"')
    return _wide_buffers(re.sub(r'"target-features"="[^"]*"', "", found))


_RSRC = re.compile(
    r"^(?P<head>\s*%\S+ = .*@llvm\.amdgcn\.make\.buffer\.rsrc\.\S+?\(ptr[^,]*, i16 [^,]+, )"
    r"i32 (?P<bytes>[^,]+)(?P<rest>, i32 .*)$",
    re.M,
)
_RSRC_DECLARATION = re.compile(
    r"^(declare .*@llvm\.amdgcn\.make\.buffer\.rsrc\.\S+?\(ptr[^,]*, i16[^,]*, )i32", re.M
)


def _wide_buffers(ir: str) -> str:
    """Sizes of buffers as 64-bit integers, as newer releases of LLVM take them."""
    count = 0

    def widened(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        size = found["bytes"].strip()
        name = f"%tw_bytes_{count}"
        wide = f"  {name} = zext i32 {size} to i64\n"
        return f"{wide}{found['head']}i64 {name}{found['rest']}"

    return _RSRC_DECLARATION.sub(r"\1i64", _RSRC.sub(widened, ir))
