"""``tilewright``: one command with subcommands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TypeAlias

from tilewright.cli.streams import guarded

Command: TypeAlias = Callable[[Sequence[str], str], int]

_COMMANDS = {
    "opt": ("opt", "run passes on IR text"),
    "passes": ("passes", "list the passes, or describe one: options, passes of a pipeline"),
    "ops": ("ops", "list the registered ops, or count the ops in files"),
    "run": ("run", "run a script with kernels, or a kernel as IR text, on the CPU"),
    "check": ("check", "run with every check on: bounds, races, uninitialised reads"),
    "analyze": ("analyze", "explain every memory access as a function of the program id"),
    "compile": ("compile", "compile kernels to GPU machine code; no GPU needed"),
    "memory": ("memory", "draw the shared- and tensor-memory map"),
    "layout": ("layout", "draw fragment layouts (thread, register) and shared-memory swizzles"),
    "studio": ("studio", "one page: source, IR by pass, code, memory, addresses, timeline, linked"),
    "lsp": ("lsp", "a language server over stdio: errors, addresses and memory in an editor"),
    "explain": ("explain", "explain a diagnostic code: meaning, example, fix"),
    "cache": ("cache", "show or clear the cache of compiled kernels and tuning results"),
    "demo": ("demo", "a tour on the CPU: round trip, memory map, kernels run, checked and broken"),
}


def _usage() -> str:
    width = max(map(len, _COMMANDS))
    lines = [f"  {name:{width}}  {summary}" for name, (_, summary) in _COMMANDS.items()]
    body = "\n".join(lines)
    closing = "'tilewright COMMAND --help' describes a command."
    return f"usage: tilewright COMMAND [arguments]\n\n{body}\n\n{closing}\n"


def run(arguments: Sequence[str]) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_usage())
        return 0 if arguments else 1
    name = arguments[0]
    if name in ("--version", "version"):
        from tilewright._version import __version__

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
