"""Atomic updates that C++ has no function for: compare-and-swap loops, vectors.

`Word` is an unsigned integer as wide as the element, which `atomicCAS` supports.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.function import Function


def _by_exchange(name: str, condition: str, change: str) -> Function:
    """Read, and as long as there is something to change, try to swap the element."""
    return Function(
        f"""
template <typename Word, typename T>
__device__ __forceinline__ T {name}(T* place, T value) {{
  Word* const word = reinterpret_cast<Word*>(place);
  Word before = *word;
  while ({condition}) {{
    const Word seen = atomicCAS(word, before, bits_as<Word>({change}));
    if (seen == before) break;
    before = seen;
  }}
  return bits_as<T>(before);
}}""",
        needs=("bits_as",),
    )


def _reduction(type: str) -> Function:
    """Additions to global memory, up to four registers of 32 bits at a time."""
    rounding = "" if type == "f32" else ".noftz"
    return Function(
        f"""
// Adds a few bytes of elements to global memory.
template <int bytes>
__device__ __forceinline__ void red_add_{type}(void* to, const void* from) {{
  const unsigned* const a = reinterpret_cast<const unsigned*>(from);
  if constexpr (bytes == 16)
    asm volatile("red.global.add{rounding}.v4.{type} [%0], {{%1, %2, %3, %4}};"
                 :: "l"(to), "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]) : "memory");
  else if constexpr (bytes == 8)
    asm volatile("red.global.add{rounding}.v2.{type} [%0], {{%1, %2}};"
                 :: "l"(to), "r"(a[0]), "r"(a[1]) : "memory");
  else
    asm volatile("red.global.add{rounding}.{type} [%0], %1;" :: "l"(to), "r"(a[0]) : "memory");
}}"""
    )


ATOMICS: Mapping[str, Function] = {
    "atomic_add": _by_exchange("atomic_add", "true", "T(bits_as<T>(before) + value)"),
    "atomic_max": _by_exchange("atomic_max", "bits_as<T>(before) < value", "value"),
    "atomic_min": _by_exchange("atomic_min", "bits_as<T>(before) > value", "value"),
    **{f"red_add_{type}": _reduction(type) for type in ("f32", "f16x2", "bf16x2")},
}
