"""A `tl` kernel raised to tiles, for our own CUDA, HIP and Tenstorrent.

    with tw.running(target="cuda:sm_90a"): kernel[grid](x, y, n, BLOCK=128)

The kernel is traced as always, `raise_module` makes a kernel on tiles of it, and from there it is a
kernel like those of `T` (`CompiledTileKernel`): same passes, machine code, disk cache, thread-level
executor and model. Its arguments are flat memory, scalars and the sizes of the grid. Integers that
a specialisation found divisible by 16 are so in every launch of it, since the next launch finds the
specialisation of its own arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp

from tilewright.analysis.raising.assumption_checks import AssumptionChecks
from tilewright.analysis.raising.planner import SHARED_BYTES
from tilewright.analysis.raising.views import is_pointer_argument
from tilewright.analysis.tensors.tensor_geometry import address_bytes
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tt import (
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorStoreOp,
    GridDependencyWaitOp,
    LoadOp,
    PtrType,
)
from tilewright.dialects.tt import FuncOp as TritonFuncOp
from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp
from tilewright.dialects.ttng import AsyncTMACopyGlobalToLocalOp, AsyncTMACopyLocalToGlobalOp
from tilewright.frontend.callers import located
from tilewright.ir.codes.shared import TARGET_NEEDS_TILES
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.hints import name_hint_of
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.language.T.prim_func import PrimFunc
from tilewright.memory.multiprocessors import MULTIPROCESSORS, RESERVED_SMEM_BYTES
from tilewright.passes.tile.check_barriers import check_launch
from tilewright.passes.tile.raise_to_tile import (
    TMA_BYTES,
    NotRaised,
    RaisedKernel,
    RaiseOptions,
    raise_module,
)
from tilewright.runtime.arrays import HostArray
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.runtime.launch_errors import BAD_LAUNCH, at_launch, bad_argument, unlaunchable
from tilewright.runtime.options import reachable_buffers
from tilewright.runtime.pointer.raised_aliases import (
    Merge,
    NotMerged,
    Span,
    merged_module,
    merges_of,
    with_merged_memory,
)
from tilewright.runtime.pointer.raised_arguments import (
    BadArgument,
    flat_arguments,
    flat_names,
    host_memory,
    on_device,
    on_host,
    param_of,
    spans_on_gpu,
    spans_on_host,
)
from tilewright.runtime.pointer.raised_calls import Passed
from tilewright.runtime.tile.gpu import NARROW
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.options import current_tile_options
from tilewright.runtime.tile.settings import notify_observers
from tilewright.runtime.tile.targets import arch_of, checked_target, is_gpu
from tilewright.runtime.tile.thread_level import thread_runs
from tilewright.runtime.uninitialised import is_fresh
from tilewright.targets.numpy.api import Buffer

if TYPE_CHECKING:
    from tilewright.runtime.choice import TargetChoice
    from tilewright.runtime.pointer.compiled import CompiledKernel
    from tilewright.runtime.pointer.raised_tenstorrent import FixedKernel
    from tilewright.runtime.tile.device import Plan
    from tilewright.runtime.tile.thread_level import ThreadRuns

_IS_NULL = (
    "the array is empty, its address is 0, and the kernel tests whether the pointer is null: pass "
    "None, or launch with target='triton'"
)
_CHECKED_LAUNCHES = 4
"""Launches with different integers whose tasks are checked: that takes up to a second, as compiling
does, so a kernel whose sizes change all the time is not held up by each launch."""
_READS = (
    LoadOp,
    DescriptorLoadOp,
    DescriptorGatherOp,
    AsyncCopyGlobalToLocalOp,
    AsyncTMACopyGlobalToLocalOp,
)


def raised_tile_kernel(compiled: CompiledKernel) -> RaisedTileKernel:
    """The kernel of `compiled` on tiles, for the target of its choice.

    Raises:
        CompileError: with the reasons, if it is not raised.
    """
    if compiled.choice.raised is None:
        raise located(
            ValueError(
                f"target {compiled.choice} runs kernels on pointers: name a target that they are "
                "raised to tiles for, for example target='cuda:sm_90a'"
            ),
            BAD_LAUNCH,
        )
    target = checked_target(compiled.choice.raised)
    if is_gpu(target):
        target = f"cuda:{arch_of(target)}"
    result = _raised(compiled, whole_rows=False)
    if isinstance(result, NotRaised):
        raise _refused(result, compiled, target)
    return RaisedTileKernel(compiled, result, target)


def _raised(
    compiled: CompiledKernel, *, whole_rows: bool, merges: Sequence[Merge] = ()
) -> RaisedKernel | NotRaised:
    options = compiled.metadata
    settings = RaiseOptions(
        options["num_warps"],
        options["num_stages"],
        _shared_bytes(compiled),
        whole_rows=whole_rows,
    )
    return raise_module(merged_module(_with_names(compiled), merges), settings)


def _shared_bytes(compiled: CompiledKernel) -> int:
    """What a block may have of shared memory on the target; that of sm_90 if it is unknown."""
    target = checked_target(compiled.choice.raised or "cuda")
    if not is_gpu(target):
        return SHARED_BYTES
    digits = re.search(r"\d+", arch_of(target))
    found = MULTIPROCESSORS.get(int(digits[0])) if digits else None
    return SHARED_BYTES if found is None else found.smem_bytes - RESERVED_SMEM_BYTES


def _with_names(compiled: CompiledKernel) -> ModuleOp:
    """The traced module, whose arguments have the names of the kernel's parameters.

    A launch without `launch_pdl` begins after the kernels before it: there is nothing to wait for.
    """
    module = compiled.module.clone()
    function = _entry(module)
    if not compiled.metadata["launch_pdl"]:
        for op in [each for each in walk(function) if isinstance(each, GridDependencyWaitOp)]:
            Rewriter().erase(op)
    names = flat_names(compiled.kernel.arg_names, compiled.keys)
    for argument, name in zip(function.body.blocks[0].args, names, strict=True):
        argument.name_hint = name_hint_of(name)
    return module


def _entry(module: ModuleOp) -> TritonFuncOp:
    return next(op for op in module.ops if isinstance(op, TritonFuncOp) and op.is_public)


def _refused(result: NotRaised, compiled: CompiledKernel, target: str) -> CompileError:
    """An error at the kernel, and the remark of each op that stands against raising it."""
    engine = DiagnosticEngine()
    error = engine.error(
        next(iter(compiled.module.body.block.ops)),
        f"{result.name} cannot be compiled for {target}, because it is not raised to tiles; the "
        "remarks give the reasons",
        TARGET_NEEDS_TILES,
    )
    error.note(None, f"help: change what the remarks name{_alternative(compiled.choice)}")
    for refusal in result.refusals:
        refusal.report(engine)
    return CompileError(engine)


def _alternative(choice: TargetChoice) -> str:
    """The target that compiles kernels on pointers for the same hardware, if there is one."""
    if choice.is_simulated:
        return ""  # Tenstorrent's cores
    known = f":{choice.machine.arch_name}" if choice.raised != "cuda" else ""
    return f", or use target 'triton{known}'"


class RaisedTileKernel(CompiledTileKernel):
    """A kernel on tiles that was written on pointers."""

    def __init__(
        self,
        compiled: CompiledKernel,
        raised: RaisedKernel,
        target: str,
        merges: tuple[Merge, ...] = (),
    ) -> None:
        function = next(op for op in raised.module.ops if isinstance(op, FuncOp))
        names = (*raised.parameters, *raised.grid)
        arguments = function.body.block.args
        params = tuple(param_of(n, a.type) for n, a in zip(names, arguments, strict=True))
        traced = compiled.traced
        prim_func = PrimFunc(raised.name, raised.module, params, "", traced.captured)
        super().__init__(prim_func, (), target=target)
        self.compiled = compiled
        self.raised = raised
        self.merges = merges
        """Parameters that are others, in all launches of this kernel."""
        self._fixed: dict[tuple[Any, ...], FixedKernel] = {}
        self._merged: dict[tuple[Merge, ...], RaisedTileKernel] = {}
        self._checked_launches: set[tuple[int | None, ...]] = set()
        """The integers of launches whose tasks end."""

    @cached_property
    def written(self) -> frozenset[int]:
        """The positions of arrays that the kernel writes."""
        accesses = self.raised.plan.accesses.items()
        return frozenset(
            access.base.index
            for op, access in accesses
            if not isinstance(op, _READS) and is_pointer_argument(access.base)
        )

    @cached_property
    def of_whole_rows(self) -> RaisedTileKernel:
        """The kernel for descriptors whose rows are multiples of 16 bytes, as TMA stores them."""
        plan = self.raised.plan
        is_stored = any(isinstance(op, DescriptorStoreOp) for op in plan.staged) or any(
            isinstance(op, AsyncTMACopyLocalToGlobalOp) for op in plan.accesses
        )
        if not is_stored:
            return self
        result = _raised(self.compiled, whole_rows=True, merges=self.merges)
        assert isinstance(result, RaisedKernel)
        return RaisedTileKernel(self.compiled, result, self.target, self.merges)

    def merged(self, merges: tuple[Merge, ...]) -> RaisedTileKernel:
        """The kernel for arrays that share bytes."""
        found = self._merged.get(merges)
        if found is None:
            result = _raised(self.compiled, whole_rows=False, merges=merges)
            if isinstance(result, NotRaised):
                raise _refused(result, self.compiled, self.target)
            found = RaisedTileKernel(self.compiled, result, self.target, merges)
            self._merged[merges] = found
        return found

    # -- launches ----------------------------------------------------------------------------

    def run(self, grid: tuple[int, int, int], values: Sequence[Any], stream: object = None) -> None:
        """Launch over `grid`, with one value for each parameter of the kernel as written."""
        try:
            threads = thread_runs()
            if threads is not None or self.tenstorrent is not None:
                self._run_here(grid, values, threads)
            else:
                self._run_on_gpu(grid, values, stream)
        except BadArgument as error:
            # Its class is of no interest to a user.
            bad = bad_argument(ValueError(str(error)), self.compiled.kernel, error.name)
            raise unlaunchable(bad) from None

    def flat_values(self, grid: tuple[int, int, int], values: Sequence[Any]) -> list[Any]:
        """One value for each parameter of the raised function, arrays as memory of this machine."""
        flat = (*flat_arguments(self.compiled.keys, values), *grid)
        return [host_memory(param, each) for param, each in zip(self.params, flat, strict=True)]

    def fixed(self, given: Sequence[Any]) -> FixedKernel:
        """The kernel for the extents, integers and grid of a launch on Tenstorrent."""
        key = tuple(each.array.size if isinstance(each, HostArray) else each for each in given)
        if key not in self._fixed:
            from tilewright.runtime.pointer.raised_tenstorrent import (
                fixed_kernel,  # GPUs do without
            )

            self._fixed[key] = fixed_kernel(self, given)
        return self._fixed[key]

    def _run_here(
        self, grid: tuple[int, int, int], values: Sequence[Any], threads: ThreadRuns | None
    ) -> None:
        """On the model of the hardware, or as threads in the executor."""
        values = [on_host(each) for each in values]
        given = self.flat_values(grid, values)
        self._check_integers(given, grid)
        self._check_tasks(given, grid)
        merges = self._merges(spans_on_host(given))
        if merges:
            self.merged(merges)._run_with(grid, values, with_merged_memory(given, merges), threads)
        else:
            self._run_with(grid, values, given, threads)

    def _run_with(
        self,
        grid: tuple[int, int, int],
        values: Sequence[Any],
        given: list[Any],
        threads: ThreadRuns | None,
    ) -> None:
        if self.tenstorrent is not None:
            fixed = self.fixed(given)
            fixed.kernel.launch(fixed.values(given))
            return
        assert threads is not None
        passed = (*flat_arguments(self.compiled.keys, values), *grid)
        arguments = [
            Buffer(param.name, each.array, initialised=not _is_fresh(original))
            if isinstance(each, HostArray)
            else each
            for param, original, each in zip(self.params, passed, given, strict=True)
        ]
        report = threads.launch(
            self,
            arguments,
            replace(current_tile_options(), reachable=reachable_buffers()),
            as_written=lambda: self.compiled.launch_on_host(grid, values),
        )
        notify_observers(self.name, report)
        for each in given:
            if isinstance(each, HostArray) and each.finish is not None:
                each.finish()

    def _run_on_gpu(
        self, grid: tuple[int, int, int], values: Sequence[Any], stream: object
    ) -> None:
        kernel = self.of_whole_rows if _has_whole_rows(values) else self
        kernel._launch(grid, values, stream)

    def _launch(self, grid: tuple[int, int, int], values: Sequence[Any], stream: object) -> None:
        assert self.gpu is not None
        given = self._given(grid, values)
        self._check_integers(given, grid)
        self._check_tasks(given, grid)
        merges = self._merges(spans_on_gpu(given))
        kernel = self.merged(merges) if merges else self
        kernel._launch_with(with_merged_memory(given, merges) if merges else given, stream)

    def _given(self, grid: tuple[int, int, int], values: Sequence[Any]) -> list[Any]:
        """What the raised function takes of a launch on a GPU."""
        flat = (*flat_arguments(self.compiled.keys, values), *grid)
        given = [make(each) for make, each in zip(self._makers, flat, strict=True)]
        for position in self.raised.not_null:
            if not given[position].address:
                raise BadArgument(self.params[position].name, _IS_NULL)
        return given

    def planned(
        self, grid: tuple[int, int, int], values: Sequence[Any]
    ) -> tuple[RaisedTileKernel, list[Any], Plan] | None:
        """The kernel, its arguments and the plan of a launch that was made; None if arrays share
        bytes. `Passed` stands for scalars that are `passed_on`."""
        kernel = self.of_whole_rows if _has_whole_rows(values) else self
        given = kernel._given(grid, values)
        if kernel.gpu is None or kernel._merges(spans_on_gpu(given)):
            return None
        if not self.passed_on <= kernel.passed_on:
            return None
        for position in self.passed_on:
            given[position] = Passed(position)
        return kernel, given, kernel.gpu.device.planned(given)

    @cached_property
    def passed_on(self) -> frozenset[int]:
        """The scalars that the kernel on the device gets as they are, whatever they are."""
        if self.gpu is None or self.raised.plan.tasks.tasks:
            return frozenset()
        scalars = {index for index, each in enumerate(self.params) if each.kind == "scalar"}
        own = scalars - {*range(len(self.raised.parameters), len(self.params))}
        return frozenset(own & self.gpu.device.passed_on - self._integers.read)

    def maker(self, position: int) -> Callable[[Any], Any]:
        """What makes of an argument what the raised function takes."""
        return self._makers[position]

    def spans(self, given: Sequence[Any]) -> list[Span]:
        """The memory of the arrays that the kernel accesses."""
        return [each for each in spans_on_gpu(given) if each.position not in self._idle]

    def alignment(self, position: int) -> int:
        """What the address of an array has to be a multiple of."""
        return address_bytes(self.prim_func.func.body.block.args[position])

    def _launch_with(self, given: list[Any], stream: object) -> None:
        assert self.gpu is not None
        for each in given:
            if isinstance(each, DeviceArray) and each.shape[0] > NARROW:
                self.gpu.widen()
        self.gpu.device.launch(given, stream)

    def _check_integers(self, given: Sequence[Any], grid: tuple[int, int, int]) -> None:
        """Refuse a launch in which an integer of the kernel leaves its type: it wraps there, and
        addresses on tiles, which have 64 bits, do not."""
        found = self._integers.violated(given, grid)
        if found is None:
            return
        assumption, value = found
        message = (
            f"{assumption.name.removeprefix('%')} = {assumption.value} is {value} in the last "
            f"program of the grid, and its type holds {assumption.low} to {assumption.high}: the "
            "kernel as written wraps there; compute it with 64 bits, for example from "
            "tl.program_id(0).to(tl.int64)"
        )
        raise unlaunchable(at_launch(OverflowError(message), self.compiled.kernel))

    def _check_tasks(self, given: Sequence[Any], grid: tuple[int, int, int]) -> None:
        """Refuse a launch in which tasks wait forever, or for barriers that do not exist: what can
        be known of that at compile time depends on the arguments."""
        if not self.raised.plan.tasks.tasks:
            return
        integers = tuple(int(each) if is_integer(each) else None for each in given)
        checked = self._checked_launches
        if integers in checked or len(checked) >= _CHECKED_LAUNCHES:
            return
        engine = check_launch(self.raised.module, integers, grid)
        if engine.error_count:
            raise CompileError(engine)
        checked.add(integers)

    @cached_property
    def _integers(self) -> AssumptionChecks:
        return AssumptionChecks(self.raised.plan, self.raised.assumptions, self.raised.parameters)

    def _merges(self, spans: Sequence[Span]) -> tuple[Merge, ...]:
        """Which parameters are others in this launch; `ValueError` if that cannot be expressed."""
        if self._idle:
            spans = [each for each in spans if each.position not in self._idle]
        found = merges_of(spans, self.written, self.params, self._pointers)
        if not isinstance(found, NotMerged):
            return found
        written, other = self.params[found.written].name, self.params[found.other].name
        message = (
            f"{written} and {other} share bytes, the kernel writes {written}, and {found.reason}: "
            f"code for {self.target} cannot take them for one array; pass a copy of {other}, or "
            "launch with target='triton'"
        )
        raise unlaunchable(at_launch(ValueError(message), self.compiled.kernel))

    @cached_property
    def _makers(self) -> tuple[Callable[[Any], Any], ...]:
        arguments = self.prim_func.func.body.block.args
        pairs = zip(self.params, arguments, strict=True)
        return tuple(on_device(param, address_bytes(each)) for param, each in pairs)

    @cached_property
    def _idle(self) -> frozenset[int]:
        """The positions of arrays that the kernel does not access: they may share any bytes."""
        arguments = self.prim_func.func.body.block.args
        bases = (access.base for access in self.raised.plan.accesses.values())
        accessed = {base.index for base in bases if is_pointer_argument(base)}
        return frozenset(
            each.index
            for each in arguments
            if isinstance(each.type, MemRefType) and each.index not in accessed
        )

    @cached_property
    def _pointers(self) -> frozenset[int]:
        """The positions of parameters that the kernel takes as pointers, not as descriptors."""
        function = _entry(self.compiled.module)
        arguments = function.body.blocks[0].args
        return frozenset(each.index for each in arguments if isinstance(each.type, PtrType))


def _has_whole_rows(values: Sequence[Any]) -> bool:
    """Whether there are descriptors, and rows of all of them are multiples of 16 bytes."""
    given = [each for each in values if isinstance(each, TensorDescriptor)]
    return bool(given) and all(
        each.shape[-1] * each.base.dtype.itemsize % TMA_BYTES == 0 for each in given
    )


def is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _is_fresh(passed: Any) -> bool:
    """Whether nothing was written to an array since `tw.empty` made it."""
    return is_fresh(passed.array if isinstance(passed, HostArray) else passed)
