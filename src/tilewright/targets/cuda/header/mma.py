"""Device functions for MMAs, generated for the shapes that a kernel uses."""

from __future__ import annotations

from collections.abc import Mapping

_BITS: Mapping[str, int] = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "e4m3": 8,
    "e5m2": 8,
    "s8": 8,
    "u8": 8,
}
_REGISTER_BITS = 32
_MAJOR_TYPES = ("f16", "bf16")
"""Operand types that may have either major order in shared memory."""


def _listed(first: int, count: int) -> str:
    return ", ".join(f"%{index}" for index in range(first, first + count))


def _accumulators(c: str, count: int) -> tuple[str, str, int]:
    """The C++ type of an accumulator register, its letter in asm, and how many registers."""
    if c == "f16":
        return "unsigned", "r", count // 2
    return ("int", "r", count) if c == "s32" else ("float", "f", count)


def mma_function(shape: tuple[int, int, int], a: str, b: str, c: str) -> tuple[str, str]:
    """``mma.sync`` of a shape and types: the name of its function, and its text."""
    m, n, k = shape
    name = f"mma_m{m}n{n}k{k}_{c}_{a}_{b}"
    a_registers, b_registers = (
        m * k * _BITS[a] // _REGISTER_BITS // 32,
        k * n * _BITS[b] // _REGISTER_BITS // 32,
    )
    type, letter, registers = _accumulators(c, m * n // 32)
    outputs = ", ".join(f'"+{letter}"(d[{index}])' for index in range(registers))
    inputs = ", ".join(
        [f'"r"(x[{index}])' for index in range(a_registers)]
        + [f'"r"(y[{index}])' for index in range(b_registers)]
    )
    text = f"""
__device__ __forceinline__ void {name}(void* c, const void* a, const void* b) {{
  {type}* const d = reinterpret_cast<{type}*>(c);
  const unsigned* const x = reinterpret_cast<const unsigned*>(a);
  const unsigned* const y = reinterpret_cast<const unsigned*>(b);
  asm volatile(
      "mma.sync.aligned.m{m}n{n}k{k}.row.col.{c}.{a}.{b}.{c}"
      " {{{_listed(0, registers)}}}, {{{_listed(registers, a_registers)}}},"
      " {{{_listed(registers + a_registers, b_registers)}}}, {{{_listed(0, registers)}}};"
      : {outputs}
      : {inputs});
}}"""
    return name, text


def wgmma_function(
    shape: tuple[int, int, int],
    types: tuple[str, str, str],
    *,
    a_in_registers: bool,
    transposed: tuple[bool, bool],
    count: int = 1,
) -> tuple[str, str]:
    """`count` ``wgmma`` of a shape and types into the same accumulators: the name of their
    function, and its text.

    One asm statement for all of them: the compiler has to follow the accumulators through each.
    """
    m, n, k = shape
    a, b, c = types
    suffix = "".join(
        part
        for part, is_there in (
            ("_rs", a_in_registers),
            ("_ta", transposed[0]),
            ("_tb", transposed[1]),
            (f"_x{count}", count > 1),
        )
        if is_there
    )
    name = f"wgmma_m{m}n{n}k{k}_{c}_{a}_{b}{suffix}"
    type, letter, registers = _accumulators(c, m * n // 128)
    a_registers = m * k * _BITS[a] // _REGISTER_BITS // 128 if a_in_registers else 1
    outputs = ",\n        ".join(
        ", ".join(f'"+{letter}"(d[{index}])' for index in range(start, min(start + 8, registers)))
        for start in range(0, registers, 8)
    )
    scales = "" if c == "s32" else ", 1, 1"
    majors = ""
    if a in _MAJOR_TYPES:
        flags = [] if a_in_registers else [int(transposed[0])]
        majors = "".join(f", {flag}" for flag in [*flags, int(transposed[1])])
    kind = "const void*" if a_in_registers else "unsigned long long"
    parameters, casts, inputs, instructions = "", "", "", ""
    operand = registers
    for step in ("",) if count == 1 else range(count):
        parameters += f", {kind} a{step}, unsigned long long b{step}"
        if a_in_registers:
            casts += (
                f"  const unsigned* const x{step} = reinterpret_cast<const unsigned*>(a{step});\n"
            )
            inputs += "".join(f'"r"(x{step}[{index}]), ' for index in range(a_registers))
            a_text = f"{{{_listed(operand, a_registers)}}}"
        else:
            inputs += f'"l"(a{step}), '
            a_text = f"%{operand}"
        inputs += f'"l"(b{step}), '
        keeps = "keeps" if operand == registers else "1"
        operand += a_registers + 1
        instructions += f'''
      "wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{c}.{a}.{b}"
      " {{{_listed(0, registers)}}},"
      " {a_text}, %{operand - 1}, {keeps}{scales}{majors};\\n"'''
    text = f"""
// d = a @ b, plus what d was if `keeps`; a warp group starts it and goes on.
__device__ __forceinline__ void {name}(void* c{parameters}, bool keeps) {{
  {type}* const d = reinterpret_cast<{type}*>(c);
{casts}  asm volatile(
      "{{\\n"
      ".reg .pred keeps;\\n"
      "setp.ne.b32 keeps, %{operand}, 0;\\n"{instructions}
      "}}"
      : {outputs}
      : {inputs}"r"(static_cast<int>(keeps)));
}}"""
    return name, text
