"""`tl` kernels on the host: Tilewright's NumPy target beside Triton's own interpreter.

    make bench
    python benchmarks/tl_kernels.py [--rounds N] [--check]

The same kernel files, the same arrays, the same grids. Triton's interpreter runs in a process of
its own, because it has to be chosen before Triton is imported; both check their results against
each other before a time is printed. Times are the median of `--rounds` calls after a first one;
what the first call pays is shown in the rows below the table: tracing attention to IR without any
cache, and what a launch costs on top of the kernel's own work. `--check` makes the exit code 1
when the geometric mean of the ratios is under 20, a kernel is slower, tracing takes 150 ms or a
launch 100 us.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
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

from tests.examples.tl_examples import load  # noqa: E402

GEOMETRIC_MEAN = 20.0
TRACE_MS = 150.0
LAUNCH_US = 100.0


def _half(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float16)


def _float(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape, dtype=np.float32)


def _attention(module: Any, rng: np.random.Generator) -> Any:
    q, k, v = _half(rng, 3, 4, 512, 64)
    return lambda: module.attention(q, k, v, causal=True)


def _bfloat(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)


CASES: dict[str, tuple[str, Callable[[Any, np.random.Generator], Callable[[], Any]]]] = {
    "vector add, 1M elements": (
        "vector_add",
        lambda m, r: (lambda x, y: lambda: m.add(x, y))(_float(r, 2**20), _float(r, 2**20)),
    ),
    "softmax, 1823 x 781": (
        "softmax",
        lambda m, r: (lambda x: lambda: m.softmax(x))(_float(r, 1823, 781)),
    ),
    "matmul fp16, 512 x 512 x 512": (
        "matmul",
        lambda m, r: (lambda a, b: lambda: m.matmul(a, b))(_half(r, 512, 512), _half(r, 512, 512)),
    ),
    "persistent matmul fp16, 512 x 512 x 512": (
        "persistent_matmul",
        lambda m, r: (lambda a, b: lambda: m.matmul(a, b))(_half(r, 512, 512), _half(r, 512, 512)),
    ),
    "dropout, 1M elements": (
        "dropout",
        lambda m, r: (lambda x: lambda: m.dropout(x, 0.5, 123))(_float(r, 2**20)),
    ),
    "layer norm, 1151 x 1024": (
        "layer_norm",
        lambda m, r: (lambda x, w, b: lambda: m.layer_norm(x, w, b)[0])(
            _float(r, 1151, 1024), _float(r, 1024), _float(r, 1024)
        ),
    ),
    "attention fp16 causal, 4 heads, 512 x 64": ("attention", _attention),
    "cross entropy, 512 x 4001": (
        "cross_entropy",
        lambda m, r: (lambda x, y: lambda: m.cross_entropy(x, y)[1])(
            _float(r, 512, 4001), r.integers(0, 4001, 512)
        ),
    ),
    "rms norm bf16, 1024 x 1024": (
        "rms_norm",
        lambda m, r: (lambda x, w: lambda: m.rms_norm(x, w))(
            _bfloat(r, 1024, 1024), _bfloat(r, 1024)
        ),
    ),
    "rotary, 2048 positions": (
        "rotary",
        lambda m, r: (lambda x, c, s: lambda: m.rotate(x.copy(), c, s))(
            _float(r, 2048, 8, 64), _float(r, 2048, 32), _float(r, 2048, 32)
        ),
    ),
    "histogram, 1M elements": (
        "histogram",
        lambda m, r: (lambda x: lambda: m.histogram(x, 64))(
            r.integers(0, 64, 2**20, dtype=np.int32)
        ),
    ),
    "top 8 of 256, 64 rows": (
        "top_k",
        lambda m, r: (lambda x: lambda: m.top_k(x, 8)[1])(_float(r, 64, 256)),
    ),
    "convolution fp16, 8 x 16 x 32 x 32, 3 x 3": (
        "conv2d",
        lambda m, r: (lambda x, w: lambda: m.conv2d(x, w, padding=1))(
            _half(r, 8, 16, 32, 32), _half(r, 32, 16, 3, 3)
        ),
    ),
}


def _measure(load_module: Callable[[str], Any], rounds: int, scratch: Path) -> dict[str, float]:
    """Seconds per case; the results are saved for comparison."""
    seconds: dict[str, float] = {}
    for index, (title, (name, prepare)) in enumerate(CASES.items()):
        call = prepare(load_module(name), np.random.default_rng(index))
        np.save(scratch / f"{index}.npy", np.asarray(call()).astype(np.float64))
        times: list[float] = []
        for _ in range(rounds):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        seconds[title] = statistics.median(times)
        print(f"  {title}", file=sys.stderr, flush=True)
    return seconds


def _interpreter(rounds: int, scratch: Path) -> None:
    """The child process: Triton's interpreter, seconds as JSON."""
    from tests.examples.interpreted import load_interpreted

    times = _measure(lambda name: load_interpreted(name, scratch), rounds, scratch)
    (scratch / "seconds.json").write_text(json.dumps(times))


def _run_interpreter(rounds: int, scratch: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--interpreter", str(scratch), "--rounds", str(rounds)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"}
    subprocess.run(command, env=environment, check=True)
    return json.loads((scratch / "seconds.json").read_text())


def _agree(ours: Path, theirs: Path) -> None:
    for index, title in enumerate(CASES):
        a, b = np.load(ours / f"{index}.npy"), np.load(theirs / f"{index}.npy")
        scale = max(float(np.abs(b).max()), 1.0)
        if not np.allclose(a, b, rtol=0, atol=2**-7 * scale):
            raise SystemExit(f"{title}: the results differ by {np.abs(a - b).max()}")


def _attention_arguments() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    module: Any = load("attention")
    q = np.ones((4, 512, 64), np.float16)
    lse = np.ones((4, 512), np.float32)
    args = (q, q, q, q.copy(), lse, 0.125, *([512 * 64, 64] * 4), 512)
    return module.attention_kernel, args, dict(HEAD=64, BLOCK_M=64, BLOCK_N=32, CAUSAL=True)


def _trace_ms(rounds: int) -> tuple[float, float]:
    """Milliseconds to IR: the first time in a process, and with nothing but the source cached."""
    times: list[float] = []
    for _ in range(max(rounds, 3)):
        kernel, args, options = _attention_arguments()
        start = time.perf_counter()
        kernel.warmup(*args, **options)
        times.append((time.perf_counter() - start) * 1e3)
    return times[0], statistics.median(times[1:])


def _launch_us() -> float:
    """What a launch costs beyond the generated function itself: an empty grid runs no program."""
    module: Any = load("vector_add")
    x = np.ones(16, np.float32)
    launch = lambda: module.add_kernel[(0,)](x, x, x, 16, BLOCK=16)  # noqa: E731
    launch()
    times: list[float] = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(200):
            launch()
        times.append((time.perf_counter() - start) / 200 * 1e6)
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--interpreter", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.interpreter:
        _interpreter(options.rounds, options.interpreter)
        return 0
    first_ms, trace_ms = _trace_ms(options.rounds)
    with tempfile.TemporaryDirectory() as ours_dir, tempfile.TemporaryDirectory() as theirs_dir:
        print("Tilewright:", file=sys.stderr)
        ours = _measure(load, options.rounds, Path(ours_dir))
        print("Triton's interpreter:", file=sys.stderr)
        theirs = _run_interpreter(1, Path(theirs_dir))
        _agree(Path(ours_dir), Path(theirs_dir))
    print(f"{'kernel on the host':<44}{'Tilewright':>12}{'interpreter':>13}{'ratio':>9}")
    ratios = {title: theirs[title] / ours[title] for title in CASES}
    for title, ratio in ratios.items():
        print(
            f"{title:<44}{ours[title] * 1e3:>9.1f} ms{theirs[title] * 1e3:>10.1f} ms{ratio:>8.1f}x"
        )
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    print(f"{'geometric mean':<78}{mean:>8.1f}x")
    launch_us = _launch_us()
    print(f"attention to IR: {first_ms:.0f} ms the first time, then {trace_ms:.0f} ms from source")
    print(f"a launch on top of the kernel: {launch_us:.0f} us")
    ok = mean >= GEOMETRIC_MEAN and min(ratios.values()) >= 1
    ok = ok and first_ms < TRACE_MS and launch_us < LAUNCH_US
    return 0 if ok or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
