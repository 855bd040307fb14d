"""DRAM reads of a GEMM on Tenstorrent cores: naive, with residency, with multicast, with both.

    python benchmarks/tenstorrent_traffic.py [--k K] [--steps N] [--executor source|ir]

C = A B in bfloat16, 4096 x 4096 x 4096 on 8 x 8 cores, blocks of 128 x 128 and K steps of 32. All
reads are in the loop over K, which every block runs from the start to the end, so that their
number is proportional to K: each program is run with K reduced to `--steps` steps, its reads are
counted by the executor and multiplied by the quotient of the two numbers of steps. What stays in L1
must not depend on the reduction, which is checked on the program that is compiled for the full K.
Where the number differs from the prediction of that program, the exit code is 1. No device is used;
pages are tiles of 2048 bytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tilewright import T  # noqa: E402
from tilewright.dialects.tensix.plan import Plan  # noqa: E402
from tilewright.runtime.tile.kernel import CompiledTileKernel  # noqa: E402
from tilewright.targets.tenstorrent.artefact import Artefact, Executor  # noqa: E402
from tilewright.targets.tenstorrent.execution import RunOptions  # noqa: E402

TARGET, CORES = "tenstorrent:sim", "8x8"
SIZE, BLOCK, STEP = 4096, 128, 32
REDUCED_STEPS = 8

VARIANTS: Mapping[str, Mapping[str, str]] = {
    "naive": {},
    "residency": {"tt.residency": "auto"},
    "multicast": {"tt.multicast": "on"},
    "residency and multicast": {"tt.residency": "auto", "tt.multicast": "on"},
}


def compiled(
    size: int, block: int, steps: int, cores: str, settings: Mapping[str, Any]
) -> Artefact:
    """A GEMM of `size` rows and columns and so many steps over K."""
    k = steps * STEP

    @T.prim_func
    def gemm(
        A: T.Tensor((size, k), T.bfloat16),
        B: T.Tensor((k, size), T.bfloat16),
        C: T.Tensor((size, size), T.bfloat16),
    ):
        with T.Kernel(size // block, size // block) as (bx, by):
            a = T.alloc_shared((block, STEP), T.bfloat16)
            b = T.alloc_shared((STEP, block), T.bfloat16)
            c = T.alloc_fragment((block, block), T.float32)
            T.clear(c)
            for step in T.Pipelined(steps, num_stages=2):
                T.copy(A[by * block, step * STEP], a)
                T.copy(B[step * STEP, bx * block], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block, bx * block])

    configs = {"tt.core_grid": cores, **settings}
    kernel = CompiledTileKernel(gemm, target=TARGET, pass_configs=configs)
    assert kernel.tenstorrent is not None
    return kernel.tenstorrent.artefact


@dataclass(frozen=True)
class Row:
    """One variant: what was counted, and what follows for the full K."""

    name: str
    plan: Plan
    """Of the full K."""
    counted: int
    """Page reads of the run."""
    sent: int
    """Pages that the run multicast."""
    factor: int

    @property
    def reads(self) -> int:
        return self.counted * self.factor

    @property
    def is_right(self) -> bool:
        return self.reads == self.plan.traffic.dram_page_reads

    @property
    def retained(self) -> str:
        return ", ".join(retained(self.plan)) or "nothing"


def retained(plan: Plan) -> list[str]:
    return [] if plan.residency is None else [each.tensor for each in plan.residency.panels]


def measured(
    name: str,
    *,
    size: int = SIZE,
    block: int = BLOCK,
    k: int = SIZE,
    steps: int = REDUCED_STEPS,
    cores: str = CORES,
    executor: Executor = Executor.SOURCE,
) -> Row:
    """Compile for the full K, count at the reduced K."""
    settings = VARIANTS[name]
    full = compiled(size, block, k // STEP, cores, settings).plan
    program = compiled(size, block, steps, cores, settings)
    assert retained(program.plan) == retained(full), "other panels stay at the reduced K"
    random = np.random.default_rng(0)
    a = random.standard_normal((size, steps * STEP), np.float32).astype(ml_dtypes.bfloat16)
    b = random.standard_normal((steps * STEP, size), np.float32).astype(ml_dtypes.bfloat16)
    c = np.zeros((size, size), ml_dtypes.bfloat16)
    run = program.run({"A": a, "B": b, "C": c}, RunOptions(), executor)
    exact = a.astype(np.float32) @ b.astype(np.float32)
    error = np.linalg.norm(run.arrays["C"].astype(np.float32) - exact) / np.linalg.norm(exact)
    assert error < 2.0**-7, f"wrong result: {error}"
    traffic = run.result.traffic
    return Row(name, full, traffic.dram_page_reads, traffic.multicast_pages, k // STEP // steps)


def table(rows: Sequence[Row], k: int) -> str:
    """The rows as Markdown."""
    naive = rows[0].reads
    page = rows[0].plan.tensors[0].page_bytes
    first = rows[0]
    lines = [
        f"| | policy | stays in L1 | counted at K = {k // first.factor} | x {first.factor} = page "
        "reads | GiB | of naive |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row.name} | {row.plan.schedule.policy} | {row.retained} | {row.counted:,} | "
            f"{row.reads:,} | {row.reads * page / 2**30:.2f} | 1/{naive / row.reads:.1f} |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--k", type=int, default=SIZE, help="K (default 4096)")
    parser.add_argument("--steps", type=int, default=REDUCED_STEPS, help="K steps of the runs")
    parser.add_argument("--executor", choices=("source", "ir"), default="source")
    options = parser.parse_args(argv)
    rows = [
        measured(name, k=options.k, steps=options.steps, executor=Executor(options.executor))
        for name in VARIANTS
    ]
    print(table(rows, options.k))
    wrong = [row for row in rows if not row.is_right]
    for row in wrong:
        predicted = row.plan.traffic.dram_page_reads
        print(f"{row.name}: {row.reads} page reads, the plan predicts {predicted}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
