"""``@T.prim_func``: a kernel function whose parameters are annotated, traced at once.

@T.prim_func
def main(A: T.Tensor((M, K), "float16"), C: T.Tensor((M, K), "float16")): ...

main.module      func.func @main(%A: memref<...> {tile.name = "A", ...}) attributes {tile.entry}
main.params      what the wrapper has to check and to solve
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any, Literal

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, BlockArgument

from tilewright.dialects.tile import buffer_type
from tilewright.frontend.builder import Builder, using
from tilewright.frontend.captures import Capture
from tilewright.frontend.errors import (
    BAD_CALL,
    FrontendError,
    compile_error,
    raised_in_kernel,
)
from tilewright.frontend.functions.calls import Session
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.hints import name_hint_of
from tilewright.ir.text.locations import file_location, name_location
from tilewright.ir.text.printer import print_module
from tilewright.ir.verify import verify
from tilewright.language.T.allocate import strided_layout
from tilewright.language.T.annotations import PointerAnnotation, TensorAnnotation, ptr
from tilewright.language.T.buffers import Buffer, static_shape
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import Expr
from tilewright.language.T.extern import Pointer
from tilewright.language.T.function import TileFunction
from tilewright.language.T.lazy import remove_unused
from tilewright.language.T.overlaps import imply_overlaps
from tilewright.language.T.session import Trace, tracing
from tilewright.language.T.stock import FuncOp, ReturnOp
from tilewright.language.T.symbols import Size, symbols_of, text


@dataclass(frozen=True)
class Param:
    """One parameter of a traced function."""

    name: str
    kind: Literal["tensor", "scalar", "pointer"]
    dtype: Dtype
    shape: tuple[Size, ...] = ()
    """Of a tensor: numbers, and symbols that the wrapper solves."""
    strides: tuple[Size, ...] | None = None
    """Of a tensor that is not contiguous."""
    is_output: bool = False
    """Whether it was declared with ``T.empty``."""

    @property
    def symbols(self) -> tuple[str, ...]:
        sizes = (*self.shape, *(self.strides or ()))
        return tuple(dict.fromkeys(name for size in sizes for name in symbols_of(size)))

    @property
    def type(self) -> Attribute:
        """The type in the IR."""
        if self.kind == "scalar":
            return self.dtype.type
        if self.kind == "pointer":
            return PointerAnnotation(self.dtype).type
        layout = None if self.strides is None else strided_layout(self.strides)
        return buffer_type(self.dtype.type, static_shape(self.shape), "global", layout)

    def attributes(self) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {
            "tile.name": StringAttr(self.name),
            "tile.dtype": StringAttr(str(self.dtype)),
        }
        if self.kind == "tensor":
            found["tile.shape"] = _sizes(self.shape)
        if self.strides is not None:
            found["tile.strides"] = _sizes(self.strides)
        if self.is_output:
            found["tile.output"] = UnitAttr()
        return found

    def value(self, argument: BlockArgument) -> Any:
        """What the function's variable holds."""
        if self.kind == "scalar":
            return Expr(argument, self.dtype, is_natural=self.dtype.is_unsigned)
        if self.kind == "pointer":
            return Pointer(argument, self.dtype)
        return Buffer(argument, self.shape, self.dtype, "global", self.name, self.strides)


def _sizes(sizes: Sequence[Size]) -> ArrayAttr[Attribute]:
    return ArrayAttr(
        [IntegerAttr(size, i64) if isinstance(size, int) else StringAttr(text(size))
         for size in sizes]
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PrimFunc:
    """A traced function: its module, and what has to be passed to it."""

    name: str
    module: ModuleOp
    params: tuple[Param, ...]
    source: str
    captured: tuple[Capture, ...] = ()
    returned: tuple[int, ...] | None = None
    """Of an eager kernel, the positions of the parameters that it returns; None without."""
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    """Attributes of the whole function, by TileLang's names: settings, flags, outputs."""

    def __post_init__(self) -> None:
        if self.returned is not None:
            count = len(self.params)
            self.attrs.setdefault("tilelang_out_idx", [index - count for index in self.returned])

    @property
    def symbols(self) -> tuple[str, ...]:
        """Sizes that the wrapper solves from the shapes of the arguments."""
        return tuple(dict.fromkeys(name for param in self.params for name in param.symbols))

    @cached_property
    def func(self) -> FuncOp:
        """The function in the module."""
        return next(op for op in self.module.ops if isinstance(op, FuncOp))

    def script(self) -> str:
        """The IR as text."""
        return print_module(self.module)

    def with_attr(self, key: str, value: Any) -> PrimFunc:
        self.attrs[key] = value
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{self.name} is a traced function: compile it with tw.compile({self.name}), and call "
            "the kernel that this gives"
        )

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        names = ", ".join(param.name for param in self.params)
        return f"PrimFunc({self.name}({names}))"


def param_of(name: str, annotation: Any) -> Param:
    """The parameter that an annotation describes."""
    if isinstance(annotation, TensorAnnotation):
        return Param(name, "tensor", annotation.dtype, annotation.shape, annotation.strides)
    if annotation is ptr:  # T.make_tensor gives the type
        annotation = ptr()
    if isinstance(annotation, PointerAnnotation):
        return Param(name, "pointer", annotation.dtype)
    if isinstance(annotation, (Dtype, str)) or annotation in (int, float, bool):
        return Param(name, "scalar", Dtype(annotation))
    raise FrontendError(
        f"parameter {name} needs an annotation: T.Tensor(shape, dtype) for a tensor, a dtype such "
        "as T.int32 for a scalar, T.ptr(dtype) for an address",
        code=BAD_CALL,
    )


def annotations_of(
    function: FunctionType, around: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Annotations by parameter, evaluated where they are text.

    `around` are variables where the function is defined: names that occur in nothing but text are
    not part of its closure.
    """
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if annotation is inspect.Parameter.empty:
            continue
        found[name] = (
            _evaluated(function, annotation, around or {})
            if isinstance(annotation, str)
            else annotation
        )
    return found


def _evaluated(function: FunctionType, annotation: str, around: Mapping[str, Any]) -> Any:
    """An annotation that is text: ``from __future__ import annotations``."""
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    known = {**around, **{name: cell.cell_contents for name, cell in closed.items()}}
    try:
        return eval(annotation, function.__globals__, known)
    except Exception:  # a name that exists only for type checkers, or a plain string
        return annotation


@dataclass(frozen=True, eq=False)
class TracedFunction:
    """What tracing a function gives."""

    module: ModuleOp
    result: Any
    trace: Trace
    captured: tuple[Capture, ...]


def trace_into_module(
    function: TileFunction,
    params: Sequence[Param],
    constants: Mapping[str, Any],
    state: Trace | None = None,
    outputs: Sequence[Param] = (),
) -> TracedFunction:
    """Execute `function`: `params` are arguments of the IR, `constants` are known."""
    try:
        return _traced(function, params, constants, state, outputs)
    except CompileError:
        raise
    except Exception as error:
        is_eager = state is not None and state.is_eager
        if isinstance(error, NameError) and is_eager and " is not defined: " not in str(error):
            error.add_note(
                f"declare a size of the arguments first, for example {_undefined_name(error)} = "
                f'T.const("{_undefined_name(error)}")'
            )
        user_errors = (FrontendError, TypeError, ValueError, NameError, NotImplementedError)
        known = isinstance(error, user_errors) or raised_in_kernel(error)
        raise compile_error(error, also=_class_in_python(error)) from (None if known else error)


_PYTHON_CLASSES = (
    *(AssertionError, IndexError, KeyError, NotImplementedError, RecursionError, RuntimeError),
    *(TypeError, ValueError),
)


def _class_in_python(error: Exception) -> type[Exception] | None:
    """What `error` is in Python's terms, so that callers can expect it as one."""
    if isinstance(error, FrontendError):
        return ValueError
    return next((each for each in _PYTHON_CLASSES if isinstance(error, each)), None)


def _undefined_name(error: NameError) -> str:
    """The name that an error is about."""
    return str(error).split(" ", 1)[0].strip("'")


def _traced(
    function: TileFunction,
    params: Sequence[Param],
    constants: Mapping[str, Any],
    state: Trace | None,
    outputs: Sequence[Param],
) -> TracedFunction:
    rewritten = function.rewritten
    location = file_location(rewritten.source_map.file, rewritten.line, rewritten.column)
    every = (*params, *outputs)
    op = FuncOp(function.name, ([param.type for param in every], ()), visibility="public",
                attributes={"tile.entry": UnitAttr()})  # fmt: skip
    module = ModuleOp([])
    module.location = op.location = location
    module.body.block.add_op(op)
    entry = op.body.block
    values: dict[str, Any] = {}
    for param, argument in zip(every, entry.args, strict=True):
        argument.location = name_location(param.name, location)
        argument.name_hint = name_hint_of(param.name)
        values[param.name] = param.value(argument)
    running = state or Trace(entry)
    running.entry = entry
    buffers = [value for value in values.values() if isinstance(value, Buffer)]
    running.buffers = buffers
    running.output_buffers = [values[param.name] for param in outputs]
    running.parameters = tuple(each.name for each in function.params)
    running.rewritten = rewritten
    arguments = {
        each.name: values[each.name] if each.name in values else constants[each.name]
        for each in function.params
    }
    session = Session(function.vocabulary, module)
    with using(Builder(entry)), tracing(running):
        control = session.execute(function, arguments, None)
    end = ReturnOp()
    end.location = location
    entry.add_op(end)
    attributes = [
        {**param.attributes(), **running.argument_attributes.get(position, {})}
        for position, param in enumerate(every)
    ]
    if attributes:
        op.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(each) for each in attributes])
    imply_overlaps(module)
    remove_unused(entry)
    return TracedFunction(module, control.result, running, tuple(session.captured))


def verified(module: ModuleOp) -> None:
    """Verify the module; errors are shown at the user's source."""
    engine = DiagnosticEngine()
    verify(module, engine)
    engine.raise_if_errors()


def prim_func(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A kernel function with annotated parameters, traced where it is defined."""
    del options  # `private` and `check_well_formed` of TVM have no meaning here
    if function is None:
        return prim_func
    traced = TileFunction(function)
    fn = traced.fn
    if _declares_in_body(traced):
        from tilewright.language.T.eager import trace_declared

        return trace_declared(fn)
    here = inspect.currentframe()
    caller = None if here is None else here.f_back
    try:
        annotations = annotations_of(fn, caller.f_locals if caller else None)
        params = tuple(param_of(each.name, annotations.get(each.name)) for each in traced.params)
    except FrontendError as error:
        raise compile_error(error) from None
    found = trace_into_module(traced, params, {})
    verified(found.module)
    return PrimFunc(
        traced.name,
        found.module,
        params,
        traced.source,
        found.captured,
        attrs=found.trace.attributes,
    )


def _declares_in_body(function: TileFunction) -> bool:
    """Whether parameters or outputs are declared by statements, as in an eager kernel."""
    names = {each.name for each in function.params}
    return any(_declares(statement, names) for statement in function.syntax().body)


def _declares(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement of the function itself, or of an ``if`` in it, is a declaration."""
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), value=None):
            return name in names
        case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr="empty"))):
            return True
        case ast.If(body=body, orelse=orelse):
            return any(_declares(inner, names) for inner in (*body, *orelse))
        case _:
            return False
