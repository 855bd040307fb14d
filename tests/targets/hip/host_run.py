"""Runs the HIP text of a kernel on the host: clang compiles it, and every lane is a fiber.

The text runs with its own header: only clang's builtins for AMD's machine have another form
(``host_machine.h``), matrix instructions included. So codes of DPP moves, layouts of operands and
conversions of the header are tried here too. Direct copies end at once, fences are nothing: the
executor of `targets/numpy/simt` looks for what is missing there.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.targets.hip.support import compile_for_host
from tilewright.dialects.func import FuncOp
from tilewright.layouts.hardware.amd_chips import Chip, MatrixInstruction
from tilewright.targets.cxx.kernel import Source
from tilewright.targets.hip.emit.kernel import emit_kernel
from tilewright.targets.numpy.simt import compile_simt
from tilewright.targets.numpy.simt import launch as simt_launch
from tilewright.targets.numpy.simt.buffers import GlobalBuffer

MACHINE = Path(__file__).with_name("host_machine.h")

LAUNCH = r"""
extern "C" const char* host_launch(void** given, const int* grid, int threads,
                                   unsigned long long seed) {
  host::threads = threads;
  host::seed = seed;
  host::fault = nullptr;
  for (int axis = 0; axis < 3; ++axis) host::grid[axis] = grid[axis];
  for (int z = 0; z < grid[2]; ++z)
    for (int y = 0; y < grid[1]; ++y)
      for (int x = 0; x < grid[0]; ++x) {
        host::block_index[0] = x, host::block_index[1] = y, host::block_index[2] = z;
        auto body = [=] { KERNEL(ARGUMENTS); };
        if (const char* fault = host::run_block(body)) return fault;
      }
  return nullptr;
}
"""

_ELEMENTS: Mapping[str, str] = {
    "f16": "F16",
    "bf16": "BF16",
    "f32": "F32",
    "xf32": "XF32",
    "i8": "I8",
    "f8E4M3FN": "E4M3",
    "f8E5M2": "E5M2",
    "f8E4M3FNUZ": "E4M3FNUZ",
    "f8E5M2FNUZ": "E5M2FNUZ",
}


class HostFault(Exception):
    """The run ended in a fault: a trap, a deadlock, what the machine does not have."""


def _mma(instruction: MatrixInstruction, first: str, second: str) -> str:
    is_wmma = "true" if instruction.kind == "wmma" else "false"
    return (
        f"host::matrix<{is_wmma}, {instruction.m}, {instruction.k}>"
        f'("{instruction.name}", a, b, c, {first}, {second})'
    )


def _builtin(instruction: MatrixInstruction) -> str:
    """The builtin of a matrix instruction, as the host does it."""
    first, second = (f"host::{_ELEMENTS[each]}" for each in (instruction.a, instruction.b))
    head = (
        f"template <typename A, typename B, typename C>\nC __builtin_amdgcn_{instruction.builtin}"
    )
    if instruction.kind == "mfma":
        return f"{head}(A a, B b, C c, int, int, int) {{\n  return {_mma(instruction, first, second)};\n}}"
    if "iu8" in instruction.builtin:
        signs = [f"{each} ? host::I8 : host::U8" for each in ("signed_a", "signed_b")]
        return (
            f"{head}(bool signed_a, A a, bool signed_b, B b, C c, bool) {{\n"
            f"  return {_mma(instruction, *signs)};\n}}"
        )
    return f"{head}(A a, B b, C c) {{\n  return {_mma(instruction, first, second)};\n}}"


def prelude(chip: Chip) -> str:
    """The machine of a chip, before the text."""
    lines = [
        f"#define WAVE {chip.wave}",
        f"#define GENERATION {chip.generation}",
        f"#define FNUZ {'true' if chip.fp8 == 'fnuz' else 'false'}",
        f'#include "{MACHINE}"',
    ]
    lines += [_builtin(each) for each in chip.instructions if "." not in each.builtin]
    return "\n".join(lines)


_INTRINSIC = re.compile(
    r"__device__ (\w+) (\w+)_builtin\((\w+), (\w+), (\w+), [^)]*\)\s+__asm\(\"llvm[^\"]*\"\);"
)
_COPY = re.compile(r"__device__ void buffer_load_lds\([^)]*\)\s+__asm\(\"llvm[^\"]*\"\);")
_SHARED = re.compile(r"(__shared__ [^;\n]*?\b(\w+)\[\d+\];)")


def host_text(text: str, chip: Chip) -> str:
    """A text for the device, as the host takes it: assembly and declared intrinsics replaced."""
    by_name = {each.name: each for each in chip.instructions}

    def intrinsic(match: re.Match[str]) -> str:
        result, name, a, b, c = match.groups()
        instruction = by_name[name]
        elements = [f"host::{_ELEMENTS[each]}" for each in (instruction.a, instruction.b)]
        # Some take three integers after the operands, some six.
        return (
            f"template <typename... Rest> {result} {name}_builtin({a} a, {b} b, {c} c, Rest...) {{\n"
            f"  return {_mma(instruction, *elements)};\n}}"
        )

    text = _INTRINSIC.sub(intrinsic, text)
    text = _COPY.sub(
        "inline void buffer_load_lds(__amdgpu_buffer_rsrc_t buffer, void* to, unsigned bytes,\n"
        "                            int offset, int, int, int) {\n"
        "  host::load_lds(buffer, to, bytes, offset);\n}",
        text,
    )
    text = re.sub(r"\basm( volatile)?\(((?:[^()]|\([^()]*\))*)\)", _assembly, text)
    return _SHARED.sub(r"\1 host::poison(\2, sizeof(\2));", text)


def _assembly(match: re.Match[str]) -> str:
    instructions = re.match(r'\s*("(?:[^"\\]|\\.)*")', match[2])
    assert instructions is not None, match[0]
    return f"host::assembly({instructions[1]})"


def library(text: str, directory: Path, name: str = "kernel", level: str = "-O1") -> ctypes.CDLL:
    """A text of the host, compiled and loaded."""
    source, output = directory / f"{name}.cpp", directory / f"{name}.so"
    source.write_text(text, encoding="utf-8")
    options = [level, "-shared", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off"]
    compile_for_host(source, output, [*options, "-ftrivial-auto-var-init=pattern"])
    return ctypes.CDLL(str(output))


def compiled(source: Source, chip: Chip, directory: Path, name: str) -> Any:
    """The kernel as a function of the host: pointers and numbers, the grid, threads, a seed."""
    text = host_text(source.text, chip)
    signature = re.search(rf"\bvoid {source.name}\((.*?)\)\s*\{{", text, re.DOTALL)
    assert signature is not None
    types = [each.strip().rsplit(" ", 1)[0] for each in signature[1].split(",") if each.strip()]
    arguments = ", ".join(_argument(index, type) for index, type in enumerate(types))
    launch = LAUNCH.replace("KERNEL", source.name).replace("ARGUMENTS", arguments)
    loaded = library("\n".join((prelude(chip), text, launch)), directory, name)
    loaded.host_launch.restype = ctypes.c_char_p
    return loaded.host_launch


def _argument(index: int, type: str) -> str:
    plain = type.replace("__restrict__", "").strip()
    if "*" in plain:
        return f"({plain})given[{index}]"
    return f"*({plain}*)given[{index}]"


def launch_on_host(
    chip: Chip,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int = 1,
    change: Callable[[str], str] | None = None,
) -> None:
    """Make the thread-level executor run the text of kernels in place of their IR.

    `change` plants a fault in the text.
    """
    kernels: dict[FuncOp, Any] = {}

    def launch(self: Any, kernel: Any, grid: Any, given: Sequence[Any], outside: Any = ()) -> None:
        if kernel.op not in kernels:
            source = emit_kernel(kernel.op, chip)
            if change is not None:
                source = replace(source, text=change(source.text))
            name = f"{len(kernels)}-{source.name}"  # a library that is loaded is not overwritten
            kernels[kernel.op] = compiled(source, chip, directory, name)
        values = [
            each.data if isinstance(each, GlobalBuffer) else np.asarray(each) for each in given
        ]
        pointers = (ctypes.c_void_p * len(values))(*(each.ctypes.data for each in values))
        sizes = (ctypes.c_int * 3)(*grid)
        fault = kernels[kernel.op](pointers, sizes, kernel.threads, ctypes.c_ulonglong(seed))
        if fault is not None:
            raise HostFault(fault.decode())

    monkeypatch.setattr(f"{simt_launch.__name__}._Run._launch", launch)


def run_on_host(
    module: ModuleOp,
    arguments: Sequence[Any],
    chip: Chip,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int = 1,
    change: Callable[[str], str] | None = None,
) -> None:
    """Run a lowered module with the text of its kernels; arrays are changed in place."""
    launch_on_host(chip, directory, monkeypatch, seed, change)
    compile_simt(module).launch(arguments)
