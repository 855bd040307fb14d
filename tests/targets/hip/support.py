"""What tests of the HIP target share: whether clang is here, kernels written by hand."""

from __future__ import annotations

import pytest

from tilewright.targets.hip.clang import OLDEST, installed

CHIPS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
"""Those that clang 19 knows."""

needs_clang = pytest.mark.skipif(
    not installed(),
    reason=f"CLANG {OLDEST} AND LLD ARE NOT INSTALLED, HIP kernels were not compiled: "
    "run scripts/install_clang.sh",
)

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
