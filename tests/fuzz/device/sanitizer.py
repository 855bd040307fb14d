"""Random kernels under compute-sanitizer: several of its processes, each with seeds of its own.

A process under the sanitizer judges its seeds without forking, since the tool watches the process
that it starts. It ends with `FOUND` where it saw something, and says so in its summary.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

SANITIZER = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "synccheck")
FOUND = 66
CLEAN = {"racecheck": "RACECHECK SUMMARY: 0 hazards"}


@dataclass(frozen=True)
class Sanitized:
    """What a tool said of some seeds."""

    tool: str
    seeds: tuple[int, ...]
    status: int
    text: str

    @property
    def is_clean(self) -> bool:
        return self.status == 0 and CLEAN.get(self.tool, "ERROR SUMMARY: 0 errors") in self.text


def sanitized(
    tools: Sequence[str], seeds: Sequence[int], options: Sequence[str], jobs: int
) -> list[Sanitized]:
    """Run all seeds under each tool, `jobs` processes at a time."""
    shares = [tuple(seeds[start::jobs]) for start in range(jobs) if seeds[start::jobs]]
    with ThreadPoolExecutor(jobs) as pool:
        return list(
            pool.map(
                lambda each: _run(*each, options),
                [(tool, share) for tool in tools for share in shares],
            )
        )


def _run(tool: str, seeds: tuple[int, ...], options: Sequence[str]) -> Sanitized:
    command = [
        *(SANITIZER, "--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "5"),
        *(sys.executable, "-m", "tests.fuzz.device", "--in-process", *options),
        *("--seeds", ",".join(map(str, seeds))),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Sanitized(tool, seeds, done.returncode, done.stdout + done.stderr)
