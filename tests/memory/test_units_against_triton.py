"""Our columns are the columns Triton's own tensor-memory allocator reserves.

Two allocations that are live together are placed one behind the other, so the offset of the second
is the size of the first, rounded to the allocator's granule.
"""

import re
from pathlib import Path

import pytest

from tilewright.memory import TmemScales, TmemTile
from tilewright.memory.targets import TMEM_ALLOCATION_GRANULE
from tilewright.memory.units import TmemLayout, align_up, tmem_rows, tmem_unit

pytest.importorskip("triton", reason="the allocator to compare with is Triton's")

BITS = {"f32": 32, "f16": 16, "i8": 8}

ONE_CTA = [
    (128, 128, "f32", TmemTile(128, 128)),
    (128, 64, "f16", TmemTile(128, 64)),
    (128, 64, "f16", TmemTile(128, 64, col_stride=2)),
    (128, 1, "f32", TmemTile(128, 1)),
    (128, 1, "f16", TmemTile(128, 1)),
    (64, 128, "f32", TmemTile(64, 128)),
    (64, 128, "f32", TmemTile(64, 64)),
    (128, 128, "f32", TmemTile(64, 128)),
    (128, 128, "f32", TmemTile(64, 64)),
    (256, 64, "f32", TmemTile(128, 64)),
    (256, 64, "f32", TmemTile(64, 64)),
    (128, 4, "i8", TmemScales()),
    (128, 16, "i8", TmemScales()),
    (256, 8, "i8", TmemScales()),
]

TWO_CTAS = [
    (64, 64, "f32", TmemTile(64, 64, two_ctas=True)),
    (64, 128, "f16", TmemTile(64, 128, col_stride=2, two_ctas=True)),
    (128, 128, "f32", TmemTile(64, 128, two_ctas=True)),
    (128, 64, "f32", TmemTile(128, 64, two_ctas=True)),
    (256, 64, "f32", TmemTile(128, 64, two_ctas=True)),
]


def encoding(layout: TmemLayout) -> str:
    if isinstance(layout, TmemScales):
        return "#ttng.tensor_memory_scales_encoding<>"
    assert isinstance(layout, TmemTile)
    pair = ", CGALayout = [[1, 0]], twoCTAs = true" if layout.two_ctas else ""
    return (
        f"#ttng.tensor_memory_encoding<blockM = {layout.block_m}, blockN = {layout.block_n}, "
        f"colStride = {layout.col_stride}{pair}>"
    )


def module(rows: int, columns: int, element: str, layout: TmemLayout, ctas: int) -> str:
    # Triton's types describe the tensor of all CTAs, cut along the rows here.
    memdesc = f"!ttg.memdesc<{rows * ctas}x{columns}x{element}, #e, #ttng.tensor_memory, mutable>"
    return f"""
#e = {encoding(layout)}
module attributes {{"ttg.num-warps" = 4 : i32, "ttg.num-ctas" = {ctas} : i32,
                   "ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:100"}} {{
  tt.func public @f() {{
    %a = ttng.tmem_alloc : () -> {memdesc}
    %b = ttng.tmem_alloc : () -> {memdesc}
    ttg.warp_specialize(%a, %b)
    default {{
      ttg.warp_yield
    }}
    partition0(%x: {memdesc}, %y: {memdesc}) num_warps(1) {{
      ttg.warp_return
    }} : ({memdesc}, {memdesc}) -> ()
    tt.return
  }}
}}
"""


def second_offset(text: str, folder: Path) -> tuple[int, int]:
    """Column and row at which Triton puts the second of two allocations."""
    from triton._C.libtriton import ir, nvidia

    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    file = folder / "module.mlir"
    file.write_text(text, encoding="utf-8")
    parsed = ir.parse_mlir_module(str(file), context)
    parsed.context = context
    passes = ir.pass_manager(context)
    nvidia.passes.ttnvgpuir.add_allocate_tensor_memory(passes)
    passes.run(parsed, "allocate_tensor_memory")
    columns, rows = (
        [int(number) for number in re.findall(rf"tensor_memory_{word}_offset = (\d+)", str(parsed))]
        for word in ("col", "row")
    )
    assert (columns[0], rows[0]) == (0, 0)
    return columns[1], rows[1]


@pytest.mark.parametrize(
    ("rows", "columns", "element", "layout", "ctas"),
    [(*case, 1) for case in ONE_CTA] + [(*case, 2) for case in TWO_CTAS],
)
def test_columns_are_those_of_triton(
    rows: int, columns: int, element: str, layout: TmemLayout, ctas: int, tmp_path: Path
):
    found = second_offset(module(rows, columns, element, layout, ctas), tmp_path)
    unit = tmem_unit(rows, columns, BITS[element], layout)
    if tmem_rows(rows, columns, layout) == 64:
        # Two tiles of half height share their columns.
        assert found == (0, 16)
    else:
        assert found == (align_up(unit, TMEM_ALLOCATION_GRANULE), 0)
