"""What limits our `T` kernels on a Hopper GPU: counters of the hardware, read by Nsight Compute.

    python benchmarks/h200_profile.py [KERNEL ...] [--markdown FILE] [--list]

Each kernel of `benchmarks/h200/tile_kernels.py`, at the sizes of `benchmarks/h200.py`, runs once to
warm up and once under `ncu`, at the clocks the card has. The table tells how busy, of the time a
kernel took, each part of the chip was; the busiest is what limits it. It needs torch, `ncu` and the
right to read counters. docs/benchmarks.md holds the latest table.
"""

from __future__ import annotations

import argparse
import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this folder: `benchmarks.h200` is the package beside this file

METRICS = {
    "gpu__time_duration.sum": "us",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "tensor cores",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed": "exp unit",
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed": "issue slots",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed": "shared memory",
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": "L2",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM",
    "sm__cycles_elapsed.avg.per_second": "SM clock",
}
SHOWN = ["us", "tensor cores", "exp unit", "issue slots", "shared memory", "L2", "DRAM"]


def calls() -> dict[str, Callable[[], Any]]:
    """The kernels, with their arguments; nothing is made before it is called."""
    import torch

    from benchmarks.h200 import tile_kernels as kernels

    def random(*shape: int, dtype: Any = torch.float16) -> Any:
        return torch.randn(*shape, device="cuda").to(dtype)

    def gemm(m: int, n: int, k: int) -> Callable[[], Any]:
        return lambda: kernels.gemm(random(m, k), random(k, n))

    def attention(b: int, h: int, s: int, d: int, causal: bool) -> Callable[[], Any]:
        tiles = {"block_M": 192, "threads": 384} if d == 64 else {}

        def call() -> Any:
            q, k, v = (random(b, h, s, d) for _ in range(3))
            return kernels.attention(q, k, v, head=d, causal=causal, **tiles)

        return call

    eighth = torch.float8_e4m3fn
    return {
        "gemm 8192x8192x8192": gemm(8192, 8192, 8192),
        "gemm 16384x8192x1024": gemm(16384, 8192, 1024),
        "gemm 2048x2048x16384": gemm(2048, 2048, 16384),
        "gemm fp8 8192x8192x8192": lambda: kernels.gemm_fp8(
            random(8192, 8192, dtype=eighth), random(8192, 8192, dtype=eighth)
        ),
        "attention d128": attention(4, 32, 4096, 128, False),
        "attention d128 causal": attention(4, 32, 4096, 128, True),
        "attention d64": attention(4, 32, 4096, 64, False),
        "attention d64 causal": attention(4, 32, 4096, 64, True),
        "add": lambda: kernels.add(random(65536, 8192), random(65536, 8192)),
        "rms_norm": lambda: kernels.rms_norm(random(65536, 8192)),
        "softmax": lambda: kernels.softmax(random(65536, 8192)),
    }


def perform(names: list[str]) -> None:
    """Run kernels twice; only the second time is between the marks that `ncu` looks for."""
    import torch

    made = calls()
    for name in names:
        made[name]()
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    for name in names:
        made[name]()
        torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


def profile(names: list[str]) -> dict[str, dict[str, float]]:
    """The counters of each kernel, by the words of `METRICS`."""
    command = [
        "ncu", "--csv", "--clock-control", "none", "--profile-from-start", "off",
        "--kernel-name", "regex:^(gemm|gemm_fp8|attention|add|rms_norm|softmax)_kernel$",
        "--metrics", ",".join(METRICS),
        sys.executable, __file__, "--perform", *names,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode or start is None:
        said = (done.stdout + done.stderr)[-3000:]
        sys.exit(f"ncu told nothing (exit {done.returncode}):\n{said}")
    found: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        name = names[int(row["ID"])]
        value = float(row["Metric Value"].replace(",", ""))
        scale = {"ns": 1e-3, "ms": 1e3, "s": 1e6}.get(row["Metric Unit"], 1.0)
        word = METRICS[row["Metric Name"]]
        found.setdefault(name, {})[word] = value * (scale if word == "us" else 1.0)
    return found


def table(found: dict[str, dict[str, float]]) -> str:
    from benchmarks.h200.measure import table as lined_up

    lines: list[list[str]] = []
    for name, counters in found.items():
        busiest = max(SHOWN[1:], key=lambda word: counters.get(word, 0.0))
        cells = [f"{counters['us']:.0f}"]
        cells += [f"{counters[word]:.0f} %" if word in counters else "-" for word in SHOWN[1:]]
        lines.append([name, *cells, busiest])
    return lined_up(["kernel", *SHOWN, "busiest"], lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kernels", nargs="*", help="which kernels (all)")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    parser.add_argument("--list", action="store_true", help="show the kernels and stop")
    parser.add_argument("--perform", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch is not installed: this benchmark needs it, ncu and a Hopper GPU")
    if not torch.cuda.is_available():
        sys.exit("torch sees no CUDA device: this benchmark needs a Hopper GPU")
    known = list(calls())
    if options.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in options.kernels if name not in known]
    if unknown:
        parser.error(f"no kernel {', '.join(unknown)}; there are: {', '.join(known)}")
    names = options.kernels or known
    if options.perform:
        perform(names)
        return 0
    if shutil.which("ncu") is None:
        sys.exit("there is no `ncu` here: Nsight Compute reads the counters")
    text = table(profile(names))
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
