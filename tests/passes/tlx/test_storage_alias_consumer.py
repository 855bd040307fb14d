"""Triton reads what lowering makes, and builds machine code from it.

After ``tlx-rewrite-local-alias`` nothing of ``tlx`` is left, so the installed Triton, which does not
know that dialect, can judge: it parses and verifies every view, gives each allocation its address and
compiles the kernel. What it takes of shared and tensor memory is what was planned, to the byte.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.passes.pass_support import parse
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes import PASSES

pytest.importorskip("triton", reason="the binaries are built with Triton, which is not installed")

import triton

from tests.dumps.case import TARGETS
from tests.dumps.consumer import build, canonical_text

EXAMPLES = Path(__file__).parents[3] / "examples" / "storage_alias"
LOWER = "tlx-storage-alias-lowering,tlx-verify-storage-alias,tlx-rewrite-local-alias"

KERNELS = {
    "hopper_gemm_ring": "sm90",
    "fa_forward_2slices_bf16_d64": "sm100",
}
MORE = {
    f"fa_forward_{slices}slices_{dtype}_d{dim}": "sm100"
    for slices in (2, 4)
    for dtype in ("bf16", "fp8")
    for dim in (64, 128)
}


def lowered(text: str, pipeline: str = LOWER) -> str:
    module, engine = parse(text), DiagnosticEngine()
    assert Pipeline.build(parse_pipeline(pipeline), PASSES).run(module, engine)
    assert verify(module, engine)
    engine.raise_if_errors()
    assert not any(op.name.startswith("tlx.") for op in walk(module))
    text = print_module(module)
    assert "tlx." not in text
    return text


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_becomes_machine_code(name: str):
    text = lowered((EXAMPLES / f"{name}.mlir").read_text())
    assert build(text, "ttgir", KERNELS[name], {}).startswith(b"\x7fELF")


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_more_kernels_become_machine_code(name: str):
    text = lowered((EXAMPLES / f"{name}.mlir").read_text())
    assert build(text, "ttgir", MORE[name], {}).startswith(b"\x7fELF")


HEAD = """\
#blocked = #ttg.blocked<{{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}}>
#s = #ttg.swizzled_shared<{{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:{target}", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @k(%p: !tt.ptr<f16>, %i: i32) {{
    %x = arith.constant dense<1.0> : tensor<64x64xf16, #blocked>
    %spec = tlx.storage_alias_spec storage = smem : !spec
"""
TAIL = """\
    %q = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #blocked>
    tt.store %q, %y : tensor<64x64x!tt.ptr<f16>, #blocked>
    tt.return
  }
}
"""


def small_kernel(target: int, counts: Sequence[int], groups: Sequence[str], read: int) -> str:
    """Buffers of 64 x 64 halves: every one is written at ``%i``, one is read back."""
    lines: list[str] = []
    one = "!ttg.memdesc<64x64xf16, #s, #smem, mutable>"
    types = [f"!ttg.memdesc<{count}x64x64xf16, #s, #smem, mutable>" for count in counts]
    for number, type in enumerate(types):
        lines.append(f"%b{number} = tlx.storage_alias_local_alloc %spec : !spec -> {type}")
    lines += groups
    for number, type in enumerate(types):
        lines += [
            f"%t{number} = ttg.memdesc_index %b{number}[%i] : {type} -> {one}",
            f"ttg.local_store %x, %t{number} : tensor<64x64xf16, #blocked> -> {one}",
        ]
    lines.append(f"%y = ttg.local_load %t{read} : {one} -> tensor<64x64xf16, #blocked>")
    body = "".join(f"    {line}\n" for line in lines)
    for number, type in enumerate(types):
        body = body.replace(f"!b{number}!", type)
    return HEAD.format(target=target) + body + TAIL


G = "!tlx.reuse_group<{}>".format
SET = "tlx.set_buffer_overlap(%spec, %g) : (!spec, {}) -> ()".format
SMALL = {
    "distinct": (
        [2, 2, 2],
        [
            f"%g = tlx.reuse_group(%b0, %b1, %b2) group_kind = distinct : (!b0!, !b1!, !b2!) -> {G('distinct')}",
            SET(G("distinct")),
        ],
        # Three times two buffers of 8192 bytes: 49152, which is no power of two.
        49152,
    ),
    "sub_tiles": (
        [2, 4],
        [
            f"%h = tlx.reuse_group(%b1) group_kind = shared, group_size = 2 : (!b1!) -> {G('shared')}",
            f"%g = tlx.reuse_group(%b0, %h) group_kind = distinct : (!b0!, {G('shared')}) -> {G('distinct')}",
            SET(G("distinct")),
        ],
        49152,
    ),
    "shared": (
        [3, 3],
        [
            f"%g = tlx.reuse_group(%b0, %b1) group_kind = shared : (!b0!, !b1!) -> {G('shared')}",
            SET(G("shared")),
        ],
        24576,
    ),
    "no_overlap": ([5, 1], [], 40960),
}


@pytest.mark.parametrize("target", [90, 100])
@pytest.mark.parametrize("name", SMALL)
def test_memory_is_taken_as_planned(
    name: str, target: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    counts, groups, size = SMALL[name]
    text = lowered(small_kernel(target, counts, groups, len(counts) - 1))
    path = tmp_path / "k.ttgir"
    path.write_text(canonical_text(text))
    options = {"enable_fp_fusion": True}
    compiled = triton.compile(str(path), target=TARGETS[f"sm{target}"], options=options)
    assert compiled.asm["cubin"].startswith(b"\x7fELF")
    assert compiled.metadata.shared == size


def test_views_survive_triton_s_own_printing():
    """What Triton prints of a lowered module is the module again, read by us."""
    text = lowered((EXAMPLES / "hopper_gemm_ring.mlir").read_text())
    again = parse(canonical_text(text))
    names = [op.name for op in walk(again)]
    assert names == [op.name for op in walk(parse(text))]
    assert names.count("ttg.memdesc_reinterpret") == 3


def test_the_wrong_extent_is_refused():
    """The judge is not blind: a view larger than its allocation does not get through."""
    text = lowered((EXAMPLES / "hopper_gemm_ring.mlir").read_text())
    assert "memdesc<131072xi8" in text
    with pytest.raises(RuntimeError):
        canonical_text(text.replace("131072xi8", "65536xi8"))
