"""``tilewright ops``: which ops are defined, and which of them a file uses.

Without arguments: every op of every dialect, with the form it prints in. With files: how many times
each op occurs in them. A file that does not parse is reported and makes the exit code 1.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence

from tilewright.cli.command_line import UsageError, show_kind, text_of
from tilewright.cli.commands import OPS
from tilewright.dialects import DIALECTS, make_context
from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
from tilewright.ir.text import parse_source
from tilewright.ir.text.assembly import has_custom_text


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if any(argument in ("-h", "--help") for argument in arguments):
        sys.stdout.write(OPS.help_text(program))
        return 0
    is_json = "--json" in arguments
    files = [each for each in arguments if each != "--json"]
    flags = [a for a in files if a.startswith("-") and a != "-"]
    if flags:
        sys.stderr.write(f"{program}: unknown flag '{flags[0]}'; try --help\n")
        return 2
    if not files:
        names = defined_ops()
        sys.stdout.write((json.dumps(names, indent=2) if is_json else "\n".join(names)) + "\n")
        return 0
    return _count(files, program, is_json=is_json)


def defined_ops() -> list[str]:
    """One line per op: its name, and whether it prints in generic form."""
    lines: list[str] = []
    for _, load in sorted(DIALECTS.items()):
        for op in sorted(load().operations, key=lambda op: op.name):
            lines.append(op.name if has_custom_text(op) else f"{op.name}  (generic)")
    return lines


def _count(files: Sequence[str], program: str, *, is_json: bool) -> int:
    counts: Counter[str] = Counter()
    failed = False
    for file in files:
        engine = DiagnosticEngine()
        try:
            text = text_of(file)
        except UsageError as error:
            sys.stderr.write(f"{program}: {error}\n")
            failed = True
            continue
        source = parse_source(make_context(), text, file, engine)
        if source is None:
            sys.stderr.write(pretty_all(engine.diagnostics, engine.sources) + "\n")
            show_kind(file)
            failed = True
        else:
            counts.update(op.name for op in source.module.walk())
    if not counts:
        return 1
    if is_json:
        sys.stdout.write(json.dumps(dict(sorted(counts.items())), indent=2) + "\n")
        return int(failed)
    width = max(map(len, counts))
    for name, count in sorted(counts.items()):
        sys.stdout.write(f"{name:{width}}  {count}\n")
    sys.stdout.write(f"{len(counts)} different ops, {counts.total()} in all\n")
    return int(failed)
