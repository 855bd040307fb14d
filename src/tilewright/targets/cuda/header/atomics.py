"""Atomic updates that the hardware has no instruction for: compare-and-swap loops.

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


ATOMICS: Mapping[str, Function] = {
    "atomic_add": _by_exchange("atomic_add", "true", "T(bits_as<T>(before) + value)"),
    "atomic_max": _by_exchange("atomic_max", "bits_as<T>(before) < value", "value"),
    "atomic_min": _by_exchange("atomic_min", "bits_as<T>(before) > value", "value"),
}
