"""What limits our `T` kernels on a Hopper GPU: counters of the hardware, read by Nsight Compute.

    python benchmarks/h200_profile.py [PART ...] [--markdown FILE] [--json FILE] [--list]

The workloads are those of `benchmarks/workloads.py`, and the GEMMs, attention and streams of
`benchmarks/h200.py`; PART selects those whose name contains it. Each runs in its fastest
configuration, first to warm up, then once under `ncu`, at the clocks that the card has, with cold
caches. A line of the table is a kernel that takes at least a twentieth of its workload: how busy
each part of the chip was in that time, the busiest of them, and what warps wait for most. It needs
torch, `ncu` and the right to read counters. docs/benchmarks.md holds the latest table.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this folder: `benchmarks.h200` is the package beside this file

from benchmarks.h200_passes import all_workloads, log  # noqa: E402

if TYPE_CHECKING:
    from benchmarks.workloads.workload import Workload

_OF_TIME = "avg.pct_of_peak_sustained_elapsed"
TIME = "gpu__time_duration.sum"
BUSY = {
    f"sm__pipe_tensor_cycles_active.{_OF_TIME}": "tensor cores",
    f"sm__inst_executed_pipe_xu.{_OF_TIME}": "exp unit",
    f"sm__inst_issued.{_OF_TIME}": "issue slots",
    f"l1tex__data_pipe_lsu_wavefronts_mem_shared.{_OF_TIME}": "shared memory",
    f"lts__t_sectors.{_OF_TIME}": "L2",
    f"dram__throughput.{_OF_TIME}": "DRAM",
}
PIPES = {
    f"sm__inst_executed_pipe_alu.{_OF_TIME}": "ALU",
    f"sm__inst_executed_pipe_fma.{_OF_TIME}": "FMA",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
}
"""Left out where `ncu` does not know one of them."""
STALLS = (
    "barrier",
    "branch_resolve",
    "gmma",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "no_instruction",
    "not_selected",
    "short_scoreboard",
    "sleeping",
    "wait",
)
"""Reasons for which a warp does not issue, as `ncu` names them."""
SHARE = 0.05
"""The least part of a workload's time that makes a kernel a line of the table."""
MARK = "spin_kernel"
"""The kernel of `torch.cuda._sleep`, which separates workloads."""

Counters = dict[str, float]


def _stall(reason: str) -> str:
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


_REASONS = {_stall(reason): reason for reason in STALLS}


def perform(chosen: Sequence[Workload]) -> None:
    """Run workloads; only the last call of each is between the marks that `ncu` looks for."""
    import torch

    from benchmarks.h200.measure import Row, check, measure

    for workload in chosen:
        torch.manual_seed(0)
        prepared = workload.prepare()
        row = Row(workload.family, workload.shape, workload.flops)
        own = [each for each in prepared.candidates if each.is_ours]
        own = check(row, own, prepared.expected, prepared.tolerance)
        for name, problem in row.failures.items():
            log(f"{workload.family} {workload.shape}, {name}: {problem}")
        if len(own) > 1:
            measure(row, own, 3, clean=True)
            own = [min(own, key=lambda each: row.milliseconds[each.name])]
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        torch.cuda._sleep(1)
        for each in own:
            log(f"{workload.family} {workload.shape}: {each.name}")
            each.call()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()
        del prepared, own
        torch.cuda.empty_cache()


def profile(chosen: Sequence[Workload]) -> list[tuple[str, str, Counters]]:
    """Workload, kernel and counters, in the order of the launches."""
    names = [f"{each.family} {each.shape}" for each in chosen]
    for metrics in ([TIME, *BUSY, *PIPES, *_REASONS], [TIME, *BUSY]):
        command = [
            "ncu", "--csv", "--clock-control", "none", "--profile-from-start", "off",
            "--metrics", ",".join(metrics),
            sys.executable, __file__, "--perform", *names,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        sys.stderr.write(done.stderr[-3000:])
        found = read(done.stdout, names)
        if found:
            return found
        log(f"ncu told nothing (exit {done.returncode}): {done.stdout[-2000:]}")
    sys.exit(1)


def read(text: str, names: Sequence[str]) -> list[tuple[str, str, Counters]]:
    """What `ncu` printed; a mark comes before the kernels of each workload."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    launches: dict[int, tuple[str, Counters]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        _, counters = launches.setdefault(int(row["ID"]), (row["Kernel Name"], {}))
        scale = {"ns": 1e-3, "ms": 1e3, "s": 1e6}.get(row["Metric Unit"], 1.0)
        value = row["Metric Value"].replace(",", "")
        if re.fullmatch(r"[-+.\d]+(e[-+]?\d+)?", value):  # not "n/a"
            is_time = row["Metric Name"] == TIME
            counters[row["Metric Name"]] = float(value) * (scale if is_time else 1.0)
    found: list[tuple[str, str, Counters]] = []
    position = -1
    for _, (kernel, counters) in sorted(launches.items()):
        if MARK in kernel:
            position += 1
        elif 0 <= position < len(names):
            found.append((names[position], kernel, counters))
    return found


def table(found: Sequence[tuple[str, str, Counters]]) -> str:
    from benchmarks.h200.measure import table as lined_up

    total: dict[str, float] = {}
    for name, _, counters in found:
        total[name] = total.get(name, 0.0) + counters.get(TIME, 0.0)
    lines: list[list[str]] = []
    for name, kernel, counters in found:
        time = counters.get(TIME, 0.0)
        if time < SHARE * total[name]:
            continue
        cells = [f"{time:.1f}"]
        cells += [f"{counters[x]:.0f} %" if x in counters else "-" for x in (*BUSY, *PIPES)]
        lines.append([name, _short(kernel), *cells, _busiest(counters), _waits(counters)])
    head = ["workload", "kernel", "us", *BUSY.values(), *PIPES.values(), "busiest", "warps wait"]
    return lined_up(head, lines)


def _short(kernel: str) -> str:
    """The name of a function, without its namespaces, parameters and template arguments."""
    return re.split(r"[<(]", kernel)[0].split("::")[-1].split(" ")[-1][:32]


def _busiest(counters: Mapping[str, float]) -> str:
    units = {**BUSY, **{name: word for name, word in PIPES.items() if word != "occupancy"}}
    return units[max(units, key=lambda name: counters.get(name, 0.0))]


def _waits(counters: Mapping[str, float]) -> str:
    """The two reasons for which most warps wait, as parts of all that warps do."""
    reasons = {word: counters.get(name, 0.0) for name, word in _REASONS.items()}
    whole = sum(reasons.values())
    if not whole:
        return "-"
    most = sorted(reasons, key=reasons.__getitem__, reverse=True)[:2]
    return ", ".join(f"{word} {reasons[word] / whole:.0%}" for word in most)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help="parts of names of workloads (all)")
    parser.add_argument("--markdown", type=Path, help="write the table here")
    parser.add_argument("--json", type=Path, help="write all counters here")
    parser.add_argument("--list", action="store_true", help="show the workloads and stop")
    parser.add_argument("--perform", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    try:
        import torch
    except ImportError:
        sys.exit("torch is not installed: this benchmark needs it, ncu and a Hopper GPU")
    chosen = [
        each
        for each in all_workloads()
        if not options.parts
        or any(
            x == name if options.perform else x in name
            for name in [f"{each.family} {each.shape}"]
            for x in options.parts
        )
    ]
    if options.list:
        print("\n".join(f"{each.family} {each.shape}" for each in chosen))
        return 0
    if not chosen:
        parser.error(f"no workload has {', '.join(options.parts)} in its name; see --list")
    if not torch.cuda.is_available():
        sys.exit("torch sees no CUDA device: this benchmark needs a Hopper GPU")
    if options.perform:
        perform(chosen)
        return 0
    if shutil.which("ncu") is None:
        sys.exit("there is no `ncu` here: Nsight Compute reads the counters")
    found = profile(chosen)
    text = table(found)
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
