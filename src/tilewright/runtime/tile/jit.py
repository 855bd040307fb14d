"""`@tw.jit` for kernels of `T`: compiled on first use, cached by what they were compiled for.

*Eager*: the function is the kernel. A call with tensors compiles for their shapes and runs.

*Lazy*: the function is a factory that returns a ``@T.prim_func``. A call returns the compiled
kernel; that one is called with tensors.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, NoReturn, cast

import numpy as np

from tilewright._notebook import NotebookForm
from tilewright.frontend.attributes import attribute_of, has_attribute
from tilewright.frontend.callers import located
from tilewright.frontend.errors import FrontendError, compile_error
from tilewright.frontend.reads import Reads
from tilewright.frontend.unsaved_source import file_of
from tilewright.ir.collector import collector_paused
from tilewright.ir.diagnostics import SourcePosition
from tilewright.language.T.eager import Eager
from tilewright.language.T.keys import frozen, key_of
from tilewright.language.T.prim_func import PrimFunc
from tilewright.runtime.tile.host_checks import BAD_ARGUMENT, check_is_tensor
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.pass_configs import checked_configs
from tilewright.runtime.tile.settings import described_arch
from tilewright.runtime.tile.targets import checked_target

_MAX_CACHED_QUICK = 1024
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# What only kernels use; one that forgets T.Kernel gets the error where it is traced.
_EAGER_NAMES = frozenset({"Kernel", "ClusterKernel", "const"})


class TileJIT(NotebookForm):
    """A function that is a kernel of `T`, or makes one."""

    notebook_form = "tilewright.report.notebook.kernels:tile_jit_html"

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        out_idx: int | Sequence[int] | None = None,
        target: object = None,
        pass_configs: Mapping[Any, Any] | None = None,
        compile_flags: object = None,
    ) -> None:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@jit expects a function defined with def, got {function!r}")
        self.function = function
        self.out_idx = out_idx
        self.target = checked_target(target)
        self._target_given = target
        self.pass_configs = checked_configs(pass_configs)
        self.compile_flags = compile_flags
        self.cache: dict[Any, CompiledTileKernel] = {}
        self.generation = 0
        """How many times kernels were evicted because something that they had read changed."""
        self._reads: Reads | None = None
        """What the kernels have read."""
        self._quick: dict[Any, tuple[CompiledTileKernel, tuple[int, ...], Reads | None]] = {}
        """Kernels by the shapes of arguments, which of those they take, and objects among them."""
        functools.update_wrapper(self, function)

    @functools.cached_property
    def _eager(self) -> Eager | None:
        is_own = not _EAGER_NAMES.isdisjoint(self.function.__code__.co_names)
        if is_own and self.out_idx is not None:
            raise ValueError(
                f"out_idx is for functions that return a @T.prim_func; {self.function.__name__} is "
                "a kernel itself: declare its outputs with T.empty and return them"
            )
        return Eager(self.function) if is_own else None

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def is_eager(self) -> bool:
        return self._eager is not None

    def forget_outdated(self) -> None:
        """Forget kernels when something that they read while they were traced has changed."""
        if self._reads is not None and not self._reads.is_current():
            self._forget()

    def _forget(self) -> None:
        self.generation += 1
        self.cache.clear()
        self._quick.clear()
        self._reads = None
        vars(self).pop("_eager", None)

    def _keep(self, key: Any, kernel: CompiledTileKernel) -> CompiledTileKernel:
        """Keep a kernel that was just traced; others are forgotten if that changed what they read.

        What it has read is recorded after the trace: the second of two traces finds what the first
        has put into a table.
        """
        self.forget_outdated()
        self._note_reads()
        self.cache[key] = kernel
        return kernel

    def _note_reads(self) -> None:
        if self._reads is None:
            self._reads = Reads((self.function,))

    # -- calling -----------------------------------------------------------------------------

    def __getitem__(self, grid: object) -> NoReturn:
        """How kernels of `tl` are launched; those of `T` have their grid in `T.Kernel`."""
        name = self.function.__name__
        raise TypeError(
            f"{name} is a kernel of T, whose grid is in T.Kernel(...): call {name}(...) without "
            "a grid"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run an eager kernel, or compile the kernel that a factory makes."""
        self.forget_outdated()
        objects: list[object] = []
        values = (*args, *kwargs.values()) if kwargs else args
        key = _shapes(values, objects)
        if kwargs and key is not None:
            key = ("keywords", key, *kwargs)
        quick = self._quick.get(key) if key is not None else None
        if quick is not None:
            kernel, positions, reads = quick
            if reads is None or reads.is_current():
                return kernel(*[values[position] for position in positions])
        eager = self._eager
        if eager is None:
            return self.traced(*args, **kwargs)
        arguments = eager.bind(args, kwargs)
        kernel = self._specialised(eager, arguments)
        names = [param.name for param in kernel.inputs]
        order = [*list(self.signature.parameters)[: len(args)], *kwargs]
        if key is not None and all(name in order for name in names):
            if len(self._quick) >= _MAX_CACHED_QUICK:
                self._quick.clear()
            reads = Reads((self.function,), objects) if objects else None
            self._quick[key] = kernel, tuple(order.index(name) for name in names), reads
        return kernel(*[arguments[name] for name in names])

    def compile(self, *args: Any, **kwargs: Any) -> CompiledTileKernel:
        """The kernel for these arguments, not run.

        Instead of tensors, an eager kernel may be given sizes: ``add.compile(M=1024, block=128)``
        for what it calls ``T.const("M")``.
        """
        kernel = self.traced(*args, **kwargs)
        kernel.build()
        return kernel

    def traced(self, *args: Any, **kwargs: Any) -> CompiledTileKernel:
        """As `compile`, but the program is compiled on first use."""
        self.forget_outdated()
        eager = self._eager
        if eager is not None:
            arguments, sizes = self._arguments_and_sizes(eager, args, kwargs)
            return self._specialised(eager, arguments, sizes)
        key = key_of(self.function, {**dict(enumerate(args)), **dict(sorted(kwargs.items()))})
        kernel = self.cache.get(key)
        if kernel is None:
            with collector_paused():
                kernel = self._keep(key, self._made(self._build(args, kwargs)))
        return kernel

    def _arguments_and_sizes(
        self, eager: Eager, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, int]]:
        """Arguments by parameter, and sizes by the names that the kernel has for them."""
        known = self.signature.parameters
        sizes = {name: value for name, value in kwargs.items() if name not in known}
        try:
            given = self.signature.bind_partial(
                *args, **{name: value for name, value in kwargs.items() if name in known}
            ).arguments
        except TypeError:
            return eager.bind(args, kwargs), {}  # raises the error at its location
        absent = {
            name: _Absent()
            for name, parameter in known.items()
            if name not in given and parameter.default is inspect.Parameter.empty
        }
        return eager.bind((), {**given, **absent}), sizes

    def _specialised(
        self, eager: Eager, arguments: Mapping[str, Any], sizes: Mapping[str, int] | None = None
    ) -> CompiledTileKernel:
        constants = eager.constants_key(arguments)
        survey = eager.survey(arguments, constants)
        self._note_reads()
        symbols = [*survey.symbols, *(name for param in survey.params for name in param.symbols)]
        for name in sizes or {}:
            if name not in symbols:
                message = (
                    f"{name!r} is neither a parameter nor a size of {eager.name}; parameters: "
                    f"{', '.join(self.signature.parameters)}; sizes: "
                    f"{', '.join(dict.fromkeys(symbols)) or 'all fixed'}"
                )
                raise located(TypeError(message), BAD_ARGUMENT)
        shapes: dict[str, tuple[int, ...]] = {}
        for param in survey.params:
            argument = arguments[param.name]
            if param.kind != "tensor" or isinstance(argument, _Absent):
                continue
            if not has_attribute(argument, "shape"):
                check_is_tensor(eager.name, param, argument)
            shapes[param.name] = param.dtype.shape_of(argument)
        for name, value in arguments.items():
            if isinstance(value, _Absent) and name not in {param.name for param in survey.params}:
                message = (
                    f"{eager.name} is missing a value for {name}: pass {name}=..., or add a default"
                )
                raise located(TypeError(message), BAD_ARGUMENT)
        known = eager.unify(survey, shapes, sizes)
        key = eager.key(arguments, known, constants)
        kernel = self.cache.get(key)
        if kernel is None:
            kernel = self._keep(key, self._kernel(eager.specialise(arguments, known)))
        return kernel

    def _build(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
        """What the factory returns; an error in it is reported at its line."""
        self._check_factory_arguments(args, kwargs)
        try:
            return self.function(*args, **kwargs)
        except FrontendError as error:
            import traceback

            code = self.function.__code__
            frames = traceback.extract_tb(error.__traceback__)
            own = [each for each in frames if each.filename == code.co_filename]
            if error.position is None and own:
                line, column = own[-1].lineno or 1, own[-1].colno or 0
                error.position = SourcePosition(file_of(code), line, column + 1)
            raise compile_error(error) from error

    def _check_factory_arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Sizes and options of a factory are its arguments."""
        try:
            self.signature.bind(*args, **kwargs)
        except TypeError:
            raise located(TypeError(self._factory_problem(args, kwargs)), BAD_ARGUMENT) from None

    def _factory_problem(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        call = f"{self.function.__name__}{self.signature}"
        try:
            given = self.signature.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            return f"{call} {error}"
        missing = [
            name
            for name, parameter in self.signature.parameters.items()
            if name not in given
            and parameter.default is inspect.Parameter.empty
            and parameter.kind not in _VARIADIC
        ]
        return (
            f"{call} is missing a value for {', '.join(missing)}: pass "
            f"{', '.join(f'{name}=...' for name in missing)}"
        )

    def _made(self, result: object) -> CompiledTileKernel:
        if not isinstance(result, PrimFunc):
            raise TypeError(
                f"{self.function.__name__} returned {result!r}, expected the function decorated "
                "with @T.prim_func"
            )
        return self._kernel(result)

    def _kernel(self, made: PrimFunc) -> CompiledTileKernel:
        return CompiledTileKernel(
            made,
            self.out_idx,
            target=self.target,
            pass_configs=self.pass_configs,
            compile_flags=self.compile_flags,
            described=described_arch(self._target_given),
        )

    # -- looking -----------------------------------------------------------------------------

    def get_tir(self, *args: Any, **kwargs: Any) -> PrimFunc:
        """The traced function for these arguments."""
        return self.traced(*args, **kwargs).prim_func

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        return self.compile(*args, **kwargs).get_kernel_source()

    def par_compile(
        self, configs: Iterable[Any], num_workers: int | None = None, ignore_error: bool = False
    ) -> list[CompiledTileKernel | None]:
        """The kernels for several sets of arguments, tuples or dicts, in their order."""
        from tilewright.runtime.tile.compile_ahead import compile_together

        return compile_together(
            [
                functools.partial(self.traced, **cast("Mapping[str, Any]", config))
                if isinstance(config, Mapping)
                else functools.partial(self.traced, *config)
                for config in configs
            ],
            num_workers,
            ignore_error=ignore_error,
        )

    def __repr__(self) -> str:
        return f"TileJIT({self.function.__module__}.{self.function.__qualname__})"


def tile_jit(
    function: Callable[..., Any] | None = None,
    *,
    out_idx: int | Sequence[int] | None = None,
    target: object = None,
    target_host: object = None,
    execution_backend: object = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    debug_root_path: str | None = None,
    compile_flags: object = None,
) -> Any:
    """Make a `T` kernel of a function, or of what the function returns.

    `compile_flags` are for the CUDA compiler. `target_host`, `execution_backend`, `verbose` and
    `debug_root_path` are accepted for TileLang's sake and change nothing.
    """

    def decorate(function: Callable[..., Any]) -> TileJIT:
        return TileJIT(
            function,
            out_idx=out_idx,
            target=target,
            pass_configs=pass_configs,
            compile_flags=compile_flags,
        )

    return decorate if function is None else decorate(function)


def compile_tile(
    func: PrimFunc,
    out_idx: int | Sequence[int] | None = None,
    execution_backend: object = None,
    target: object = None,
    target_host: object = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: object = None,
) -> CompiledTileKernel:
    """Compile one traced function."""
    kernel = traced_tile(func, out_idx, target, pass_configs, compile_flags)
    kernel.build()
    return kernel


def traced_tile(
    func: PrimFunc,
    out_idx: int | Sequence[int] | None = None,
    target: object = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: object = None,
    **_: object,
) -> CompiledTileKernel:
    """As `compile_tile`, but the program is compiled on first use."""
    if not isinstance(func, PrimFunc):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"compile expects a function decorated with @T.prim_func, got {func!r}")
    return CompiledTileKernel(
        func,
        out_idx,
        target=checked_target(target),
        pass_configs=checked_configs(pass_configs),
        compile_flags=compile_flags,
        described=described_arch(target),
    )


class _Absent:
    """Stands for a tensor in a kernel that is compiled without one."""

    shape = ()
    dtype = None


def _shapes(args: tuple[Any, ...], objects: list[object]) -> tuple[Any, ...] | None:
    """What of arguments decides which kernel is meant; None if that is not so easy.

    Objects count as themselves, and are put into `objects`: what they hold may change.
    """
    found: list[Any] = []
    for each in args:
        kind = cast("type[Any]", type(each))
        if kind is int or kind is bool or kind is str:
            found.append((kind, each))
            continue
        is_integer = isinstance(each, np.generic)  # has a shape all the same
        shape = None if is_integer else attribute_of(each, "shape")
        if shape is not None:
            found.append((tuple(shape), each.dtype))
            continue
        known = len(objects)
        found.append(frozen(each, objects))
        found += map(id, objects[known:])
    try:
        hash(key := tuple(found))
    except TypeError:
        return None
    return key
