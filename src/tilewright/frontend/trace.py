"""From a kernel function and its arguments to a module of IR.

    traced = trace(add, {"x": Argument([ptr], make_tensor), "n": Argument([i32], make_tensor),
                         "BLOCK": 1024})
    traced.module     tt.func public @add(%x: !tt.ptr<f32>, %n: i32) ...
    traced.captured   names of the surroundings it used: traced again when one changes

Whatever goes wrong is raised as a `CompileError` that points into the user's source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from tilewright.frontend.captures import Capture
from tilewright.frontend.errors import BAD_CALL, FrontendError, compile_error, raised_in_kernel
from tilewright.frontend.functions.calls import Session, function_op
from tilewright.frontend.functions.function import KernelFunction
from tilewright.ir.diagnostics import CompileError

Attributes = Mapping[str, Attribute]


@dataclass(frozen=True)
class Argument:
    """A run-time argument: its types in the IR, and how to make a value of the language of it.

    `attributes` go onto its arguments of the IR: one mapping for all of them, or one for each.
    """

    types: Sequence[Attribute]
    make: Callable[[Iterator[SSAValue]], object]
    attributes: Attributes | Sequence[Attributes] = field(default_factory=dict[str, Attribute])

    def each_attributes(self) -> list[Attributes]:
        if isinstance(self.attributes, Mapping):
            return [self.attributes] * len(self.types)
        return list(self.attributes)


@dataclass(frozen=True)
class Traced:
    """What tracing gives."""

    module: ModuleOp
    captured: tuple[Capture, ...]
    """Names of the surroundings that were used, each once per function."""
    functions: tuple[KernelFunction, ...]
    """Every kernel function whose text went into the module, the kernel first."""


def trace(
    function: KernelFunction,
    arguments: Mapping[str, object],
    *,
    name: str | None = None,
) -> Traced:
    """The module of `function` for `arguments`: an `Argument` each, or the value of a constant.

    Parameters that are left out get their defaults, as constants.
    """
    try:
        return _trace(function, arguments, name or function.name)
    except CompileError:
        raise
    except Exception as error:
        raise compile_error(error) from _cause(error)


def _cause(error: Exception) -> Exception | None:
    """Errors of the user need no traceback through the compiler; others do."""
    user_errors = (FrontendError, TypeError, ValueError, NameError, NotImplementedError)
    return None if isinstance(error, user_errors) or raised_in_kernel(error) else error


def _trace(function: KernelFunction, arguments: Mapping[str, object], name: str) -> Traced:
    bound = function.bind((), arguments)
    described = {key: value for key, value in bound.items() if isinstance(value, Argument)}
    inputs = [type for each in described.values() for type in each.types]
    attributes = [found for each in described.values() for found in each.each_attributes()]
    module = ModuleOp([])
    op = function_op(function, name, inputs, visibility="public", arg_attrs=attributes)
    module.location = op.location
    module.body.block.add_op(op)
    source = iter(op.body.block.args)
    values: dict[str, Any] = {}
    constexprs = {each.name: each.is_constexpr for each in function.params}
    for key, value in bound.items():
        if isinstance(value, Argument):
            values[key] = value.make(source)
        else:
            constant = constexprs[key]
            values[key] = function.vocabulary.argument(key, value, constexpr=constant)
    if next(source, None) is not None:
        raise FrontendError(
            f"{function.name}: an argument took fewer values than it has types", code=BAD_CALL
        )
    session = Session(function.vocabulary, module)
    session.fill(function, op, values)
    return Traced(module, tuple(session.captured), session.functions)
