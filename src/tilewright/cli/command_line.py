"""Command lines of the kind ``[flags] FILE[:KERNEL] [arguments of the script]``.

What commands that take a file have in common: how flags and the file are parsed, how the file
is read, and how errors are reported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, pretty_all
from tilewright.ir.passes import closest


class UsageError(Exception):
    """A command line that cannot be understood or followed."""


@dataclass
class CommandLine:
    """The arguments of a command line."""

    file: str = ""
    kernel: str | None = None
    script_arguments: list[str] = field(default_factory=list[str])
    switches: set[str] = field(default_factory=set[str])
    values: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def is_script(self) -> bool:
        return self.file.endswith(".py")

    @property
    def name(self) -> str:
        """The file, in messages."""
        return "<stdin>" if self.file == "-" else self.file


@dataclass(frozen=True)
class Flags:
    """The flags of a command."""

    with_value: Sequence[str]
    switches: Sequence[str]
    are_values_plain: bool = False
    """Whether a next argument that looks like a flag is one, and no value."""

    def parse(self, arguments: Sequence[str]) -> CommandLine:
        """Flags stand anywhere before the arguments of a script."""
        line = CommandLine()
        pending = list(arguments)
        while pending:
            argument = pending.pop(0)
            if argument == "-" or not argument.startswith("-"):
                if line.is_script:
                    line.script_arguments = [argument, *pending]
                    break
                if line.file:
                    raise UsageError(f"two input files, '{line.file}' and '{argument}'")
                line.file, line.kernel = file_and_kernel(argument)
                continue
            name, value = self.taken(argument, pending)
            if value is None:
                line.switches.add(name)
            else:
                line.values[name] = value
        if not line.file:
            raise UsageError("no FILE; try --help")
        return line

    def taken(self, argument: str, pending: list[str]) -> tuple[str, str | None]:
        """The name of a flag and its value, which may be the next argument; None for a switch."""
        name, separator, value = argument.lstrip("-").partition("=")
        if name in self.with_value:
            return name, value if separator else self._next(argument, pending)
        if name in self.switches and not separator:
            return name, None
        close = closest(name, [*self.with_value, *self.switches, "help"])
        hint = f"did you mean '--{close}'?" if close else "try --help"
        raise UsageError(f"unknown command line argument '{argument}'; {hint}")

    def _next(self, argument: str, pending: list[str]) -> str:
        is_flag = bool(pending) and pending[0].startswith("-") and pending[0] != "-"
        if not pending or (self.are_values_plain and is_flag):
            raise UsageError(f"'{argument}' needs a value")
        return pending.pop(0)


def file_and_kernel(argument: str) -> tuple[str, str | None]:
    """``FILE:KERNEL``, unless a file has that very name."""
    file, separator, kernel = argument.rpartition(":")
    if not separator or Path(argument).exists() or not kernel.isidentifier():
        return argument, None
    return file, kernel


def positive(line: CommandLine, names: Sequence[str]) -> None:
    """Refuse values that are no positive integers."""
    for name in names:
        text = line.values.get(name, "1")
        if not text.isdigit() or not int(text):
            raise UsageError(f"--{name}: '{text}' is not a positive integer")


def three(name: str, text: str, *, minimum: int) -> tuple[int, int, int]:
    """``X``, ``X,Y`` or ``X,Y,Z``."""
    parts = text.split(",")
    if len(parts) > 3 or not all(part.isdigit() and int(part) >= minimum for part in parts):
        raise UsageError(f"--{name}: '{text}': expected X, X,Y or X,Y,Z")
    x, y, z = (*map(int, parts), 1, 1)[:3]
    return x, y, z


def text_of(file: str) -> str:
    """The text of a file; '-' is standard input."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {error.strerror}") from None
    return data.decode("utf-8", errors="surrogateescape")


def require_file(file: str) -> None:
    """Refuse a script that cannot be opened, with the reason."""
    try:
        Path(file).open("rb").close()
    except FileNotFoundError:
        raise UsageError(f"cannot read '{file}': no such file") from None
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {error.strerror}") from None


def wants_colour() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ


def show_diagnostics(diagnostics: Sequence[Diagnostic], engine: DiagnosticEngine) -> None:
    """Show diagnostics, if there are any."""
    if diagnostics:
        text = pretty_all(diagnostics, engine.sources, colour=wants_colour())
        sys.stderr.write(text + "\n")
