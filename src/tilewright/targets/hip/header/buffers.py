"""Accesses through a buffer descriptor, which checks bounds; copies from global memory to LDS.

A load outside the buffer gives zeros, a store is lost. Offsets are bytes, of 32 bits; the scalar
offset stays 0, because chips differ in whether it takes part in the check.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.hip.header.function import Function, device

_FLAGS: Mapping[int, str] = {9: "0x27000", 11: "0x31027000", 12: "0x31027000"}
"""Word 3 of the descriptor: 32-bit elements, bounds by offset (MLIR's AMDGPUToROCDL)."""
_WIDTHS = (1, 2, 4, 8, 16)

_LOAD_LDS = """
typedef __attribute__((address_space(3))) void* LdsPointer;
__device__ void buffer_load_lds(__amdgpu_buffer_rsrc_t buffer, LdsPointer to, unsigned bytes,
                                int offset, int scalar_offset, int immediate, int aux)
    __asm("llvm.amdgcn.raw.ptr.buffer.load.lds");

// Starts a copy to LDS: lane n of the wave writes at `to` + n * bytes; `to` is uniform.
template <int bytes>
__device__ __forceinline__ void load_lds(void* to, Rsrc buffer, int offset) {
  static_assert(@sizes, "sizes that the chip copies");
  buffer_load_lds(buffer, (LdsPointer)to, bytes, offset, 0, 0, 0);
}"""


def _access(direction: str) -> str:
    parts: list[str] = []
    for size in _WIDTHS:
        opening = "if" if not parts else "else if"
        builtin = f"__builtin_amdgcn_raw_buffer_{direction}_b{size * 8}"
        target = f"*reinterpret_cast<Bytes{size}*>(to)"
        value = f"*reinterpret_cast<const Bytes{size}*>(from)"
        call = (
            f"{target} = {builtin}(buffer, offset, 0, aux);"
            if direction == "load"
            else f"{builtin}({value}, buffer, offset, 0, aux);"
        )
        parts.append(f"  {opening} constexpr (bytes == {size})\n    {call}")
    return "\n".join(parts)


def buffers(chip: Chip) -> Mapping[str, Function]:
    """Descriptors, loads, stores, and direct copies where the chip has them."""
    types = tuple(f"Bytes{size}" for size in _WIDTHS)
    found = {
        "Rsrc": Function("using Rsrc = __amdgpu_buffer_rsrc_t;"),
        "rsrc": device(
            "Rsrc rsrc(const void* base, unsigned bytes)",
            "  return __builtin_amdgcn_make_buffer_rsrc(\n"
            f"      const_cast<void*>(base), 0, int(bytes), {_FLAGS[chip.generation]});",
            ("Rsrc",),
        ),
        "buffer_load": device(
            "template <int bytes, int aux = 0>@void buffer_load(void* to, Rsrc buffer, int offset)",
            _access("load"),
            ("Rsrc", *types),
        ),
        "buffer_store": device(
            "template <int bytes, int aux = 0>"
            "@void buffer_store(Rsrc buffer, int offset, const void* from)",
            _access("store"),
            ("Rsrc", *types),
        ),
    }
    if chip.direct_copy_bytes:
        sizes = " || ".join(f"bytes == {size}" for size in chip.direct_copy_bytes)
        found["load_lds"] = Function(_LOAD_LDS.replace("@sizes", sizes), ("Rsrc",))
    return found
