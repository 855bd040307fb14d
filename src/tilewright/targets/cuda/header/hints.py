"""Accesses with an L2 cache policy (PTX ISA, ``createpolicy``)."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.copies import by_rank
from tilewright.targets.cuda.header.function import Function

_LOADS = "cp.async.bulk.tensor.@rankd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
_REDUCTIONS = ("add", "min", "max", "and", "or", "xor")

POLICIES: Mapping[str, Function] = {
    "l2_evict_last": Function(
        """
// Part of the accesses stay in the L2 cache for long; the others are the first to go.
__device__ __forceinline__ long long l2_evict_last(float fraction) {
  long long policy;
  asm("createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %0, %1;"
      : "=l"(policy) : "f"(fraction));
  return policy;
}"""
    ),
    "l2_evict_first": Function(
        """
__device__ __forceinline__ long long l2_evict_first(float fraction) {
  long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, %1;" : "=l"(policy) : "f"(fraction));
  return policy;
}"""
    ),
}

ACCESSES: Mapping[str, Function] = {
    "load_hinted": Function(
        """
// Reads a few bytes of global memory.
template <int bytes>
__device__ __forceinline__ void load_hinted(void* to, const void* from, long long policy) {
  if constexpr (bytes == 1) {
    unsigned a;
    asm volatile("ld.global.L2::cache_hint.b8 %0, [%1], %2;"
                 : "=r"(a) : "l"(from), "l"(policy) : "memory");
    *reinterpret_cast<unsigned char*>(to) = a;
  } else if constexpr (bytes == 2) {
    unsigned short a;
    asm volatile("ld.global.L2::cache_hint.b16 %0, [%1], %2;"
                 : "=h"(a) : "l"(from), "l"(policy) : "memory");
    *reinterpret_cast<unsigned short*>(to) = a;
  } else if constexpr (bytes == 4) {
    unsigned a;
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;"
                 : "=r"(a) : "l"(from), "l"(policy) : "memory");
    *reinterpret_cast<unsigned*>(to) = a;
  } else if constexpr (bytes == 8) {
    uint2 a;
    asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                 : "=r"(a.x), "=r"(a.y) : "l"(from), "l"(policy) : "memory");
    *reinterpret_cast<uint2*>(to) = a;
  } else {
    uint4 a;
    asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w)
                 : "l"(from), "l"(policy) : "memory");
    *reinterpret_cast<uint4*>(to) = a;
  }
}

template <class T>
__device__ __forceinline__ T load_hinted(const T* from, long long policy) {
  alignas(16) T value;
  load_hinted<sizeof(T)>(&value, from, policy);
  return value;
}"""
    ),
    "store_hinted": Function(
        """
// Writes a few bytes of global memory.
template <int bytes>
__device__ __forceinline__ void store_hinted(void* to, const void* from, long long policy) {
  if constexpr (bytes == 1) {
    const unsigned a = *reinterpret_cast<const unsigned char*>(from);
    asm volatile("st.global.L2::cache_hint.b8 [%0], %1, %2;"
                 :: "l"(to), "r"(a), "l"(policy) : "memory");
  } else if constexpr (bytes == 2) {
    asm volatile("st.global.L2::cache_hint.b16 [%0], %1, %2;"
                 :: "l"(to), "h"(*reinterpret_cast<const unsigned short*>(from)), "l"(policy)
                 : "memory");
  } else if constexpr (bytes == 4) {
    asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;"
                 :: "l"(to), "r"(*reinterpret_cast<const unsigned*>(from)), "l"(policy)
                 : "memory");
  } else if constexpr (bytes == 8) {
    const uint2 a = *reinterpret_cast<const uint2*>(from);
    asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;"
                 :: "l"(to), "r"(a.x), "r"(a.y), "l"(policy) : "memory");
  } else {
    const uint4 a = *reinterpret_cast<const uint4*>(from);
    asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;"
                 :: "l"(to), "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(policy) : "memory");
  }
}

template <class T>
__device__ __forceinline__ void store_hinted(T* to, T value, long long policy) {
  alignas(16) T held = value;
  store_hinted<sizeof(T)>(to, &held, policy);
}"""
    ),
    "cp_async_hinted": Function(
        """
// Starts the copy of a few bytes to shared memory, with zeros from byte `valid` on.
template <int bytes>
__device__ __forceinline__ void cp_async_hinted(unsigned to, const void* from, int valid,
                                                long long policy) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
                 :: "r"(to), "l"(from), "r"(valid), "l"(policy) : "memory");
  else
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3, %4;"
                 :: "r"(to), "l"(from), "n"(bytes), "r"(valid), "l"(policy)
                 : "memory");
}""",
        ("shared_address",),
    ),
    "bulk_load_hinted": Function(
        """
__device__ __forceinline__ void bulk_load_hinted(void* to, const void* from, unsigned bytes,
                                                 Barrier* barrier, long long policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;"
      :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "bulk_store_hinted": Function(
        """
__device__ __forceinline__ void bulk_store_hinted(void* to, const void* from, unsigned bytes,
                                                  long long policy) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;"
               :: "l"(to), "r"(shared_address(from)), "r"(bytes), "l"(policy) : "memory");
}""",
        ("shared_address",),
    ),
    "tma_load_hinted": Function(
        by_rank(
            f"""__device__ __forceinline__ void tma_load_hinted(void* to, const TensorMap* map,
                                                Barrier* barrier, long long policy,
                                                @parameters) {{
  asm volatile(
      "{_LOADS}"
      ".L2::cache_hint [%0], [%1, {{@from4}}], [%2], %3;"
      :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)), "l"(policy), @operands
      : "memory");
}}"""
        ),
        ("Barrier", "shared_address", "tensor_map"),
    ),
    "tma_load_multicast_hinted": Function(
        by_rank(
            f"""__device__ __forceinline__ void tma_load_multicast_hinted(
    void* to, const TensorMap* map, Barrier* barrier, unsigned short blocks, long long policy,
    @parameters) {{
  asm volatile(
      "{_LOADS}"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {{@from5}}], [%2], %3, %4;"
      :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)), "h"(blocks),
         "l"(policy), @operands : "memory");
}}"""
        ),
        ("Barrier", "shared_address", "tensor_map"),
    ),
    "tma_store_hinted": Function(
        by_rank(
            """__device__ __forceinline__ void tma_store_hinted(
    const TensorMap* map, const void* from, long long policy, @parameters) {
  asm volatile("cp.async.bulk.tensor.@rankd.global.shared::cta.bulk_group.L2::cache_hint"
               " [%0, {@from3}], [%1], %2;"
               :: "l"(map), "r"(shared_address(from)), "l"(policy), @operands : "memory");
}"""
        ),
        ("shared_address", "tensor_map"),
    ),
    **{
        f"tma_reduce_{kind}_hinted": Function(
            by_rank(
                f"""__device__ __forceinline__ void tma_reduce_{kind}_hinted(
    const TensorMap* map, const void* from, long long policy, @parameters) {{
  asm volatile("cp.reduce.async.bulk.tensor.@rankd.global.shared::cta.{kind}.tile.bulk_group"
               ".L2::cache_hint [%0, {{@from3}}], [%1], %2;"
               :: "l"(map), "r"(shared_address(from)), "l"(policy), @operands : "memory");
}}"""
            ),
            ("shared_address", "tensor_map"),
        )
        for kind in _REDUCTIONS
    },
}


def _thread_again(axis: str) -> Function:
    return Function(
        f"""
// The index of the thread, modulo `count` unless it is 0, from which the compiler has not computed
// anything yet.
__device__ __forceinline__ int thread_again_{axis}(unsigned count) {{
  int index = int(count == 0 ? threadIdx.{axis} : threadIdx.{axis} % count);
  asm volatile("" : "+r"(index));
  return index;
}}"""
    )


INDICES: Mapping[str, Function] = {f"thread_again_{each}": _thread_again(each) for each in "xyz"}
