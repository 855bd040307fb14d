"""All of TileLang's example files, unmodified, under `tilewright.compat`: how each of them ends.

    python -m scripts.upstream.tilelang_examples CHECKOUT [--only PART ...] [--sample N --seed S]
                                                 [--jobs N] [--limit SECONDS] [--details FILE]

Each file is run as a script, without arguments, in a process of its own. Where it does not finish
within the limit, it is run again with its kernels compiled to CUDA for their chip instead of run
(results are then arbitrary, so what the file itself finds wrong after that does not count):

    ran             the file came to its end, and its own checks accept the results
    traced          every kernel that it reached was traced to IR and compiled for its chip
    package absent  it needs a package that is not installed, or a GPU library
    refused         a diagnostic: its code and sentence follow
    fault           an exception of ours that is no diagnostic, a TW90 code, a wrong number
    file            an error of the file itself: an exception that has nothing to do with kernels
    time            nothing was compiled within the limit
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.upstream.result import SuiteResult, sampled

SUITE = "tilelang examples"
DIRECTORY = Path("examples")
ROOT = Path(__file__).resolve().parents[2]
STAND_INS = ROOT / "scripts" / "stand_ins"
_GRACE = 60.0
"""Seconds that a process may take after its alarm."""
_OTHERS = ("tilelang", "tvm", "triton")
"""Packages that compat replaces: a part of them that is missing is a refusal."""


@dataclass(frozen=True)
class Ending:
    """How one file ended."""

    file: str
    ending: str
    reason: str = ""
    kernels: int = 0
    seconds: float = 0.0


def run(
    checkout: Path, *, jobs: int = 1, only: Sequence[str] = (), limit: float = 120.0
) -> SuiteResult:
    """The endings of all files, by directory."""
    return summary(checkout, endings(checkout, jobs=jobs, only=only, limit=limit))


def summary(checkout: Path, found: Sequence[Ending]) -> SuiteResult:
    """Counts by directory, and the reasons of everything that did not run."""
    counts: dict[str, Counter[str]] = {}
    for each in found:
        group = each.file.rpartition("/")[0] or "."
        counts.setdefault(group, Counter())[each.ending] += 1
    reasons = Counter(f"{e.ending}: {e.reason}" for e in found if e.ending != "ran")
    return SuiteResult(SUITE, checkout, tuple(sorted(counts.items())), reasons)


def endings(
    checkout: Path,
    *,
    jobs: int,
    only: Sequence[str],
    limit: float,
    sample: int | None = None,
    seed: int = 0,
) -> tuple[Ending, ...]:
    """Run the files that `only` names (parts of paths; all of them without), or a sample."""
    directory = (checkout / DIRECTORY).resolve()
    names = [str(path.relative_to(directory)) for path in sorted(directory.rglob("*.py"))]
    chosen = [name for name in names if not only or any(part in name for part in only)]
    chosen = sampled(chosen, sample, seed)
    found: list[Ending] = []

    def ending(name: str) -> Ending:
        return _ending(directory, name, limit)

    with ThreadPoolExecutor(jobs) as pool:
        for ended in pool.map(ending, chosen):
            found.append(ended)
            sys.stdout.write(
                f"[{len(found)}/{len(chosen)}] {ended.file}: {ended.ending} "
                f"({ended.kernels} kernels, {ended.seconds:.0f} s) {ended.reason}\n"
            )
            sys.stdout.flush()
    return tuple(found)


def _ending(directory: Path, name: str, limit: float) -> Ending:
    first = _attempt(directory, name, limit, compiling=False)
    if first.ending != "time":
        return first
    return _attempt(directory, name, limit, compiling=True)


def _attempt(directory: Path, name: str, limit: float, *, compiling: bool) -> Ending:
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch) / "record.json"
        command = [
            sys.executable,
            "-m",
            "scripts.upstream.tilelang_examples",
            str(directory / name),
        ]
        command += ["--perform", str(record), "--limit", str(limit)]
        command += ["--compiling"] if compiling else []
        env = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "TILELANG_CACHE_DIR": f"{scratch}/cache",
            "PYTHONPATH": f"{ROOT}/src:{ROOT}",
            "MPLBACKEND": "agg",
        }
        start = time.monotonic()
        last = ""
        try:
            done = subprocess.run(
                command,
                cwd=scratch,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=limit + _GRACE,
                check=False,
            )
            last = "\n".join(done.stdout.splitlines()[-1:])
        except subprocess.TimeoutExpired:
            pass
        seconds = time.monotonic() - start
        if not record.exists():
            return Ending(name, "time", f"no record: {last[:160]}", 0, seconds)
        fields = json.loads(record.read_text())
        return Ending(name, fields["ending"], fields["reason"], fields["kernels"], seconds)


# -- one file, in a process of its own -------------------------------------------------------------


class _TimeLimit(BaseException):
    """The file ran past the limit."""


def perform(path: Path, record: Path, limit: float, *, compiling: bool) -> None:
    """Run `path` as a script and write to `record` how it ended."""
    from tilewright.compat import install
    from tilewright.compat.script import run_file

    install()
    sys.path.append(str(STAND_INS))
    seen: list[str] = []
    if compiling:
        _compile_instead(seen)

    def stop(*_: object) -> None:
        raise _TimeLimit

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(limit))
    ending, reason = "ran", ""
    try:
        run_file(str(path), ())
    except SystemExit as end:
        if end.code not in (None, 0):
            ending, reason = "file", f"exit status {end.code}"
    except BaseException as error:
        signal.alarm(0)
        traceback.print_exc()
        ending, reason = _classify(error, path)
    signal.alarm(0)
    is_judged = ending == "refused" or (ending == "fault" and not _is_about_results(reason))
    if compiling and seen and not is_judged:
        ending = "traced"
    fields = {"ending": ending, "reason": reason, "kernels": len(seen)}
    record.write_text(json.dumps(fields))
    sys.stdout.flush()
    os._exit(0)  # threads of a file that did not end


def _is_about_results(reason: str) -> bool:
    return reason.startswith("values")


def _compile_instead(seen: list[str]) -> None:
    """A launch compiles the kernel for its chip, once, and leaves its tensors as they are."""
    from tilewright.runtime.tile.kernel import CompiledTileKernel
    from tilewright.targets.cuda.compile import compile_as
    from tilewright.targets.cuda.default_arch import default_arch

    done: set[Any] = set()

    def compiled(self: CompiledTileKernel, values: Sequence[Any]) -> None:
        named = self.target.startswith("cuda:")
        arch = self.target.partition(":")[2] if named else default_arch(self.prim_func.module)
        key = (self.prim_func.script(), self.settings_for(arch))
        if key not in done:
            done.add(key)
            compile_as(self.prim_func.module, self.settings_for(arch))
            seen.append(self.name)

    CompiledTileKernel.launch = compiled
    CompiledTileKernel.build = lambda self: compiled(self, ())


def _classify(error: BaseException, path: Path) -> tuple[str, str]:
    """The ending that an exception means, and its sentence."""
    if isinstance(error, _TimeLimit):
        return "time", "limit"
    text = " ".join(str(error).split())
    kind = type(error).__name__
    code = re.search(r"error\[(TW\d+)\]", text)
    if code is not None:
        ending = "fault" if code[1].startswith("TW90") else "refused"
        return ending, f"{code[1]}: {text.partition(code[0])[2][:160].strip(': ')}"
    if "does not offer" in text or re.search(r"\bT has no attribute|T\.\w+ is not supported", text):
        return "refused", text[:160]
    if isinstance(error, ModuleNotFoundError | ImportError):
        package = (error.name or "").partition(".")[0]
        if package not in _OTHERS:
            return "package absent", package or text[:160]
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(ROOT / "src")
    if kind == "AssertionError" and re.search(r"not close|Mismatched|not equal", text):
        return "fault", f"values: {text[:120]}"
    if kind == "AssertionError" and frames and frames[-1].filename.endswith("/allclose.py"):
        return "fault", f"values: {text[:120]}"
    if frames and frames[-1].filename.startswith(ours):
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        return "fault", f"{kind} at {where}: {text[:140]}"
    return "file", f"{kind}: {text[:160]}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="parts of paths")
    parser.add_argument("--sample", type=int, help="so many of the files, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a file")
    parser.add_argument("--details", type=Path, help="write every file's ending to this file")
    parser.add_argument("--perform", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--compiling", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.perform is not None:
        perform(given.checkout, given.perform, given.limit, compiling=given.compiling)
        return 0
    start = time.monotonic()
    found = endings(
        given.checkout,
        jobs=given.jobs,
        only=given.only,
        limit=given.limit,
        sample=given.sample,
        seed=given.seed,
    )
    if given.details is not None:
        rows = (f"{e.ending}\t{e.file}\t{e.kernels}\t{e.seconds:.0f}\t{e.reason}\n" for e in found)
        given.details.write_text("".join(rows))
    result = summary(given.checkout, found)
    for reason, count in result.reasons.most_common(60):
        sys.stdout.write(f"{count:5} {reason}\n")
    totals = Counter(each.ending for each in found)
    line = ", ".join(f"{n} {ending}" for ending, n in sorted(totals.items()))
    sys.stdout.write(f"all: {line}; {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
