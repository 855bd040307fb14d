"""Accesses that semaphores do not order are reported under every schedule, by both executors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.tenstorrent.machine import test_multicast as row
from tests.targets.tenstorrent.machine.gemm_ir import kernels_of
from tilewright.dialects.tensix.chips import simulated
from tilewright.targets.tenstorrent.emit.kernels import emit_kernel
from tilewright.targets.tenstorrent.execution import Check, RunOptions, RunResult
from tilewright.targets.tenstorrent.formats import TileFormat
from tilewright.targets.tenstorrent.machine import run_kernels
from tilewright.targets.tenstorrent.program import circular_buffer, core_rectangle
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run

SET_READY = "    tensix.sem_set %ready, %z\n"
FLAG = "    tensix.sem_mcast %valid to [%x0, %y0, %x1, %y1] dests %three\n"
INVALIDATE = "    tensix.sem_set %valid, %z\n"
INCREMENT = "    tensix.sem_inc %ready, %one at [%x, %y]\n"


def exchanged(text: str, first: str, second: str) -> str:
    """The text with two lines exchanged."""
    assert text.count(first) == text.count(second) == 1
    return text.replace(first, "\0").replace(second, first).replace("\0", second)


def without(text: str, line: str) -> str:
    assert text.count(line) == 1
    return text.replace(line, "")


FAULTS: dict[str, tuple[str, str, int, Check]] = {
    "none": (row.SENDER, row.RECEIVER, 2, Check.DEADLOCK),
    "none, one page": (row.SENDER, row.RECEIVER, 1, Check.DEADLOCK),
    "invalidate after increment": (
        *(row.SENDER, exchanged(row.RECEIVER, INVALIDATE, INCREMENT)),
        *(2, Check.SEMAPHORE_OWNER),
    ),
    "clear after flag": (
        *(without(row.SENDER, SET_READY).replace(FLAG, FLAG + SET_READY), row.RECEIVER),
        *(2, Check.SEMAPHORE_OWNER),
    ),
    "no wait for receivers": (
        *(without(row.SENDER, "    tensix.sem_wait %ready, %three\n"), row.RECEIVER),
        *(2, Check.OUTSIDE_WINDOW),
    ),
    "no wait for the flag": (
        *(row.SENDER, without(row.RECEIVER, "    tensix.sem_wait %valid, %one\n")),
        *(2, Check.UNWRITTEN_PAGE),
    ),
    "no flush with one page": (
        *(without(row.SENDER, "    tensix.noc_barrier flush\n"), row.RECEIVER),
        *(1, Check.POP_BEFORE_WRITE),
    ),
}


def executed(name: str, seed: int, *, from_sources: bool) -> tuple[RunResult, bytes]:
    sender, receiver, pages, _ = FAULTS[name]
    types = row.TYPES.replace("!tensix.cb<2 x", f"!tensix.cb<{pages} x")
    kernels = kernels_of(types + sender + receiver + row.WRITER)
    cores = core_rectangle(row.CORES, 1)
    program = replace(
        row.program_of(simulated(row.CORES, 1)),
        circular_buffers=(circular_buffer(0, TileFormat.BF16, pages=pages, cores=cores),),
    )
    data = np.random.default_rng(1).integers(0, 255, (row.PAGES, 2048), dtype=np.uint8).tobytes()
    options = RunOptions(seed=seed, max_findings=200)
    if not from_sources:
        return run_kernels(program, kernels, {"A": data}, options), data * row.CORES
    texts = tuple(replace(each, text=emit_kernel(kernels[each.name])) for each in program.kernels)
    try:
        result = run(replace(program, kernels=texts), {"A": data}, options)
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"sources were NOT run: {reason}")
    return result, data * row.CORES


@pytest.mark.parametrize("from_sources", [False, True], ids=["ir", "source"])
@pytest.mark.parametrize("name", FAULTS)
def test_under_every_schedule(name: str, from_sources: bool) -> None:
    expected = FAULTS[name][3]
    for seed in range(8):
        result, data = executed(name, seed, from_sources=from_sources)
        if name.startswith("none"):
            assert result.findings == ()
            assert result.buffers["C"] == data
        else:
            assert expected in {each.check for each in result.findings}, seed
