"""Choose a configuration per tuning key, by measuring or by taking the first that compiles.

Kernels that run on a GPU are measured there, and the times are cached on disk (`tuning`). With the
target "auto" each configuration is measured as Triton compiles it and as our own CUDA does
(`back_ends`). On the host timings do not predict those of the device, so the first configuration
that compiles is taken; ``TILEWRIGHT_AUTOTUNE=time`` or ``do_bench=`` measures every one of them,
and ``TILEWRIGHT_AUTOTUNE=first`` takes the first one on a GPU too. Pruning runs first in all cases.
``TILEWRIGHT_PRINT_AUTOTUNING=1`` prints what was measured.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.arrays import is_array
from tilewright.runtime.back_ends import (
    RaisedConfig,
    both_ways,
    is_candidate,
    is_not_taken,
    is_on_gpu,
)
from tilewright.runtime.config import Config
from tilewright.runtime.cuda.errors import OutOfResources
from tilewright.runtime.executors.current import current_executing
from tilewright.runtime.fake_tensors import has_fakes
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.options import spec_for
from tilewright.runtime.progress import progress_bar
from tilewright.runtime.snapshots import make_zero, snapshot
from tilewright.runtime.tuning import Times, compile_together, remember, remembered, tuning_name

Benchmark = Callable[..., Any]
PreHook = Callable[..., object]

_TIMED_RUNS = 3
_TARGET = "target"


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

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def arg_names(self) -> tuple[str, ...]:
        return self.inner.arg_names

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        known = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
        config = self._choose(args, kwargs, known, grid)
        self.best_config = config
        try:
            return self._launch(config, args, kwargs, known, grid, warmup=warmup)
        except Exception as error:
            if not isinstance(config, RaisedConfig) or not is_not_taken(error):
                raise
        # This launch has something that the measured one had not: Triton takes it.
        options = {**config.kwargs, **config.options_of_triton()}
        return self.inner.run(*args, grid=grid, warmup=warmup, **{**kwargs, **options})

    def _launch(
        self,
        config: Config,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: dict[str, Any],
        grid: Any,
        *,
        warmup: bool = False,
    ) -> Any:
        chosen = config.all_kwargs()
        if config.pre_hook is not None:
            # Also before a kernel is only compiled: hooks set the block shapes of descriptors.
            config.pre_hook({**known, **chosen})
        return self.inner.run(*args, grid=grid, warmup=warmup, **{**kwargs, **chosen})

    def _choose(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: dict[str, Any],
        grid: Any,
    ) -> Config:
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
        if key not in self.cache and has_fakes(known.values()):
            return self.configs[0]  # nothing is launched
        if key not in self.cache:
            configs = self._pruned(known, kwargs)
            if is_open and is_on_gpu(known.values()):
                configs = both_ways(configs)
            self.cache[key] = self._search(key, configs, args, kwargs, known, grid)
            # Accumulations of the timed runs are not part of the requested launch.
            self._reset(known)
        return self.cache[key]

    def _reset(self, known: dict[str, Any]) -> None:
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

    def _search(
        self,
        key: tuple[object, ...],
        configs: list[Config],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: dict[str, Any],
        grid: Any,
    ) -> Config:
        requested = os.environ.get("TILEWRIGHT_AUTOTUNE")
        timed = self.do_bench is not None or requested == "time"
        failures: list[tuple[Config, Exception]] = []
        self.configs_timings = {}
        name: str | None = None
        is_first = True
        if current_executing() is not None and (timed or is_on_gpu(known.values())):
            sys.stderr.write(
                f"tuning {self.name} in this process: its arguments are in its memory\n"
            )
        show = (
            progress_bar(f"tuning {self.name}", "configurations") if sys.stderr.isatty() else None
        )
        for index, config in enumerate(configs):
            if show is not None:
                show(index, len(configs))
            try:
                compiled = self._launch(config, args, kwargs, known, grid, warmup=True)
                on_gpu = _is_on_gpu(compiled)
                if not timed and (not on_gpu or requested == "first"):
                    return config
                if isinstance(config, RaisedConfig) and not is_candidate(compiled):
                    continue
                if on_gpu and is_first:
                    is_first = False
                    name = tuning_name(compiled, configs, key)
                    times = remembered(name, len(configs))
                    if times is not None:
                        self.configs_timings = _by_config(configs, times)
                        break
                    rest = configs[index + 1 :]
                    compile_together(
                        [
                            partial(self._launch, each, args, kwargs, known, grid, warmup=True)
                            for each in rest
                        ]
                    )
                self.configs_timings[config] = self._time(
                    config, args, kwargs, known, grid, on_gpu=on_gpu
                )
            except (CompileError, OutOfResources) as error:
                failures.append((config, error))
            except (ValueError, OverflowError) as error:
                if not isinstance(config, RaisedConfig) or not is_not_taken(error):
                    raise
                failures.append((config, error))
        if show is not None:
            show(len(configs), len(configs))
        if self.configs_timings and name is not None:
            remember(name, [self.configs_timings.get(config) for config in configs])
        if self.configs_timings:
            best = min(self.configs_timings, key=lambda config: self.configs_timings[config])
            if os.environ.get("TILEWRIGHT_PRINT_AUTOTUNING", "0") not in ("", "0"):
                self._print(configs, best)
            return best
        first = failures[0][1]
        if len(failures) > 1:
            others = "\n".join(f"  {config}: {_headline(error)}" for config, error in failures[1:])
            first.add_note(
                f"none of the {len(failures)} configurations of {self.name} compiles; the error "
                f"above is for {failures[0][0]}, the others:\n{others}"
            )
        raise first

    def _print(self, configs: Sequence[Config], best: Config) -> None:
        lines = [f"autotuning {self.name}: {best}"]
        for config in configs:
            took = self.configs_timings.get(config)
            lines.append(f"  {'not timed' if took is None else f'{took:.4f} ms':>12}  {config}")
        sys.stderr.write("\n".join(lines) + "\n")

    def _time(
        self,
        config: Config,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: dict[str, Any],
        grid: Any,
        *,
        on_gpu: bool,
    ) -> float:
        put_back = [snapshot(known[name]) for name in self.restore_value]

        def call() -> None:
            self._reset(known)
            if self.pre_hook is not None:
                self.pre_hook(known)
            self._launch(config, args, kwargs, known, grid)
            if self.post_hook is not None:
                self.post_hook(known, exception=None)

        try:
            return self._measure(call, on_gpu=on_gpu)
        finally:
            for each in put_back:
                each()

    def _measure(self, call: Callable[[], None], *, on_gpu: bool) -> float:
        bench = self.do_bench or (gpu_bench if on_gpu else None)
        if bench is not None:
            measured = bench(call, quantiles=(0.5, 0.2, 0.8))
            first: Any = measured[0] if hasattr(measured, "__getitem__") else measured
            return float(first)
        times: list[float] = []
        for _ in range(_TIMED_RUNS):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return sorted(times)[len(times) // 2]


def _is_on_gpu(compiled: Any) -> bool:
    """Whether a launch would run on a GPU, where times mean something."""
    # What a user's own wrapper of kernels returns may be anything.
    choice = getattr(compiled, "choice", None)
    if choice is None or compiled.device is None or choice.is_simulated:
        return False
    return choice.is_gpu or choice.is_raised


def _by_config(configs: Sequence[Config], times: Times) -> dict[Config, float]:
    pairs = zip(configs, times, strict=True)
    return {config: time for config, time in pairs if time is not None}


def gpu_bench(call: Callable[[], None], quantiles: Sequence[float]) -> list[float]:
    """Times of `call` in milliseconds, by the GPU's own clock."""
    # Tuning on the host needs no driver.
    from tilewright.runtime.cuda.timing import do_bench

    return do_bench(call, quantiles=quantiles)


def _headline(error: Exception) -> str:
    return str(error).partition("\n")[0]


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
