"""Commands that run scripts: `run`, `check` and `tune`."""

from __future__ import annotations

from dataclasses import replace

from tilewright.cli.commands.shared import (
    BATCH,
    CLUSTER,
    COMPAT,
    JOBS,
    JSON,
    KERNEL,
    LOG,
    OUTPUT,
    PYTHON,
    SCHEDULES,
    SCRIPTS,
    STATS,
    TARGET,
    TENSTORRENT_RUNS,
    TEXT_RUNS,
    TRACEBACK,
)
from tilewright.cli.options import Command, Option

RUN = Command(
    "run",
    "run a script with kernels, or a kernel as IR text, on the CPU",
    (
        f"[flags] {PYTHON}",
        "[flags] FILE.ttir, FILE.mlir          ('-' is standard input)",
    ),
    "Runs kernels on the CPU. A Python file is run like a script; every kernel it launches runs on "
    "the NumPy target. IR text, on pointers or on tiles, gets its arguments from the command line.",
    (
        replace(KERNEL, is_after_script=False),
        STATS,
        replace(
            JSON,
            help="print JSON: launches, programs and times by kernel, the arrays of IR text; what "
            "a script prints goes to standard error",
        ),
        BATCH,
        COMPAT,
        TRACEBACK,
        Option("schedules", "N", SCHEDULES + "events; all results must be bit-identical (1)"),
        replace(
            JOBS,
            help="tune T kernels in N processes; the log keeps results as JSON lines, and what it "
            "holds is not measured again",
        ),
        replace(CLUSTER, help="tune them on the workers of a Dask scheduler"),
        replace(LOG, help="that log"),
        replace(
            TARGET,
            help="run kernels on a model of the hardware, with all sanitizers: hip:gfx942, "
            "cuda:sm_90a, ... (the code of every thread, as the passes for that GPU make it), "
            "tenstorrent:wormhole, :blackhole, :sim. After FILE.py, --target hip:... and "
            "tenstorrent:... only",
            group=SCRIPTS,
            is_after_script=False,
        ),
        *TENSTORRENT_RUNS,
        *TEXT_RUNS,
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
        f"[flags] {PYTHON}",
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
        Option("schedules", "N", SCHEDULES + "events (4)"),
        replace(JOBS, help="run the schedules in N processes; the report is that of one process"),
        replace(CLUSTER, help="run them on the workers of a Dask scheduler"),
        replace(
            LOG,
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
        STATS,
        BATCH,
        COMPAT,
        TRACEBACK,
        replace(
            TARGET,
            help="also run the code of every thread, as the passes for hip:gfx942, cuda:sm_90a, "
            "... make it: races, barriers and bytes in flight under each schedule, results "
            "compared with the kernel as written; tenstorrent:wormhole, :blackhole, :sim run on "
            "the model. After FILE.py, --target hip:... and tenstorrent:... only",
            group=SCRIPTS,
            is_after_script=False,
        ),
        *TENSTORRENT_RUNS,
        *(
            replace(
                each,
                help=each.help
                + ("; f32[1024]:empty is uninitialised" if each.name == "args" else ""),
            )
            for each in TEXT_RUNS
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

TUNE = Command(
    "tune",
    "try the configurations of kernels, and store the best by shape in a table",
    (f"[flags] {PYTHON}",),
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
        replace(TARGET, help="tune for this target: tenstorrent:wormhole, cuda:sm_90a, ..."),
        replace(JOBS, help="compile and measure in N processes", group=""),
        replace(CLUSTER, help="do so on the workers of a Dask scheduler", group=""),
        replace(
            LOG,
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
