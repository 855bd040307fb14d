"""Tiles that go to LDS without registers on gfx950: values, waits, fallbacks, instructions.

Values are small whole numbers, so that no order of adding up can hide a wrong element. Schedules
are seeds: copies land at any time until the wait that covers them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tests.passes.amd.amd_support import amd_pipeline
from tests.targets.hip.host_run import run_on_host
from tests.targets.hip.isa import (
    GLOBAL_READ,
    LDS_WRITE,
    findings,
    matrix_loops,
    unordered_barriers,
)
from tests.targets.hip.support import needs_clang
from tests.targets.hip.triton_assembler import compile_source, needs_triton_for_amd
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.dialects.amd import names
from tilewright.dialects.amd.moves import LoadLdsOp, WaitOp
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.tile import AllocOp, space_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.gpu.lower.amd import direct_copies
from tilewright.targets.hip.compile import lower_module
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt

CHIP = "gfx950"
TYPES: dict[str, Any] = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int8": np.int8,
    "float32": np.float32,
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
}


def product(
    m: int,
    n: int,
    k: int,
    *,
    block: int = 64,
    depth: int = 64,
    stages: int = 2,
    dtype: str = "float16",
    threads: int = 128,
) -> Any:
    """C = A B^T, both operands contiguous along K."""
    out = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def gemm(
        A: T.Tensor((m, k), dtype),
        B: T.Tensor((n, k), dtype),
        C: T.Tensor((m, n), out),
    ):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=threads) as (bx, by):
            As = T.alloc_shared((block, depth), dtype)
            Bs = T.alloc_shared((block, depth), dtype)
            Cl = T.alloc_fragment((block, block), out)
            T.clear(Cl)
            for i in T.Pipelined(T.ceildiv(k, depth), num_stages=stages):
                T.copy(A[by * block, i * depth], As)
                T.copy(B[bx * block, i * depth], Bs)
                T.gemm(As, Bs, Cl, transpose_B=True)
            T.copy(Cl, C[by * block, bx * block])

    return gemm


def triangle(stages: int = 2) -> Any:
    """Each block multiplies as many tiles as its index says, also none."""

    @T.prim_func
    def gemm(
        A: T.Tensor((64, 320), "float16"),
        B: T.Tensor((64, 320), "float16"),
        C: T.Tensor((6, 64, 64), "float32"),
    ):
        with T.Kernel(6, threads=128) as bx:
            As = T.alloc_shared((64, 64), "float16")
            Bs = T.alloc_shared((64, 64), "float16")
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            for i in T.Pipelined(bx, num_stages=stages):
                T.copy(A[0, i * 64], As)
                T.copy(B[0, i * 64], Bs)
                T.gemm(As, Bs, Cl, transpose_B=True)
            T.copy(Cl, C[bx, 0, 0])

    return gemm


def ops(module: ModuleOp, kind: type[Any]) -> list[Any]:
    return [op for op in walk(module) if isinstance(op, kind)]


def run_product(module: ModuleOp, m: int, n: int, k: int, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-3, 4, (rows, k)).astype(TYPES[dtype]) for rows in (m, n))
    c = np.full((m, n), 99, np.int32 if dtype == "int8" else np.float32)
    buffers = [Buffer(name, array) for name, array in zip("ABC", (a, b, c), strict=True)]
    compile_simt(module).launch(buffers, SimtOptions(seed=seed))
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64).T)


CASES: dict[str, tuple[tuple[int, int, int], dict[str, Any]]] = {
    "two versions": ((64, 64, 512), {}),
    "three versions": ((64, 64, 576), {"stages": 3}),
    "odd sizes": ((70, 131, 344), {}),
    "odd sizes, three versions": ((70, 131, 472), {"stages": 4}),
    "one iteration": ((64, 64, 64), {}),
    "two iterations, three versions": ((64, 64, 128), {"stages": 3}),
    "short rows": ((64, 64, 256), {"depth": 32}),
    "long rows": ((64, 64, 512), {"depth": 128}),
    "rows of three chunks": ((64, 64, 384), {"depth": 96, "threads": 64}),
    "bytes": ((64, 64, 512), {"dtype": "int8"}),
    "bfloat16": ((64, 64, 384), {"dtype": "bfloat16"}),
    "words": ((64, 64, 160), {"dtype": "float32", "depth": 32}),
    "fp8": ((64, 64, 512), {"dtype": "float8_e4m3", "depth": 128}),
}
SAMPLE = ("two versions", "odd sizes, three versions")


@cache
def kernel(name: str) -> ModuleOp:
    sizes, options = CASES[name]
    return lowered(product(*sizes, **options).module, amd_pipeline(CHIP))


def check_values(name: str, seed: int) -> None:
    sizes, options = CASES[name]
    module = kernel(name)
    assert ops(module, LoadLdsOp)
    to_lds = [op for op in ops(module, MoveOp) if _is_shared(op.dst)]
    assert not to_lds, "a direct copy needs no write of a thread"
    run_product(module, *sizes, options.get("dtype", "float16"), seed)


def _is_shared(buffer: Any) -> bool:
    space = space_of(buffer.type)
    return space is not None and space.is_shared


@pytest.mark.parametrize("name", SAMPLE)
def test_values(name: str) -> None:
    check_values(name, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", CASES)
def test_values_under_every_schedule(name: str, seed: int) -> None:
    check_values(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("stages", "seed"), [(2 + seed % 2, seed) for seed in range(20)])
def test_a_trip_count_that_is_a_run_time_value(stages: int, seed: int) -> None:
    """Copies of iterations that do not exist are started, too, and read nothing."""
    module = lowered(triangle(stages).module, amd_pipeline(CHIP))
    assert all(op.predicate is not None for op in ops(module, LoadLdsOp))
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-3, 4, (64, 320)).astype(np.float16) for _ in range(2))
    c = np.full((6, 64, 64), 99, np.float32)
    arrays = zip("ABC", (a, b, c), strict=True)
    compile_simt(module).launch([Buffer(*each) for each in arrays], SimtOptions(seed=seed))
    for block, found in enumerate(c):
        last = 64 * block
        expected = a[:, :last].astype(np.int64) @ b[:, :last].astype(np.int64).T
        np.testing.assert_array_equal(found, expected)


# -- waits and barriers --------------------------------------------------------------------------


def loop_of(module: ModuleOp) -> ForOp:
    return next(op for op in ops(module, ForOp) if any(_inside(op, LoadLdsOp)))


def _inside(op: ForOp, kind: type[Any]) -> Iterator[Any]:
    return (inner for inner in walk(op) if isinstance(inner, kind))


@pytest.mark.parametrize(
    ("name", "copies", "waits", "barriers"),
    [("two versions", 16, [8, 8], 4), ("odd sizes, three versions", 24, [8, 8, 8], 3)],
)
def test_waits_leave_copies_in_flight(
    name: str, copies: int, waits: list[int], barriers: int
) -> None:
    """One iteration ahead: a second barrier for each; two ahead: one barrier."""
    loop = loop_of(kernel(name))
    assert len([*_inside(loop, LoadLdsOp)]) == copies
    assert [op.loads.value.data for op in _inside(loop, WaitOp)] == waits
    assert len([*_inside(loop, BarrierOp)]) == barriers


def test_versions_are_arrays_of_their_own() -> None:
    module = kernel("two versions")
    own = [op for op in ops(module, AllocOp) if names.OWN_ARRAY in op.attributes]
    assert sorted(op.buffer_name for op in own) == ["As_0", "As_1", "Bs_0", "Bs_1"]
    offsets = sorted(op.offset_bytes or 0 for op in own)
    assert offsets == [0, 8192, 16384, 24576]


def faults(module: ModuleOp) -> Iterator[tuple[str, Callable[[ModuleOp], None]]]:
    """Every wait left out, every wait one too weak, every barrier left out."""

    def erase(kind: type[Any], index: int) -> Callable[[ModuleOp], None]:
        def change(changed: ModuleOp) -> None:
            ops(changed, kind)[index].detach()

        return change

    def weaken(index: int) -> Callable[[ModuleOp], None]:
        def change(changed: ModuleOp) -> None:
            wait = ops(changed, WaitOp)[index]
            wait.properties["loads"] = IntegerAttr(wait.loads.value.data + 1, i64)

        return change

    for index in range(len(ops(module, WaitOp))):
        yield f"no wait {index}", erase(WaitOp, index)
        yield f"weak wait {index}", weaken(index)
    for index in range(len(ops(module, BarrierOp))):
        yield f"no barrier {index}", erase(BarrierOp, index)


HARMLESS = {
    # Before a loop: a barrier in its first iteration does the same.
    "two versions": {"no barrier 0"},
    "three versions": {"no barrier 0"},
}


def is_noticed(name: str, change: Callable[[ModuleOp], None]) -> bool:
    """Whether the executor reports a fault; the compiler's own check must agree."""
    changed, engine = kernel(name).clone(), DiagnosticEngine()
    change(changed)
    CheckThreadSync().run(changed, engine)
    try:
        run_product(changed, *CASES[name][0], "float16", seed=0)
    except SimtFault as found:
        assert found.kind == "race"
        assert engine.has_errors
        return True
    assert not engine.has_errors
    return False


@pytest.mark.parametrize("fault", ["no wait 1", "weak wait 0"])
def test_a_missing_or_weak_wait_is_noticed(fault: str) -> None:
    assert is_noticed("two versions", dict(faults(kernel("two versions")))[fault])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two versions", "three versions"])
def test_every_missing_or_weak_wait_is_noticed(name: str) -> None:
    changes = dict(faults(kernel(name)))
    unnoticed = {fault for fault, change in changes.items() if not is_noticed(name, change)}
    assert unnoticed == HARMLESS[name]
    assert len(changes) > 12


def test_a_swizzle_that_is_not_applied_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes that read in the order in which they write."""
    monkeypatch.setattr(direct_copies.SharedMap, "is_plain", property(lambda self: True))
    monkeypatch.setattr(direct_copies, "_is_own_inverse", lambda *_: True)
    module = lowered(product(64, 64, 512).module, amd_pipeline(CHIP))
    with pytest.raises(AssertionError):
        run_product(module, 64, 64, 512, "float16", seed=0)


# -- what does not qualify -----------------------------------------------------------------------


def conditional() -> Any:
    @T.prim_func
    def gemm(
        A: T.Tensor((64, 512), "float16"),
        M: T.Tensor((8,), "int32"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 64), "float16")
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            for i in T.Pipelined(8, num_stages=2):
                if M[i] != 0:
                    T.copy(A[0, i * 64], As)
                    T.gemm(As, As, Cl, transpose_B=True)
            T.copy(Cl, C)

    return gemm


def across() -> Any:
    @T.prim_func
    def gemm(
        A: T.Tensor((64, 512), "float16"),
        B: T.Tensor((512, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 64), "float16")
            Bs = T.alloc_shared((64, 64), "float16")
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            for i in T.Pipelined(8, num_stages=2):
                T.copy(A[0, i * 64], As)
                T.copy(B[i * 64, 0], Bs)
                T.gemm(As, Bs, Cl)
            T.copy(Cl, C)

    return gemm


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "one version": (lambda: product(64, 64, 512, stages=1), "num_stages=1 requests one version"),
    "conditional": (conditional, "it is conditional, or in an inner loop"),
    "transposed": (across, "it transposes the tile"),
    "small tiles": (
        lambda: product(64, 64, 512, block=32, depth=16),
        "1024 B are not a multiple of what 128 threads copy at once (2048 B)",
    ),
    "uneven rows": (
        lambda: product(64, 64, 500),
        "the stride of dimension 0 of A is 1000 bytes, not a multiple of 16",
    ),
    "large tensors": (
        lambda: product(1 << 21, 64, 512),
        "the tensor has 2147483648 B, and offsets have 32 bits",
    ),
    "large tiles": (
        lambda: product(256, 256, 1024, block=256, depth=128, threads=512),
        "262144 B of LDS needed for two versions of each tile, 163840 B available on gfx950",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_qualify_goes_through_registers(name: str) -> None:
    make, reason = REFUSED[name]
    module, engine = make().module, DiagnosticEngine()
    for each in passes_up_to("stage-copies"):
        each.run(module, engine)
    found = [str(each.message) for each in engine.diagnostics if each.code == "TW7504"]
    assert any(reason in each for each in found), found
    assert not any(names.DIRECT in op.attributes for op in walk(module))


def passes_up_to(name: str, chip: str = CHIP) -> list[Pass]:
    passes = amd_pipeline(chip).passes()
    return passes[: [each.name for each in passes].index(name) + 1]


def test_other_chips_have_no_such_copies() -> None:
    module, engine = product(64, 64, 512).module, DiagnosticEngine()
    for each in passes_up_to("stage-copies", "gfx942"):
        each.run(module, engine)
    assert not [each for each in engine.diagnostics if each.code == "TW7504"]
    assert not any(names.DIRECT in op.attributes for op in walk(module))


# -- instructions --------------------------------------------------------------------------------


@needs_triton_for_amd
@pytest.mark.parametrize(
    ("stages", "barriers"), [(2, 4), pytest.param(3, 3, marks=pytest.mark.slow)]
)
def test_the_loop_of_a_gemm(stages: int, barriers: int) -> None:
    """Only matrix instructions, 128-bit LDS reads and direct copies; nothing waits for all."""
    function = product(1024, 1024, 4096, block=128, stages=stages, threads=256)
    (source,) = lower_module(function.module, AmdPipeline(target=f"hip:{CHIP}")).sources
    isa = compile_source(source.text).isa
    assert unordered_barriers(isa) == []
    (loop,) = matrix_loops(isa)
    assert findings(loop) == []
    assert loop.count(LDS_WRITE) == 0
    assert loop.full_waits == 0
    loads = [each for each in loop.instructions if GLOBAL_READ.match(each)]
    assert len(loads) == stages * 8
    assert all(re.match(r"buffer_load_dwordx4 .* lds$", each) for each in loads)
    assert loop.opcodes["s_barrier"] == barriers
    assert loop.opcodes["v_mfma_f32_32x32x16_f16"] == stages * 16


# -- the text ------------------------------------------------------------------------------------


def host_product(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    stages: int,
    change: Callable[[str], str] | None = None,
) -> bool:
    """Whether the text, run on the host, computes the product of odd sizes."""
    module = lowered(product(70, 66, 344, stages=stages).module, amd_pipeline(CHIP))
    rng = np.random.default_rng(stages)
    a, b = (rng.integers(-3, 4, (rows, 344)).astype(np.float16) for rows in (70, 66))
    c = np.full((70, 66), 99, np.float32)
    arguments = [Buffer(name, array) for name, array in zip("ABC", (a, b, c), strict=True)]
    run_on_host(module, arguments, chip_named(CHIP), directory, monkeypatch, 3, change)
    return bool((c == a.astype(np.int64) @ b.astype(np.int64).T).all())


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("stages", [2, 3])
def test_the_text_on_the_host(stages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of their own, addresses of waves and lanes, predicates."""
    assert host_product(tmp_path, monkeypatch, stages)


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"int\(0x80000000u\)", "0"),
        (r"int wave\(\) \{", "int wave() { return 0;"),
    ],
)
def test_faults_in_the_text_are_noticed(
    pattern: str, replacement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes outside of a tensor that read it, and waves that write the same bytes."""

    def change(text: str) -> str:
        changed, count = re.subn(pattern, replacement, text)
        assert count
        return changed

    assert not host_product(tmp_path, monkeypatch, 2, change)
