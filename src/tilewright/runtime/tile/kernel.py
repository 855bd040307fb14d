"""A compiled `T` kernel: called with tensors, it checks them, runs, and returns its results.

    kernel = matmul(1024, 1024, 1024)      # a factory that returns a PrimFunc, under @tw.jit
    c = kernel(a, b)

`out_idx` names parameters that the caller does not pass: the call makes them and returns them.
What runs kernels, on this machine, a GPU or Tenstorrent, is loaded when the first of them is for
it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp

from tilewright._notebook import NotebookForm
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.tile import PipelineOp, StorageAliasSpecOp
from tilewright.dialects.tile.interfaces import writes
from tilewright.frontend.callers import located
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.language.T.prim_func import Param, PrimFunc
from tilewright.language.T.symbols import evaluate
from tilewright.runtime.arrays import HostArray, host_array
from tilewright.runtime.fake_tensors import has_fakes
from tilewright.runtime.tile.fresh import FreshArrays, unwatched, watched
from tilewright.runtime.tile.host_checks import BAD_ARGUMENT, check_arguments, sizes_of
from tilewright.runtime.tile.input_generators import TensorSupplyType
from tilewright.runtime.tile.pass_configs import gpu_settings, hip_settings
from tilewright.runtime.tile.settings import notify_observers
from tilewright.runtime.tile.targets import (
    CUDA,
    HIP,
    NUMPY,
    arch_of,
    chip_of,
    is_gpu,
    is_hip,
    is_tenstorrent,
)
from tilewright.runtime.tile.tensors import delivered, example_of, new_tensor

if TYPE_CHECKING:
    from tilewright.runtime.tile.gpu import CudaKernel
    from tilewright.runtime.tile.hip import HipGpuKernel
    from tilewright.runtime.tile.profiler import Profiler
    from tilewright.runtime.tile.tenstorrent import TenstorrentKernel
    from tilewright.targets.cuda.export import Parameter as CParameter
    from tilewright.targets.cuda.settings import Settings
    from tilewright.targets.hip.settings import HipSettings
    from tilewright.targets.numpy.tile import TileKernel as NumpyProgram
    from tilewright.targets.numpy.tile import TileOptions, TileReport

GpuSide: TypeAlias = "CudaKernel | HipGpuKernel"


class CompiledTileKernel(NotebookForm):
    """One function of the IR, ready to run."""

    notebook_form = "tilewright.report.notebook.kernels:tile_kernel_html"

    def __init__(
        self,
        prim_func: PrimFunc,
        out_idx: int | Sequence[int] | None = None,
        *,
        target: str = NUMPY,
        pass_configs: Mapping[str, Any] | None = None,
        compile_flags: object = None,
        described: str | None = None,
    ) -> None:
        self._described = described
        self.prim_func = prim_func
        self._target = target
        self._pass_configs = {**_configs_of(prim_func), **(pass_configs or {})}
        self._compile_flags = _joined_flags(
            prim_func.attrs.get("tilelang_compile_flags"), compile_flags
        )
        self.gpu: GpuSide | None = None
        """How the kernel runs on a GPU, if its target is one."""
        self._cuda: CudaKernel | None = None
        if is_gpu(target):
            from tilewright.runtime.tile.gpu import CudaKernel

            self._cuda = CudaKernel(
                self, lambda: self.settings_for(arch_of(target, prim_func.module))
            )
            self.gpu = self._cuda
        elif is_hip(target):
            from tilewright.runtime.tile.hip import HipGpuKernel

            self.gpu = HipGpuKernel(self, lambda: self.hip_settings_for(chip_of(target)))
        self.tenstorrent: TenstorrentKernel | None = None
        """How the kernel runs on Tenstorrent, if that is its target."""
        if is_tenstorrent(target):
            from tilewright.runtime.tile.tenstorrent import TenstorrentKernel

            self.tenstorrent = TenstorrentKernel(self, target, self._pass_configs)
        self.out_idx = _positions(prim_func, out_idx)
        self.report: TileReport | None = None
        """What happened in the last run."""
        self.config: Mapping[str, Any] | None = None
        """The configuration that a tuner chose."""
        self._times: dict[str, float | None] = {"kernel": None, "reference": None}
        self._measure: Callable[[], None] | None = None

    @cached_property
    def target(self) -> str:
        """What it is compiled for: ``numpy``, ``cuda:sm_90a``, ``hip:gfx942``."""
        if is_hip(self._target):
            return f"{HIP}:{chip_of(self._target)}"
        return (
            f"{CUDA}:{arch_of(self._target, self.prim_func.module)}"
            if is_gpu(self._target)
            else self._target
        )

    def settings_for(self, arch: str) -> Settings:
        """How the user wants it compiled for a GPU, whatever its target is."""
        return gpu_settings(self._pass_configs, arch, self._compile_flags)

    def hip_settings_for(self, chip: str) -> HipSettings:
        """The same for an AMD GPU."""
        return hip_settings(self._pass_configs, chip, self._compile_flags)

    @property
    def name(self) -> str:
        return self.prim_func.name

    @property
    def params(self) -> tuple[Param, ...]:
        return self.prim_func.params

    @cached_property
    def inputs(self) -> tuple[Param, ...]:
        """The parameters that the caller passes."""
        return tuple(p for n, p in enumerate(self.params) if n not in self.out_idx)

    @property
    def is_current(self) -> bool:
        """Whether what the function took from around it is still the same."""
        return all(capture.is_current() for capture in self.prim_func.captured)

    @cached_property
    def untouched(self) -> frozenset[str]:
        """The parameters that the kernel does nothing with: they may be None."""
        arguments = self.prim_func.func.body.block.args
        return frozenset(
            param.name
            for param, argument in zip(self.params, arguments, strict=True)
            if not argument.uses
        )

    @cached_property
    def written(self) -> frozenset[int]:
        """The positions of tensors that the kernel writes."""
        function = self.prim_func.func
        bases = {region.base for region in writes(function)}
        arguments = function.body.block.args
        return frozenset(n for n, argument in enumerate(arguments) if argument in bases)

    @cached_property
    def program(self) -> NumpyProgram:
        """The kernel as a NumPy program; made once."""
        from tilewright.targets.numpy.tile import compile_tile_module

        module = self.prim_func.module.clone()
        _pack_narrow_elements(module)
        _raise_roles(module)
        _check_schedules(module)
        _place_aliases(module)
        _expand_thread_copies(module)
        return compile_tile_module(module)

    def build(self) -> None:
        """Make the program that runs: errors of the kernel are reported here at the latest."""
        if self.tenstorrent is not None:
            self.tenstorrent.build()
            return
        assert self.program if self.gpu is None else self.gpu.program

    def recipe(self) -> dict[str, Any]:
        """How it is compiled, as JSON: another process makes the same kernel of the same IR."""
        returns = self.prim_func.returned is not None
        return {
            "out_idx": [] if returns else list(self.out_idx),
            "target": self._target,
            "pass_configs": {str(key): value for key, value in self._pass_configs.items()},
            "compile_flags": self._compile_flags,
        }

    # -- times of a tuner --------------------------------------------------------------------

    def measure_with(self, measure: Callable[[], None]) -> None:
        """Call `measure`, which sets `latency` and `ref_latency`, when one of them is read."""
        self._measure = measure

    def _time(self, whose: str) -> float | None:
        if self._measure is not None:
            measure, self._measure = self._measure, None
            measure()
        return self._times[whose]

    @property
    def latency(self) -> float | None:
        """Milliseconds that the kernel took when it was tuned; None if it was not."""
        return self._time("kernel")

    @latency.setter
    def latency(self, milliseconds: float | None) -> None:
        self._times["kernel"] = milliseconds

    @property
    def ref_latency(self) -> float | None:
        """Milliseconds of the reference that it was compared with."""
        return self._time("reference")

    @ref_latency.setter
    def ref_latency(self, milliseconds: float | None) -> None:
        self._times["reference"] = milliseconds

    # -- running -----------------------------------------------------------------------------

    def __call__(self, *arguments: Any) -> Any:
        if self.gpu is not None:
            for call in self.gpu.prepared:
                if (result := call(arguments)) is not NotImplemented:
                    return result
        if has_fakes(arguments):
            return self._shapes_only(arguments)
        if self.gpu is not None and (given := self.gpu.given(arguments)) is not None:
            return self._returned(*self.gpu(arguments, given))
        checked = check_arguments(self.name, self.params, arguments, self.inputs, self.untouched)
        like = example_of(arguments)
        given = iter(checked.values)
        outputs: list[Any] = []
        values: list[Any] = []
        for index, param in enumerate(self.params):
            if index not in self.out_idx:
                values.append(next(given))
                continue
            output = self._output(param, checked.sizes, like)
            outputs.append(output)
            values.append(host_array(output))
        self.launch(values)
        return self._returned(outputs, arguments)

    def _output(self, param: Param, sizes: dict[str, int], like: Any) -> Any:
        return new_tensor(self.output_shape(param, sizes), param.dtype, like)

    def output_shape(self, param: Param, sizes: dict[str, int]) -> tuple[int, ...]:
        """The shape of a tensor that the call makes."""
        shape = [evaluate(size, sizes) for size in param.shape]
        known = [size for size in shape if size is not None]
        if len(known) < len(shape):
            message = (
                f"{self.name}.{param.name} cannot be allocated: one of its sizes is not determined "
                "by the other arguments. Pass it, and remove it from out_idx"
            )
            raise located(ValueError(message), BAD_ARGUMENT) from None
        return tuple(known)

    def launch(self, values: Sequence[Any]) -> None:
        """Run on this machine, with one value for each parameter; arrays are `HostArray`s."""
        if self.tenstorrent is not None:
            self.tenstorrent.launch(values)
            return
        from tilewright.targets.numpy.api import Buffer, NumpyFault

        fresh = watched()
        empty = {
            index
            for index, value in enumerate(values)
            if fresh is not None
            and index not in self.out_idx
            and isinstance(value, HostArray)
            and fresh.is_untouched(value.array)
        }
        arguments = [
            Buffer(
                param.name,
                value.array,
                initialised=index not in self.out_idx and index not in empty,
                is_result=index in self.results,
                is_fresh=index in empty,
            )
            if isinstance(value, HostArray)
            else value
            for index, (param, value) in enumerate(zip(self.params, values, strict=True))
        ]
        options = self._options()
        try:
            unknown = self._unknown_of_target if options.check_capacity else ()
            with unwatched():
                self.report = self._run(arguments, options)
            self.report.not_analysed.extend(unknown)
        except NumpyFault as fault:
            notify_observers(self.name, fault)
            raise
        notify_observers(self.name, self.report)
        if fresh is not None:
            self._record_reads(fresh, values, self.report)
        for value in values:
            if isinstance(value, HostArray) and value.finish is not None:
                value.finish()

    def _run(self, arguments: Sequence[Any], options: TileOptions) -> TileReport:
        """Run the kernel as written, or the code of its threads where a tool requests that."""
        from tilewright.runtime.tile.thread_level import thread_runs

        threads = thread_runs()
        if threads is None:
            return self.program.launch(arguments, options)
        return threads.launch(self, arguments, options)

    def _record_reads(self, fresh: FreshArrays, values: Sequence[Any], report: TileReport) -> None:
        """What the launch read, and what it left of arrays that hold nothing else."""
        for parameter, value in zip(self.program.parameters, values, strict=True):
            if parameter.is_read and isinstance(value, HostArray):
                fresh.read(value.array)
        for index, (missing, diagnostic) in report.left.items():
            fresh.left(values[index].array, missing, diagnostic)

    @cached_property
    def _unknown_of_target(self) -> tuple[str, ...]:
        """What is not known of the kernel on its GPU: whether its shared memory fits, whether its
        roles are ordered; raises if they are not."""
        from tilewright.runtime.tile.capacity import require_capacity
        from tilewright.runtime.tile.role_order import require_ordered_roles

        unknown = (require_ordered_roles(self), require_capacity(self))
        return tuple(each for each in unknown if each is not None)

    @cached_property
    def results(self) -> frozenset[int]:
        """The positions of parameters that a call makes and returns."""
        returned = self.prim_func.returned
        return frozenset(self.out_idx if returned is None else set(self.out_idx) & set(returned))

    def _options(self) -> TileOptions:
        from tilewright.runtime.progress import progress_bar
        from tilewright.runtime.tile.options import current_tile_options

        bar = progress_bar(self.name) if sys.stderr.isatty() else None
        return current_tile_options(progress=bar)

    def _shapes_only(self, arguments: Sequence[Any]) -> Any:
        """What a call with tensors without memory returns: tensors like them."""
        like, sizes = example_of(arguments), sizes_of(self.inputs, arguments)
        made = [self.params[index] for index in self.out_idx]
        return self._returned([self._output(param, sizes, like) for param in made], arguments)

    def _returned(self, outputs: list[Any], arguments: Sequence[Any]) -> Any:
        like = example_of(arguments) if outputs else None
        outputs = [delivered(each, like) for each in outputs]
        returned = self.prim_func.returned
        if returned is not None:  # an eager kernel defines what it returns
            every = iter(outputs), iter(arguments)
            values = [next(every[index not in self.out_idx]) for index in range(len(self.params))]
            outputs = [values[index] for index in returned]
            return outputs[0] if len(outputs) == 1 else outputs or None
        if not outputs:
            return None
        return outputs[0] if len(outputs) == 1 else outputs

    # -- looking -----------------------------------------------------------------------------

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The program that runs: CUDA or HIP for a GPU, C++ for Tenstorrent, Python otherwise.

        Where a script finds a GPU described (`described`), it is the CUDA for that one.
        """
        if self.tenstorrent is not None:
            sources = self.tenstorrent.artefact.sources()
            return "\n".join(f"// {name}\n{text}" for name, text in sources.items())
        if self.gpu is not None:
            return self.gpu.source
        return self.program.source if self._described is None else self._described_source

    @cached_property
    def _described_source(self) -> str:
        from tilewright.targets.cuda.compile import source_as

        assert self._described is not None
        return source_as(self.prim_func.module, self.settings_for(self._described))

    def get_host_source(self) -> str:
        """What calls the program: C for a GPU; for this machine, the wrapper is Python."""
        if self._cuda is not None:
            from tilewright.targets.cuda.export import header_text

            return header_text(self._cuda.program, self.name, self._c_parameters(), code=False)
        names = ", ".join(param.name for param in self.inputs)
        return (
            f"# target {self.target}: {self.name}({names}) is called by Tilewright, without a "
            "generated wrapper\n"
        )

    def show_source(self, which: str = "kernel") -> None:
        """Print the program, or with ``"host"`` what calls it."""
        text = self.get_host_source() if which == "host" else self.get_kernel_source()
        sys.stdout.write(f"{text}\n")

    def export_sources(self, kernel_path: str | None = None, host_path: str | None = None) -> None:
        """Write the sources to files."""
        for path, text in (
            (kernel_path, self.get_kernel_source()),
            (host_path, self.get_host_source()),
        ):
            if path is not None:
                Path(path).write_text(text, encoding="utf-8")

    def export(
        self, directory: str | Path | None = None, *, folder: str | Path | None = None
    ) -> Path:
        """Write source, machine code and a C header to a directory, for programs in C."""
        if folder is not None:
            message = "export(folder=...) is deprecated: use export(directory=...)"
            warnings.warn(message, FutureWarning, stacklevel=2)
            directory = folder
        if directory is None:
            raise TypeError("export() needs a directory")
        if self._cuda is None:
            instead = (
                f"'tilewright compile --target {self.target} -o DIR' writes the code object"
                if self.target.startswith(HIP)
                else f"compile {self.name} for a GPU (target='cuda') to export one"
            )
            raise NotImplementedError(f"target {self.target} has no library: {instead}")
        from tilewright.targets.cuda.export import export

        return export(self._cuda.program, self.name, self._c_parameters(), Path(directory))

    def _c_parameters(self) -> list[CParameter]:
        from tilewright.targets.cuda.export import Parameter

        return [
            Parameter(
                *(param.name, param.kind, str(param.dtype), len(param.shape)),
                is_strided=param.strides is not None,
            )
            for param in self.params
        ]

    def export_library(self, path: str | Path) -> None:
        """The same, by TileLang's name for it."""
        self.export(path)

    @property
    def n_regs(self) -> int | None:
        """Registers a thread; None where the target has none."""
        return None if self.gpu is None else self.gpu.program.registers

    @property
    def n_spills(self) -> int | None:
        """Bytes of registers that a thread has to keep in memory."""
        return None if self.gpu is None else self.gpu.program.spill_bytes

    @property
    def remarks(self) -> tuple[str, ...]:
        """The GPU compiler's remarks about the kernel."""
        return () if self.gpu is None else self.gpu.program.remarks

    def get_profiler(
        self, tensor_supply_type: TensorSupplyType = TensorSupplyType.Auto
    ) -> Profiler:
        """Times and compares the kernel with inputs that it makes itself."""
        from tilewright.runtime.tile.profiler import Profiler

        return Profiler(self, tensor_supply_type)

    def __repr__(self) -> str:
        names = ", ".join(param.name for param in self.params)
        return f"CompiledTileKernel({self.name}({names}) for {self.target})"


def _raise_roles(module: ModuleOp) -> None:
    """Branches of some threads that share tile operations are roles, on every target."""
    from tilewright.passes.tile.raise_thread_ranges import RaiseThreadRanges, needs_roles

    if needs_roles(module):
        RaiseThreadRanges().run(module, DiagnosticEngine())


def _check_schedules(module: ModuleOp) -> None:
    """A schedule that the user wrote is right or wrong, whatever the target makes of it."""
    loops = [op for op in walk(module) if isinstance(op, PipelineOp)]
    if any(loop.manual_stage is not None for loop in loops):
        from tilewright.passes.tile.plan_pipeline import PlanPipeline

        engine = DiagnosticEngine()
        PlanPipeline().run(module.clone(), engine)
        engine.raise_if_errors()


def _place_aliases(module: ModuleOp) -> None:
    """Buffers of a storage-alias spec get their offsets: they share bytes in a run as well."""
    if any(isinstance(op, StorageAliasSpecOp) for op in walk(module)):
        from tilewright.passes.tile.plan_storage_alias import PlanStorageAlias

        engine = DiagnosticEngine()
        PlanStorageAlias().run(module, engine)
        engine.raise_if_errors()


def _pack_narrow_elements(module: ModuleOp) -> None:
    """Arrays hold two elements of 4 bits in a byte, at every level."""
    from tilewright.passes.tile.pack_narrow_elements import PackNarrowElements

    engine = DiagnosticEngine()
    PackNarrowElements().run(module, engine)
    engine.raise_if_errors()


def _expand_thread_copies(module: ModuleOp) -> None:
    """What each thread copies at an offset of its own, it copies element by element."""
    if any(isinstance(op, ThreadIdOp) for op in walk(module)):
        from tilewright.passes.gpu.expand_thread_copies import ExpandThreadCopies

        ExpandThreadCopies().run(module, DiagnosticEngine())


def _configs_of(prim_func: PrimFunc) -> Mapping[str, Any]:
    """The settings that the function itself makes, with ``T.annotate_pass_configs``."""
    from tilewright.runtime.tile.pass_configs import checked_configs

    found = prim_func.attrs.get("tilelang_pass_configs")
    return {} if found is None else checked_configs(found)


def _joined_flags(own: Sequence[str] | None, given: object) -> object:
    """Flags of the function, and those of the call after them."""
    if not own:
        return given
    if given is None:
        return list(own)
    return [*own, *(given.split() if isinstance(given, str) else cast("Sequence[str]", given))]


def _positions(prim_func: PrimFunc, out_idx: int | Sequence[int] | None) -> tuple[int, ...]:
    """The positions of parameters that a call makes."""
    if prim_func.returned is not None and out_idx is not None:
        message = (
            f"Out index conflict: {prim_func.name} returns its outputs (T.empty), and out_idx "
            f"{out_idx} names others: leave out out_idx"
        )
        raise located(ValueError(message), BAD_ARGUMENT)
    if prim_func.returned is not None or out_idx is None:
        return tuple(n for n, param in enumerate(prim_func.params) if param.is_output)
    count = len(prim_func.params)
    given = [out_idx] if isinstance(out_idx, int) else list(out_idx)
    found = [index + count if index < 0 else index for index in given]
    for index, position in zip(given, found, strict=True):
        if not 0 <= position < count:
            message = (
                f"out_idx has {index}, but {prim_func.name} has {count} parameters: "
                f"use {-count} to {count - 1}"
            )
            raise located(ValueError(message), BAD_ARGUMENT)
        if prim_func.params[position].kind != "tensor":
            message = f"out_idx has {index}, but {prim_func.params[position].name} is not a tensor"
            raise located(ValueError(message), BAD_ARGUMENT)
    return tuple(sorted(dict.fromkeys(found)))
