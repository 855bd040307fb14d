"""Shuffles and votes: exchange between threads of a warp, through registers."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.function import Function

_COMBINE: Mapping[str, str] = {
    "sum": "a + b",
    "max": "a > b ? a : b",
    "min": "a < b ? a : b",
    "bitand": "a & b",
    "bitor": "a | b",
    "bitxor": "a ^ b",
}

EXCHANGE: Mapping[str, Function] = {
    "warp_index": Function(
        """
// The index of the warp. ptxas then has it, and what depends on it, in uniform registers.
__device__ __forceinline__ int warp_index() {
  return __shfl_sync(0xffffffffu, int(threadIdx.x / 32u), 0);
}"""
    ),
    "shuffle_xor": Function(
        """
template <typename T>
__device__ __forceinline__ T shuffle_xor(T value, int mask, int width = 32) {
  return __shfl_xor_sync(0xffffffffu, value, mask, width);
}"""
    ),
    "shuffle_up": Function(
        """
template <typename T>
__device__ __forceinline__ T shuffle_up(T value, int distance, int width = 32) {
  return __shfl_up_sync(0xffffffffu, value, distance, width);
}"""
    ),
    "shuffle_down": Function(
        """
template <typename T>
__device__ __forceinline__ T shuffle_down(T value, int distance, int width = 32) {
  return __shfl_down_sync(0xffffffffu, value, distance, width);
}"""
    ),
    "shuffle_from": Function(
        """
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int lane, int width = 32) {
  return __shfl_sync(0xffffffffu, value, lane, width);
}"""
    ),
    **{
        f"warp_{kind}": Function(
            f"""
template <typename T>
__device__ __forceinline__ T warp_{kind}(T a) {{
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {{
    const T b = __shfl_xor_sync(0xffffffffu, a, mask);
    a = {expression};
  }}
  return a;
}}"""
        )
        for kind, expression in _COMBINE.items()
    },
}
