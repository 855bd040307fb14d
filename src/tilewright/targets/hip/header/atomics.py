"""Atomic updates of one element, for the whole GPU; those that end in `_system` for all devices.

Integers, `float` and `double` have instructions (sums of floats with `-munsafe-fp-atomics`; without
it the compiler makes a loop). Everything else swaps: `Word` is an unsigned integer as wide as the
element; the compiler widens words below 32 bits itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.hip.header.function import Function, device

_SCOPES: Mapping[str, str] = {
    "": "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT",
    "_system": "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM",
}
"""By the end of a function's name."""

_KINDS = """
template <typename T> struct Kind { static constexpr bool integer = false, added = false; };
template <> struct Kind<int> { static constexpr bool integer = true, added = true; };
template <> struct Kind<unsigned> { static constexpr bool integer = true, added = true; };
template <> struct Kind<long> { static constexpr bool integer = true, added = true; };
template <> struct Kind<unsigned long> { static constexpr bool integer = true, added = true; };
template <> struct Kind<long long> { static constexpr bool integer = true, added = true; };
template <> struct Kind<unsigned long long> {
  static constexpr bool integer = true, added = true;
};
template <> struct Kind<float> { static constexpr bool integer = false, added = true; };
template <> struct Kind<double> { static constexpr bool integer = false, added = true; };
"""
"""Which element types have instructions: whole numbers of 32 and 64 bits, sums of floats."""

_WORD = """
template <int bytes> struct WordOf;
template <> struct WordOf<1> { using type = unsigned char; };
template <> struct WordOf<2> { using type = unsigned short; };
template <> struct WordOf<4> { using type = unsigned; };
template <> struct WordOf<8> { using type = unsigned long long; };
"""


def _swap_loop(suffix: str) -> Function:
    scope = _SCOPES[suffix]
    return Function(
        f"""
// Reads, and as long as `changed` has something to change, tries to swap the element.
template <typename T, typename Change>
__device__ __forceinline__ T swap_loop{suffix}(T* place, Change changed) {{
  using Word = typename WordOf<sizeof(T)>::type;
  Word* const word = reinterpret_cast<Word*>(place);
  Word before = __hip_atomic_load(word, {scope});
  while (true) {{
    const T old = bits_as<T>(before);
    const T next = changed(old);
    const Word after = bits_as<Word>(next);
    if (after == before) return old;
    if (__hip_atomic_compare_exchange_strong(word, &before, after, __ATOMIC_RELAXED,
                                             {scope}))
      return old;
  }}
}}""",
        ("bits_as", "word_of"),
    )


def _update(suffix: str, name: str, builtin: str, kind: str, change: str) -> Function:
    return device(
        f"template <typename T>@T atomic_{name}{suffix}(T* place, T value)",
        f"  if constexpr (Kind<T>::{kind})\n"
        f"    return __hip_atomic_{builtin}(place, value, {_SCOPES[suffix]});\n"
        "  else\n"
        f"    return swap_loop{suffix}(place, [value](T old) {{ return {change}; }});",
        ("atomic_kinds", f"swap_loop{suffix}"),
    )


def _bits(suffix: str, name: str, sign: str) -> Function:
    return _update(suffix, name, f"fetch_{name}", "integer", f"T(old {sign} value)")


def _functions(suffix: str) -> Mapping[str, Function]:
    scope = _SCOPES[suffix]
    found = {
        "swap_loop": _swap_loop(suffix),
        "atomic_add": _update(suffix, "add", "fetch_add", "added", "T(old + value)"),
        "atomic_max": _update(suffix, "max", "fetch_max", "integer", "old < value ? value : old"),
        "atomic_min": _update(suffix, "min", "fetch_min", "integer", "value < old ? value : old"),
        "atomic_and": _bits(suffix, "and", "&"),
        "atomic_or": _bits(suffix, "or", "|"),
        "atomic_xor": _bits(suffix, "xor", "^"),
        "atomic_exch": device(
            f"template <typename T>@T atomic_exch{suffix}(T* place, T value)",
            "  using Word = typename WordOf<sizeof(T)>::type;\n"
            "  return bits_as<T>(__hip_atomic_exchange(\n"
            f"      reinterpret_cast<Word*>(place), bits_as<Word>(value), {scope}));",
            ("bits_as", "word_of"),
        ),
        "atomic_cas": device(
            f"template <typename T>@T atomic_cas{suffix}(T* place, T expected, T value)",
            "  using Word = typename WordOf<sizeof(T)>::type;\n"
            "  Word seen = bits_as<Word>(expected);\n"
            "  __hip_atomic_compare_exchange_strong(\n"
            "      reinterpret_cast<Word*>(place), &seen, bits_as<Word>(value), __ATOMIC_RELAXED,\n"
            f"      {scope});\n"
            "  return bits_as<T>(seen);",
            ("bits_as", "word_of"),
        ),
        "atomic_load": device(
            f"template <typename T>@T atomic_load{suffix}(const T* place)",
            "  using Word = typename WordOf<sizeof(T)>::type;\n"
            "  return bits_as<T>(__hip_atomic_load(\n"
            f"      reinterpret_cast<const Word*>(place), {scope}));",
            ("bits_as", "word_of"),
        ),
        "atomic_store": device(
            f"template <typename T>@void atomic_store{suffix}(T* place, T value)",
            "  using Word = typename WordOf<sizeof(T)>::type;\n"
            "  __hip_atomic_store(reinterpret_cast<Word*>(place), bits_as<Word>(value),\n"
            f"                     {scope});",
            ("bits_as", "word_of"),
        ),
    }
    return {f"{name}{suffix}": function for name, function in found.items()}


_ATOMICS: Mapping[str, Function] = {
    "atomic_kinds": Function(_KINDS),
    "word_of": Function(_WORD),
    **_functions(""),
    **_functions("_system"),
}


def atomics(chip: Chip) -> Mapping[str, Function]:
    """Updates of one element; sums of two small floats where the chip has the instruction."""
    found = dict(_ATOMICS)
    for name, type, element in (("f16", "v2f16", "_Float16"), ("bf16", "v2bf16", "short")):
        if name not in chip.packed_atomics:
            continue
        found[f"atomic_add_{name}x2"] = device(
            f"void atomic_add_{name}x2(void* place, Bytes4 pair)",
            f"  typedef {element} Pair __attribute__((ext_vector_type(2)));\n"
            f"  __builtin_amdgcn_global_atomic_fadd_{type}(\n"
            "      (__attribute__((address_space(1))) Pair*)place, bits_as<Pair>(pair));",
            ("Bytes4", "bits_as"),
        )
    return found
