"""Kernels of `tlx` raised to tiles: bits, barriers, threads, refusals, machine code."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32
from xdsl.ir import Operation

import tilewright as tw
from tests.examples.tlx_examples import as_tuple, load
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import Launch, assert_same, on_pointers, on_tiles, parsed, raised
from tests.sampling import only
from tilewright import tl, tlx
from tilewright.analysis.raising.assumption_checks import AssumptionChecks
from tilewright.dialects.arith import AddiOp, ConstantOp, XoriOp
from tilewright.dialects.nv import (
    BarOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierWaitOp,
    WgmmaWaitOp,
)
from tilewright.dialects.tile import AllocOp, AsyncCopyOp, GemmOp, KernelOp, WsOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, Severity, pretty_all
from tilewright.ir.traversal import walk
from tilewright.passes.tile.check_barriers import CheckBarriers, check_launch
from tilewright.passes.tile.pipeline import TilePipeline
from tilewright.passes.tile.raise_to_tile import NotRaised, RaisedKernel, raise_module
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
    "grouped_gemm": (
        "a TMA copy of a tensor that the host does not have: its address or extents are computed "
        "by the kernel"
    ),
}
LAUNCHES = [
    (name, at) for name in RAISED for at in range(2 if name.startswith("hopper_attention") else 1)
]
IN_DEFAULT_RUN = (
    ("hopper_gemm_pipelined", 0),
    ("hopper_gemm_ws", 0),
    ("hopper_attention_ws", 1),
)


@functools.cache
def launches(name: str) -> list[tuple[str, Launch]]:
    with recorded() as found:
        load(name).example(np.random.default_rng(0))
    return found


@functools.cache
def original(name: str) -> RaisedKernel:
    return raised(launches(name)[0][1].text)


@functools.cache
def bits(name: str, at: int) -> list[np.ndarray]:
    """What a launch leaves in memory, on pointers."""
    return on_pointers(launches(name)[at][1])[0]


def checked(module: Any) -> str:
    engine = DiagnosticEngine()
    CheckBarriers().run(module.clone(), engine)
    errors = [each for each in engine.diagnostics if each.severity is Severity.ERROR]
    return pretty_all(errors, engine.sources)


@pytest.mark.parametrize(("name", "at"), only(IN_DEFAULT_RUN, LAUNCHES))
def test_bits_and_barriers(name: str, at: int) -> None:
    """Before and after the tile pipeline, under several schedules."""
    launch = launches(name)[at][1]
    kernel = original(name) if at == 0 else raised(launch.text)
    assert checked(kernel.module) == ""
    assert not check_launch(kernel.module, integers_of(launch), launch.sizes).diagnostics
    expected = bits(name, at)
    actual, _ = on_tiles(kernel, launch)
    assert_same(expected, actual)
    actual, _ = on_tiles(kernel, launch, TilePipeline(), schedules=5)
    assert_same(expected, actual)
    scheduled = kernel.module.clone()
    engine = DiagnosticEngine()
    TilePipeline().run(scheduled, engine)
    assert engine.error_count == 0
    assert checked(scheduled) == ""


@pytest.mark.parametrize("name", only(("hopper_gemm_ws",), RAISED))
def test_all_launches_are_compared(name: str) -> None:
    assert len(launches(name)) == sum(each == name for each, _ in LAUNCHES)


@pytest.mark.parametrize("causal", [False, True])
def test_one_row_of_attention_is_checked_at_its_launch(causal: bool) -> None:
    """The number of blocks is known by a quotient that is younger than the counter over them."""
    q, k, v = (np.ones((2, 3, 1, 64), np.float16) for _ in range(3))
    with recorded() as found:
        load("hopper_attention_pipelined").attention(q, k, v, causal)
    launch = found[0][1]
    kernel = raised(launch.text)
    checks = AssumptionChecks(kernel.plan, kernel.assumptions, kernel.parameters)
    assert checks.violated(integers_of(launch), launch.sizes) is None
    names = re.findall(r"\ba\d+\b", checks.source)
    assigned = re.findall(r"^    (a\d+) =", checks.source, re.MULTILINE)
    assert assigned
    assert list(dict.fromkeys(names)) == assigned  # each before it is used


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
    kernel = original("hopper_gemm_ws")
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
    assert "task partition0: threads 128 to 256, 240 registers" in str(kernel.plan)


def test_waits_stay_where_they_are() -> None:
    """The waits of the user, and no others, in the order of the source."""
    kernel = original("hopper_gemm_ws")
    gemms = [op for op in walk(kernel.module) if isinstance(op, GemmOp)]
    assert [op.asynchronous is not None for op in gemms] == [True, True]
    module = kernel.module.clone()
    TilePipeline().run(module, DiagnosticEngine())
    for each in (kernel.module, module):
        waits = [op.count for op in walk(each) if isinstance(op, WgmmaWaitOp)]
        assert waits == [1, 0, 1, 0]


def test_machine_code_has_the_waits_and_registers_of_the_user() -> None:
    kernel = original("hopper_gemm_ws")
    (made,) = compile_module(kernel.module.clone(), "sm_90a").kernels.values()
    assert made.source.count("wgmma_wait<1>()") == 2
    assert made.source.count("registers_more<240>()") == 2
    assert made.cubin[:4] == b"\x7fELF"


def test_gemms_in_flight_cost_no_barriers() -> None:
    """A barrier before the GEMM, and one after its wait: more would not end what is in flight."""
    kernel = original("hopper_gemm_pipelined")
    (made,) = compile_module(kernel.module.clone(), "sm_90a").kernels.values()
    loop = made.source[made.source.index("cp_async_wait<1>()") :]
    loop = loop[: loop.index("wgmma_wait<0>()")]
    assert "wgmma_wait<1>()" in loop
    assert loop.count("__syncthreads()") == 2
    before, after = loop.split("wgmma_wait<1>()")
    assert before.count("__syncthreads()") == after.count("__syncthreads()") == 1


def test_storage_alias_is_placed_by_address() -> None:
    """Buffers of the ring, and pairs of results in their bytes."""
    kernel = original("hopper_gemm_persistent")
    module = kernel.module.clone()
    TilePipeline().run(module, DiagnosticEngine())
    offsets = {
        op.buffer_name: op.offset_bytes
        for op in walk(module)
        if isinstance(op, AllocOp) and op.alias is not None
    }
    assert offsets == {"b": 0, "c": 0}


def test_assumed_arguments_that_no_launch_has() -> None:
    """The rows of a shift are less than a tile: with others, waits are for slot -1."""
    q, k, v = np.random.default_rng(0).standard_normal((3, 1, 1, 64)).astype(np.float16)
    with recorded() as found:
        load("hopper_attention_persistent").attention(q, k, v, True)
    ((_, launch),) = found
    kernel = raised(launch.text)
    engine = DiagnosticEngine()
    CheckBarriers().run(kernel.module, engine)
    (remark,) = engine.diagnostics
    assert (remark.severity, remark.code) == (Severity.REMARK, "TW4059")
    assert "barrier index -1 is out of bounds of this array (with run-time" in remark.message
    given = integers_of(launch)
    assert not check_launch(kernel.module, given, launch.sizes).diagnostics
    given[kernel.parameters.index("shift")] = 256  # one that is impossible
    (error,) = check_launch(kernel.module, given, launch.sizes).diagnostics
    assert (error.severity, error.code) == (Severity.ERROR, "TW4053")
    assert "is out of bounds of this array (in block (0, 0, 0) of this launch)" in error.message


@tw.jit
def rounds_kernel(x_ptr, count):
    full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for iteration in range(count):
                tlx.barrier_wait(full[0], iteration & 1)
                tlx.barrier_arrive(empty[0], 1)
            tl.store(x_ptr, count)
        with tlx.async_task(num_warps=4):
            for iteration in range(tl.minimum(count, 3)):
                tlx.barrier_wait(empty[0], iteration & 1 ^ 1)
                tlx.barrier_arrive(full[0], 1)


def test_a_launch_is_checked_with_its_own_integers() -> None:
    """More than three iterations never end; some assumed arguments are fewer."""
    x = np.zeros(1, np.int32)
    with tw.running(target="cuda:sm_90a"), running_threads():
        rounds_kernel[(1,)](x, 2)
        assert x[0] == 2
        with pytest.raises(CompileError) as error:
            rounds_kernel[(1,)](x, 5)
    text = str(error.value)
    assert "TW4051" in text
    assert "in block (0, 0, 0) of this launch" in text


# -- mutations -----------------------------------------------------------------------------------

MUTATED = (MBarrierArriveOp, MBarrierWaitOp, WgmmaWaitOp, AsyncCopyOp, BarOp)
USERS = (MBarrierArriveOp, MBarrierWaitOp, MBarrierArriveExpectTxOp, MBarrierExpectTxOp)


def drop(op: Operation) -> bool:
    op.detach()
    op.erase()
    return True


def invert_parity(op: Operation) -> bool:
    if not isinstance(op, MBarrierWaitOp):
        return False
    one = ConstantOp(IntegerAttr(1, i32))
    other = XoriOp(op.parity, one.result)
    block = op.parent_block()
    assert block is not None
    block.insert_ops_before([one, other], op)
    op.operands[2] = other.result
    return True


def swap_barrier(op: Operation) -> bool:
    """Another array of barriers, of the same length."""
    if not isinstance(op, USERS):
        return False
    kernel = next(each for each in parents(op) if isinstance(each, KernelOp))
    others = [
        each.result
        for each in kernel.body_block.ops
        if isinstance(each, AllocOp) and each.space.is_barrier
        if each.result.type == op.barrier.type and each.result is not op.barrier
    ]
    if others:
        op.operands[0] = others[0]
    return bool(others)


def next_slot(op: Operation) -> bool:
    """The next barrier, perhaps past the end."""
    if not isinstance(op, USERS):
        return False
    one = ConstantOp(IntegerAttr(1, IndexType()))
    other = AddiOp(op.index, one.result)
    block = op.parent_block()
    assert block is not None
    block.insert_ops_before([one, other], op)
    op.operands[1] = other.result
    return True


def parents(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


MUTATIONS = (drop, invert_parity, swap_barrier, next_slot)
Mutant = tuple[str, int, int]


def mutated(name: str, at: int, kind: int) -> RaisedKernel | None:
    kernel = replace(original(name), module=original(name).module.clone())
    ops = [op for op in walk(kernel.module) if isinstance(op, (*MUTATED, *USERS))]
    return kernel if MUTATIONS[kind](ops[at]) else None


def mutants(name: str) -> list[Mutant]:
    ops = [op for op in walk(original(name).module) if isinstance(op, (*MUTATED, *USERS))]
    everything = [(name, at, kind) for at in range(len(ops)) for kind in range(len(MUTATIONS))]
    return [each for each in everything if mutated(*each) is not None]


def integers_of(launch: Launch) -> list[int | None]:
    return [each if isinstance(each, int) else None for each in (*launch.arguments, *launch.sizes)]


def is_caught(name: str, at: int, kind: int) -> bool:
    """Whether a raised kernel with a wrong barrier, wait or copy is found out."""
    launch = launches(name)[0][1]
    kernel = mutated(name, at, kind)
    assert kernel is not None
    if "error" in checked(kernel.module):
        return True
    if check_launch(kernel.module, integers_of(launch), launch.sizes).error_count:
        return True
    try:
        actual, _ = on_tiles(kernel, launch, TilePipeline(), schedules=8)
        assert_same(bits(name, 0), actual)
    except (AssertionError, TileFault, CompileError):
        return True
    return False


def test_a_wrong_op_is_found() -> None:
    """Half of those of one kernel."""
    chosen = mutants("hopper_gemm_ws")[::2]
    assert len(chosen) >= MIN_CHOSEN
    assert [each for each in chosen if not is_caught(*each)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", RAISED[1:5])
def test_every_wrong_op_is_found(name: str) -> None:
    silent = [each for each in mutants(name) if not is_caught(*each)]
    assert len(silent) <= HARMLESS.get(name, 0), silent


MIN_CHOSEN = 12
HARMLESS = {"hopper_gemm_persistent": 2}
"""Its user waits twice for the same phase, so that nothing moves before the GEMM."""
