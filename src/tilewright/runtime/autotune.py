"""Choose a configuration per tuning key, by measuring or by taking the first that compiles.

Kernels that run on a GPU are measured there. Most of the time to tune goes into compiling, which
happens in processes of its own; so threads compile for several configurations concurrently. Times
are cached on disk by the kernel's text, the list of configurations, the tuning key and the GPU.
With the target "auto" each configuration is measured as Triton compiles it and as our own CUDA does
(`back_ends`). On the host timings do not predict those of the device, so the first configuration
that compiles is taken; ``TILEWRIGHT_AUTOTUNE=time`` or ``do_bench=`` measures every one of them,
and ``TILEWRIGHT_AUTOTUNE=first`` takes the first one on a GPU too. Pruning runs first in all cases.
``TILEWRIGHT_PRINT_AUTOTUNING=1`` prints what was measured.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from tilewright.ir.diagnostics import CompileError
from tilewright.runtime import tuning_table
from tilewright.runtime.arrays import is_array
from tilewright.runtime.back_ends import (
    RaisedConfig,
    both_ways,
    is_candidate,
    is_not_taken,
    is_on_gpu,
)
from tilewright.runtime.config import Config
from tilewright.runtime.cuda.arrays import device_array
from tilewright.runtime.cuda.errors import OutOfResources
from tilewright.runtime.executors.current import current_executing
from tilewright.runtime.fake_tensors import has_fakes
from tilewright.runtime.fingerprint import Fingerprint, Nameless
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.options import spec_for
from tilewright.runtime.pointer.compiled import CompiledKernel, Grid, Launch, launches_to
from tilewright.runtime.progress import progress_bar
from tilewright.runtime.snapshots import make_zero, snapshot
from tilewright.runtime.tuning import (
    Backend,
    Found,
    Ready,
    headline,
    no_progress,
    nothing_works,
    search,
)
from tilewright.runtime.tuning_times import Times, keep, stored
from tilewright.targets import store
from tilewright.targets.triton import installation

Benchmark = Callable[..., Any]
PreHook = Callable[..., object]

_TIMED_RUNS = 3
_MAX_WORKERS = 8
_TIMES: Final = "tuning"
_TARGET = "target"


@dataclass(frozen=True)
class _Call:
    """One call of a tuned kernel."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    known: dict[str, Any]
    """All arguments by name."""
    grid: Any


class Autotuner(Launchable):
    """A kernel with several configurations, the best of which is remembered per tuning key."""

    def __init__(
        self,
        inner: Launchable,
        configs: Sequence[Config],
        key: Sequence[str],
        *,
        reset_to_zero: Iterable[str] = (),
        restore_value: Iterable[str] = (),
        pre_hook: PreHook | None = None,
        post_hook: PreHook | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        do_bench: Benchmark | None = None,
    ) -> None:
        self.inner = inner
        self.configs = list(configs) or [Config({})]
        self.keys = list(key)
        self.reset_to_zero = list(reset_to_zero)
        self.restore_value = list(restore_value)
        for name in (*self.keys, *self.reset_to_zero, *self.restore_value):
            if name not in inner.arg_names:
                raise ValueError(
                    f"autotune: {name!r} is not a parameter of {inner.name}; parameters: "
                    + ", ".join(inner.arg_names)
                )
        self.pre_hook = pre_hook
        self.post_hook = post_hook
        self.prune = dict(prune_configs_by or {})
        self.do_bench = do_bench
        self._chosen = frozenset(name for config in self.configs for name in config.kwargs)
        self.cache: dict[tuple[object, ...], Config] = {}
        self.best_config: Config | None = None
        self.configs_timings: dict[Config, float] = {}
        self.remarks: dict[Config, str] = {}
        """Why configurations were left out."""

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def arg_names(self) -> tuple[str, ...]:
        return self.inner.arg_names

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        known = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
        call = _Call(args, kwargs, known, grid)
        config = self._choose(call)
        self.best_config = config
        try:
            return self.launch_with(config, call, warmup=warmup)
        except Exception as error:
            if not isinstance(config, RaisedConfig) or not is_not_taken(error):
                raise
        # This launch has something that the measured one had not: Triton takes it.
        options = {**config.kwargs, **config.options_of_triton()}
        return self.inner.run(*args, grid=grid, warmup=warmup, **{**kwargs, **options})

    def launch_with(self, config: Config, call: _Call, *, warmup: bool = False) -> Any:
        """Launch, or only compile, with a configuration."""
        chosen = config.all_kwargs()
        if config.pre_hook is not None:
            # Also before a kernel is only compiled: hooks set the block shapes of descriptors.
            config.pre_hook({**call.known, **chosen})
        kwargs = {**call.kwargs, **chosen}
        return self.inner.run(*call.args, grid=call.grid, warmup=warmup, **kwargs)

    def _choose(self, call: _Call) -> Config:
        known, kwargs = call.known, call.kwargs
        if not self._chosen.isdisjoint(kwargs):
            clash = sorted(self._chosen & kwargs.keys())
            raise ValueError(
                f"{', '.join(clash)} is set by the autotune configurations and in this call of "
                f"{self.name}: remove it from the call"
            )
        spec = spec_for(kwargs.get(_TARGET))
        is_open = spec.backend == "auto"
        if len(self.configs) == 1 and not (is_open and is_on_gpu(known.values())):
            return self.configs[0]
        key = tuple(_key_part(known[name]) for name in self.keys if name in known)
        key += tuple(
            str(_dtype(value))
            for value in known.values()
            if type(value) not in _PLAIN and is_array(value)
        )
        if not is_open:
            key += (spec,)  # its choice is another one than that of "auto"
        try:
            found = self.cache.get(key)
        except TypeError:
            if not has_fakes(known.values()):
                raise
            found = None  # sizes that torch.compile leaves open have no hash
        if found is None and has_fakes(known.values()):
            return self.configs[0]  # nothing is launched
        if found is None:
            configs = self._pruned(known, kwargs)
            if is_open and is_on_gpu(known.values()):
                configs = both_ways(configs)
            arguments, hardware = self._described(known), partial(_hardware_of, call)
            described = [_config_text(each) for each in configs]
            index = tuning_table.chosen(self.name, arguments, hardware, described)
            if index is None:
                found = self._search(key, configs, call)
                if tuning_table.is_observed():
                    tuning_table.notify(self._tuned(arguments, hardware(), configs, found))
            else:
                found = configs[index]
            self.cache[key] = found
            # Accumulations of the timed runs are not part of the requested launch.
            self.reset_arrays(known)
        return found

    def _described(self, known: Mapping[str, Any]) -> dict[str, str]:
        """What the choice depends on, as tables have it: the key, and the types of arrays."""
        found = {name: str(_key_part(known[name])) for name in self.keys if name in known}
        for name, value in known.items():
            if type(value) not in _PLAIN and is_array(value):
                found[name] = str(_dtype(value))
        return found

    def _tuned(
        self, arguments: Mapping[str, str], hardware: str, configs: Sequence[Config], best: Config
    ) -> tuning_table.Tuned:
        trials = tuple(
            tuning_table.Tried(
                _config_text(each), self.configs_timings.get(each), self.remarks.get(each, "")
            )
            for each in configs
        )
        is_measured = any(each.latency_ms is not None for each in trials)
        how = "measured" if is_measured else "the first that compiles"
        if hardware.startswith("tenstorrent"):
            how = "model"
        chosen = _config_text(best)
        return tuning_table.Tuned(self.name, arguments, hardware, trials, chosen, how)

    def reset_arrays(self, known: dict[str, Any]) -> None:
        """Zero what the launch is to find zero."""
        for name in self.reset_to_zero:
            make_zero(known[name])

    def _pruned(self, known: dict[str, Any], kwargs: dict[str, Any]) -> list[Config]:
        configs = self.configs
        early = self.prune.get("early_config_prune")
        if early is not None:
            configs = list(early(configs, known, **kwargs))
            if not configs:
                raise ValueError(f"early_config_prune removed all configurations of {self.name}")
        model, top = self.prune.get("perf_model"), self.prune.get("top_k", 1.0)
        if model is None:
            return configs
        count = int(len(configs) * top) if isinstance(top, float) and top <= 1.0 else int(top)
        ranked = sorted(configs, key=lambda config: model(**{**known, **config.all_kwargs()}))
        return ranked[: max(count, 1)]

    def _search(self, key: tuple[object, ...], configs: list[Config], call: _Call) -> Config:
        backend, found = _Launches(self, key, configs, call), Found(len(configs))
        requested = requested_times.get()
        if requested is not None:
            requested.fulfil(self.name, str(key), backend, len(configs))
        if (backend.is_timed or is_on_gpu(call.known.values())) and timed_elsewhere.get():
            best = self._of_others(str(key), configs)
            if best is not None:
                return best
        if current_executing() is not None and (backend.is_timed or is_on_gpu(call.known.values())):
            sys.stderr.write(
                f"tuning {self.name} in this process: its arguments are in its memory\n"
            )
        is_shown = sys.stderr.isatty()
        show = progress_bar(f"tuning {self.name}", "configurations") if is_shown else no_progress
        self.configs_timings = {}
        best = search(backend, found, show)
        self.configs_timings = {configs[at]: each.latency for at, each in found.times.items()}
        self.remarks = {configs[at]: headline(each) for at, each in found.faults.items()}
        if best is None:
            raise nothing_works(self.name, configs, found, "compiles")
        if found.times and os.environ.get("TILEWRIGHT_PRINT_AUTOTUNING", "0") not in ("", "0"):
            self._print(configs, configs[best])
        remember(backend.times_key, found.times, len(configs))
        return configs[best]

    def _of_others(self, key: str, configs: Sequence[Config]) -> Config | None:
        """The quickest, as other processes measured them; None if none of them works there."""
        others = timed_elsewhere.get()
        assert others is not None
        times = dict[Config, float]()
        self.remarks = {}
        for index, outcome in others(self.name, key, list(map(str, configs))).items():
            if isinstance(outcome, str):
                self.remarks[configs[index]] = outcome
            else:
                times[configs[index]] = outcome
        self.configs_timings = times
        return min(configs, key=lambda each: times.get(each, math.inf)) if times else None

    def _print(self, configs: Sequence[Config], best: Config) -> None:
        lines = [f"autotuning {self.name}: {best}"]
        for config in configs:
            took = self.configs_timings.get(config)
            lines.append(f"  {'not timed' if took is None else f'{took:.4f} ms':>12}  {config}")
        sys.stderr.write("\n".join(lines) + "\n")

    def measured_ms(self, call: Callable[[], None], *, on_gpu: bool) -> float:
        """Milliseconds of `call`."""
        bench = self.do_bench or (gpu_bench if on_gpu else None)
        if bench is not None:
            measured = bench(call, quantiles=(0.5, 0.2, 0.8))
            first: Any = measured[0] if hasattr(measured, "__getitem__") else measured
            return float(first)
        times: list[float] = []
        for _ in range(_TIMED_RUNS):
            start = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - start))
        return sorted(times)[len(times) // 2]


Elsewhere = Callable[[str, str, Sequence[str]], Mapping[int, "float | str"]]
"""From a kernel's name, its key and its configurations to milliseconds, or what is wrong."""
timed_elsewhere: ContextVar[Elsewhere | None] = ContextVar("timed elsewhere", default=None)
"""Other processes that measure configurations in place of this one."""


class TimesRequested(BaseException):
    """Ends the program of a worker: the times that were requested of it are known."""


@dataclass
class RequestedTimes:
    """What a worker is to measure: some configurations of one search of a program."""

    kernel: str
    key: str
    indices: Sequence[int]
    times: dict[int, float | str] = field(default_factory=dict[int, "float | str"])

    def fulfil(self, kernel: str, key: str, backend: _Launches, total: int) -> None:
        """Measure, and end the program, if this is the search."""
        if (kernel, key) != (self.kernel, self.key):
            return
        self.times = backend.times_of([index for index in self.indices if index < total])
        raise TimesRequested


requested_times: ContextVar[RequestedTimes | None] = ContextVar("requested times", default=None)


class _Launches(Backend):
    """The configurations of one launch, compiled and timed."""

    def __init__(
        self, tuner: Autotuner, key: tuple[object, ...], configs: list[Config], call: _Call
    ) -> None:
        self._tuner = tuner
        self._key = key
        self._configs = configs
        self._call = call
        self._requested = os.environ.get("TILEWRIGHT_AUTOTUNE")
        self.is_timed = tuner.do_bench is not None or self._requested in ("time", "fresh")
        """Whether configurations are timed wherever they run."""
        self._on_gpu: dict[int, bool] = {}
        self._predicted: dict[int, float] = {}
        """Milliseconds by a cost model."""
        self.times_key: str | None = None
        """What the times are called on disk, once a kernel is compiled that runs on a GPU."""

    def ready(self, found: Found) -> Ready:
        is_first = True
        for index, config in enumerate(self._configs):
            try:
                compiled = self._tuner.launch_with(config, self._call, warmup=True)
            except Exception as error:
                yield index, error
                continue
            on_gpu = self._on_gpu[index] = _is_on_gpu(compiled)
            if _is_simulated(compiled):
                yield index, self._predict(index)
                continue
            if not self.is_enough(index):
                if isinstance(config, RaisedConfig) and not is_candidate(compiled):
                    continue
                if on_gpu and is_first:
                    is_first = False
                    self.times_key = tuning_name(compiled, self._configs, self._key)
                    found.times.update(remembered(self.times_key, len(self._configs)))
                    if found.times:
                        return
                    self._compile_ahead(self._configs[index + 1 :])
            yield index, None

    def _predict(self, index: int) -> Exception | None:
        """Note the time by the cost model of the target, or return what is wrong."""
        found: list[float] = []

        def predict(
            kernel: CompiledKernel, grid: Grid, values: Sequence[object], _launch: Launch
        ) -> None:
            # GPUs and the host do without.
            from tilewright.runtime.tile.tuning_items import predicted

            raised = kernel.raised
            fixed = raised.fixed(raised.flat_values(grid, values)).kernel
            found.append(predicted(fixed)["latency"])

        try:
            with launches_to(predict):
                self._tuner.launch_with(self._configs[index], self._call)
        except Exception as error:
            return error
        self._predicted[index] = found[-1]
        return None

    def _compile_ahead(self, configs: Sequence[Config]) -> None:
        launch = partial(self._tuner.launch_with, call=self._call, warmup=True)
        compile_together([partial(launch, config) for config in configs])

    def times_of(self, indices: Sequence[int]) -> dict[int, float | str]:
        """Milliseconds of some configurations, or what is wrong with them."""
        found: dict[int, float | str] = {}
        for index in indices:
            try:
                compiled = self._tuner.launch_with(self._configs[index], self._call, warmup=True)
                self._on_gpu[index] = _is_on_gpu(compiled)
                fault = self._predict(index) if _is_simulated(compiled) else None
                if fault is not None:
                    raise fault
                found[index] = self.measure(index, None).latency
            except Exception as error:
                if not self.is_fault(index, error):
                    raise
                found[index] = headline(error)
        return found

    def is_enough(self, index: int) -> bool:
        if index in self._predicted:
            return False
        return not self.is_timed and (not self._on_gpu[index] or self._requested == "first")

    def measure(self, index: int, best: float | None) -> Times:
        if index in self._predicted:
            return Times(self._predicted[index])
        tuner, known = self._tuner, self._call.known
        put_back = [snapshot(known[name]) for name in tuner.restore_value]

        def call() -> None:
            tuner.reset_arrays(known)
            if tuner.pre_hook is not None:
                tuner.pre_hook(known)
            tuner.launch_with(self._configs[index], self._call)
            if tuner.post_hook is not None:
                tuner.post_hook(known, exception=None)

        try:
            return Times(tuner.measured_ms(call, on_gpu=self._on_gpu[index]))
        finally:
            for each in put_back:
                each()

    def is_fault(self, index: int, error: Exception) -> bool:
        if isinstance(error, (CompileError, OutOfResources)):
            return True
        is_raised = isinstance(self._configs[index], RaisedConfig)
        return is_raised and isinstance(error, (ValueError, OverflowError)) and is_not_taken(error)


def _config_text(config: Config) -> dict[str, Any]:
    """A configuration as tables have it."""
    raised = {"target": "raised"} if isinstance(config, RaisedConfig) else {}
    return {**config.all_kwargs(), **raised}


def _hardware_of(call: _Call) -> str:
    """Whose times these are: the model's, those of the GPU of the arrays, or of the CPU."""
    raised = spec_for(call.kwargs.get(_TARGET)).raised or ""
    if raised.startswith("tenstorrent"):
        return raised
    devices = [
        each.device
        for value in call.known.values()
        if type(value) not in _PLAIN and (each := device_array(value)) is not None
    ]
    if not devices:
        return tuning_table.CPU
    from tilewright.runtime.cuda.context import device_properties

    return device_properties(devices[0]).name


def _is_simulated(compiled: Any) -> bool:
    """Whether a launch would run on a model of the hardware, which predicts its time."""
    choice = getattr(compiled, "choice", None)
    return choice is not None and choice.is_simulated


def _is_on_gpu(compiled: Any) -> bool:
    """Whether a launch would run on a GPU, where times mean something."""
    # What a user's own wrapper of kernels returns may be anything.
    choice = getattr(compiled, "choice", None)
    if choice is None or compiled.device is None or choice.is_simulated:
        return False
    return choice.is_gpu or choice.is_raised


def compile_together(calls: Sequence[Callable[[], object]]) -> None:
    """Do all of `calls`, several at a time. What fails will fail again where it is reported."""
    workers = min(len(calls), os.cpu_count() or 1, _MAX_WORKERS)
    if workers < 2:
        return

    def quietly(call: Callable[[], object]) -> None:
        with contextlib.suppress(Exception):
            call()

    with ThreadPoolExecutor(workers) as pool:
        # Each with the options of a ``with`` around the launch.
        for call in calls:
            pool.submit(copy_context().run, quietly, call)


def tuning_name(compiled: object, configs: Sequence[Config], key: tuple[object, ...]) -> str | None:
    """What the outcome of this tuning is called on disk, where it has a name."""
    if not isinstance(compiled, CompiledKernel):  # a user's own wrapper of kernels
        return None
    # Tuning on the host needs no driver.
    from tilewright.runtime.cuda.context import device_properties

    fingerprint = Fingerprint()
    try:
        fingerprint.add(compiled.kernel)
        fingerprint.add(key)
        for config in configs:
            fingerprint.add((tuple(config.all_kwargs().items()), config.pre_hook))
    except Nameless:
        return None
    machine = f"{device_properties(compiled.device).name} {compiled.choice}"
    versions = (installation.fingerprint(), store.our_version())
    return store.digest(fingerprint.text, machine, *versions)


def remembered(name: str | None, count: int) -> dict[int, Times]:
    """The times that were measured under `name`, if it was for as many configurations."""
    try:
        times = [
            None if each is None else float(each)
            for each in (name is not None and stored(_TIMES, name)) or ()
        ]
    except store.DAMAGED:
        return {}
    found = {index: Times(each) for index, each in enumerate(times) if each is not None}
    return found if len(times) == count else {}


def remember(name: str | None, times: dict[int, Times], count: int) -> None:
    """Store the times of `count` configurations, null for those that do not run."""
    if name is not None:
        listed = [times[index].latency if index in times else None for index in range(count)]
        keep(_TIMES, name, listed)


def gpu_bench(call: Callable[[], None], quantiles: Sequence[float]) -> list[float]:
    """Times of `call` in milliseconds, by the GPU's own clock."""
    # Tuning on the host needs no driver.
    from tilewright.runtime.cuda.timing import do_bench

    return do_bench(call, quantiles=quantiles)


def _dtype(value: object) -> object:
    return getattr(value, "dtype", type(value).__name__)


# Testing any object for the array protocols is slow; most arguments are of these types.
_PLAIN = frozenset({int, float, bool, str, type(None)})


def _key_part(value: object) -> object:
    return str(_dtype(value)) if is_array(value) else value


def autotune(
    configs: Any,
    key: Sequence[str] | None = None,
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: PreHook | None = None,
    post_hook: PreHook | None = None,
    do_bench: Benchmark | None = None,
    **others: Any,
) -> Callable[[Any], Any]:
    """Try `configs` once per combination of the arguments named in `key`.

    Kernels of `T` need no key; their configurations are dicts of keyword arguments, and the other
    options are those of `runtime.tile.autotune`.
    """

    def decorate(kernel: Any) -> Any:
        if not isinstance(kernel, Launchable):
            from tilewright.runtime.tile.autotune import tile_autotune

            return tile_autotune(configs, **others)(kernel)
        if key is None:
            raise TypeError(f"autotune requires key=[...], a list of parameters of {kernel.name}")
        return Autotuner(
            kernel,
            configs,
            key,
            reset_to_zero=reset_to_zero or (),
            restore_value=restore_value or (),
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            do_bench=do_bench,
        )

    return decorate
