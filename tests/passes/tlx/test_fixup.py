"""``triton-tlx-fixup``: what it refuses, and what it notes on the module."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from tests.dialects.gpu_text import errors_in, parse
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import PassSpec, build_pass
from tilewright.ir.traversal import walk
from tilewright.passes import PASSES
from tilewright.passes.tlx.fixup import TritonTlxFixup

FACTS = {
    "triton.skip_generic_pipeline",
    "ttg.num-warps",
    "ttg.threads-per-warp",
    "ttg.num-ctas",
    "ttg.target",
}

ALIASES = """\
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#barrier = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
"""
A = "!ttg.memdesc<128x64xf16, #shared, #smem, mutable>"
B = "!ttg.memdesc<64x128xf16, #shared1, #smem, mutable>"
D = "!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>"
MB = "!ttg.memdesc<1xi64, #barrier, #smem, mutable>"
ARGUMENTS = (
    f"%a: {A}, %b: {B}, %d: {D}, %bar: {MB}, %i: i32, %p: i1, %x: tensor<128xf32>, "
    "%w: !ttg.memdesc<128xf32, #barrier, #smem, mutable>"
)

REMOTE = f"%r = ttng.map_to_remote_buffer %bar, %i : {MB} -> {MB.replace('#smem', '#ttng.shared_cluster_memory')}"
ALONE = f"ttng.tc_gen5_mma %a, %b, %d, %p, %p : {A}, {B}, {D}"
PAIRED = ALONE.replace("%p, %p :", "%p, %p {two_ctas} :")
REQUIRE = "%q = tlx.require_layout %x : tensor<128xf32> -> tensor<128xf32, #blocked>"
LOAD = "%v = ttg.local_load %w : !ttg.memdesc<128xf32, #barrier, #smem, mutable> -> tensor<128xf32>"


def tasks(attributes: str = "", captures: str = "", types: str = "") -> str:
    arguments = "" if not captures else f"%c: {types}"
    return (
        f"ttg.warp_specialize({captures}){attributes}\ndefault {{\n  ttg.warp_yield\n}}\n"
        f"partition0({arguments}) num_warps(1) {{\n  ttg.warp_return\n}} : ({types}) -> ()"
    )


def module(body: str) -> ModuleOp:
    made = parse(f"{ALIASES}module {{\ntt.func @f({ARGUMENTS}) {{\n{body}\ntt.return\n}}\n}}")
    assert [error for error in errors_in(made) if "num-warps" not in error] == []
    return made


def run(body: str, **options) -> tuple[ModuleOp, list[str]]:
    """The module after the pass, and what the pass objected to."""
    made, engine = module(body), DiagnosticEngine()
    TritonTlxFixup(**{"target": "cuda:100", **options}).run(made, engine)
    return made, [diagnostic.message for diagnostic in engine.diagnostics]


def marks(body: str, **options) -> set[str]:
    """What the pass notes besides the facts that its options state."""
    made, errors = run(body, **options)
    assert errors == []
    return set(made.attributes) - FACTS


def test_plain_triton_is_left_alone() -> None:
    made, errors = run("")
    assert errors == []
    assert made.attributes == {}


def test_options_become_attributes_of_the_module() -> None:
    made, errors = run(REQUIRE, num_warps=8, threads_per_warp=64, num_ctas=2, target="hip:gfx950")
    assert errors == []
    assert made.attributes["ttg.num-warps"] == IntegerAttr(8, i32)
    assert made.attributes["ttg.threads-per-warp"] == IntegerAttr(64, i32)
    assert made.attributes["ttg.num-ctas"] == IntegerAttr(2, i32)
    assert str(made.attributes["ttg.target"]) == '"hip:gfx950"'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (REQUIRE, {"tlx.has_tlx_ops"}),
        (LOAD, {"tlx.has_explicit_local_mem_access"}),
        (ALONE, {"tlx.has_explicit_local_mem_access"}),
        (tasks(), {"tlx.has_warp_spec_ops"}),
        (PAIRED, {"tlx.has_explicit_local_mem_access", "tlx.enable_paired_cta_mma"}),
        (
            f"{REQUIRE}\n{LOAD}\n{tasks()}",
            {
                "tlx.has_tlx_ops",
                "tlx.has_explicit_local_mem_access",
                "tlx.has_warp_spec_ops",
            },
        ),
    ],
)
def test_contents_are_noted(body: str, expected: set[str]) -> None:
    assert marks(body) == expected


def test_loops_cut_into_stages_are_not_pipelined_again() -> None:
    body = (
        "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n"
        "scf.for %k = %c0 to %i step %c1 : i32 {\n"
        '  rocdl.sched.barrier 0 {triton.warp_pipeline.border = "load"}\n}\n'
        "scf.for %k = %c0 to %i step %c1 : i32 {\n}"
    )
    made, errors = run(body, target="hip:gfx942")
    assert errors == []
    loops = [op for op in walk(made) if op.name == "scf.for"]
    assert loops[0].attributes["tt.num_stages"] == IntegerAttr(0, i32)
    assert "tt.num_stages" not in loops[1].attributes
    assert "tlx.has_warp_pipeline_ops" in made.attributes


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        (
            tasks(captures="%x", types="tensor<128xf32>"),
            {},
            "WarpSpecializeOp should not capture RankedTensorType. Try moving tensor "
            "computation into specific async task.",
        ),
        (REMOTE, {}, "Unexpected buffer remote view in 1cta mode"),
        (REMOTE, {"cluster_dims": (1, 1, 1)}, "Unexpected buffer remote view in 1cta mode"),
        (REMOTE, {"cluster_dims": (2, 1)}, "Expected 3 cluster dimensions, got 2"),
        (PAIRED, {"num_ctas": 2}, "num_ctas should not be set for TLX 2cta mode"),
        (
            f"{PAIRED}\n{ALONE}",
            {},
            "Expecting all dot ops to be 2cta together or 1cta together",
        ),
        (
            f"{tasks(' attributes {tlx.exclusive}')}\n{tasks()}",
            {},
            "tlx.async_tasks(exclusive=True) requires exactly one warp_specialize op in the "
            "module, but found 2",
        ),
    ],
)
def test_rules(body: str, options: dict, message: str) -> None:
    _, errors = run(body, **options)
    assert errors == [message]


def test_a_refused_module_is_not_changed() -> None:
    made, errors = run(f"{REQUIRE}\n{REMOTE}")
    assert len(errors) == 1
    assert made.attributes == {}


def test_buffers_are_remote_in_a_cluster() -> None:
    assert marks(f"{REQUIRE}\n{REMOTE}", cluster_dims=(1, 2, 1)) == {"tlx.has_tlx_ops"}


def test_the_shortest_delay_counts() -> None:
    body = "\n".join(
        tasks(f" attributes {{tlx.mbarrier_try_wait_suspend_ns = {delay} : i32}}")
        for delay in (50000, 30000)
    )
    made, errors = run(f"{body}\n{tasks()}")
    assert errors == []
    assert made.attributes["tlx.mbarrier_try_wait_suspend_ns"] == IntegerAttr(30000, i32)


def test_requests_are_lifted_to_the_module() -> None:
    body = tasks(" attributes {tlx.exclusive, tlx.no_ending_cluster_sync}")
    assert marks(body) == {
        "tlx.has_warp_spec_ops",
        "tlx.exclusive",
        "tlx.user_post_ws_sync",
    }
    assert marks(body, target="hip:gfx942") == {"tlx.has_warp_spec_ops"}


def test_options_are_spelled_with_dashes() -> None:
    options = {"num-warps": "8", "target": "cuda:90", "cluster-dims": "1,2,1"}
    made = build_pass(PassSpec("triton-tlx-fixup", options), PASSES)
    assert made == TritonTlxFixup(target="cuda:90", num_warps=8, cluster_dims=(1, 2, 1))
