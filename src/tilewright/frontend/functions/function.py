"""A Python function as a kernel function: its parameters, its source, and how it is called.

    add = KernelFunction(fn, vocabulary)

Inside a kernel, ``add(x, y)`` traces the function where it is called. Outside, it is what `trace`
takes; launching is the business of the runtime, which builds on this class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

from tilewright.frontend.builder import is_tracing
from tilewright.frontend.callers import located
from tilewright.frontend.control_flow.control import Control
from tilewright.frontend.errors import BAD_CALL, FrontendError, Note
from tilewright.frontend.functions.calls import current_session
from tilewright.frontend.rewriter import Rewritten, Statements, rewrite
from tilewright.frontend.source import FunctionSource, lines_of, read_source
from tilewright.frontend.unsaved_source import file_of
from tilewright.frontend.vocabulary import Vocabulary
from tilewright.ir.diagnostics import SourcePosition

LIBRARY = "tilewright.language"
"""The package whose kernel functions are part of a language."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel function."""

    name: str
    default: Any = inspect.Parameter.empty
    annotation: str = ""
    is_constexpr: bool = False
    is_variadic: bool = False
    is_keyword_only: bool = False

    @property
    def has_default(self) -> bool:
        return self.default is not inspect.Parameter.empty


def _parameter(parameter: inspect.Parameter) -> Parameter:
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        text = ""
    elif isinstance(annotation, str):
        text = annotation
    elif isinstance(annotation, type):
        text = annotation.__name__
    else:
        text = repr(annotation)
    return Parameter(
        parameter.name,
        parameter.default,
        text,
        "constexpr" in text,
        parameter.kind is inspect.Parameter.VAR_POSITIONAL,
        parameter.kind is inspect.Parameter.KEYWORD_ONLY,
    )


class KernelFunction:
    """A function that runs on a device, written in Python."""

    statements: ClassVar[type[Statements]] = Statements
    """What of Python its language takes."""
    control: ClassVar[type[Control]] = Control
    """The run-time of its rewritten text."""

    def __init__(
        self, fn: Callable[..., Any], vocabulary: Vocabulary, *, noinline: bool = False
    ) -> None:
        if not isinstance(fn, FunctionType):
            raise TypeError(f"{fn!r} is not a function: decorate a def")
        self.fn = fn
        self.vocabulary = vocabulary
        self.noinline = noinline
        # Read now, when the file is what Python has read: it may be edited before the function is
        # traced. A language's own files are not, and most of their functions are never used.
        self.lines: Sequence[str] = () if self.is_library else lines_of(fn)
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn

    def replace_function(self, fn: FunctionType) -> None:
        """Make `fn`, another text of the same function, the one that is traced."""
        self.fn = fn
        self.lines = lines_of(fn)
        for made in ("_source", "rewritten"):
            self.__dict__.pop(made, None)

    @property
    def name(self) -> str:
        return self.fn.__name__

    @property
    def full_name(self) -> str:
        """Module and name: how functions of the IR are called."""
        return f"{self.fn.__module__}.{self.fn.__qualname__}"

    @property
    def is_library(self) -> bool:
        module = str(self.fn.__module__)  # None where a function has no file
        return module == LIBRARY or module.startswith(LIBRARY + ".")

    @cached_property
    def params(self) -> tuple[Parameter, ...]:
        found = inspect.signature(self.fn).parameters.values()
        for each in found:
            if each.kind is inspect.Parameter.VAR_KEYWORD:
                raise TypeError(
                    f"{self.name} cannot take **{each.name}: a kernel function names its parameters"
                )
        return tuple(_parameter(each) for each in found)

    @property
    def source(self) -> str:
        """The function as the user wrote it, with its decorators."""
        return self._source.text

    @property
    def file(self) -> str:
        return file_of(self.fn.__code__)

    @property
    def first_line(self) -> int:
        """The line of the first decorator, or of the ``def``."""
        return self.fn.__code__.co_firstlineno

    @cached_property
    def _source(self) -> FunctionSource:
        return read_source(self.fn, self.lines)

    @cached_property
    def rewritten(self) -> Rewritten:
        """What is executed to trace the function; made once."""
        # The rewriter takes the syntax tree apart: it reads its own.
        source = read_source(self.fn, self.lines)
        return rewrite(source, library=self.is_library, statements=self.statements)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by parameter, defaults filled in."""
        bound: dict[str, Any] = {}
        given = list(args)
        for parameter in self.params:
            name = parameter.name
            if parameter.is_variadic:
                # By name only from `trace`, which has an argument for all of them together.
                bound[name], given = kwargs.get(name, tuple(given)), []
            elif given and not parameter.is_keyword_only:
                bound[name] = given.pop(0)
                if name in kwargs:
                    raise self._bad_call(f"got two values for {name}")
            elif name in kwargs:
                bound[name] = kwargs[name]
            elif parameter.has_default:
                bound[name] = parameter.default
            else:
                raise self._bad_call(
                    f"needs a value for {name}: pass one, or give {name} a default"
                )
        unknown = [name for name in kwargs if name not in bound]
        if unknown:
            raise self._bad_call(f"has no parameter {unknown[0]}")
        if given:
            raise self._bad_call(f"takes {len(args) - len(given)} arguments, got {len(args)}")
        return bound

    def _bad_call(self, what: str) -> FrontendError:
        names = ", ".join(parameter.name for parameter in self.params)
        rewritten = self.rewritten
        position = SourcePosition(rewritten.source_map.file, rewritten.line, rewritten.column)
        notes: list[Note] = [] if self.is_library else [(position, f"{self.name} is defined here")]
        return FrontendError(f"{self.name}({names}) {what}", code=BAD_CALL, notes=notes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Trace the function where it is called."""
        if not is_tracing():
            message = (
                f"{self.name} is a kernel function: launch it with {self.name}[grid](...), or call "
                "it inside another one"
            )
            raise located(RuntimeError(message), BAD_CALL)
        is_constexpr = {each.name: each.is_constexpr for each in self.params}
        arguments = {
            name: self.vocabulary.argument(name, value, constexpr=is_constexpr[name])
            for name, value in self.bind(args, kwargs).items()
        }
        return current_session(self.vocabulary).call(self, arguments)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """A kernel function that is part of a class is called like a method."""
        return self if instance is None else _Bound(self, instance)

    def __repr__(self) -> str:
        return f"KernelFunction({self.full_name})"


@dataclass(frozen=True)
class _Bound:
    function: KernelFunction
    instance: object

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.instance, *args, **kwargs)
