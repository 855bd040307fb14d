"""The order of accesses to tensor memory, proved without data."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.targets.numpy.simt.tensor_memory_kernels import Gemm, chain_text, gemm_text, parsed
from tests.targets.numpy.simt.test_tensor_memory_faults import (
    AGAIN,
    CHAIN_FAULTS,
    END,
    FROM,
    GEMM_FAULTS,
    PAIR,
)
from tilewright.analysis.thread_sync import FaultKind, KernelResult, check


def analysed(text: str) -> KernelResult:
    (result,) = check(parsed(text))
    return result


@pytest.mark.parametrize(
    "text",
    [
        gemm_text(Gemm()),
        gemm_text(Gemm(m=64, n=32)),
        gemm_text(Gemm(dtype="f8E4M3FN", block_k=128, scaled=True)),
        gemm_text(Gemm(m=256, n=64, group=2)),
        gemm_text(Gemm(m=128, n=128, group=2, dtype="bf16", a_along_m=True, b_along_n=True)),
        chain_text(),
    ],
)
def test_right_kernels(text: str) -> None:
    result = analysed(text)
    assert (result.fault, result.not_analysed, list(result.skipped)) == (None, None, [])


SAME = [
    # Faults that are errors here as in an execution with data, with the same message.
    ("fence after the wait removed", FaultKind.FENCE, "warp 1 reads column 0, lanes 32 to 47"),
    ("dealloc before the barrier", FaultKind.IN_FLIGHT, ""),
    ("wait_st removed", FaultKind.IN_FLIGHT, ""),
    ("fence before the barrier removed", FaultKind.FENCE, ""),
    ("fence before the MMA removed", FaultKind.FENCE, ""),
    ("barrier removed", FaultKind.RACE, ""),
]
OTHER = [
    (
        "commit removed",
        FaultKind.DEADLOCK,
        "deadlock: the block waits for phase 0 of all[0], parity 0, but only 0 phases complete",
    ),
    (
        "arrival instead of a commit",
        FaultKind.RACE,
        "data race: TMA writes As[0] to [8191], and nothing orders it after the tensor core of "
        "warp 0",
    ),
    (
        "wrong phase",
        FaultKind.IN_FLIGHT,
        "tcgen05.ld of warp 1 reads column 0, lanes 32 to 47 of tensor memory while tcgen05.mma "
        "may be in flight; nv.tcgen05.commit and a wait for its barrier are missing before the "
        "access",
    ),
    (
        "wait_ld removed",
        FaultKind.IN_FLIGHT,
        "threads access r, which an in-flight tcgen05.ld writes; nv.tcgen05.wait_ld is missing",
    ),
    (
        "operand overwritten in flight",
        FaultKind.RACE,
        "data race: TMA writes As[0] to [8191], and nothing orders it after the tensor core of "
        "warp 0",
    ),
    (
        "operand before it has arrived",
        FaultKind.RACE,
        "data race: the tensor core reads As[0] to [15], and nothing orders it after an "
        "in-flight copy",
    ),
    (
        "proxy fence missing",
        FaultKind.FENCE,
        "the tensor core reads Qs[0], written by threads without an async proxy fence after it",
    ),
]


def injected(name: str) -> str:
    if name in GEMM_FAULTS:
        return gemm_text(Gemm(), [GEMM_FAULTS[name][0]])
    return chain_text([CHAIN_FAULTS[name][0]])


@pytest.mark.parametrize(("name", "kind", "message"), OTHER)
def test_faults(name: str, kind: FaultKind, message: str) -> None:
    fault = analysed(injected(name)).fault
    assert fault is not None
    assert (fault.kind, fault.message) == (kind, message)


@pytest.mark.parametrize(("name", "kind", "changed"), SAME)
def test_faults_with_the_message_of_an_execution(name: str, kind: FaultKind, changed: str) -> None:
    fault = analysed(injected(name)).fault
    assert fault is not None
    expected = {**GEMM_FAULTS, **CHAIN_FAULTS}[name][2]
    if changed:  # all warps run together here
        expected = expected.replace(changed, "warp 0 reads column 0, lanes 0 to 15")
    assert (fault.kind, fault.message) == (kind, expected)


def pair(changes: Sequence[tuple[str, str]]) -> KernelResult:
    return analysed(gemm_text(PAIR, changes))


def test_leader_overwrites_what_the_other_cta_reads() -> None:
    fault = pair([(END, AGAIN.replace("@MORE@", "") + END)]).fault
    assert fault is not None
    assert fault.message == (
        "tcgen05.ld of warp 0 reads column 0, lanes 0 to 15 of tensor memory while tcgen05.mma "
        "may be in flight; nv.tcgen05.commit and a wait for its barrier are missing before the "
        "access"
    )
    more = "nv.cluster.arrive\n    nv.cluster.wait"
    assert pair([(END, AGAIN.replace("@MORE@", more) + END)]).fault is None


def test_addresses_that_depend_on_data_are_not_analysed() -> None:
    text = gemm_text(
        Gemm(),
        [
            (
                FROM,
                "%word = memref.load %C[%c0] : memref<8192xf32, #global>\n"
                "%unknown = arith.fptosi %word : f32 to i32\n"
                "%from = arith.addi %own, %unknown : i32",
            )
        ],
    )
    result = analysed(text)
    assert result.not_analysed is not None
    assert result.not_analysed.reason == "the address in tensor memory is a run-time value"
