"""`tlx` examples raised to tiles and compiled by our own CUDA, beside Triton, on a GPU.

    python benchmarks/raised_tlx.py              results against float64, then times
    python benchmarks/raised_tlx.py --check      results only
    python benchmarks/raised_tlx.py NAME ...     some of the cases

Each case runs in a process of its own, since a kernel that waits forever ends with its process.
First all of them at once, which compile and compare; then one after the other, for times. Kernels
are timed with the device kept busy beforehand (`h200/measure.py`), so that what a launch takes of
the host, which is reported beside them, is not in their times.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 100
ROUNDS = 25
GEMMS = (
    "hopper_gemm_pipelined",
    "hopper_gemm_ws",
    "hopper_gemm_pingpong",
    "hopper_gemm_persistent",
    "hopper_gemm_persistent:UNALIASED",
)
ATTENTIONS = ("hopper_attention_ws", "hopper_attention_pipelined", "hopper_attention_persistent")
SHAPES = ((256, 512, 256), (1024, 1024, 1024), (129, 264, 72), (1000, 1032, 520))
CONTEXTS = (512, 100, 333)
SIDES, CONTEXT = (4096, 8192), 4096
"""Of matrices, and of sequences."""
LIMIT = 1e-3


def _loaded(name: str) -> tuple[Any, Any]:
    sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "tlx")]
    stem, _, config = name.partition(":")
    module = __import__(stem)
    return module, getattr(module, config) if config else None


def _error(call: Callable[[Any], Any], shape: tuple[int, ...], expected: Any) -> float:
    """The relative error; infinite if two runs differ, or if something is not written."""
    import torch

    out = torch.empty(shape, device="cuda", dtype=torch.float16)
    before = None
    for _ in range(3):
        out.fill_(float("nan"))
        call(out)
        torch.cuda.synchronize()
        if before is not None and not torch.equal(before, out):
            return math.inf
        before = out.clone()
    found = float((out.double() - expected).norm() / expected.norm())
    return math.inf if math.isnan(found) else found


def _milliseconds(calls: dict[str, Callable[[], Any]], work: float) -> dict[str, float]:
    """The median of each, in turns."""
    from benchmarks.h200.measure import Candidate, Row, measure

    row = Row("tlx", "", work)
    measure(row, [Candidate(name, call) for name, call in calls.items()], ROUNDS)
    return row.milliseconds


def _with(target: str, call: Callable[[], Any]) -> Callable[[], Any]:
    import tilewright as tw

    def run() -> Any:
        with tw.running(target=target):
            return call()

    return run


def gemm_case(name: str, *, times: bool) -> None:
    import torch

    module, config = _loaded(name)
    sides = [torch.randn((side, side), device="cuda").half() for side in SIDES]
    if times:
        for a in sides:
            out, side = torch.empty_like(a), a.shape[0]
            call = partial(module.gemm, a, a, config, out)
            calls = {key: _with(target, call) for key, target in _TARGETS.items()}
            calls["torch"] = partial(torch.matmul, a, a, out=out)
            _print(f"{name} {side}", calls, 2 * side**3)
        return
    errors: list[float] = []
    for m, n, k in SHAPES:
        a = torch.randn((m, k), device="cuda").half()
        b = torch.randn((k, n), device="cuda").half()
        call = _called(module.gemm, a, b, config)
        errors.append(_error(_into("cuda", call), (m, n), a.double() @ b.double()))
    for a in sides:  # compiled for the times
        for target in _TARGETS.values():
            _with(target, partial(module.gemm, a, a, config))()
    torch.cuda.synchronize()
    print(f"{name}: {_verdict(errors)}", flush=True)


def _host_microseconds(call: Callable[[], Any]) -> int:
    """What a launch takes of the host."""
    import torch

    torch.cuda.synchronize()
    begin = perf_counter()
    for _ in range(20):
        call()
    end = perf_counter()
    torch.cuda.synchronize()
    return round((end - begin) / 20 * 1e6)


def attention_case(name: str, *, times: bool) -> None:
    import torch

    module, _ = _loaded(name)
    shape = (4, 16, CONTEXT, 128)
    large = [torch.randn(shape, device="cuda").half() for _ in range(3)]
    if times:
        for causal in (True, False):
            call = partial(_called(module.attention, *large, causal), torch.empty_like(large[0]))
            calls = {key: _with(target, call) for key, target in _TARGETS.items()}
            work = 4 * 4 * 16 * CONTEXT**2 * 128 / (2 if causal else 1)
            _print(f"{name} {'causal' if causal else 'full'}", calls, work)
        return
    errors: list[float] = []
    for context in CONTEXTS:
        for causal in (True, False):
            shape = (2, 3, context, 128)
            q, k, v = (torch.randn(shape, device="cuda").half() for _ in range(3))
            scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(128)
            if causal:
                later = torch.ones((context, context), device="cuda", dtype=torch.bool).triu(1)
                scores = scores.masked_fill(later, -math.inf)
            call = _called(module.attention, q, k, v, causal)
            wanted = torch.softmax(scores, -1) @ v.double()
            errors.append(_error(_into("cuda", call), shape, wanted))
    for causal in (True, False):
        for target in _TARGETS.values():
            _with(target, partial(module.attention, *large, causal))()
    torch.cuda.synchronize()
    print(f"{name}: {_verdict(errors)}", flush=True)


_TARGETS = {"tiles": "cuda", "triton": "triton"}


def _called(function: Callable[..., Any], *arguments: Any) -> Callable[[Any], Any]:
    return lambda out: function(*arguments, out=out)


def _into(target: str, call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda out: _with(target, lambda: call(out))()


def _verdict(errors: list[float]) -> str:
    worst = max(errors)
    texts = " ".join(f"{each:.1e}" for each in errors)
    return f"{'right' if worst < LIMIT else 'WRONG'} ({texts})"


def _print(name: str, calls: dict[str, Callable[[], Any]], work: float) -> None:
    found = _milliseconds(calls, work)
    rates = "  ".join(f"{key} {work / ms / 1e9:6.0f}" for key, ms in found.items())
    host = {key: _host_microseconds(calls[key]) for key in _TARGETS}
    print(
        f"{name}: TFLOP/s {rates}  tiles/triton {found['triton'] / found['tiles']:.3f}  "
        f"host, us a launch {host}",
        flush=True,
    )


def _process(name: str, phase: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "--here", phase, name])


def _ended(name: str, process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a case came to a good end in time."""
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        print(f"{name}: HANGS (no end after {SECONDS} s)", flush=True)
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=[*GEMMS, *ATTENTIONS])
    parser.add_argument("--check", action="store_true", help="do not time")
    parser.add_argument("--here", choices=("check", "time"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        for name in options.cases:
            case = attention_case if name in ATTENTIONS else gemm_case
            case(name, times=options.here == "time")
        return 0
    with tempfile.TemporaryDirectory(prefix="raised-tlx-") as scratch:
        os.environ["TILEWRIGHT_CACHE_DIR"] = f"{scratch}/ours"
        os.environ["TRITON_CACHE_DIR"] = f"{scratch}/triton"
        end = monotonic() + SECONDS
        checks = [(name, _process(name, "check")) for name in options.cases]
        good = [n for n, process in checks if _ended(n, process, max(0.0, end - monotonic()))]
        failed = len(options.cases) - len(good)
        if not options.check:
            failed += sum(not _ended(name, _process(name, "time"), SECONDS) for name in good)
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
