"""Small floats: fp8 of both families, and conversions of pairs.

fp8 types hold their byte and convert through `float`. Conversions to them saturate, as those of
CUDA's types do: an infinity becomes the largest finite value. The FNUZ formats (gfx942's) have a
bias greater by one, no infinities, no negative zero, and one NaN, 0x80. A chip converts its own
family by instructions; the others by integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.hip.header.function import Function, device


@dataclass(frozen=True)
class Fp8:
    """A format of eight bits."""

    name: str
    mantissa: int
    bias: int
    largest: int
    """The code of the largest finite value."""
    largest_value: str
    nan_test: str
    """Whether the code `bits` is a NaN."""
    is_fnuz: bool
    instruction: str
    """What the instructions of a chip with this family call it."""
    infinity: int | None = None
    """The code of infinity."""


FORMATS: tuple[Fp8, ...] = (
    Fp8("fp8_e4m3", 3, 7, 0x7E, "448.0f", "(bits & 0x7f) == 0x7f", False, "fp8"),
    Fp8("fp8_e5m2", 2, 15, 0x7B, "57344.0f", "(bits & 0x7f) > 0x7c", False, "bf8", 0x7C),
    Fp8("fp8_e4m3fnuz", 3, 8, 0x7F, "240.0f", "bits == 0x80", True, "fp8"),
    Fp8("fp8_e5m2fnuz", 2, 16, 0x7F, "57344.0f", "bits == 0x80", True, "bf8"),
)


def _is_native(format: Fp8, chip: Chip) -> bool:
    return chip.fp8 == ("fnuz" if format.is_fnuz else "ocp")


_ENCODE = """
// The nearest code of an 8-bit float, ties to even; beyond `largest`, that one.
template <int mantissa, int bias, int largest>
__device__ __forceinline__ unsigned fp8_code(float magnitude) {
  const unsigned bits = bits_as<unsigned>(magnitude);
  constexpr int cut = 23 - mantissa;
  constexpr unsigned smallest = unsigned(128 - bias) << 23;  // the smallest normal value
  if (bits < smallest) {  // a multiple of the smallest subnormal
    const float scale = bits_as<float>(unsigned(126 + bias + mantissa) << 23);
    return unsigned(__builtin_rintf(magnitude * scale));
  }
  const unsigned rounded = bits + (1u << (cut - 1)) - 1 + (bits >> cut & 1);
  const unsigned code = (rounded >> cut) - (unsigned(127 - bias) << mantissa);
  return code < unsigned(largest) ? code : unsigned(largest);
}"""


def _encode(format: Fp8, chip: Chip) -> str:
    nan_code = "0x80u" if format.is_fnuz else "0x7fu"
    if _is_native(format, chip):
        return f"""    if (value != value) return {nan_code};
    const float limited = __builtin_amdgcn_fmed3f(
        value, {format.largest_value}, -{format.largest_value});
    return __builtin_amdgcn_cvt_pk_{format.instruction}_f32(limited, limited, 0, false) & 0xff;"""
    sign = "value < 0.0f && code != 0" if format.is_fnuz else "bits_as<unsigned>(value) >> 31"
    return f"""    if (value != value) return {nan_code};
    const unsigned code = fp8_code<{format.mantissa}, {format.bias}, {format.largest}>(
        __builtin_fabsf(value));
    return {sign} ? code | 0x80 : code;"""


def _decode(format: Fp8, chip: Chip) -> str:
    if _is_native(format, chip):
        return f"    return __builtin_amdgcn_cvt_f32_{format.instruction}(int(bits), 0);"
    special = "bits_as<float>(0x7fc00000u)"
    lines = [f"    if ({format.nan_test}) return {special};"]
    if format.infinity is not None:
        lines.append(
            f"    if ((bits & 0x7f) == {format.infinity:#x})\n"
            "      return bits_as<float>(0x7f800000u | unsigned(bits >> 7) << 31);"
        )
    smallest = 128 - format.bias - format.mantissa
    lines += [
        f"    const unsigned magnitude = bits & 0x7f, moved = magnitude << {23 - format.mantissa};",
        "    // Without denormals of `float`: the mode may flush them.",
        f"    const float value = magnitude < {1 << format.mantissa}",
        f"        ? float(magnitude) * bits_as<float>({smallest}u << 23)",
        f"        : bits_as<float>(moved + ({127 - format.bias}u << 23));",
        "    return bits & 0x80 ? -value : value;",
    ]
    return "\n".join(lines)


def _type(format: Fp8, chip: Chip) -> Function:
    name = format.name
    return Function(
        f"""
struct {name} {{
  unsigned char bits;
  {name}() = default;
  __device__ __forceinline__ explicit {name}(float value) : bits(code(value)) {{}}
  static __device__ __forceinline__ unsigned char code(float value) {{
{_encode(format, chip)}
  }}
  __device__ __forceinline__ operator float() const {{
{_decode(format, chip)}
  }}
}};""",
        ("bits_as",) if _is_native(format, chip) else ("bits_as", "fp8_code"),
    )


def _pair(name: str, source: str, target: str, body: str, needs: tuple[str, ...] = ()) -> Function:
    return device(f"void {name}({target}* to, const {source}* from)", body, needs)


_BOTH = "  to[0] = {type}(from[0]);\n  to[1] = {type}(from[1]);"


def _fp8_pair(format: Fp8, chip: Chip) -> tuple[str, Function]:
    name = f"convert_to_{format.name.removeprefix('fp8_')}x2"
    if not _is_native(format, chip):
        body = _BOTH.format(type=format.name)
        return name, _pair(name, "float", format.name, body, (format.name,))
    limit = format.largest_value
    lines = [
        f"  const float {each} = from[{index}] != from[{index}] ? from[{index}]\n"
        f"      : __builtin_amdgcn_fmed3f(from[{index}], {limit}, -{limit});"
        for index, each in enumerate("ab")
    ]
    lines += [
        "  const unsigned both =",
        f"      __builtin_amdgcn_cvt_pk_{format.instruction}_f32(a, b, 0, false);",
        "  *reinterpret_cast<Bytes2*>(to) = (unsigned short)both;",
    ]
    return name, _pair(name, "float", format.name, "\n".join(lines), (format.name, "Bytes2"))


def conversions(chip: Chip) -> Mapping[str, Function]:
    """fp8 types, and conversions of two consecutive elements."""
    return {
        "fp8_code": Function(_ENCODE, ("bits_as",)),
        **{format.name: _type(format, chip) for format in FORMATS},
        **dict(_fp8_pair(format, chip) for format in FORMATS),
        "convert_to_half2": _pair(
            "convert_to_half2", "float", "_Float16", _BOTH.format(type="_Float16")
        ),
        "convert_half2": _pair("convert_half2", "_Float16", "float", _BOTH.format(type="float")),
        "convert_to_bfloat162": _pair(
            "convert_to_bfloat162", "float", "__bf16", _BOTH.format(type="__bf16")
        ),
        "convert_bfloat162": _pair(
            "convert_bfloat162", "__bf16", "float", _BOTH.format(type="float")
        ),
    }
