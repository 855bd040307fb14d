"""``tilewright``: one command with a word for each job."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TypeAlias

from tilewright.cli.streams import guarded

Command: TypeAlias = Callable[[Sequence[str], str], int]

_COMMANDS = {
    "opt": ("opt", "run passes over IR text"),
    "passes": ("passes", "list the passes, or what a pipeline consists of"),
    "ops": ("ops", "list the ops that have a definition, or the ops of given files"),
    "run": ("run", "run a script with kernels, or a kernel as IR text, on this machine"),
    "check": ("check", "run it with every check on: bounds, races, unwritten values"),
    "analyze": ("analyze", "explain every memory access as a function of the program id"),
    "compile": ("compile", "make machine code for a GPU, on a machine with or without one"),
    "memory": ("memory", "draw who lies where in shared and tensor memory"),
    "layout": ("layout", "draw which thread holds what, and how shared memory is swizzled"),
    "explain": ("explain", "explain a diagnostic code: meaning, example, fix"),
    "cache": ("cache", "show or clear the compiled kernels and measured times on disk"),
    "demo": ("demo", "a real kernel dump goes in, through and out"),
}


def _usage() -> str:
    width = max(map(len, _COMMANDS))
    lines = [f"  {name:{width}}  {summary}" for name, (_, summary) in _COMMANDS.items()]
    body = "\n".join(lines)
    closing = "'tilewright COMMAND --help' says more."
    return f"usage: tilewright COMMAND [arguments]\n\n{body}\n\n{closing}\n"


def run(arguments: Sequence[str]) -> int:
    """Do what `arguments` say; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_usage())
        return 0 if arguments else 1
    name = arguments[0]
    if name in ("--version", "version"):
        from tilewright import __version__

        sys.stdout.write(f"tilewright {__version__}\n")
        return 0
    if name not in _COMMANDS:
        close = get_close_matches(name, list(_COMMANDS), 1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        sys.stderr.write(f"tilewright: no command '{name}'{hint}\n\n{_usage()}")
        return 1
    command: Command = import_module(f"tilewright.cli.{_COMMANDS[name][0]}").run
    return command(arguments[1:], f"tilewright {name}")


def main() -> None:
    """Entry point of the console script ``tilewright``."""
    sys.exit(guarded(lambda: run(sys.argv[1:])))


if __name__ == "__main__":
    main()
