"""``tilewright lsp``: a language server over standard input and output, for any editor."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tilewright.cli.commands import LSP

INSTALL = "pip install 'tilewright[editor]'"
_TIMEOUT_S = 60.0


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if any(each in ("-h", "--help", "-help") for each in arguments):
        sys.stdout.write(LSP.help_text(program))
        return 0
    timeout_s = _timeout(list(arguments))
    if isinstance(timeout_s, str):
        sys.stderr.write(f"{program}: {timeout_s}\n")
        return 2
    try:
        from tilewright.cli.editor_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        sys.stderr.write(f"{program}: the language server needs pygls, which is not installed: ")
        sys.stderr.write(f"{INSTALL}\n")
        return 1
    serve(timeout_s)
    return 0


def _timeout(arguments: list[str]) -> float | str:
    """The seconds, or what is wrong with the flags."""
    if not arguments:
        return _TIMEOUT_S
    name, separator, value = arguments[0].partition("=")
    rest = arguments[1:]
    if name == "--stdio" and not separator:  # what many editors add
        return _timeout(rest)
    if name != "--timeout":
        return f"unknown command line argument '{arguments[0]}'; try --help"
    if not separator:
        value, rest = (rest[0], rest[1:]) if rest else ("", [])
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if rest or not seconds > 0:
        return f"--timeout: '{value}' is not a number of seconds"
    return seconds
