"""`tlx` examples raised to tiles and compiled by our own CUDA, beside Triton, on a GPU.

    python benchmarks/raised_tlx.py              results against float64, then times
    python benchmarks/raised_tlx.py --check      results only
    python benchmarks/raised_tlx.py NAME ...     some of the cases

Each case runs in a process of its own, since a kernel that waits forever ends with its process.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
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
"""Of matrices: two, because a launch of a small GEMM may take longer than the GEMM."""
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


def _milliseconds(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median of each, in turns."""
    import torch

    found: dict[str, list[float]] = {name: [] for name in calls}
    for iteration in range(ROUNDS + 3):
        for name, call in calls.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(4):
                call()
            end.record()
            torch.cuda.synchronize()
            if iteration >= 3:
                found[name].append(begin.elapsed_time(end) / 4)
    return {name: median(times) for name, times in found.items()}


def _with(target: str, call: Callable[[], Any]) -> Callable[[], Any]:
    import tilewright as tw

    def run() -> Any:
        with tw.running(target=target):
            return call()

    return run


def gemm_case(name: str, *, times: bool) -> None:
    import torch

    module, config = _loaded(name)
    errors: list[float] = []
    for m, n, k in SHAPES:
        a = torch.randn((m, k), device="cuda").half()
        b = torch.randn((k, n), device="cuda").half()
        call = _called(module.gemm, a, b, config)
        errors.append(_error(_into("cuda", call), (m, n), a.double() @ b.double()))
    print(f"{name}: {_verdict(errors)}", flush=True)
    if not times:
        return
    for side in SIDES:
        a = torch.randn((side, side), device="cuda").half()
        b, out = torch.randn((side, side), device="cuda").half(), torch.empty_like(a)
        call = partial(module.gemm, a, b, config, out)
        found = _milliseconds(
            {
                "tiles": _with("cuda", call),
                "triton": _with("triton", call),
                "torch": partial(torch.matmul, a, b, out=out),
            }
        )
        _print(f"{name} {side}", found, 2 * side**3)
        host = {key: _host_microseconds(_with(target, call)) for key, target in _TARGETS.items()}
        print(f"{name}: host, us a launch: {host}", flush=True)


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
            errors.append(
                _error(_into("cuda", call), shape, torch.softmax(scores, -1) @ v.double())
            )
    print(f"{name}: {_verdict(errors)}", flush=True)
    if not times:
        return
    for causal in (True, False):
        shape = (4, 16, CONTEXT, 128)
        q, k, v = (torch.randn(shape, device="cuda").half() for _ in range(3))
        call = _called(module.attention, q, k, v, causal)
        out = torch.empty_like(q)
        found = _milliseconds(
            {key: _with(target, partial(call, out)) for key, target in _TARGETS.items()}
        )
        work = 4 * 4 * 16 * CONTEXT**2 * 128 / (2 if causal else 1)
        _print(f"{name} {'causal' if causal else 'full'}", found, work)


_TARGETS = {"tiles": "cuda", "triton": "triton"}


def _called(function: Callable[..., Any], *arguments: Any) -> Callable[[Any], Any]:
    return lambda out: function(*arguments, out=out)


def _into(target: str, call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda out: _with(target, lambda: call(out))()


def _verdict(errors: list[float]) -> str:
    worst = max(errors)
    texts = " ".join(f"{each:.1e}" for each in errors)
    return f"{'right' if worst < LIMIT else 'WRONG'} ({texts})"


def _print(name: str, found: dict[str, float], work: float) -> None:
    rates = "  ".join(f"{key} {work / ms / 1e9:6.0f}" for key, ms in found.items())
    print(
        f"{name}: TFLOP/s {rates}  tiles/triton {found['triton'] / found['tiles']:.3f}", flush=True
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=[*GEMMS, *ATTENTIONS])
    parser.add_argument("--check", action="store_true", help="do not time")
    parser.add_argument("--here", action="store_true", help="in this process")
    options = parser.parse_args()
    if options.here:
        for name in options.cases:
            case = attention_case if name in ATTENTIONS else gemm_case
            case(name, times=not options.check)
        return 0
    failed = 0
    for name in options.cases:
        command = [
            sys.executable,
            __file__,
            "--here",
            name,
            *(["--check"] if options.check else []),
        ]
        try:
            failed += subprocess.run(command, timeout=SECONDS, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            print(f"{name}: HANGS (no end after {SECONDS} s)", flush=True)
            failed += 1
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
