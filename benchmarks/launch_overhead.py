"""What a launch costs the host: `kernel[grid](...)` of Tilewright beside Triton's own JIT.

    python benchmarks/launch_overhead.py [--rounds N] [--json FILE] [--check] [--profile]

The same kernel text, tensors and options for both, in one process, taking turns. Kernels do next
to nothing; launches are counted in rounds short enough for the GPU's queue, and only putting them
there is timed. `driver` is our prepared call alone: what the CUDA driver takes for itself. Figures
are medians of rounds, in microseconds a launch. Kernels of `T` have no column of Triton's; a
repeated call of one takes 5 us at most. ``--check`` makes the exit code 1 when a ratio is over 1.2,
or a call of a `T` kernel over its limit.

Without a GPU the driver is one that does nothing and tensors are plain Python objects, so only our
own column can be shown; ``--profile`` prints where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import ctypes
import ctypes.util
import functools
import importlib.util
import json
import math
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

LIMIT = 1.2
T_LIMIT = 5.0
LAUNCHES = 100
"""In a round: fewer than the queue of a stream holds."""

OURS = "import tilewright as tw\nfrom tilewright import tl\n"
TRITON = "import triton as tw\nimport triton.language as tl\n"
KERNELS = """

@tw.jit
def one(x):
    tl.store(x, 1.0)


@tw.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, inside) + tl.load(y + offsets, inside), inside)


@tw.jit
def matmul(
    a, b, c, m, n, k, am, ak, bk, bn, cm, cn, alpha,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
):
    if m + n + k + am + ak + bk + bn + cm + cn < 0:
        tl.store(c, tl.load(a) + tl.load(b) + alpha + M + N + K + GROUP)


@tw.jit
def tiles(a, b, c, m, n, M: tl.constexpr, N: tl.constexpr):
    if m < 0:
        c.store([0, 0], a.load([m, n]) + b.load([m, n]))
"""


@dataclass(frozen=True)
class Case:
    """One launch: arguments are made by a function of the library's tensors and descriptors."""

    kernel: str
    grid: Any
    arguments: Callable[[Any, Callable[..., Any]], tuple[Any, ...]]
    options: dict[str, Any]


def _matmul(torch: Any, _: Any) -> tuple[Any, ...]:
    a, b, c = (_tensor(torch, 64, 64) for _ in range(3))
    return (a, b, c, 64, 65, 66, 64, 1, 64, 1, 64, 1, 0.5)


def _tiles(torch: Any, descriptor: Callable[..., Any]) -> tuple[Any, ...]:
    return (*(descriptor(_tensor(torch, 64, 64), [16, 64]) for _ in range(3)), 64, 65)


CASES = {
    "1 pointer": Case("one", (1,), lambda torch, _: (_tensor(torch, 16),), {}),
    "3 pointers, 1 integer": Case(
        "add",
        (1,),
        lambda torch, _: (*(_tensor(torch, 100) for _ in range(3)), 100),
        {"BLOCK": 128},
    ),
    "the same, callable grid": Case(
        "add",
        lambda arguments: (-(-arguments["n"] // arguments["BLOCK"]),),
        lambda torch, _: (*(_tensor(torch, 100) for _ in range(3)), 100),
        {"BLOCK": 128},
    ),
    "matmul: 17 parameters": Case(
        "matmul",
        (1, 1),
        _matmul,
        {"M": 128, "N": 128, "K": 64, "GROUP": 8, "num_warps": 8, "num_stages": 3},
    ),
    "3 tensor descriptors": Case("tiles", (1, 1), _tiles, {"M": 16, "N": 64, "num_warps": 4}),
}


def _tensor(torch: Any, *shape: int) -> Any:
    return torch.zeros(*shape, device="cuda")


def _tile_add() -> Any:
    from tilewright import T

    @T.prim_func
    def add(
        x: T.Tensor((1024,), "float32"),
        y: T.Tensor((1024,), "float32"),
        out: T.Tensor((1024,), "float32"),
    ):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(1024):
                out[i] = x[i] + y[i]

    return add


def _tile_gemm() -> Any:
    from tilewright import T

    @T.prim_func
    def gemm(
        a: T.Tensor((128, 256), "float32"),
        b: T.Tensor((256, 128), "float32"),
        c: T.Tensor((128, 128), "float32"),
    ):
        with T.Kernel(1, threads=128):
            left = T.alloc_shared((128, 32), "float32")
            right = T.alloc_shared((32, 128), "float32")
            total = T.alloc_fragment((128, 128), "float32")
            T.clear(total)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(a[0, k * 32], left)
                T.copy(b[k * 32, 0], right)
                T.gemm(left, right, total)
            T.copy(total, c)

    return gemm


TILE_CASES: dict[str, tuple[Callable[[], Any], Sequence[tuple[int, ...]]]] = {
    "T: 3 tensors": (_tile_add, [(1024,)] * 3),
    "T: GEMM, tensor maps": (_tile_gemm, [(128, 256), (256, 128), (128, 128)]),
}
"""Functions of `T`, and the shapes of their arguments."""


def _tile_calls(torch: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    import tilewright as tw

    for title, (function, shapes) in TILE_CASES.items():
        kernel = tw.compile(function(), target="cuda:sm_90a")
        tensors = [_tensor(torch, *shape) for shape in shapes]
        yield title, functools.partial(kernel, *tensors)


def _module(folder: Path, name: str, head: str) -> Any:
    path = folder / f"{name}.py"
    path.write_text(head + KERNELS)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _call(module: Any, case: Case, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    kernel, grid, options = getattr(module, case.kernel), case.grid, case.options
    return lambda: kernel[grid](*arguments, **options)


def _driver_alone(module: Any, case: Case, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Our prepared call with the values of this launch."""
    from tilewright.runtime.pointer.gpu import flatten

    compiled = getattr(module, case.kernel)[case.grid](*arguments, **case.options)
    launcher = compiled.launcher
    constants = [None] * (len(compiled.keys) - len(arguments))
    maps = iter(launcher.metadata.tensor_maps)
    values = [
        launcher.tensor_map(each, next(maps))
        if kind == "tensormap"
        else (each.data_ptr() if kind == "ptr" else each)
        for kind, each in zip(
            launcher.visible, flatten(compiled.keys, [*arguments, *constants]), strict=True
        )
    ]
    return lambda: launcher.launch(0, 1, 1, 1, *values)


def measure(
    calls: dict[str, Callable[[], Any]], rounds: int, wait: Callable[[], Any]
) -> dict[str, float]:
    """Microseconds a launch, for each of `calls` in turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(5):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            wait()
            start = time.perf_counter()
            for _ in range(LAUNCHES):
                call()
            times[name].append((time.perf_counter() - start) / LAUNCHES * 1e6)
    wait()
    return {name: statistics.median(each) for name, each in times.items()}


def on_device(rounds: int) -> dict[str, dict[str, float]]:
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    import tilewright as tw

    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        ours = _module(Path(name), "launch_ours", OURS)
        theirs = _module(Path(name), "launch_triton", TRITON)
        for title, case in CASES.items():
            for_us = case.arguments(torch, tw.TensorDescriptor.from_tensor)
            for_them = case.arguments(torch, TensorDescriptor.from_tensor)
            calls = {
                "ours": _call(ours, case, for_us),
                "Triton": _call(theirs, case, for_them),
                "driver": _driver_alone(ours, case, for_us),
            }
            found[title] = measure(calls, rounds, torch.cuda.synchronize)
    for title, call in _tile_calls(torch):
        found[title] = measure({"ours": call}, rounds, torch.cuda.synchronize)
    return found


def without_device(rounds: int, *, profile: bool) -> dict[str, dict[str, float]]:
    import tilewright as tw
    from tests.runtime.cuda.fake_driver import FakeDriver
    from tests.runtime.cuda.fake_torch import Tensor, fake_torch
    from tilewright.runtime.cuda.driver import using

    class NoDriver(FakeDriver):
        """Launches are a C function without effect that returns 0."""

        cuLaunchKernelEx = ctypes.CDLL(ctypes.util.find_library("m")).fegetround

    torch = sys.modules["torch"] = fake_torch()
    addresses = iter(range(1 << 20, 1 << 40, 1 << 20))
    torch.zeros = lambda *shape, device: Tensor(next(addresses), shape, torch.float32)
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name, using(NoDriver()):
        ours = _module(Path(name), "launch_ours", OURS)
        for title, case in CASES.items():
            arguments = case.arguments(torch, tw.TensorDescriptor.from_tensor)
            call = _call(ours, case, arguments)
            calls = {"ours": call, "driver": _driver_alone(ours, case, arguments)}
            found[title] = measure(calls, rounds, lambda: None)
            if profile:
                _profile(title, call)
        for title, call in _tile_calls(torch):
            found[title] = measure({"ours": call}, rounds, lambda: None)
            if profile:
                _profile(title, call)
    return found


def _profile(title: str, call: Callable[[], Any]) -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(20_000):
        call()
    profiler.disable()
    print(f"\n{title}")
    pstats.Stats(profiler).sort_stats("tottime").print_stats(12)


def show(found: dict[str, dict[str, float]]) -> None:
    columns = list(next(iter(found.values())))  # kernels of `T`, the last ones, have fewer
    print(f"{'host microseconds a launch':28}" + "".join(f"{name:>10}" for name in columns), end="")
    print("     ratio" if "Triton" in columns else "")
    for title, row in found.items():
        print(f"{title:28}" + "".join(_cell(row.get(name)) for name in columns), end="")
        print(f"{row['ours'] / row['Triton']:10.2f}" if "Triton" in row else "")
    ratios = [row["ours"] / row["Triton"] for row in found.values() if "Triton" in row]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"geometric mean of ratios {mean:.2f}, worst {max(ratios):.2f} (limit {LIMIT})")


def _cell(microseconds: float | None) -> str:
    return f"{'-':>10}" if microseconds is None else f"{microseconds:10.2f}"


def has_device() -> bool:
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None:
        return False
    import torch

    return torch.cuda.is_available()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--check", action="store_true", help=f"fail over a ratio of {LIMIT}")
    parser.add_argument("--profile", action="store_true", help="where the time goes (no GPU)")
    options = parser.parse_args()
    if has_device():
        found = on_device(options.rounds)
    else:
        print("no GPU with torch and Triton here: our side only, with a driver that does nothing")
        found = without_device(options.rounds, profile=options.profile)
    show(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    worst = max(
        (row["ours"] / row["Triton"] for row in found.values() if "Triton" in row), default=0
    )
    slowest = max(found[title]["ours"] for title in TILE_CASES)
    return int(options.check and (worst > LIMIT or slowest > T_LIMIT))


if __name__ == "__main__":
    sys.exit(main())
