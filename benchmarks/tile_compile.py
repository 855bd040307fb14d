"""`T` kernels: how long one takes from its Python to machine code, and what comes out.

    make bench
    python benchmarks/tile_compile.py [NAME ...] [--arch sm_90a] [--rounds N] [--check]

Each row is a kernel of `examples/tile`, or of `benchmarks/h200`, at the sizes of a GPU
(`tests/examples/gpu_sizes.py`), compiled cold: in a process of its own that has only imported
tilewright, with no cache of kernels; bytecode is there, as it is where tilewright is installed.
Each is compiled as a call compiles it, with its own `pass_configs`. Times are milliseconds of
processor time, the best of `--rounds`: to trace it, for all passes and the CUDA source, for NVRTC.
No GPU is needed. `--check` makes the exit code 1 when `gemm.py` takes 0.45 s or more, another GEMM
0.8 s, attention 0.9 s, or one of them spills.
"""

from __future__ import annotations

import argparse
import compileall
import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.examples.gpu_sizes import ATTENTION, GEMM, KERNELS  # noqa: E402
from tilewright.runtime.tile.autotune import TunedTileJIT  # noqa: E402
from tilewright.runtime.tile.pass_configs import gpu_settings  # noqa: E402
from tilewright.targets.cuda import compile as compiler  # noqa: E402

LIMITS_MS = {GEMM: 800.0, ATTENTION: 900.0}
TIGHT_LIMITS_MS = {"gemm": 450.0}
"""Of single kernels, by their label."""
STEPS = ("trace", "passes", "nvrtc")


def _measure(label: str, arch: str) -> dict[str, Any]:
    """One kernel, in this process."""
    spent = 0.0
    compile_source = compiler.compile_source

    def timed(*arguments: Any, **options: Any) -> Any:
        nonlocal spent
        start = time.process_time()
        try:
            return compile_source(*arguments, **options)
        finally:
            spent += time.process_time() - start

    compiler.compile_source = timed  # type: ignore[assignment]
    gc.collect()  # what importing left to do is not the kernel's
    start = time.process_time()
    function = KERNELS[label].load()
    traced = function.get_tir(**KERNELS[label].arguments)
    after_trace = time.process_time()
    jit = function.inner if isinstance(function, TunedTileJIT) else function
    program = compiler.compile_as(traced.module, gpu_settings(jit.pass_configs, arch))
    end = time.process_time()
    return {
        "trace": 1e3 * (after_trace - start),
        "passes": 1e3 * (end - after_trace - spent),
        "nvrtc": 1e3 * spent,
        "registers": program.registers,
        "spilled": program.spill_bytes,
        "shared": max(each.metadata.shared for each in program.kernels.values()),
    }


def _measure_apart(label: str, arch: str) -> dict[str, Any]:
    """One kernel, in a new process."""
    command = [sys.executable, __file__, "--one", label, "--arch", arch]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def _total(row: dict[str, Any]) -> float:
    return sum(row[step] for step in STEPS)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of kernels; all of them")
    parser.add_argument("--arch", default="sm_90a", help="what to compile for (sm_90a)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is compiled (2)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(_measure(options.one, options.arch)))
        return 0
    compileall.compile_dir(ROOT / "src", quiet=1)
    print(f"T kernels for {options.arch}, cold: ms of processor time, and what a thread needs")
    print(
        f"{'kernel':41} {'trace':>6} {'passes':>6} {'NVRTC':>6} {'all':>6} {'limit':>6} "
        f"{'registers':>9} {'spilled':>7} {'shared':>8}"
    )
    missed: list[str] = []
    for label, kernel in KERNELS.items():
        wanted = not options.names or any(name in label for name in options.names)
        if not wanted or options.arch not in kernel.fits:
            continue
        rows = [_measure_apart(label, options.arch) for _ in range(max(1, options.rounds))]
        row = min(rows, key=_total)
        limit = TIGHT_LIMITS_MS.get(label, LIMITS_MS.get(kernel.kind))
        print(
            f"{label:41} {row['trace']:6.0f} {row['passes']:6.0f} {row['nvrtc']:6.0f} "
            f"{_total(row):6.0f} {f'{limit:.0f}' if limit else '':>6} {row['registers']:9} "
            f"{row['spilled']:7} {row['shared']:8}",
            flush=True,
        )
        if limit is not None and (_total(row) >= limit or row["spilled"]):
            missed.append(label)
    if missed:
        print("over the limit, or spilled:", ", ".join(missed))
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
