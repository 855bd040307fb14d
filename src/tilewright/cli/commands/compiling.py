"""Commands that compile kernels, and run single passes."""

from __future__ import annotations

from dataclasses import replace

from tilewright.cli.commands.shared import COMPAT, DEFAULT_NOTE, JSON, KERNEL, PYTHON, TARGET, TEXT
from tilewright.cli.options import Command, Option

COMPILE = Command(
    "compile",
    "compile kernels to GPU machine code; no GPU needed",
    (f"[flags] {PYTHON}", "[flags] FILE.ttir[:KERNEL]       ('-' is standard input)"),
    "Compiles kernels to machine code; no GPU is needed. T kernels, and tl and tlx kernels raised "
    "to tiles, are compiled with CUDA C++ and NVRTC, or HIP C++ and clang; tl and tlx kernels with "
    "the installed Triton where the target is triton. A Python file is run like a script: its "
    "kernels are compiled for their launch arguments, and not run; its output is not shown. IR "
    "text may be TTIR, TTGIR with or without storage aliasing, or tile kernels. Prints one line "
    "per kernel.",
    (
        KERNEL,
        replace(
            TARGET,
            help=f"T, tl, tlx: {DEFAULT_NOTE}, cuda:sm_80, ..., hip:gfx942, "
            "hip:gfx1100, ..., tenstorrent:wormhole, tenstorrent:blackhole. tl, tlx: "
            "triton:sm_90, triton:sm_100, triton:gfx942, ...; 'triton' is the GPU of this "
            "machine. TTGIR has its target, other pointer-level text triton:sm_90",
        ),
        Option(
            "remarks",
            help="print remarks: layout conversions in loops, registers, spills, missed "
            "optimisations and their reasons",
        ),
        replace(
            JSON,
            help="print target, resources, launch metadata and times of every kernel as JSON, "
            "instead of the table",
            is_after_script=True,
        ),
        Option(
            "explain",
            help="for Tenstorrent: which core computes which blocks, circular buffers in the L1 of "
            "a core, predicted traffic; cycles by kernel and core, and of other settings (a "
            "model, not measured)",
        ),
        Option(
            "set",
            "KEY=VALUE,...",
            "for Tenstorrent: settings, which precede those of the kernels:\n"
            " tt.multicast=on,tt.schedule.order=hilbert",
        ),
        Option(
            "stage",
            "STAGE",
            "print this stage: ttir, ttgir, ttgir.final, llir, ptx or sass, for AMD amdgcn; for "
            "tile kernels tile, thread, cuda, ptx or sass; for hip tile, thread, hip or isa; for "
            "Tenstorrent tile, tensix, reader, compute, writer, host or plan",
            "",
            (
                *("ttir", "ttgir", "ttgir.final", "llir", "ptx", "sass", "amdgcn", "tile"),
                *("thread", "cuda", "hip", "isa", "tensix", "reader", "compute", "writer"),
                *("host", "plan"),
            ),
        ),
        Option(
            "o",
            "DIR",
            "write every stage, the machine code and its launch metadata there; for Tenstorrent "
            "reader.cpp, compute.cpp, writer.cpp, main.cpp, tt.plan.json",
        ),
        replace(COMPAT, is_after_script=True),
        Option("num-warps", "N", "warps per program (4)", TEXT),
        Option("num-stages", "N", "stages of Triton's pipeliner, in plain kernels (3)", TEXT),
        Option("num-ctas", "N", "CTAs that share a program (1)", TEXT),
        Option("cluster", "X[,Y[,Z]]", "CTAs in a cluster, each a program of its own", TEXT),
        Option("maxnreg", "N", "register limit per thread", TEXT),
        Option("no-fp-fusion", help="do not contract multiply and add to fma", group=TEXT),
    ),
    (
        "examples/tile/gemm.py --stage cuda",
        "examples/tl/softmax.py --remarks",
        "examples/tlx/hopper_gemm_ws.py --target triton:sm_90 --remarks",
        "examples/storage_alias/hopper_gemm_ring.mlir --stage ptx",
        "examples/tile/gemm.py --target hip:gfx942 --remarks",
        "examples/tile/gemm.py --target tenstorrent:wormhole -o DIR",
    ),
    "0; 1 if something does not compile; 2 if the command line or the file is wrong; 130 after "
    "Ctrl-C.",
)

OPT = Command(
    "opt",
    "run passes on IR text",
    ("[flags] [FILE]",),
    "Reads IR text, runs passes, writes IR text, with the flags of mlir-opt.",
    tuple(
        Option(name, value)
        for name, value in (
            *(("o", "FILE"), ("dump-ir", "DIR"), ("flavour", "NAME"), ("pass-pipeline", "P")),
            *(("list-passes", ""), ("split-input-file", ""), ("verify-diagnostics", "")),
            *(("keep-names", ""), ("mlir-print-ir-after-all", ""), ("mlir-timing", "")),
        )
    ),
    ("--canonicalize --cse kernel.ttir",),
    "0, or 1 if anything was wrong with the command line, the input or a pass.",
)

PASSES = Command(
    "passes",
    "list the passes, or describe one: options, passes of a pipeline",
    ("[PASS...] [--json]",),
    "Lists the passes, or describes the named ones: options and, of a pipeline, its passes. A pass "
    "runs with\n\n"
    '   tilewright opt --PASS[="option=value ..."] FILE',
    (JSON,),
    ("gpu-pipeline",),
    "0, or 2 if there is no such pass.",
    takes_files=False,
)

OPS = Command(
    "ops",
    "list the registered ops, or count the ops in files",
    ("[FILE...] [--json]          ('-' is standard input)",),
    'Lists the registered ops ("generic" marks those that print in quoted form, as they do in '
    "Triton), or, given files of IR text, counts each op in them.",
    (JSON,),
    ("kernel.ttir",),
    "0, 1 if a file does not parse, or 2 if the command line is wrong.",
)
