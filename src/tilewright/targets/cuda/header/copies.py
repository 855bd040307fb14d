"""Copies that go on by themselves: by threads, of runs of bytes, of tiles of tensors."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.function import Function, asm

COPIES: Mapping[str, Function] = {
    "load_unaligned": Function(
        """
// Reads 16 bytes from any address: the one or two aligned units that have them, shifted.
__device__ __forceinline__ void load_unaligned(void* to, const void* from) {
  const unsigned skip = static_cast<unsigned>(reinterpret_cast<unsigned long long>(from)) & 15u;
  const uint4* unit =
      reinterpret_cast<const uint4*>(static_cast<const unsigned char*>(from) - skip);
  const uint4 a = unit[0], b = unit[skip != 0];
  const bool two = skip & 8u, one = skip & 4u;
  const unsigned c0 = two ? a.z : a.x, c1 = two ? a.w : a.y, c2 = two ? b.x : a.z;
  const unsigned c3 = two ? b.y : a.w, c4 = two ? b.z : b.x, c5 = two ? b.w : b.y;
  const unsigned d0 = one ? c1 : c0, d1 = one ? c2 : c1, d2 = one ? c3 : c2;
  const unsigned d3 = one ? c4 : c3, d4 = one ? c5 : c4, bits = (skip & 3u) * 8u;
  *reinterpret_cast<uint4*>(to) =
      make_uint4(__funnelshift_r(d0, d1, bits), __funnelshift_r(d1, d2, bits),
                 __funnelshift_r(d2, d3, bits), __funnelshift_r(d3, d4, bits));
}"""
    ),
    "cp_async": Function(
        """
// Starts the copy of a few bytes to shared memory. Its address has 32 bits: of a pointer, the
// compiler would add offsets of 64 bits first, and then no part of the sum is in the instruction.
// 16 bytes at once need not pass the L1 cache.
template <int bytes>
__device__ __forceinline__ void cp_async(unsigned to, const void* from) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :: "r"(to), "l"(from), "n"(bytes) : "memory");
}

// As above, with zeros from byte `valid` on.
template <int bytes>
__device__ __forceinline__ void cp_async(unsigned to, const void* from, int valid) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(to), "l"(from), "n"(bytes), "r"(valid) : "memory");
}""",
        ("shared_address",),
    ),
    "cp_async_commit": asm("cp_async_commit()", "cp.async.commit_group;"),
    "cp_async_wait": Function(
        """
template <int pending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}"""
    ),
    "bulk_commit": asm("bulk_commit()", "cp.async.bulk.commit_group;"),
    "bulk_wait": Function(
        """
template <int pending>
__device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" :: "n"(pending) : "memory");
}"""
    ),
    "bulk_wait_read": Function(
        """
// Until the stores have read shared memory, which may then be written again.
template <int pending>
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(pending) : "memory");
}"""
    ),
    "bulk_load": Function(
        """
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned bytes,
                                          Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "bulk_store": Function(
        """
__device__ __forceinline__ void bulk_store(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :: "l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}""",
        ("shared_address",),
    ),
    "prefetch_map": Function(
        """
__device__ __forceinline__ void prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}""",
        ("tensor_map",),
    ),
}


def by_rank(make: str) -> str:
    """One overload for each number of coordinates, which are operands from some number on."""
    texts: list[str] = []
    for rank in range(1, 6):
        names = [f"c{axis}" for axis in range(rank)]
        texts.append(
            make.replace("@rank", str(rank))
            .replace("@parameters", ", ".join(f"int {name}" for name in names))
            .replace("@operands", ", ".join(f'"r"({name})' for name in names))
        )
        for first in range(2, 6):
            coordinates = ", ".join(f"%{first + axis}" for axis in range(rank))
            texts[-1] = texts[-1].replace(f"@from{first}", coordinates)
    return "\n\n".join(texts)


TILES: Mapping[str, Function] = {
    "tma_load": Function(
        by_rank(
            """__device__ __forceinline__ void tma_load(void* to, const TensorMap* map,
                                         Barrier* barrier, @parameters) {
  asm volatile(
      "cp.async.bulk.tensor.@rankd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {@from3}], [%2];"
      :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)), @operands : "memory");
}"""
        ),
        ("Barrier", "shared_address", "tensor_map"),
    ),
    "tma_load_multicast": Function(
        by_rank(
            """__device__ __forceinline__ void tma_load_multicast(void* to, const TensorMap* map,
                                                   Barrier* barrier, unsigned short blocks,
                                                   @parameters) {
  asm volatile(
      "cp.async.bulk.tensor.@rankd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {@from4}], [%2], %3;"
      :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier)), "h"(blocks), @operands
      : "memory");
}"""
        ),
        ("Barrier", "shared_address", "tensor_map"),
    ),
    "tma_store": Function(
        by_rank(
            """__device__ __forceinline__ void tma_store(const TensorMap* map, const void* from,
                                          @parameters) {
  asm volatile("cp.async.bulk.tensor.@rankd.global.shared::cta.bulk_group [%0, {@from2}], [%1];"
               :: "l"(map), "r"(shared_address(from)), @operands : "memory");
}"""
        ),
        ("shared_address", "tensor_map"),
    ),
    **{
        f"tma_reduce_{kind}": Function(
            by_rank(
                f"""__device__ __forceinline__ void tma_reduce_{kind}(const TensorMap* map,
                                               const void* from, @parameters) {{
  asm volatile("cp.reduce.async.bulk.tensor.@rankd.global.shared::cta.{kind}.tile.bulk_group"
               " [%0, {{@from2}}], [%1];"
               :: "l"(map), "r"(shared_address(from)), @operands : "memory");
}}"""
            ),
            ("shared_address", "tensor_map"),
        )
        for kind in ("add", "min", "max", "and", "or", "xor")
    },
}
