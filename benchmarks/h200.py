"""Our kernels on a Hopper GPU beside cuBLAS, cuDNN, flash attention and Triton's own pipelines.

    python benchmarks/h200.py [--quick] [--only gemm,attention,tile,plain,...] [--check]
                              [--tilelang FOLDER] [--json FILE] [--markdown FILE] [--list]

Everything is measured in one run: same shapes, same inputs (random), results compared with float64
or float32 first, outputs filled with NaN before. Numbers are medians, TFLOP/s where nothing else is
said. With the folder of an installed TileLang, `T` kernels go through it as well, from the same
source. `--check` makes the exit code 1 when one of the limits below is missed. It needs torch,
Triton and a Hopper GPU; docs/benchmarks.md holds the latest tables.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this folder: `benchmarks.h200` is the package beside this file

PARTS = ("gemm", "attention", "tile", "plain", "launch", "start")
GEMM_MEAN, ATTENTION_MEAN, LEAST = 0.92, 0.90, 0.80
PLAIN, LAUNCH, WARM_MS = 0.98, 1.2, 50.0
TILELANG_LEAST = 0.95
TILE_KINDS = (
    # kind of row, its peer, limit of the geometric mean, limit of each
    ("T gemm", "cuBLAS", 1.00, 0.98),
    ("T gemm fp8", "torch._scaled_mm", 0.95, 0.95),
    ("T attention", "cuDNN", 1.05, 1.00),
    ("T memory", "copy", 0.97, 0.97),
)


@dataclass
class Report:
    """What a run found."""

    facts: dict[str, str] = field(default_factory=dict[str, str])
    rows: list[Any] = field(default_factory=list[Any])
    shared_bytes: dict[str, int] = field(default_factory=dict[str, int])
    launch_us: dict[str, float] = field(default_factory=dict[str, float])
    start_ms: dict[str, float] = field(default_factory=dict[str, float])
    limits: list[tuple[str, float, str, bool]] = field(
        default_factory=list[tuple[str, float, str, bool]]
    )

    def of(self, kind: str) -> list[Any]:
        return [row for row in self.rows if row.kind == kind]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def facts() -> dict[str, str]:
    import torch
    import triton

    import tilewright

    return {
        "date": date.today().isoformat(),
        "GPU": torch.cuda.get_device_name(),
        "tilewright": tilewright.__version__,
        "Triton": triton.__version__,
        "torch": torch.__version__,
        "CUDA": str(torch.version.cuda),
        "cuDNN": str(torch.backends.cudnn.version()),
        "Python": platform.python_version(),
        "command": command(sys.argv[1:]),
    }


def command(words: Sequence[str]) -> str:
    """How the run was started, without the files it writes."""
    kept: list[str] = []
    for word, before in zip(words, ["", *words], strict=False):
        if not {word.partition("=")[0], before} & {"--json", "--markdown"}:
            kept.append(word)
    return " ".join(["python benchmarks/h200.py", *kept])


# -- running ------------------------------------------------------------------------------------


def run_gemm(report: Report, options: argparse.Namespace) -> None:
    from benchmarks.h200 import gemm
    from benchmarks.h200.peers import example

    for dtype in gemm.DTYPES:
        for shape in gemm.SHAPES:
            row = gemm.run(shape, dtype, options.rounds, all_variants=not options.quick)
            report.rows.append(row)
            say(one_line(row))
    for compiled in example("hopper_gemm_persistent").gemm_kernel.cache.values():
        name = gemm.OURS if compiled.constants.get("ALIASED") else gemm.UNALIASED
        report.shared_bytes[name] = compiled.artefact.metadata.shared


def run_attention(report: Report, options: argparse.Namespace) -> None:
    from benchmarks.h200 import attention

    for causal in (False, True):
        for shape in attention.SHAPES:
            row = attention.run(shape, causal, options.rounds, all_variants=not options.quick)
            report.rows.append(row)
            say(one_line(row))


def run_tile(report: Report, options: argparse.Namespace) -> None:
    from benchmarks.h200 import tile

    for row in tile.run(options.rounds, options.tilelang):
        report.rows.append(row)
        say(one_line(row))


def run_plain(report: Report, options: argparse.Namespace) -> None:
    from benchmarks.h200 import plain

    for row in plain.run(options.rounds):
        report.rows.append(row)
        say(one_line(row))


def run_launch(report: Report, options: argparse.Namespace) -> None:
    from benchmarks.h200 import plain

    report.launch_us = plain.launch_microseconds(options.rounds)
    say(f"launch: {report.launch_us}")


def run_start(report: Report, options: argparse.Namespace) -> None:
    from benchmarks.h200 import plain

    report.start_ms = plain.start_milliseconds()
    say(f"start: {report.start_ms}")


RUNNERS: dict[str, Callable[[Report, argparse.Namespace], None]] = {
    "gemm": run_gemm,
    "attention": run_attention,
    "tile": run_tile,
    "plain": run_plain,
    "launch": run_launch,
    "start": run_start,
}


# -- judging ------------------------------------------------------------------------------------


def judge(report: Report) -> None:
    """Compare with the limits."""
    from benchmarks.h200.measure import geometric_mean

    def limit(name: str, value: float, wanted: float, *, least: bool = True) -> None:
        passed = value >= wanted if least else value <= wanted
        sign = ">=" if least else "<="
        report.limits.append((name, value, f"{sign} {wanted:g}", passed))

    for kind, peer, mean in (
        ("gemm", "cuBLAS", GEMM_MEAN),
        ("attention", "cuDNN", ATTENTION_MEAN),
    ):
        rows = report.of(kind)
        if not rows:
            continue
        ratios = [row.ratio("ours", peer) or 0.0 for row in rows]
        limit(f"{kind}, of {peer}, geometric mean", _mean(geometric_mean, ratios), mean)
        limit(f"{kind}, of {peer}, minimum", min(ratios), LEAST)
    gemms = report.of("gemm")
    if gemms:
        ratios = [row.ratio("ours", "ours, unaliased") or 0.0 for row in gemms]
        limit("gemm, aliased of unaliased, geometric mean", _mean(geometric_mean, ratios), 1.0)
    if len(report.shared_bytes) == 2:
        aliased, other = (report.shared_bytes[name] for name in ("ours", "ours, unaliased"))
        limit("gemm, shared bytes, aliased of unaliased", aliased / other, 1.0, least=False)
    for kind, peer, mean, least in TILE_KINDS:
        ratios = [row.ratio("ours", peer) or 0.0 for row in report.of(kind)]
        if ratios:
            limit(f"{kind}, of {peer}, geometric mean", _mean(geometric_mean, ratios), mean)
            limit(f"{kind}, of {peer}, minimum", min(ratios), least)
        # Where TileLang does not compile a kernel, or computes something else, there is no ratio.
        of_tilelang = [row.ratio("ours", "TileLang") for row in report.of(kind)]
        if any(of_tilelang):
            limit(f"{kind}, of TileLang, minimum", min(filter(None, of_tilelang)), TILELANG_LEAST)
    for row in report.of("plain"):
        limit(f"{row.shape}, of Triton", row.ratio("ours", "Triton") or 0.0, PLAIN)
    if report.launch_us:
        ratio = report.launch_us["ours"] / report.launch_us["Triton"]
        limit("launch, of Triton's", ratio, LAUNCH, least=False)
    if report.start_ms:
        limit("warm start, ms", report.start_ms["warm"], WARM_MS, least=False)


def _mean(mean: Callable[[Iterable[float]], float], ratios: Sequence[float]) -> float:
    return mean(ratios) if all(ratios) else 0.0


# -- showing ------------------------------------------------------------------------------------


def one_line(row: Any) -> str:
    rates = [f"{name} {row.rate(name):.0f}" for name in row.milliseconds]
    problems = [f"{name}: {why}" for name, why in row.failures.items()]
    return f"{row.kind} {row.shape}: {', '.join(rates + problems)}"


def rates_table(rows: Sequence[Any], peer: str) -> str:
    from benchmarks.h200.measure import geometric_mean, table

    names = list(dict.fromkeys(name for row in rows for name in (*row.milliseconds, *row.failures)))
    names.sort(key=lambda name: name.startswith("ours"))
    lines: list[list[str]] = []
    for row in rows:
        rates = [row.rate(name) for name in names]
        ratio = row.ratio("ours", peer)
        cells = ["-" if rate is None else f"{rate:.0f}" for rate in rates]
        lines.append([row.shape, *cells, "-" if ratio is None else f"{ratio:.2f}"])
    ratios = [row.ratio("ours", peer) for row in rows]
    if all(ratios):
        mean = f"{geometric_mean(ratios):.3f}"
        lines.append(["geometric mean", *["" for _ in names], mean])
    return table(["shape", *names, f"ours / {peer}"], lines)


def text_of(report: Report) -> str:
    """The tables as Markdown."""
    from benchmarks.h200.measure import table

    parts = ["\n".join(f"* {name}: {value}" for name, value in report.facts.items())]
    for kind, peer in (("gemm", "cuBLAS"), ("attention", "cuDNN")):
        if rows := report.of(kind):
            parts.append(rates_table(rows, peer))
    for kind, peer, *_ in TILE_KINDS:
        if rows := report.of(kind):
            parts.append(f"{kind}{', GB/s' if kind == 'T memory' else ''}:")
            parts.append(rates_table(rows, peer))
    if report.shared_bytes:
        lines = [[name, str(count)] for name, count in report.shared_bytes.items()]
        parts.append(table(["persistent GEMM", "bytes of shared memory"], lines))
    if rows := report.of("plain"):
        lines = [
            [row.shape, *(f"{row.milliseconds.get(name, 0.0) * 1e3:.1f}" for name in order),
             f"{row.ratio('ours', 'Triton') or 0.0:.3f}"]
            for order in [("Triton", "ours")] for row in rows
        ]  # fmt: skip
        head = ["plain kernel", "Triton, us", "ours, us", "Triton / ours"]
        parts.append(table(head, lines))
    if report.launch_us:
        lines = [[name, f"{value:.2f}"] for name, value in report.launch_us.items()]
        parts.append(table(["launch", "us on the host"], lines))
    if report.start_ms:
        lines = [[name, f"{value:.1f}"] for name, value in report.start_ms.items()]
        parts.append(table(["first call in a new process", "ms"], lines))
    lines = [
        [name, f"{value:.3f}", wanted, "yes" if passed else "NO"]
        for name, value, wanted, passed in report.limits
    ]
    parts.append(table(["limit", "measured", "required", "passed"], lines))
    problems = [
        f"* {row.kind} {row.shape}, {name}: {why}"
        for row in report.rows
        for name, why in row.failures.items()
    ]
    return "\n\n".join([*parts, *(["\n".join(problems)] if problems else [])]) + "\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, with commas")
    parser.add_argument("--quick", action="store_true", help="few rounds, fewer variants")
    parser.add_argument("--rounds", type=int, help="timed calls of each candidate")
    parser.add_argument("--check", action="store_true", help="exit 1 when a limit is missed")
    parser.add_argument("--tilelang", help="the folder of an installed TileLang, to run it, too")
    parser.add_argument("--json", type=Path, help="write all numbers here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    parser.add_argument("--list", action="store_true", help="show the parts and stop")
    options = parser.parse_args()
    options.rounds = options.rounds or (7 if options.quick else 25)
    options.parts = [part for part in options.only.split(",") if part]
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return options


def main() -> int:
    options = arguments()
    if options.list:
        print("\n".join(PARTS))
        return 0
    try:
        import torch
    except ImportError:
        say("torch is not installed: this benchmark needs it, Triton and a Hopper GPU")
        return 2
    if not torch.cuda.is_available():
        say("torch sees no CUDA device: this benchmark needs a Hopper GPU")
        return 2
    report = Report(facts())
    for part in options.parts:
        say(f"-- {part}")
        RUNNERS[part](report, options)
    judge(report)
    text = text_of(report)
    print(text)
    if options.markdown:
        options.markdown.write_text(text)
    if options.json:
        options.json.write_text(json.dumps(asdict(report), indent=1) + "\n")
    return 1 if options.check and not all(passed for *_, passed in report.limits) else 0


if __name__ == "__main__":
    sys.exit(main())
