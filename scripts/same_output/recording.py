"""Runs cases, and keeps what they made: digests in one JSON file, texts beside it.

FILE.json      {"cases": {"tile/gemm@sm_90a": [["gpu/00-input", {"code": "3fa0…"}], …], …}, …}
FILE.texts/    one compressed file a case, {stage: {part: text}}
"""

from __future__ import annotations

import json
import lzma
import multiprocessing
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scripts.same_output.text import Parts, digest

FORMAT = 1
Digests = list[tuple[str, dict[str, str]]]
"""The stages of a case in order: name, and the digest of each part."""


@dataclass
class Recording:
    """What was recorded, and where the texts are."""

    path: Path
    selection: str = ""
    """How cases were chosen: two recordings of one selection have the same cases."""
    cases: dict[str, Digests] = field(default_factory=dict[str, Digests])

    @property
    def texts(self) -> Path:
        return self.path.with_suffix(".texts")

    def text_file(self, case: str) -> Path:
        return self.texts / f"{quote(case, safe='@')}.json.xz"

    def has_texts(self, case: str) -> bool:
        return self.text_file(case).is_file()

    def stages(self, case: str) -> dict[str, Parts] | None:
        """The texts of a case, where they were recorded."""
        path = self.text_file(case)
        return json.loads(lzma.decompress(path.read_bytes())) if path.is_file() else None

    def write(self) -> None:
        content = {"format": FORMAT, "selection": self.selection, "cases": self.cases}
        self.path.write_text(json.dumps(content, indent=0) + "\n")

    @classmethod
    def read(cls, path: Path) -> Recording:
        content: dict[str, Any] = json.loads(path.read_text())
        if content.get("format") != FORMAT:
            raise ValueError(f"{path} is no recording of this version: record it again")
        cases: dict[str, Digests] = {
            name: [(stage, parts) for stage, parts in found]
            for name, found in content["cases"].items()
        }
        return cls(path, content["selection"], cases)


def record(
    path: Path,
    names: Sequence[str],
    selection: str,
    *,
    jobs: int = 1,
    keep_texts: bool = True,
    ptx: bool = False,
) -> Recording:
    """Run the cases `names` and write what they make."""
    recording = Recording(path, selection)
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in recording.texts.glob("*.json.xz"):
        old.unlink()
    if keep_texts:
        recording.texts.mkdir(exist_ok=True)
    found: dict[str, Digests] = {}
    start = time.monotonic()
    tasks = [(name, recording.text_file(name) if keep_texts else None, ptx) for name in names]
    for count, (name, digests) in enumerate(_run_all(tasks, jobs), 1):
        found[name] = digests
        _report_progress(count, len(names), time.monotonic() - start, name)
    recording.cases = {name: found[name] for name in names}
    recording.write()
    return recording


def _report_progress(count: int, total: int, seconds: float, name: str) -> None:
    end = "\n" if count == total else ""
    line = f"{count}/{total} cases, {seconds:.0f} s, {name}"
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line[:100]}{end}")
    elif count == total or count % 50 == 0:
        sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


Task = tuple[str, Path | None, bool]


def _run_all(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[str, Digests]]:
    if jobs == 1:
        yield from map(_run, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for done in as_completed([pool.submit(_run, each) for each in tasks]):
            yield done.result()


def _run(task: Task) -> tuple[str, Digests]:
    # Comparing recordings does not need the compiler.
    from scripts.same_output.subjects import run_case

    name, path, ptx = task
    stages: Mapping[str, Parts] = run_case(name, ptx=ptx).found
    if path is not None:
        path.write_bytes(lzma.compress(json.dumps(stages).encode(), preset=0))
    return name, [
        (stage, {part: digest(text) for part, text in parts.items()})
        for stage, parts in stages.items()
    ]
