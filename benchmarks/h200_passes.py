"""What single passes are worth on a Hopper GPU: our `T` kernels with one of them left out.

    python benchmarks/h200_passes.py [--rounds N] [--markdown FILE]

Every kernel runs as it is and without each pass of `PASSES`, one after the other in every round,
and results are checked first. The last row has the same product by a persistent kernel. A number
below 1.00 is what the kernel loses. It needs torch. docs/benchmarks.md holds the latest table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this folder: `benchmarks.h200` is the package beside this file

PASSES = (
    "overlap-wgmma",
    "sink-wgmma-waits",
    "stagger-wgmma-waits",
    "join-wgmma-groups",
    "choose-occupancy",
    "fold-clears",
)
WHOLE, PERSISTENT = "whole", "persistent"
ERROR = 1e-2
SHAPES = ((4, 32, 4096, 128), (4, 32, 4096, 64))
PRODUCT = (16384, 8192, 1024)


def without(function: Any, left_out: str | None, *given: Any, **sizes: Any) -> Callable[[], Any]:
    """A call of the kernel that `function` makes for these arguments, with a pass left out."""
    import tilewright as tw

    kernel = tw.jit(function.function, target="cuda").compile(*given, **sizes)
    if left_out is not None:
        kernel.gpu.settings = replace(kernel.gpu.settings, leave_out=(left_out,))
    return partial(kernel, *given)


def rows(rounds: int) -> list[Any]:
    """What was measured, kernel by kernel."""
    import torch

    from benchmarks.h200 import tile_kernels as kernels
    from benchmarks.h200.measure import Row, check, measure
    from benchmarks.h200.peers import tile_example
    from benchmarks.h200.tile import STAYING

    found: list[Any] = []

    def add(name: str, calls: dict[str, Callable[[], Any]]) -> None:
        row, wanted = Row("T", name, 1.0), calls[WHOLE]().float()
        measure(row, check(row, _candidates(calls), wanted, ERROR), rounds)
        found.append(row)

    for causal in (False, True):
        for shape in SHAPES:
            head = shape[-1]
            tiles = {"block_M": 192, "threads": 384} if head == 64 else {}
            make = partial(
                _variants, kernels.attention, *_random(3, *shape), head=head, causal=causal
            )
            add(f"attention d{head}{' causal' if causal else ''}", make(**tiles))
    m, n, k = PRODUCT
    given = [*_random(1, m, k), *_random(1, k, n)]
    persistent = tile_example("persistent_gemm").matmul_persistent
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    call = without(persistent, None, *given, processors=processors, **STAYING)
    add(f"gemm {m}x{n}x{k}", {**_variants(kernels.gemm, *given), PERSISTENT: call})
    return found


def _random(count: int, *shape: int) -> list[Any]:
    import torch

    return [torch.randn(*shape, device="cuda", dtype=torch.float16) for _ in range(count)]


def _variants(function: Any, *given: Any, **sizes: Any) -> dict[str, Callable[[], Any]]:
    """The kernel as it is, and without each of the passes."""
    names = {WHOLE: None, **{name: name for name in PASSES}}
    return {name: without(function, each, *given, **sizes) for name, each in names.items()}


def _candidates(calls: dict[str, Callable[[], Any]]) -> list[Any]:
    from benchmarks.h200.measure import Candidate

    return [Candidate(name, call) for name, call in calls.items()]


def table(found: list[Any]) -> str:
    from benchmarks.h200.measure import table as lined_up

    names = (*PASSES, PERSISTENT)
    lines: list[list[str]] = []
    for row in found:
        ratios = [row.ratio(name, WHOLE) for name in names]
        cells = ["-" if each is None else f"{each:.3f}" for each in ratios]
        lines.append([row.shape, f"{1e3 * row.milliseconds[WHOLE]:.0f}", *cells])
    return lined_up(["kernel", "us", *(f"no {name}" for name in PASSES), PERSISTENT], lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="how often each is timed (20)")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch is not installed: this benchmark needs it and a Hopper GPU")
    if not torch.cuda.is_available():
        sys.exit("torch sees no CUDA device: this benchmark needs a Hopper GPU")
    found = rows(options.rounds)
    for row in found:
        for name, problem in row.failures.items():
            print(f"{row.shape}, {name}: {problem}", file=sys.stderr)
    text = table(found)
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    return int(any(row.failures for row in found))


if __name__ == "__main__":
    sys.exit(main())
