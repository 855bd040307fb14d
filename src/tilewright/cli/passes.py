"""``tilewright passes``: which passes there are, and what they do.

Without arguments: every pass with one line about it. With names: their options as well, and of a
pass that consists of passes, those in their order.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from tilewright.cli.commands import PASSES as COMMAND
from tilewright.ir.passes import Pass, PassClass, PassSpec, closest, option_help
from tilewright.passes import PASSES, current, expanded


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if any(argument in ("-h", "--help") for argument in arguments):
        sys.stdout.write(COMMAND.help_text(program))
        return 0
    requested = [each for each in arguments if each != "--json"]
    names = [current(PassSpec(name, {})).name for name in requested]
    for name in names:
        if name not in PASSES:
            close = closest(name, PASSES)
            hint = f"did you mean '{close}'?" if close else f"'{program}' lists them"
            sys.stderr.write(f"{program}: '{name}' is not a pass; {hint}\n")
            return 2
    if "--json" in arguments:
        shown = json.dumps([_described(name) for name in names or sorted(PASSES)], indent=2)
    elif names:
        shown = "\n\n".join("\n".join(_about(name)) for name in names)
    else:
        shown = "\n".join(_table())
    sys.stdout.write(shown + "\n")
    return 0


def _described(name: str) -> dict[str, Any]:
    pass_class = PASSES[name]()
    parts = expanded([pass_class()])
    return {
        "name": name,
        "summary": summary(pass_class),
        "options": list(option_help(pass_class)),
        "passes": [each.name for each in parts] if len(parts) > 1 else [],
    }


def summary(pass_class: PassClass) -> str:
    """The first line of a pass's docstring."""
    lines = (pass_class.__doc__ or "").strip().splitlines()
    return lines[0] if lines else ""


def _table() -> list[str]:
    width = max(map(len, PASSES))
    return [f"{name:{width}}  {summary(load())}" for name, load in sorted(PASSES.items())]


def _about(name: str) -> list[str]:
    pass_class = PASSES[name]()
    lines = [f"{name}: {summary(pass_class)}"]
    lines += [f"  {option}" for option in option_help(pass_class)]
    parts: list[Pass] = expanded([pass_class()])
    if [type(part) for part in parts] != [pass_class]:
        lines.append("  consists of")
        lines += [f"    {index:2}  {part.name}" for index, part in enumerate(parts, 1)]
    return lines
