"""Instructions of a whole wave stay out of branches that only some lanes take.

LLVM before 22 moves WMMA and `v_permlanex16` into such a branch if only its lanes use the result:
the other lanes then take no part, and the result is wrong.
"""

from __future__ import annotations

import re

import pytest

from tests.targets.hip.emit_support import emitted, kernel
from tests.targets.hip.support import CHIPS, needs_clang
from tilewright.targets.hip.clang import assembly

_WAVE = re.compile(r"\s+(v_wmma|v_mfma|v_permlane|v_\w+_dpp|ds_swizzle|ds_bpermute|v_readlane)")


def in_branches(isa: str) -> list[str]:
    """Instructions of a wave after a restriction of the lanes, up to the next label."""
    found: list[str] = []
    restricted = False
    for line in isa.splitlines():
        if "saveexec" in line or "v_cmpx" in line:
            restricted = True
        elif line.startswith(".LBB") or re.search(r"s_(or|mov)_b(32|64) exec", line):
            restricted = False
        elif restricted and _WAVE.match(line):
            found.append(line.strip())
    return found


def test_the_search_finds_one() -> None:
    isa = "\tv_wmma_f32 v0\n\ts_and_saveexec_b32 s0, s1\n; %bb.3:\n\tv_wmma_f32 v1\n.LBB0_4:\n"
    assert in_branches(isa) == ["v_wmma_f32 v1"]


def reduction(wave: int) -> str:
    """The sum of a wave, which its first thread stores."""
    steps: list[str] = []
    value, mask = "%v", 1
    while mask < wave:
        steps.append(
            f"""  %m{mask} = arith.constant {mask} : i32
  %o{mask} = tile.shuffle xor {value}, %m{mask} : f32
  %s{mask} = arith.addf {value}, %o{mask} : f32"""
        )
        value, mask = f"%s{mask}", 2 * mask
    lines = "\n".join(steps)
    return kernel(
        f"""
  %t = gpu.thread_id x
  %v = memref.load %x[%t] : memref<?xf32, #g>
{lines}
  %far = tile.shuffle idx %v, %n : f32
  %first = arith.cmpi eq, %t, %c0 : index
  scf.if %first {{
    memref.store {value}, %y[%c0] : memref<?xf32, #g>
    memref.store %far, %y[%t] : memref<?xf32, #g>
  }}
""",
        "%x: memref<?xf32, #g>, %y: memref<?xf32, #g>, %n: i32",
    )


@needs_clang
@pytest.mark.parametrize("chip", CHIPS)
def test_reductions(chip: str) -> None:
    text = emitted(reduction(64 if chip.startswith("gfx9") else 32), chip).text
    isa = assembly(text, chip)
    assert "_dpp" in isa
    assert in_branches(isa) == []


@needs_clang
@pytest.mark.parametrize(
    ("chip", "op", "shape", "width", "count"),
    [
        ("gfx942", "amd.mfma", "16, 16, 16", 4, 4),
        ("gfx1100", "amd.wmma", "16, 16, 16", 16, 8),
        ("gfx1201", "amd.wmma", "16, 16, 16", 8, 8),
    ],
)
def test_matrix_instructions(chip: str, op: str, shape: str, width: int, count: int) -> None:
    operand, result = f"memref<{width}xf16, #l>", f"memref<{count}xf32, #l>"
    text = kernel(
        f"""
  %t = gpu.thread_id x
  %a = tile.alloc "a" : {operand}
  %c = tile.alloc "c" : {result}
  %v = memref.load %x[%t] : memref<?xf16, #g>
  memref.store %v, %a[%c0] : {operand}
  {op} %a[%c0], %a[%c0] -> %c[%c0] shape [{shape}] : {operand}, {operand} -> {result}
  %inside = arith.cmpi slt, %t, %n : index
  scf.if %inside {{
    %w = memref.load %c[%c0] : {result}
    memref.store %w, %y[%t] : memref<?xf32, #g>
  }}
""",
        "%x: memref<?xf16, #g>, %y: memref<?xf32, #g>, %n: index",
    )
    isa = assembly(emitted(text, chip).text, chip)
    assert re.search(r"v_(mfma|wmma)_", isa)
    assert in_branches(isa) == []
