"""``triton.jit`` and what it returns: Tilewright's kernels with what scripts expect of Triton's.

The difference is in the surroundings, not in the kernel: launch options that only a GPU compiler
understands are dropped, torch tensors that believe to be on a GPU are taken as the host memory that
they are, and a compiled kernel can be launched by itself and reports its registers.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import re
import textwrap
from abc import ABC
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from types import CellType, FunctionType, SimpleNamespace
from typing import Any, Generic, TypeVar, cast

from typing_extensions import override

from tilewright.compat.arguments import MockTensor, plain_tensor
from tilewright.compat.described_gpu import WARP_SIZE
from tilewright.compat.hardware import is_interpreter
from tilewright.compat.notices import print_once
from tilewright.compat.torch_devices import addressed_tensors, host_memory
from tilewright.frontend.functions.function import Parameter
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime import autotune as tuning
from tilewright.runtime.config import Config
from tilewright.runtime.grid import Grid, reachable
from tilewright.runtime.heuristics import Heuristic
from tilewright.runtime.heuristics import Heuristics as RuntimeHeuristics
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.options import running
from tilewright.runtime.pointer import compiled
from tilewright.runtime.pointer import jit as runtime
from tilewright.runtime.specialise import Key
from tilewright.targets.metadata import KernelMetadata

# Options of Triton's GPU backends that change how code is made, never what it computes. Not among
# them: ``ctas_per_cga``, by which programs of the grid become clusters that share memory.
_BACKEND_OPTIONS = frozenset(
    {
        "allow_flush_denorm",
        "arch",
        "backend_name",
        "clc",
        "cluster_dims",
        "device",
        "device_type",
        "disable_unclustered_high_rp_reschedule",
        "enable_sched_group_barrier_scheduler",
        "enable_tree_reduction",
        "extern_libs",
        "instrumentation_mode",
        "ir_override",
        "launch_cluster",
        "maxRegAutoWS",
        "min_shared_mem",
        "minRegAutoWS",
        "multicast",
        "num_buffers_warp_spec",
        "num_consumer_groups",
        "optimize_epilogue",
        "ptx_options",
        "ptx_version",
        "reg_dec_producer",
        "reg_inc_consumer",
        "regclass_priority_trumps_globalness",
        "reverse_local_assignment",
        "sched4reg",
        "sched_group_barrier_mfma_per_dwordx4",
        "sched_group_barrier_required_region_count",
        "schedule_hint",
        "sink_insts_to_avoid_spills",
        "stream",
        "warp_size",
        "wgp_cu_mode",
    }
)

_T = TypeVar("_T")

# What is reported of kernels without machine code.
_REGISTERS = 32
_SHARED_BYTES = 1024

_SPILL_BYTES = 4
"""Of one spill, as Triton counts them."""


class CompiledKernel:
    """A kernel compiled for one kind of arguments, which can be launched without its function."""

    def __init__(self, kernel: JITFunction, inner: compiled.CompiledKernel) -> None:
        self.kernel = kernel
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _init_handles(self) -> None:
        """Loading onto a device is Triton's business; scripts call this before they read more."""

    @property
    def metadata(self) -> SimpleNamespace:
        """How it was compiled, and how much shared memory it takes."""
        built = self._built()
        shared = _SHARED_BYTES if built is None else built.shared
        return SimpleNamespace(**self.inner.metadata, name=self.name, shared=shared)

    @property
    def n_regs(self) -> int:
        built = self._built()
        return _REGISTERS if built is None else built.registers

    @property
    def n_spills(self) -> int:
        built = self._built()
        return 0 if built is None else built.spill_bytes // _SPILL_BYTES

    def _built(self) -> KernelMetadata | None:
        """What is known of its machine code; on the CPU there is none."""
        artefact = self.inner.artefact
        if artefact is None:
            _note_made_up()
        return None if artefact is None else artefact.metadata

    @property
    def n_max_threads(self) -> int:
        return 1024

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._launch(grid, args, kwargs)

    def _launch(self, grid: Grid, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Launch with all arguments, or with those that are not compiled in."""
        names = self.kernel.arg_names
        constants = self.inner.constants
        if len(args) < len(names):
            names = tuple(name for name in names if name not in constants)
        # A parameter may have the name of an option; then it is the parameter.
        given: dict[str, Any] = {**self.inner.metadata, **constants, **kwargs}
        given.update(zip(names, args, strict=False))
        return self.kernel.run(grid=grid, **given)


def _note_made_up() -> None:
    print_once(
        "registers and shared memory of a kernel are unknown on the CPU: reporting "
        f"{_REGISTERS} registers and {_SHARED_BYTES} bytes"
    )


@dataclass(frozen=True)
class KernelParam(Parameter):
    """A parameter of a kernel, with the attributes that wrappers of kernels read."""

    num: int = 0
    do_not_specialize: bool = False
    do_not_specialize_on_alignment: bool = False


class JITFunction(runtime.JITFunction):
    """A kernel of a script for Triton."""

    widens_scans = True  # scripts and tests are of several releases: the more exact sum serves all

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, **options)
        self._handles: dict[int, CompiledKernel] = {}

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.fn)

    @property
    def src(self) -> str:
        """The text from ``def`` on, moved to the left margin."""
        text = textwrap.dedent(self.source)
        return text[_definition.search(text).start() :]  # pyright: ignore[reportOptionalMemberAccess]

    def _unsafe_update_src(self, new_src: str) -> None:
        """Make `new_src` the text of the function; its names mean what they meant."""
        self.replace_function(_function_from(new_src, self.fn))
        self._handles.clear()

    def compiled_for(self, keys: Sequence[Key], options: Mapping[str, Any]) -> CompiledKernel:
        """Compile for arguments of these kinds, without arguments."""
        retained = {name: value for name, value in options.items() if name not in _BACKEND_OPTIONS}
        return CompiledKernel(self, self.compile_keys(keys, retained))

    @cached_property
    @override
    def params(self) -> tuple[KernelParam, ...]:
        return tuple(
            KernelParam(
                **vars(plain),
                num=index,
                do_not_specialize=not launched.specialise,
                do_not_specialize_on_alignment=not launched.align,
            )
            for index, (plain, launched) in enumerate(
                zip(super().params, self.parameters, strict=True)
            )
        )

    @override
    def run(
        self,
        *args: Any,
        grid: Grid,
        warmup: bool = False,
        **kwargs: Any,
    ) -> CompiledKernel:
        names = self.arg_names
        dropped = _BACKEND_OPTIONS.difference(names)
        args = tuple(plain_tensor(value) for value in args)
        options = {
            name: plain_tensor(value) for name, value in kwargs.items() if name not in dropped
        }
        if warmup:
            args = tuple(_materialised(value) for value in args)
            options = {name: _materialised(value) for name, value in options.items()}
        with host_memory(), reachable(*addressed_tensors(args)), _as_on_a_gpu(options):
            inner = super().run(*args, grid=grid, warmup=warmup, **options)
        handle = self._handles.get(id(inner))
        if handle is None:
            handle = self._handles[id(inner)] = CompiledKernel(self, inner)
        return handle


@contextmanager
def _as_on_a_gpu(options: Mapping[str, Any]) -> Generator[None]:
    """What scripts see of a launch besides its results: prints, warnings, causes of errors."""
    threads = None if is_interpreter() else WARP_SIZE * int(options.get("num_warps", 4))
    try:
        with running(printing_threads=threads, row_end=print_once):
            yield
    except CompileError as error:
        if error.__cause__ is None:
            # Triton's errors show the line, and their cause has the sentence.
            error.__cause__ = ValueError(error.diagnostics[-1].message)
        raise


_definition = re.compile(r"^def\s", re.MULTILINE)
_texts = itertools.count()


def _function_from(text: str, like: FunctionType) -> FunctionType:
    """The function that `text` defines, with the globals and the closure of `like`."""
    file = f"<{like.__qualname__} {next(_texts)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    cells = dict(zip(like.__code__.co_freevars, like.__closure__ or (), strict=True))
    # A function around it makes the names of the closure free names again.
    tree = ast.parse(f"def around({', '.join(cells)}):\n    return None")
    around = cast(ast.FunctionDef, tree.body[0])
    around.body = [*ast.parse(text).body, ast.Return(ast.Name(like.__name__, ast.Load()))]
    ast.fix_missing_locations(tree)
    namespace: dict[str, Any] = {}
    exec(compile(tree, file, "exec", dont_inherit=True), like.__globals__, namespace)
    first: FunctionType = namespace["around"](*map(_content, cells.values()))
    closure = tuple(cells[name] for name in first.__code__.co_freevars)
    made = FunctionType(
        first.__code__, like.__globals__, first.__name__, first.__defaults__, closure
    )
    made.__kwdefaults__ = first.__kwdefaults__
    made.__annotations__ = first.__annotations__
    made.__module__ = like.__module__
    return made


def _content(cell: CellType) -> Any:
    """What a cell holds; None for a name that is assigned later."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _materialised(value: Any) -> Any:
    value = MockTensor.wrap_dtype(value)
    return value.materialise() if isinstance(value, MockTensor) else value


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    version: object = None,
    repr: object = None,
    launch_metadata: object = None,
    do_not_specialize: Collection[str | int] | None = None,
    do_not_specialize_on_alignment: Collection[str | int] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> JITFunction | Callable[[Callable[..., Any]], JITFunction]:
    """Make a kernel of a Python function, or a function that kernels can call."""

    def decorate(function: Callable[..., Any]) -> JITFunction:
        return JITFunction(
            function,
            do_not_specialize=do_not_specialize or (),
            do_not_specialize_on_alignment=do_not_specialize_on_alignment or (),
            debug=bool(debug),
            noinline=bool(noinline),
        )

    return decorate if fn is None else decorate(fn)


class Autotuner(tuning.Autotuner):
    """A kernel with several configurations; scripts that derive tuners of their own call this."""

    def __init__(
        self,
        fn: Launchable,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None,
        restore_value: Sequence[str] | None,
        pre_hook: Callable[..., object] | None = None,
        post_hook: Callable[..., object] | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: object = None,
        rep: object = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
    ) -> None:
        super().__init__(
            fn,
            configs,
            [name for name in key if name in fn.arg_names],  # as Triton, which skips the others
            reset_to_zero=reset_to_zero or (),
            restore_value=restore_value or (),
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            do_bench=do_bench,
        )
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.cache_results = cache_results

    @property
    def early_config_prune(self) -> Callable[..., Any] | None:
        return self.prune.get("early_config_prune")

    @property
    def perf_model(self) -> Callable[..., Any] | None:
        return self.prune.get("perf_model")

    @property
    def configs_top_k(self) -> float | int:
        return self.prune.get("top_k", 1.0)

    @property
    def fn(self) -> Launchable:
        return self.inner

    @property
    def base_fn(self) -> Launchable:
        """The kernel itself, below everything that chooses its parameters."""
        return _innermost(self.inner)

    @override
    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        with host_memory():
            return super().run(*args, grid=grid, warmup=warmup, **kwargs)


class Heuristics(RuntimeHeuristics):
    """A kernel whose named parameters are computed from the other arguments."""

    @property
    def fn(self) -> Launchable:
        return self.inner

    @property
    def base_fn(self) -> Launchable:
        """The kernel itself, below everything that chooses its parameters."""
        return _innermost(self.inner)


class KernelInterface(ABC, Generic[_T]):
    """What scripts derive their own wrappers of kernels from: `run`, launched by ``[grid]``."""

    run: _T

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Compile for these arguments and run nothing."""
        return self._run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return partial(self._run, grid=grid, warmup=False)

    @property
    def _run(self) -> Callable[..., Any]:
        return cast("Callable[..., Any]", self.run)


KernelInterface.register(Launchable)


def _innermost(kernel: Launchable) -> Launchable:
    while isinstance(kernel, (Autotuner, Heuristics)):
        kernel = kernel.inner
    return kernel


# Of Triton's tuner, without meaning where the first configuration is taken.
_TUNER_OPTIONS = frozenset({"cache_results", "rep", "use_cuda_graph", "warmup"})


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., object] | None = None,
    post_hook: Callable[..., object] | None = None,
    **options: Any,
) -> Callable[[Launchable], Autotuner]:
    """Choose one of `configs` per combination of the arguments named in `key`."""
    do_bench = options.pop("do_bench", None)
    unknown = sorted(options.keys() - _TUNER_OPTIONS)
    if unknown:
        raise TypeError(f"autotune has no option {unknown[0]!r}")

    def decorate(kernel: Launchable) -> Autotuner:
        return Autotuner(
            kernel,
            kernel.arg_names,
            configs,
            key,
            reset_to_zero,
            restore_value,
            pre_hook,
            post_hook,
            prune_configs_by,
            do_bench=do_bench,
        )

    return decorate


def heuristics(values: Mapping[str, Heuristic]) -> Callable[[Launchable], Heuristics]:
    """Compute constexpr parameters from the arguments: ``{"EVEN": lambda args: ...}``."""

    def decorate(kernel: Launchable) -> Heuristics:
        return Heuristics(kernel, values)

    return decorate
