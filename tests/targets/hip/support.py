"""What tests of the HIP target share: whether clang is here, kernels written by hand."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tilewright.targets.hip.clang import OLDEST, clang_for, installed

CHIPS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
"""Those that clang 19 knows."""

needs_clang = pytest.mark.skipif(
    not installed(),
    reason=f"CLANG {OLDEST} AND LLD ARE NOT INSTALLED, HIP kernels were not compiled: "
    "run scripts/install_clang.sh",
)


def compile_for_host(source: Path, output: Path, options: Sequence[str]) -> None:
    """Compile C++ for this machine with the clang that compiles HIP: it has `__bf16`."""
    instructions = ["-mfma", "-mf16c"] if platform.machine() == "x86_64" else []
    command = [clang_for("gfx942").path, "-x", "c++", "-std=c++17", "-w", *instructions, *options]
    done = subprocess.run(
        [*command, str(source), "-o", str(output), "-lstdc++", "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:3000]


_GLOBAL = """\
#ifndef __global__
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#endif
"""

SCALE = (
    _GLOBAL
    + """
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256)))
void scale(float* __restrict__ y, const float* __restrict__ x, float a, int n) {
  const int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] = a * x[i];
}
"""
)

REVERSE = (
    _GLOBAL
    + """
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(128, 128)))
void reverse(float* __restrict__ y, const float* __restrict__ x) {
  __shared__ float tile[1024];
  const int t = __builtin_amdgcn_workitem_id_x();
  for (int i = 0; i < 8; ++i) tile[i * 128 + t] = x[i * 128 + t];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
  for (int i = 0; i < 8; ++i) y[i * 128 + t] = tile[1023 - i * 128 - t];
}
"""
)


def spilling(values: int) -> str:
    """A kernel that holds so many floats a lane at once, and may have 32 vector registers."""
    return (
        _GLOBAL
        + f"""
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64)))
__attribute__((amdgpu_num_vgpr(32)))
void spill(float* y, const float* x) {{
  const int t = __builtin_amdgcn_workitem_id_x();
  float held[{values}];
#pragma unroll
  for (int i = 0; i < {values}; ++i) held[i] = x[i * 64 + t];
  __asm volatile("" ::: "memory");
#pragma unroll
  for (int i = 0; i < {values}; ++i) y[i * 64 + t] = held[i] * held[{values} - 1 - i];
}}
"""
    )
