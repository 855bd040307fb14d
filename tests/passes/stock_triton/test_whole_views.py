"""Views of a region as every release of stock Triton takes them."""

from __future__ import annotations

import re

from tests.passes.pass_support import parse
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.verify import verify
from tilewright.passes.stock_triton.whole_views import make_views_whole

HEAD = """\
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
#region = #ttng.tensor_memory_encoding<blockM = 128, blockN = 512, colStride = 1>
#half = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%i: i32) {
"""
TAIL = "    tt.return\n  }\n}\n"
BYTES = "!ttg.memdesc<131072xi8, #flat, #smem, mutable>"
COLUMNS = "!ttg.memdesc<128x512xi32, #region, #ttng.tensor_memory, mutable>"


def tiles(count: int) -> str:
    return f"!ttg.memdesc<{count}x128x64xf16, #tile, #smem, mutable>"


TILE = tiles(0).replace("0x", "", 1)


def whole(body: str) -> str:
    module, engine = parse(HEAD + body + TAIL), DiagnosticEngine()
    make_views_whole(module)
    assert verify(module, engine)
    engine.raise_if_errors()
    return print_module(module)


def shapes(text: str, op: str) -> list[str]:
    """What the results of an op are, in order."""
    return re.findall(rf"{op}.* -> !ttg\.memdesc<([^,]*), #", text)


def test_an_array_becomes_as_long_as_the_region():
    text = whole(
        f"""\
    %r = ttg.local_alloc : () -> {BYTES}
    %v = ttg.memdesc_reinterpret %r : {BYTES} -> {tiles(3)}
    %t = ttg.memdesc_index %v[%i] : {tiles(3)} -> {TILE}
"""
    )
    assert shapes(text, "memdesc_reinterpret") == ["8x128x64xf16"]
    assert shapes(text, "memdesc_index") == ["128x64xf16"]


def test_tasks_see_it_as_well():
    text = whole(
        f"""\
    %r = ttg.local_alloc : () -> {BYTES}
    %v = ttg.memdesc_reinterpret %r : {BYTES} -> {tiles(3)}
    ttg.warp_specialize(%v, %i)
    default {{
      ttg.warp_yield
    }}
    partition0(%w: {tiles(3)}, %j: i32) num_warps(4) {{
      %t = ttg.memdesc_index %w[%j] : {tiles(3)} -> {TILE}
      ttg.warp_return
    }} : ({tiles(3)}, i32) -> ()
"""
    )
    assert "3x128x64xf16" not in text
    assert text.count("!ttg.memdesc<8x128x64xf16") == 4


def test_what_covers_no_whole_number_of_buffers_stays():
    odd = BYTES.replace("131072", "120000")
    text = whole(
        f"""\
    %r = ttg.local_alloc : () -> {odd}
    %v = ttg.memdesc_reinterpret %r : {odd} -> {tiles(3)}
    %t = ttg.memdesc_index %v[%i] : {tiles(3)} -> {TILE}
"""
    )
    assert shapes(text, "memdesc_reinterpret") == ["3x128x64xf16"]


def test_a_use_other_than_choosing_one_keeps_it_as_it_is():
    text = whole(
        f"""\
    %r = ttg.local_alloc : () -> {BYTES}
    %v = ttg.memdesc_reinterpret %r : {BYTES} -> {tiles(3)}
    ttg.local_dealloc %v : {tiles(3)}
"""
    )
    assert shapes(text, "memdesc_reinterpret") == ["3x128x64xf16"]


def test_columns_of_tensor_memory():
    array = "!ttg.memdesc<3x128x64xf32, #half, #ttng.tensor_memory, mutable>"
    text = whole(
        f"""\
    %r = ttng.tmem_alloc : () -> {COLUMNS}
    %v = ttg.memdesc_reinterpret %r : {COLUMNS} -> {array}
    %t = ttg.memdesc_index %v[%i] : {array} -> {array.replace("3x", "", 1)}
"""
    )
    assert shapes(text, "memdesc_reinterpret") == ["8x128x64xf32"]


def test_scales_are_chosen_as_columns():
    array = "!ttg.memdesc<9x128x4xi8, #scales, #ttng.tensor_memory, mutable>"
    text = whole(
        f"""\
    %r = ttng.tmem_alloc : () -> {COLUMNS}
    %v = ttg.memdesc_reinterpret %r : {COLUMNS} -> {array}
    %t = ttg.memdesc_index %v[%i] : {array} -> {array.replace("9x", "", 1)}
    ttg.local_dealloc %t : {array.replace("9x", "", 1)}
"""
    )
    assert shapes(text, "memdesc_reinterpret") == ["128x128x4xi32", "128x4xi8"]
    assert shapes(text, "memdesc_index") == ["128x4xi32"]
    assert re.search(r"local_dealloc.*128x4xi8, #tmem_scales", text)
