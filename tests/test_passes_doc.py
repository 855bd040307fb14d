"""docs/passes.md is what the passes do, and names every pass of TileLang's reference."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from scripts.tilelang_passes import REFERENCE
from tilewright.passes import PASSES
from tilewright.passes.tile.pipeline import TilePipeline

ROOT = Path(__file__).parents[1]

# The tables of the reference: shared passes, GPU, Tenstorrent, emitters.
NAMES = """
BindTarget LetInline AddWrapperForSingleBufStore InjectAssumes Simplify LayoutReducer
LayoutInference LowerTileOp LowerL2Persistent LegalizeVectorizedLoop LegalizeSafeMemoryAccess
LoopVectorizeDynamic LowerSharedBarrier LowerSharedTmem IfStmtBinding MultiVersionBuffer
WarpSpecialized InjectTmaBarrier AnnotateWarpGroupRegAlloc PipelinePlanning InjectSoftwarePipeline
LowerOpaqueBlock MergeIfStmt RewriteWgmmaSync InjectFenceProxy
PlanAndUpdateBufferAllocationLocation NarrowDataType FlattenBuffer ConfigIndexBitwidth VectorizeLoop
StorageRewrite UnrollLoop RenormalizeSplitPattern RemoveNoOp RewriteUnsafeSelect HoistIfThenElse
VerifyMemory AnnotateEntryFunc InferFragment LowerThreadAllreduce LowerHopperIntrin ThreadSync
AnnotateDeviceRegions SplitHostDevice MergeSharedMemoryAllocations InjectPTXAsyncCopy MakePackedAPI
LowerDeviceKernelLaunch PersistThreadblock LowerDeviceStorageAccessInfo LowerIntrin tilelang_cuda
tilelang_hip apply_tt_defaults infer_default_tt_schedule infer_default_tt_shard
grid_to_persistent_tt tt_shard_to_core_map memory_space_lower_tt tile_pad_tt tensorize_tt
rasterization_tt tt_multicast_reuse verify_tt_ir TTReaderCodegenVisitor TTComputeCodegenVisitor
TTWriterCodegenVisitor EmitTTHostProgram EmitTTPlanJSON
""".split()  # noqa: SIM905 - a list of 69 strings is harder to read


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = ROOT / "scripts" / "passes_doc.py"
    spec = importlib.util.spec_from_file_location("passes_doc", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_writes(
    generator: ModuleType, request: pytest.FixtureRequest
) -> None:
    text = generator.page()
    if request.config.getoption("--update-golden"):
        generator.PAGE.write_text(text)
    assert generator.PAGE.read_text() == text


def test_every_pass_of_the_reference_is_accounted_for() -> None:
    assert [entry.name for entry in REFERENCE] == list(dict.fromkeys(e.name for e in REFERENCE))
    assert {entry.name for entry in REFERENCE} == {*NAMES}
    for entry in REFERENCE:
        assert entry.passes or entry.files or entry.note, entry.name
        assert {*entry.passes} <= {*PASSES}, entry.name
        for file in entry.files:
            assert (ROOT / "src" / "tilewright" / file).exists(), file


def test_files_that_the_page_names_exist(generator: ModuleType) -> None:
    named = set(re.findall(r"`(src/[^`]+)`", generator.PAGE.read_text()))
    assert len(named) > 20
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]


def test_every_pass_of_the_tile_pipeline_is_shown_at_work(generator: ModuleType) -> None:
    text = generator.PAGE.read_text()
    for each in TilePipeline(check_races=True, check_pipelines=True).passes():
        assert f"`{each.name}`" in text
        if each.name not in ("canonicalize", "cse"):  # docs of MLIR describe them
            assert f"\n## {each.name}\n" in text
            assert each.name in generator.EXAMPLES


def test_every_pass_for_gpus_is_described(generator: ModuleType) -> None:
    text = generator.PAGE.read_text()
    gpu_passes = generator.gpu_passes()
    assert len(gpu_passes) > 30
    for each in gpu_passes:
        assert f"`{each.name}`" in text
        if each.name != "dce":
            assert f"\n## {each.name}\n" in text
    # A diff of a real kernel, or a kernel of its own.
    shown = [each for each in re.split(r"\n## ", text) if "\n```diff\n" in each]
    assert {each.split("\n", 1)[0] for each in shown} >= {
        "select-tma-stores", "expand-copies", "flatten-memrefs", "guard-memory-accesses",
        "infer-layouts", "insert-thread-syncs", "lower-barriers", "lower-persistent",
        "lower-thread-reductions", "lower-tile-ops", "merge-guards", "outline-kernels",
        "place-shared-memory", "set-warp-registers", "sink-wgmma-waits", "unswitch-loops",
        "vectorize-loops",
    }  # fmt: skip


def test_nothing_of_the_gpu_passes_is_left_for_later() -> None:
    later = [entry.name for entry in REFERENCE if entry.note.startswith("later")]
    assert all("tt" in name.lower() for name in later)
