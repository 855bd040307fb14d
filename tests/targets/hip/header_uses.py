"""A kernel that calls every device function of a chip: it is compiled, and runs on the host."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.hip.header import KEYWORDS, definitions
from tilewright.targets.hip.header.functions import functions_of
from tilewright.targets.hip.header.mathematics import MATHEMATICS
from tilewright.targets.hip.header.matrix import matrix_function

_COMBINED = ("sum", "max", "min")
_BITWISE = ("bitand", "bitor", "bitxor")
_SCOPES = ("", "_system")


def _scoped(*kinds: str) -> list[str]:
    return [f"{kind}{end}" for kind in kinds for end in _SCOPES]


_USES: Mapping[str, str] = {
    **{f"Bytes{size}": f"*(tw::Bytes{size}*)out = *(tw::Bytes{size}*)in;" for size in (1, 2, 4, 8)},
    "Bytes16": "*(tw::Bytes16*)out = *(tw::Bytes16*)in;",
    "bits_as": "i = tw::bits_as<int>(f);",
    "float_from_bits": "f = tw::float_from_bits(i);",
    "double_from_bits": "d = tw::double_from_bits(l);",
    "floor_divide": "i = tw::floor_divide(i, 7);",
    "ceil_divide": "l = tw::ceil_divide(l, 7ll);",
    "integer_power": "i = tw::integer_power(i, 3);",
    "max_or_nan": "f = tw::max_or_nan(f, 1.0f); h = tw::max_or_nan(h, h); b = tw::max_or_nan(b, b);",
    "min_or_nan": "f = tw::min_or_nan(f, 1.0f); d = tw::min_or_nan(d, 1.0);",
    "is_nan": "i = tw::is_nan(f) + tw::is_nan(h) + tw::is_nan(d);",
    "is_inf": "i += tw::is_inf(f) + tw::is_inf(h) + tw::is_inf(d);",
    "is_finite": "i += tw::is_finite(f) + tw::is_finite(b) + tw::is_finite(d);",
    "max": "i = tw::max(i, 3); l = tw::max(l, 3ll); s = short(tw::max(s, 3));",
    "min": "i = tw::min(i, 3); l = tw::min(l, 3ll); s = short(tw::min(s, 3));",
    "abs": "i = tw::abs(i); l = tw::abs(l);",
    "popc": "i = tw::popc(unsigned(i));",
    "popcll": "i = tw::popcll(l);",
    "clz": "i = tw::clz(unsigned(i));",
    "clzll": "i = tw::clzll(l);",
    "dp4a": "i = tw::dp4a(i, i, i);",
    "fp8_code": "i = tw::fp8_code<3, 7, 126>(f);",
    **{
        f"fp8_{name}": f"out[1] = float(tw::fp8_{name}(f));"
        for name in ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")
    },
    **{
        f"convert_to_{name}x2": f"tw::convert_to_{name}x2((tw::fp8_{name}*)out, in);"
        for name in ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")
    },
    "convert_to_half2": "tw::convert_to_half2((_Float16*)out, in);",
    "convert_half2": "tw::convert_half2(out, (const _Float16*)in);",
    "convert_to_bfloat162": "tw::convert_to_bfloat162((__bf16*)out, in);",
    "convert_bfloat162": "tw::convert_bfloat162(out, (const __bf16*)in);",
    **{
        f"{what}_{axis}": f"i += tw::{what}_{axis}();"
        for what in ("thread", "block", "grid_dim", "block_dim")
        for axis in "xyz"
    },
    "lane": "i += tw::lane();",
    "wave": "i += tw::wave();",
    "refresh": "tw::refresh<64>(i);",
    "pinned": "i += tw::pinned(i) + int(tw::pinned((short)i)) + int(tw::pinned((long long)i));",
    **{
        name: f"tw::{name}();"
        for name in ("sync", "sync_local", "wave_sync", "fence", "fence_block", "fence_system")
    },
    "sync_local_keeping_copies": "tw::sync_local_keeping_copies();",
    "trap": "if (i == 12345) tw::trap();",
    "wait_loads": "tw::wait_loads<0>(); tw::wait_loads<17>(); tw::wait_loads<63>();",
    "prio": "tw::prio<1>(); tw::prio<0>();",
    "sched_group": "tw::sched_group<8, 1>();",
    "sched_barrier": "tw::sched_barrier<0>();",
    "iglp": "tw::iglp<0>();",
    "cycles": "l += tw::cycles();",
    "by_words": "",
    "fetch": "d = tw::fetch(d, 3); h = tw::fetch(h, 3);",
    "dpp": "i = tw::dpp<0xB1>(i);",
    "xor_word": "i = tw::xor_word<5>(i);",
    "shuffle_xor_by": " ".join(
        f"f += tw::shuffle_xor_by<{mask}>(f);" for mask in (*range(1, 32), "WAVE / 2")
    )
    + " d += tw::shuffle_xor_by<4>(d); h += tw::shuffle_xor_by<16>(h);",
    **{
        f"shuffle_{name}": f"f = tw::shuffle_{name}(f, i); d = tw::shuffle_{name}(d, 2, 8);"
        for name in ("xor", "up", "down", "from")
    },
    **{f"warp_{kind}": f"f = tw::warp_{kind}(f); l = tw::warp_{kind}(l);" for kind in _COMBINED},
    **{f"warp_{kind}": f"i = tw::warp_{kind}(i);" for kind in _BITWISE},
    "interleave": "tw::interleave<4>((signed char*)out, (signed char*)in); "
    "tw::interleave<2>((_Float16*)out, (_Float16*)in); tw::interleave<1>(out, in);",
    "ballot": "l += tw::ballot(i > 3);",
    "vote_any": "i += tw::vote_any(i > 3);",
    "vote_all": "i += tw::vote_all(i > 3);",
    "first": "f = tw::first(f); d = tw::first(d);",
    "at": "f = tw::at<WAVE - 1>(f);",
    "elect": "i += tw::elect();",
    "atomic_kinds": "",
    "word_of": "",
    **{f"swap_loop{end}": "" for end in _SCOPES},
    **{
        f"atomic_{kind}": f"f = tw::atomic_{kind}(out, f); d = tw::atomic_{kind}((double*)out, d); "
        f"i = tw::atomic_{kind}((int*)out, i); l = tw::atomic_{kind}((long long*)out, l); "
        f"h = tw::atomic_{kind}((_Float16*)out, h); b = tw::atomic_{kind}((__bf16*)out, b); "
        f"u = tw::atomic_{kind}((unsigned*)shared, u); f = tw::atomic_{kind}(shared, f);"
        for kind in _scoped("add", "max", "min", "exch")
    },
    **{
        f"atomic_{kind}": f"i = tw::atomic_{kind}((int*)out, i); "
        f"l = tw::atomic_{kind}((long long*)out, l);"
        for kind in _scoped("and", "or", "xor")
    },
    **{
        f"atomic_{kind}": f"f = tw::atomic_{kind}(out, f, 2.0f); i = tw::atomic_{kind}((int*)out, i, 2);"
        for kind in _scoped("cas")
    },
    **{
        f"atomic_{kind}": f"f = tw::atomic_{kind}(in); h = tw::atomic_{kind}((const _Float16*)in);"
        for kind in _scoped("load")
    },
    **{
        f"atomic_{kind}": f"tw::atomic_{kind}(out, f); tw::atomic_{kind}((__bf16*)out, b);"
        for kind in _scoped("store")
    },
    "atomic_add_f16x2": "tw::atomic_add_f16x2(out, u);",
    "atomic_add_bf16x2": "tw::atomic_add_bf16x2(out, u);",
    "Rsrc": "",
    "rsrc": "const tw::Rsrc buffer = tw::rsrc(in, 4096);",
    "buffer_load": " ".join(
        f"tw::buffer_load<{size}>(out, buffer, i);" for size in (1, 2, 4, 8, 16)
    ),
    "buffer_store": " ".join(
        f"tw::buffer_store<{size}>(buffer, i, in);" for size in (1, 2, 4, 8, 16)
    ),
    "load_lds": "DIRECT",
    "hfma": "h = tw::hfma(h, h, h);",
    "hmax": "h = tw::hmax(h, h);",
    "hmin": "h = tw::hmin(h, h);",
}


def uses_of(chip: Chip) -> dict[str, str]:
    """What calls each function of the chip; every one has an entry."""
    found: dict[str, str] = {}
    for name in functions_of(chip):
        if name in MATHEMATICS and name not in _USES:
            function = MATHEMATICS[name]
            if function.arguments == 0:
                continue
            letter = "d" if function.is_double else "f"
            call = ", ".join([letter, f"{letter} + 1", f"{letter} - 1"][: function.arguments])
            found[name] = f"{letter} = tw::{name}({call});"
            continue
        text = _USES[name].replace("WAVE", str(chip.wave))
        if text == "DIRECT":
            text = " ".join(
                f"tw::load_lds<{size}>(shared, buffer, i);" for size in chip.direct_copy_bytes
            )
        found[name] = text
    return found


def whole_text(chip: Chip, *, with_mathematics: bool = True) -> str:
    """All functions of the chip, all of its matrix instructions, and a kernel that calls them."""
    uses = uses_of(chip)
    if not with_mathematics:
        uses = {name: use for name, use in uses.items() if name not in MATHEMATICS}
    generated: dict[str, str] = {}
    calls: list[str] = []
    for instruction in chip.instructions:
        is_unsigned = [(False, False)]
        if "iu8" in instruction.builtin:
            is_unsigned += [(True, False), (False, True), (True, True)]
        for each in is_unsigned:
            name, text = matrix_function(instruction, chip, each)
            generated[name] = text
            calls.append(f"  tw::{name}(d_registers, a_registers, b_registers);")
    body = "\n".join(f"  {text}  // {name}" for name, text in uses.items() if text)
    return f"""{KEYWORDS}
{definitions(uses, generated, chip)}
extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(64, 64)))
everything(float* out, const float* in, int i, long long l) {{
  __shared__ float shared[4096];
  float f = in[0];
  double d = f;
  _Float16 h = _Float16(f);
  __bf16 b = __bf16(f);
  short s = short(i);
  unsigned u = i;
{body}
  alignas(16) float a_registers[32], b_registers[32], d_registers[32];
#pragma unroll
  for (int n = 0; n < 32; ++n)
    a_registers[n] = in[n], b_registers[n] = in[n + 32], d_registers[n] = in[n + 64];
{chr(10).join(calls)}
#pragma unroll
  for (int n = 0; n < 32; ++n) out[n] = d_registers[n];
  out[40] = f + float(d) + float(h) + float(b) + float(s) + float(u) + float(i) + float(l)
      + shared[i & 4095];
}}
"""
