"""Command lines of the kind ``[flags] FILE[:KERNEL] [arguments of the script]``.

What commands that take a file have in common: how flags and the file are parsed, how the file
is read, and how a command ends (`ended`).

    0     what was requested was done
    1     something is wrong with a kernel
    2     the command line or the file is wrong
    3     the tool has no result for a kernel, for the reason that it prints
    130   Ctrl-C
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tilewright.cli.commands import COMMANDS, OPT
from tilewright.cli.options import Command
from tilewright.cli.working import clear_line
from tilewright.ir.codes.shared import UNKNOWN_TARGET
from tilewright.ir.diagnostics import (
    CompileError,
    Diagnostic,
    DiagnosticEngine,
    Severity,
    pretty_all,
)
from tilewright.ir.passes import closest

DONE, WRONG_KERNEL, WRONG_INPUT, NO_RESULT = range(4)


SCRIPT_END = ".py"
TEXT_ENDS = (".ttir", ".ttgir", ".mlir")
"""What names of files with IR text end in; others are read as such, too."""


class UsageError(Exception):
    """A command line that cannot be understood or followed."""


class Ended(Exception):
    """The command ends with an exit code; the reason has been printed."""

    def __init__(self, code: int, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.diagnostics = diagnostics
        """What was printed."""


@dataclass
class CommandLine:
    """The arguments of a command line."""

    file: str = ""
    kernel: str | None = None
    script_arguments: list[str] = field(default_factory=list[str])
    switches: set[str] = field(default_factory=set[str])
    values: dict[str, str] = field(default_factory=dict[str, str])
    """The last value of each flag."""
    repeated: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """All of them."""

    @property
    def is_script(self) -> bool:
        return self.file.endswith(SCRIPT_END)

    @property
    def may_be_text(self) -> bool:
        """Whether the name is one of IR text, or standard input."""
        return self.file == "-" or self.file.endswith(TEXT_ENDS)

    @cached_property
    def text(self) -> str:
        """What the file holds; standard input is read once."""
        return text_of(self.file)

    @property
    def name(self) -> str:
        """The file, in messages."""
        return "<stdin>" if self.file == "-" else self.file

    @property
    def is_json(self) -> bool:
        return "json" in self.switches

    @property
    def is_compat(self) -> bool:
        return "compat" in self.switches

    @property
    def output(self) -> str:
        """Where the result is written; '-' is standard output."""
        return self.values.get("o", "-")


AfterScript = Callable[[str, str, CommandLine], bool]
"""Whether a flag, its value and the line so far make it one of the command after a script."""


def parse(
    command: Command,
    arguments: Sequence[str],
    *,
    is_after_script: AfterScript | None = None,
) -> CommandLine:
    """Flags stand anywhere around IR text, before a script, and directly after it: all of them, or
    those that the command takes there. ``--`` ends them."""
    line = CommandLine()
    pending = list(arguments)
    while pending:
        argument = pending[0]
        is_flag = argument.startswith("-") and argument != "-"
        if line.is_script and not (is_flag and _is_own(command, pending, line, is_after_script)):
            line.script_arguments = pending[1:] if argument == "--" else pending
            if argument != "--":
                _show_flags_of_script(command, line)
            break
        del pending[0]
        if not is_flag:
            if line.file:
                raise UsageError(f"two input files, '{line.file}' and '{argument}'")
            line.file, kernel = file_and_kernel(argument)
            if kernel is not None:
                line.values["kernel"] = kernel
            continue
        name, value = _taken(command, argument, pending)
        if value is None:
            line.switches.add(name)
        else:
            line.values[name] = value
            line.repeated.setdefault(name, []).append(value)
    if not line.file:
        raise UsageError("no FILE; try --help")
    line.kernel = line.values.get("kernel")
    if line.kernel is not None:
        line.kernel = line.kernel.removeprefix("@")
    _check(command, line)
    return line


def _is_own(
    command: Command, pending: Sequence[str], line: CommandLine, extra: AfterScript | None
) -> bool:
    """Whether the flag at the front, after a script, is meant for the command."""
    if pending[0] == "--":
        return False
    if command.has_flags_after_script:
        return True
    name, separator, value = pending[0].lstrip("-").partition("=")
    option = command.option(name)
    if option is None:
        return False
    if option.is_after_script:
        return True
    if not separator:
        value = pending[1] if len(pending) > 1 else ""
    return extra is not None and extra(name, value, line)


def _show_flags_of_script(command: Command, line: CommandLine) -> None:
    """Name the arguments of the script that look like flags of the command: they have no effect
    on it, and a check that they were meant for has not been done."""
    names = [each.name for each in command.options]
    for argument in line.script_arguments:
        name = argument.lstrip("-").partition("=")[0]
        if argument == "--":
            return
        if argument.startswith("--") and closest(name, names) is not None:
            sys.stderr.write(
                f"note: '{argument}' follows {line.file}, so it is an argument of the script; "
                f"flags of the command stand before the script, and -- before its own arguments "
                "leaves out this note\n"
            )


def _taken(command: Command, argument: str, pending: list[str]) -> tuple[str, str | None]:
    """The name of a flag and its value, which may be the next argument; None for a switch."""
    name, separator, value = argument.lstrip("-").partition("=")
    option = command.option(name)
    if option is not None and option.value:
        return name, value if separator else _next(argument, pending)
    if option is not None and not separator:
        return name, None
    others = [each.name for each in COMMANDS if each is not OPT and each.option(name) is not None]
    if others:
        programs = ", ".join(f"'tilewright {each}'" for each in others)
        raise UsageError(f"--{name} applies to {programs} only")
    close = closest(name, [*(each.name for each in command.options), "help"])
    hint = f"did you mean '--{close}'?" if close else "try --help"
    raise UsageError(f"unknown command line argument '{argument}'; {hint}")


def _next(argument: str, pending: list[str]) -> str:
    if not pending or pending[0].startswith("--"):
        raise UsageError(f"'{argument}' needs a value")
    return pending.pop(0)


def _check(command: Command, line: CommandLine) -> None:
    """What holds for all commands."""
    if not line.is_script and line.is_compat:
        raise UsageError("--compat applies to Python files only")
    if line.output != "-" and line.file != "-":
        option = command.option("o")
        is_file = option is not None and option.value != "DIR"
        if is_file and Path(line.file).resolve() == Path(line.output).resolve():
            raise UsageError(f"the output would overwrite its input '{line.file}'")


def file_and_kernel(argument: str) -> tuple[str, str | None]:
    """``FILE:KERNEL``, unless a file has that very name."""
    file, separator, kernel = argument.rpartition(":")
    if not separator or Path(argument).exists() or not kernel.isidentifier():
        return argument, None
    return file, kernel


# -- the end of a command --------------------------------------------------------------------------


def ended(command: Command, arguments: Sequence[str], program: str, run: Callable[[], int]) -> int:
    """The exit code of `run`, or of what it raises, which is reported."""
    if wants_help(arguments, is_after_script=command.has_flags_after_script):
        sys.stdout.write(command.help_text(program))
        return DONE
    try:
        return run()
    except UsageError as error:
        sys.stdout.flush()
        clear_line()
        sys.stderr.write(f"{program}: {error}\n")
        return WRONG_INPUT
    except Ended as error:
        return error.code
    except CompileError as error:
        sys.stdout.flush()
        clear_line()
        show_diagnostics(error.diagnostics, DiagnosticEngine())
        return code_of(error)


def code_of(error: CompileError) -> int:
    """The exit code of what is wrong with a kernel, or only with the target it is compiled for."""
    errors = [each for each in error.diagnostics if each.severity is Severity.ERROR]
    is_target = bool(errors) and all(each.code == UNKNOWN_TARGET for each in errors)
    return WRONG_INPUT if is_target else WRONG_KERNEL


def wants_help(arguments: Sequence[str], *, is_after_script: bool = False) -> bool:
    """Whether help is requested of the command, and not of a script.

    `is_after_script`: flags after a script are those of the command.
    """
    ends = () if is_after_script else (SCRIPT_END,)
    stop = next(
        (index for index, each in enumerate(arguments) if each == "--" or each.endswith(ends)), None
    )
    return any(each in ("-h", "--help", "-help") for each in arguments[:stop])


# -- values ----------------------------------------------------------------------------------------


def positive(line: CommandLine, names: Sequence[str]) -> None:
    """Refuse values that are no positive integers."""
    for name in names:
        text = line.values.get(name, "1")
        if not text.isdigit() or not int(text):
            raise UsageError(f"--{name}: '{text}' is not a positive integer")


def integer(line: CommandLine, name: str, minimum: int) -> int | None:
    """The value of a flag; None without it."""
    text = line.values.get(name)
    if text is None:
        return None
    if not text.isdigit() or int(text) < minimum:
        raise UsageError(f"--{name}: '{text}' is not an integer >= {minimum}")
    return int(text)


def three(name: str, text: str, *, minimum: int) -> tuple[int, int, int]:
    """``X``, ``X,Y`` or ``X,Y,Z``."""
    parts = text.split(",")
    if len(parts) > 3 or not all(part.isdigit() and int(part) >= minimum for part in parts):
        raise UsageError(f"--{name}: '{text}': expected X, X,Y or X,Y,Z")
    x, y, z = (*map(int, parts), 1, 1)[:3]
    return x, y, z


def choice(line: CommandLine, command: Command, name: str, default: str) -> str:
    """The value of a flag that has only so many."""
    option = command.option(name)
    assert option is not None
    value = line.values.get(name, default)
    if value not in option.choices:
        raise UsageError(f"{option.flag}: '{value}' is not one of {', '.join(option.choices)}")
    return value


def only_for_scripts(line: CommandLine, names: Sequence[str]) -> None:
    """Refuse flags that mean nothing for IR text."""
    given = [each for each in names if each in line.values or each in line.switches]
    if given and not line.is_script:
        raise UsageError(f"--{given[0]} applies to Python files only")


def only_for_text(line: CommandLine, names: Sequence[str]) -> None:
    """Refuse flags whose values a script has itself."""
    given = [each for each in names if each in line.values]
    if given and line.is_script:
        raise UsageError(
            f"--{given[0]} applies to IR text only, not to a Python script: remove it; the script "
            "launches its kernels with its own grid and arguments"
        )


# -- files and diagnostics -------------------------------------------------------------------------


def show_kind(file: str) -> None:
    """Explain why a file that is no IR text was read as IR text."""
    if file not in ("-", "<stdin>") and not file.endswith(TEXT_ENDS):
        sys.stderr.write(
            f"{file} was read as IR text: kernels are in Python files ({SCRIPT_END}) or IR text "
            f"({', '.join(TEXT_ENDS)}, or '-' for standard input)\n"
        )


def text_of(file: str) -> str:
    """The text of a file; '-' is standard input, and a terminal shows that it is waited for."""
    if file == "-" and sys.stdin.isatty():
        sys.stderr.write("reading IR text from standard input; Ctrl-D ends it\n")
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


def min_severity(line: CommandLine) -> Severity:
    """The diagnostics to print: warnings in any case."""
    return Severity.REMARK if "remarks" in line.switches else Severity.WARNING
