"""Finished kernels are proved on every compile; almost every way to break one is caught.

The mutants are those of the thread level's executor, in `tests/targets/numpy/simt`, which runs them
with data and is the judge here: what it finds wrong, or hanging, has to be reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.examples.tile_examples import FOLDER, NAMES
from tests.passes.gpu.features import FEATURES
from tests.targets.numpy.simt.mutants import (
    MUTATIONS,
    Arrays,
    Mutant,
    Subject,
    catch,
    mutants_of,
    subjects,
)
from tests.targets.numpy.simt.simt_support import HEADER, lowered
from tests.targets.numpy.simt.test_mutations import KERNELS
from tilewright import T
from tilewright.analysis.thread_sync import FaultKind, check
from tilewright.analysis.thread_sync.run import Launch, compile_kernel, run
from tilewright.analysis.thread_sync.state import Budget
from tilewright.dialects import make_context
from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.passes.gpu.check_thread_sync import NOT_CHECKED, CheckThreadSync
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import SimtOptions

PATHS = {
    "roles": GpuPipeline(),
    "no roles": GpuPipeline(warp_specialize=False),
    "no wgmma": GpuPipeline(wgmma=False),
    "sm_80": GpuPipeline(target="cuda:sm_80"),
}
OF_DATA = (
    *("shift a swizzle", "drop a tensor map's swizzle", "forget to swizzle an address"),
    *("shift an operand", "skip a copy"),
)
"""Mistakes after which threads wait where they should, for the wrong data."""
OF_ORDER = tuple(each for each in MUTATIONS if each not in OF_DATA)
GOLDEN = Path(__file__).with_name("check_thread_sync.txt")
LEAST_MUTANTS, LEAST_SHARE = 300, 0.95


def reported(module: ModuleOp) -> tuple[list[Diagnostic], DiagnosticEngine]:
    engine = DiagnosticEngine()
    CheckThreadSync().run(module, engine)
    engine.flush()
    return list(engine.diagnostics), engine


def codes(module: ModuleOp) -> list[str | None]:
    return [each.code for each in reported(module)[0]]


@cache
def gemm() -> Subject:
    (subject,) = subjects("gemm_relu")
    return subject


@cache
def gemm_results() -> Arrays:
    return gemm().run(gemm().module, SimtOptions())


def broken(module: ModuleOp, mutation: str) -> list[Mutant]:
    return [each for each in mutants_of(module) if each.mutation == mutation]


# -- what is right -----------------------------------------------------------------------------


def test_every_compile_is_checked_unless_the_author_answers_for_it() -> None:
    order = [each.name for each in GpuPipeline().passes()]
    for moves_something in ("narrow-producers", "unswitch-loops", "unroll-loops", "merge-guards"):
        assert order.index(moves_something) < order.index(CheckThreadSync.name)
    left = GpuPipeline(leave_out=("insert-thread-syncs",)).passes()
    assert CheckThreadSync() not in left


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["gemm_relu", "split_k"])
def test_nothing_is_wrong(name: str, path: str) -> None:
    for subject in subjects(name, PATHS[path]):
        assert codes(subject.module) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_with_any_example(name: str, path: str) -> None:
    try:
        found = subjects(name, PATHS[path])
    except CompileError as error:
        # Tiles for an H200, or chosen on one.
        assert name in ("gemm", "autotuned_gemm")
        assert path == "sm_80"
        assert "TW5001" in str(error)
        return
    for subject in found:
        assert codes(subject.module) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", FEATURES)
def test_nothing_is_wrong_with_any_feature(name: str, path: str) -> None:
    module = lowered(FEATURES[name].func.module.clone(), PATHS[path])
    assert [verdict.fault for verdict in check(module)] == [None]


# -- what is wrong -----------------------------------------------------------------------------


def judged(
    subject: Subject, wanted: Arrays, mutants: list[Mutant]
) -> Iterator[tuple[Mutant, str | None, bool]]:
    """Mutants, what the executor says of each, and whether it is reported."""
    for mutant in mutants:
        module = mutant.apply(subject.module)
        verdict = catch(subject, wanted, module)
        yield mutant, verdict, any(each.fault is not None for each in check(module))


@pytest.mark.parametrize("mutation", OF_ORDER)
def test_sample(mutation: str) -> None:
    mutants = broken(gemm().module, mutation)[:1]
    for mutant, verdict, is_reported in judged(gemm(), gemm_results(), mutants):
        assert is_reported or verdict is None, mutant


@pytest.mark.slow
def test_all_mutants() -> None:
    caught: list[Mutant] = []
    missed: list[tuple[str, Mutant, str]] = []
    for name, pipeline in KERNELS:
        for subject in subjects(name, pipeline):
            mutants = [each for each in mutants_of(subject.module) if each.mutation in OF_ORDER]
            wanted = subject.run(subject.module, SimtOptions())
            for mutant, verdict, is_reported in judged(subject, wanted, mutants):
                if is_reported:
                    caught.append(mutant)
                elif verdict is not None:
                    missed.append((subject.name, mutant, verdict))
    total = len(caught) + len(missed)
    assert total >= LEAST_MUTANTS
    assert len(caught) >= LEAST_SHARE * total, missed


KINDS = {
    "halve expected bytes": FaultKind.BYTES,
    "count more arrivals": FaultKind.COUNT,
    "count fewer arrivals": FaultKind.COUNT,
    "remove a sync": FaultKind.RACE,
    "skip an arrival": FaultKind.DEADLOCK,
    "drop a fence": FaultKind.FENCE,
}


@pytest.mark.parametrize("mutation", KINDS)
def test_the_fault_is_named(mutation: str) -> None:
    module = gemm().module
    found = {
        verdict.fault.kind
        for mutant in broken(module, mutation)
        for verdict in check(mutant.apply(module))
        if verdict.fault is not None
    }
    assert KINDS[mutation] in found


def test_messages(request: pytest.FixtureRequest) -> None:
    """What an author reads: the two lines, and the bytes that they share."""
    module, shown = gemm().module, list[str]()
    for mutation in ("remove a sync", "halve expected bytes", "drop a wait", "flip a parity"):
        diagnostics, engine = reported(broken(module, mutation)[-1].apply(module))
        text = pretty_all(diagnostics, engine.sources).replace(f"{FOLDER}{os.sep}", "")
        shown.append(f"-- {mutation}\n{text}\n")
    found = "\n".join(shown)
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_the_codes_are_documented() -> None:
    page = (FOLDER.parents[1] / "docs" / "gpu.md").read_text(encoding="utf-8")
    count = len(FaultKind)
    # The last one is never the author's: he does not choose where buffers lie.
    assert f"TW9021–TW902{count}, TW4081–TW408{count - 1}" in page
    assert f"({NOT_CHECKED})" in page


# -- numbers that only the caller knows --------------------------------------------------------

SHIFTED = """
module {{
  func.func public @main(%In: memref<?xf32, #global>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %blocks = {blocks}
    simt.launch @kernel grid(%blocks, %c1, %c1) args(%In) : memref<?xf32, #global>
    func.return
  }}
  func.func @kernel(%In: memref<?xf32, #global>) attributes {{
      simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = 4096 : i64}} {{
    %one = arith.constant 1.0 : f32
    %tid = gpu.thread_id x
    %bx = gpu.block_id x
    %all = tile.alloc "all" offset 0 : memref<1024xf32, #shared>
    %low = tile.alloc "low" offset 0 : memref<256xf32, #shared>
    %high = tile.alloc "high" offset 1024 : memref<768xf32, #shared>
    %far = arith.constant 766 : index
    %last = arith.subi %far, %tid : index
    memref.store %one, %high[%last] : memref<768xf32, #shared>
    %where = arith.addi %bx, %tid : index
    memref.store %one, %low[%where] : memref<256xf32, #shared>
    func.return
  }}
}}"""
"""Each block writes a little further into `low`; behind it lies `high`."""


def shifted(blocks: str) -> ModuleOp:
    engine = DiagnosticEngine()
    text = HEADER + SHIFTED.format(blocks=blocks)
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    return source.module


def test_a_grid_that_is_made_up_leads_nobody_into_another_buffer() -> None:
    """The caller may have a few blocks only: whether `low` is left is for the run to say."""
    assert codes(shifted("memref.dim %In, %c0 : memref<?xf32, #global>")) == []


@pytest.mark.parametrize(("blocks", "found"), [(129, []), (130, ["TW9028"]), (250, ["TW9028"])])
def test_a_grid_that_is_known_does(blocks: int, found: list[str]) -> None:
    assert codes(shifted(f"arith.constant {blocks} : index")) == found


def ring(index: str, blocks: str) -> ModuleOp:
    """Threads write the second slot of a ring, and the first one from an index on."""
    text = f"""{HEADER}
module {{
  func.func public @main(%In: memref<?xf32, #global>, %Ids: memref<4xi32, #global>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %blocks = {blocks}
    simt.launch @kernel grid(%blocks, %c1, %c1) args(%blocks, %Ids)
      : index, memref<4xi32, #global>
    func.return
  }}
  func.func @kernel(%n: index, %Ids: memref<4xi32, #global>) attributes {{
      simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = 8192 : i64}} {{
    %one = arith.constant 1.0 : f32
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %tid = gpu.thread_id x
    %bx = gpu.block_id x
    %c7 = arith.constant 7 : index
    %far = arith.divui %bx, %c7 : index
    %s = tile.alloc "s" offset 0 : memref<2048xf32, #shared>
    %behind = arith.addi %c128, %tid : index
    memref.store %one, %s[%behind] : memref<2048xf32, #shared>
    %0 = memref.load %Ids[%c1] : memref<4xi32, #global>
    %element = arith.index_cast %0 : i32 to index
    %next = arith.addi %element, %c1 : index
    %where = arith.addi %tid, {index} : index
    memref.store %one, %s[%where] : memref<2048xf32, #shared>
    func.return
  }}
}}"""
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, "kernel.mlir", engine)
    assert source is not None, pretty_all(engine.diagnostics, engine.sources)
    return source.module


GIVEN, FIXED = "memref.dim %In, %c0 : memref<?xf32, #global>", "arith.constant 4 : index"


@pytest.mark.parametrize(
    ("index", "blocks", "found"),
    [
        ("%bx", FIXED, ["TW9021"]),
        ("%c1", GIVEN, ["TW9021"]),  # whoever calls
        ("%bx", GIVEN, ["TW9021"]),  # found in the block beside the first
        ("%n", GIVEN, ["TW9021"]),  # found with one block
        ("%far", GIVEN, []),  # only in a block so far off that the caller may not have it
        ("%far", FIXED, []),
        ("%element", FIXED, []),  # only if the tensor holds 1 or more there
        ("%next", FIXED, ["TW9021"]),  # whatever it holds
    ],
)
def test_numbers_that_are_made_up_prove_something_if_they_are_small(
    index: str, blocks: str, found: list[str]
) -> None:
    assert codes(ring(index, blocks)) == found


# -- how much is run ---------------------------------------------------------------------------


def product(depth: int) -> ModuleOp:
    @T.prim_func
    def kernel(
        A: T.Tensor((64, depth), "float16"),
        B: T.Tensor((depth, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.clear(C_local)
            for k in T.Pipelined(depth // 32, num_stages=3):
                T.copy(A[0, k * 32], A_shared)
                T.copy(B[k * 32, 0], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C)

    return lowered(kernel.module)


def kernel_of(module: ModuleOp) -> FuncOp:
    (found,) = (
        op for op in module.body.ops if isinstance(op, FuncOp) and names.KERNEL in op.attributes
    )
    return found


def test_long_loops_cost_no_more_than_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[int] = []
    spend = Budget.spend

    def counted(self: Budget, op: object, steps: int) -> None:
        spent.append(steps)
        spend(self, op, steps)  # type: ignore[arg-type]

    monkeypatch.setattr(Budget, "spend", counted)
    turns: list[int] = []
    for depth in (32 * 7, 32 * 1000):
        spent.clear()
        assert run(compile_kernel(kernel_of(product(depth))), Launch()).fault is None
        turns.append(len(spent))
    assert turns[1] <= 2 * turns[0]


def test_a_mistake_at_the_end_of_a_long_loop_is_found() -> None:
    """The last turns are run with the indices that they have."""
    module = product(32 * 1000)
    for mutant in broken(module, "flip a parity"):
        assert codes(mutant.apply(module)) != []
