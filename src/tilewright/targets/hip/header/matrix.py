"""Device functions for matrix instructions, generated for those that a kernel uses.

    tw::mfma_f32_16x16x16_f16_f16(c, a, b)     D = A * B + D, of register arrays

A chip's table names clang's builtin, or LLVM's intrinsic where clang 19 has none (gfx950): that is
declared by its name. Operands are read as the vectors that the builtin takes.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.layouts.hardware.amd_chips import Chip, MatrixInstruction

_BITS: Mapping[str, int] = {"f16": 16, "bf16": 16, "f32": 32, "xf32": 32, "i8": 8}
_FP8_BITS = 8
_SCALED_FORMATS: Mapping[str, int] = {"f8E4M3FN": 0, "f8E5M2": 1}
"""Codes of operand formats of the ``f8f6f4`` instructions."""
_WITH_SIGNS = "iu8"
"""In names of instructions whose operands may be unsigned."""


def _bits(element: str) -> int:
    return _BITS.get(element, _FP8_BITS)


def _operand(instruction: MatrixInstruction, element: str) -> tuple[str, int]:
    """The element of the vector that the builtin takes, and how many of them."""
    size = instruction.width * _bits(element)
    if element in ("f32", "xf32"):
        return "float", size // 32
    if element == "f16":
        return "_Float16", instruction.width
    if element == "bf16":
        # Builtins older than the type take the bits.
        is_typed = "." in instruction.builtin
        return ("__bf16" if is_typed else "short"), instruction.width
    if instruction.kind == "mfma" and size == 64:
        return "long", 1
    return "int", size // 32


def _declared(name: str, element: str, count: int) -> str:
    # Register arrays are aligned to 16 bytes, and any element of them may be the first.
    shape = f"ext_vector_type({count}), " if count > 1 else ""
    return f"  typedef {element} {name} __attribute__(({shape}aligned(4), may_alias));"


def matrix_function(
    instruction: MatrixInstruction, chip: Chip, unsigned: tuple[bool, bool] = (False, False)
) -> tuple[str, str]:
    """The name of the function of an instruction, and its text."""
    has_signs = _WITH_SIGNS in instruction.builtin
    if any(unsigned) and not has_signs:
        raise LookupError(f"{instruction.name} has no unsigned operands")
    name = instruction.name
    if any(unsigned):
        signs = "_".join("u8" if each else "i8" for each in unsigned)
        name = f"{name.removesuffix('_i8_i8')}_{signs}"
    a, b = _operand(instruction, instruction.a), _operand(instruction, instruction.b)
    accumulators = instruction.accumulators(chip.wave)
    c = ("int" if instruction.c == "i32" else "float", accumulators)
    declaration, call = _call(instruction, name, (a, b, c), unsigned)
    text = f"""{declaration}
__device__ __forceinline__ void {name}(void* c, const void* a, const void* b) {{
{_declared("A", *a)}
{_declared("B", *b)}
{_declared("C", *c)}
  C* const d = reinterpret_cast<C*>(c);
  const A x = *reinterpret_cast<const A*>(a);
  const B y = *reinterpret_cast<const B*>(b);
{_assigned(instruction, call)}
}}"""
    return name, text


def _assigned(instruction: MatrixInstruction, call: str) -> str:
    """The result, which must be computed by all lanes of the wave.

    To LLVM before 22, WMMA and the scaled MFMA are instructions that it may move into a branch that
    only some lanes take, where they compute something else. It does not move assembly so, which is
    convergent in HIP; without `volatile` the instructions around it are still scheduled freely.
    """
    if instruction.kind == "mfma" and "f8f6f4" not in instruction.builtin:
        return f"  *d = {call};"
    return f"""  C result = {call};
  asm("" : "+v"(result));  // not moved into branches
  *d = result;"""


def _call(
    instruction: MatrixInstruction,
    name: str,
    types: tuple[tuple[str, int], tuple[str, int], tuple[str, int]],
    unsigned: tuple[bool, bool],
) -> tuple[str, str]:
    """What has to be declared, and the call of the builtin."""
    builtin = instruction.builtin
    if "." not in builtin:
        function = f"__builtin_amdgcn_{builtin}"
        if instruction.kind == "mfma":
            return "", f"{function}(x, y, *d, 0, 0, 0)"
        if _WITH_SIGNS in builtin:
            signs = ["false" if each else "true" for each in unsigned]
            return "", f"{function}({signs[0]}, x, {signs[1]}, y, *d, false)"
        return "", f"{function}(x, y, *d)"
    a, b, c = types
    vectors = [f"{name}_{each}" for each in "abc"]
    lines = [
        f"typedef {element} {vector}" + (f" __attribute__((ext_vector_type({count})));")
        for vector, (element, count) in zip(vectors, (a, b, c), strict=True)
    ]
    symbol, extra, arguments = builtin, 3, "0, 0, 0"
    if "f8f6f4" in builtin:
        # Formats of A and B; scales of zero bits select the instruction without scales.
        formats = (_SCALED_FORMATS[instruction.a], _SCALED_FORMATS[instruction.b])
        symbol, extra = f"{builtin}.v{a[1]}i32.v{b[1]}i32", 6
        arguments = f"{formats[0]}, {formats[1]}, 0, 0, 0, 0"
    immediates = ", ".join(["int"] * extra)
    lines.append(
        f"__device__ {vectors[2]} {name}_builtin({', '.join(vectors)}, {immediates})\n"
        f'    __asm("{symbol}");'
    )
    return "\n".join(lines) + "\n", f"{name}_builtin(x, y, *d, {arguments})"
