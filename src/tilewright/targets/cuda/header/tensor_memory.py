"""Tensor memory and the MMAs into it (sm_100a), one function an instruction.

Instructions of many registers are generated for the counts that a kernel uses.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.copies import by_rank
from tilewright.targets.cuda.header.function import Function, asm

_PAIR = ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2"


def _for_groups(make: str, needs: tuple[str, ...] = ()) -> dict[str, Function]:
    """A function for one CTA and one for a pair; `@group` is their number."""
    found: dict[str, Function] = {}
    for group in (1, 2):
        text = make.replace("@group", str(group)).replace("@suffix", "_pair" if group == 2 else "")
        name = text.split("void ", 1)[1].split("(", 1)[0]
        found[name] = Function(text, needs)
    return found


TENSOR_MEMORY: Mapping[str, Function] = {
    **_for_groups(
        """
// Allocates columns of tensor memory, and writes their address to shared memory; by a warp.
__device__ __forceinline__ void tensor_alloc@suffix(void* slot, unsigned columns) {
  asm volatile("tcgen05.alloc.cta_group::@group.sync.aligned.shared::cta.b32 [%0], %1;"
               :: "r"(shared_address(slot)), "r"(columns) : "memory");
}""",
        ("shared_address",),
    ),
    **_for_groups(
        """
__device__ __forceinline__ void tensor_dealloc@suffix(unsigned address, unsigned columns) {
  asm volatile("tcgen05.dealloc.cta_group::@group.sync.aligned.b32 %0, %1;"
               :: "r"(address), "r"(columns) : "memory");
}"""
    ),
    **_for_groups(
        """
__device__ __forceinline__ void tensor_relinquish@suffix() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::@group.sync.aligned;" ::: "memory");
}"""
    ),
    **_for_groups(
        """
// Arrives at the barrier once all MMAs and copies of this thread are complete.
__device__ __forceinline__ void tensor_commit@suffix(Barrier* barrier) {
  asm volatile("tcgen05.commit.cta_group::@group.mbarrier::arrive::one.shared::cluster.b64 [%0];"
               :: "r"(shared_address(barrier)) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    **_for_groups(
        """
// The same, at the barriers of several blocks of the cluster.
__device__ __forceinline__ void tensor_commit_multicast@suffix(Barrier* barrier,
                                                               unsigned short blocks) {
  asm volatile("tcgen05.commit.cta_group::@group.mbarrier::arrive::one.shared::cluster"
               ".multicast::cluster.b64 [%0], %1;"
               :: "r"(shared_address(barrier)), "h"(blocks) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "tensor_wait_load": asm("tensor_wait_load()", "tcgen05.wait::ld.sync.aligned;"),
    "tensor_wait_store": asm("tensor_wait_store()", "tcgen05.wait::st.sync.aligned;"),
    "tensor_fence_before": asm("tensor_fence_before()", "tcgen05.fence::before_thread_sync;"),
    "tensor_fence_after": asm("tensor_fence_after()", "tcgen05.fence::after_thread_sync;"),
    "tensor_settle": Function(
        """
// Operand fence: no read of registers that a load writes moves before the wait for it.
template <int count>
__device__ __forceinline__ void tensor_settle(void* registers) {
  unsigned* const words = reinterpret_cast<unsigned*>(registers);
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(words[i]) :: "memory");
}"""
    ),
    "tensor_descriptor": Function(
        """
// The descriptor of a tcgen05 operand: its address and layout in shared memory.
template <int swizzle, int leading, int stride>
__device__ __forceinline__ unsigned long long tensor_descriptor(const void* start) {
  constexpr unsigned long long pattern =
      swizzle == 128 ? 2 : swizzle == 64 ? 4 : swizzle == 32 ? 6 : 0;
  constexpr unsigned long long shape = (pattern << 61) | (1ull << 46)
      | (static_cast<unsigned long long>(stride >> 4) << 32)
      | (static_cast<unsigned long long>(leading >> 4) << 16);
  return shape | ((shared_address(start) & 0x3ffff) >> 4);
}""",
        ("shared_address",),
    ),
    "clc_try_cancel": Function(
        """
// Requests the work of a cluster that has not been launched.
__device__ __forceinline__ void clc_try_cancel(void* response, Barrier* barrier) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
               ".b128 [%0], [%1];"
               :: "r"(shared_address(response)), "r"(shared_address(barrier)) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "clc_try_cancel_multicast": Function(
        """
// The same; all blocks of the cluster get the response.
__device__ __forceinline__ void clc_try_cancel_multicast(void* response, Barrier* barrier) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
               ".multicast::cluster::all.b128 [%0], [%1];"
               :: "r"(shared_address(response)), "r"(shared_address(barrier)) : "memory");
}""",
        ("Barrier", "shared_address"),
    ),
    "clc_query": Function(
        """
// Whether a launch was cancelled, and its first block; the next response may overwrite this one.
__device__ __forceinline__ int4 clc_query(const void* response) {
  int4 found = make_int4(0, 0, 0, 0);
  asm volatile(
      "{\\n"
      ".reg .b128 response;\\n"
      ".reg .pred taken;\\n"
      "ld.shared.b128 response, [%4];\\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 taken, response;\\n"
      "selp.b32 %0, 1, 0, taken;\\n"
      "@taken clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128"
      " {%1, %2, %3, _}, response;\\n"
      "fence.proxy.async.shared::cta;\\n"
      "}"
      : "+r"(found.x), "+r"(found.y), "+r"(found.z), "+r"(found.w)
      : "r"(shared_address(response)) : "memory");
  return found;
}""",
        ("shared_address",),
    ),
    "tma_load_pair": Function(
        by_rank(
            f"""// Reports its bytes to the barrier of the pair's leading block.
__device__ __forceinline__ void tma_load_pair(void* to, const TensorMap* map, Barrier* barrier,
                                              @parameters) {{
  asm volatile(
      "cp.async.bulk.tensor.@rankd{_PAIR}"
      " [%0], [%1, {{@from3}}], [%2];"
      :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier) & 0xfeffffff), @operands
      : "memory");
}}"""
        ),
        ("Barrier", "shared_address", "tensor_map"),
    ),
    "tma_load_pair_hinted": Function(
        by_rank(
            f"""__device__ __forceinline__ void tma_load_pair_hinted(
    void* to, const TensorMap* map, Barrier* barrier, long long policy, @parameters) {{
  asm volatile(
      "cp.async.bulk.tensor.@rankd{_PAIR}"
      ".L2::cache_hint [%0], [%1, {{@from4}}], [%2], %3;"
      :: "r"(shared_address(to)), "l"(map), "r"(shared_address(barrier) & 0xfeffffff), "l"(policy),
         @operands : "memory");
}}"""
        ),
        ("Barrier", "shared_address", "tensor_map"),
    ),
}


def copy_function(shape: str, group: int) -> tuple[str, str]:
    """A copy from shared to tensor memory: the name of its function, and its text."""
    name = f"tensor_copy_{shape}{'_pair' if group == 2 else ''}"
    qualifier = ".warpx4" if shape == "32x128b" else ""
    return (
        name,
        f"""
__device__ __forceinline__ void {name}(unsigned to, unsigned long long from) {{
  asm volatile("tcgen05.cp.cta_group::{group}.{shape}{qualifier} [%0], %1;"
               :: "r"(to), "l"(from) : "memory");
}}""",
    )


def _rows(items: list[str]) -> str:
    """Operands of an asm statement, eight a line."""
    return ",\n        ".join(", ".join(items[i : i + 8]) for i in range(0, len(items), 8))


def load_function(shape: str, repeats: int, registers: int, *, pack16: bool) -> tuple[str, str]:
    """A load of registers from tensor memory: the name of its function, and its text."""
    name = f"tensor_load_{shape}_x{repeats}{'_pack16' if pack16 else ''}"
    packed = ".pack::16b" if pack16 else ""
    listed = ", ".join(f"%{index}" for index in range(registers))
    outputs = _rows([f'"=r"(words[{index}])' for index in range(registers)])
    return (
        name,
        f"""
__device__ __forceinline__ void {name}(void* to, unsigned address) {{
  unsigned* const words = reinterpret_cast<unsigned*>(to);
  asm volatile(
      "tcgen05.ld.sync.aligned.{shape}.x{repeats}{packed}.b32"
      " {{{listed}}}, [%{registers}];"
      : {outputs}
      : "r"(address));
}}""",
    )


def store_function(shape: str, repeats: int, registers: int, *, unpack16: bool) -> tuple[str, str]:
    """A store of registers to tensor memory: the name of its function, and its text."""
    name = f"tensor_store_{shape}_x{repeats}{'_unpack16' if unpack16 else ''}"
    unpacked = ".unpack::16b" if unpack16 else ""
    listed = ", ".join(f"%{index + 1}" for index in range(registers))
    inputs = _rows([f'"r"(words[{index}])' for index in range(registers)])
    return (
        name,
        f"""
__device__ __forceinline__ void {name}(unsigned address, const void* from) {{
  const unsigned* const words = reinterpret_cast<const unsigned*>(from);
  asm volatile(
      "tcgen05.st.sync.aligned.{shape}.x{repeats}{unpacked}.b32"
      " [%0], {{{listed}}};"
      :: "r"(address),
        {inputs}
      : "memory");
}}""",
    )


def mma_function(kind: str, group: int, *, in_tensor_memory: bool, scaled: bool) -> tuple[str, str]:
    """An MMA into tensor memory: the name of its function, and its text.

    Shape and types are in the instruction descriptor, a value.
    """
    name = f"tensor_mma_{kind}{'_ts' if in_tensor_memory else ''}{'_pair' if group == 2 else ''}"
    a_type, letter = ("unsigned", "r") if in_tensor_memory else ("unsigned long long", "l")
    a = "[%1]" if in_tensor_memory else "%1"
    qualifier = ".block_scale.scale_vec::1X" if scaled else ""
    scales = ", [%5], [%6]" if scaled else ""
    parameters = ", unsigned a_scales, unsigned b_scales" if scaled else ""
    inputs = ', "r"(a_scales), "r"(b_scales)' if scaled else ""
    return (
        name,
        f"""
// d = a @ b, plus what d was if `keeps`; one thread starts it and goes on.
__device__ __forceinline__ void {name}(unsigned d, {a_type} a, unsigned long long b,
                                       unsigned instruction, bool keeps{parameters}) {{
  asm volatile(
      "{{\\n"
      ".reg .pred keeps;\\n"
      "setp.ne.b32 keeps, %4, 0;\\n"
      "tcgen05.mma.cta_group::{group}.kind::{kind}{qualifier} [%0], {a}, %2, %3{scales}, keeps;\\n"
      "}}"
      :: "r"(d), "{letter}"(a), "l"(b), "r"(instruction), "r"(static_cast<int>(keeps)){inputs}
      : "memory");
}}""",
    )
