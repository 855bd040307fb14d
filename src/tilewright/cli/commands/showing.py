"""Commands that show what a kernel does with memory: `analyze`, `memory` and `layout`."""

from __future__ import annotations

from dataclasses import replace

from tilewright.cli.commands.shared import (
    COMPAT,
    DEFAULT_NOTE,
    JSON,
    KERNEL,
    OUTPUT,
    PYTHON,
    TARGET,
    TARGETS,
    TEXT,
    TRACEBACK,
)
from tilewright.cli.options import Command, Option

CHECKS = ("coalesce", "vector", "bounds", "race", "overflow", "prefetch")

ANALYZE = Command(
    "analyze",
    "explain every memory access as a function of the program id",
    (f"[flags] {PYTHON}", "[flags] FILE          ('-' is standard input)"),
    "Explains every load, store and atomic of a kernel: how its address depends on the program id, "
    "whether it coalesces, its vector width. A script is run, and every kernel it launches is "
    "analysed with its real grid, arguments and buffers.",
    (
        replace(KERNEL, help="only this kernel; also FILE:NAME and --function NAME"),
        Option("function", "NAME", "the same"),
        Option(
            "format", "FORMAT", "text (the default), json or html", "", ("text", "json", "html")
        ),
        replace(JSON, help="short for --format json"),
        OUTPUT,
        Option("verbose", help="text: also vector width, alignment, order, guard, assumptions"),
        Option(
            "check", "LIST", f"checks to run: {', '.join(CHECKS)}; or all", "", (*CHECKS, "all")
        ),
        Option("assume", "CONDITION", "a condition that holds, for example 'M % 128 == 0'"),
        Option(
            "noalias",
            help="pointer arguments do not alias (the default; in scripts, the addresses of the "
            "arrays decide)",
        ),
        Option("may-alias", "A,B", "these arguments may alias"),
        Option("strict-overflow", help="treat values that may overflow as unknown"),
        Option(
            "timeout",
            "SECONDS",
            "limit for all solver queries; without it only steps are limited",
        ),
        COMPAT,
        TRACEBACK,
        replace(
            TARGET,
            help="analyse tl and tlx kernels as they are raised to tiles for cuda:sm_90a, "
            "hip:gfx942 or another target",
        ),
        Option("grid", "X[,Y[,Z]]", "programs along each axis; '?' for an unknown extent", TEXT),
        Option("arg", "NAME=VALUE", "the value of an integer argument", TEXT),
        Option("buffer", "NAME=BYTES", "size of the buffer of a pointer argument", TEXT),
    ),
    (
        "kernel.ttir --grid 8 --arg n=1000 --buffer x_ptr=4000 --check bounds,race",
        "--format html -o softmax.html examples/tl/softmax.py",
    ),
    "0; 1 if a check found a violation (coalesce, bounds, race or overflow refuted); 2 if the "
    "command line or the file is wrong; 3 if nothing was refuted, but something that accesses "
    "global memory was not analysed; 130 after Ctrl-C.",
    has_flags_after_script=False,
)

MEMORY = Command(
    "memory",
    "draw the shared- and tensor-memory map",
    ("[flags] FILE          ('-' is standard input)", f"[flags] {PYTHON}"),
    "Draws the shared and tensor memory of kernels, with the lines that allocate and the aliasing "
    "as it is written. FILE is IR text; a script is run, "
    "and its kernels are traced for their launch arguments, and not run. With a target like "
    "cuda:sm_90a, hip:gfx942 or tenstorrent:wormhole the kernels of a script are compiled, and "
    "their shared memory is drawn as it is placed; of Tenstorrent, the circular buffers in the L1 "
    "of a core.",
    (
        KERNEL,
        Option(
            "target",
            "NAME",
            "target to compare with, instead of the module's: sm_80, sm_90, sm_100, gfx942, ...; "
            "as cuda:sm_90a, hip:gfx942, tenstorrent:wormhole the kernels of a script are compiled "
            "for it",
            "",
            (*TARGETS, "sm_80", "sm_90", "sm_100", "gfx942"),
        ),
        Option(
            "format",
            "FORMAT",
            "text (80 columns, the default), svg, html (one file) or json",
            "",
            ("text", "svg", "html", "json"),
        ),
        replace(JSON, help="short for --format json", is_after_script=True),
        OUTPUT,
        Option("region", "NAME", "only this region"),
        Option(
            "placement",
            "MODE",
            "as tlx-storage-alias-lowering: reindex (default), explicit or auto",
            "",
            ("reindex", "explicit", "auto"),
        ),
        Option("infer-overlap", help="infer overlaps from reuse groups without set_buffer_overlap"),
        Option("multi-overlap", help="allow several overlap definitions of one spec"),
        Option(
            "merge",
            help="place plain allocations as merge-shared-memory would, with the reasons why two "
            "buffers cannot share bytes",
        ),
        replace(COMPAT, is_after_script=True),
    ),
    (
        "examples/tlx/hopper_gemm_persistent.py",
        "examples/storage_alias/hopper_gemm_ring.mlir",
        "examples/tile/gemm.py --target cuda:sm_90a --format html -o gemm.html",
    ),
    "0; 1 if a region cannot be planned or the memory is exceeded; 2 if the command line or the "
    "file is wrong; 130 after Ctrl-C.",
)

LAYOUT = Command(
    "layout",
    "draw fragment layouts (thread, register) and shared-memory swizzles",
    (f"[flags] {PYTHON}", "[flags] FILE.mlir[:KERNEL]       ('-' is standard input)"),
    "Draws the layouts of T kernels, and of tl and tlx kernels raised to tiles: for fragments the "
    "thread and register of each element, for shared memory the bytes and banks under a swizzle, "
    "for parallel loops the thread of each iteration. A Python file is run like a script; its "
    "kernels are traced for their call arguments, and not run; its output is not shown. No GPU is "
    "needed.",
    (
        KERNEL,
        Option("buffer", "NAME", "only this buffer"),
        Option("line", "N", "only the buffer, loop or tile operation in this line"),
        replace(TARGET, help=f"{DEFAULT_NOTE}, cuda:sm_80, hip:gfx942, ..."),
        Option("svg", help="SVG instead of text"),
        Option("html", help="a self-contained HTML page instead of text"),
        replace(JSON, help="JSON instead of text", is_after_script=True),
        replace(OUTPUT, help="write there; .svg, .html and .json set the format"),
        Option("rows", "N", "rows of each tile (text: 16; SVG, HTML: 32)"),
        Option("columns", "N", "columns of each tile (text: 12; SVG, HTML: 32)"),
        Option("full", help="draw the whole tile"),
        Option("remarks", help="print remarks, for example why wgmma is not used"),
        replace(COMPAT, is_after_script=True),
    ),
    (
        "examples/tile/gemm_relu.py --buffer C_local",
        "examples/tl/softmax.py",
        "examples/tile/attention.py:main -o layouts.html",
    ),
    "0; 1 if a kernel does not compile; 2 if the command line or the file is wrong; 3 if a kernel "
    "has no layouts, with the reason; 130 after Ctrl-C.",
)
