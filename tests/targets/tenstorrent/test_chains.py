"""Several kernels per function: launches in sequence, and what one leaves in L1 for the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tile_examples import load
from tests.sampling import every
from tilewright import T
from tilewright.dialects.tensix import HostPlanOp
from tilewright.dialects.tensix.json_attr import dictionary_of, json_of
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.tenstorrent.verify_tt import VerifyTt
from tilewright.targets.tenstorrent.artefact import Artefact, Executor, artefact_of
from tilewright.targets.tenstorrent.execution import Check, RunOptions
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable
from tilewright.targets.tenstorrent.source.host import run_host

TARGETS = ("sim", "wormhole", "blackhole")
COUNTS = ("dram_page_reads", "dram_page_writes", "l1_page_reads", "l1_page_writes")
MLP = load("mlp").mlp


def inputs(m: int = 256, k: int = 96, f: int = 128, n: int = 70, seed: int = 0) -> list[Any]:
    draw = np.random.default_rng(seed)
    shapes = ((m, k), (k, f), (f, n))
    return [(draw.standard_normal(shape) / 8).astype(np.float16) for shape in shapes]


def expected(x: Any, w1: Any, w2: Any) -> Any:
    hidden = np.maximum(x.astype(np.float64) @ w1.astype(np.float64), 0)
    return hidden @ w2.astype(np.float64)


def kernel(target: str = "sim", **configs: Any) -> Any:
    return tw.jit(MLP.function, target=f"tenstorrent:{target}", pass_configs=configs)


def predicted(artefact: Artefact) -> tuple[int, ...]:
    return tuple(sum(getattr(plan.traffic, name) for plan in artefact.plans) for name in COUNTS)


# -- the two-kernel MLP ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "executor"),
    [
        *((target, "ir") for target in TARGETS),
        ("wormhole", "source"),
        pytest.param("sim", "source", marks=pytest.mark.slow),
        pytest.param("blackhole", "source", marks=pytest.mark.slow),
    ],
)
def test_mlp_with_and_without_shards(target: str, executor: str) -> None:
    """H in DRAM costs its pages once per launch; in place it costs nothing."""
    arrays = inputs()
    results: list[Any] = []
    counted: list[tuple[int, ...]] = []
    for memory in ("dram", None):
        configs = {"tt.core_grid": "1x4", "tt.shard": {"H": memory} if memory else None}
        compiled = kernel(target, **configs)
        with tw.tenstorrent_running(executor=executor):
            results.append(compiled(*arrays))
        own = compiled.compile(*arrays).tenstorrent
        traffic = own.result.traffic
        counted.append(tuple(getattr(traffic, name) for name in COUNTS))
        assert counted[-1] == predicted(own.artefact)
    error = np.linalg.norm(results[0] - expected(*arrays)) / np.linalg.norm(expected(*arrays))
    assert error < 2**-9
    assert results[0].tobytes() == results[1].tobytes()
    h_pages = 8 * 4
    in_dram, in_place = counted
    assert in_place == (in_dram[0] - 2 * h_pages, in_dram[1] - h_pages, 0, 0)


@pytest.mark.parametrize("seed", every(20, range(60)))
def test_random_chains(seed: int) -> None:
    """Any sizes, cores, shards and settings: the bits of a run with H in DRAM on one core."""
    draw = np.random.default_rng(seed)
    blocks = {f"block_{axis}": int(draw.choice([32, 64])) for axis in "MNK"}
    block = max(blocks.values())
    m, f = (int(draw.integers(1, 5)) * block for _ in range(2))
    k, n = (int(draw.integers(1, 200)) for _ in range(2))
    arrays = inputs(m, k, f, n, seed)
    plain = kernel(**{"tt.core_grid": "1x1", "tt.shard": "H:dram"})(*arrays, **blocks)
    policy = str(draw.choice(["contiguous", "rect", "strided"]))
    shard = {name: str(draw.choice(["height", "width", "block", "dram"])) for name in ("X", "Y")}
    if draw.integers(2):
        shard["H"] = str(draw.choice(["height", "width", "block"]))
    compiled = kernel(
        **{
            "tt.core_grid": str(draw.choice(["2x2", "1x4", "3x2", "8x8"])),
            "tt.schedule.policy": policy,
            "tt.shard": shard,
            "tt.multicast": "off" if policy == "strided" else str(draw.choice(["off", "on"])),
            "tt.residency": str(draw.choice(["off", "on"])),
        }
    )
    with tw.tenstorrent_running(executor="source" if seed % 30 == 5 else "ir"):
        found = compiled(*arrays, **blocks)
    own = compiled.compile(*arrays, **blocks).tenstorrent
    counted = tuple(getattr(own.result.traffic, name) for name in COUNTS)
    assert counted == predicted(own.artefact)
    error = np.linalg.norm(found - plain.astype(np.float64)) / np.linalg.norm(plain)
    assert error < 2**-9  # the source executor sums in another order
    if seed % 30 != 5:
        assert found.tobytes() == plain.tobytes()


def test_inference_chooses_what_most_kernels_use_in_place() -> None:
    arrays = inputs()
    for grid, layout, buffers in (
        ("1x4", "l1_height_sharded", ["H", "H"]),
        ("8x8", "l1_block_sharded", ["H"]),
        ("1x1", "l1_height_sharded", ["H", "H"]),
    ):
        artefact = kernel(**{"tt.core_grid": grid}).compile(*arrays).tenstorrent.artefact
        (hidden,) = [each for each in artefact.tensors if each.workspace]
        assert (hidden.name, hidden.role, hidden.layout) == ("H", "output", layout)
        used = [cb.tensor for plan in artefact.plans for cb in plan.cbs if cb.tensor]
        assert used == buffers, grid
    # More than half of L1: H stays in DRAM.
    small = kernel(**{"tt.core_grid": "1x1", "tt.l1_budget": 120000})
    (hidden,) = [
        each for each in small.compile(*arrays).tenstorrent.artefact.tensors if each.workspace
    ]
    assert hidden.layout == "dram_interleaved"


# -- files -----------------------------------------------------------------------------------------


def test_the_host_program_enqueues_both_launches(tmp_path: Path) -> None:
    arrays = inputs()
    artefact = kernel(**{"tt.core_grid": "1x4"}).compile(*arrays).tenstorrent.artefact
    artefact.write(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    kernels = {f"{role}_{n}.cpp" for role in ("reader", "compute", "writer") for n in (0, 1)}
    assert names == {*kernels, "main.cpp", "tt.plan.json"}
    plan = json.loads((tmp_path / "tt.plan.json").read_text())
    assert [each["kernel"] for each in plan["launches"]] == ["mlp_0", "mlp_1"]
    for name, array in zip(("X", "W1", "W2"), arrays, strict=True):
        (tmp_path / f"{name}.bin").write_bytes(array.tobytes())
    try:
        found = run_host(
            tmp_path / "main.cpp",
            artefact.chip.with_grid(8, 8),
            kernel_roots=(tmp_path,),
            arguments=(str(tmp_path),),
        )
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the host program was NOT run: {reason}")
    assert (found.status, found.output) == (0, "")
    assert [result.findings for result in found.results] == [(), ()]
    y = np.frombuffer((tmp_path / "Y.bin").read_bytes(), np.float16).reshape(256, 70)
    run = artefact.run(
        {"X": arrays[0], "W1": arrays[1], "W2": arrays[2], "Y": np.zeros_like(y)},
        executor=Executor.SOURCE,
    )
    assert y.tobytes() == run.arrays["Y"].tobytes()
    assert set(run.arrays) == {"Y"}


# -- faults ----------------------------------------------------------------------------------------


def test_a_launch_that_reads_what_none_wrote_is_reported() -> None:
    """The second launch alone finds nothing in L1."""
    arrays = dict(zip(("X", "W1", "W2"), inputs(), strict=True)) | {
        "Y": np.zeros((256, 70), np.float16)
    }
    artefact = kernel(**{"tt.core_grid": "1x4"}).compile(*inputs()).tenstorrent.artefact
    second = artefact.launches[1]
    program = second.program()
    from tilewright.targets.tenstorrent.arrays import pages_of
    from tilewright.targets.tenstorrent.machine import run_kernels

    pages = {"W2": pages_of(arrays["W2"], second.plan.tensor("W2")).tobytes()}
    result = run_kernels(program, second.kernels, pages, RunOptions())
    assert {finding.check for finding in result.findings} >= {Check.UNPUSHED_READ}


def test_kernels_of_two_plans_are_reported() -> None:
    own = kernel(**{"tt.core_grid": "1x4"}).compile(*inputs()).tenstorrent
    module = own.lowered(DiagnosticEngine())
    first, second = [op for op in module.ops if isinstance(op, HostPlanOp)]
    data: Any = json_of(second.plan)
    data["kernels"] = json_of(first.plan)["kernels"]  # type: ignore[index]
    second.plan = dictionary_of(data)
    engine = DiagnosticEngine()
    VerifyTt().run(module, engine)
    messages = [each.message for each in engine.diagnostics]
    assert any("'reader_0' is listed by 2 of 2 plans" in each for each in messages)
    assert any("'reader_1' is listed by 0 of 2 plans" in each for each in messages)
    assert artefact_of(own.lowered(DiagnosticEngine())).following


@T.prim_func
def ragged(A: T.Tensor((100, 64), T.float32), C: T.Tensor((100, 64), T.float32)):
    H = T.alloc_global((100, 64), T.float32)
    with T.Kernel(2, 4, threads=128) as (bx, by):
        a = T.alloc_shared((32, 32), T.float32)
        T.copy(A[by * 32, bx * 32], a)
        T.copy(a, H[by * 32, bx * 32])
    with T.Kernel(2, 4, threads=128) as (bx, by):
        a = T.alloc_shared((32, 32), T.float32)
        T.copy(H[by * 32, bx * 32], a)
        T.copy(a, C[by * 32, bx * 32])


@T.prim_func
def repeated(A: T.Tensor((64, 64), T.float32)):
    for _ in T.serial(3):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), T.float32)
            T.clear(a)
            T.copy(a, A[by * 32, bx * 32])


@T.prim_func
def granules(A: T.Tensor((64, 64), T.float32), C: T.Tensor((64, 64), T.float32)):
    H = T.alloc_global((64, 64), T.float32)
    with T.Kernel(16, threads=128) as by:
        a = T.alloc_shared((4, 64), T.float32)
        T.copy(A[by * 4, 0], a)
        T.copy(a, H[by * 4, 0])
    with T.Kernel(2, threads=128) as by:
        a = T.alloc_shared((32, 64), T.float32)
        T.copy(H[by * 32, 0], a)
        T.copy(a, C[by * 32, 0])


@pytest.mark.parametrize(
    ("function", "code", "text"),
    [
        (ragged, "TW7014", "100 x 64 elements are 128 x 64 with the padding"),
        (granules, "TW7014", "multiples of 4 x 32 and of 32 x 32 elements"),
        (repeated, "TW7013", "launched in a loop or under a condition"),
    ],
)
def test_chains_that_are_refused(function: Any, code: str, text: str) -> None:
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    compiled = CompiledTileKernel(function, target="tenstorrent:sim")
    assert compiled.tenstorrent is not None
    with pytest.raises(CompileError, match=code) as error:
        compiled.tenstorrent.build()
    assert text in str(error.value)
