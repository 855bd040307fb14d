"""Atomic updates that C++ has no function for: compare-and-swap loops, vectors.

`Word` is an unsigned integer as wide as the element, which `atomicCAS` supports.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.function import Function

_CAS_SYSTEM = Function(
    """
// Swaps for all devices and the host; CUDA has no function of 16 bits.
template <typename Word>
__device__ __forceinline__ Word cas_system(Word* place, Word compare, Word value) {
  if constexpr (sizeof(Word) == 2) {
    unsigned short old;
    asm volatile("atom.relaxed.sys.cas.b16 %0, [%1], %2, %3;"
                 : "=h"(old) : "l"(place), "h"(compare), "h"(value) : "memory");
    return old;
  } else {
    return atomicCAS_system(place, compare, value);
  }
}"""
)


def _by_exchange(name: str, condition: str, change: str, scope: str) -> Function:
    """Read, and as long as there is something to change, try to swap the element."""
    cas = "cas_system" if scope else "atomicCAS"
    return Function(
        f"""
template <typename Word, typename T>
__device__ __forceinline__ T {name}{scope}(T* place, T value) {{
  Word* const word = reinterpret_cast<Word*>(place);
  Word before = *word;
  while ({condition}) {{
    const Word seen = {cas}(word, before, bits_as<Word>({change}));
    if (seen == before) break;
    before = seen;
  }}
  return bits_as<T>(before);
}}""",
        needs=("bits_as", "cas_system") if scope else ("bits_as",),
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


_UPDATES: Mapping[str, tuple[str, str]] = {
    "atomic_add": ("true", "T(bits_as<T>(before) + value)"),
    "atomic_max": ("bits_as<T>(before) < value", "value"),
    "atomic_min": ("bits_as<T>(before) > value", "value"),
}
"""While what holds there is something to change, and to what."""

ATOMICS: Mapping[str, Function] = {
    "cas_system": _CAS_SYSTEM,
    **{
        f"{name}{scope}": _by_exchange(name, condition, change, scope)
        for name, (condition, change) in _UPDATES.items()
        for scope in ("", "_system")
    },
    **{f"red_add_{type}": _reduction(type) for type in ("f32", "f16x2", "bf16x2")},
}
