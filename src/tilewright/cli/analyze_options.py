"""The command line of ``tilewright analyze``, read into values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tilewright.analysis.pid_address import AccessProperties
from tilewright.cli.command_line import CommandLine, UsageError, choice, only_for_text, parse
from tilewright.cli.commands import ANALYZE
from tilewright.runtime.choice import spec_named

_FOR_TEXT = ("grid", "arg", "buffer")
_TRUTH = {"true": 1, "false": 0}
_MAX_BITS = 64
"""Of the widest argument; what is longer need not be looked at closely."""


_Reader: TypeAlias = Callable[[str], int | None]


@dataclass
class Options(CommandLine):
    """The parsed command line."""

    args: dict[str, int] = field(default_factory=dict[str, int])
    buffers: dict[str, int] = field(default_factory=dict[str, int])
    assumptions: list[str] = field(default_factory=list[str])
    aliases: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Sets of arguments that may point into the same memory."""
    checks: list[str] = field(default_factory=list[str])

    @property
    def format(self) -> str:
        return choice(self, ANALYZE, "format", "text")

    @property
    def function(self) -> str | None:
        name = self.values.get("function", self.kernel)
        return None if name is None else name.removeprefix("@")

    @property
    def timeout(self) -> float | None:
        text = self.values.get("timeout")
        return None if text is None else float(text)

    @property
    def properties(self) -> AccessProperties:
        """What is known of the launch of a kernel that is only read."""
        return AccessProperties(
            _grid(self.values.get("grid")),
            dict(self.args),
            dict(self.buffers),
            tuple(self.assumptions),
            "strict-overflow" in self.switches,
        )


def options_of(arguments: Sequence[str]) -> Options:
    """The command line of ``tilewright analyze``."""
    line = parse(ANALYZE, arguments)
    options = Options(**vars(line))
    for text in line.repeated.get("arg", ()):
        _add(options.args, "arg", text, _integer)
    for text in line.repeated.get("buffer", ()):
        _add(options.buffers, "buffer", text, _size)
    options.assumptions += line.repeated.get("assume", ())
    for text in line.repeated.get("may-alias", ()):
        options.aliases = joined([*options.aliases, _alias(text)])
    for text in line.repeated.get("check", ()):
        checks = [check for check in re.split(r"[,\s]+", text) if check]
        if not checks:
            raise UsageError("--check: pass a check, for example 'bounds,race', or all")
        options.checks.extend(checks)
    if options.is_json:
        options.values["format"] = "json"
    _check(options)
    return options


def _add(values: dict[str, int], flag: str, text: str, read: _Reader) -> None:
    name, separator, value = text.partition("=")
    name = name.strip().removeprefix("%")
    value_read = read(value.strip())
    if not separator or not name or value_read is None:
        what = "BYTES" if flag == "buffer" else "VALUE"
        example = "x_ptr=4096" if flag == "buffer" else "n=1000"
        raise UsageError(f"'--{flag} {text}': expected NAME={what}, for example {example}")
    if values.get(name, value_read) != value_read:
        raise UsageError(
            f"'--{flag} {text}' contradicts '--{flag} {name}={values[name]}': "
            "one launch has one value"
        )
    values[name] = value_read


def _integer(text: str) -> int | None:
    if text in _TRUTH:
        return _TRUTH[text]
    # A million digits would take Python a while, or its refusal an explanation.
    if len(text) > _MAX_BITS + len("-0b") or not re.fullmatch(r"-?\w+", text):
        return None
    try:
        return int(text, 0)
    except ValueError:
        return None


def _size(text: str) -> int | None:
    size = _integer(text)
    return None if size is None or size < 0 else size


def _alias(text: str) -> frozenset[str]:
    names = frozenset(name.strip().removeprefix("%") for name in text.split(",") if name.strip())
    if len(names) < 2:
        raise UsageError(f"'--may-alias {text}': pass two arguments, for example x_ptr,y_ptr")
    return names


def joined(groups: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Groups with a common member are one: what may alias a third may alias each other."""
    joined: list[frozenset[str]] = []
    for group in groups:
        apart = [other for other in joined if not other & group]
        joined = [*apart, group.union(*(other for other in joined if other & group))]
    return joined


def _check(options: Options) -> None:
    _ = options.format
    if "noalias" in options.switches and options.aliases:
        raise UsageError("--noalias and --may-alias are mutually exclusive")
    timeout = options.values.get("timeout")
    if timeout is not None and not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", timeout):
        raise UsageError(f"--timeout: '{timeout}' is not a number of seconds")
    _grid(options.values.get("grid"))
    only_for_text(options, _FOR_TEXT)
    _check_target(options)


def _check_target(options: Options) -> None:
    target = options.values.get("target")
    if target is None:
        return
    if not options.is_script:
        raise UsageError("--target applies to Python files only: IR text is analysed as it is")
    try:
        is_raised = spec_named(target).raised is not None
    except ValueError as error:
        raise UsageError(f"--target: {error}") from None
    if not is_raised:
        raise UsageError(
            f"--target: kernels are not raised to tiles for '{target}'; pass one like cuda:sm_90a"
        )


def _grid(text: str | None) -> tuple[int | None, ...] | None:
    if text is None:
        return None
    if not re.fullmatch(r"(-?\d{1,20}|\?)(,(-?\d{1,20}|\?)){0,2}", text):
        raise UsageError(f"--grid: '{text}': expected X, X,Y or X,Y,Z ('?' for an unknown extent)")
    return tuple(None if size == "?" else int(size) for size in text.split(","))
