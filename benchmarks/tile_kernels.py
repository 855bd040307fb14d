"""`T` kernels: what tracing and the passes of the front half cost, and a run on the CPU.

    make bench
    python benchmarks/tile_kernels.py [--rounds N] [--check]

Each row is an example of `examples/tile`: every kernel in it is traced afresh, goes through the
front half (roles and pipelines included), and the example runs once with every access checked.
Times are processor time, the best of `--rounds`. `--check` makes the exit code 1 when tracing and
the front half of attention take 300 ms or more.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.examples.test_tile_values import FRONT_HALF, ROLES  # noqa: E402
from tests.examples.tile_examples import NAMES, load, transformed  # noqa: E402
from tilewright.ir.diagnostics import DiagnosticEngine  # noqa: E402
from tilewright.ir.passes import Pipeline, parse_pipeline  # noqa: E402
from tilewright.ir.traversal import walk  # noqa: E402
from tilewright.passes import PASSES  # noqa: E402

LIMIT_MS = 300.0
_PIPELINE = Pipeline.build(parse_pipeline(",".join((*FRONT_HALF, *ROLES))), PASSES)


def _tile_passes(module: ModuleOp) -> float:
    start = time.process_time()
    engine = DiagnosticEngine()
    for each in _PIPELINE.passes:
        each.run(module, engine)
    engine.raise_if_errors()
    return time.process_time() - start


def _measure(name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"passes": 0.0, "ops": 0, "kernels": 0}

    def keep(module: ModuleOp) -> ModuleOp:
        found["passes"] += _tile_passes(module.clone())
        found["ops"] += sum(1 for _ in walk(module))
        found["kernels"] += 1
        return module

    example = load(name)
    start = time.process_time()
    transformed(example, keep)
    first = time.process_time() - start
    # A second call of the same example pays for the run alone.
    cached = load(name)
    cached.example(np.random.default_rng(0))
    start = time.process_time()
    cached.example(np.random.default_rng(0))
    found["run"] = time.process_time() - start
    found["trace"] = max(0.0, first - found["run"] - found["passes"])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often each example is compiled")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is missed")
    arguments = parser.parse_args()
    print("T kernels: ms of processor time to trace and emit, for the front half, and to run")
    print(f"{'example':20} {'kernels':>7} {'ops':>5} {'trace':>7} {'front half':>10} {'run':>7}")
    slow = False
    for name in NAMES:
        rows = [_measure(name) for _ in range(max(1, arguments.rounds))]
        best = {key: min(row[key] for row in rows) for key in rows[0]}
        print(
            f"{name:20} {best['kernels']:7} {best['ops']:5} {best['trace'] * 1e3:7.1f} "
            f"{best['passes'] * 1e3:10.1f} {best['run'] * 1e3:7.1f}"
        )
        if name == "attention":
            # Two kernels are compiled: causal and full.
            each = (best["trace"] + best["passes"]) * 1e3 / best["kernels"]
            slow = each >= LIMIT_MS
            attention = f"attention, trace and front half: {each:.0f} ms (limit {LIMIT_MS:.0f} ms)"
    print(attention)
    return 1 if arguments.check and slow else 0


if __name__ == "__main__":
    sys.exit(main())
