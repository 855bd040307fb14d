"""Results of suites as a record (JSON), and the tables that are made of it.

A record has an entry for each suite: the project and its commit, the commit of Tilewright that ran
it, what was chosen, how long it took, the endings by group, and the reasons of those that do not
run. The endings of all suites come down
to the same columns; a test of TileLang that fails counts as refused where a diagnostic, a missing
name or a listed difference is the cause, and as a fault where anything else is.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.upstream.result import ROOT, SuiteResult

Entry = dict[str, Any]
Record = dict[str, Entry]

COLUMNS = (
    *("runs", "traced", "reported", "refused", "faults"),
    *("package absent", "not judged", "time"),
)
_COLUMN_OF: Mapping[str, str] = {
    "passed": "runs",
    "ran": "runs",
    "right": "runs",
    "traced": "traced",
    "imported": "traced",
    "refused": "refused",
    "reported": "reported",
    "failed": "faults",
    "fault": "faults",
    "wrong": "faults",
    "package absent": "package absent",
    "skipped": "not judged",
    "out of scope": "not judged",
    "text": "not judged",
    "file": "not judged",
    "time": "time",
}
_REFUSED = re.compile(r"failed: (refused|missing|listed)\b")
"""Reasons of failures that are refusals."""
_NAMED_PASSES = "tlx lit"
"""A file of this suite that fails needs a pass that is not offered: the reason names it."""

_SHOWN_REASONS = 200
_REASON_LENGTH = 160


def entry(
    result: SuiteResult,
    *,
    project: str,
    chosen: str,
    date: str,
    seconds: float | None = None,
    is_complete: bool = True,
    ours: str | None = None,
) -> Entry:
    """What a run of a suite found.

    `ours` names the commit that ran it, or several; without it, it is the present one.
    """
    return {
        "project": project,
        "commit": commit_of(result.checkout),
        "ours": ours or commit_of(ROOT),
        "chosen": chosen if is_complete else f"{chosen}; interrupted",
        "date": date,
        "seconds": None if seconds is None else round(seconds),
        "rows": {group: dict(sorted(counts.items())) for group, counts in result.rows},
        "reasons": dict(_shown(result.reasons)),
        "refused": sum(n for text, n in result.reasons.items() if _REFUSED.match(text)),
    }


def _shown(reasons: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent reasons; paths of the machine are no part of them."""
    merged = Counter[str]()
    for text, count in reasons.items():
        short = re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+", "", text)
        merged[short[:_REASON_LENGTH].strip()] += count
    return sorted(merged.items(), key=lambda each: (-each[1], each[0]))[:_SHOWN_REASONS]


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, ``unknown`` for a folder that is none."""
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def read(path: Path) -> Record:
    """The record in `path`; an empty one if there is no such file."""
    found: Record = json.loads(path.read_text()) if path.exists() else {}
    return found


def write(path: Path, record: Record) -> None:
    path.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")


def columns(name: str, found: Entry) -> dict[str, int]:
    """How many cases of a suite ended in each column."""
    counts = dict.fromkeys(COLUMNS, 0)
    for endings in found["rows"].values():
        for ending, count in endings.items():
            counts[_COLUMN_OF[ending]] += count
    moved = counts["faults"] if name == _NAMED_PASSES else found["refused"]
    counts["faults"] -= moved
    counts["refused"] += moved
    return counts


def table(record: Record) -> str:
    """One row a suite, in Markdown."""
    heads = ("suite", "commit", "run at", "cases", *COLUMNS)
    lines = [_row(*heads), _row(*["---"] * len(heads))]
    for name, found in sorted(record.items()):
        counts = columns(name, found)
        commit = f"{found['project']} {found['commit'][:10]}"
        ours = ", ".join(each[:10] for each in found.get("ours", "").split(", "))
        lines.append(_row(name, commit, ours, sum(counts.values()), *counts.values()))
    return "\n".join(lines)


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(each).replace("|", "\\|") for each in cells) + " |"


_HEAD = """\
# Other projects' own files

Triton's, TLX's and TileLang's own tests, examples and tutorials, unmodified, from checkouts of
their repositories at the commits below. torch is needed. This page is made from
`compatibility.json` by

```
python -m scripts.upstream_suites --triton DIR --tlx DIR --tilelang DIR --write-docs
```

| column | meaning |
|---|---|
| run at | the commit of Tilewright |
| runs | to its end, and its own checks accept the results |
| traced | its kernels are accepted and compiled for their GPU, without being run to the end |
| reported | a check found a fault of the file itself: a data race, an access out of bounds, a \
read of memory that nothing wrote |
| refused | a diagnostic, a name that is not offered, or another difference whose reason is listed \
below |
| faults | a wrong number, or an exception that is no diagnostic |
| package absent | it imports what is not installed |
| not judged | its own condition or error, or it compares with the project's own texts |
| time | not finished within the limit |
"""


def document(record: Record) -> str:
    """The page of the documentation."""
    parts = [_HEAD, table(record), ""]
    for name, found in sorted(record.items()):
        parts += [f"## {name}", "", _described(found), "", *_groups(found["rows"]), ""]
        if found["reasons"]:
            parts += [_row("count", "what did not run, and why"), _row("---", "---")]
            parts += [_row(count, _escaped(text)) for text, count in found["reasons"].items()]
            parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _described(found: Entry) -> str:
    took = "" if found["seconds"] is None else f"; {found['seconds']} s"
    commit = f"{found['project']} at commit {found['commit']}"
    return f"{commit}, {found['date']}: {found['chosen']}{took}."


def _groups(rows: Mapping[str, Mapping[str, int]]) -> Sequence[str]:
    endings = sorted({ending for counts in rows.values() for ending in counts})
    lines = [_row("files", *endings), _row(*["---"] * (len(endings) + 1))]
    for group, counts in sorted(rows.items()):
        lines.append(_row(f"`{group}`", *(counts.get(ending, 0) for ending in endings)))
    return lines


def _escaped(text: str) -> str:
    return re.sub(r"([<>*_`])", r"\\\1", text)
