"""The source executor: values, schedules, numerics, and a fault injected for each sanitizer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.targets.tenstorrent.own_programs import (
    COMPUTE,
    KERNELS,
    PROGRAMS,
    READER,
    WRITER,
    Case,
    add_relu,
    cb,
    gemm_multicast,
    kernel,
    softmax,
    values,
)
from tilewright.dialects.tensix.chips import BLACKHOLE, simulated
from tilewright.ir.codes.tenstorrent_run import ENTRIES
from tilewright.targets.tenstorrent.diagnostics import diagnostics_of
from tilewright.targets.tenstorrent.execution import Check, ExecutionError, Numerics, RunOptions
from tilewright.targets.tenstorrent.formats import TileFormat
from tilewright.targets.tenstorrent.program import (
    Accessor,
    Address,
    Buffer,
    KernelSource,
    Program,
    ProgramError,
    Semaphore,
    Space,
    circular_buffer,
    core_rectangle,
    every_core,
    one_core,
)
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run
from tilewright.targets.tenstorrent.source.builds import machine_binary
from tilewright.targets.tenstorrent.source.toolchain import VARIABLE, KernelCompileError


@pytest.fixture(scope="module", autouse=True)
def host_can_execute() -> None:
    try:
        machine_binary()
        case = add_relu()
        run(case.program, case.inputs)
    except SourceExecutorUnavailable as reason:
        pytest.skip(f"the source executor was NOT tested: {reason}")


def replaced(name: str, old: str, new: str) -> dict[str, str]:
    """A kernel's source with one text exchanged."""
    source = kernel(name, READER, one_core()).source
    assert source.count(old) >= 1
    return {name: source.replace(old, new)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_do_not_depend_on_the_seed(name: str):
    case = PROGRAMS[name]()
    results = [
        run(case.program, case.inputs, RunOptions(seed=seed)).raise_for_findings()
        for seed in range(6)
    ]
    assert all(case.is_right(each) for each in results)
    assert len({each.buffers["out"] for each in results}) == 1
    assert len({each.traffic for each in results}) == 1
    assert len({each.switches for each in results}) > 1


def test_the_same_seed_gives_the_same_schedule():
    case = gemm_multicast()
    first, second = (run(case.program, case.inputs, RunOptions(seed=7)) for _ in range(2))
    assert first == second


def test_traffic_is_counted():
    case = gemm_multicast(grid=(3, 2), kt=4)
    traffic = run(case.program, case.inputs).traffic
    assert (traffic.dram_page_reads, traffic.dram_page_writes) == (2 * 4 + 3 * 4, 6)
    assert traffic.multicast_pages == 2 * 4 + 3 * 4
    assert traffic.noc_bytes == 2048 * (2 * 4 * 2 + 3 * 4 * 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_device_like_numerics_stay_within_the_bounds(name: str):
    case = PROGRAMS[name]()
    outcome = run(case.program, case.inputs, RunOptions(numerics=Numerics.DEVICE))
    actual, expected = case.actual(outcome).ravel(), case.expected.ravel()
    assert np.corrcoef(actual, expected)[0, 1] >= 0.999
    assert np.linalg.norm(actual - expected) <= 2**-6 * np.linalg.norm(expected)


def test_device_like_rounding_depends_on_the_width_of_dst():
    narrow, wide = (gemm_multicast(kt=8, fp32=fp32) for fp32 in (False, True))
    options = RunOptions(numerics=Numerics.DEVICE)
    errors = [
        np.abs(case.actual(run(case.program, case.inputs, options)) - case.expected).max()
        for case in (narrow, wide)
    ]
    assert errors[0] > errors[1]


def test_blackhole_needs_a_flush_between_data_and_flag():
    right = gemm_multicast(chip=BLACKHOLE)
    for seed in range(4):
        run(right.program, right.inputs, RunOptions(seed=seed)).raise_for_findings()
    text = replaced("gemm_reader", "    noc_async_writes_flushed();\n", "")
    wrong = gemm_multicast(text, chip=BLACKHOLE)
    checks = {
        finding.check
        for seed in range(8)
        for finding in run(wrong.program, wrong.inputs, RunOptions(seed=seed)).findings
    }
    assert Check.PUSH_BEFORE_BARRIER in checks
    wormhole = gemm_multicast(text)
    for seed in range(4):
        run(wormhole.program, wormhole.inputs, RunOptions(seed=seed)).raise_for_findings()


def test_a_deadlock_report_has_the_call_of_every_kernel():
    case = add_relu(replaced("add_compute", "cb_pop_front(in1, 1);", ""), rows=160)
    with pytest.raises(ExecutionError) as error:
        run(case.program, case.inputs, RunOptions(seed=3)).raise_for_findings()
    lines = str(error.value).split("\n")
    assert "deadlock: every unfinished kernel is blocked" in lines[0]
    assert (
        "core (0,0) add_reader line 16: cb_reserve_back(c_1, 1); c_1: 2 of 2 pages filled, "
        "received 2, acked 0"
    ) in lines
    assert any(
        line.startswith("core (0,0) writer line 11: cb_wait_front(c_16, 1)") for line in lines
    )


def test_circular_buffer_of_one_page():
    case = add_relu(depth=1)
    assert case.is_right(run(case.program, case.inputs, RunOptions(seed=5)).raise_for_findings())


def movement(*faults: int) -> Program:
    """The kernel of data-movement faults, on both processors if there are two."""
    core = one_core()
    kernels = tuple(
        replace(
            kernel(
                "movement_faults",
                processor,
                core,
                compile_args=(Accessor("data"),),
                runtime_args=every_core(core, fault, Address("l1"), Address("data")),
            ),
            name=f"movement_{fault}",
        )
        for fault, processor in zip(faults, (WRITER, READER), strict=False)
    )
    buffers = (Buffer("data", 2048, 4), Buffer("l1", 4096, 1, Space.L1))
    return Program("faults", simulated(1, 1), buffers, kernels, (), (Semaphore(0, 0, core),))


MOVEMENT_FAULTS = {
    1: (Check.BAD_ADDRESS, "access through a pointer that is no L1 address"),
    2: (Check.MISALIGNED, "L1 address 0x16d004 is not a multiple of 16"),
    3: (Check.PAGE_RANGE, "page 5 of 'data', which has 4 pages"),
    4: (Check.BAD_ADDRESS, "2048 B at L1 address 0x1f0000 exceed its 1499136 B"),
    5: (Check.BAD_ADDRESS, "get_semaphore(16): a core has 16 semaphores"),
    6: (Check.BAD_ADDRESS, "no core at NoC coordinates (3,3)"),
    7: (Check.POISONED_READ, "is the destination of the read in flight from line 32"),
    8: (Check.PUSH_BEFORE_BARRIER, "kernel ends with 1 reads in flight"),
    9: (Check.POP_BEFORE_WRITE, "kernel ends with the write of line 43 to DRAM in flight"),
    10: (Check.BAD_ADDRESS, "cb_reserve_back: core has no circular buffer c_5"),
    11: (Check.DEADLOCK, "noc_semaphore_wait(semaphore 0, 1); its value is 0"),
    12: (Check.OUTSIDE_WINDOW, "are outside every circular buffer and L1 buffer"),
    13: (Check.ARGUMENT_RANGE, "get_arg_val(3): the host set 3 words"),
    14: (Check.DEADLOCK, "time limit exceeded: the kernel polls memory"),
    17: (Check.PAGE_RANGE, "is not the address of a buffer"),
}


@pytest.mark.parametrize("fault", MOVEMENT_FAULTS)
def test_a_fault_of_a_data_movement_kernel_is_reported(fault: int):
    check, message = MOVEMENT_FAULTS[fault]
    data = values((4, 1024), 1)
    findings = run(movement(fault), {"data": data}, RunOptions(timeout_seconds=1)).findings
    assert any(f.check is check and message in f.message for f in findings), findings


def test_no_fault_no_finding():
    run(movement(0), {"data": values((4, 1024), 1)}).raise_for_findings()


def test_a_semaphore_set_by_the_other_kernel_of_a_waiting_core_is_reported():
    checks = {
        finding.check
        for seed in range(4)
        for finding in run(
            movement(15, 16), {"data": values((4, 1024), 1)}, RunOptions(seed=seed)
        ).findings
    }
    assert checks == {Check.SEMAPHORE_OWNER}


COMPUTE_FAULTS = {
    1: (Check.MISSING_INIT, "before compute_kernel_hw_startup"),
    2: (Check.MISSING_INIT, "copy_tile: the last init of the FPU is for another operation"),
    3: (Check.UNDEFINED_DST, "exp_tile reads DST slot 1, which no operation has written"),
    4: (Check.DST_RANGE, "copy_tile: DST slot 8, the configuration has 8"),
    5: (Check.MISSING_INIT, "exp_tile: the last init of the SFPU is for another operation"),
    6: (Check.MISSING_INIT, "c_1 has data format 0, source A is configured for 5"),
    7: (Check.DST_SECTION, "copy_tile outside tile_regs_acquire .. tile_regs_commit"),
    8: (Check.UNDEFINED_DST, "pack_tile: DST slot 1, which no operation has written"),
    9: (Check.DST_SECTION, "kernel ends between tile_regs_acquire and tile_regs_release"),
    10: (Check.UNUSED_DST, "DST slot 1 is released with a result that was not packed"),
}


@pytest.mark.parametrize("fault", [0, *COMPUTE_FAULTS])
def test_a_fault_of_a_compute_kernel_is_reported(fault: int):
    core = one_core()
    kernels = (
        kernel(
            "add_reader",
            READER,
            core,
            compile_args=(Accessor("a"), Accessor("a")),
            runtime_args=every_core(core, Address("a"), Address("a"), 0, 1),
        ),
        kernel("compute_faults", COMPUTE, core, runtime_args=every_core(core, fault)),
        kernel(
            "writer",
            WRITER,
            core,
            compile_args=(Accessor("out"),),
            runtime_args=every_core(core, Address("out"), 0, 1),
        ),
    )
    fp32 = circular_buffer(1, TileFormat.FP32, pages=1, cores=core)
    buffers = (Buffer("a", 2048, 1), Buffer("out", 2048, 1, output=True))
    program = Program(
        "p", simulated(1, 1), buffers, kernels, (cb(0, 1, core), fp32, cb(16, 1, core))
    )
    a = values((1, 1024), 1)
    outcome = run(program, {"a": a}, RunOptions(off=frozenset({Check.UNPOPPED_PAGES})))
    if fault == 0:
        assert outcome.findings == ()
        assert outcome.buffers["out"] == a.tobytes()
        return
    check, message = COMPUTE_FAULTS[fault]
    assert any(f.check is check and message in f.message for f in outcome.findings), outcome


def with_arguments(case: Case, name: str, change: Any) -> Program:
    """The case's program with other run-time arguments of one kernel."""
    kernels = tuple(
        replace(
            k, runtime_args={core: change(core, words) for core, words in k.runtime_args.items()}
        )
        if k.name == name
        else k
        for k in case.program.kernels
    )
    return replace(case.program, kernels=kernels)


def test_two_writers_of_a_page_and_a_page_without_writer():
    case = add_relu()
    program = with_arguments(case, "writer", lambda core, words: (words[0], 0, words[2]))
    findings = run(program, case.inputs).findings
    assert {f.check for f in findings} == {Check.TWO_WRITERS, Check.UNWRITTEN_OUTPUT}
    assert "output 'out': 3 of 6 pages are not written, among them 3 4 5" in findings[-1].message


def test_blocks_that_do_not_divide_the_buffer_straddle_its_end():
    case = softmax(width=3)
    configs = tuple(
        replace(c, total_bytes=4 * 2048) if c.circular_buffers[0].index == 0 else c
        for c in case.program.circular_buffers
    )
    program = replace(case.program, circular_buffers=configs)
    checks = {f.check for f in run(program, case.inputs).findings}
    assert Check.STRADDLING_WRAP in checks


def test_num_dests_that_differ_from_the_rectangle_are_reported():
    case = gemm_multicast()
    program = with_arguments(case, "gemm_reader", lambda core, w: (*w[:10], w[8], *w[11:]))
    findings = run(program, case.inputs, RunOptions(max_findings=1)).findings
    assert findings[0].check is Check.MULTICAST_COUNT
    assert "num_dests is 2, the rectangle (19," in findings[0].message
    assert "reaches 1 cores" in findings[0].message


def test_a_kernel_that_does_not_compile_shows_the_compiler_message():
    core = one_core()
    bad = KernelSource("bad", WRITER, core, text="void kernel_main() { get_arg_val<uint64_t>(0); }")
    with pytest.raises(KernelCompileError, match="run-time arguments have 4 bytes"):
        run(Program("p", simulated(1, 1), (), (bad,)), {})


def test_a_mutable_static_is_rejected():
    text = 'static uint32_t calls;\nvoid kernel_main() { DPRINT("{}", ++calls); }'
    kernel_ = KernelSource("counts", WRITER, core_rectangle(2, 1), text=text)
    with pytest.raises(ProgramError, match="mutable static 'calls' would be shared by all cores"):
        run(Program("p", simulated(2, 1), (), (kernel_,)), {})


def test_the_api_of_2025():
    core = one_core()
    text = """
        #include "compute_kernel_api/matmul.h"
        namespace NAMESPACE {
        void MAIN {
            mm_init(0, 1, 16);
            acquire_dst();
            cb_wait_front(0, 1);
            cb_wait_front(1, 1);
            matmul_tiles(0, 1, 0, 0, 0, 0);
            cb_pop_front(0, 1);
            cb_pop_front(1, 1);
            cb_reserve_back(16, 1);
            pack_tile(0, 16);
            cb_push_back(16, 1);
            release_dst();
        }
        }
    """
    compute = KernelSource("mm", COMPUTE, core, text=text, defines={"TW_API_2025": "1"})
    case = gemm_multicast(grid=(1, 1), kt=1)
    reader = kernel(
        "add_reader",
        READER,
        core,
        compile_args=(Accessor("a"), Accessor("b")),
        runtime_args=every_core(core, Address("a"), Address("b"), 0, 1),
    )
    program = replace(
        case.program, kernels=(reader, compute, case.program.kernels[2]), semaphores=()
    )
    assert case.is_right(run(program, case.inputs).raise_for_findings())


def test_inputs_of_the_wrong_size_are_rejected():
    case = add_relu()
    with pytest.raises(ProgramError, match="buffer 'a': 2048 B given, 6 pages of 2048 B expected"):
        run(case.program, {"a": values((1, 1024), 1)})


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "no-such-compiler")
    case = add_relu(rows=32)
    with pytest.raises(SourceExecutorUnavailable, match="no-such-compiler not found"):
        run(case.program, case.inputs)


def test_findings_become_diagnostics_at_the_lines_of_the_source():
    case = add_relu(replaced("add_compute", "cb_pop_front(in1, 1);", ""), rows=160)
    findings = run(case.program, case.inputs, RunOptions(seed=3))
    (diagnostic,) = diagnostics_of(findings, case.program)
    assert diagnostic.code == "TW7201"
    assert diagnostic.message.endswith("deadlock: every unfinished kernel is blocked")
    assert len(diagnostic.notes) == 6
    assert str(diagnostic.location).startswith(str(KERNELS / "add_reader.cpp:"))


def test_every_check_has_a_code_with_an_entry():
    codes = [check.code for check in Check]
    assert len({*codes}) == len(codes)
    assert {*codes} == {entry.code for entry in ENTRIES}
