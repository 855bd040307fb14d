"""One core reads pages and multicasts them to the others of its row, by the protocol of semaphores."""

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.tenstorrent.machine.gemm_ir import kernels_of
from tilewright.dialects.tensix.chips import BLACKHOLE, simulated
from tilewright.targets.tenstorrent.emit.kernels import emit_kernel
from tilewright.targets.tenstorrent.execution import Check, RunOptions
from tilewright.targets.tenstorrent.formats import TileFormat
from tilewright.targets.tenstorrent.machine import run_kernels
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    KernelSource,
    NocX,
    NocY,
    Processor,
    Program,
    Semaphore,
    circular_buffer,
    core_rectangle,
    one_core,
)
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run

PAGES, CORES = 3, 4

SENDER = """
tensix.kernel @sender role(reader) {
  %a_addr = tensix.arg 0
  %x0 = tensix.arg 1
  %y0 = tensix.arg 2
  %x1 = tensix.arg 3
  %y1 = tensix.arg 4
  %cb0 = tensix.cb 0 : !cb
  %a = tensix.accessor %a_addr ct_offset(0) : !acc
  %ready = tensix.sem 0
  %valid = tensix.sem 1
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %size = arith.constant 2048 : index
  tensix.sem_set %valid, %one
  scf.for %i = %z to %three step %one {
    tensix.cb_reserve %cb0, %one : !cb
    %w = tensix.cb_write_ptr %cb0 : !cb
    tensix.noc_read_tile %i, %a, %w : !acc
    tensix.noc_barrier read
    tensix.sem_wait %ready, %three
    tensix.sem_set %ready, %z
    tensix.mcast %w to [%x0, %y0, %x1, %y1] bytes %size dests %three
    tensix.noc_barrier flush
    tensix.sem_mcast %valid to [%x0, %y0, %x1, %y1] dests %three
    tensix.cb_push %cb0, %one : !cb
  }
  tensix.noc_barrier write
}
"""

RECEIVER = """
tensix.kernel @receiver role(reader) {
  %x = tensix.arg 0
  %y = tensix.arg 1
  %cb0 = tensix.cb 0 : !cb
  %ready = tensix.sem 0
  %valid = tensix.sem 1
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  scf.for %i = %z to %three step %one {
    tensix.cb_reserve %cb0, %one : !cb
    tensix.sem_set %valid, %z
    tensix.sem_inc %ready, %one at [%x, %y]
    tensix.sem_wait %valid, %one
    tensix.cb_push %cb0, %one : !cb
  }
}
"""

WRITER = """
tensix.kernel @writer role(writer) {
  %c_addr = tensix.arg 0
  %first = tensix.arg 1
  %cb0 = tensix.cb 0 : !cb
  %c = tensix.accessor %c_addr ct_offset(0) : !acc
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  scf.for %i = %z to %three step %one {
    tensix.cb_wait %cb0, %one : !cb
    %r = tensix.cb_read_ptr %cb0 : !cb
    %page = arith.addi %first, %i : index
    tensix.noc_write_tile %page, %c, %r : !acc
    tensix.noc_barrier write
    tensix.cb_pop %cb0, %one : !cb
  }
}
"""
TYPES = "!cb = !tensix.cb<2 x 2048, bf16>\n!acc = !tensix.accessor<2, bf16>\n"


def program_of(chip):
    row = core_rectangle(CORES, 1)
    others = core_rectangle(CORES - 1, 1, x=1)
    corners = (NocX((1, 0)), NocY((1, 0)), NocX((3, 0)), NocY((3, 0)))
    return Program(
        name="row",
        chip=chip,
        buffers=(
            Buffer("A", 2048, PAGES),
            Buffer("C", 2048, CORES * PAGES, output=True),
        ),
        circular_buffers=(circular_buffer(0, TileFormat.BF16, pages=2, cores=row),),
        semaphores=(Semaphore(0, 0, row), Semaphore(1, 0, row)),
        kernels=(
            KernelSource(
                "sender",
                Processor.RISCV_1,
                one_core(),
                compile_args=(Accessor("A"),),
                runtime_args={(0, 0): (Address("A"), *corners)},
            ),
            KernelSource(
                "receiver",
                Processor.RISCV_1,
                others,
                runtime_args={core: (NocX((0, 0)), NocY((0, 0))) for core in others},
            ),
            KernelSource(
                "writer",
                Processor.RISCV_0,
                row,
                compile_args=(Accessor("C"),),
                runtime_args={core: (Address("C"), core[0] * PAGES) for core in row},
            ),
        ),
    )


def _run(sender=SENDER, receiver=RECEIVER, seed=0, chip=None):
    pages = np.random.default_rng(1).integers(0, 255, (PAGES, 2048), dtype=np.uint8)
    result = run_kernels(
        program_of(chip or simulated(CORES, 1)),
        kernels_of(TYPES + sender + receiver + WRITER),
        {"A": pages.tobytes()},
        RunOptions(seed=seed),
    )
    return result, pages.tobytes() * CORES


@pytest.mark.parametrize("chip", [None, BLACKHOLE], ids=["wormhole", "blackhole"])
@pytest.mark.parametrize("seed", range(6))
def test_every_core_receives_every_page(seed, chip):
    result, expected = _run(seed=seed, chip=chip)
    assert result.findings == ()
    assert result.buffers["C"] == expected
    assert result.traffic.dram_page_reads == PAGES
    assert result.traffic.multicast_pages == PAGES
    assert result.traffic.noc_bytes == PAGES * 3 * 2048


def test_the_emitted_kernels_do_the_same():
    kernels = kernels_of(TYPES + SENDER + RECEIVER + WRITER)
    program = program_of(simulated(CORES, 1))
    sources = tuple(replace(each, text=emit_kernel(kernels[each.name])) for each in program.kernels)
    expected, pages = _run(seed=3)
    inputs = {"A": pages[: PAGES * 2048]}
    try:
        found = run(replace(program, kernels=sources), inputs, RunOptions(seed=3))
    except SourceExecutorUnavailable as reason:
        pytest.skip(str(reason))
    assert found.findings == ()
    assert found.buffers["C"] == expected.buffers["C"] == pages
    assert found.traffic == expected.traffic


def _reported(seeds=range(8), **changes):
    found = set()
    for seed in seeds:
        result, expected = _run(seed=seed, **changes)
        found |= {each.check for each in result.findings}
        assert result.findings or result.buffers["C"] == expected
    return found


def test_a_flag_overtakes_data_that_was_not_flushed():
    sender = SENDER.replace("    tensix.noc_barrier flush\n", "")
    assert Check.UNWRITTEN_PAGE in _reported(sender=sender, chip=BLACKHOLE)
    assert _reported(sender=sender) == set()


def test_the_count_of_destinations_is_checked():
    sender = SENDER.replace("bytes %size dests %three", "bytes %size dests %one")
    assert Check.MULTICAST_COUNT in _reported(sender=sender)


def test_a_receiver_that_does_not_count_itself_stops_the_row():
    receiver = RECEIVER.replace("    tensix.sem_inc %ready, %one at [%x, %y]\n", "")
    result, _ = _run(receiver=receiver)
    assert {each.check for each in result.findings} == {Check.DEADLOCK}
    texts = [str(each) for each in result.findings]
    assert any("waits forever for semaphore 0 == 3 (its value is 0)" in text for text in texts)


def test_data_that_arrives_before_the_reserve_is_reported():
    receiver = RECEIVER.replace("    tensix.cb_reserve %cb0, %one : !cb\n", "")
    receiver = receiver.replace(
        "    tensix.cb_push", "    tensix.cb_reserve %cb0, %one : !cb\n    tensix.cb_push"
    )
    assert Check.OUTSIDE_WINDOW in _reported(receiver=receiver)


def test_a_store_to_a_semaphore_that_another_kernel_waits_for():
    writer = WRITER.replace(
        "    tensix.cb_wait %cb0",
        "    %valid = tensix.sem 1\n    tensix.sem_set %valid, %one\n    tensix.cb_wait %cb0",
    )
    pages = np.zeros((PAGES, 2048), np.uint8)
    found = set()
    for seed in range(6):
        result = run_kernels(
            program_of(simulated(CORES, 1)),
            kernels_of(TYPES + SENDER + RECEIVER + writer),
            {"A": pages.tobytes()},
            RunOptions(seed=seed),
        )
        found |= {each.check for each in result.findings}
    assert Check.SEMAPHORE_OWNER in found
