"""A kernel compiled for one specialisation of its arguments: its IR at every stage, and its run.

For the host, compiling is tracing; the NumPy program is made when it is first run. For a GPU the
machine code is made at once (`runtime.pointer.gpu`), or found on disk: then nothing is traced
unless the IR is requested.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tilewright._notebook import NotebookForm
from tilewright.dialects.ttg.context import TARGET
from tilewright.frontend.captures import Capture
from tilewright.frontend.carets import underlined
from tilewright.frontend.reads import Reads
from tilewright.frontend.trace import Traced, trace
from tilewright.ir.diagnostics import DiagnosticEngine, pretty
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.text import print_module
from tilewright.ir.verify import verify
from tilewright.language.tl.arguments import argument_of
from tilewright.language.tl.options import Options, using
from tilewright.passes import PASSES
from tilewright.passes.tlx.release_mixed_layouts import ReleaseMixedLayouts
from tilewright.passes.tlx.storage_alias.define_overlaps import define_overlaps
from tilewright.runtime.arrays import HostArray, NumpyArray, host_array
from tilewright.runtime.choice import TargetChoice
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.runtime.options import reachable_buffers, run_options
from tilewright.runtime.pointer.host_reads import host_reads
from tilewright.runtime.specialise import CONSTEXPR, DIVISIBLE, Key
from tilewright.runtime.tile.fresh import unwatched
from tilewright.runtime.uninitialised import is_fresh, mark_initialised
from tilewright.targets.numpy.api import Argument, Buffer, Descriptor, RunReport

if TYPE_CHECKING:
    from tilewright.runtime.cuda.launcher import Launcher
    from tilewright.runtime.pointer.jit import JITFunction
    from tilewright.runtime.pointer.raised import RaisedTileKernel
    from tilewright.targets.numpy.kernel import NumpyKernel
    from tilewright.targets.triton.artefact import Artefact

STAGES = ("ttir", "optimised", "numpy")
_HOST = TargetChoice()
_CLEAN_UP = "canonicalize,cse,dce"
_CHECK_ALIAS_SYNC = "TILEWRIGHT_CHECK_ALIAS_SYNC"
"""The environment variable that has what is traced checked for accesses that nothing orders."""


@dataclass(repr=False)
class CompiledKernel(NotebookForm):
    """One kernel for one kind of arguments, which `signature` and `constants` describe."""

    notebook_form = "tilewright.report.notebook.kernels:compiled_kernel_html"

    kernel: JITFunction
    keys: tuple[Key, ...]
    metadata: Mapping[str, Any]
    settings: Options
    choice: TargetChoice = _HOST
    device: int | None = None
    """The GPU whose memory the array arguments are in; None if they are in host memory."""
    captured: tuple[Capture, ...] = field(default=(), init=False)
    """Names around the kernel that were used, and what they stood for."""
    reads: Reads | None = field(default=None, init=False)
    """What functions read that ran while the kernel was compiled."""
    artefact: Artefact | None = field(default=None, init=False)
    """Machine code, where the target is a GPU."""
    launcher: Launcher | None = field(default=None, init=False)
    """Set by the first launch on a GPU."""
    last_report: RunReport | None = field(default=None, init=False)

    def __repr__(self) -> str:
        types = ", ".join(f"{name}: {kind}" for name, kind in self.signature.items())
        return f"<compiled {self.name}({types})>"

    @property
    def name(self) -> str:
        return self.kernel.name

    @cached_property
    def traced(self) -> Traced:
        """The kernel traced for these arguments, and verified."""
        arguments = {
            name: key[1] if key[0] == CONSTEXPR else argument_of(key)
            for name, key in self._named_keys()
        }
        with using(self.settings):
            traced = trace(self.kernel, arguments, name=self.kernel.name)
        engine = DiagnosticEngine()
        ReleaseMixedLayouts().run(traced.module, engine)
        define_overlaps(traced.module, engine)
        engine.raise_if_errors()
        verify(traced.module, engine)
        engine.raise_if_errors()
        if os.environ.get(_CHECK_ALIAS_SYNC, "0") not in ("", "0"):
            _report_alias_sync(traced.module)
        return traced

    @property
    def module(self) -> ModuleOp:
        """The IR as traced."""
        return self.traced.module

    @cached_property
    def optimised(self) -> ModuleOp:
        """The IR after clean-up; the traced module stays as it is."""
        module = self.module.clone()
        engine = DiagnosticEngine()
        Pipeline.build(parse_pipeline(_CLEAN_UP), PASSES).run(module, engine)
        engine.raise_if_errors()
        return module

    @cached_property
    def numpy(self) -> NumpyKernel:
        # Not needed for the IR alone.
        from tilewright.targets.numpy.kernel import compile_module

        module, machine = self.module, self.choice.machine
        if not machine.is_cuda:
            # Its memories decide what fits; NVIDIA's is taken where the module states none.
            module = module.clone()
            module.attributes.setdefault(TARGET, StringAttr(str(machine)))
        return compile_module(
            module,
            num_warps=self.metadata.get("num_warps", 4),
            cluster=self.metadata.get("ctas_per_cga"),
        )

    @cached_property
    def raised(self) -> RaisedTileKernel:
        """The kernel raised to tiles, for a target like ``cuda:sm_90a``.

        Raises:
            CompileError: with the reasons, if it is not raised.
        """
        from tilewright.runtime.pointer.raised import (
            raised_tile_kernel,  # Triton's targets do without
        )

        return raised_tile_kernel(self)

    def _runs_raised(self) -> bool:
        """Whether launches run the raised kernel: on its target, or as threads for a tool."""
        if self.choice.raised is None or self.choice.is_raised:
            return self.choice.is_raised
        from tilewright.runtime.tile.thread_level import thread_runs

        return thread_runs() is not None

    def text(self, stage: str = "ttir", *, locations: bool = False) -> str:
        """The kernel after `stage`: ``ttir``, ``optimised`` or the ``numpy`` source.

        With a target like ``cuda:sm_90a`` also ``tile``, the kernel raised to tiles. One for Triton
        has those of its `artefact` too: ``ttgir``, ``llir``, ``ptx``, and as ``sass`` the
        instructions of its cubin.
        """
        if stage == "ttir":
            return print_module(self.module, locations=locations)
        if stage == "optimised":
            return print_module(self.optimised, locations=locations)
        if stage == "numpy":
            return self.numpy.source
        if stage == "tile" and self.choice.raised is not None:
            return print_module(self.raised.prim_func.module, locations=locations)
        if stage == "sass" and self.artefact is not None:
            from tilewright.targets.triton.sass import disassembled  # rarely requested

            return disassembled(self.artefact.cubin)
        made: Mapping[str, str | bytes] = {} if self.artefact is None else self.artefact.asm
        found = made.get(stage)
        if isinstance(found, str):
            return found
        if found is not None:
            raise ValueError(f"stage {stage!r} is binary: use asm[{stage!r}]")
        known = [*STAGES, *(name for name in made if name not in STAGES)]
        raise ValueError(f"unknown stage {stage!r}; expected one of {', '.join(known)}")

    @property
    def signature(self) -> dict[str, object]:
        """The type of every parameter as Triton writes it; ``constexpr`` if it is compiled in."""
        return {name: _spelling(key) for name, key in self._named_keys()}

    @property
    def constants(self) -> dict[str, object]:
        """The values that are compiled in."""
        return {name: key[1] for name, key in self._named_keys() if key[0] == CONSTEXPR}

    @property
    def divisible(self) -> tuple[str, ...]:
        """The parameters known to be multiples of 16."""
        return tuple(name for name, key in self._named_keys() if key[1:] == (DIVISIBLE,))

    def _named_keys(self) -> Iterator[tuple[str, Key]]:
        return zip(self.kernel.arg_names, self.keys, strict=True)

    @property
    def asm(self) -> Mapping[str, Any]:
        """Every stage by its name: texts, and the bytes of a ``cubin``."""
        if self.artefact is not None:
            return self.artefact.asm  # one from disk reads its texts when they are requested
        return {stage: self.text(stage) for stage in STAGES}

    def is_current(self) -> bool:
        """Whether what was compiled in of the kernel's surroundings still has its values."""
        return all(capture.is_current() for capture in self.captured) and (
            self.reads is None or self.reads.is_current()
        )

    def launch(
        self, grid: tuple[int, int, int], values: Sequence[object], stream: object = None
    ) -> RunReport | None:
        """Run; a run on the host has a report. `values` are one per parameter, as `specialise`
        returned them. A `stream` orders work on a GPU; on the host it has no effect.
        """
        if self.artefact is not None:
            self._launch_on_gpu(self.artefact, grid, values, stream)
            return None
        if self._runs_raised():
            self.raised.run(grid, values, stream)
            return None
        return self.launch_on_host(grid, values)

    def launch_on_host(self, grid: tuple[int, int, int], values: Sequence[object]) -> RunReport:
        """Run in the interpreter, whatever the target is."""
        hosts: list[HostArray] = []
        arguments: list[Argument] = []
        for name, key, value in zip(self.kernel.arg_names, self.keys, values, strict=True):
            _append(arguments, hosts, name, key, value)
        options = run_options(self.name, reachable_buffers())
        if not self.kernel.check_uninitialised:
            options = replace(options, check_uninitialised=False)
        with unwatched():
            report = self.last_report = self.numpy.launch(grid, arguments, options)
        for host in hosts:
            if host.finish is not None:
                host.finish()
        for argument in arguments:
            if isinstance(argument, Buffer) and not argument.initialised:
                mark_initialised(argument.array)
        for warning in report.warnings:
            warnings.warn(pretty(underlined(warning), options.sources), stacklevel=5)
        return report

    def _launch_on_gpu(
        self,
        artefact: Artefact,
        grid: tuple[int, int, int],
        values: Sequence[object],
        stream: object,
    ) -> None:
        # Compiling alone needs no driver.
        from tilewright.runtime.pointer.gpu import flat_values, launcher_of

        if self.launcher is None:
            self.launcher = launcher_of(artefact)
        self.launcher(grid, flat_values(self, values), stream)


def _append(
    arguments: list[Argument], hosts: list[HostArray], name: str, key: Key, value: Any
) -> None:
    """Add what one parameter contributes to the arguments of the compiled function."""
    kind = key[0]
    if kind == CONSTEXPR:
        return
    if kind == "tuple":
        for index, (inner, item) in enumerate(zip(key[2:], value, strict=True)):
            _append(arguments, hosts, f"{name}[{index}]", inner, item)
    elif kind == "tensordesc":
        arguments.extend(_descriptor(hosts, name, value))
    elif kind.startswith("*"):
        host = host_array(value.owner) if isinstance(value, DeviceArray) else value
        if isinstance(host, HostArray):
            hosts.append(host)
            host = host.array
        array = cast("NumpyArray", host)
        arguments.append(Buffer(name, array, initialised=not is_fresh(array)))
    else:
        arguments.append(value)


def _descriptor(hosts: list[HostArray], name: str, descriptor: TensorDescriptor) -> list[Argument]:
    shape, strides = tuple(descriptor.shape), tuple(descriptor.strides)
    host = host_array(descriptor.base)
    hosts.append(host)
    base = Buffer(name, host.array)
    return [Descriptor(base, shape, strides, descriptor.padding), *shape, *strides]


def _spelling(key: Key) -> object:
    if key[0] == "tuple":
        return tuple(_spelling(inner) for inner in key[2:])
    if key[0] == "tensordesc":
        return f"tensordesc<{key[1]}[{','.join(map(str, key[2]))}]>"
    return key[0]


def compile_kernel(
    kernel: JITFunction,
    keys: Sequence[Key],
    settings: Options,
    metadata: Mapping[str, Any],
    *,
    choice: TargetChoice = _HOST,
    device: int | None = None,
) -> CompiledKernel:
    """`kernel` for arguments of these `keys`, checked, and for a GPU down to machine code."""
    compiled = CompiledKernel(kernel, tuple(keys), dict(metadata), settings, choice, device)
    if choice.is_gpu:
        # Kernels on the host need nothing of this.
        from tilewright.runtime.pointer.gpu import build

        compiled.artefact, compiled.captured = build(compiled)
    else:
        compiled.captured = compiled.traced.captured
        if choice.is_raised:
            assert compiled.raised  # a kernel that is not raised is an error here
    # Noted after the trace, which may have put something into a table.
    compiled.reads = host_reads(kernel, keys, compiled.captured)
    return compiled


Grid = tuple[int, int, int]
Launch = Callable[[], "RunReport | None"]
Instead = Callable[["CompiledKernel", Grid, Sequence[Any], Launch], "RunReport | None"]


@contextmanager
def launches_to(instead: Instead) -> Generator[None]:
    """Inside the ``with``, a launch of a kernel calls ``instead(kernel, grid, values, launch)``.

    What that returns is what the launch returns; `launch` launches.
    """
    launch = CompiledKernel.launch

    def replaced(
        self: CompiledKernel, grid: Grid, values: Sequence[object], stream: object = None
    ) -> RunReport | None:
        return instead(self, grid, values, lambda: launch(self, grid, values, stream))

    CompiledKernel.launch = replaced
    try:
        yield
    finally:
        CompiledKernel.launch = launch


def _report_alias_sync(module: ModuleOp) -> None:
    """Warnings and remarks of `tlx-check-alias-sync` to standard error; they prevent nothing.

    Machine code that is found on disk needs no tracing, and is not checked again.
    """
    # Imported here: without the check, the model of asynchronous units and barriers is not needed.
    from tilewright.ir.diagnostics import pretty_all
    from tilewright.passes.tlx.check_alias_sync import CheckAliasSync

    engine = DiagnosticEngine()
    CheckAliasSync().run(module, engine)
    if engine.diagnostics:
        sys.stderr.write(pretty_all(engine.diagnostics, engine.sources) + "\n")
