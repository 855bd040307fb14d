"""What a command takes, as data: flags are parsed, explained, completed and documented from it.

    Command ──▶ CommandLine     `command_line.parse`
            ├─▶ --help          `help_text`
            ├─▶ completion      `completion`
            └─▶ docs/cli.md     `scripts/cli_doc.py`

Loads no compiler, so that ``--help`` and completion take no longer than Python's own start.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WIDTH = 100
_MIN_COLUMN = 12
_MAX_COLUMN = 28
_INDENT = "  "


@dataclass(frozen=True)
class Option:
    """A flag. Without a `value`, the name of what follows it, it is a switch."""

    name: str
    value: str = ""
    help: str = ""
    """Lines keep their breaks where they begin with a blank; all else is filled."""
    group: str = ""
    """The title above it in the help."""
    choices: tuple[str, ...] = ()
    """Values that shells complete."""
    is_after_script: bool = True
    """Whether it is also meant for the command where it stands directly after a script."""

    @property
    def flag(self) -> str:
        return f"-{self.name}" if len(self.name) == 1 else f"--{self.name}"

    @property
    def spelling(self) -> str:
        return f"{self.flag} {self.value}" if self.value else self.flag


@dataclass(frozen=True)
class Command:
    """A subcommand."""

    name: str
    summary: str
    """In the list of commands."""
    forms: tuple[str, ...]
    """What follows the program's name in a command line."""
    about: str
    options: tuple[Option, ...]
    examples: tuple[str, ...]
    """Without the program's name."""
    exit_code: str
    module: str = ""
    """The module of ``tilewright.cli`` with its ``run``; by default as the command."""
    names: tuple[str, ...] = ()
    """Arguments that are no files: what a shell completes."""
    takes_files: bool = True
    has_flags_after_script: bool = True
    """Whether all flags directly after a script are the command's, as compilers have it. Otherwise
    those that it does not know there are the script's, as interpreters have it."""

    @property
    def module_name(self) -> str:
        return f"tilewright.cli.{self.module or self.name}"

    def option(self, name: str) -> Option | None:
        return next((each for each in self.options if each.name == name), None)

    def help_text(self, program: str) -> str:
        """What ``--help`` prints."""
        return "\n".join(self._help_lines(program)) + "\n"

    def _help_lines(self, program: str) -> Iterator[str]:
        for index, form in enumerate(self.forms):
            yield f"{'       ' if index else 'usage: '}{program} {form}".rstrip()
        for paragraph in self.about.split("\n\n"):
            yield ""
            yield from _filled(paragraph, "")
        for group in dict.fromkeys(each.group for each in self.options):
            yield ""
            if group:
                yield group
            yield from _table([each for each in self.options if each.group == group])
        if self.examples:
            yield ""
            yield "examples:"
            for example in self.examples:
                yield f"{_INDENT}{program} {example}".rstrip()
        yield ""
        yield from _filled(f"Exit code: {self.exit_code}", "")


def _table(options: Sequence[Option]) -> Iterator[str]:
    longest = max(len(each.spelling) for each in options if len(each.spelling) <= _MAX_COLUMN)
    column = len(_INDENT) + max(longest, _MIN_COLUMN) + 2
    for each in options:
        lines = list(_filled(each.help, " " * column))
        head = f"{_INDENT}{each.spelling}"
        if len(head) + 2 > column or not lines:
            yield head
            yield from lines
            continue
        yield head.ljust(column) + lines[0].strip()
        yield from lines[1:]


def _filled(text: str, indent: str) -> Iterator[str]:
    """Lines that begin with a blank stay as they are."""
    pending: list[str] = []
    for line in text.splitlines():
        if line.startswith(" "):
            yield from _wrapped(pending, indent)
            pending = []
            yield indent + line
        else:
            pending.append(line)
    yield from _wrapped(pending, indent)


def _wrapped(lines: Sequence[str], indent: str) -> list[str]:
    return textwrap.wrap(
        " ".join(lines),
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
