"""Kernels of `T`: the analysis agrees with running their blocks."""

from __future__ import annotations

import contextlib
import io
import random
import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr

import tilewright as tw
from tests.analysis.pid_address.support import parse
from tests.analysis.pid_address.tile_oracle import Compared, NotRunnable, compare
from tests.fuzz.tile.generator import generate
from tests.fuzz.tile.running import traced
from tests.sampling import every
from tilewright import T
from tilewright.analysis.pid_address import (
    AccessKind,
    AccessProperties,
    AnalysisError,
    Pattern,
    TileKernel,
    analyze_tile,
    tile_kernels,
)
from tilewright.analysis.pid_address.checks import Check, CheckResult, run_checks
from tilewright.cli import main
from tilewright.dialects.arith import AddiOp, ConstantOp, MuliOp
from tilewright.dialects.tile import AtomicOp, CopyOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.runtime.tile.addresses import observing_launches, tile_launches

EXAMPLES = Path(__file__).parents[3] / "examples" / "tile"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
WHOLE, BATCH = 600, 50


# -- against the oracle --------------------------------------------------------------------------


def launches_of(file: Path) -> list[tuple[TileKernel, AccessProperties]]:
    """The kernels that a script launches, each kind of launch once; none of them runs."""
    found: dict[str, tuple[TileKernel, AccessProperties]] = {}

    def record(compiled, values) -> None:
        for launch in tile_launches(compiled, values):
            found[f"{launch.title} {launch.kernel.op.num_threads}"] = (
                launch.kernel,
                launch.properties,
            )

    quiet = contextlib.redirect_stdout(io.StringIO())
    with observing_launches(record, run=False), quiet, np.errstate(all="ignore"):
        runpy.run_path(str(file), run_name="__main__")
    return list(found.values())


WITHOUT_ADDRESS = {"mlp": 1}
"""Accesses of a kernel of the example to memory of the call (`T.alloc_global`), which no argument describes."""


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", every(2, NAMES))
def test_examples_are_analysed_without_a_false_report(name: str) -> None:
    for kernel, facts in launches_of(EXAMPLES / f"{name}.py"):
        report = analyze_tile(kernel, facts)
        assert report.accesses
        assert len(report.not_analysed) == WITHOUT_ADDRESS.get(name, 0)
        assert all("known about the buffer" in each.reason for each in report.not_analysed)
        findings = run_checks(report, ["race", "bounds"])
        assert [str(finding) for finding in findings if finding.is_violation] == []
        with contextlib.suppress(NotRunnable):
            assert compare(kernel, facts).wrong == []


def compared(seed: int, family: str, change: random.Random | None = None) -> Iterator[Compared]:
    case = generate(seed, family)
    module = traced(case).module
    if change is not None:
        mutate(module, change)
    sizes = {
        f"{name}.shape.{dim}": size
        for name, array in case.arrays().items()
        for dim, size in enumerate(array.shape)
    }
    for kernel in tile_kernels(module):
        with contextlib.suppress(NotRunnable):
            yield compare(kernel, AccessProperties(args=sizes))


def mutate(module, rng: random.Random) -> None:
    """Shrink a factor of an address, or move it by one."""
    ops = [
        op
        for op in walk(module)
        if isinstance(op, MuliOp | AddiOp) and isinstance(op.operands[1].owner, ConstantOp)
    ]
    if not ops:
        return
    op = rng.choice(ops)
    constant = op.operands[1].owner.value
    assert isinstance(constant, IntegerAttr)
    step = -1 if isinstance(op, MuliOp) and constant.value.data > 1 else 1
    changed = ConstantOp(IntegerAttr(constant.value.data + step, constant.type))
    op.parent.insert_op_before(changed, op)
    op.operands[1] = changed.result


@pytest.mark.parametrize(("seed", "family"), [*((s, "plain") for s in range(3, 400, 50))])
def test_random_kernels(seed: int, family: str) -> None:
    assert [wrong for one in compared(seed, family) for wrong in one.wrong] == []


@pytest.mark.parametrize("seed", range(7, 400, 60))
def test_random_kernels_of_many_forms(seed: int) -> None:
    assert [wrong for one in compared(seed, "wide") for wrong in one.wrong] == []


def test_random_kernels_with_a_wrong_address() -> None:
    found = [one for seed in range(12) for one in compared(seed, "plain", random.Random(seed))]
    assert [wrong for one in found for wrong in one.wrong] == []
    assert sum(one.refuted for one in found) >= 1
    assert sum(one.decided for one in found) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, WHOLE, BATCH))
@pytest.mark.parametrize("family", ["plain", "wide"])
def test_all_random_kernels(first: int, family: str) -> None:
    wrong: dict[int, list[str]] = {}
    refuted = 0
    for seed in range(first, first + BATCH):
        found = [*compared(seed, family), *compared(seed, family, random.Random(seed))]
        refuted += sum(one.refuted for one in found)
        wrong[seed] = [text for one in found for text in one.wrong]
    assert {seed: texts for seed, texts in wrong.items() if texts} == {}
    assert refuted


# -- findings ------------------------------------------------------------------------------------


@tw.jit
def scaled(A, step=32, shift=0, start=0):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 16), threads=128) as (bx, by):
        tile = T.alloc_fragment((16, 32), "float32")
        T.copy(A[by * 16 + start, bx * 32], tile)
        T.copy(tile, B[by * 16, bx * step + shift])
    return B


def verdicts(report, check: Check = Check.RACE) -> list[CheckResult]:
    return [finding.verdict for finding in report.findings if finding.check is check]


def test_a_tile_copy_is_an_access_by_element() -> None:
    report = tw.analyze(scaled, (np.zeros((64, 96), np.float32),), check=["race", "bounds"])
    load, store = report.accesses
    assert (load.base, store.base) == ("%A", "%B")
    assert (load.kind, store.kind) == (AccessKind.LOAD, AccessKind.STORE)
    assert store.pattern is Pattern.MULTI_AXIS
    assert {axis: str(stride) for axis, stride in store.pid_strides.items()} == {
        0: "128",
        1: "6144",
    }
    assert (store.block_size, store.coalesced, store.vector_bits) == (32, True, 32)
    assert not store.masked
    assert report.grid == (3, 4, 1)
    assert verdicts(report) == [CheckResult.PROVED]
    assert verdicts(report, Check.BOUNDS) == [CheckResult.PROVED] * 2
    assert verdicts(report, Check.GUARD) == []


def test_ragged_tiles_are_clipped() -> None:
    report = tw.analyze(scaled, (np.zeros((60, 90), np.float32),), check=["race", "bounds"])
    assert all(access.masked for access in report.accesses)
    assert verdicts(report) == [CheckResult.PROVED]
    assert verdicts(report, Check.BOUNDS) == [CheckResult.PROVED] * 2
    assert verdicts(report, Check.GUARD) == [CheckResult.REFUTED] * 2
    guards = [each for each in report.findings if each.check is Check.GUARD]
    assert [str(each).partition(" (")[0] for each in guards] == ["guard: needed"] * 2
    others = [
        replace(guards[0], verdict=each) for each in (CheckResult.PROVED, CheckResult.UNKNOWN)
    ]
    assert [str(each).partition(" (")[0] for each in others] == [
        "guard: not needed",
        "guard: unknown",
    ]
    assert not any(finding.is_violation for finding in report.findings)


@pytest.mark.parametrize(("step", "verdict"), [(31, CheckResult.REFUTED), (33, CheckResult.PROVED)])
def test_a_stride_that_is_smaller_than_a_tile_is_a_race(step: int, verdict: CheckResult) -> None:
    A = np.zeros((64, 96), np.float32)
    report = tw.analyze(scaled, (A,), check=["race"], step=step)
    assert verdicts(report) == [verdict]
    if verdict is CheckResult.REFUTED:
        [finding] = report.findings
        assert finding.witness is not None
        first, second = finding.witness.points
        assert (first.program[:2], second.program[:2]) == ((0, 0), (1, 0))
        assert finding.witness.address == 4 * 31


@pytest.mark.parametrize("where", ["shift", "start"])
def test_an_offset_that_was_moved_is_noticed(where: str) -> None:
    A = np.zeros((64, 96), np.float32)
    report = tw.analyze(scaled, (A,), check=["bounds"], **{where: 1})
    assert verdicts(report, Check.GUARD) == [CheckResult.REFUTED]
    [finding] = [each for each in report.findings if each.check is Check.GUARD]
    base = "%B" if where == "shift" else "%A"
    assert f"outside of {base}" in finding.message


@T.prim_func
def split_sum(A: T.Tensor((64, 32), "float32"), C: T.Tensor((32,), "float32")):
    with T.Kernel(4, threads=32) as bx:
        part = T.alloc_fragment((32,), "float32")
        T.copy(A[bx * 16, 0:32], part)
        T.atomic_add(C, part)


def test_an_atomic_that_was_dropped_is_a_race() -> None:
    assert verdicts(tw.analyze(split_sum, check=["race"])) == []
    [kernel] = tile_kernels(split_sum.module.clone())
    [atomic] = [op for op in walk(kernel.op) if isinstance(op, AtomicOp)]
    Rewriter().replace_op(atomic, CopyOp(atomic.value, atomic.dst))
    [finding] = run_checks(analyze_tile(kernel), ["race"])
    assert finding.verdict is CheckResult.REFUTED
    assert "program 0, lane 0 and program 1, lane 0" in finding.message


@tw.jit
def gathered(Ids, A):
    N = T.const("N")
    Ids: T.Tensor((N,), "int32")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(4, threads=32) as bx:
        for i in T.Parallel(32):
            B[Ids[i] + bx] = A[bx * 32 + i]
    return B


def test_loaded_values_differ_between_iterations() -> None:
    index, values = np.arange(128, dtype=np.int32), np.zeros(128, np.float32)
    report = tw.analyze(gathered, (index, values), check=["race"])
    assert verdicts(report) == [CheckResult.UNKNOWN]
    store = report.accesses[-1]
    assert (store.coalesced, store.lane_strides) == (None, (None,))


@tw.jit
def inplace(A, B):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        for i in T.Parallel(32):
            B[bx * 32 + i] = A[bx * 32 + 31 - i + 32]


def test_tensors_in_the_same_memory() -> None:
    x = np.zeros(128, np.float32)
    assert verdicts(tw.analyze(inplace, (x, x.copy()), check=["race"])) == [CheckResult.PROVED]
    assert CheckResult.REFUTED in verdicts(tw.analyze(inplace, (x, x), check=["race"]))


@tw.jit
def by_thread(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(4, threads=32) as bx:
        thread = T.get_thread_binding()
        B[bx * 32 + thread] = A[bx * 32 + thread]
    return B


def test_threads_are_iterations() -> None:
    report = tw.analyze(by_thread, (np.zeros(128, np.float32),), check=["race"])
    assert verdicts(report) == [CheckResult.PROVED]
    assert [str(access.loop_strides[0].stride) for access in report.accesses] == ["4", "4"]
    assert {access.coalesced for access in report.accesses} == {None}


def test_sizes_that_are_open() -> None:
    @T.prim_func
    def shifted(A: T.Tensor((T.dynamic("n"),), "float32"), k: T.int32):
        with T.Kernel(T.ceildiv(A.shape[0], 64), threads=64) as bx:
            for i in T.Parallel(64):
                A[bx * 64 + i] = T.float32(k)

    report = tw.analyze(shifted, check=["race", "bounds"])
    assert report.grid == (None, 1, 1)
    assert verdicts(report) == [CheckResult.PROVED]
    [bounds] = [finding for finding in report.findings if finding.check is Check.BOUNDS]
    assert bounds.condition == "%A holds at least n elements of 4 bytes"


def test_blocks_that_wait_for_each_other_may_be_ordered() -> None:
    @T.prim_func
    def exchanged(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(4, threads=32) as bx:
            for i in T.Parallel(32):
                A[bx * 32 + i] = 1.0
            T.sync_grid()
            for i in T.Parallel(32):
                B[bx * 32 + i] = A[127 - (bx * 32 + i)]

    report = tw.analyze(exchanged, check=["race"])
    conflicts = [finding for finding in report.findings if finding.witness is not None]
    assert [finding.verdict for finding in conflicts] == [CheckResult.UNKNOWN]
    assert "tile.sync grid may order them" in conflicts[0].message


# -- interfaces ----------------------------------------------------------------------------------


@tw.jit
def twice(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(4, threads=32) as bx:
        for i in T.Parallel(32):
            B[bx * 32 + i] = A[bx * 32 + i]
    with T.Kernel(2, threads=32) as bx:
        for i in T.Parallel(32):
            B[i] = A[bx * 32 + i]
    return B


def test_a_call_that_launches_several_kernels() -> None:
    x = np.zeros(128, np.float32)
    with pytest.raises(AnalysisError, match=r"launches 2 kernels \(twice#0, twice#1\)"):
        tw.analyze(twice, (x,))
    first, second = (tw.analyze(twice, (x,), launch=at, check=["race"]) for at in (0, 1))
    assert (first.kernel, first.grid) == ("twice#0", (4, 1, 1))
    assert (verdicts(first), verdicts(second)) == ([CheckResult.PROVED], [CheckResult.REFUTED])
    with pytest.raises(AnalysisError, match="launch=2"):
        tw.analyze(twice, (x,), launch=2)


def test_a_grid_is_not_taken() -> None:
    with pytest.raises(AnalysisError, match="its own grid"):
        tw.analyze(scaled, (np.zeros((64, 96), np.float32),), grid=(4,))


SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import T


@tw.jit
def rows(A, B):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        for i in T.Parallel(32):
            B[bx * {step} + i] = A[bx * 32 + i]


rows(np.ones(96, np.float32), np.ones(96, np.float32))
rows(np.ones(96, np.float32), np.ones(96, np.float32))
"""


@pytest.mark.parametrize(("step", "code", "verdict"), [(32, 0, "proved"), (16, 1, "refuted")])
def test_scripts_with_tile_kernels(
    tmp_path: Path, capsys, monkeypatch, step: int, code: int, verdict: str
) -> None:
    monkeypatch.setattr("sys.argv", ["tilewright"])
    file = tmp_path / "script.py"
    file.write_text(SCRIPT.format(step=step))
    assert main.run(["analyze", "--check", "race", str(file)]) == code
    out = capsys.readouterr().out
    assert out.count("rows[3, 1, 1](A: 96, B: 96)") == 1
    assert f"race: {verdict} " in out
    assert f"{file}:13:13" in out


def test_text_of_the_tile_level(tmp_path: Path, capsys) -> None:
    file = tmp_path / "kernel.mlir"
    file.write_text(split_sum.script())
    assert main.run(["analyze", "--check", "all", str(file)]) == 0
    assert "%C (atomic): PATTERN(PID_INDEPENDENT" in capsys.readouterr().out
    assert main.run(["analyze", "--grid", "4", str(file)]) == 2
    assert "its own grid" in capsys.readouterr().err


def test_foreign_code_is_not_analysed() -> None:
    @T.prim_func
    def called(A: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=32):
            T.call_extern("handle", "touch", T.address_of(A[0]))

    report = tw.analyze(called, check=["race"])
    assert [each.op for each in report.not_analysed] == ["tile.extern"]
    assert verdicts(report) == [CheckResult.UNKNOWN]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64"])
def test_loaded_values_differ_between_iterations_after_a_conversion(dtype: str) -> None:
    @T.prim_func
    def scattered(Ids: T.Tensor((32,), dtype), B: T.Tensor((128,), "float32")):
        with T.Kernel(4, threads=32) as bx:
            for i in T.Parallel(32):
                B[T.cast(Ids[i], "int32") + bx] = 1.0

    assert verdicts(tw.analyze(scattered, check=["race"])) == [CheckResult.UNKNOWN]


CARRIED = """
#global = #tile.space<global>
func.func public @k(%B: memref<4096xf32, #global>) attributes {tile.entry} {
  tile.kernel (%bx) in (4) threads(32) {
    %one = arith.constant 1.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    tile.parallel (%i) in (32) {
      %n = scf.for %t = %c0 to %c3 step %c1 iter_args(%x = %i) -> (index) {
        %square = arith.muli %x, %x : index
        %next = arith.addi %square, %i : index
        scf.yield %next : index
      }
      %at = arith.addi %n, %bx : index
      memref.store %one, %B[%at] : memref<4096xf32, #global>
    }
  }
  func.return
}"""


def test_what_a_loop_carries_differs_between_iterations() -> None:
    """Iteration 0 of block 1 and iteration 1 of block 0 may well store to one element."""
    [kernel] = tile_kernels(parse(CARRIED))
    findings = run_checks(analyze_tile(kernel), ["race"])
    assert [finding.verdict for finding in findings] == [CheckResult.UNKNOWN]


# -- views ---------------------------------------------------------------------------------------

VIEW = """
#global = #tile.space<global>
func.func @k(%p: memref<?xf32, #global>, %n: i32, %s: i32) attributes {tile.entry} {
  %rows = arith.index_cast %n : i32 to index
  %step = arith.index_cast %s : i32 to index
  %c8 = arith.constant 8 : index
  %from = tile.ptr_of rw %p[%c8] : memref<?xf32, #global>
  %A = tile.view %from sizes(%rows) strides(%step)
    : !tile.ptr<f32, #global> to memref<?x4xf32, strided<[?, 1]>, #global>
  tile.kernel (%b) in (5) threads(32) {
    %one = arith.constant 1.0 : f32
    %row = tile.region %A[%b, 0] [1, 4] : memref<?x4xf32, strided<[?, 1]>, #global>
      to !tile.region<1x4xf32, #global>
    tile.fill %row, %one : !tile.region<1x4xf32, #global>, f32
  }
  func.return
}
"""


@pytest.mark.parametrize(
    ("stride", "rows", "size", "race", "bounds"),
    [
        (6, 5, 4 * (8 + 4 * 6 + 4), CheckResult.PROVED, CheckResult.PROVED),
        (6, 5, 4 * (8 + 4 * 6 + 4) - 1, CheckResult.PROVED, CheckResult.REFUTED),
        (6, 4, 4 * (8 + 3 * 6 + 4), CheckResult.PROVED, CheckResult.PROVED),  # the guard
        (3, 5, 400, CheckResult.REFUTED, CheckResult.PROVED),
    ],
)
def test_strided_views_at_an_element(
    stride: int, rows: int, size: int, race: CheckResult, bounds: CheckResult
) -> None:
    (kernel,) = tile_kernels(parse(VIEW))
    properties = AccessProperties(None, {"n": rows, "s": stride}, {"p": size})
    report = analyze_tile(kernel, properties)
    (access,) = report.accesses
    assert access.base == "%p"
    found = {each.check: each.verdict for each in run_checks(report, [Check.RACE, Check.BOUNDS])}
    assert (found[Check.RACE], found[Check.BOUNDS]) == (race, bounds)
