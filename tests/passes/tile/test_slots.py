"""Loops whose GEMM is deferred get the slot that this takes, where shared memory has it."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright import T
from tilewright.dialects.nv import WgmmaWaitOp
from tilewright.dialects.tile import AllocOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.tile.bind_target import BindTarget
from tilewright.passes.tile.specialize_warps import SpecializeWarps


def gemm(
    stages: int, *, trips: int = 32, blocks: int = 8, scratch: int = 1, reads: bool = False
) -> Any:
    """16 KB a slot; `scratch` KB of other shared memory; `reads` the accumulator in the loop."""

    @T.prim_func
    def main(
        A: T.Tensor((1024, 1024), "float16"),
        B: T.Tensor((1024, 1024), "float16"),
        C: T.Tensor((1024, 1024), "float32"),
        D: T.Tensor((1024, 1024), "float32"),
    ):
        with T.Kernel(blocks, 8, threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((32, 128), "float16")
            other = T.alloc_shared((scratch, 256), "float32")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            T.clear(other)
            for k in T.Pipelined(trips, num_stages=stages):
                T.copy(A[by * 128, k * 32], A_shared)
                T.copy(B[k * 32, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
                if reads:
                    for i, j in T.Parallel(128, 128):
                        C_local[i, j] *= 0.5
            T.copy(C_local, C[by * 128, bx * 128])
            T.copy(other, D[0:scratch, 0:256])

    return main.module.clone()


def unpacked_gemm(stages: int, *, depth: int = 64, scratch: int = 1, keeps: bool = False) -> Any:
    """Threads convert `B`. A tile of `A` has `depth` / 2 KB, one of the converted `B` half as much;
    `scratch` KB are used after the loop. `keeps` half of what an iteration converts for the next.
    """

    @T.prim_func
    def main(
        A: T.Tensor((1024, 1024), "float16"),
        B: T.Tensor((128, 1024), "int8"),
        C: T.Tensor((1024, 128), "float32"),
        D: T.Tensor((1024, 256), "float32"),
    ):
        with T.Kernel(4, threads=256) as by:
            A_shared = T.alloc_shared((256, depth), "float16")
            B_shared = T.alloc_shared((128, depth), "int8")
            converted = T.alloc_shared((128, depth), "float16")
            other = T.alloc_shared((scratch, 256), "float32")
            C_local = T.alloc_fragment((256, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(1024 // depth, num_stages=stages):
                T.copy(A[by * 256, k * depth], A_shared)
                T.copy(B[0, k * depth], B_shared)
                for i, j in T.Parallel(64 if keeps else 128, depth):
                    converted[i, j] = T.cast(B_shared[i, j], "float16")
                T.gemm(A_shared, converted, C_local, transpose_B=True)
            T.copy(C_local, C[by * 256, 0])
            T.clear(other)
            T.copy(other, D[0:scratch, 0:256])

    return main.module.clone()


def slots(module: Any, target: str = "cuda:sm_90a", buffer: str = "A_shared") -> int:
    engine = DiagnosticEngine()
    BindTarget(target).run(module, engine)
    SpecializeWarps().run(module, engine)
    engine.raise_if_errors()
    (ring,) = (op for op in module.walk() if isinstance(op, AllocOp) and op.buffer_name == buffer)
    shape = ring.type.get_shape()
    return shape[0] if len(shape) == 3 else 1


@pytest.mark.parametrize(("stages", "expected"), [(2, 4), (3, 4), (4, 5), (5, 6)])
def test_a_slot_more_and_at_least_four(stages: int, expected: int) -> None:
    assert slots(gemm(stages)) == expected


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"trips": 3}, "three iterations"),
        ({"scratch": 170}, "no shared memory left"),
        ({"blocks": 200, "scratch": 56}, "two blocks share an SM with three slots, not with four"),
    ],
)
def test_as_many_as_requested_where_more_do_not_help(given: dict[str, Any], why: str) -> None:
    assert slots(gemm(3, **given)) == 3, why


def test_one_block_per_sm_leaves_memory_for_slots() -> None:
    assert slots(gemm(3, blocks=8, scratch=56)) == 4


def test_small_tiles_get_slots_until_enough_is_on_its_way() -> None:
    assert slots(gemm(2, reads=True)) == 4
    assert slots(gemm(4, reads=True)) == 4
    assert slots(gemm(2, reads=True, trips=3)) == 3


def test_other_gpus_do_not_defer() -> None:
    assert slots(gemm(3), "cuda:sm_100a") == 3


def test_the_gemm_is_deferred_with_them() -> None:
    def waits(module: Any) -> set[int]:
        engine = DiagnosticEngine()
        GpuPipeline().run(module, engine)
        engine.raise_if_errors()
        return {op.count for op in module.walk() if isinstance(op, WgmmaWaitOp)}

    assert 1 in waits(gemm(2))
    assert waits(gemm(2, trips=3)) == {0}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"stages": 2}, (4, 2)),
        ({"stages": 3}, (4, 2)),
        ({"stages": 2, "scratch": 200}, (4, 2)),  # which reuse the bytes of the tiles
        ({"stages": 2, "depth": 128}, (2, 2)),  # 64 KB are fetched beside the slot in use
        ({"stages": 2, "depth": 96}, (2, 2)),  # 48 KB, and the slot in use is released in time
        ({"stages": 2, "keeps": True}, (2, 1)),
        ({"stages": 1}, (1, 1)),
    ],
)
def test_an_operand_that_threads_convert_has_two_versions(
    given: dict[str, Any], expected: tuple[int, int]
) -> None:
    module = unpacked_gemm(**given)
    found = slots(module.clone()), slots(module, buffer="converted")
    assert found == expected
