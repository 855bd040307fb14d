"""What several commands have: targets and flags."""

from __future__ import annotations

from tilewright.cli.options import Option

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

PYTHON = "FILE.py[:KERNEL] [arguments of the script]"


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
TARGET = Option("target", "TARGET", choices=TARGETS)

SCHEDULES = "run kernels with tasks or asynchronous operations N times, each in another order of "
JOBS = Option("jobs", "N", group=SCRIPTS)
CLUSTER = Option("cluster", "tcp://HOST:PORT", group=SCRIPTS)
LOG = Option("log", "FILE", group=SCRIPTS)

TENSTORRENT_RUNS = (
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

TEXT_RUNS = (
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

STATS = Option(
    "stats",
    help="end with a table: launches, programs, batches, unbatched programs and why",
    is_after_script=False,
)
BATCH = Option("batch", "N", "run N programs at a time (1: sequentially)", is_after_script=False)
