"""Every sanitizer of the IR executor reports its fault, and only kernels with a fault are reported."""

import pytest

from tests.targets.tenstorrent.machine.gemm_ir import (
    COMPUTE,
    READER,
    TYPES,
    WRITER,
    gemm_program,
    inputs_of,
    kernels_of,
    pages,
)
from tilewright.dialects.tensix.chips import simulated
from tilewright.targets.tenstorrent.execution import Check, RunOptions
from tilewright.targets.tenstorrent.formats import TileFormat
from tilewright.targets.tenstorrent.machine import run_kernels
from tilewright.targets.tenstorrent.program import (
    KernelSource,
    Processor,
    Program,
    circular_buffer,
    one_core,
)


def _findings(reader=READER, compute=COMPUTE, writer=WRITER, seed=0, types=TYPES, off=()):
    a, b = inputs_of(2, 2, 2)
    result = run_kernels(
        gemm_program(2, 2, 2, (2, 1)),
        kernels_of(types + reader + compute + writer, check=False),
        {"A": pages(a), "B": pages(b)},
        RunOptions(seed=seed, off=frozenset(off)),
    )
    return result.findings


def _without(text, line):
    """`text` without the first line that contains `line`."""
    lines = text.splitlines()
    at = next(i for i, each in enumerate(lines) if line in each)
    return "\n".join(lines[:at] + lines[at + 1 :])


def _instead(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


_TWO = "%two = arith.constant 2 : index\n  scf.for %i"
_THREE = "%three = arith.constant 3 : index\n  scf.for %i"

FAULTS = {
    "no read barrier": (
        Check.PUSH_BEFORE_BARRIER,
        {"reader": _without(READER, "noc_barrier read")},
    ),
    "no write barrier": (
        Check.POP_BEFORE_WRITE,
        {"writer": _without(WRITER, "noc_barrier write")},
    ),
    "no reserve before a pack": (
        Check.OUTSIDE_WINDOW,
        {"compute": _without(COMPUTE, "cb_reserve")},
    ),
    "no reserve before a read": (
        Check.OUTSIDE_WINDOW,
        {"reader": _without(READER, "cb_reserve %cb0")},
    ),
    "no wait before math": (
        Check.UNPUSHED_READ,
        {"compute": _without(COMPUTE, "cb_wait %cb0")},
    ),
    "no wait before a write": (
        Check.UNPUSHED_READ,
        {"writer": _without(WRITER, "cb_wait")},
    ),
    "no pop of an operand": (Check.DEADLOCK, {"compute": _without(COMPUTE, "cb_pop %cb0")}),
    "no push of an operand": (Check.DEADLOCK, {"reader": _without(READER, "cb_push %cb1")}),
    "no push of the result": (Check.DEADLOCK, {"compute": _without(COMPUTE, "cb_push")}),
    "no pop of the result": (Check.UNPOPPED_PAGES, {"writer": _without(WRITER, "cb_pop")}),
    "no acquire": (Check.DST_SECTION, {"compute": _without(COMPUTE, "dst_acquire")}),
    "no commit": (Check.DST_SECTION, {"compute": _without(COMPUTE, "dst_commit")}),
    "no DST wait": (Check.DST_SECTION, {"compute": _without(COMPUTE, "dst_wait")}),
    "no release": (Check.DST_SECTION, {"compute": _without(COMPUTE, "dst_release")}),
    "no init": (Check.MISSING_INIT, {"compute": _without(COMPUTE, "init matmul")}),
    "no start-up": (Check.MISSING_INIT, {"compute": _without(COMPUTE, "hw_startup")}),
    "another init": (
        Check.MISSING_INIT,
        {"compute": _instead(COMPUTE, "init matmul(", "init matmul {transpose} (")},
    ),
    "an SFPU op on an undefined slot": (
        Check.UNDEFINED_DST,
        {
            "compute": _instead(
                COMPUTE,
                "tensix.dst_commit",
                "tensix.init unary exp\n tensix.unary exp %one\n tensix.dst_commit",
            )
        },
    ),
    "a DST slot that does not exist": (
        Check.DST_RANGE,
        {
            "compute": _instead(
                _instead(COMPUTE, "-> %z : !cb, !cb", "-> %eight : !cb, !cb"),
                "scf.for %i",
                "%eight = arith.constant 8 : index\n  scf.for %i",
            )
        },
    ),
    "a page past the end": (
        Check.PAGE_RANGE,
        {
            "reader": _instead(READER, "arith.addi %row, %k", "arith.addi %row, %sixteen").replace(
                "scf.for %i", "%sixteen = arith.constant 16 : index\n  scf.for %i", 1
            )
        },
    ),
    "an output page from both cores": (
        Check.TWO_WRITERS,
        {"writer": _instead(WRITER, "noc_write_tile %t", "noc_write_tile %z")},
    ),
    "one output page instead of another": (
        Check.UNWRITTEN_OUTPUT,
        {"writer": _instead(WRITER, "noc_write_tile %t", "noc_write_tile %start")},
    ),
    "an output page never": (
        Check.UNWRITTEN_OUTPUT,
        {"writer": _without(WRITER, "noc_write_tile")},
    ),
    "a reserve of more than there is": (
        Check.OVER_RESERVE,
        {
            "reader": _instead(
                _instead(READER, "cb_reserve %cb0, %one", "cb_reserve %cb0, %three"),
                "scf.for %i",
                _THREE,
            )
        },
    ),
    "a wait for more than there is": (
        Check.OVER_WAIT,
        {
            "compute": _instead(
                _instead(COMPUTE, "cb_wait %cb0, %one", "cb_wait %cb0, %three"),
                "scf.for %i",
                _THREE,
            )
        },
    ),
    "a push of more than is reserved": (
        Check.PUSH_WITHOUT_RESERVE,
        {
            "reader": _instead(
                _instead(READER, "cb_push %cb0, %one", "cb_push %cb0, %two"), "scf.for %i", _TWO
            )
        },
    ),
    "a pop of more than was waited for": (
        Check.POP_WITHOUT_WAIT,
        {
            "compute": _instead(
                _instead(COMPUTE, "cb_pop %cb0, %one", "cb_pop %cb0, %two"), "scf.for %i", _TWO
            )
        },
    ),
    "an argument that does not exist": (
        Check.ARGUMENT_RANGE,
        {"writer": _instead(WRITER, 'tensix.arg 2 "count"', "tensix.arg 7")},
    ),
    "an address that is no buffer": (
        Check.BAD_ADDRESS,
        {"writer": _instead(WRITER, "tensix.accessor %c_addr", "tensix.accessor %count")},
    ),
    "an accessor of another tensor's arguments": (
        Check.ARGUMENT_RANGE,
        {"writer": _instead(WRITER, "ct_offset(0)", "ct_offset(2)")},
    ),
    "a misaligned destination": (
        Check.MISALIGNED,
        {
            "reader": _instead(READER, "%a, %wa : !acc", "%a, %w1 : !acc").replace(
                "tensix.noc_read_tile %pa",
                "%w1 = arith.addi %wa, %one : index\n tensix.noc_read_tile %pa",
                1,
            )
        },
    ),
}


def test_the_kernels_themselves_have_no_fault():
    assert _findings() == ()


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_a_fault_is_reported_under_every_schedule(name, seed):
    check, kernels = FAULTS[name]
    assert check in {each.check for each in _findings(**kernels, seed=seed)}


PAIRS = """
tensix.kernel @reader role(reader) {
  %cb0 = tensix.cb 0 : !three
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %size = arith.constant 2048 : index
  scf.for %i = %z to %two step %one {
    tensix.cb_reserve %cb0, %two : !three
    %w = tensix.cb_write_ptr %cb0 : !three
    tensix.fill_page constant bits(0) format(bf16) %w, %z
    tensix.cb_push %cb0, %two : !three
  }
}
tensix.kernel @writer role(writer) {
  %cb0 = tensix.cb 0 : !three
  %z = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  scf.for %i = %z to %two step %one {
    tensix.cb_wait %cb0, %two : !three
    tensix.cb_pop %cb0, %two : !three
  }
}
"""


def test_a_block_that_does_not_divide_the_buffer():
    cores = one_core()
    program = Program(
        name="pairs",
        chip=simulated(1, 1),
        buffers=(),
        circular_buffers=(circular_buffer(0, TileFormat.BF16, pages=3, cores=cores),),
        kernels=(
            KernelSource("reader", Processor.RISCV_1, cores),
            KernelSource("writer", Processor.RISCV_0, cores),
        ),
    )
    kernels = kernels_of("!three = !tensix.cb<3 x 2048, bf16>" + PAIRS)
    unwritten, straddling = run_kernels(program, kernels, {}).findings
    assert unwritten.check is Check.UNWRITTEN_PAGE
    assert unwritten.message == "pushes 2 pages of c_0, not all of which were written"
    assert straddling.check is Check.STRADDLING_WRAP
    assert "of 2 pages at page 2 of c_0 straddles its end" in straddling.message


def test_a_deadlock_lists_every_blocked_kernel_with_its_call_and_buffers():
    findings = _findings(compute=_without(COMPUTE, "cb_pop %cb0"))
    texts = [str(each) for each in findings]
    assert len(texts) == 3
    assert texts[0].startswith(
        "core (0,0) reader line 25: waits forever for 1 free pages of c_0 (c_0: 2 of 2 pages ready)"
    )
    assert "c_16: 0 of 2 pages ready [deadlock]" in texts[1]


def test_a_check_can_be_switched_off():
    reader = _without(READER, "noc_barrier read")
    findings = _findings(reader=reader, off={Check.PUSH_BEFORE_BARRIER, Check.POISONED_READ})
    assert Check.PUSH_BEFORE_BARRIER not in {each.check for each in findings}
