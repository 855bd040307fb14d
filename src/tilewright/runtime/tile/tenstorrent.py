"""A `T` kernel on Tenstorrent: compiled on first use, run on a model of the hardware.

Arrays of the caller are padded, tilized and written to the model's DRAM; results are read back and
cropped. The run checks what hardware does not: circular buffers, DST, barriers, init calls; a
finding is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from tilewright.ir.codes.shared import RESULT_DEPENDS_ON_SCHEDULE
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from tilewright.runtime.arrays import HostArray
from tilewright.runtime.tile.pass_configs import PassConfigKey
from tilewright.runtime.tile.settings import forced_settings, notify_observers
from tilewright.runtime.tile.tenstorrent_options import current_tenstorrent_options

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.analysis.tensix_cost.plan_cost import Cost
    from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
    from tilewright.runtime.tile.kernel import CompiledTileKernel
    from tilewright.targets.numpy.api import NumpyFault
    from tilewright.targets.tenstorrent.artefact import Artefact
    from tilewright.targets.tenstorrent.choice import Choice
    from tilewright.targets.tenstorrent.execution import RunResult

_OPEN = "auto"
_SETTINGS = {
    "multicast": PassConfigKey.TT_MULTICAST,
    "policy": PassConfigKey.TT_SCHEDULE_POLICY,
    "residency": PassConfigKey.TT_RESIDENCY,
    "order": PassConfigKey.TT_SCHEDULE_ORDER,
    "subblock": PassConfigKey.TT_SUBBLOCK,
    "stages": PassConfigKey.TT_STAGES,
}
"""Settings that the cost model can choose, by the option of the pipeline."""
_HAVE_OWN_AUTO = ("multicast", "residency")
"""Settings whose ``auto`` is a rule of a pass, without the cost model."""


def pipeline_of(target: str, configs: Mapping[str, Any], values: str = "") -> TenstorrentPipeline:
    """The passes for settings of the user; those that are left open have their defaults."""
    from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline

    key = PassConfigKey
    given = {name: value for name, value in configs.items() if value != _OPEN}
    given |= {each: configs.get(each) for each in (key.TT_MULTICAST, key.TT_RESIDENCY)}
    return TenstorrentPipeline(
        target=target,
        cores=str(given.get(key.TT_CORE_GRID) or ""),
        policy=str(given.get(key.TT_SCHEDULE_POLICY) or ""),
        order=str(given.get(key.TT_SCHEDULE_ORDER) or ""),
        subblock=str(given.get(key.TT_SUBBLOCK) or ""),
        stages=_count(given, key.TT_STAGES, "a number of blocks"),
        multicast=str(given.get(key.TT_MULTICAST) or "off"),
        residency=str(given.get(key.TT_RESIDENCY) or "off"),
        shard=_shards(given.get(key.TT_SHARD)),
        l1_budget=_l1_budget(target, given),
        values=values,
    )


class TenstorrentKernel:
    """The Tenstorrent side of a kernel."""

    def __init__(self, kernel: CompiledTileKernel, target: str, configs: Mapping[str, Any]) -> None:
        self._kernel = kernel
        self.target = target
        self._configs = {**configs, **forced_settings()}
        self.result: RunResult | None = None
        """What the last run counted."""
        self.called_with: Sequence[Any] = ()
        """One value for each parameter, of the last call."""
        self._artefacts: dict[str, Artefact] = {}
        self.choice: Choice | None = None
        """What the cost model chose last, with all candidates."""

    def pipeline(self, values: Sequence[Any] = ()) -> TenstorrentPipeline:
        """The passes, with the user's settings, for the `values` of a call."""
        return pipeline_of(self.target, self._configs, self._fixed(values))

    def chosen_pipeline(self, values: Sequence[Any] = ()) -> TenstorrentPipeline:
        """The passes, with settings that were left to the cost model chosen by it."""
        pipeline = self.pipeline(values)
        names = self._open_settings()
        if not names:
            return pipeline
        from tilewright.targets.tenstorrent.choice import Chooser

        chooser = Chooser(self._kernel.prim_func.module.clone(), pipeline)
        self.choice = chooser.search(chooser.axes(names))
        return self.choice.pipeline

    def _open_settings(self) -> tuple[str, ...]:
        """The settings that the cost model chooses."""
        chooses = _is_on(self._configs, PassConfigKey.TT_CHOOSE)
        return tuple(
            name
            for name, key in _SETTINGS.items()
            if (chooses and self._configs.get(key) is None)
            or (self._configs.get(key) == _OPEN and name not in _HAVE_OWN_AUTO)
        )

    @property
    def costs(self) -> tuple[Cost, ...]:
        """The cost of each launch (model, not measured)."""
        from tilewright.analysis.tensix_cost.plan_cost import tt_cost

        return tuple(tt_cost(plan) for plan in self.artefact.plans)

    def _fixed(self, values: Sequence[Any]) -> str:
        """The values of a call that the plan depends on."""
        from tilewright.passes.tenstorrent.fix_arguments import described

        parameters = zip(self._kernel.params, values, strict=False)
        pairs = [(param.name, value) for param, value in parameters if param.name in self._decisive]
        return described({name: _text(value, self._decisive[name]) for name, value in pairs})

    @cached_property
    def _decisive(self) -> Mapping[str, bool]:
        """The parameters whose extents or values the plan depends on; whether it needs elements."""
        from tilewright.passes.tenstorrent.fix_arguments import is_fixed, needs_contents

        arguments = self._kernel.prim_func.func.body.block.args
        pairs = zip(self._kernel.params, arguments, strict=True)
        return {
            param.name: needs_contents(argument) for param, argument in pairs if is_fixed(argument)
        }

    @property
    def has_fixed_plan(self) -> bool:
        """Whether the plan is known before a call."""
        return not self._decisive

    def build(self) -> None:
        """Compile, unless that has to wait for the values of a call."""
        if not self._decisive:
            assert self.artefact

    def lowered(self, engine: DiagnosticEngine, values: Sequence[Any] = ()) -> ModuleOp:
        """The kernels of a core and the plan of the host, for the `values` of a call."""
        module = self._kernel.prim_func.module.clone()
        self.chosen_pipeline(values).run(module, engine)
        engine.raise_if_errors()
        return module

    @property
    def artefact(self) -> Artefact:
        """Kernels, plan and sources; compiled once."""
        return self.artefact_for(self.called_with)

    def artefact_for(self, values: Sequence[Any]) -> Artefact:
        """Kernels, plan and sources for the values of a call, compiled once for equal ones."""
        from tilewright.targets.tenstorrent.artefact import artefact_of

        key = self._fixed(values)
        if key not in self._artefacts:
            self._artefacts[key] = artefact_of(self.lowered(DiagnosticEngine(), values))
        return self._artefacts[key]

    def _runnable_for(self, values: Sequence[Any]) -> Artefact:
        """The artefact, in which a tensor that the call makes has no contents before the run."""
        artefact = self.artefact_for(values)
        launches = [self._runnable_launch(each, values) for each in artefact.launches]
        return replace(launches[0], following=tuple(launches[1:]))

    def _runnable_launch(self, artefact: Artefact, values: Sequence[Any]) -> Artefact:
        plan, results = artefact.plan, self._kernel.results
        # A store under a condition reads the old elements first, whatever they are.
        read = {
            name
            for kernel in plan.kernels
            if kernel.role == "reader"
            for name in plan.accessor_tensors(kernel)
        }
        tensors = tuple(
            replace(each, role="output")
            if each.role == "inout" and each.arg in results and each.name not in read
            else each
            for each in plan.tensors
        )
        scalars = {each.name: values[each.arg] for each in plan.scalars}
        return replace(artefact, plan=replace(plan, tensors=tensors), scalars=scalars)

    def launch(self, values: Sequence[Any]) -> None:
        """Run with one value for each parameter; arrays are `HostArray`s."""
        from tilewright.runtime.tile.options import current_tile_options
        from tilewright.runtime.tile.tenstorrent_arguments import check_arguments
        from tilewright.targets.numpy.api import NumpyFault, seeds_of
        from tilewright.targets.numpy.tile import TileReport

        self.called_with = values
        artefact = self._runnable = self._runnable_for(values)
        arrays = {
            tensor.name: values[tensor.arg].array
            for tensor in artefact.tensors
            if not tensor.workspace and isinstance(values[tensor.arg], HostArray)
        }
        tile = current_tile_options()
        if tile.checked:
            try:
                check_arguments(artefact, arrays, self._kernel.prim_func.func.location)
            except NumpyFault as fault:
                raise self._failed(fault) from None
        seeds = seeds_of(tile)
        start = perf_counter()
        outputs = self._execute(arrays, seeds)
        blocks = sum(each.grid.total_tiles for each in artefact.plans) * len(seeds)
        seconds = perf_counter() - start
        report = TileReport(blocks, len(seeds), is_concurrent=True, seconds=seconds)
        notify_observers(self._kernel.name, report)
        for name, output in outputs.items():
            arrays[name][...] = output
        for value in values:
            if isinstance(value, HostArray) and value.finish is not None:
                value.finish()

    def _execute(self, arrays: Mapping[str, Any], seeds: Sequence[int]) -> Mapping[str, Any]:
        """The outputs, which every schedule has to compute."""
        found: Mapping[str, Any] = {}
        for seed in seeds:
            outputs = self._scheduled(arrays, seed, is_first=seed == seeds[0])
            for name, output in found.items():
                if output.tobytes() != outputs[name].tobytes():
                    raise self._failed(self._depends_on_schedule(name, (seeds[0], seed)))
            found = found or outputs
        return found

    def _depends_on_schedule(self, name: str, seeds: tuple[int, int]) -> NumpyFault:
        from tilewright.targets.numpy.api import NumpyFault

        message = (
            f"the result {name} of {self._kernel.name} depends on the schedule: seeds {seeds[0]} "
            f"and {seeds[1]} give different bits"
        )
        location = self._kernel.prim_func.func.location
        return NumpyFault(Diagnostic(Severity.ERROR, message, location, RESULT_DEPENDS_ON_SCHEDULE))

    def _scheduled(
        self, arrays: Mapping[str, Any], seed: int, *, is_first: bool
    ) -> Mapping[str, Any]:
        """The outputs under one schedule."""
        from tilewright.runtime.tile.tenstorrent_fault import TenstorrentFault
        from tilewright.targets.tenstorrent.artefact import Executor
        from tilewright.targets.tenstorrent.execution import Numerics, RunOptions

        options = current_tenstorrent_options()
        executor = Executor(options.executor)
        run = RunOptions(
            seed=seed, numerics=Numerics(options.numerics), trace=options.trace and is_first
        )
        result = self.result = self._runnable.execute(arrays, run, executor)
        if options.observer is not None and (is_first or result.findings):
            options.observer(self._runnable, result)
        if result.findings:
            # The launch with the findings is the last one that ran.
            failed = self._runnable.launches[max(0, len(result.launches) - 1)]
            program = failed.program(with_sources=executor is Executor.SOURCE)
            function = self._kernel.prim_func.func
            raise self._failed(TenstorrentFault(result.findings, program, function, seed))
        return self._runnable.outputs(result, arrays)

    def _failed(self, fault: NumpyFault) -> NumpyFault:
        notify_observers(self._kernel.name, fault)
        return fault


def _text(value: Any, needs_elements: bool) -> str:
    """An argument as `fix-arguments` reads it."""
    from tilewright.passes.tenstorrent.fix_arguments import MAX_CONTENTS

    if isinstance(value, HostArray):
        extents = "x".join(str(extent) for extent in value.array.shape)
        if not needs_elements or value.array.size > MAX_CONTENTS:
            return extents
        return f"{extents}:{','.join(str(int(each)) for each in value.array.reshape(-1))}"
    return str(int(value) if isinstance(value, bool) else value)


def _shards(given: object) -> str:
    """The setting ``tt.shard`` as text: ``{"A": "height"}`` is ``A:height``."""
    if isinstance(given, Mapping):
        named = cast("Mapping[str, str]", given)  # of any types, which the pass refuses
        return ",".join(f"{name}:{memory}" for name, memory in named.items())
    if given is not None and not isinstance(given, str):
        raise ValueError(
            f"pass_configs: {PassConfigKey.TT_SHARD} is {given!r}: expected tensors and their "
            'memory, as in {"A": "height"}'
        )
    return given or ""


def _count(configs: Mapping[str, Any], key: PassConfigKey, what: str) -> int:
    """A setting that is a positive integer; 0 if it is not there."""
    setting = configs.get(key)
    if setting is None:
        return 0
    if not str(setting).isdecimal() or not int(setting):
        raise ValueError(f"pass_configs: {key} is {setting!r}: expected {what}")
    return int(setting)


def _l1_budget(target: str, configs: Mapping[str, Any]) -> int:
    """The setting ``tt.l1_budget``, at most what the target has; 0 if it is not there."""
    from tilewright.dialects.tensix.chips import CHIPS

    key = PassConfigKey.TT_L1_BUDGET
    budget = _count(configs, key, "a number of bytes")
    chip = CHIPS.get(target.partition(":")[2] or "wormhole")
    if chip is not None and budget > chip.cb_budget_bytes:
        raise ValueError(
            f"pass_configs: {key} is {budget}: {target} has {chip.cb_budget_bytes} bytes for "
            "circular buffers"
        )
    return budget


_TRUTH = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def _is_on(configs: Mapping[str, Any], key: PassConfigKey) -> bool:
    """A setting that is on or off, also as text of a command line."""
    setting = configs.get(key)
    if setting is None:
        return False
    found = _TRUTH.get(str(setting).lower())
    if found is None:
        raise ValueError(f"pass_configs: {key} is {setting!r}: expected True or False")
    return found
