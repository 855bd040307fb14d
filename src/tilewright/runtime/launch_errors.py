"""Launches that cannot be: what was given, what the kernel takes, and where both are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Protocol

from typing_extensions import override

from tilewright.frontend.callers import located
from tilewright.frontend.variables import nearest
from tilewright.ir.diagnostics import SourcePosition

BAD_LAUNCH = "TW6020"


class Launched(Protocol):
    """What messages about a launch read of its kernel."""

    @property
    def name(self) -> str: ...

    @property
    def arg_names(self) -> tuple[str, ...]: ...

    def defined_at(self) -> SourcePosition | None: ...


def at_launch(error: Exception, kernel: Launched, prefix: str = "") -> Exception:
    """`error` at the line that launches `kernel`, with the line that defines it."""
    text = f"{kernel.name}({', '.join(kernel.arg_names)}) is defined here"
    definition = kernel.defined_at()
    return located(
        error, BAD_LAUNCH, [] if definition is None else [(definition, text)], prefix=prefix
    )


def bad_argument(error: Exception, kernel: Launched, name: str) -> Exception:
    """`error` about one argument of a launch."""
    return at_launch(error, kernel, f"argument {name!r}: ")


_UNLAUNCHABLE = "tw_unlaunchable"


def unlaunchable(error: Exception) -> Exception:
    """`error`, marked as one of a launch that this target cannot take and another one may."""
    vars(error)[_UNLAUNCHABLE] = True
    return error


def is_unlaunchable(error: BaseException) -> bool:
    """Whether nothing has run, and another target may take the launch."""
    return _UNLAUNCHABLE in vars(error)


class MissingArgument(KeyError):
    """A name that no argument of the launch has. (A KeyError shows its text in quotes.)"""

    @override
    def __str__(self) -> str:
        return str(self.args[0])


class GridArguments(dict[str, Any]):
    """The arguments of a launch by name, as a callable grid or a heuristic sees them."""

    def __missing__(self, name: str) -> NoReturn:
        near = nearest(name, self)
        message = f"unknown launch argument {name!r}; expected one of {', '.join(self)}" + (
            f". Did you mean {near}?" if near else ""
        )
        raise MissingArgument(str(located(RuntimeError(message), BAD_LAUNCH)))


def too_many(kernel: Launched, count: int) -> str:
    names = kernel.arg_names
    return (
        f"{kernel.name} takes {len(names)} argument{'s' * (len(names) != 1)}, got {count}: "
        f"remove the last {count - len(names)}, or add parameters"
    )


def two_values(kernel: Launched, name: str) -> str:
    position = kernel.arg_names.index(name) + 1
    return (
        f"{kernel.name} got two values for parameter {name!r}, by name and as argument "
        f"{position}: remove one"
    )


def unknown_keyword(kernel: Launched, name: str, options: Mapping[str, Any]) -> str:
    near = nearest(name, (*kernel.arg_names, *options))
    return (
        f"{name!r} is neither a parameter of {kernel.name} nor a launch option; parameters: "
        f"{', '.join(kernel.arg_names)}; options: {', '.join(options)}"
        + (f". Did you mean {near}?" if near else "")
    )


def missing(kernel: Launched, names: list[str]) -> str:
    them = "it" if len(names) == 1 else "them"
    return (
        f"{kernel.name} is missing a value for {', '.join(names)}: pass {them} by position or "
        f"by name, {', '.join(f'{name}=...' for name in names)}"
    )
