"""The Tenstorrent target: time to compile a GEMM to its five files, and to run it in each executor.

    make bench
    python benchmarks/tenstorrent.py [--rounds N] [--check]

The GEMM is `examples/tile/gemm.py`, 256 x 256 x 256 in bfloat16 with blocks of 32 x 32 on 8 x 8
cores. It is compiled cold: in a new process that has only imported tilewright and the passes,
from Python to files on disk, in milliseconds of processor time. Runs are measured on the wall;
those of the source executor after its kernels are compiled, whose time (with an empty cache of
kernels) has a row without a limit. Each row is the best of `--rounds`. Both results are compared
with NumPy, and the counted traffic with the plan. `--check` makes the exit code 1 if a limit is
missed. No device is used.
"""

from __future__ import annotations

import argparse
import compileall
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tilewright.passes.tenstorrent import pipeline  # noqa: E402
from tilewright.runtime.tile.jit import TileJIT  # noqa: E402
from tilewright.targets.tenstorrent.artefact import Artefact, Executor  # noqa: E402
from tilewright.targets.tenstorrent.source.toolchain import (  # noqa: E402
    SourceExecutorUnavailable,
)

SIZE = 256
TARGET = "tenstorrent:wormhole"
CORES = {"tt.core_grid": "8x8"}
BLOCKS = {"block_M": 32, "block_N": 32, "block_K": 32, "num_stages": 2, "dtype": "bfloat16"}
COMPILE_MS, IR_SECONDS, SOURCE_SECONDS = 300.0, 10.0, 5.0
COMPILE, IR = "GEMM to five files, cold", "256^3 in the IR executor"
BUILD, SOURCE = "g++ on machine and kernels", "256^3 in the source executor"
LIMITS = {COMPILE: COMPILE_MS, IR: 1e3 * IR_SECONDS, SOURCE: 1e3 * SOURCE_SECONDS}
_TOLERANCE = 2.0**-6
"""Relative Frobenius error of bfloat16 results."""


def _compiled(directory: Path) -> Artefact:
    example = runpy.run_path(str(ROOT / "examples" / "tile" / "gemm.py"))["gemm"]
    kernel = TileJIT(example.function, target=TARGET, pass_configs=CORES)
    array = np.zeros((SIZE, SIZE), ml_dtypes.bfloat16)
    found = kernel.compile(array, array, **BLOCKS).tenstorrent
    assert found is not None
    found.artefact.write(directory)
    return found.artefact


def _measure_compilation() -> float:
    """In this process: milliseconds from Python to files."""
    assert pipeline.TenstorrentPipeline
    with tempfile.TemporaryDirectory() as name:
        gc.collect()  # what importing left to do is not the kernel's
        start = time.process_time()
        _compiled(Path(name))
        return 1e3 * (time.process_time() - start)


def _compile_apart() -> float:
    """In a new process."""
    command = [sys.executable, __file__, "--one"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout))


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def _inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        name: rng.standard_normal((SIZE, SIZE), dtype=np.float32).astype(ml_dtypes.bfloat16)
        for name in ("A", "B")
    }


def _check(artefact: Artefact, arrays: dict[str, Any], executor: Executor) -> bool:
    """Whether values are right and the counted traffic is the planned one."""
    run = artefact.run(arrays, executor=executor)
    exact = arrays["A"].astype(np.float64) @ arrays["B"].astype(np.float64)
    error = np.linalg.norm(run.arrays["C"].astype(np.float64) - exact) / np.linalg.norm(exact)
    counted, planned = run.result.traffic, artefact.plan.traffic
    pages = (counted.dram_page_reads, counted.dram_page_writes)
    is_planned = pages == (planned.dram_page_reads, planned.dram_page_writes)
    print(
        f"  {executor.value}: relative error {error:.1e}; DRAM pages read {pages[0]}, written "
        f"{pages[1]}, planned {planned.dram_page_reads}, {planned.dram_page_writes}"
    )
    return bool(error < _TOLERANCE) and is_planned


def _row(name: str, milliseconds: float) -> bool:
    """Print one row; whether it is within its limit."""
    limit = LIMITS.get(name)
    text = "" if limit is None else f"{limit:.0f}"
    print(f"{name:32} {milliseconds:8.0f} {text:>8}", flush=True)
    return limit is None or milliseconds < limit


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each row (3)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is missed")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_measure_compilation()))
        return 0
    compileall.compile_dir(ROOT / "src", quiet=1)
    rounds = range(max(1, options.rounds))
    print(f"{TARGET}, {CORES['tt.core_grid']} cores: milliseconds and limits; no device is used")
    good = _row(COMPILE, min(_compile_apart() for _ in rounds))
    with tempfile.TemporaryDirectory() as name:
        os.environ["TILEWRIGHT_CACHE_DIR"] = f"{name}/cache"
        good &= _measure_runs(_compiled(Path(name)), rounds)
    print("all within limits" if good else "a limit is missed, or a result is wrong")
    return 0 if good or not options.check else 1


def _measure_runs(artefact: Artefact, rounds: range) -> bool:
    """The rows of both executors; whether all is well."""
    arrays = _inputs()
    good = _row(IR, min(_timed(lambda: artefact.run(arrays)) for _ in rounds))
    good &= _check(artefact, arrays, Executor.IR)
    try:
        first = _timed(lambda: artefact.run(arrays, executor=Executor.SOURCE))
    except SourceExecutorUnavailable as error:
        print(f"{SOURCE:32} not measured: {error}")
    else:
        runs = [_timed(lambda: artefact.run(arrays, executor=Executor.SOURCE)) for _ in rounds]
        _row(BUILD, max(0.0, first - min(runs)))
        good &= _row(SOURCE, min(runs))
        good &= _check(artefact, arrays, Executor.SOURCE)
    return good


if __name__ == "__main__":
    sys.exit(main())
