"""Every command of ``tilewright``: its flags, examples and exit codes. Only data."""

from __future__ import annotations

from dataclasses import replace

from tilewright.cli.options import Command, Option

DEFAULT_TARGET = "cuda"
"""The GPU of this machine, else the one that a kernel is written for: Hopper, or Blackwell."""
DEFAULT_NOTE = (
    "cuda (the default: this machine's GPU, or else sm_90a, for kernels with tensor memory sm_100a)"
)

TARGETS = (
    *("cuda:sm_80", "cuda:sm_90a", "cuda:sm_100a"),
    *("hip:gfx90a", "hip:gfx942", "hip:gfx950", "hip:gfx1100", "hip:gfx1201"),
    *("tenstorrent:wormhole", "tenstorrent:blackhole", "tenstorrent:sim"),
    *("triton:sm_90", "triton:sm_100", "triton:gfx942"),
)

SCRIPTS, TEXT, TENSTORRENT = "Python files", "IR text", "Tenstorrent"

_PYTHON = "FILE.py[:KERNEL] [arguments of the script]"

# -- flags of several commands ---------------------------------------------------------------------

KERNEL = Option("kernel", "NAME", "only this kernel; also FILE:NAME")
COMPAT = Option(
    "compat",
    help="redirect `import triton` and `import tilelang` to Tilewright, as python -m "
    "tilewright.compat does",
    group=SCRIPTS,
    is_after_script=False,
)
TRACEBACK = Option(
    "traceback", help="show Python's traceback with an error", group=SCRIPTS, is_after_script=False
)
JSON = Option("json", help="print JSON", is_after_script=False)
OUTPUT = Option("o", "FILE", "write there instead of standard output")
_TARGET = Option("target", "TARGET", choices=TARGETS)

_SCHEDULES = "run kernels with tasks or asynchronous operations N times, each in another order of "
_JOBS = Option("jobs", "N", group=SCRIPTS)
_CLUSTER = Option("cluster", "tcp://HOST:PORT", group=SCRIPTS)
_LOG = Option("log", "FILE", group=SCRIPTS)

_TENSTORRENT_RUNS = (
    Option(
        "executor",
        "NAME",
        "ir (interprets the kernels, default) or source (compiles the emitted C++ with g++)",
        TENSTORRENT,
        ("ir", "source"),
        is_after_script=False,
    ),
    Option(
        "numerics",
        "MODE",
        "exact (fp32, default) or device (rounds as the hardware does)",
        TENSTORRENT,
        ("exact", "device"),
        is_after_script=False,
    ),
    Option(
        "report",
        "OUT.html",
        "draw cores with their blocks, circular buffers in L1, the timeline of a core and "
        "traffic; OUT.txt for text without the timeline",
        TENSTORRENT,
        is_after_script=False,
    ),
    Option(
        "set",
        "KEY=VALUE,...",
        "settings of the compiler, which precede those of the kernels:\n"
        " tt.multicast=on,tt.schedule.order=hilbert\n"
        "These four are also accepted directly after FILE.py, --target first.",
        TENSTORRENT,
        is_after_script=False,
    ),
)

_TEXT_RUNS = (
    Option(
        "arg",
        "NAME=SPEC",
        "an argument; SPEC is one of\n"
        "   f32[1024]           an array: random floats, zeros for integers\n"
        "   f32[64,128]:FILL    FILL is zeros, ones, random, arange, empty or a value\n"
        "   i32:1000 or 1000    a scalar",
        TEXT,
    ),
    Option("args", "FILE.npz", "arguments by name; --arg takes precedence", TEXT),
    Option(
        "grid", "X[,Y[,Z]]", "number of programs (1); most tile kernels compute their own", TEXT
    ),
    Option("seed", "N", "seed of the random arrays (0)", TEXT),
    Option("out", "FILE.npz", "write the arrays after the run", TEXT),
)

_STATS = Option(
    "stats",
    help="end with a table: launches, programs, batches, unbatched programs and why",
    is_after_script=False,
)
_BATCH = Option("batch", "N", "run N programs at a time (1: sequentially)", is_after_script=False)

# -- the commands ----------------------------------------------------------------------------------

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

RUN = Command(
    "run",
    "run a script with kernels, or a kernel as IR text, on the CPU",
    (
        f"[flags] {_PYTHON}",
        "[flags] FILE.ttir, FILE.mlir          ('-' is standard input)",
    ),
    "Runs kernels on the CPU. A Python file is run like a script; every kernel it launches runs on "
    "the NumPy target. IR text, on pointers or on tiles, gets its arguments from the command line.",
    (
        replace(KERNEL, is_after_script=False),
        _STATS,
        replace(
            JSON,
            help="print JSON: launches, programs and times by kernel, the arrays of IR text; what "
            "a script prints goes to standard error",
        ),
        _BATCH,
        COMPAT,
        TRACEBACK,
        Option("schedules", "N", _SCHEDULES + "events; all results must be bit-identical (1)"),
        replace(
            _JOBS,
            help="tune T kernels in N processes; the log keeps results as JSON lines, and what it "
            "holds is not measured again",
        ),
        replace(_CLUSTER, help="tune them on the workers of a Dask scheduler"),
        replace(_LOG, help="that log"),
        replace(
            _TARGET,
            help="run kernels on a model of the hardware, with all sanitizers: hip:gfx942, "
            "cuda:sm_90a, ... (the code of every thread, as the passes for that GPU make it), "
            "tenstorrent:wormhole, :blackhole, :sim. After FILE.py, --target hip:... and "
            "tenstorrent:... only",
            group=SCRIPTS,
            is_after_script=False,
        ),
        *_TENSTORRENT_RUNS,
        *_TEXT_RUNS,
    ),
    (
        "--stats examples/tl/softmax.py",
        "--target tenstorrent:wormhole --report out.html examples/tile/gemm.py",
        "add.ttir --grid 4 --arg 'x_ptr=f32[1000]' --arg 'y_ptr=f32[1000]:ones' \\\n"
        "      --arg 'out_ptr=f32[1000]:empty' --arg n=1000 --out result.npz",
    ),
    "the script's; 1 if a check fails or a kernel is wrong; 2 if the command line or the file is; "
    "130 after Ctrl-C.",
    has_flags_after_script=False,
)

CHECK = Command(
    "check",
    "run with every check on: bounds, races, uninitialised reads",
    (
        f"[flags] {_PYTHON}",
        "[flags] FILE.ttir, FILE.mlir          ('-' is standard input)",
    ),
    "Runs kernels on the CPU as 'tilewright run' does, and reports what a GPU would not: "
    "out-of-bounds and misaligned accesses, uninitialised reads; in tl kernels two programs that "
    "write the same element; in T kernels data races between blocks and inside T.Parallel, integer "
    "division by zero, results with elements that no block writes, overlapping arguments, more "
    "shared memory than the target has (sm_90a if none is set), reads of bytes that are still in "
    "flight, deadlocks. A finding has the source line, the program and the element; what could not "
    "be followed is listed as not analysed. Every launch is checked; the last line is their count."
    "\n\n"
    "In kernels with tlx tasks, barriers or asynchronous copies the check is happens-before, not "
    "timing: conflicting accesses that no chain of arrivals and waits orders are a data race, even "
    "if this run performed them in the right order; the finding has both lines, the bytes, the "
    "missing order, the smallest fix and the schedule. Buffers and copied data that no task reads "
    "in any run are reported too: a task that reads the wrong slot leaves the right one unread. "
    "Storage that is shared in a wasteful way is a warning.",
    (
        replace(
            KERNEL,
            help="check this kernel; launches of others run without checks; also FILE:NAME",
            is_after_script=False,
        ),
        Option("schedules", "N", _SCHEDULES + "events (4)"),
        replace(_JOBS, help="run the schedules in N processes; the report is that of one process"),
        replace(_CLUSTER, help="run them on the workers of a Dask scheduler"),
        replace(
            _LOG,
            help="append their results to FILE as JSON lines; what it holds is not run again, so "
            "that an interrupted check is resumed",
        ),
        Option(
            "timeline",
            "OUT.html",
            "draw tasks, TMA, tensor cores, barriers and buffers of the first or the failing run",
        ),
        Option(
            "sarif",
            "FILE",
            "write what was reported as SARIF 2.1.0, for code review tools and editors",
        ),
        Option("allow-unread", help="report unread data as a warning"),
        replace(
            JSON,
            help="print JSON: what was launched, reported and not analysed; what a script prints "
            "goes to standard error",
        ),
        _STATS,
        _BATCH,
        COMPAT,
        TRACEBACK,
        replace(
            _TARGET,
            help="also run the code of every thread, as the passes for hip:gfx942, cuda:sm_90a, "
            "... make it: races, barriers and bytes in flight under each schedule, results "
            "compared with the kernel as written; tenstorrent:wormhole, :blackhole, :sim run on "
            "the model. After FILE.py, --target hip:... and tenstorrent:... only",
            group=SCRIPTS,
            is_after_script=False,
        ),
        *_TENSTORRENT_RUNS,
        *(
            replace(
                each,
                help=each.help
                + ("; f32[1024]:empty is uninitialised" if each.name == "args" else ""),
            )
            for each in _TEXT_RUNS
        ),
    ),
    (
        "examples/tl/softmax.py",
        "examples/tlx/hopper_gemm_ws.py --schedules 20 --timeline gemm.html",
        "--target hip:gfx942 examples/tile/gemm.py",
        "--target tenstorrent:wormhole --schedules 20 examples/tile/gemm.py",
        "add.ttir --grid 4 --arg 'x_ptr=f32[1000]' --arg 'y_ptr=f32[1000]:ones' \\\n"
        "      --arg 'out_ptr=f32[1000]:empty' --arg n=1000",
    ),
    "1 if something was reported or no kernel was launched; 2 if the command line or the file is "
    "wrong; 130 after Ctrl-C; else the script's.",
    has_flags_after_script=False,
)

CHECKS = ("coalesce", "vector", "bounds", "race", "overflow", "prefetch")

ANALYZE = Command(
    "analyze",
    "explain every memory access as a function of the program id",
    (f"[flags] {_PYTHON}", "[flags] FILE          ('-' is standard input)"),
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
            _TARGET,
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

COMPILE = Command(
    "compile",
    "compile kernels to GPU machine code; no GPU needed",
    (f"[flags] {_PYTHON}", "[flags] FILE.ttir[:KERNEL]       ('-' is standard input)"),
    "Compiles kernels to machine code; no GPU is needed. T kernels, and tl and tlx kernels raised "
    "to tiles, are compiled with CUDA C++ and NVRTC, or HIP C++ and clang; tl and tlx kernels with "
    "the installed Triton where the target is triton. A Python file is run like a script: its "
    "kernels are compiled for their launch arguments, and not run; its output is not shown. IR "
    "text may be TTIR, TTGIR with or without storage aliasing, or tile kernels. Prints one line "
    "per kernel.",
    (
        KERNEL,
        replace(
            _TARGET,
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

MEMORY = Command(
    "memory",
    "draw the shared- and tensor-memory map",
    ("[flags] FILE          ('-' is standard input)", f"[flags] {_PYTHON}"),
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
    (f"[flags] {_PYTHON}", "[flags] FILE.mlir[:KERNEL]       ('-' is standard input)"),
    "Draws the layouts of T kernels, and of tl and tlx kernels raised to tiles: for fragments the "
    "thread and register of each element, for shared memory the bytes and banks under a swizzle, "
    "for parallel loops the thread of each iteration. A Python file is run like a script; its "
    "kernels are traced for their call arguments, and not run; its output is not shown. No GPU is "
    "needed.",
    (
        KERNEL,
        Option("buffer", "NAME", "only this buffer"),
        Option("line", "N", "only the buffer, loop or tile operation in this line"),
        replace(_TARGET, help=f"{DEFAULT_NOTE}, cuda:sm_80, hip:gfx942, ..."),
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

TUNE = Command(
    "tune",
    "try the configurations of kernels, and store the best by shape in a table",
    (f"[flags] {_PYTHON}",),
    "Runs a script and tunes its kernels: those under tw.autotune for each set of arguments they "
    "are launched with. Configurations are ordered by a cost model first, and then compiled and "
    "measured where the kernels run: on the GPU of the arrays, on the CPU for arrays of the host, "
    "by the cycles of the model for Tenstorrent. Prints what was tried, the best first.\n\n"
    "With -o the best configuration of every kernel and set of arguments is written to a table "
    "that can be committed. A program that finds it, by TILEWRIGHT_TUNING_TABLE=FILE or "
    "tw.tuning_table(FILE), takes its configurations from there, and measures nothing.",
    (
        KERNEL,
        replace(
            OUTPUT,
            value="TABLE.json",
            help="write the best configurations there; rows of other kernels and sizes stay",
        ),
        Option(
            "top",
            "N",
            "measure only the N configurations that the model ranks first (0: all, the default)",
        ),
        Option("fresh", help="measure again what is known from earlier runs", is_after_script=True),
        replace(_TARGET, help="tune for this target: tenstorrent:wormhole, cuda:sm_90a, ..."),
        replace(_JOBS, help="compile and measure in N processes", group=""),
        replace(_CLUSTER, help="do so on the workers of a Dask scheduler", group=""),
        replace(
            _LOG,
            help="append results to FILE as JSON lines; what it holds is not measured again",
            group="",
        ),
        replace(JSON, help="print JSON instead of a table", is_after_script=True),
        replace(COMPAT, is_after_script=True),
    ),
    (
        "examples/tile/autotuned_gemm.py",
        "examples/tl/matmul.py -o tuned.json",
        "--target tenstorrent:wormhole --jobs 8 my_kernels.py",
    ),
    "0; 1 if no configuration of a kernel works; 2 if the command line or the file is wrong; 3 if "
    "the script tunes no kernel; 130 after Ctrl-C.",
)

STUDIO = Command(
    "studio",
    "one page: source, IR by pass, code, memory, addresses, timeline, linked",
    ("[flags] FILE.py [arguments of the script]",),
    "Runs a script on the CPU with all checks, compiles its kernels, and writes one page about "
    "them: the source, and linked with it line by line the IR after every pass (with the "
    "difference to the pass before), generated code and machine code, the memory map, addresses, "
    "layouts, the timeline of tasks and barriers, remarks, and what tuners tried. Point at a line, "
    "and everything that came from it lights up. A run with a fault opens at it: the two accesses "
    "on the timeline, the missing order, and the bytes they share. The page is one file and needs "
    "no network.",
    (
        Option("o", "FILE", "the page (the name of the script with .html, in this directory)"),
        Option(
            "serve",
            help="serve the page at http://127.0.0.1:8765/ until Ctrl-C; it is made anew when the "
            "script has changed and the page is loaded again",
        ),
        Option("port", "N", "another port; 0 takes a free one"),
        replace(
            _TARGET,
            help="cuda:sm_90a, cuda:sm_80, hip:gfx942, tenstorrent:wormhole, ...; by default the "
            "GPU that a kernel is written for, or cuda:sm_90a",
        ),
        Option("schedules", "N", "run kernels with tasks N times, each in another order (2)"),
        Option("compat", help="redirect `import triton` and `import tilelang` to Tilewright"),
    ),
    (
        "examples/tlx/hopper_gemm_ws.py",
        "examples/tile/attention.py -o attention.html",
        "--target tenstorrent:wormhole examples/tile/gemm.py",
        "--serve my_kernel.py",
    ),
    "0, also if the run has a fault, which is on the page; 2 if the command line or the file is "
    "wrong, so that there is no page; 130 after Ctrl-C.",
)

LSP = Command(
    "lsp",
    "a language server over stdio: errors, addresses and memory in an editor",
    ("[--timeout SECONDS]",),
    "A language server over standard input and output. An editor starts it; there is nothing to "
    "see in a terminal. For files of kernels (*.py that import tilewright, triton or tilelang) and "
    "IR text (*.ttir, *.ttgir, *.mlir) it shows\n\n"
    "   errors and warnings    what 'tilewright check' reports, when a file is opened and saved:\n"
    "                          a script is run, in a process of its own\n"
    "   hover over an access   its address class, whether it coalesces, its bytes, what checks "
    "proved\n"
    "   hover over a buffer    its bytes in shared or tensor memory, and the buffers it shares "
    "them with\n\n"
    "Needs pygls: pip install 'tilewright[editor]'. For Neovim:\n\n"
    '   vim.lsp.start({name = "tilewright", cmd = {"tilewright", "lsp"}, '
    "root_dir = vim.fn.getcwd()})",
    (Option("timeout", "SECONDS", "end runs that take longer (60)"),),
    ("--timeout 120",),
    "0; 1 if pygls is missing; 2 if a flag is wrong.",
    takes_files=False,
)

EXPLAIN = Command(
    "explain",
    "explain a diagnostic code: meaning, example, fix",
    ("CODE... [--json]", "--list [--json]"),
    "Explains diagnostic codes: meaning, example and fix. A code is written TW2023, tw2023 or "
    "2023.",
    (
        Option("list", help="list all codes with their titles"),
        replace(JSON, help="print JSON: an object for each code"),
    ),
    ("tw6101", "--list"),
    "0, or 2 if there is no such code.",
    takes_files=False,
)

CACHE = Command(
    "cache",
    "show or clear the cache of compiled kernels and tuning results",
    ("show [--json]", "clear [--json]"),
    "show prints the cache directory, its limits and its entries by kind; clear removes all "
    "entries, and files that Tilewright did not write stay.\n\n"
    "Compiled kernels and tuning results are cached in the subdirectory tilewright-cache-v2 of "
    "$TILEWRIGHT_CACHE_DIR, by default $XDG_CACHE_HOME/tilewright or ~/.cache/tilewright. The "
    "least recently used entries are removed beyond these limits:\n\n"
    "   TILEWRIGHT_CACHE_MB     total size in megabytes (2048; 0 disables the cache)\n"
    "   TILEWRIGHT_CACHE_DAYS   days since the last use (90)\n\n"
    "Links are not followed. If the directory holds files that Tilewright did not write, only "
    "'clear' removes entries.",
    (replace(JSON, help="print one JSON object"),),
    ("show",),
    "0; 1 if not all entries could be removed; 2 if the command line is wrong or the cache cannot "
    "be read.",
    names=("show", "clear"),
    takes_files=False,
)

DEMO = Command(
    "demo",
    "a tour on the CPU: round trip, memory map, kernels run, checked and broken",
    ("",),
    "A tour on the CPU: IR round trip, passes, memory map, then kernels of tl, T and tlx, each "
    "run, checked, and reported once an access or a barrier is broken, a T kernel on a model of a "
    "Tenstorrent core grid, and one compiled for AMD GPUs. Takes no arguments.",
    (Option("help", help="show this"),),
    ("",),
    "0; 1 if anything that it shows does not hold; 2 if it gets arguments.",
    takes_files=False,
)

SHELLS = ("bash", "zsh", "fish")

COMPLETION = Command(
    "completion",
    "print a shell's completion of commands, flags and their values",
    ("bash|zsh|fish",),
    "Prints a script that completes commands, flags and their values. To have it in every "
    "shell:\n\n"
    "   bash   tilewright completion bash > ~/.local/share/bash-completion/completions/tilewright\n"
    "   zsh    tilewright completion zsh > DIR/_tilewright     with DIR in $fpath\n"
    "   fish   tilewright completion fish > ~/.config/fish/completions/tilewright.fish",
    (Option("help", help="show this"),),
    ("bash",),
    "0, or 2 if there is no such shell.",
    names=SHELLS,
    takes_files=False,
)

COMMANDS = (
    *(OPT, PASSES, OPS, RUN, CHECK, ANALYZE, COMPILE, MEMORY, LAYOUT, TUNE, STUDIO, LSP),
    *(EXPLAIN, CACHE, DEMO, COMPLETION),
)
BY_NAME = {each.name: each for each in COMMANDS}

KERNEL_TOOLS = (RUN, CHECK, ANALYZE, MEMORY, LAYOUT, COMPILE, TUNE)
"""The commands that take every kernel."""
