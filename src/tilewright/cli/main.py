"""``tilewright``: one command with subcommands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TypeAlias

from tilewright.cli.commands import BY_NAME, COMMANDS

Run: TypeAlias = Callable[[Sequence[str], str], int]

_WRONG_INPUT = 2


def _usage() -> str:
    width = max(len(each.name) for each in COMMANDS)
    body = "\n".join(f"  {each.name:{width}}  {each.summary}" for each in COMMANDS)
    closing = "'tilewright COMMAND --help' describes a command, with examples."
    return f"usage: tilewright COMMAND [arguments]\n\n{body}\n\n{closing}\n"


def run(arguments: Sequence[str]) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_usage())
        return 0 if arguments else _WRONG_INPUT
    name = arguments[0]
    if name in ("--version", "version"):
        from tilewright._version import __version__

        sys.stdout.write(f"tilewright {__version__}\n")
        return 0
    if name not in BY_NAME:
        close = get_close_matches(name, list(BY_NAME), 1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        sys.stderr.write(f"tilewright: no command '{name}'{hint}\n\n{_usage()}")
        return _WRONG_INPUT
    command, rest = BY_NAME[name], arguments[1:]
    program = f"tilewright {name}"
    if rest[:1] in (["-h"], ["--help"]) and name != "opt":
        sys.stdout.write(command.help_text(program))  # what runs it need not be loaded
        return 0
    start: Run = import_module(command.module_name).run
    return start(rest, program)


def main() -> None:
    """Entry point of the console script ``tilewright``."""
    from tilewright.cli.streams import guarded

    sys.exit(guarded(lambda: run(sys.argv[1:])))


if __name__ == "__main__":
    main()
