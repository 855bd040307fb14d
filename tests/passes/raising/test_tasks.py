"""Kernels of `tlx` raised to tiles: bits, barriers, threads, refusals, machine code."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tlx_examples import as_tuple, load
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import Launch, assert_same, on_pointers, on_tiles, parsed, raised
from tests.sampling import only
from tilewright.dialects.nv import BarOp, MBarrierArriveOp, MBarrierWaitOp, WgmmaWaitOp
from tilewright.dialects.tile import AllocOp, AsyncCopyOp, GemmOp, WsOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, pretty_all
from tilewright.ir.traversal import walk
from tilewright.passes.tile.check_barriers import CheckBarriers
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.passes.tile.raise_to_tile import NotRaised, raise_module
from tilewright.runtime.tile.thread_level import running_threads
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.tile import TileFault

RAISED = (
    "hopper_gemm_pipelined",
    "hopper_gemm_ws",
    "hopper_gemm_pingpong",
    "hopper_gemm_persistent",
    "hopper_attention_ws",
    "hopper_attention_pipelined",
    "hopper_attention_persistent",
)
REFUSED = {
    "blackwell_gemm_ws": "tensor memory (ttng.tmem_alloc)",
    "blackwell_gemm_2cta": "clusters (nvg.cluster_id)",
    "blackwell_attention_ws": "storage in tensor memory (tmem)",
    "grouped_gemm": "the bounds of the block cannot be computed from scalars",
}


@functools.cache
def launches(name: str) -> list[tuple[str, Launch]]:
    with recorded() as found:
        load(name).example(np.random.default_rng(0))
    return found


def checked(module: Any) -> str:
    engine = DiagnosticEngine()
    CheckBarriers().run(module.clone(), engine)
    return pretty_all(engine.diagnostics, engine.sources)


@pytest.mark.parametrize("name", RAISED)
def test_bits_and_barriers(name: str) -> None:
    """Before and after the tile pipeline, under several schedules."""
    for _, launch in launches(name):
        kernel = raised(launch.text)
        assert checked(kernel.module) == ""
        expected, _ = on_pointers(launch)
        actual, _ = on_tiles(kernel, launch)
        assert_same(expected, actual)
        actual, _ = on_tiles(kernel, launch, TilePipeline(), schedules=5)
        assert_same(expected, actual)
        scheduled = kernel.module.clone()
        engine = DiagnosticEngine()
        TilePipeline().run(scheduled, engine)
        assert engine.error_count == 0
        assert checked(scheduled) == ""


@pytest.mark.parametrize("name", only(RAISED[1:2], RAISED))
def test_threads(name: str) -> None:
    """The code of the threads of sm_90a, lane by lane: values, races, fences, bytes in flight."""
    with tw.running(target="cuda:sm_90a"), running_threads():
        found, expected = load(name).example(np.random.default_rng(0))
    for one, other in zip(as_tuple(found), as_tuple(expected), strict=True):
        assert np.abs(np.asarray(one, np.float64) - other).max() < 1e-3 * np.abs(other).max()


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    for _, launch in launches(name):
        result = raise_module(parsed(launch.text))
        assert isinstance(result, NotRaised)
        assert REFUSED[name] in [each.reason for each in result.refusals]


def test_roles_registers_and_arrivals() -> None:
    kernel = raised(launches("hopper_gemm_ws")[0][1].text)
    (roles,) = [op for op in walk(kernel.module) if isinstance(op, WsOp)]
    assert [(role.num_threads, role.registers) for role in roles.roles] == [
        (128, 240),
        (128, 240),
        (128, 24),
    ]
    counts = {
        op.buffer_name: op.arrive_counts
        for op in walk(kernel.module)
        if isinstance(op, AllocOp) and op.space.is_barrier
    }
    assert counts == {"empty": (256,) * 3, "full": (1,) * 3}
    assert "task task1: threads 128 to 256, 240 registers" in str(kernel.plan)


def test_waits_stay_where_they_are() -> None:
    """The waits of the user, and no others, in the order of the source."""
    kernel = raised(launches("hopper_gemm_ws")[0][1].text)
    gemms = [op for op in walk(kernel.module) if isinstance(op, GemmOp)]
    assert [op.asynchronous is not None for op in gemms] == [True, True]
    module = kernel.module.clone()
    TilePipeline().run(module, DiagnosticEngine())
    for each in (kernel.module, module):
        waits = [op.count for op in walk(each) if isinstance(op, WgmmaWaitOp)]
        assert waits == [1, 0, 1, 0]


def test_machine_code_has_the_waits_and_registers_of_the_user() -> None:
    kernel = raised(launches("hopper_gemm_ws")[0][1].text)
    (made,) = compile_module(kernel.module, "sm_90a").kernels.values()
    assert made.source.count("wgmma_wait<1>()") == 2
    assert made.source.count("registers_more<240>()") == 2
    assert made.cubin[:4] == b"\x7fELF"


def test_storage_alias_is_placed_by_address() -> None:
    """Buffers of the ring, and pairs of results in their bytes."""
    kernel = raised(launches("hopper_gemm_persistent")[0][1].text)
    module = kernel.module.clone()
    TilePipeline().run(module, DiagnosticEngine())
    offsets = {
        op.buffer_name: op.offset_bytes
        for op in walk(module)
        if isinstance(op, AllocOp) and op.alias is not None
    }
    assert offsets == {"b": 0, "c": 0}


# -- mutations -----------------------------------------------------------------------------------

MUTATED = (MBarrierArriveOp, MBarrierWaitOp, WgmmaWaitOp, AsyncCopyOp, BarOp)


def mutants(name: str) -> list[tuple[str, int]]:
    kernel = raised(launches(name)[0][1].text)
    ops = [op for op in walk(kernel.module) if isinstance(op, MUTATED)]
    return [(name, at) for at in range(len(ops))]


def is_caught(name: str, at: int) -> bool:
    """Whether a raised kernel without one of its barriers, waits or copies is found out."""
    launch = launches(name)[0][1]
    kernel = raised(launch.text)
    ops = [op for op in walk(kernel.module) if isinstance(op, MUTATED)]
    ops[at].detach()
    ops[at].erase()
    if "error" in checked(kernel.module):
        return True
    expected, _ = on_pointers(launch)
    try:
        actual, _ = on_tiles(kernel, launch, TilePipeline(), schedules=8)
        assert_same(expected, actual)
    except (AssertionError, TileFault, CompileError):
        return True
    return False


@pytest.mark.parametrize("name", only(RAISED[1:2], RAISED[1:5]))
def test_a_missing_op_is_found(name: str) -> None:
    found = [is_caught(*each) for each in mutants(name)]
    assert len(found) - sum(found) <= HARMLESS.get(name, 0), [
        at for at, caught in enumerate(found) if not caught
    ]


HARMLESS = {"hopper_gemm_persistent": 2}
"""Its user waits twice for the same phase, so that nothing moves before the GEMM."""
