"""What people run now, as `T` kernels of 20 to 90 lines, beside the best peers.

    python benchmarks/workloads.py [--only decode,W4A16,...] [--tilelang FOLDER] [--rounds N]
                                   [--check] [--json FILE] [--markdown FILE] [--list]

Everything is measured in one run: same inputs (random), results compared first, medians of rounds
in which the candidates take turns, with a cold L2 cache. What the memory limits is compared with a
copy that moves as many bytes. With the folder of an installed TileLang, it compiles the same
source. `--check` makes the exit code 1 when a limit is missed. It needs torch and a Hopper GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this folder: `benchmarks.workloads` is the package beside this file

if TYPE_CHECKING:
    from benchmarks.h200.measure import Row
    from benchmarks.workloads.workload import Workload

BYTES_PER_SECOND = 4.8e12
"""What the memory of an H200 moves at most, by its data sheet."""
FAMILIES = ("streams", "decode", "gemms", "attention", "recurrent")


def all_workloads(tilelang: str | None) -> Iterator[Workload]:
    from importlib import import_module

    for family in FAMILIES:
        yield from import_module(f"benchmarks.workloads.{family}").workloads(tilelang)


def table_of(rows: Sequence[tuple[Workload, Row]]) -> str:
    from benchmarks.h200.measure import table
    from benchmarks.workloads.workload import OURS, keep_fastest

    lines: list[list[str]] = []
    for workload, row in rows:
        own = row.milliseconds.get(OURS)
        peers = {
            name: row.ratio(OURS, name) for name in row.milliseconds if not name.startswith(OURS)
        }
        ratios = ", ".join(f"{ratio:.2f} of {name}" for name, ratio in peers.items() if ratio)
        failures = "; ".join(f"{name}: {why[:100]}" for name, why in row.failures.items())
        time = "" if own is None else f"{own * 1e3:.1f}"
        chosen = keep_fastest(row)
        lines.append(
            [
                workload.family,
                workload.shape,
                time,
                chosen,
                rate_of(workload, row),
                ratios,
                failures,
            ]
        )
    head = ["workload", "shape", "ours, us", "chosen", "rate", "speed of ours", "what failed"]
    return table(head, lines)


def rate_of(workload: Workload, row: Row) -> str:
    """Bytes or operations a second, as parts of what the card can do."""
    from benchmarks.workloads.workload import OURS

    time = row.milliseconds.get(OURS)
    if time is None:
        return ""
    if workload.moved:
        part = workload.moved / time * 1e3 / BYTES_PER_SECOND
        return f"{part:.0%} of {BYTES_PER_SECOND / 1e12} TB/s"
    rate = row.flops / time * 1e3
    return f"{rate / 1e12:.0f} TFLOP/s"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="parts of names of workloads, with commas")
    parser.add_argument("--tilelang", help="the folder of an installed TileLang, to run it, too")
    parser.add_argument("--rounds", type=int, default=15, help="timed calls of each candidate")
    parser.add_argument("--check", action="store_true", help="exit 1 when a limit is missed")
    parser.add_argument("--json", type=Path, help="write all numbers here")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    parser.add_argument("--list", action="store_true", help="names of the workloads, and no more")
    given = parser.parse_args(words)
    try:
        import torch
    except ImportError:
        print("torch is not installed: this benchmark needs it and a Hopper GPU", file=sys.stderr)
        return 2
    parts = [part for part in given.only.split(",") if part]
    chosen = [
        each
        for each in all_workloads(given.tilelang)
        if not parts or any(part in f"{each.family} {each.shape}" for part in parts)
    ]
    if given.list:
        print("\n".join(f"{each.family}: {each.shape}" for each in chosen))
        return 0
    if not torch.cuda.is_available():
        print("torch sees no CUDA device: this benchmark needs a Hopper GPU", file=sys.stderr)
        return 2
    from benchmarks.workloads.ahead import compile_calls, installed_board
    from benchmarks.workloads.workload import copied_per_millisecond

    board = installed_board()

    def compiles(calls: Sequence[Callable[[], Any]]) -> None:
        compile_calls(board, calls, lambda text: print(text, file=sys.stderr, flush=True))

    rate = copied_per_millisecond(given.rounds)
    rows: list[tuple[Workload, Row]] = []
    missed: list[str] = []
    for workload in chosen:
        torch.manual_seed(0)
        row = workload.run(given.rounds, rate, compiles)
        rows.append((workload, row))
        missed += workload.missed(row)
        print(table_of(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
        torch.cuda.empty_cache()
    text = table_of(rows)
    print(f"a copy moves {rate / 1e9:.2f} TB/s\n\n{text}")
    if given.markdown:
        given.markdown.write_text(text + "\n")
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for _, row in rows], indent=1) + "\n")
    for each in missed if given.check else ():
        print(f"check: {each}")
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
