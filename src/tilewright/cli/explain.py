"""``tilewright explain``: what a diagnostic code means, and how to fix it.

It loads no compiler: the registry (`ir.codes`) is data.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from textwrap import fill, indent

from tilewright.cli.commands import EXPLAIN
from tilewright.ir.codes.entry import CodeEntry
from tilewright.ir.codes.registry import CODES, SECTIONS

_OPTIONS = ("--list", "--json")
_CODE = re.compile(r"(?:TW)?(\d{1,6})", re.IGNORECASE)
_WIDTH = 88
_NEAREST = 3


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command; returns the exit code."""
    if any(argument in ("-h", "--help") for argument in arguments):
        sys.stdout.write(EXPLAIN.help_text(program))
        return 0
    options = [each for each in arguments if each.startswith("-")]
    names = [each for each in arguments if not each.startswith("-")]
    errors = [
        f"unknown command line argument '{each}'; try --help"
        for each in options
        if each not in _OPTIONS
    ]
    if not errors and bool(names) == ("--list" in options):
        errors = ["pass a code, for example TW2023, or --list"]
    if not errors:
        errors = [_unknown(each) for each in names if _find(each) is None]
    if errors:
        sys.stderr.write("".join(f"{program}: {each}\n" for each in errors))
        return 2
    found = [entry for each in names if (entry := _find(each)) is not None]
    if "--json" in options:
        shown = json.dumps([asdict(each) for each in found or CODES.values()], indent=2)
    else:
        shown = "\n\n".join(map(_explained, found)) if found else _listed()
    sys.stdout.write(f"{shown}\n")
    return 0


def _find(name: str) -> CodeEntry | None:
    match = _CODE.fullmatch(name)
    return None if match is None else CODES.get(f"TW{match[1]}")


def _unknown(name: str) -> str:
    match = _CODE.fullmatch(name)
    if match is None:
        return f"'{name}' is not a code: expected TW and four digits, for example TW2023"
    requested = int(match[1])
    by_distance = sorted(CODES, key=lambda code: abs(int(code[2:]) - requested))
    rows = [f"\n  {code}  {CODES[code].title}" for code in sorted(by_distance[:_NEAREST])]
    return f"no code TW{match[1]}; the nearest are{''.join(rows)}"


def _explained(entry: CodeEntry) -> str:
    head = f"{entry.code} ({entry.severity}): {entry.title}"
    example = indent(entry.example, "    ")
    meaning, fix = (fill(each, _WIDTH) for each in (entry.meaning, f"Fix: {entry.fix}"))
    return f"{head}\n\n{meaning}\n\nExample:\n\n{example}\n\n{fix}"


def _listed() -> str:
    parts: list[str] = []
    for title, entries in SECTIONS.items():
        rows = [f"  {each.code}  {each.severity:7}  {each.title}" for each in entries]
        parts.append("\n".join([title, *rows]))
    return "\n\n".join(parts)
