"""The log of some work: one JSON object a line, which is also where an interrupted run resumes.

    {"key": "3f…", "function": "package.module:name", "value": {"seed": 7}, "status": "done", …}
    {"key": "a0…", "function": …, "value": {"seed": 9}, "retried": "the process ended …", …}

Results are the lines with a final status; of several for one key the first counts. Lines are
appended whole, each in one write, by the driver, the one process that distributes the work; a last
line that was cut off is ignored, and so is what is no JSON. Nothing in it is executed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from tilewright.runtime.executors.work import FINAL, Item, Outcome


class Journal:
    """A log file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.known = {outcome.key: outcome for outcome in _final(self.path)}
        """The results of earlier runs, by their keys."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab")
        if not _ends_with_a_line(self.path):
            self._file.write(b"\n")
            self._file.flush()

    def done(self, item: Item, outcome: Outcome) -> None:
        """A result, or the last failure of an item."""
        self._write(
            item,
            status=outcome.status,
            result=outcome.value,
            reason=outcome.reason,
            tries=outcome.tries,
            seconds=round(outcome.seconds, 6),
            worker=outcome.worker,
        )

    def retried(self, item: Item, reason: str, tries: int) -> None:
        """A try that failed and is repeated."""
        self._write(item, retried=reason, tries=tries)

    def _write(self, item: Item, **rest: object) -> None:
        entry = {
            "key": item.key,
            "function": item.work.function,
            "value": item.value,
            **rest,
            "time": round(time.time(), 3),
        }
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Nothing more follows."""
        self._file.close()


def _final(path: Path) -> Iterator[Outcome]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    seen: set[str] = set()
    for line in lines:
        outcome = _outcome(line)
        if outcome is not None and outcome.key not in seen:
            seen.add(outcome.key)
            yield outcome


def _outcome(line: bytes) -> Outcome | None:
    try:
        found: object = json.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    entry = cast("dict[str, Any]", found)
    key, status = entry.get("key"), entry.get("status")
    if not isinstance(key, str) or status not in FINAL:
        return None
    return Outcome(
        key,
        status,
        entry.get("result"),
        str(entry.get("reason", "")),
        int(entry.get("tries", 1)),
        float(entry.get("seconds", 0.0)),
        str(entry.get("worker", "")),
    )


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
