"""Runs the CUDA text of a kernel on the host: g++ compiles it, and every CUDA thread is a thread.

The executor of `targets/numpy/simt` runs the IR, and says nothing of the text that is made of it.
Here the text itself runs, as far as plain C++ goes: barriers and shuffles are made of barriers of
the host, atomic updates take a lock, asynchronous copies happen at once. Kernels with tensor cores
or the copy engine are refused (`NotOnHost`).
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tilewright.targets.cuda.emit.kernel import Source, emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import include_directories
from tilewright.targets.numpy.simt import compile_simt
from tilewright.targets.numpy.simt import launch as simt_launch
from tilewright.targets.numpy.simt.buffers import GlobalBuffer

PRELUDE = r"""
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#include <unistd.h>
#include <vector_types.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;
extern unsigned char smem[256 * 1024];

namespace host {
struct Warp {
  std::barrier<> meet{32};
  unsigned long long held[32];
};
std::unique_ptr<std::barrier<>> block;
std::vector<std::unique_ptr<Warp>> warps;
std::recursive_mutex lock;
inline unsigned number() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
template <typename T> T exchanged(T value, unsigned from) {
  Warp& warp = *warps[number() / 32];
  std::memcpy(&warp.held[number() % 32], &value, sizeof(T));
  warp.meet.arrive_and_wait();
  T found;
  std::memcpy(&found, &warp.held[from], sizeof(T));
  warp.meet.arrive_and_wait();
  return found;
}
inline unsigned shared_address(const void* of) {
  return static_cast<const unsigned char*>(of) - smem;
}
template <int bytes> void cp_async(unsigned to, const void* from) {
  std::memcpy(smem + to, from, bytes);
}
template <int bytes> void cp_async(unsigned to, const void* from, int valid) {
  std::memset(smem + to, 0, bytes);
  std::memcpy(smem + to, from, valid);
}
inline void cp_async_commit() {}
template <int pending> void cp_async_wait() {}
}  // namespace host

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
inline void __syncthreads() { host::block->arrive_and_wait(); }
inline void __syncwarp(unsigned = ~0u) { host::exchanged(0, 0); }
template <typename T> T __shfl_sync(unsigned, T value, int lane, int width = 32) {
  const int me = host::number() % 32;
  return host::exchanged(value, me / width * width + lane % width);
}
template <typename T> T __shfl_xor_sync(unsigned, T value, int mask, int width = 32) {
  const int me = host::number() % 32, other = me ^ mask;
  return host::exchanged(value, other / width == me / width ? other : me);
}
template <typename T> T __shfl_up_sync(unsigned, T value, unsigned by, int width = 32) {
  const int me = host::number() % 32, other = me - int(by);
  return host::exchanged(value, other >= me / width * width ? other : me);
}
template <typename T> T __shfl_down_sync(unsigned, T value, unsigned by, int width = 32) {
  const int me = host::number() % 32, other = me + int(by);
  return host::exchanged(value, other < me / width * width + width ? other : me);
}
#define UPDATE(name, made)                                    \
  template <typename T, typename U> T name(T* to, U given) {  \
    std::lock_guard guard(host::lock);                        \
    const T old = *to, value = T(given);                      \
    *to = made;                                               \
    return old;                                               \
  }
UPDATE(atomicAdd, T(old + value))
UPDATE(atomicMax, old < value ? value : old)
UPDATE(atomicMin, value < old ? value : old)
UPDATE(atomicExch, value)
UPDATE(atomicAnd, old & value)
UPDATE(atomicOr, old | value)
UPDATE(atomicXor, old ^ value)
template <typename T> T atomicCAS(T* to, T expected, T value) {
  std::lock_guard guard(host::lock);
  const T old = *to;
  if (std::memcmp(&old, &expected, sizeof(T)) == 0) *to = value;
  return old;
}
template <typename To, typename From> To host_bits(From from) {
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}
inline float __uint_as_float(unsigned x) { return host_bits<float>(x); }
inline float __int_as_float(int x) { return host_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return host_bits<unsigned>(x); }
inline int __float_as_int(float x) { return host_bits<int>(x); }
inline double __longlong_as_double(long long x) { return host_bits<double>(x); }
inline long long __double_as_longlong(double x) { return host_bits<long long>(x); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline size_t __cvta_generic_to_shared(const void*) { return 0; }
template <typename T> T __ldg(const T* at) { return *at; }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return unsigned(((static_cast<unsigned long long>(high) << 32) | low) >> (by & 31));
}
template <typename A, typename B> std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<C>) return std::fmin(C(a), C(b));
  else return C(a) < C(b) ? C(a) : C(b);
}
template <typename A, typename B> std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<C>) return std::fmax(C(a), C(b));
  else return C(a) < C(b) ? C(b) : C(a);
}

alignas(1024) unsigned char smem[256 * 1024];
// What is left of instructions of the GPU; whoever needs them is not run here.
#define asm
#define volatile(...)
"""

LAUNCH = r"""
#undef asm
#undef volatile
extern "C" void host_launch(void** given, const int* grid, int threads, int shared_bytes) {
  alarm(120);  // threads that wait for ever end the process
  for (int z = 0; z < grid[2]; ++z)
    for (int y = 0; y < grid[1]; ++y)
      for (int x = 0; x < grid[0]; ++x) {
        std::memset(smem, 0xA5, shared_bytes);
        host::block = std::make_unique<std::barrier<>>(threads);
        host::warps.clear();
        for (int warp = 0; warp * 32 < threads; ++warp)
          host::warps.push_back(std::make_unique<host::Warp>());
        std::vector<std::thread> running;
        for (int thread = 0; thread < threads; ++thread)
          running.emplace_back([=] {
            threadIdx = {unsigned(thread), 0, 0};
            blockIdx = {unsigned(x), unsigned(y), unsigned(z)};
            blockDim = dim3(threads, 1, 1);
            gridDim = dim3(grid[0], grid[1], grid[2]);
            KERNEL(ARGUMENTS);
          });
        for (std::thread& each : running) each.join();
      }
  alarm(0);
}
"""

WORDS = """
#pragma once
#define __device__
#define __host__
#define __global__
#define __shared__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __inline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __device_builtin__
#define __cudart_builtin__
#define __launch_bounds__(...)
#define CUDARTAPI
"""
"""In place of the compiler's own header, which its packages may leave out."""

ON_HOST = ("shared_address", "cp_async", "cp_async_commit", "cp_async_wait")
"""Functions of the header that are instructions of the GPU, and have another form here."""


class NotOnHost(Exception):
    """The kernel needs what only a GPU has."""


def compiled(source: Source, folder: Path) -> Any:
    """The kernel as a function of the host: pointers and numbers, the grid, threads, bytes."""
    at = source.text.index('extern "C" __global__')
    header, body = source.text[:at], source.text[at:]
    header = re.sub(r"^#include.*$", "", header, flags=re.MULTILINE)
    for name in ON_HOST:
        body = re.sub(rf"\btw::{name}\b", f"host::{name}", body)
    _refuse_instructions(header, body)
    signature = re.search(rf"{source.name}\((.*?)\)\s*\{{", body, re.DOTALL)
    assert signature is not None
    types = [each.strip().rsplit(" ", 1)[0] for each in signature[1].split(",") if each.strip()]
    arguments = ", ".join(_argument(number, type) for number, type in enumerate(types))
    launch = LAUNCH.replace("KERNEL", source.name).replace("ARGUMENTS", arguments)
    (folder / "crt").mkdir(exist_ok=True)
    for name in ("host_defines.h", "host_config.h"):
        (folder / "crt" / name).write_text(WORDS, encoding="utf-8")
    text, library = folder / f"{source.name}.cpp", folder / f"{source.name}.so"
    text.write_text("\n".join((PRELUDE, header, body, launch)), encoding="utf-8")
    command = ["g++", "-std=c++20", "-O0", "-w", "-shared", "-fPIC", "-pthread"]
    folders = [f"-I{each}" for each in (folder, *include_directories())]
    done = subprocess.run(
        [*command, *folders, str(text), "-o", str(library)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return ctypes.CDLL(str(library)).host_launch


def _refuse_instructions(header: str, body: str) -> None:
    """No kernel that uses a function of the header which is an instruction of the GPU."""
    for piece in re.split(r"(?m)\n(?=\S.*\(.*\{$)", header):
        found = re.search(r"\b(\w+)\(", piece)
        if found and "asm" in piece and re.search(rf"\btw::{found[1]}\b", body):
            raise NotOnHost(found[1])
    if "asm volatile" in body or "TensorMap" in body:
        raise NotOnHost("an instruction of the GPU")


def _argument(number: int, type: str) -> str:
    plain = type.replace("__restrict__", "").strip()
    if "*" in plain:
        return f"({plain})given[{number}]"
    return f"*({plain}*)given[{number}]"


def run_on_host(
    module: ModuleOp, arguments: Sequence[Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run a lowered module with the text of its kernels; arrays are changed in place."""
    sources = {function.sym_name.data: emit_kernel(function) for function in kernels_of(module)}
    kernels = {name: compiled(source, folder) for name, source in sources.items()}

    def launch(self: Any, kernel: Any, grid: Any, given: Sequence[Any], outside: Any = ()) -> None:
        kept = [_raw(value) for value in given]
        pointers = (ctypes.c_void_p * len(kept))(*(_address(each) for each in kept))
        sizes = (ctypes.c_int * 3)(*grid)
        call = kernels[kernel.op.sym_name.data]
        call(pointers, sizes, kernel.threads, kernel.shared_bytes)

    monkeypatch.setattr(simt_launch._Run, "_launch", launch)
    compile_simt(module).launch(arguments)


def _raw(value: Any) -> np.ndarray:
    if isinstance(value, GlobalBuffer):
        return value.data
    return np.asarray(value)


def _address(array: np.ndarray) -> int:
    return array.ctypes.data
