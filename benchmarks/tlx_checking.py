"""How long a warp-specialised kernel takes on the CPU: `examples/tlx/hopper_gemm_ws.py`, 512 cubed.

    python benchmarks/tlx_checking.py [--size N] [--schedules N] [--check]

Both rows are whole processes, from the start of Python to its end, as an author waits for them:
`tilewright check` follows every access, barrier and engine of one schedule, `tilewright run`
computes only. `--check` makes the exit code 1 if a result is wrong or a row takes longer than its
limit, which is meant for one schedule of 512 x 512 x 512. Compared is the processor time: kernels
run in one thread, so on a machine with nothing else to do it is the time on the clock as well.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = "hopper_gemm_ws"
LIMITS_S = {"check": 20.0, "run": 4.0}
SCRIPT = """\
import sys

import numpy as np
from {example} import gemm

rng = np.random.default_rng(0)
size = int(sys.argv[1])
a, b = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
error = np.abs(gemm(a, b) - a.astype(np.float64) @ b.astype(np.float64)).max()
sys.exit(0 if error < 0.1 else f"the largest error is {{error}}")
"""


@dataclass(frozen=True)
class Taken:
    """What a command took, and its exit code."""

    clock_s: float
    processor_s: float
    code: int


def run(verb: str, schedules: int, script: Path, size: int) -> Taken:
    """Run a command; what it says about a failure is shown."""
    command = [sys.executable, "-m", "tilewright", verb, "--schedules", str(schedules)]
    paths = [str(ROOT / "src"), str(ROOT / "examples" / "tlx"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [*command, str(script), str(size)],
        check=False,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    clock, after = time.perf_counter() - start, os.times()
    if done.returncode:
        sys.stderr.write(done.stderr)
    user, system = (
        after.children_user - before.children_user,
        after.children_system - before.children_system,
    )
    return Taken(clock, user + system, done.returncode)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    size = options.size
    print(f"{EXAMPLE}, {size} x {size} x {size}, schedules: {options.schedules}\n")
    print(f"{'command':20}{'clock':>10}{'processor':>12}{'limit':>8}")
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "gemm_once.py"
        script.write_text(SCRIPT.format(example=EXAMPLE))
        for verb, limit in LIMITS_S.items():
            taken = run(verb, options.schedules, script, size)
            is_good &= taken.code == 0 and taken.processor_s < limit
            times = f"{taken.clock_s:8.2f} s{taken.processor_s:10.2f} s{limit:6.0f} s"
            print(f"tilewright {verb:9}{times}{'  failed' if taken.code else ''}")
    return 0 if is_good or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
