"""Choosing among configurations of a `T` kernel.

    @tw.autotune(configs=[{"block": 64}, {"block": 128}])
    @tw.jit
    def kernel(A, block=64): ...

A configuration is a dict of keyword arguments. With a GPU in the machine, all are measured and the
fastest is taken; the times are cached on disk. Times of the CPU do not predict those of a GPU, so
without one the first configuration that compiles, and agrees with `ref_prog` where there is one, is
taken, and measured when its `latency` is requested. ``TILEWRIGHT_AUTOTUNE=time`` measures them all
here too, ``fresh`` even those whose times are known.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np

from tilewright.language.T.keys import key_of
from tilewright.language.T.prim_func import PrimFunc
from tilewright.runtime import tuning_table
from tilewright.runtime.arrays import is_array
from tilewright.runtime.cuda.context import current_device, device_properties
from tilewright.runtime.cuda.driver import is_available
from tilewright.runtime.tile.config_search import AutotuneResult, choose, inputs_for_tuning
from tilewright.runtime.tile.jit import TileJIT, compile_tile, traced_tile
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.trials import Config, ProfileArgs

Configs = Sequence[Config] | Callable[..., Sequence[Config]]


@contextmanager
def set_autotune_inputs(*tensors: Any) -> Generator[None]:
    """Tune with these tensors inside the ``with``; one list of them will do as well."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(cast("Sequence[Any]", tensors[0]))
    before = inputs_for_tuning.set(tensors)
    try:
        yield
    finally:
        inputs_for_tuning.reset(before)


def get_autotune_inputs() -> list[Any] | None:
    """The tensors that are set at the moment."""
    tensors = inputs_for_tuning.get()
    return None if tensors is None else list(tensors)


class AutoTuner:
    """The class form: a factory, its configurations, how to compile and how to measure."""

    def __init__(self, fn: Callable[..., Any], configs: Configs) -> None:
        self.fn = fn
        self.configs = configs
        self.profile_args = ProfileArgs()
        self._compile_args: dict[str, Any] = {}

    @classmethod
    def from_kernel(cls, kernel: Callable[..., Any], configs: Configs) -> AutoTuner:
        """A tuner of a function that takes a configuration and returns a ``@T.prim_func``."""
        return cls(kernel, configs)

    def set_compile_args(self, **options: Any) -> AutoTuner:
        """Options of `tw.compile`: `out_idx`, `target`, `pass_configs` and the like."""
        known = inspect.signature(compile_tile).parameters
        unknown = [name for name in options if name not in known]
        if unknown:
            raise TypeError(f"compile: unknown option {unknown[0]!r}")
        self._compile_args = options
        return self

    def set_profile_args(self, **options: Any) -> AutoTuner:
        """Fields of `ProfileArgs`."""
        self.profile_args = replace(self.profile_args, **options)
        return self

    def run(
        self, warmup: float = 25, rep: float = 100, timeout: float = 100, **_: Any
    ) -> AutotuneResult:
        """Choose a configuration."""
        profile = replace(self.profile_args, warmup=warmup, rep=rep, timeout=timeout)
        configs = _listed(self.configs, (), {})
        _check_keys(configs, inspect.signature(self.fn).parameters, _name(self.fn))
        return choose(_name(self.fn), configs, self._compiled, profile)

    def _compiled(self, config: Config) -> CompiledTileKernel:
        made = self.fn(**{name: value for name, value in config.items() if name != _PASSES})
        options = dict(self._compile_args)
        if config.get(_PASSES):
            options[_PASSES] = {**(options.get(_PASSES) or {}), **config[_PASSES]}
        return made if isinstance(made, CompiledTileKernel) else traced_tile(made, **options)


class TunedTileJIT:
    """A kernel, or a factory of one, whose configuration is chosen per set of arguments."""

    def __init__(
        self,
        inner: TileJIT,
        configs: Configs,
        profile: ProfileArgs,
        do_not_specialize: Sequence[str] = (),
    ) -> None:
        self.inner = inner
        self.configs = configs
        self.profile = profile
        self.do_not_specialize = tuple(do_not_specialize)
        self.cache: dict[Any, AutotuneResult] = {}
        self._generation = inner.generation
        functools.update_wrapper(self, inner.function)

    @property
    def is_eager(self) -> bool:
        return self.inner.is_eager

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run an eager kernel, or return the kernel of a factory, as tuned."""
        result = self.tune(*args, **kwargs)
        if not self.is_eager:
            return result.kernel
        chosen = _without_passes(result.config or {})
        bound = self.inner.signature.bind_partial(*args, **{**kwargs, **chosen})
        bound.apply_defaults()
        return result.kernel(*(bound.arguments[param.name] for param in result.kernel.inputs))

    def compile(self, *args: Any, **kwargs: Any) -> CompiledTileKernel:
        """The tuned kernel, not run."""
        kernel = self.tune(*args, **kwargs).kernel
        kernel.build()
        return kernel

    def get_tir(self, *args: Any, **kwargs: Any) -> PrimFunc:
        return self.tune(*args, **kwargs).kernel.prim_func

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        return self.compile(*args, **kwargs).get_kernel_source()

    def tune(self, *args: Any, **kwargs: Any) -> AutotuneResult:
        """The choice for these arguments.

        Where the call sets something that the configurations set, it has chosen already.
        """
        configs = _listed(self.configs, args, kwargs)
        name = self.inner.function.__name__
        _check_keys(configs, self.inner.signature.parameters, name)
        given = self.inner.signature.bind_partial(
            *args, **{key: value for key, value in kwargs.items() if self._is_parameter(key)}
        ).arguments
        self._forget_outdated()
        key = self._key({**kwargs, **given})
        found = self.cache.get(key)
        if found is None:
            if any(each in given for each in configs[0]):
                found = AutotuneResult(self.inner.traced(*args, **kwargs))
            else:
                described = self._described({**kwargs, **given})
                found = self._chosen(name, configs, args, kwargs, described)
            self._forget_outdated()  # what tuning itself has changed
            self.cache[key] = found
        return found

    def _chosen(
        self,
        name: str,
        configs: Sequence[Config],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        described: tuple[Any, ...],
    ) -> AutotuneResult:
        """The configuration of a table, or that of a search, which observers are notified of."""
        compiled = functools.partial(self._compiled, args, kwargs)
        arguments = dict(described)

        def hardware() -> str:
            return hardware_of(compiled(configs[0]).target)

        known = tuning_table.chosen(name, arguments, hardware, configs)
        if known is not None:
            config = configs[known]
            kernel = compiled(config)
            kernel.config = config
            return AutotuneResult(kernel, config)
        found = choose(name, configs, compiled, self.profile, described)
        if tuning_table.is_observed():
            tuning_table.notify(_tuned(name, arguments, hardware(), found))
        return found

    def _forget_outdated(self) -> None:
        """Forget choices whose kernels have read what is something else now."""
        self.inner.forget_outdated()
        if self._generation != self.inner.generation:
            self._generation = self.inner.generation
            self.cache.clear()

    def _is_parameter(self, name: str) -> bool:
        return name in self.inner.signature.parameters

    def _key(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """What a choice depends on."""
        by_value = not self.is_eager
        return key_of(
            self.inner.function,
            {
                name: value if by_value else _without_elements(value)
                for name, value in sorted(given.items())
                if name not in self.do_not_specialize
            },
        )

    def _described(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """The cache key of times of the same IR."""
        return tuple(
            (name, _text(value))
            for name, value in sorted(given.items())
            if name not in self.do_not_specialize
        )

    def _compiled(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], config: Config
    ) -> CompiledTileKernel:
        inner = self.inner
        if config.get(_PASSES):
            inner = TileJIT(
                inner.function,
                out_idx=inner.out_idx,
                target=inner.target,
                pass_configs={**inner.pass_configs, **config[_PASSES]},
                compile_flags=inner.compile_flags,
            )
        return inner.traced(*args, **{**kwargs, **_without_passes(config)})

    def __repr__(self) -> str:
        return f"TunedTileJIT({self.inner!r})"


def _tuned(
    name: str, arguments: Mapping[str, str], hardware: str, found: AutotuneResult
) -> tuning_table.Tuned:
    trials = tuple(
        tuning_table.Tried(each.config, each.latency, each.remark) for each in found.trials
    )
    how = "model" if hardware.startswith("tenstorrent") else "measured"
    is_chosen = all(each.latency_ms is None for each in trials)
    best = found.config or {}
    if is_chosen:
        how = "the first that compiles"
    return tuning_table.Tuned(name, arguments, hardware, trials, best, how, found.kernel.name)


def hardware_of(target: str) -> str:
    """Whose times those of a kernel are: of a model, of the GPU that is here, or of the CPU."""
    if target.startswith("tenstorrent"):
        return target
    return device_properties(current_device()).name if is_available() else tuning_table.CPU


def tile_autotune(
    configs: Configs, do_not_specialize: Sequence[str] | None = None, **profile: Any
) -> Callable[[TileJIT], TunedTileJIT]:
    """Choose among `configs`; the other options are those of `ProfileArgs`."""
    settings = ProfileArgs(**profile)

    def decorate(kernel: TileJIT) -> TunedTileJIT:
        if not isinstance(kernel, TileJIT):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"autotune must be applied above @jit, got {kernel!r}")
        return TunedTileJIT(kernel, configs, settings, do_not_specialize or ())

    return decorate


_PASSES = "pass_configs"
"""A key of configurations that is no argument of the function."""


def _without_passes(config: Config) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != _PASSES}


def _listed(configs: Configs, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Config]:
    found = list(configs(*args, **kwargs) if callable(configs) else configs)
    if not found:
        raise ValueError("autotune has no configurations to choose from")
    return found


def _check_keys(configs: Sequence[Config], parameters: Mapping[str, Any], name: str) -> None:
    for config in configs:
        unknown = [key for key in config if key not in parameters and key != _PASSES]
        if unknown:
            raise ValueError(
                f"a configuration sets {unknown[0]!r}, which is not a parameter of {name}; "
                f"parameters: {', '.join(parameters)}"
            )


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))


def _without_elements(value: Any) -> Any:
    """An argument of an eager kernel: of tensors, no element counts."""
    if not isinstance(value, np.generic) and is_array(value):
        return (str(value.dtype), tuple(value.shape))
    if type(value) in (list, tuple):
        return tuple(_without_elements(each) for each in cast("Sequence[Any]", value))
    return value


def _text(value: Any) -> str:
    if isinstance(value, np.generic) or not is_array(value):
        return str(value)
    return f"{value.dtype} {tuple(value.shape)}"
