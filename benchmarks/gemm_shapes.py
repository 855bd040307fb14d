"""`T` GEMMs of random shapes, as a tuner chooses them, beside cuBLAS.

    python benchmarks/gemm_shapes.py [--seed N] [--count N] [--rounds N] [--only PART,...] [--check]
                                     [--json FILE] [--markdown FILE] [--list | --compile]

M, N and K are from 64 to 16384, uniform in the logarithm, none a multiple of 64; fp16, bf16, fp8
alternate. Half of the 16-bit shapes have rows that begin at any element. An analytical model
(`benchmarks/shapes/space.py`) leaves a few configurations of a shape; all are compiled in parallel
first, then the tuner measures them. Results are compared with float32 or float64, the output filled
with NaN before; times are medians with a cold L2 cache, ours and the peer's alternating.

`--check` makes the exit code 1 when the geometric mean is below the limit, or a result is wrong.
`--compile` needs no GPU: it compiles all configurations for sm_90a and reports spills, serialised
wgmma and copies that are not wide.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this directory: `benchmarks.shapes` is the package beside this file

from benchmarks.shapes.draw import Case, drawn  # noqa: E402
from benchmarks.shapes.kernel import matmul  # noqa: E402
from benchmarks.shapes.space import configurations  # noqa: E402

if TYPE_CHECKING:
    import torch

    from benchmarks.h200.measure import Row

COUNT, SEED = 30, 22
MEAN_LIMIT = 0.95
OURS = "ours"
ERRORS = {"fp16": 4e-3, "bf16": 1e-2, "fp8": 1e-2}
"""Relative errors that rounding C may cause."""
EXACT_FLOPS = 2e12
"""Up to here the reference is float64."""


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _kernels(cases: Sequence[Case]) -> list[tuple[Case, Mapping[str, Any]]]:
    return [(case, config) for case in cases for config in configurations(*case.arguments)]


def compile_all(cases: Sequence[Case]) -> None:
    """Compile what the tuner will measure, for all shapes at once."""
    from tilewright.runtime.tile.compile_ahead import compile_together

    chosen = _kernels(cases)
    makers = [partial(matmul.inner.traced, *case.arguments, **config) for case, config in chosen]
    start = perf_counter()
    failed = compile_together(makers, ignore_error=True).count(None)
    log(f"{len(makers)} configurations, {failed} do not compile, {perf_counter() - start:.1f} s")


# -- without a GPU --------------------------------------------------------------------------------


def report(cases: Sequence[Case], arch: str = "sm_90a") -> int:
    """Compile everything for a GPU that need not be here; how many kernels have a fault."""
    from tilewright.targets.compilers import Compilers, worker_count
    from tilewright.targets.cuda.settings import Settings

    chosen = _kernels(cases)
    faults, narrow = 0, set[str]()
    with Compilers(worker_count(len(chosen)), None) as compilers:
        futures = [
            compilers.compile(
                matmul.inner.get_tir(*case.arguments, **config).module, Settings(arch)
            )
            for case, config in chosen
        ]
        for (case, config), future in zip(chosen, futures, strict=True):
            try:
                program = future.result()
            except Exception as error:
                faults += 1
                print(f"{case}: {config}: {error}")
                continue
            serial = [each for each in program.remarks if "ptxas" in each]
            narrow |= {f"{case}: {each}" for each in program.remarks if "vectorised" in each}
            if program.spill_bytes or serial:
                faults += 1
                print(f"{case}: {config}: {program.spill_bytes} B spilled {' '.join(serial)}")
    for each in sorted(narrow):
        print(each)
    print(f"{len(chosen)} kernels, {faults} with faults, {len(narrow)} narrow accesses")
    return 1 if faults else 0


# -- with one -------------------------------------------------------------------------------------


def _inputs(case: Case) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    import torch

    named = {"float8_e4m3": torch.float8_e4m3fn}
    dtype = named.get(case.type.dtype) or getattr(torch, case.type.dtype)
    a = torch.randn(case.M, case.K, device="cuda").to(dtype)
    b = torch.randn(*case.shape.B_shape, device="cuda").to(dtype)
    c = torch.full((case.M, case.N), torch.nan, device="cuda", dtype=getattr(torch, case.type.out))
    return a, b, c


def _expected(case: Case, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    import torch

    wide = torch.float64 if case.flops <= EXACT_FLOPS else torch.float32
    right = b.to(wide)
    return a.to(wide) @ (right.T if case.transposed else right)


def _peer(case: Case, a: torch.Tensor, b: torch.Tensor) -> tuple[str, Any]:
    import torch

    if not case.transposed:
        c = torch.empty(case.M, case.N, device="cuda", dtype=a.dtype)
        return "cuBLAS", partial(torch.matmul, a, b, out=c)
    one = torch.ones((), device="cuda")
    call = partial(torch._scaled_mm, a, b.T, one, one, out_dtype=torch.bfloat16)
    return "torch._scaled_mm", call


def run(case: Case, rounds: int) -> tuple[Row, dict[str, Any]]:
    """Tune, check and time one shape."""
    import tilewright as tw
    from benchmarks.h200.measure import Candidate, Row, check, measure

    a, b, c = _inputs(case)
    row = Row("shapes", str(case), case.flops)
    peer, peer_call = _peer(case, a, b)
    candidates = [Candidate(peer, peer_call)]
    chosen: dict[str, Any] = {}
    try:
        with tw.set_autotune_inputs(a, b, c):
            result = matmul.tune(*case.arguments)
    except Exception as problem:
        row.failures[OURS] = f"{type(problem).__name__}: {problem}".split("\n")[0]
    else:
        chosen = {"config": dict(result.config or {}), "trials": [str(x) for x in result.trials]}
        c.fill_(float("nan"))

        def ours() -> torch.Tensor:
            result.kernel(a, b, c)
            return c

        candidates.append(Candidate(OURS, ours, is_ours=True))
    right = check(row, candidates, _expected(case, a, b), ERRORS[case.type.label])
    measure(row, right, rounds)
    return row, {**chosen, "peer": peer}


def _table(rows: Sequence[tuple[Case, Row, Mapping[str, Any]]]) -> str:
    from benchmarks.h200.measure import table

    lines: list[list[str]] = []
    for _, row, chosen in rows:
        peer = chosen["peer"]
        ratio = row.ratio(OURS, peer)
        times = [
            f"{row.milliseconds[x] * 1e3:.1f}" if x in row.milliseconds else ""
            for x in (peer, OURS)
        ]
        failures = "; ".join(f"{name}: {why[:80]}" for name, why in row.failures.items())
        shown = failures or _summary(chosen.get("config", {}))
        lines.append([row.shape, *times, f"{ratio:.2f}" if ratio else "", shown])
    return table(["M x N x K", "peer, us", "ours, us", "ours / peer", "configuration"], lines)


def _summary(config: Mapping[str, Any]) -> str:
    if not config:
        return ""
    found = [f"{config['block_M']}x{config['block_N']}x{config['block_K']}"]
    found.append(f"{config['num_stages']} stages")
    if config["split"] > 1:
        found.append(f"split {config['split']}")
    if config["persistent"]:
        found.append("persistent")
    if not config["padded"]:
        found.append("not padded")
    return ", ".join(found)


def measure_all(cases: Sequence[Case], options: argparse.Namespace) -> int:
    import torch

    from benchmarks.h200.measure import geometric_mean

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(options.seed)
    compile_all(cases)
    rows: list[tuple[Case, Row, Mapping[str, Any]]] = []
    start = perf_counter()
    for case in cases:
        row, chosen = run(case, options.rounds)
        rows.append((case, row, chosen))
        log(_table(rows[-1:]).splitlines()[-1])
        torch.cuda.empty_cache()
    ratios = [row.ratio(OURS, chosen["peer"]) or 0.0 for _, row, chosen in rows]
    mean = geometric_mean(ratios) if all(ratios) else 0.0
    text = f"{_table(rows)}\n\ngeometric mean {mean:.3f}, least {min(ratios):.3f}"
    print(f"seed {options.seed}, {perf_counter() - start:.0f} s\n\n{text}")
    if options.markdown:
        options.markdown.write_text(text + "\n")
    if options.json:
        found = [{**asdict(row), **chosen} for _, row, chosen in rows]
        options.json.write_text(json.dumps({"mean": mean, "rows": found}, indent=1) + "\n")
    missed = mean < MEAN_LIMIT
    print(f"check: geometric mean {mean:.3f}, required >= {MEAN_LIMIT}{': missed' * missed}")
    return 1 if options.check and missed else 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the shapes ({SEED})")
    parser.add_argument("--count", type=int, default=COUNT, help=f"how many shapes ({COUNT})")
    parser.add_argument("--rounds", type=int, default=15, help="timed calls of each candidate")
    parser.add_argument("--only", default="", help="parts of shapes as --list prints them")
    parser.add_argument("--check", action="store_true", help="exit 1 when the limit is missed")
    parser.add_argument("--json", type=Path, help="write all results here")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    parser.add_argument("--list", action="store_true", help="print the shapes, and no more")
    parser.add_argument("--compile", action="store_true", help="compile for sm_90a, and no more")
    options = parser.parse_args(arguments)
    parts = [part for part in options.only.split(",") if part]
    cases = [
        case
        for case in drawn(options.count, options.seed)
        if not parts or any(part in str(case) for part in parts)
    ]
    if options.list:
        print("\n".join(map(str, cases)))
        return 0
    if options.compile:
        return report(cases)
    try:
        import torch
    except ImportError:
        print("torch is not installed: this benchmark needs it and a Hopper GPU", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("torch sees no CUDA device: this benchmark needs a Hopper GPU", file=sys.stderr)
        return 2
    return measure_all(cases, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
