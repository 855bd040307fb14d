"""Eager kernels: the function that is called *is* the kernel, and its body declares its parameters.

    @tw.jit
    def add(A, B, block=128):
        M = T.const("M")
        A: T.Tensor((M,), "float32")
        B: T.Tensor((M,), "float32")
        C = T.empty((M,), "float32")
        with T.Kernel(T.ceildiv(M, block)) as bx: ...
        return C

Tracing takes two phases. The first executes the body with ``T.const`` names as symbols and leaves
the kernels out: it collects the parameters (`survey`). The call solves the symbols from the
shapes of the arguments (`unify`), and the second phase traces with them as numbers (`specialise`).
What a kernel depends on is its key: `Eager.key`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, NoReturn

import numpy as np
from xdsl.ir import Block

from tilewright.frontend.attributes import has_attribute
from tilewright.frontend.callers import call_site
from tilewright.frontend.errors import BAD_RETURN, FrontendError, compile_error
from tilewright.ir.collector import collector_paused
from tilewright.language.T.annotations import (
    NOT_EAGER,
    OutputAnnotation,
    PointerAnnotation,
    TensorAnnotation,
    named_dtype,
)
from tilewright.language.T.buffers import Buffer, shape_text
from tilewright.language.T.function import TileFunction
from tilewright.language.T.keys import key_of
from tilewright.language.T.loop_forms import as_sequence
from tilewright.language.T.prim_func import (
    Param,
    PrimFunc,
    annotations_of,
    param_of,
    trace_into_module,
    verified,
)
from tilewright.language.T.session import OutputStub, Trace
from tilewright.language.T.symbols import Size, Symbol, Symbolic, evaluate, solve, text

UNSOLVED = "TW1031"
"""A size that the shapes of the arguments do not determine."""
WRONG_SHAPE = "TW1032"


_ANNOTATIONS = (TensorAnnotation, PointerAnnotation)


@dataclass(frozen=True)
class Survey:
    """What the first phase found out for some compile-time arguments."""

    params: tuple[Param, ...]
    """Tensors and scalars, in the order of the function's parameters; sizes are symbolic."""
    outputs: tuple[Param, ...]
    """Declared with ``T.empty``, in order."""
    returned: tuple[int, ...] | None
    """Which outputs (or parameters, counted after the outputs) the function returns."""
    symbols: Mapping[str, Symbol]
    """The names of ``T.const``."""


class Eager:
    """An eager kernel: how its calls are specialised."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = TileFunction(function)
        self.name = self.function.name
        self._surveys: dict[tuple[Any, ...], Survey] = {}

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by parameter, defaults filled in."""
        try:
            return self.function.bind(args, kwargs)
        except FrontendError as error:
            error.position = error.position or call_site()
            raise compile_error(error) from None

    # -- phase 1 -----------------------------------------------------------------------------

    def survey(
        self, arguments: Mapping[str, Any], constants: tuple[Any, ...] | None = None
    ) -> Survey:
        """What the parameters are, given the arguments that are no tensors.

        `constants` is their key, where it is at hand.
        """
        key = self.constants_key(arguments) if constants is None else constants
        found = self._surveys.get(key)
        if found is None:
            found = self._surveys[key] = self._survey(arguments)
        return found

    @collector_paused()
    def _survey(self, arguments: Mapping[str, Any]) -> Survey:
        state = Trace(Block(), is_survey=True, is_eager=True)
        signature = {
            name: annotation if isinstance(annotation, _ANNOTATIONS) else named_dtype(annotation)
            for name, annotation in annotations_of(self.function.fn).items()
        }
        traced = trace_into_module(self.function, (), _constants(arguments), state)
        given = {name: found for name, found in signature.items() if found is not None}
        declared = {**given, **state.declared}
        params = tuple(
            param_of(each.name, declared[each.name])
            for each in self.function.params
            if each.name in declared
        )
        outputs = tuple(_output(name, annotation) for name, annotation in state.outputs)
        returned = self._returned(traced.result, params, outputs)
        return Survey(params, outputs, returned, dict(state.symbols))

    def _returned(
        self, result: Any, params: Sequence[Param], outputs: Sequence[Param]
    ) -> tuple[int, ...] | None:
        if result is None:
            return None if not outputs else ()
        return tuple(self._position(value, params) for value in as_sequence(result))

    def _position(self, value: Any, params: Sequence[Param]) -> int:
        """The position of a returned tensor among parameters and outputs."""
        if isinstance(value, OutputStub):
            return len(params) + value.position
        for index, param in enumerate(params):
            if getattr(value, "name", None) == param.name:
                return index
        raise compile_error(
            FrontendError(
                f"{self.name} returns a value that is not one of its tensors: return outputs "
                "declared with T.empty",
                code=BAD_RETURN,
            )
        )

    # -- between the phases ------------------------------------------------------------------

    def unify(
        self,
        survey: Survey,
        shapes: Mapping[str, Sequence[int]],
        given: Mapping[str, int] | None = None,
    ) -> dict[str, int]:
        """The values of all symbols, from the shapes of the tensor arguments by name.

        Sizes that are `given` need no tensor; tensors without a shape are left out.
        """
        known = dict(given or {})
        open_sizes: list[tuple[Param, int, Size, int]] = []
        for param in survey.params:
            if param.kind != "tensor" or param.name not in shapes:
                continue
            shape = tuple(shapes[param.name])
            if len(shape) != len(param.shape):
                raise self._located_error(
                    f"{self.name}.{param.name} has {len(shape)} dimensions {shape_text(shape)}, "
                    f"but it is declared with {len(param.shape)}: {shape_text(param.shape)}",
                    WRONG_SHAPE,
                )
            pairs = zip(param.shape, shape, strict=True)
            open_sizes += [(param, axis, *pair) for axis, pair in enumerate(pairs)]
        progress = True
        while progress and open_sizes:
            left = [each for each in open_sizes if not self._is_solved(*each, known)]
            progress = len(left) < len(open_sizes)
            open_sizes = left
        absent = [p.name for p in survey.params if p.kind == "tensor" and p.name not in shapes]
        self._check_solved(survey, known, open_sizes, absent)
        return known

    def _is_solved(
        self, param: Param, axis: int, size: Size, extent: int, known: dict[str, int]
    ) -> bool:
        found = solve(size, int(extent), known)
        if found is False:
            value = evaluate(size, known)
            formula = "" if isinstance(size, int) else f"{text(size)}{_given(size, known)}"
            because = f" = {formula}" if formula else ""
            expectation = f"no integer solves {formula} = {extent}" if value is None else (
                f"{value}{because} is expected"
            )  # fmt: skip
            raise self._located_error(
                f"{self.name}.{param.name} has size {extent} in dimension {axis}, but "
                f"{expectation}",
                WRONG_SHAPE,
            )
        return found is True

    def _check_solved(
        self,
        survey: Survey,
        known: Mapping[str, int],
        open_sizes: Sequence[Any],
        absent: Sequence[str],
    ) -> None:
        missing = [name for name in survey.symbols if name not in known]
        if missing and absent:
            example = ", ".join(f"{name}={known.get(name, '...')}" for name in survey.symbols)
            are = "is" if len(missing) == 1 else "are"
            raise self._located_error(
                f"{self.name} is compiled for sizes, and {', '.join(missing)} {are} missing: "
                f"{self.name}.compile({example}), or pass tensors for {', '.join(absent)}",
                UNSOLVED,
            )
        if missing:
            where = "; ".join(
                f"{param.name} dimension {axis}: {text(size)} = {extent}"
                for param, axis, size, extent in open_sizes
            )
            raise self._located_error(
                f"{self.name}: {', '.join(missing)} cannot be solved from the shapes of the "
                f"arguments{f' ({where})' if where else ''}: declare a tensor with "
                f"{missing[0]} as a dimension of its own, or pass it as an argument",
                UNSOLVED,
            )

    def _located_error(self, message: str, code: str) -> Exception:
        return compile_error(FrontendError(message, call_site(), code=code))

    # -- phase 2 -----------------------------------------------------------------------------

    def key(
        self,
        arguments: Mapping[str, Any],
        known: Mapping[str, int],
        constants: tuple[Any, ...] | None = None,
    ) -> tuple[Any, ...]:
        """What a specialisation depends on: constants, and the sizes that became numbers."""
        constants = self.constants_key(arguments) if constants is None else constants
        survey = self.survey(arguments, constants)
        return (*constants, tuple((name, known[name]) for name in survey.symbols))

    @collector_paused()
    def specialise(self, arguments: Mapping[str, Any], known: Mapping[str, int]) -> PrimFunc:
        """The module for these constants and sizes."""
        survey = self.survey(arguments)
        constants = {name: known[name] for name in survey.symbols}
        params = [_fixed(param, constants) for param in survey.params]
        outputs = [_fixed(param, constants) for param in survey.outputs]
        state = Trace(Block(), is_eager=True, constants=constants)
        traced = trace_into_module(self.function, params, _constants(arguments), state, outputs)
        verified(traced.module)
        return PrimFunc(
            self.name,
            traced.module,
            (*params, *outputs),
            self.function.source,
            traced.captured,
            self._returned_again(traced.result, params, outputs),
            state.attributes,
        )

    def _returned_again(
        self, result: Any, params: Sequence[Param], outputs: Sequence[Param]
    ) -> tuple[int, ...] | None:
        if result is None:
            return None if not outputs else ()
        values = as_sequence(result)
        every = (*params, *outputs)
        names = [param.name for param in every]
        for value in values:
            if not isinstance(value, Buffer) or value.name not in names:
                raise self._located_error(
                    f"{self.name} returns a value that is not one of its tensors: return "
                    "outputs declared with T.empty",
                    BAD_RETURN,
                )
        return tuple(names.index(value.name) for value in values)

    def trace(self, *args: Any, **kwargs: Any) -> PrimFunc:
        """Both phases for one call: tensors are arguments with a ``shape``."""
        arguments = self.bind(args, kwargs)
        survey = self.survey(arguments)
        shapes = {
            param.name: param.dtype.shape_of(arguments[param.name])
            for param in survey.params
            if param.kind == "tensor"
        }
        return self.specialise(arguments, self.unify(survey, shapes))

    def constants_key(self, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
        """What of the arguments a kernel depends on, besides the sizes of tensors."""
        constants = {name: value for name, value in arguments.items() if not _is_tensor(value)}
        return key_of(self.function.fn, constants)


def trace_declared(function: Callable[..., Any]) -> PrimFunc:
    """A ``T.prim_func`` whose body declares its parameters: all of them are tensors or numbers."""
    eager = Eager(function)
    arguments = {each.name: Undeclared(each.name) for each in eager.function.params}
    survey = eager.survey(arguments)
    if survey.symbols:
        raise compile_error(
            FrontendError(
                f"{eager.name} takes T.const, but it is traced where it is defined: use "
                "T.dynamic, or integers of the enclosing function",
                code=NOT_EAGER,
            )
        )
    return eager.specialise(arguments, {})


def is_eager(function: Callable[..., Any]) -> bool:
    """Whether the body of `function` is itself a kernel of `T`: a ``with T.Kernel`` of its own."""
    source = TileFunction(function)
    tree = source.syntax()
    return any(_launches(node) for node in _own(tree))


def _own(node: ast.AST) -> list[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            found += [child, *_own(child)]
    return found


def _launches(node: ast.AST) -> bool:
    if not isinstance(node, ast.With):
        return False
    calls = [item.context_expr for item in node.items]
    functions = [call.func for call in calls if isinstance(call, ast.Call)]
    return any(_name_of(function) in ("Kernel", "ClusterKernel") for function in functions)


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _output(name: str, annotation: OutputAnnotation) -> Param:
    return Param(name, "tensor", annotation.dtype, annotation.shape, is_output=True)


def _fixed(param: Param, constants: Mapping[str, int]) -> Param:
    """`param` with the numbers that are known in place of symbols."""
    shape = tuple(_size(size, constants) for size in param.shape)
    strides = None if param.strides is None else tuple(
        _size(size, constants) for size in param.strides
    )  # fmt: skip
    return Param(param.name, param.kind, param.dtype, shape, strides, param.is_output)


def _size(size: Size, constants: Mapping[str, int]) -> Size:
    value = evaluate(size, constants)
    return size if value is None else value


def _given(size: Size, known: Mapping[str, int]) -> str:
    names = size.names if isinstance(size, Symbolic) and not isinstance(size, Symbol) else ()
    shown = ", ".join(f"{name} = {known[name]}" for name in names if name in known)
    return f" with {shown}" if shown else ""


def _is_tensor(value: Any) -> bool:
    if isinstance(value, Undeclared):
        return True
    is_array = has_attribute(value, "shape") and has_attribute(value, "dtype")
    return is_array and not isinstance(value, (Number, np.generic))  # np.bool_ is no Number


class Undeclared:
    """A tensor argument that the kernel has not declared yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _fail(self, what: str) -> NoReturn:
        raise FrontendError(
            f"{what} before {self._name} is declared: write {self._name}: T.Tensor(shape, dtype) "
            "first, with sizes of T.const or T.dynamic",
            code=NOT_EAGER,
        )

    def __getattr__(self, attribute: str) -> NoReturn:
        self._fail(f"{self._name}.{attribute} is read")

    def __getitem__(self, index: object) -> NoReturn:
        self._fail(f"{self._name} is read")

    def __setitem__(self, index: object, value: object) -> NoReturn:
        self._fail(f"{self._name} is written")

    def __repr__(self) -> str:
        return f"{self._name}, which is not declared (write {self._name}: T.Tensor(...))"


def _constants(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name; a kernel does not depend on the tensors of one call."""
    return {
        name: Undeclared(name) if _is_tensor(value) else value for name, value in arguments.items()
    }
