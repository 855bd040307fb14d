"""Run a program from its C++ sources on the host.

The machine is a process of its own: kernels use raw device addresses, and a faulty one may crash.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from tilewright.targets.tenstorrent.allocation import allocate
from tilewright.targets.tenstorrent.execution import Check, Finding, RunOptions, RunResult
from tilewright.targets.tenstorrent.program import Program, Space
from tilewright.targets.tenstorrent.source.builds import (
    kernel_library,
    machine_binary,
    work_directory,
)
from tilewright.targets.tenstorrent.source.job import (
    Image,
    PageData,
    describe,
    poison,
    unwritten_pages,
)
from tilewright.targets.tenstorrent.source.report import Report, parse_report

_WALL_FACTOR = 20
"""The limit is processor time; a busy host may take this many times as long."""


def run(
    program: Program,
    inputs: Mapping[str, PageData],
    options: RunOptions | None = None,
) -> RunResult:
    """Compile the kernels of `program` and execute it.

    Args:
        program: The host side and the kernels.
        inputs: The pages of buffers, in page order, by name; a buffer without is poisoned.
        options: Seed, numerics, sanitizers.

    Raises:
        SourceExecutorUnavailable: if the host has no compiler or cannot map L1.
        KernelCompileError: if a kernel does not compile.
        ProgramError: if no host could create the program.
    """
    options = options or RunOptions()
    allocation = allocate(program)
    libraries = {
        kernel.name: kernel_library(
            kernel, program.chip, allocation.compile_time_words(kernel.compile_args)
        )
        for kernel in program.kernels
    }
    image = Image(allocation, inputs)
    if options.keep_l1:
        for core in program.cores:
            image.add_segment(core, 0, poison(program.chip.l1_bytes), load=False)
    with tempfile.TemporaryDirectory(dir=work_directory()) as name:
        directory = Path(name)
        image.write(directory / "data")
        (directory / "job").write_text(
            describe(allocation, image, libraries, options), encoding="utf-8"
        )
        report = _execute(directory, options)
        data = np.fromfile(directory / "data", dtype=np.uint8)
    l1 = {
        each.core: data[each.offset : each.offset + each.size_bytes].tobytes()
        for each in image.segments
        if options.keep_l1 and each.address == 0
    }
    buffers = image.read_buffers(data)
    return RunResult(
        buffers=MappingProxyType(buffers),
        findings=(*report.findings, *_unwritten_shards(program, buffers)),
        traffic=report.traffic,
        page_reads=MappingProxyType(report.page_reads),
        prints=tuple(report.prints),
        l1=MappingProxyType(l1),
        switches=report.switches,
        events=tuple(report.events),
    )


def _unwritten_shards(program: Program, buffers: Mapping[str, bytes]) -> Iterator[Finding]:
    """Outputs in L1, which kernels write in place: pages that still hold what they held before."""
    for buffer in program.buffers:
        if buffer.space is Space.L1 and buffer.output:
            missing = unwritten_pages(buffer, buffers[buffer.name])
            if missing:
                yield Finding(
                    Check.UNWRITTEN_OUTPUT,
                    f"output '{buffer.name}': {len(missing)} of {buffer.pages} pages are not "
                    f"written, the first is page {missing[0]}",
                )


def _execute(directory: Path, options: RunOptions) -> Report:
    command = [str(machine_binary()), *(str(directory / n) for n in ("job", "data", "report"))]
    try:
        process = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=options.timeout_seconds * _WALL_FACTOR,
        )
        status = process.returncode
    except subprocess.TimeoutExpired:
        status = 0
    path = directory / "report"
    report = parse_report(path.read_text(encoding="utf-8") if path.exists() else "")
    if not report.complete:
        message = f"the machine ended without a report, exit status {status}"
        report.findings.append(Finding(Check.BAD_ADDRESS, message))
    return report
