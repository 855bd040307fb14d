"""What tensor cores need besides the MMAs: moves of matrices, descriptors, waits."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.function import Function, asm


def _matrix_moves() -> dict[str, Function]:
    found: dict[str, Function] = {}
    for count in (1, 2, 4):
        for suffix, qualifier in (("", ""), ("_transposed", ".trans")):
            registers = ", ".join(f"%{index}" for index in range(count))
            outputs = ", ".join(f'"=r"(words[{index}])' for index in range(count))
            inputs = ", ".join(f'"r"(words[{index}])' for index in range(count))
            stored = ", ".join(f"%{index + 1}" for index in range(count))
            load, store = f"ldmatrix_x{count}{suffix}", f"stmatrix_x{count}{suffix}"
            found[load] = Function(
                f"""
__device__ __forceinline__ void {load}(void* to, const void* row) {{
  unsigned* const words = reinterpret_cast<unsigned*>(to);
  asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{qualifier}.shared.b16"
               " {{{registers}}}, [%{count}];"
               : {outputs} : "r"(shared_address(row)) : "memory");
}}""",
                ("shared_address",),
            )
            found[store] = Function(
                f"""
__device__ __forceinline__ void {store}(void* row, const void* from) {{
  const unsigned* const words = reinterpret_cast<const unsigned*>(from);
  asm volatile("stmatrix.sync.aligned.m8n8.x{count}{qualifier}.shared.b16 [%0], {{{stored}}};"
               :: "r"(shared_address(row)), {inputs} : "memory");
}}""",
                ("shared_address",),
            )
    return found


MMA_SUPPORT: Mapping[str, Function] = {
    "matrix_descriptor": Function(
        """
// The descriptor of a wgmma operand: its address and layout in shared memory.
template <int swizzle, int leading, int stride>
__device__ __forceinline__ unsigned long long matrix_descriptor(const void* start) {
  constexpr unsigned long long pattern =
      swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  constexpr unsigned long long shape = (pattern << 62)
      | (static_cast<unsigned long long>(stride >> 4) << 32)
      | (static_cast<unsigned long long>(leading >> 4) << 16);
  return shape | ((shared_address(start) & 0x3ffff) >> 4);
}""",
        ("shared_address",),
    ),
    "wgmma_fence": asm("wgmma_fence()", "wgmma.fence.sync.aligned;"),
    "wgmma_commit": asm("wgmma_commit()", "wgmma.commit_group.sync.aligned;"),
    "wgmma_wait": Function(
        """
template <int pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(pending) : "memory");
}"""
    ),
    "settle_late": Function(
        """
// As `settle`, for MMAs that were in flight over a branch. ptxas then moves accumulator reads
// before the wait; a branch that is never taken, which ptxas cannot prove, keeps them after it.
// The branch comes back: after one that exits, ptxas serialises the MMAs or spills (C7512, C7518).
template <typename T, int count>
__device__ __forceinline__ void settle_late(T (&registers)[count]) {
  unsigned processors;
  asm("mov.u32 %0, %%nsmid;" : "=r"(processors));
  asm volatile("{\\n.reg .pred never;\\nsetp.eq.u32 never, %0, 0;\\n@never nanosleep.u32 1;\\n}"
               :: "r"(processors) : "memory");
  settle(registers);
}""",
        ("settle",),
    ),
    "settle": Function(
        """
// Operand fence: no read of the accumulator registers moves before this.
template <int count>
__device__ __forceinline__ void settle(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i]) :: "memory");
}

template <int count>
__device__ __forceinline__ void settle(int (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(registers[i]) :: "memory");
}"""
    ),
    **_matrix_moves(),
}
