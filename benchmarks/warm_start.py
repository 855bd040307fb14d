"""How long a process waits for a kernel that another process has compiled before.

    python benchmarks/warm_start.py [--check] [--runs N]

Each run is a new interpreter: Tilewright and the author's module are imported, then the clock runs
from the call of `warmup` to the finished `CompiledKernel`, with the cubin in memory. `cold` is the
first process with an empty cache; `warm` are the medians of the others, for the first kernel of a
process (what it has to load is in it) and for the next. `--check` makes the exit code 1 if a warm
one takes 50 ms or more, or if anything was traced.

Needs Triton for the cold run; no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_MS = 50.0
KERNELS = ("softmax", "hopper_gemm_ws", "hopper_attention_ws")


def measure(order: tuple[str, ...]) -> None:
    """In a process of its own: time each kernel and print what was found."""
    import importlib.util
    import time

    import numpy as np

    import tilewright as tw
    from tilewright.runtime.compile_only import compiling_only
    from tilewright.runtime.pointer.jit import JITFunction

    def load(name: str):
        folder = "tlx" if name.startswith("hopper") else "tl"
        path = ROOT / "examples" / folder / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    modules = {name: load(name) for name in order}
    run = JITFunction.run
    spent: list[float] = []

    def timed(self, *args, **kwargs):
        start = time.perf_counter()
        compiled = run(self, *args, **kwargs)
        spent.append((time.perf_counter() - start) * 1e3)
        return compiled

    JITFunction.run = timed
    found: dict[str, tuple[float, bool]] = {}
    for name in order:
        spent.clear()
        compiled: list[object] = []
        with tw.running(target="triton:sm_90"), compiling_only(compiled.append):
            modules[name].example(np.random.default_rng(0))
        found[name] = (spent[0], "traced" in vars(compiled[0]))
    print(json.dumps(found))


def process(cache: str, order: tuple[str, ...]) -> dict[str, tuple[float, bool]]:
    environment = {
        **os.environ,
        "TILEWRIGHT_CACHE_DIR": cache,
        "PYTHONPATH": str(ROOT / "src"),
        # An installed package has its byte code; a checkout may be told not to write it.
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": f"{cache}/byte-code",
    }
    command = [sys.executable, __file__, "--measure", *order]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=5, help="warm processes for each kernel")
    parser.add_argument("--check", action="store_true", help=f"fail from {LIMIT_MS:.0f} ms on")
    arguments = parser.parse_args()
    if arguments.measure:
        measure(tuple(arguments.measure))
        return 0
    is_good = True
    print(f"{'kernel':22}{'cold':>10}{'warm, first':>14}{'warm, next':>13}   ms")
    with tempfile.TemporaryDirectory() as cache:
        cold = process(cache, KERNELS)
        for name in KERNELS:
            others = tuple(each for each in KERNELS if each != name)
            runs = [process(cache, (name, *others)) for _ in range(arguments.runs)]
            first = statistics.median(run[name][0] for run in runs)
            last = [process(cache, (*others, name)) for _ in range(arguments.runs)]
            later = statistics.median(run[name][0] for run in last)
            is_good &= max(first, later) < LIMIT_MS
            is_good &= not any(run[each][1] for run in (*runs, *last) for each in KERNELS)
            print(f"{name:22}{cold[name][0]:10.1f}{first:14.1f}{later:13.1f}")
    return 0 if is_good or not arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())
