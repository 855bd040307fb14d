"""`tl` kernels on a Hopper GPU: raised to tiles, through our own CUDA, beside Triton.

    python benchmarks/raised.py [--rounds N] [--only TEXT] [--jobs N] [--check] [--json FILE]
                                [--markdown FILE]

The same kernels on the same arrays in one run. Results are compared before anything is timed, with
outputs filled with NaN. Times are medians of interleaved calls (`h200/measure.py`); the columns
of compile times are what the first call of each compiler takes, tracing included, with no cache.
With `--jobs` several processes make these first calls, before anything is timed.
`--check` makes the exit code 1 where a kernel is slower than its limit, or all of them in the mean.
It needs torch, Triton and a Hopper GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this directory: `benchmarks.h200` is the package beside this file

from benchmarks.h200.raised_cases import (  # noqa: E402
    CASES,
    KERNELS,
    MEAN,
    TUTORIALS,
    Call,
    Case,
)
from benchmarks.h200.tutorial_cases import TUTORIAL_CASES  # noqa: E402

TRITON, OURS = "Triton", "ours"
TARGET = "cuda:sm_90a"


def _modules(case: Case, scratch: Path) -> dict[str, ModuleType]:
    """The kernels of a case, for each compiler."""
    from benchmarks.h200.peers import our_kernels, triton_kernels
    from tests.examples.tl_examples import load, load_for_triton

    if case.module in (KERNELS, TUTORIALS):
        return {TRITON: triton_kernels(case.module), OURS: our_kernels(case.module)}
    return {TRITON: load_for_triton(case.module, scratch), OURS: load(case.module)}


@dataclass
class TorchArrays:
    """Arrays on the GPU, the same for every compiler."""

    seed: int = 0
    outputs: list[Any] = field(default_factory=list[Any])
    cleared: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        import torch

        self._generator = torch.Generator("cuda").manual_seed(self.seed)
        self.num_cores = torch.cuda.get_device_properties(0).multi_processor_count

    def random(self, *shape: int, type: str = "float16", scale: float = 1.0) -> Any:
        import torch

        values = torch.randn(shape, device="cuda", generator=self._generator) * scale
        return values.to(getattr(torch, type))

    def uniform(self, *shape: int) -> Any:
        import torch

        return torch.rand(shape, device="cuda", generator=self._generator)

    def small_float(self, *shape: int) -> Any:
        import torch

        return self.random(*shape, type="float32").to(torch.float8_e4m3fn)

    def integers(self, low: int, high: int, *shape: int, type: str) -> Any:
        import torch

        values = torch.randint(low, high, shape, device="cuda", generator=self._generator)
        return values.to(getattr(torch, type))

    def empty(self, *shape: int, type: str = "float16") -> Any:
        import torch

        self.outputs.append(torch.empty(shape, device="cuda", dtype=getattr(torch, type)))
        return self.outputs[-1]

    def zeros(self, *shape: int, type: str) -> Any:
        import torch

        self.cleared.append(torch.zeros(shape, device="cuda", dtype=getattr(torch, type)))
        return self.cleared[-1]

    def given(self, values: Sequence[Any], type: str) -> Any:
        import torch

        return torch.tensor(values, device="cuda", dtype=getattr(torch, type))

    def addresses(self, arrays: Sequence[Any]) -> Any:
        return self.given([each.data_ptr() for each in arrays], "int64")

    def descriptor(self, module: ModuleType, array: Any, block: list[int]) -> Any:
        from benchmarks.h200.peers import descriptor

        return descriptor(module, array, block)

    def poison(self) -> None:
        for each in self.outputs:
            each.fill_(float("nan"))

    def clear(self) -> None:
        for each in self.cleared:
            each.zero_()


@dataclass(frozen=True)
class Runner:
    """One compiler on one case."""

    call: Call
    arrays: TorchArrays
    options: dict[str, Any]

    def __call__(self) -> Any:
        self.arrays.clear()
        for launch in self.call.launches:
            launch.kernel[launch.grid](*launch.arguments, **launch.options, **self.options)
        return self.call.outputs[0]

    def results(self) -> list[Any]:
        """All results, outputs poisoned before."""
        import torch

        self.arrays.poison()
        self()
        torch.cuda.synchronize()
        return [each.float().clone() for each in self.call.outputs]


@dataclass
class Result:
    """What was measured of one case; the first error, if there is one."""

    title: str
    limit: float | None
    tutorial: int | None = None
    milliseconds: dict[str, float] = field(default_factory=dict[str, float])
    compile_seconds: dict[str, float] = field(default_factory=dict[str, float])
    rates: dict[str, float | None] = field(default_factory=dict[str, float | None])
    error: float | None = None
    failure: str | None = None

    @property
    def ratio(self) -> float | None:
        if not {TRITON, OURS} <= self.milliseconds.keys():
            return None
        return self.milliseconds[TRITON] / self.milliseconds[OURS]

    @property
    def is_good(self) -> bool:
        ratio = self.ratio
        return ratio is not None and (self.limit is None or ratio >= self.limit)


def compare(case: Case, scratch: Path) -> tuple[Result, dict[str, Runner]]:
    """Compile for both compilers, and compare their results."""
    from benchmarks.h200.measure import relative_error

    result = Result(case.title, case.limit, case.tutorial)
    runners: dict[str, Runner] = {}
    found: dict[str, list[Any]] = {}
    for name, module in _modules(case, scratch).items():
        arrays = TorchArrays()
        options = {"target": TARGET} if name == OURS else {}
        runners[name] = Runner(case.make(module, arrays), arrays, options)
        start = time.perf_counter()
        try:
            found[name] = runners[name].results()
        except Exception as problem:
            result.failure = f"{name}: {type(problem).__name__}: {problem}".split("\n")[0]
            return result, runners
        result.compile_seconds[name] = time.perf_counter() - start
    pairs = zip(found[OURS], found[TRITON], strict=True)
    errors = [relative_error(actual, expected) for actual, expected in pairs]
    result.error = max(errors) if not any(each != each for each in errors) else float("nan")
    if not result.error <= case.tolerance:
        result.failure = f"relative error {result.error:.2e} is over {case.tolerance:.0e}"
    return result, runners


def run(case: Case, rounds: int, scratch: Path) -> Result:
    """Compare, then measure."""
    from benchmarks.h200.measure import Candidate, Row, measure

    result, runners = compare(case, scratch)
    if result.failure is not None:
        return result
    row = Row("raised", case.title, case.flops)
    measure(row, [Candidate(name, each) for name, each in runners.items()], rounds)
    result.milliseconds = row.milliseconds
    result.rates = {name: row.rate(name) for name in runners}
    return result


def _cells(result: Result) -> list[str]:
    if result.failure is not None:
        return [result.title, result.failure, *[""] * 6]
    times = [result.milliseconds[name] for name in (TRITON, OURS)]
    ratio = result.ratio
    assert ratio is not None and result.error is not None
    return [
        result.title,
        *[f"{each:.3f}" for each in times],
        f"{ratio:.2f}",
        "" if result.limit is None else f"{result.limit:.2f}",
        f"{result.error:.0e}",
        *[f"{result.compile_seconds[name]:.2f}" for name in (TRITON, OURS)],
    ]


HEAD = (
    *("kernel", "Triton ms", "ours ms", "speed", "limit", "difference"),
    *("Triton first call s", "ours first call s"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="", help="cases whose title contains this")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    cases = [each for each in (*CASES, *TUTORIAL_CASES) if options.only in each.title]
    if options.share:
        return _compile_share(cases, options.share)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="raised-") as scratch:
        os.environ["TILEWRIGHT_CACHE_DIR"] = f"{scratch}/ours"
        os.environ["TRITON_CACHE_DIR"] = f"{scratch}/triton"
        _let_triton_allocate()
        first_calls = _first_calls(options) if options.jobs > 1 else {}
        for case in cases:
            result = run(case, options.rounds, Path(scratch))
            result.compile_seconds.update(first_calls.get(case.title, {}))
            results.append(result)
            print(" | ".join(_cells(result)), file=sys.stderr, flush=True)
    return _report(results, options)


def _first_calls(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """What the first calls took, by case and compiler, made by several processes."""
    command = [sys.executable, __file__, "--only", options.only]
    processes = [
        subprocess.Popen(
            [*command, "--share", f"{each}/{options.jobs}"], stdout=subprocess.PIPE, text=True
        )
        for each in range(options.jobs)
    ]
    found: dict[str, dict[str, float]] = {}
    for process in processes:
        out, _ = process.communicate()
        for line in out.splitlines():
            if line.startswith("{"):
                found.update(json.loads(line))
    return found


def _compile_share(cases: Sequence[Case], share: str) -> int:
    """The first calls of some of the cases; a line of JSON for each."""
    first, count = map(int, share.split("/"))
    _let_triton_allocate()
    with tempfile.TemporaryDirectory(prefix="raised-") as scratch:
        for case in cases[first::count]:
            result, _ = compare(case, Path(scratch))
            print(json.dumps({case.title: result.compile_seconds}), flush=True)
    return 0


def _let_triton_allocate() -> None:
    """Triton's kernels that make descriptors need memory for them."""
    import torch
    import triton

    def allocate(size: int, alignment: int, stream: int | None) -> Any:
        return torch.empty(size, device="cuda", dtype=torch.int8)

    triton.set_allocator(allocate)


def _report(results: list[Result], options: argparse.Namespace) -> int:
    from benchmarks.h200.measure import geometric_mean, table

    groups = {
        "all": results,
        "Triton's tutorials": [each for each in results if each.tutorial is not None],
    }
    means = {
        name: geometric_mean([each.ratio for each in group if each.ratio is not None])
        for name, group in groups.items()
        if group
    }
    text = table(HEAD, [_cells(each) for each in results])
    for name, mean in means.items():
        text += f"\n\ngeometric mean of the speeds, {name}: {mean:.3f} (limit {MEAN})"
    print(text)
    if options.markdown is not None:
        options.markdown.write_text(text + "\n")
    if options.json is not None:
        rows = [{**asdict(each), "ratio": each.ratio} for each in results]
        options.json.write_text(json.dumps({"rows": rows, "means": means}, indent=1))
    missed = [each.title for each in results if not each.is_good]
    missed += [f"the mean of {name}" for name, mean in means.items() if not mean >= MEAN]
    if options.check and missed:
        print(f"missed: {', '.join(missed)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
