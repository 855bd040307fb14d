"""`@jit`: a kernel function that compiles itself for the arguments it is launched with.

    @tw.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr): ...

    kernel[grid](x, n, BLOCK=128)          # compile for these arguments if needed, and run
    kernel.warmup(x, n, BLOCK=128)         # compile only
    kernel.ir(x, n, BLOCK=128)             # the IR, at any stage

A launch binds its arguments, determines by `specialise` what the code depends on, and looks the
compiled kernel up by that. Everything slow happens once per specialisation; kernels that run on a
GPU get a shorter way from their second launch on (`fast`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import override

from tilewright._exports import loading
from tilewright._notebook import NotebookForm
from tilewright.frontend.callers import located
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.functions.function import KernelFunction
from tilewright.ir.diagnostics import SourcePosition
from tilewright.language.tl.options import Options
from tilewright.language.tl.vocabulary import TL
from tilewright.runtime.cuda.errors import CudaError
from tilewright.runtime.fake_tensors import has_fakes
from tilewright.runtime.grid import Grid, launch_grid
from tilewright.runtime.launch_errors import (
    BAD_LAUNCH,
    GridArguments,
    at_launch,
    bad_argument,
    missing,
    too_many,
    two_values,
    unknown_keyword,
)
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.options import is_debugging, target_for
from tilewright.runtime.parameters import Parameter, parameters_of
from tilewright.runtime.specialise import Key, check_device, device_of, key_of, plain

if TYPE_CHECKING:
    from tilewright.runtime.choice import TargetChoice
    from tilewright.runtime.pointer.compiled import CompiledKernel
    from tilewright.runtime.pointer.fast_launch import FastPath

# Launch options of GPUs: part of the compiled kernel's identity, without meaning on the host.
_COMPILE_OPTIONS = {
    "num_warps": 4,
    "num_stages": None,
    "num_ctas": 1,
    "ctas_per_cga": None,
    "maxnreg": None,
    "debug": False,
    "sanitize_overflow": False,
    "enable_fp_fusion": True,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "waves_per_eu": None,
    "matrix_instr_nonkdim": None,
    "kpack": None,
    "llvm_fn_attrs": None,
    "target": None,
}
_CUDA_STAGES, _HIP_STAGES = 3, 2
"""What `num_stages` is where a launch does not set it: as in Triton."""
_TARGET = "target"
_ONLY_COMPILED = (
    "target '{choice}' makes code objects and launches none: use kernel.warmup(...) or tilewright "
    "compile, and target='numpy' to run on the host"
)
_STREAM = "stream"


class JITFunction(KernelFunction, Launchable, NotebookForm):
    """A kernel, or a function that kernels call."""

    notebook_form = "tilewright.report.notebook.kernels:jit_function_html"

    widens_scans = False
    """Of `Options`."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        do_not_specialize: Collection[str | int] = (),
        do_not_specialize_on_alignment: Collection[str | int] = (),
        debug: bool = False,
        noinline: bool = False,
        check_uninitialised: bool = True,
    ) -> None:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@jit expects a function defined with def, got {function!r}")
        super().__init__(function, TL, noinline=noinline)
        self.parameters: tuple[Parameter, ...] = parameters_of(
            function, do_not_specialize, do_not_specialize_on_alignment
        )
        self._arg_names = tuple(parameter.name for parameter in self.parameters)
        self._known = frozenset(self._arg_names)
        self._variadic = next(
            (index for index, each in enumerate(self.parameters) if each.is_variadic), None
        )
        self._defaults = {
            parameter.name: parameter.default
            for parameter in self.parameters
            if parameter.has_default
        }
        self._debug = debug
        self.check_uninitialised = check_uninitialised
        """Whether runs on the host report reads of memory that nothing wrote."""
        self.cache: dict[tuple[object, ...], CompiledKernel] = {}
        self._fast: FastPath | None = None

    @property
    def arg_names(self) -> tuple[str, ...]:
        return self._arg_names

    def defined_at(self) -> SourcePosition | None:
        """Where the kernel is defined; None without source, which compiling it reports."""
        try:
            rewritten = self.rewritten
        except FrontendError:
            return None
        return SourcePosition(rewritten.source_map.file, rewritten.line, rewritten.column)

    def run(self, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is None or warmup:
            return self._run(args, grid, warmup, kwargs)
        try:
            found = fast.launch(grid, *args, **kwargs)
        except CudaError:
            raise
        except Exception:  # the ordinary path reports it better
            found = None
        if found is None or type(found) is tuple:
            key = cast("tuple[object, ...] | None", found)
            return self._run(args, grid, warmup, kwargs, key)
        return found

    def _run(
        self,
        args: tuple[Any, ...],
        grid: Grid,
        warmup: bool,
        kwargs: dict[str, Any],
        fast_key: tuple[object, ...] | None = None,
    ) -> Any:
        """The ordinary way: with every check, and compiling where needed."""
        if has_fakes(args) or has_fakes(kwargs.values()):
            return None  # torch.compile needs no more than shapes
        try:
            stream = None if _STREAM in self._known else kwargs.pop(_STREAM, None)
            bound, options = self._bind(args, kwargs)
        except TypeError as error:
            raise at_launch(error, self) from None
        keys, values = self._keys(bound)
        device = device_of(values)
        try:
            choice = target_for(options[_TARGET], device)
        except ValueError as error:
            raise at_launch(error, self) from None
        if options["num_stages"] is None:
            options["num_stages"] = _CUDA_STAGES if choice.machine.is_cuda else _HIP_STAGES
        identity = (*keys, *options.items(), choice, device)
        compiled = self.cache.get(identity)
        if compiled is None or not compiled.is_current():
            compiled = self.cache[identity] = self._compile(keys, options, choice, device)
        if warmup:
            return compiled
        if choice.is_gpu:
            if not choice.machine.is_cuda:
                raise at_launch(ValueError(_ONLY_COMPILED.format(choice=choice)), self)
            self._check_devices(values, device)
        if choice.is_raised and device is not None and not choice.is_simulated:
            self._check_devices(values, device)
        sizes = self._sizes(grid, bound)
        compiled.launch(sizes, values, stream)
        if compiled.launcher is not None or (choice.is_raised and device is not None):
            self._shorten(fast_key, compiled, sizes, bound)
        return compiled

    def _keys(self, bound: Mapping[str, Any]) -> tuple[list[Key], list[object]]:
        """What the code depends on in each argument, and what is passed for it."""
        keys: list[Key] = []
        values: list[object] = []
        for parameter in self.parameters:
            try:
                key, value = key_of(bound[parameter.name], parameter)
            except (TypeError, ValueError, OverflowError) as error:
                raise bad_argument(error, self, parameter.name) from None
            keys.append(key)
            values.append(value)
        return keys, values

    def _check_devices(self, values: Sequence[object], device: int | None) -> None:
        for name, value in zip(self._arg_names, values, strict=True):
            try:
                check_device(value, device)
            except ValueError as error:
                raise bad_argument(error, self, name) from None
        # Kernels on the host need no driver.
        from tilewright.runtime.cuda.context import wrong_device

        wrong = None if device is None else wrong_device(device)
        if wrong is not None:
            raise at_launch(wrong, self)

    def _shorten(
        self,
        key: tuple[object, ...] | None,
        compiled: CompiledKernel,
        sizes: tuple[int, int, int],
        bound: Mapping[str, Any],
    ) -> None:
        """Make the next launches on a GPU quick."""
        if self._fast is None:
            # Kernels on the host need nothing of this.
            from tilewright.runtime.pointer.fast_launch import fast_path

            self._fast = fast_path(self, [bound[name] for name in self._arg_names])
        elif key is not None and compiled.launcher is not None:
            self._fast.remember(key, compiled, compiled.launcher)
        elif key is not None and not compiled.choice.is_simulated:
            values = tuple(bound[name] for name in self._arg_names)
            self._fast.remember_raised(key, compiled, sizes, values)

    def __reduce__(self) -> tuple[object, ...]:
        # By name, as Python does with functions: the decorated object is what the module holds.
        return _found, (self.__module__, self.__qualname__)

    @override
    def replace_function(self, fn: FunctionType) -> None:
        super().replace_function(fn)
        self.cache.clear()
        self._fast = None

    def compile_keys(self, keys: Sequence[Key], options: Mapping[str, Any]) -> CompiledKernel:
        """Compile for arguments of these kinds, for the host."""
        settings = {**_COMPILE_OPTIONS, "num_stages": _CUDA_STAGES, **options}
        compiled = self._compile(list(keys), settings, target_for(None, None), None)
        _ = compiled.module
        return compiled

    def _compile(
        self,
        keys: list[Key],
        options: Mapping[str, Any],
        choice: TargetChoice,
        device: int | None,
    ) -> CompiledKernel:
        for option in ("num_warps", "num_ctas"):
            count = options[option]
            if not isinstance(count, int) or count < 1 or count & (count - 1):
                error = ValueError(f"{option} is {count!r}, expected 1, 2, 4, 8 or 16")
                raise at_launch(error, self) from None
        settings = Options(
            debug=bool(options["debug"]),
            sanitize_overflow=bool(options["sanitize_overflow"]),
            num_warps=options["num_warps"],
            target=choice.machine,
            widens_scans=self.widens_scans,
        )
        # Where kernels are only defined, nothing of the compiler is loaded.
        with loading():
            from tilewright.runtime.pointer.compiled import compile_kernel

        return compile_kernel(self, keys, settings, options, choice=choice, device=device)

    def _sizes(self, grid: Grid, bound: Mapping[str, Any]) -> tuple[int, int, int]:
        # What a callable grid raises is the user's, with the user's traceback.
        sizes = grid(GridArguments(bound)) if callable(grid) else grid
        try:
            return launch_grid(sizes, bound, self)
        except (TypeError, ValueError) as error:
            raise located(error, BAD_LAUNCH) from None

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments by parameter, defaults filled in, and the launch options."""
        if self._variadic is not None:
            # One parameter holds what is left, as a tuple; those after it come by name.
            args = (*args[: self._variadic], tuple(args[self._variadic :]))
        if len(args) > len(self._arg_names):
            raise TypeError(too_many(self, len(args)))
        bound = {**self._defaults, **dict(zip(self._arg_names, args, strict=False))}
        options: dict[str, Any] = dict(_COMPILE_OPTIONS)
        if self._debug or is_debugging():
            options["debug"] = True
        for name, value in kwargs.items():
            if name in self._known:
                if name in self._arg_names[: len(args)]:
                    raise TypeError(two_values(self, name))
                bound[name] = value
            elif name in options:
                options[name] = plain(value)  # a list is no part of a key
            else:
                raise TypeError(unknown_keyword(self, name, options))
        if len(bound) != len(self._arg_names):
            absent = [name for name in self._arg_names if name not in bound]
            raise TypeError(missing(self, absent))
        return bound, options


def _found(module: str, name: str) -> object:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
