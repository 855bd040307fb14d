"""`T` kernels for AMD GPUs: how long one takes from its Python to HIP and to a code object.

    make bench
    python benchmarks/hip_compile.py [NAME ...] [--chip gfx942] [--rounds N] [--check]

Each row is a kernel of `examples/tile` at the sizes of a GPU (`tests/examples/gpu_sizes.py`),
compiled cold: in a process of its own that has only imported tilewright, with no cache of kernels.
Times are milliseconds, the best of `--rounds`: to trace it, for all passes and the HIP source, for
clang (of which the processor time of other processes counts). No GPU is needed; nothing here says
how fast a kernel is. `--check` makes the exit code 1 when the GEMM takes 0.3 s or more to its
source, or when one of the kernels spills.
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

from tests.examples.gpu_sizes import KERNELS  # noqa: E402
from tilewright.passes.amd.pipeline import AmdPipeline  # noqa: E402
from tilewright.targets.hip.clang import installed  # noqa: E402
from tilewright.targets.hip.compile import compile_module, lower_module  # noqa: E402

MAIN = "gemm.128x128"
LIMIT_MS = 300.0
NAMES = (MAIN, "attention", "elementwise_add.add", "rms_norm", "online_softmax.softmax")


def _measure(label: str, chip: str) -> dict[str, Any]:
    """One kernel, in this process."""
    gc.collect()  # what importing left to do is not the kernel's
    start = time.process_time()
    traced = KERNELS[label].trace()
    after_trace = time.process_time()
    lowered = lower_module(traced.module, AmdPipeline(target=f"hip:{chip}"))
    end = time.process_time()
    row = {
        "trace": 1e3 * (after_trace - start),
        "passes": 1e3 * (end - after_trace),
        "lines": sum(each.text.count("\n") for each in lowered.sources),
    }
    if not installed():
        return row
    start = time.perf_counter()
    program = compile_module(traced.module, chip)
    metadata = max((each.metadata for each in program.kernels.values()), key=lambda m: m.vgprs)
    return row | {
        "clang": max(0.0, 1e3 * (time.perf_counter() - start) - row["passes"]),
        "vgprs": metadata.vgprs,
        "spilled": program.spill_bytes,
        "lds": metadata.shared,
        "waves": metadata.occupancy,
    }


def _measure_apart(label: str, chip: str) -> dict[str, Any]:
    """One kernel, in a new process."""
    command = [sys.executable, __file__, "--one", label, "--chip", chip]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def _to_source(row: dict[str, Any]) -> float:
    return row["trace"] + row["passes"]


def _labels(names: list[str]) -> list[str]:
    if not names:
        return [label for name in NAMES for label in KERNELS if label == name]
    return [label for label in KERNELS if any(name in label for name in names)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of kernels; five of them")
    parser.add_argument("--chip", default="gfx942", help="what to compile for (gfx942)")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts (3)")
    parser.add_argument("--check", action="store_true", help="fail where a limit is exceeded")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        sys.stdout.write(json.dumps(_measure(given.one, given.chip)))
        return 0
    compileall.compile_dir(ROOT / "src", quiet=2)
    print(f"T kernels to HIP for {given.chip}, cold, ms")
    print(
        f"{'kernel':34}{'trace':>7}{'passes':>8}{'to text':>9}{'clang':>8}"
        f"{'VGPRs':>7}{'spilled':>9}{'LDS':>8}{'waves/SIMD':>12}"
    )
    is_good = True
    for label in _labels(given.names):
        rows = [_measure_apart(label, given.chip) for _ in range(given.rounds)]
        row = min(rows, key=_to_source)
        tail = "      (no clang here)"
        if "clang" in row:
            tail = (
                f"{row['clang']:8.0f}{row['vgprs']:7}{row['spilled']:7} B"
                f"{row['lds']:8}{row['waves']:12}"
            )
        print(f"{label:34}{row['trace']:7.0f}{row['passes']:8.0f}{_to_source(row):9.0f}{tail}")
        is_good = is_good and not row.get("spilled", 0)
        is_good = is_good and (label != MAIN or _to_source(row) < LIMIT_MS)
    print(f"limit for {MAIN}, to text: {LIMIT_MS:.0f} ms")
    return 0 if is_good or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
