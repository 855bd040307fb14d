"""Modules of ours become machine code: by both ways, with their options, errors and facts."""

import re

import pytest

from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.ir.traversal import walk
from tilewright.targets import store
from tilewright.targets.triton import installation, lowering, processes
from tilewright.targets.triton.artefact import read_artefact
from tilewright.targets.triton.compile import compile_module
from tilewright.targets.triton.lowering import kind_of

from .support import CORPUS, RING, SCALE, parse

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def no_build(*_):
    raise AssertionError("it is on disk, and was compiled again")


def scale(**options):
    return compile_module(parse(SCALE), capability=90, **options)


def entry(ptx: str) -> str:
    """The kernel's signature and what is asked of a launch."""
    found = re.search(r"\.visible \.entry.*?^\{", ptx, re.DOTALL | re.MULTILINE)
    assert found
    return found[0]


# -- the short way -------------------------------------------------------------------------------


def test_a_plain_kernel_with_every_stage():
    artefact = scale()
    assert artefact.name == "scale"
    assert list(artefact.asm) == ["ttir", "ttir.final", "ttgir.final", "llir", "ptx", "cubin"]
    assert artefact.cubin.startswith(b"\x7fELF")
    assert "tt.load" in artefact.text("ttir")
    assert "#ttg.blocked" in artefact.text("ttgir.final")
    assert ".target sm_90a" in artefact.text("ptx")
    facts = artefact.metadata
    assert facts.parameters == ("ptr", "ptr", "i32", "f32", "scratch", "profile")
    assert (facts.num_warps, facts.threads, facts.shared) == (4, 128, 0)
    assert facts.registers > 0
    assert facts.spill_bytes == 0
    assert facts.compiler.startswith(f"Triton {installation.installed()}, ptxas ")


def test_lines_of_the_source_are_in_the_machine_code():
    assert re.search(r'\.file\s+1 ".*kernel\.mlir"', scale().text("ptx"))
    assert b"kernel.mlir" in scale().cubin


def test_options_reach_the_machine_code():
    assert ".reqntid 256" in entry(scale(num_warps=8).text("ptx"))
    assert ".maxnreg 64" in entry(scale(maxnreg=64).text("ptx"))
    assert "fma.rn" in scale().text("ptx")
    assert "fma.rn" not in scale(enable_fp_fusion=False).text("ptx")
    assert scale(pdl=True, cooperative=True).metadata.pdl
    assert scale(cluster=(2, 1, 1)).metadata.cluster == (2, 1, 1)


@pytest.mark.parametrize("capability", [80, 100])
def test_other_chips(capability):
    ptx = compile_module(parse(SCALE), capability=capability).text("ptx")
    assert f".target sm_{capability}" in ptx


def bytes_of_triton(text: str) -> bytes:
    """What Triton makes of the text when it is driven as its own tests drive it."""
    from tests.dumps.consumer import build

    options = {"num_warps": 4, "num_stages": 3, "num_ctas": 1}
    return build(text, "source.ttir", "sm90", options)


@pytest.mark.parametrize("name", ["softmax_row", "matmul_tma", "noinline_rowsum"])
def test_it_is_the_machine_code_of_triton_itself(name):
    module = parse((CORPUS / f"{name}.ttir").read_text())
    text = installation.spelling_of(print_module, module)
    assert compile_module(module, capability=90).cubin == bytes_of_triton(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["flash_attn_fwd", "layernorm_fwd", "matmul_grouped", "transpose_2d", "vector_add"]
)
def test_more_of_it_is_the_machine_code_of_triton_itself(name):
    test_it_is_the_machine_code_of_triton_itself(name)


# -- the authored way ----------------------------------------------------------------------------


def test_ttgir_is_finished_and_not_rearranged():
    module = parse(RING.read_text())
    artefact = compile_module(module, capability=90)
    facts = artefact.metadata
    # The ring with its aliased output tile, the barriers, and what warps need to meet.
    assert 131072 + 8 * 8 <= facts.shared < 131072 + 256
    assert facts.num_warps == 8
    maps = facts.tensor_maps
    assert [each.box for each in maps] == [(128, 64), (64, 64), (128, 32)]
    assert [(each.swizzle_bytes, each.element_bytes, each.cuda_type) for each in maps] == [
        (128, 2, 6),
        (128, 2, 6),
        (128, 4, 7),
    ]
    kept = (
        "ttng.async_tma_copy",
        "ttng.wait_barrier",
        "ttng.warp_group_dot ",
        "ttg.warp_specialize(",
    )
    for word in kept:
        assert artefact.text("ttgir.final").count(word) == artefact.text("ttgir").count(word) > 0
    assert "tlx." not in artefact.text("ttgir")
    # The module of the caller is as it was.
    assert any(op.name.startswith("tlx.") for op in walk(module))


def test_kinds_of_modules():
    assert kind_of(parse(SCALE)) == "plain"
    assert kind_of(parse(RING.read_text())) == "ttgir"
    authored = SCALE.replace("%at = tt.make_range", "ttg.barrier local\n    %at = tt.make_range")
    assert kind_of(parse(authored)) == "tlx"
    debugged = authored.replace("ttg.barrier local", "ttg.barrier all")  # tl.debug_barrier
    assert kind_of(parse(debugged)) == "plain"


# -- errors --------------------------------------------------------------------------------------


NARROW_COPY = """\
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!buffer = !ttg.memdesc<128xf16, #flat, #smem, mutable>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @narrow(%x: !tt.ptr<f16>) {
    %p = tt.splat %x : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
    %b = ttg.local_alloc : () -> !buffer
    %t = ttg.async_copy_global_to_local %p, %b : tensor<128x!tt.ptr<f16>, #blocked> -> !buffer
    tt.return
  }
}
"""


def test_triton_s_errors_are_at_the_author_s_line():
    engine = DiagnosticEngine()
    with pytest.raises(CompileError) as caught:
        compile_module(parse(NARROW_COPY, "narrow.mlir", engine), capability=90, engine=engine)
    head, line, mark = str(caught.value).splitlines()[:3]
    assert head.startswith(
        "narrow.mlir:9:10: error[TW6202]: cp.async does not support transfers smaller than 4 bytes"
    )
    assert line.startswith("  9 |     %t = ttg.async_copy_global_to_local %p, %b")
    assert mark.startswith("    |          ^")


def test_a_dying_compiler_is_an_error_of_the_kernel(monkeypatch):
    """LLVM ends the process over instructions the chip does not have; ours goes on."""
    text = RING.read_text().replace("cuda:90", "cuda:100")
    with pytest.raises(
        CompileError, match=r"TW6211.*ttng.warp_group_dot is not available on sm_100"
    ):
        compile_module(parse(text), capability=100)
    monkeypatch.setattr(lowering, "refuse_missing_instructions", lambda *_: None)
    with pytest.raises(CompileError) as caught:
        compile_module(parse(text), capability=100)
    message = str(caught.value)
    assert "Triton failed in the compiler process: it exited with SIGABRT" in message
    assert "LLVM ERROR: Cannot select" in message
    assert scale(num_warps=2).cubin.startswith(b"\x7fELF")


def test_ttgir_for_another_chip_is_refused():
    with pytest.raises(CompileError, match=r"TW6208.*is for cuda:90, the target is sm_100"):
        compile_module(parse(RING.read_text()), capability=100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_warps": 3}, "Triton failed in stage options: num_warps must be a power of 2"),
        ({"num_ctas": 2, "capability": 80}, "failed in stage options: num_ctas > 1 requires"),
        ({"capability": 12}, "has no target sm_12: use another one, for example triton:sm_90"),
    ],
)
def test_options_that_triton_refuses(options, message):
    with pytest.raises(CompileError) as caught:
        compile_module(parse(SCALE), **{"capability": 90, **options})
    assert str(caught.value).startswith("kernel.mlir:2:3: error[TW6")
    assert message in str(caught.value)


def test_a_module_has_one_kernel():
    two = SCALE.replace("@scale", "@other")[len("module {\n") : -len("}\n")]
    text = SCALE[: -len("}\n")] + two + "}\n"
    with pytest.raises(CompileError, match=r"TW6207.*one public function, found @scale, @other"):
        compile_module(parse(text), capability=90)


def test_an_assembler_that_refuses(monkeypatch):
    def failing(*_):
        raise processes.PtxasFailed("ptxas fatal : bad instruction")

    monkeypatch.setattr(processes, "build", failing)
    with pytest.raises(CompileError, match=r"TW6203.*ptxas fatal : bad instruction"):
        scale(num_stages=7)


# -- remarks -------------------------------------------------------------------------------------


def test_resources_are_remarked_also_from_disk(fresh_cache):
    for _ in range(2):
        engine = DiagnosticEngine()
        artefact = compile_module(parse(SCALE), capability=90, engine=engine)
        (said,) = engine.diagnostics
        assert said.code == "TW6206"
        assert said.message == (
            f"scale: {artefact.metadata.registers} registers, 0 B of shared memory, 128 threads"
        )
        assert str(said.trail.primary) == "kernel.mlir:2:3"


def test_more_shared_memory_than_there_is():
    module = parse((CORPUS / "matmul_grouped.ttir").read_text())
    engine = DiagnosticEngine()
    artefact = compile_module(module, capability=90, num_stages=6, engine=engine)
    assert artefact.metadata.shared > 232448
    (said,) = [each for each in engine.diagnostics if each.code == "TW6210"]
    assert said.message.startswith(
        f"{artefact.name}: {artefact.metadata.shared} B of shared memory needed, 232448 available on sm_90"
    )


def test_more_threads_than_there_are():
    engine = DiagnosticEngine()
    compile_module(parse(SCALE), capability=90, num_warps=64, engine=engine)
    (said,) = [each for each in engine.diagnostics if each.code == "TW6210"]
    wanted = "scale: 2048 threads per block, limit 1024: the launch will fail"
    assert said.message.startswith(wanted)


def test_spills_are_remarked():
    engine = DiagnosticEngine()
    attention = (CORPUS / "flash_attn_fwd.ttir").read_text()
    artefact = compile_module(parse(attention), capability=90, maxnreg=96, engine=engine)
    assert artefact.metadata.spill_bytes > 0
    assert artefact.metadata.registers == 96
    (said,) = [each for each in engine.diagnostics if each.code == "TW6205"]
    assert f"{artefact.metadata.spill_bytes} B of registers spill to local memory" in said.message


def test_an_unknown_release_is_remarked(monkeypatch):
    monkeypatch.setattr(installation, "installed", lambda: "3.10.1")
    engine = DiagnosticEngine()
    compile_module(parse(SCALE), capability=90, engine=engine)
    (said,) = [each for each in engine.diagnostics if each.code == "TW6204"]
    assert "Triton 3.10.1 has not been tested" in said.message
    assert said.message.endswith("treated as Triton 3.9")


# -- the disk ------------------------------------------------------------------------------------


def test_the_second_time_comes_from_disk(fresh_cache, monkeypatch):
    first = scale()
    monkeypatch.setattr(processes, "build", no_build)
    again = scale()
    assert again == first
    with pytest.raises(AssertionError, match="compiled again"):
        scale(num_warps=8)
    monkeypatch.setenv("TRITON_SOMETHING", "1")
    with pytest.raises(AssertionError, match="compiled again"):
        scale()


def test_a_damaged_artefact_is_made_again(fresh_cache):
    first = scale()
    (path,) = fresh_cache.glob("*/artefacts-*")
    path.write_bytes(path.read_bytes()[:-100])
    again = scale()
    assert again.cubin == first.cubin
    assert store.load("artefacts", first.key) is not None


def test_texts_are_read_when_asked_for(fresh_cache, monkeypatch):
    first = scale()
    again = read_artefact(first.key)
    assert again == first
    third = read_artefact(first.key)
    (texts,) = fresh_cache.glob("*/stages-*")
    texts.write_bytes(b"damaged")
    # A launch needs none of them.
    assert third.cubin == first.cubin
    assert list(third.asm) == list(first.asm)
    with pytest.raises(KeyError):
        third.asm["sass"]
    with pytest.raises(RuntimeError, match="no longer in the disk cache"):
        third.text("ptx")
    # Without them it does not count as stored, and is made again.
    assert read_artefact(first.key) is None
    assert scale().text("ptx") == first.text("ptx")
    assert read_artefact(first.key) == first


def test_inline_compilation_gives_the_same(fresh_cache, monkeypatch):
    first = scale()
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(fresh_cache / "other"))
    monkeypatch.setenv("TILEWRIGHT_COMPILE", "inline")
    assert scale().cubin.startswith(b"\x7fELF")
    assert scale().text("ttgir.final").count("tt.load") == first.text("ttgir.final").count(
        "tt.load"
    )
